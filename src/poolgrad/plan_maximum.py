"""The plan of a max pooling gradient: which kernel finds the place of each gradient fastest.

All of them give the same bits: every gradient is added where its index points in its own plane, in ascending order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import plan as plans
from .contract import Call
from .dtypes import DType
from .kernels.record import BLOCK_SIDE, GATHERED, LANES, LINE, LONGEST_BLOCK_TABLE, PAGE, RECORD, ROOM
from .plan import CODES, Plan, Record, compute_dtype, parts_for, power_of_two
from .tensor import Planes, as_planes
from .windows import Axis

# Windows that touch are laid out by constant shuffles up to this stride, at least a vector of them to a row.
# Beyond it few gradients meet many zeros, and a scatter is as fast.
LARGEST_TILE, NARROWEST_ROW = 4, LANES
# Of 16-bit numbers, a window's two columns are one word. That takes half the time of numbers that are widened first.
PAIR = 2
# Shorter rows of 2 x 2 windows are laid one over the end of the other: rows of 7 take two thirds of a scatter's time,
# of 5 nine tenths. Rows of 4 take as long, and larger windows longer, since few gradients meet many zeros.
SHORTEST_ROW = 5
# Up to so many windows over an element, asking each of them is faster than a scatter where channels lie side by side.
MOST_ASKED = 9
# Windows, kernel and stride, that pixels ask in blocks of four. With 64 to 256 channels of float32 and 64-bit indices
# that takes 0.7 times as long as pixel by pixel. Larger blocks are slower with a stride of 1, and with 3 and 2 at most
# a tenth faster. So many channels at most, to bound scratch.
BLOCKS, MOST_CHANNELS_AT_ONCE = ((2, 2), (3, 2), (3, 1)), 512
# Rows of pixels that are made together: they share windows.
MOST_ROWS_TOGETHER = 4
# Larger planes of 16-bit numbers are made in bands of about so many elements, which are float32 until they are written.
BAND = 1 << 10
# Small planes are cleared and filled some at a time, as many as take so many bytes: gradients follow just behind the
# zeros. Half as many take up to a tenth longer, twice as many up to a sixth (7 x 7 planes).
BATCH_BYTES = 1 << 12
# Where loads of indices would wait for stores, up to so many elements at once are scattered in scratch and copied: with
# 32-bit indices, windows of 3 and a stride of 1 that takes 0.72 to 0.87 times as long (7 x 7 to 40 x 40 planes). Larger
# planes are cleared as indices come, which is faster than a copy.
MOST_SIDESTEPPED = 1 << 11


class _View(NamedTuple):
    """A tensor as planes, and its type."""

    planes: Planes
    dtype: DType

    @property
    def has_dense_rows(self) -> bool:
        return self.planes.has_neighbours(self.dtype.itemsize)

    @property
    def has_dense_planes(self) -> bool:
        """Whether each plane is one run of memory."""
        return self.planes.is_dense(self.dtype.itemsize)

    @property
    def is_dense(self) -> bool:
        """Whether all planes are one run of memory, in ascending order."""
        number, channels = self.planes.shape[:2]
        plane = math.prod(self.planes.spatial) * self.dtype.itemsize
        steps = self.planes.steps
        return (
            self.has_dense_planes
            and (channels == 1 or steps[1] == plane)
            and (number == 1 or steps[0] == channels * plane)
        )


class _Way(NamedTuple):
    """A kernel, what it counts as units, and the scratch that it needs."""

    kernel: str
    units: int
    floats: int = 0
    integers: int = 0
    grain: int = 1  # units that lie side by side in memory


def plan_maximum(
    call: Call, *, grad: str, indices: str, result: str, layout: str, axes: tuple[Axis, Axis] | None
) -> Plan:
    """Every gradient is added where its index points in its own plane.

    ``axes`` are the windows along H and W, if they are fixed ones. They decide how that is done, never what comes out.
    """
    tensors = [call.tensor(name) for name in (grad, indices, result)]
    source, where, target = (_View(as_planes(tensor, layout), tensor.dtype) for tensor in tensors)
    compute = compute_dtype(target.dtype)
    plane_size = math.prod(target.planes.spatial)
    count = tensors[2].count // plane_size if tensors[2].count else 0
    flows = tensors[0].count > 0

    record = np.zeros(1, RECORD)
    record["channels"] = target.planes.shape[1]
    record["code"], record["index_code"] = CODES[target.dtype], CODES[where.dtype]
    record["size"], record["out"] = target.planes.spatial, source.planes.spatial
    record["grad_steps"], record["index_steps"] = source.planes.steps, where.planes.steps
    record["result_steps"] = target.planes.steps
    record["itemsize"], record["stored"] = np.dtype(compute).itemsize, target.dtype.itemsize
    # Sums of halves need a float32 plane to grow in; floats grow in the output itself.
    record["plain"] = target.dtype.name == compute
    record["direct"] = record["plain"] or not flows
    # A cache that is to hold the output would hold the inputs, too.
    traffic = sum(tensor.dtype.nbytes(tensor.count) for tensor in tensors)
    record["streaming"] = traffic >= plans.STREAM_FROM
    parts = parts_for(count, *tensors)
    way = None
    if axes is not None and count and flows and plane_size < 2**31:  # places are compared in 32 bits
        views = (source, where, target)
        way = (
            _by_blocks(record, axes, views, count, parts)
            or _by_pixels(record, axes, views, count, parts)
            or _by_tiles(record, axes, views, count, parts)
            or _by_short_rows(record, axes, views, count)
            or _by_bands(record, axes, views, count, parts)
        )
    if way is None:
        way = _by_scatter(record, source, where, target, count)
    return Plan(
        call=call,
        kernel=way.kernel if count else "",
        compute=compute,
        record=record,
        inputs=(grad, indices),
        output=result,
        units=way.units,
        parts=max(1, min(parts, way.units)),
        floats=way.floats if count else 0,
        integers=way.integers if count else 0,
        grain=way.grain,
    )


def _by_blocks(
    record: Record, axes: tuple[Axis, Axis], views: tuple[_View, _View, _View], count: int, parts: int
) -> _Way | None:
    """Channels side by side, in whole vectors, and the usual windows."""
    rows, columns = axes
    windows = (rows.kernel, rows.stride)
    if not _has_vectors_of_channels(views) or windows not in BLOCKS or windows != (columns.kernel, columns.stride):
        return None
    if not record["plain"]:
        return None
    channels = views[2].planes.shape[1]
    at_once = min(channels, MOST_CHANNELS_AT_ONCE)
    floats, integers = BLOCK_SIDE**2 * at_once, 2 * LONGEST_BLOCK_TABLE + at_once
    if not _fits(record, floats + integers, parts):
        return None
    _set_windows(record, axes)
    record["chunk"] = at_once
    return _Way(f"max_blocks_{rows.kernel}_{rows.stride}", count // LANES, floats, integers, channels // LANES)


def _by_pixels(
    record: Record, axes: tuple[Axis, Axis], views: tuple[_View, _View, _View], count: int, parts: int
) -> _Way | None:
    """Channels side by side, in whole vectors."""
    rows, columns = axes
    if not _has_vectors_of_channels(views) or rows.longest_run * columns.longest_run > MOST_ASKED:
        return None
    channels = views[2].planes.shape[1]
    together = min(rows.stride, MOST_ROWS_TOGETHER)
    slots, row, wide_row = 0, 0, 0
    if not record["plain"]:  # rows of the result and the rows of gradients that they ask, in the compute type
        slots = power_of_two(rows.longest_run + together)
        row, wide_row = columns.size * channels, columns.out * channels
    floats = together * row + slots * wide_row + ROOM
    if not _fits(record, floats, parts):
        return None
    _set_windows(record, axes)
    record["tile"], record["longer"] = together, row
    record["row_slots"], record["wide_row"] = slots, wide_row
    integers = 2 * together + 2 * rows.longest_run * columns.longest_run + 1
    return _Way("max_pixels", count // LANES, floats + _astray(record), integers, channels // LANES)


def _by_tiles(
    record: Record, axes: tuple[Axis, Axis], views: tuple[_View, _View, _View], count: int, parts: int
) -> _Way | None:
    """Windows that touch and do not overlap, none of them cut off: squares of the stride's size."""
    columns = axes[1]
    stride = columns.stride
    squares = all(
        axis.kernel <= axis.stride == stride and axis.pad == 0 and axis.out * stride <= axis.size for axis in axes
    )
    if not squares or not 2 <= stride <= LARGEST_TILE or columns.out < NARROWEST_ROW:
        return None
    if not all(view.has_dense_rows for view in views):
        return None
    if stride == PAIR and not record["plain"]:
        _set_windows(record, axes)
        return _Way("max_pairs", count, _astray(record))
    if not (record["plain"] or views[2].has_dense_planes):
        return None
    floats = 0 if record["plain"] else GATHERED + stride * columns.size + ROOM + columns.out + ROOM
    if not _fits(record, floats, parts):
        return None
    _set_windows(record, axes)
    record["followed"] = views[0].is_dense and views[1].is_dense
    return _Way(f"max_tiles_{stride}", count, floats + _astray(record))


