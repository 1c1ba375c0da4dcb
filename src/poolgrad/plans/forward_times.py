"""How long each way of a forward pass takes, about, in nanoseconds: what decides between those that are legal.

The numbers are fitted to the times of six hundred random calls by all their ways, on one thread and on two. What they
say of one call may be wrong by a third; how often the best way is found, ``make bench-sweep`` tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base.windows import FIXED, Axis
from ..kernels.record import LANES, READ_FLOATS

if TYPE_CHECKING:
    from .forward import Pooling


class Work(NamedTuple):
    """What one part has to do: rows of windows, and rows of the input that are pooled along W for them."""

    rows: float
    made: float
    columns: int
    windows: int  # along W
    along: float  # elements of a window along W
    across: float  # and rows, over all its layers


def _held_by_window(axis: Axis) -> float:
    """How many elements a window holds, on an average over the first few. Padding counts where there are no more."""
    if axis.rule == FIXED and axis.out > LANES:
        return min(axis.kernel, axis.size)
    some = range(min(axis.out, LANES))
    return sum(max(min(axis.stop(o), axis.size) - max(axis.start(o), 0), 0) for o in some) / len(some)


def work_of(pooling: Pooling, groups: int, work: int = 0) -> Work:
    """Of so many planes, or groups of them, that are worked on one after the other; ``work`` as a booking has it."""
    depth, rows, columns = pooling.axes
    layers, high, along = map(_held_by_window, pooling.axes)
    parts = pooling.parts(groups * pooling.rows_of_windows, work)
    mine = -(-groups * pooling.rows_of_windows // parts)
    of_plane = min(depth.size, depth.out * layers) * min(rows.size, rows.out * high)
    made = min(mine * layers * high, max(groups / parts, 1) * of_plane)
    return Work(mine, made, columns.size, columns.out, along, layers * high)


def of_lanes(pooling: Pooling) -> float:
    """Eight channels of a pixel are one vector; what lies in neither pixels nor rows is read element by element.
    With more channels what is left of a cache line is read once more: from memory that takes twice as long."""
    channels, work = pooling.planes[0].shape[1], work_of(pooling, pooling.groups, pooling.gathered)
    taken = 1.3 if pooling.has_pixels and channels > LANES else 0.7 if pooling.has_pixels or pooling.has_runs else 10.0
    each, looked, joined = (1.3, 0.22, 1.0) if pooling.averages else (0.0, 1.65, 1.25)
    row = 18 + taken * work.columns + work.windows * (each + looked * work.along)
    time = 100 + work.made * row + work.rows * (28 + work.windows * (1.8 + joined * work.across))
    moved = sum(tensor.dtype.nbytes(tensor.count) for tensor in pooling.tensors)
    again = pooling.has_pixels and channels > LANES and moved >= 4 * pooling.limits.second_cache
    return 1.8 * time if again else time


def of_along_rows(pooling: Pooling) -> float:
    columns, vectors = pooling.axes[2], -(-pooling.axes[2].out // LANES)
    work = work_of(pooling, pooling.number_of_planes, pooling.gathered)
    neighbours = columns.rule == FIXED and columns.stride == 1
    taken = 0.05 if pooling.has_runs else 0.25
    if pooling.averages:
        each, looked, joined, table = 1.9, 0.17 if neighbours else 0.87, 0.44, 12
    else:
        each, looked, joined, table = 0.25, 0.85 if neighbours else 1.8, 1.6, 4
    row = 18 + taken * work.columns + vectors * (each + looked * work.along)
    return table * work.windows + work.made * row + work.rows * (33 + vectors * joined * work.across)


def of_channels_last(pooling: Pooling) -> float:
    """Four vectors of channels at once, or one, which takes twice as long if it is of halves. Windows with a stride of
    1 are as good as channels where there are no places."""
    channels, columns = pooling.planes[0].shape[1], pooling.axes[2]
    work = work_of(pooling, pooling.planes[0].shape[0])
    windows = work.windows
    if len(pooling.tensors) == 2 and columns.rule == FIXED and columns.stride == 1:
        channels, windows = channels * windows, 1
    fours = channels // (4 * LANES)
    single = -(-(channels - fours * 4 * LANES) // LANES) * (1 if pooling.moves == READ_FLOATS else 2)
    four, one, looked, alone, row = (4.6, 5.4, 1.5, 0.32, 0.22) if pooling.averages else (5.3, 2.1, 3.8, 1.0, 1.45)
    held = work.along * work.across
    window = fours * (four + looked * held) + single * (one + alone * held) + (fours + single) * row * work.across
    return 500 + work.rows * (30 + windows * window)
