"""How long each way of a forward pass takes, about, in nanoseconds: what decides between those that are legal.

The numbers are fitted to the times of some thousand random calls by all their ways, on two kinds of processors. What
they say of one call may be wrong by a third; how often the best way is found, ``make bench-sweep`` tells.
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


def work_of(pooling: Pooling, groups: int, way: str) -> Work:
    """Of so many planes, or groups of them, that a way works on one after the other."""
    depth, rows, columns = pooling.axes
    layers, high, along = map(_held_by_window, pooling.axes)
    parts = pooling.parts(groups * pooling.rows_of_windows, way)
    mine = -(-groups * pooling.rows_of_windows // parts)
    of_plane = min(depth.size, depth.out * layers) * min(rows.size, rows.out * high)
    made = mine * layers * high
    if pooling.shares_rows:
        made = min(made, max(groups / parts, 1) * of_plane)
    return Work(mine, made, columns.size, columns.out, along, layers * high)


def of_lanes(pooling: Pooling) -> float:
    """Eight channels of a pixel are one vector; what lies in neither pixels nor rows is read element by element.
    With more channels what is left of a cache line is read once more: from memory that takes longer."""
    channels, work = pooling.planes[0].shape[1], work_of(pooling, pooling.groups, "lanes")
    if pooling.averages:
        begun, taken, each, looked, joined, given, window = 13.0, 1.1, 2.0, 0.175, 0.18, 21.0, 1.8
    else:
        begun, taken, each, looked, joined, given, window = 19.0, 0.38, 0.0, 1.05, 1.06, 43.0, 5.7
    taken = taken if pooling.has_pixels or pooling.has_runs else 15.5
    row = begun + taken * work.columns + work.windows * (each + looked * work.along)
    time = 100 + work.made * row + work.rows * (given + work.windows * (window + joined * work.across))
    far = pooling.bytes_in_all >= 4 * pooling.limits.second_cache
    again = pooling.averages and pooling.has_pixels and channels > LANES and far
    return 1.7 * time if again else time


def of_along_rows(pooling: Pooling) -> float:
    columns, vectors = pooling.axes[2], -(-pooling.axes[2].out // LANES)
    work = work_of(pooling, pooling.number_of_planes, "along rows")
    neighbours = columns.rule == FIXED and columns.stride == 1
    if pooling.averages:
        begun, each, looked, joined, given, table = 16.0, 1.3, 0.0 if neighbours else 1.4, 0.43, 39.0, 2.9
    else:
        begun, each, looked, joined, given, table = 22.5, 0.05, 0.29 if neighbours else 1.44, 1.96, 44.0, 0.0
    taken = 0.02 if pooling.has_runs else 0.45 if pooling.averages else 0.25
    row = begun + taken * work.columns + vectors * (each + looked * work.along)
    return 300 + table * work.windows + work.made * row + work.rows * (given + vectors * joined * work.across)


def of_large_windows(pooling: Pooling) -> float:
    work = work_of(pooling, pooling.number_of_planes, "large windows")
    vectors = -(-work.along // LANES)
    return work.rows * (33 + work.windows * (22 + work.across * ((0.95 if vectors > 1 else 0.6) + 0.72 * vectors)))


def of_whole_planes(pooling: Pooling) -> float:
    """Eight rows at a time, four columns of them; what these give once more. Shorter rows are copied before."""
    depth, rows, columns = (axis.size for axis in pooling.axes)
    planes = pooling.number_of_planes / pooling.parts(pooling.number_of_planes, "whole planes") / LANES
    first, again = planes * depth * rows * -(-columns // 4), planes * depth * -(-rows // 4)
    if columns < LANES // 2:
        first *= 2
    return 100 + (2.3 if pooling.averages else 4.5) * first + 4.2 * again


def of_planes_in_lanes(pooling: Pooling) -> float:
    """Four columns of eight planes at a time, over the ends of rows. What a first-level cache loses is read again."""
    depth, rows, columns = (axis.size for axis in pooling.axes)
    units = pooling.number_of_planes // LANES
    fours, ones = depth * rows // 4, depth * rows % 4
    quads = fours * columns + ones * -(-columns // 4)
    again = 1.5 if 3 * pooling.bytes_of_eight_planes > 2 * pooling.limits.first_cache else 1.0
    return 100 + units / pooling.parts(units, "whole planes in lanes") * again * (16 + 2.2 * quads)


def of_channels_last(pooling: Pooling) -> float:
    """Four vectors of channels at once, or one, which takes longer if it is of halves, and if it is not full. Windows
    with a stride of 1 are as good as channels where there are no places."""
    channels, columns = pooling.planes[0].shape[1], pooling.axes[2]
    work = work_of(pooling, pooling.planes[0].shape[0], "channels last")
    windows = work.windows
    if len(pooling.tensors) == 2 and columns.rule == FIXED and columns.stride == 1:
        channels, windows = channels * windows, 1
    fours = channels // (4 * LANES)
    single: float = -(-(channels - fours * 4 * LANES) // LANES)
    if pooling.averages:
        four, one, looked, alone, row, given, of_halves = 2.35, 2.7, 1.2, 0.37, 0.5, 22.5, 1.55
    else:
        four, one, looked, alone, row, given, of_halves = 9.2, 1.7, 1.85, 1.27, 0.86, 38.0, 1.04
    single *= 1 if pooling.moves == READ_FLOATS else of_halves
    held = work.along * work.across
    window = fours * (four + looked * held) + single * (one + alone * held) + (fours + single) * row * work.across
    time = 500 + work.rows * (given + windows * window)
    return time if pooling.has_pixels else 1.26 * time
