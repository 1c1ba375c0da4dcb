"""How long each way of an average's gradient takes, about, in nanoseconds: what decides between those that are legal.

The numbers are fitted to the times of some hundred random calls by all their ways, on one thread and on two, and on two
kinds of processors. What they say of one call may be wrong by a third; how often the best way is found, ``make
bench-sweep`` tells.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..base.dtypes import BFLOAT16
from ..base.windows import ADAPTIVE, FIXED, Axis
from ..kernels.record import LANES

if TYPE_CHECKING:
    from .average import Spreading


def windows_over(axis: Axis) -> float:
    """How many windows hold an element, on average; one at least."""
    return max(1.0, min(axis.out * axis.mean_length / axis.size, axis.longest_run))


class Work(NamedTuple):
    """What one part has to do: rows of gradients and of the result (``planes`` together), and what each consists of."""

    gradients: float
    rows: float
    columns: int
    windows: int  # along W
    over_column: float  # windows that hold an element, along W
    over_row: float  # along H and D


def work_of(views: Spreading, planes: float, way: str) -> Work:
    depth, rows, columns = views.axes
    share = planes / views.parts(views.rows, way)
    over = columns.terms if columns.rule == FIXED else windows_over(columns)
    return Work(
        share * depth.out * rows.out,
        share * depth.size * rows.size,
        columns.size,
        columns.out,
        over,
        windows_over(depth) * windows_over(rows),
    )


def of_rows(views: Spreading) -> float:
    work = work_of(views, views.number_of_planes, "rows")
    along = 0.04 * work.columns * work.over_column if views.has_streams else 4.8 * work.windows
    widened = 0.11 * (views.target.dtype.itemsize < views.itemsize)
    each = 11.4 + work.columns * (0.061 * work.over_row + 0.31 * views.side_by_side + widened)
    return 930 + work.gradients * (21 + along) + work.rows * (each + 1.7 * work.over_row * views.has_layers)


def of_few_windows(views: Spreading) -> float:
    """Rows go by vectors of eight windows, the last of which is laid back: 17 columns of a stride of 2 take as long as
    32, or longer. Halves are widened with each gradient; bfloat16 takes longer to be rounded."""
    work, stride = work_of(views, views.number_of_planes, "few windows"), views.axes[2].stride
    vectors, dtype = -(-work.windows // LANES), views.target.dtype
    laid_back = stride > 1 and work.columns % (LANES * stride) > 0
    of_result = 0.165 + 0.5 * (dtype == BFLOAT16) + 0.64 * views.has_layers + 0.11 * _leaves_caches(views)
    summed = 0.27 * work.over_column * (work.over_row > 1) + 0.19 * (dtype.itemsize < views.itemsize)
    return (
        860
        + 14.5 * work.rows / views.axes[1].size
        + work.gradients * (0.2 + vectors * summed)
        + work.rows * (2.1 + 1.2 * laid_back + vectors * stride * of_result)
    )


def of_small_planes(views: Spreading) -> float:
    """Lanes that have no plane work, too. Each part makes its tables. Eight planes at once take longer where much of
    the memory is in no cache."""
    elements, gradients = math.prod(views.planes.spatial), math.prod(axis.out for axis in views.axes)
    work, eights = work_of(views, 1, "small planes"), -(-views.number_of_planes // LANES)
    summed = 0.27 * (work.over_column > 1) * gradients * work.over_column
    summed += 0.61 * (work.over_row > 1) * elements * work.over_row
    halves = views.target.dtype.itemsize < views.itemsize
    of_result = 0.42 + 0.6 * (views.target.dtype == BFLOAT16) + (0.4 if halves else 0.49) * _leaves_caches(views)
    each = 26 + elements * of_result + 1.4 * gradients + summed
    return 680 + 1.04 * (elements + gradients) + -(-eights // views.parts(eights, "small planes")) * each


def _leaves_caches(views: Spreading) -> bool:
    return views.bytes_in_all > views.limits.stream_averages_from // 2


def of_touching_pixels(views: Spreading) -> float:
    """Four vectors of channels at a time: the pixels of a window may leave the caches between two of these. Floats take
    1.2 to 6 times as long as pixel by pixel then; halves, which are rounded once for all pixels, still less."""
    channels, vectors = views.planes.shape[1], _vectors(views)
    work = work_of(views, views.number_of_planes / channels, "touching pixels")
    width, limits = work.columns / work.windows, views.limits
    far = width * channels * views.itemsize >= limits.first_cache or views.bytes_in_all > 2 * limits.second_cache
    leaves = far and width > 4 and channels > 64 and views.itemsize == views.target.dtype.itemsize
    return 395 + work.rows * (40 + 3.4 * work.windows + (1.05 if leaves else 0.32) * work.columns * vectors)


def of_channels_last(views: Spreading) -> float:
    vectors = _vectors(views)
    work = work_of(views, views.number_of_planes / views.planes.shape[1], "channels last")
    summed = 0.89 * work.windows * vectors * work.over_column
    if views.axes[2].rule == ADAPTIVE:
        summed += 2.7 * work.columns
    return 445 + work.gradients * summed + work.rows * (99 + work.columns * (1.2 + 0.63 * vectors * work.over_row))


def of_whole_planes(views: Spreading) -> float:
    return 100 + 2.5 * views.number_of_planes + 0.0055 * views.written


def _vectors(views: Spreading) -> int:
    return -(-views.planes.shape[1] // LANES)