def _by_short_rows(
    record: Record, axes: tuple[Axis, Axis], views: tuple[_View, _View, _View], count: int
) -> _Way | None:
    """2 x 2 windows that tile small planes, all of these one run of memory."""
    rows, columns = axes
    tiled = all(axis.kernel <= axis.stride == 2 and axis.pad == 0 and axis.out * 2 == axis.size for axis in axes)
    if not tiled or rows.out < 2 or not SHORTEST_ROW <= columns.out < NARROWEST_ROW:
        return None
    if not record["plain"] or not all(view.is_dense for view in views):
        return None
    return _Way("max_short_rows", count)


def _by_bands(
    record: Record, axes: tuple[Axis, Axis], views: tuple[_View, _View, _View], count: int, parts: int
) -> _Way | None:
    """16-bit planes that would fill the first-level cache, each of them one run of memory."""
    rows, columns = axes
    if record["plain"] or rows.size * columns.size <= BAND or not all(view.has_dense_planes for view in views):
        return None
    at_once = max(BAND // (rows.stride * columns.size), 1)
    chunk = at_once * columns.out + ROOM
    band = (at_once * rows.stride + rows.kernel) * columns.size + LINE + ROOM
    if not _fits(record, chunk + band, parts):
        return None
    _set_windows(record, axes)
    record["batch"], record["chunk"], record["longer"] = at_once, chunk, band
    return _Way("scatter_bands", count, chunk + band + _astray(record))


def _by_scatter(record: Record, source: _View, where: _View, target: _View, count: int) -> _Way:
    """Anything at all."""
    plane_size, number = math.prod(target.planes.spatial), math.prod(source.planes.spatial)
    views = (source, where, target)
    chunk = 0 if record["plain"] else min(number, plans.MOST_WINDOWS_AT_ONCE)
    if number and count and all(view.has_dense_planes for view in views):
        batch = 1
        if all(view.is_dense for view in views):
            planes = -(-BATCH_BYTES // (plane_size * int(record["itemsize"][0])))
            batch = max(min(planes, plans.MOST_WINDOWS_AT_ONCE // number), 1)
            chunk = 0 if record["plain"] else max(chunk, batch * number)
        record["batch"], record["chunk"] = batch, chunk
        scratch = 0 if record["direct"] else batch * plane_size + ROOM
        alike = number == plane_size and target.dtype.itemsize == where.dtype.itemsize
        if record["direct"] and alike and batch * plane_size <= MOST_SIDESTEPPED:
            record["sidestepping"] = True
            scratch = batch * plane_size + ROOM + PAGE // 2 // target.dtype.itemsize
        return _Way("scatter_dense", count, chunk + scratch)
    record["chunk"] = chunk
    # Halves would need a float32 plane for each channel.
    channels = target.planes.shape[1]
    if record["direct"] and channels > 1 and all(v.planes.steps[1] == v.dtype.itemsize for v in views):
        return _Way("scatter_together", count, grain=channels)
    return _Way("scatter", count, chunk + (0 if record["direct"] else plane_size + ROOM))


def _has_vectors_of_channels(views: tuple[_View, _View, _View]) -> bool:
    """Whether the channels of every pixel lie side by side and fill whole vectors."""
    channels = views[2].planes.shape[1]
    return channels % LANES == 0 and all(view.planes.steps[1] == view.dtype.itemsize for view in views)


def _set_windows(record: Record, axes: tuple[Axis, Axis]) -> None:
    for name in ("kernel", "stride", "pad"):
        record[name][0, 1:] = [getattr(axis, name) for axis in axes]


def _fits(record: Record, floats: int, parts: int) -> bool:
    return floats * int(record["itemsize"][0]) <= min(plans.PART_BUDGET, plans.TOTAL_BUDGET // parts)


def _astray(record: Record) -> int:
    """Where halves are summed up in a plane whose indices went astray."""
    return 0 if record["direct"] else int(record["size"][0].prod()) + ROOM
