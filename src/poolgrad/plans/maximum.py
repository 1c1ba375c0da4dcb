"""The plan of a max pooling gradient: which kernel finds the place of each gradient fastest.

All of them give the same bits: every gradient is added where its index points in its own plane, in ascending order.
A plane may have layers; to a scatter it is one run of elements all the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.dtypes import DType
from ..base.tensor import Planes, as_planes
from ..base.windows import COUNT_ONE, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import record as codes
from ..kernels.record import (
    BLOCK_SIDE,
    GATHERED,
    LANES,
    LINE,
    LONGEST_BLOCK_TABLE,
    PAGE,
    PIXEL_BLOCKS,
    RECORD,
    ROOM,
)
from . import plan as plans
from .plan import CODES, Plan, Record, compute_dtype, parts_for

# Windows that touch are laid out by constant shuffles up to this stride, at least a vector of them to a row.
# Beyond it few gradients meet many zeros, and a scatter is as fast.
LARGEST_TILE, NARROWEST_ROW = 4, LANES
# Over several layers still fewer gradients meet still more zeros. Only beyond the caches does a scatter of floats take
# longer there, by 1.5 to 1.7 times; within them it takes 0.4 to 0.8 of the time.
# Of 16-bit numbers, a window's two columns are one word. That takes half the time of numbers that are widened first.
PAIR = 2
# Shorter rows of 2 x 2 windows are laid one over the end of the other: rows of 7 take two thirds of a scatter's time,
# of 5 nine tenths. Rows of 4 take as long, and larger windows longer, since few gradients meet many zeros.
SHORTEST_ROW = 5
# Windows, kernel and stride, that pixels ask in blocks of four, of so many channels at most, to bound scratch. Sums of
# halves need no memory that way: it takes 0.4 to 0.8 of the time of a scatter, and so do floats if windows touch (0.7).
# If these overlap, only tensors of so many bytes take 0.7 of it, and smaller ones 0.9 to 2.
BLOCKS, MOST_CHANNELS_AT_ONCE = tuple({windows[:2] for windows in PIXEL_BLOCKS.values()}), 512
OVERLAPPING_BLOCKS_FROM = 32 << 20
# Larger planes of 16-bit numbers are made in bands of about so many elements, which are float32 until they are written.
BAND = 1 << 10
# Layers of so many bytes, which would fill the first-level cache, are cleared row by row before windows with depth. If
# these are of 3 with a stride of 2, that takes 0.93 of the time with layers of 96 x 96 floats, 0.7 with 224 x 224, and
# 1.03 with 80 x 80. If they reach into more layers than so many, it takes up to a tenth longer than to clear ahead.
LARGE_LAYER, MOST_LAYERS = 1 << 15, 3
# Small planes are cleared and filled some at a time, as many as take so many bytes: gradients follow just behind the
# zeros. Half as many take up to a tenth longer, twice as many up to a sixth (7 x 7 planes).
BATCH_BYTES = 1 << 12
# Where loads of indices would wait for stores, up to so many elements at once are scattered in scratch and copied: with
# 32-bit indices, windows of 3 and a stride of 1 that takes 0.72 to 0.87 times as long (7 x 7 to 40 x 40 planes). Larger
# planes are cleared as indices come, which is faster than a copy.
MOST_SIDESTEPPED = 1 << 11
# If there are so many elements for each gradient, halves are scattered into the output itself, in 0.3 to 0.9 of the
# time of any other way; fewer will do if a plane and its sums stay in the first-level cache, 0.6 to 0.9. (bfloat16
# gains least: one gradient for ten elements may take a tenth longer.)
SPARSE, SPARSE_IN_CACHE, PLANE_IN_CACHE = 32, 9, 1 << 13
# Sums of halves whose channels lie side by side: of as many channels at once as fit the second-level cache with their
# sums, and still of 32 if these take no more than so many bytes: a cache line has as many.
SUMS_AT_ONCE, MOST_SUMS, CHANNELS_OF_A_LINE = 1 << 20, 1 << 23, 32


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

    def cut(self, rows: int, width: int) -> _View:
        """Planes that are runs of memory, as so many rows without layers."""
        (batch, channels, *_), (image, plane, *_), size = self.planes.shape, self.planes.steps, self.dtype.itemsize
        return self._replace(planes=Planes((batch, channels, 1, rows, width), (image, plane, 0, width * size, size)))


_Views = tuple[_View, _View, _View]  # of the gradient, the indices and the result
_Axes = tuple[Axis, Axis, Axis]  # D, H and W


class _Way(NamedTuple):
    """A kernel, what it counts as units, and the scratch that it needs."""

    kernel: str
    units: int
    floats: int = 0
    integers: int = 0
    grain: int = 1  # units that lie side by side in memory


def plan_maximum(call: Call, threads: int) -> Plan:
    """Every gradient is added where its index points in its own plane.

    Windows of one size decide how that is done, never what comes out.
    """
    names = tuple(call.operator.by_role[role].name for role in (Role.GRADIENT, Role.INDICES, Role.RESULT))
    tensors, layout = [call.tensor(name) for name in names], layout_of(call)
    axes = _fixed_axes(call)
    source, where, target = (_View(as_planes(tensor, layout), tensor.dtype) for tensor in tensors)
    views = (source, where, target)
    compute = compute_dtype(target.dtype)
    plane_size = math.prod(target.planes.spatial)
    count = tensors[2].count // plane_size if tensors[2].count else 0
    flows = tensors[0].count > 0

    record = np.zeros(1, RECORD)
    record["channels"] = target.planes.shape[1]
    record["code"], record["index_code"] = CODES[target.dtype], CODES[where.dtype]
    _set_views(record, views)
    record["itemsize"], record["stored"] = np.dtype(compute).itemsize, target.dtype.itemsize
    # Sums of halves need a float32 plane to grow in; floats grow in the output itself.
    record["plain"] = target.dtype.name == compute
    record["direct"] = record["plain"] or not flows
    # A cache that is to hold the output would hold the inputs, too.
    traffic = sum(tensor.dtype.nbytes(tensor.count) for tensor in tensors)
    record["streaming"] = traffic >= plans.STREAM_FROM
    parts = parts_for(threads, count, *tensors)
    way = _by_few(record, views, count) if count and flows else None
    if way is None and axes is not None and count and flows and plane_size < 2**31:  # places are compared in 32 bits
        if not _is_deep(axes):
            way = _by_channels_last_blocks(record, axes, views, count, parts, traffic) or _by_touching_short_rows(
                record, axes, views, count
            )
        way = (
            way
            or _by_touching(record, axes, views, count, parts)
            or _by_layers(record, axes, views, count)
            or _by_bands(record, axes, views, count, parts)
        )
    if way is None:
        way = _by_pixels(record, views, count, parts) or _by_scatter(record, views, count)
    return Plan(
        call=call,
        kernel=way.kernel if count else "",
        compute=compute,
        record=record,
        tensors=names,
        units=way.units,
        parts=max(1, min(parts, way.units)),
        floats=way.floats if count else 0,
        integers=way.integers if count else 0,
        grain=way.grain,
    )


def _fixed_axes(call: Call) -> _Axes | None:
    """The windows along D, H and W, if all are of one size; a plane without depth has one layer."""
    windows = [w.axis(COUNT_ONE) for w in call.operator.windows(call)]
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *windows)
    return (depth, rows, columns) if depth.rule == rows.rule == columns.rule == FIXED else None


def _is_deep(axes: _Axes) -> bool:
    return axes[0].size > 1 or axes[0].out > 1


def _set_views(record: Record, views: _Views) -> None:
    source, where, target = (view.planes for view in views)
    record["size"], record["out"] = target.spatial, source.spatial
    record["grad_steps"], record["index_steps"], record["result_steps"] = source.steps, where.steps, target.steps


def _by_channels_last_blocks(
    record: Record, axes: _Axes, views: _Views, count: int, parts: int, traffic: int
) -> _Way | None:
    """Channels side by side, in whole vectors, and the usual windows."""
    _, rows, columns = axes
    windows = (rows.kernel, rows.stride)
    if not _has_vectors_of_channels(views) or windows not in BLOCKS or windows != (columns.kernel, columns.stride):
        return None
    if record["plain"] and rows.kernel > rows.stride and traffic < OVERLAPPING_BLOCKS_FROM:
        return None
    channels = views[2].planes.shape[1]
    at_once = min(channels, MOST_CHANNELS_AT_ONCE)
    floats, integers = BLOCK_SIDE**2 * at_once, 2 * LONGEST_BLOCK_TABLE + at_once
    if not _fits(record, floats + integers, parts):
        return None
    _set_windows(record, axes)
    record["chunk"] = at_once
    code = codes.FLOAT32 if record["plain"] else int(record["code"][0])
    kernel = next(name for name, kind in PIXEL_BLOCKS.items() if kind == (*windows, code))
    return _Way(kernel, count // LANES, floats + _fallback_plane(record), integers, channels // LANES)


def _by_touching(record: Record, axes: _Axes, views: _Views, count: int, parts: int) -> _Way | None:
    """Windows that touch and do not overlap, none of them cut off: squares of the stride's size, of any depth."""
    _, rows, columns = axes
    stride = columns.stride
    apart = all(axis.kernel <= axis.stride and axis.pad == 0 for axis in axes)
    squares = rows.stride == stride and all(axis.out * axis.stride <= axis.size for axis in axes)
    boxes = _is_deep(axes) and axes[0].stride > 1
    if boxes and not (record["streaming"] if record["plain"] else stride == PAIR):
        return None
    if not (apart and squares) or not 2 <= stride <= LARGEST_TILE or columns.out < NARROWEST_ROW:
        return None
    if not all(view.has_dense_rows for view in views):
        return None
    if stride == PAIR and not record["plain"]:
        _set_windows(record, axes)
        return _Way("max_touching_pairs", count, _fallback_plane(record))
    if not (record["plain"] or views[2].has_dense_planes):
        return None
    floats = 0 if record["plain"] else GATHERED + stride * columns.size + ROOM + columns.out + ROOM
    if not _fits(record, floats, parts):
        return None
    _set_windows(record, axes)
    record["followed"] = views[0].is_dense and views[1].is_dense
    return _Way(f"max_touching_{stride}", count, floats + _fallback_plane(record))


