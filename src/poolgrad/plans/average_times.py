"""How long each way of an average's gradient takes, about, in nanoseconds: what decides between those that are legal.

The numbers are fitted to the times of a thousand random calls by all their ways, on one thread and on two. What they
say of one call may be wrong by a third; how often the best way is found, ``make bench-sweep`` tells.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..base.windows import ADAPTIVE, FIXED, Axis
from ..kernels.record import LANES

if TYPE_CHECKING:
    from .average import Spreading


def windows_over(axis: Axis) -> float:
    """How many windows hold an element, on average; one at least."""
    covered = axis.out * axis.kernel
    if axis.rule == ADAPTIVE:
        covered = axis.size + axis.out - math.gcd(axis.size, axis.out)
    return max(1.0, min(covered / axis.size, axis.longest_run))


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
    along = 0.046 * work.columns * work.over_column if views.has_streams else 4.5 * work.windows
    each = 5.9 + work.columns * (0.1 * work.over_row + 0.4 * views.side_by_side)
    return 1130 + work.gradients * (11 + along) + work.rows * (each + 1.2 * work.over_row * views.has_layers)


def of_few_windows(views: Spreading) -> float:
    work = work_of(views, views.number_of_planes, "few windows")
    summed = 0.06 * work.columns * work.over_column * (work.over_row > 1)
    each = 0.117 + 0.015 * (views.target.dtype.itemsize < views.itemsize) + 0.014 * views.has_layers
    return (
        1140
        + 25 * work.rows / views.axes[1].size
        + work.gradients * (1.6 + summed)
        + work.rows * (0.3 + each * work.columns)
    )


def of_usual_windows(views: Spreading) -> float:
    return 0.82 * of_few_windows(views)


def of_small_planes(views: Spreading) -> float:
    """Lanes that have no plane work, too. Each part makes its tables. Eight planes at once take longer where
    they leave the second cache or much of the memory is in no cache."""
    elements, gradients = math.prod(views.planes.spatial), math.prod(axis.out for axis in views.axes)
    work, eights = work_of(views, 1, "small planes"), -(-views.number_of_planes // LANES)
    summed = (work.over_column > 1) * gradients * work.over_column + (work.over_row > 1) * elements * work.over_row
    each = 50 + 0.77 * elements + 1.4 * gradients + 0.52 * summed
    limits, at_once = views.limits, 4 * LANES * (elements + gradients)
    if at_once >= 2 * limits.second_cache:
        each *= 1.4
    elif views.bytes_in_all >= limits.last_cache // 2:
        each *= 1.3
    return 640 + 0.47 * (elements + gradients) + -(-eights // views.parts(eights, "small planes")) * each


def of_touching_pixels(views: Spreading) -> float:
    """Four vectors of channels at a time: the pixels of a window may leave the caches between two of these. Floats take
    1.2 to 6 times as long as pixel by pixel then; halves, which are rounded once for all pixels, still less."""
    channels, vectors = views.planes.shape[1], _vectors(views)
    work = work_of(views, views.number_of_planes / channels, "touching pixels")
    width, limits = work.columns / work.windows, views.limits
    far = width * channels * views.itemsize >= limits.first_cache or views.bytes_in_all > 2 * limits.second_cache
    leaves = far and width > 4 and channels > 64 and views.itemsize == views.target.dtype.itemsize
    return 430 + work.rows * (17.5 + 4.9 * work.windows + (0.86 if leaves else 0.64) * work.columns * vectors)


def of_channels_last(views: Spreading) -> float:
    vectors = _vectors(views)
    work = work_of(views, views.number_of_planes / views.planes.shape[1], "channels last")
    summed = 0.79 * work.windows * vectors * work.over_column
    if views.axes[2].rule == ADAPTIVE:
        summed += 4.8 * work.columns
    return 370 + work.gradients * summed + work.rows * (41 + work.columns * (1.4 + 0.8 * vectors * work.over_row))


def _vectors(views: Spreading) -> int:
    return -(-views.planes.shape[1] // LANES)