def _by_touching_short_rows(record: Record, axes: _Axes, views: _Views, count: int) -> _Way | None:
    """2 x 2 windows that tile small planes, all of these one run of memory."""
    _, rows, columns = axes
    tiled = all(axis.kernel <= axis.stride == 2 and axis.pad == 0 and axis.out * 2 == axis.size for axis in axes[1:])
    if not tiled or rows.out < 2 or not SHORTEST_ROW <= columns.out < NARROWEST_ROW:
        return None
    if not record["plain"] or not all(view.is_dense for view in views):
        return None
    return _Way("max_touching_short_rows", count)


def _by_bands(record: Record, axes: _Axes, views: _Views, count: int, parts: int) -> _Way | None:
    """16-bit planes that would fill the first-level cache, each of them one run of memory.

    Windows with depth reach over whole layers at least: so a layer is what else is a row.
    """
    depth, rows, columns = axes
    if record["plain"] or not all(view.has_dense_planes for view in views):
        return None
    bands, width, windows = rows, columns.size, columns.out
    if _is_deep(axes):
        bands, width, windows = depth, rows.size * width, rows.out * windows
    if bands.size * width <= BAND:
        return None
    at_once = max(BAND // (bands.stride * width), 1)
    chunk = at_once * windows + ROOM
    band = (at_once * bands.stride + bands.kernel) * width + LINE + ROOM
    if not _fits(record, chunk + band, parts):
        return None
    source, where, target = views
    _set_views(record, (source.cut(bands.out, windows), where.cut(bands.out, windows), target.cut(bands.size, width)))
    _set_windows(record, (whole(1), bands, columns))
    record["batch"], record["chunk"], record["longer"] = at_once, chunk, band
    return _Way("scatter_bands", count, chunk + band + _fallback_plane(record))


def _by_layers(record: Record, axes: _Axes, views: _Views, count: int) -> _Way | None:
    """Large layers of floats, each plane of them one run of memory."""
    depth, rows, columns = axes
    if not (_is_deep(axes) and record["plain"] and all(view.has_dense_planes for view in views)):
        return None
    layer = rows.size * columns.size * int(record["itemsize"][0])
    if layer < LARGE_LAYER or depth.kernel > MOST_LAYERS or columns.out < NARROWEST_ROW:
        return None
    _set_windows(record, axes)
    return _Way("scatter_layers", count)


def _by_pixels(record: Record, views: _Views, count: int, parts: int) -> _Way | None:
    """Channels side by side: all planes of an image together, or of halves as many as have room for their sums."""
    channels, plane = views[2].planes.shape[1], math.prod(views[2].planes.spatial)
    side_by_side = channels > 1 and all(view.planes.steps[1] == view.dtype.itemsize for view in views)
    if not side_by_side or all(view.has_dense_planes for view in views):  # both if a plane is one element
        return None
    if record["direct"]:
        record["batch"] = channels
        return _Way("scatter_channels_last", count, grain=channels)
    room, most = (min(size, plans.TOTAL_BUDGET // parts) // 4 for size in (SUMS_AT_ONCE, MOST_SUMS))
    at_once = min(channels, max(room // plane, min(CHANNELS_OF_A_LINE, most // plane), 1))
    record["batch"] = at_once
    return _Way("scatter_channels_last_16_bits", count, at_once * plane, grain=channels)


def _by_few(record: Record, views: _Views, count: int) -> _Way | None:
    """Few gradients of 16 bits, each plane one run of memory."""
    plane, number = math.prod(views[2].planes.spatial), math.prod(views[0].planes.spatial)
    in_cache = plane <= PLANE_IN_CACHE and not record["streaming"]
    enough = number * (SPARSE_IN_CACHE if in_cache else SPARSE) <= plane
    if record["direct"] or not enough or not all(view.has_dense_planes for view in views):
        return None
    return _Way("scatter_sparse", count, plane)


def _by_scatter(record: Record, views: _Views, count: int) -> _Way:
    """Anything at all."""
    source, where, target = views
    plane_size, number = math.prod(target.planes.spatial), math.prod(source.planes.spatial)
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
    return _Way("scatter", count, chunk + (0 if record["direct"] else plane_size + ROOM))


def _has_vectors_of_channels(views: _Views) -> bool:
    """Whether the channels of every pixel lie side by side and fill whole vectors."""
    channels = views[2].planes.shape[1]
    return channels % LANES == 0 and all(view.planes.steps[1] == view.dtype.itemsize for view in views)


def _set_windows(record: Record, axes: _Axes) -> None:
    for name in ("kernel", "stride", "pad"):
        record[name] = [getattr(axis, name) for axis in axes]


def _fits(record: Record, floats: int, parts: int) -> bool:
    return floats * int(record["itemsize"][0]) <= min(plans.PART_BUDGET, plans.TOTAL_BUDGET // parts)


def _fallback_plane(record: Record) -> int:
    """Where halves are summed up in a plane whose indices went astray."""
    return 0 if record["direct"] else int(record["size"][0].prod()) + ROOM
