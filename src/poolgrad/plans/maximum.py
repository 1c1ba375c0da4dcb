"""The plan of a max pooling gradient: which kernel finds the place of each gradient fastest.

All of them give the same bits: every gradient is added where its index points in its own plane, in ascending order.
A plane may have layers; to a scatter it is one run of elements all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..base.dtypes import DType
from ..base.tensor import Planes, Tensor, as_planes
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
from .limits import Limits, machine_limits
from .plan import CODES, Plan, compute_dtype, parts_for
from .ways import Booking, Need, Record, Way, choose

# Windows that touch are laid out by constant shuffles up to this stride, at least a vector of them to a row.
# Beyond it few gradients meet many zeros, and a scatter is as fast.
LARGEST_TILE, NARROWEST_ROW = 4, LANES
# Over several layers still fewer gradients meet still more zeros. Only beyond the caches does a scatter of floats take
# longer there, by 1.5 to 1.7 times; within them it takes 0.4 to 0.8 of the time.
# Of 16-bit numbers, a window's two columns are one word. That takes half the time of numbers that are widened first.
PAIR = 2
# Shorter rows of 2 x 2 windows are laid one over the end of the other: rows of 7 take two thirds of a scatter's time,
# of 5 nine tenths. Rows of 4, the shortest that can be, take as long, and larger windows longer, since few gradients
# meet many zeros.
SHORTEST_ROW, FEWEST_TO_PAY = 4, 5
# Windows, kernel and stride, that pixels ask in blocks of four, of so many channels at most, to bound scratch. Sums of
# halves need no memory that way: it takes 0.4 to 0.8 of the time of a scatter, and so do floats if windows touch (0.7).
# If these overlap, only tensors beyond the caches take 0.7 of it, and smaller ones 0.9 to 2.
BLOCKS = {windows[:2] for windows in PIXEL_BLOCKS.values()}
# Layers that would fill the first-level cache are cleared row by row before windows with depth. If
# these are of 3 with a stride of 2, that takes 0.93 of the time with layers of 96 x 96 floats, 0.7 with 224 x 224, and
# 1.03 with 80 x 80. If they reach into more layers than so many, it takes up to a tenth longer than to clear ahead.
MOST_LAYERS = 3
# Where loads of indices would wait for stores, up to so many elements at once are scattered in scratch and copied: with
# 32-bit indices, windows of 3 and a stride of 1 that takes 0.72 to 0.87 times as long (7 x 7 to 40 x 40 planes). Larger
# planes are cleared as indices come, which is faster than a copy.
MOST_SIDESTEPPED = 1 << 11
# If there are so many elements for each gradient, halves are scattered into the output itself, in 0.3 to 0.9 of the
# time of any other way; fewer will do if a plane and its sums stay in the first-level cache, 0.6 to 0.9. (bfloat16
# gains least: one gradient for ten elements may take a tenth longer.)
SPARSE, SPARSE_IN_CACHE = 32, 9
# Sums of halves whose channels lie side by side: of as many channels at once as fit the second-level cache with their
# sums, and still of these: a cache line has as many.
CHANNELS_OF_A_LINE = 32


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

    @property
    def has_channels_side_by_side(self) -> bool:
        return self.planes.steps[1] == self.dtype.itemsize

    def cut(self, rows: int, width: int) -> _View:
        """Planes that are runs of memory, as so many rows without layers."""
        (batch, channels, *_), (image, plane, *_), size = self.planes.shape, self.planes.steps, self.dtype.itemsize
        return self._replace(planes=Planes((batch, channels, 1, rows, width), (image, plane, 0, width * size, size)))


_Views = tuple[_View, _View, _View]  # of the gradient, the indices and the result
_Axes = tuple[Axis, Axis, Axis]  # D, H and W


@dataclass(frozen=True)
class Scattering:
    """A maximum's gradient, as its ways look at it."""

    call: Call
    axes: _Axes | None  # None if windows are not of one size
    views: _Views
    threads: int
    limits: Limits

    @property
    def source(self) -> _View:
        return self.views[0]

    @property
    def where(self) -> _View:
        return self.views[1]

    @property
    def target(self) -> _View:
        return self.views[2]

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(self.call.tensor(role) for role in (Role.GRADIENT, Role.INDICES, Role.RESULT))

    @cached_property
    def compute(self) -> str:
        return compute_dtype(self.target.dtype)

    @cached_property
    def itemsize(self) -> int:
        return np.dtype(self.compute).itemsize

    @cached_property
    def plain(self) -> bool:
        """Whether the result is of the compute type."""
        return self.target.dtype.name == self.compute

    @cached_property
    def flows(self) -> bool:
        """Whether there is any gradient at all."""
        return self.tensors[0].count > 0

    @property
    def direct(self) -> bool:
        """Sums of halves need a float32 plane to grow in; floats grow in the output itself."""
        return self.plain or not self.flows

    @cached_property
    def plane(self) -> int:
        """Elements of a plane of the result."""
        return math.prod(self.target.planes.spatial)

    @cached_property
    def gradients(self) -> int:
        """Of a plane."""
        return math.prod(self.source.planes.spatial)

    @property
    def count(self) -> int:
        """Planes."""
        return self.tensors[2].count // self.plane

    @property
    def channels(self) -> int:
        return self.target.planes.shape[1]

    @cached_property
    def streaming(self) -> bool:
        """A cache that is to hold the output would hold the inputs, too."""
        return self.traffic >= self.limits.stream_from

    @cached_property
    def traffic(self) -> int:
        return sum(tensor.dtype.nbytes(tensor.count) for tensor in self.tensors)

    @cached_property
    def parts(self) -> int:
        return parts_for(self.threads, self.count, self.limits, *self.tensors)

    @property
    def is_deep(self) -> bool:
        return self.axes is not None and (self.axes[0].size > 1 or self.axes[0].out > 1)

    @property
    def windows(self) -> _Axes:
        """Along D, H and W; only for ways that need windows of one size."""
        assert self.axes is not None
        return self.axes

    @property
    def fallback_plane(self) -> int:
        """Floats for a plane whose indices went astray, where halves are summed up."""
        return 0 if self.direct else self.plane + ROOM

    @property
    def has_dense_rows(self) -> bool:
        return all(view.has_dense_rows for view in self.views)

    @property
    def has_dense_planes(self) -> bool:
        return all(view.has_dense_planes for view in self.views)

    @property
    def is_dense(self) -> bool:
        return all(view.is_dense for view in self.views)

    @property
    def has_channels_side_by_side(self) -> bool:
        return all(view.has_channels_side_by_side for view in self.views)

    def fits(self, floats: int) -> bool:
        return floats * self.itemsize <= self.limits.budget(self.parts)


def plan_maximum(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """Every gradient is added where its index points in its own plane.

    Windows of one size decide how that is done, never what comes out.
    """
    names = tuple(call.operator.by_role[role].name for role in (Role.GRADIENT, Role.INDICES, Role.RESULT))
    tensors, layout = [call.tensor(name) for name in names], layout_of(call)
    source, where, target = (_View(as_planes(tensor, layout), tensor.dtype) for tensor in tensors)
    subject = Scattering(call, _fixed_axes(call), (source, where, target), threads, limits or machine_limits())
    record = _record(subject)
    if not tensors[2].count:
        return Plan(call, "", subject.compute, record, names, 0, 1, 0, 0)
    choice = choose(WAYS, subject, way)
    kernel, units, floats, integers, grain = choice.taken.book(subject, record)
    parts = max(1, min(subject.parts, units))
    return Plan(call, kernel, subject.compute, record, names, units, parts, floats, integers, grain, choice=choice)


def _record(subject: Scattering) -> Record:
    """What all kernels are told."""
    record, target = np.zeros(1, RECORD), subject.target
    record["channels"] = subject.channels
    record["code"], record["index_code"] = CODES[target.dtype], CODES[subject.where.dtype]
    _set_views(record, subject.views)
    record["itemsize"], record["stored"] = subject.itemsize, target.dtype.itemsize
    record["plain"], record["direct"], record["streaming"] = subject.plain, subject.direct, subject.streaming
    return record


def _fixed_axes(call: Call) -> _Axes | None:
    """The windows along D, H and W, if all are of one size; a plane without depth has one layer."""
    windows = [w.axis(COUNT_ONE) for w in call.operator.windows(call)]
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *windows)
    return (depth, rows, columns) if depth.rule == rows.rule == columns.rule == FIXED else None


def _set_views(record: Record, views: _Views) -> None:
    source, where, target = (view.planes for view in views)
    record["size"], record["out"] = target.spatial, source.spatial
    record["grad_steps"], record["index_steps"], record["result_steps"] = source.steps, where.steps, target.steps


def _set_windows(record: Record, axes: _Axes) -> None:
    for name in ("kernel", "stride", "pad"):
        record[name] = [getattr(axis, name) for axis in axes]


def _has_windows(s: Scattering) -> bool:
    """Whether windows of one size tell where indices point. Places are compared in 32 bits."""
    return s.flows and s.axes is not None and s.plane < 2**31


def _has_blocks(s: Scattering) -> bool:
    _, rows, columns = s.windows
    windows = (rows.kernel, rows.stride)
    return not s.is_deep and windows in BLOCKS and windows == (columns.kernel, columns.stride)


def _blocks_scratch(s: Scattering) -> tuple[int, int, int]:
    """Channels at once; floats and integers."""
    at_once = min(s.channels, s.limits.channels_at_once)
    return at_once, BLOCK_SIDE**2 * at_once, 2 * LONGEST_BLOCK_TABLE + at_once


def _book_blocks(s: Scattering, record: Record) -> Booking:
    rows = s.windows[1]
    record["chunk"], floats, integers = _blocks_scratch(s)
    _set_windows(record, s.windows)
    code = codes.FLOAT32 if s.plain else CODES[s.target.dtype]
    kernel = next(name for name, kind in PIXEL_BLOCKS.items() if kind == (rows.kernel, rows.stride, code))
    return Booking(kernel, s.count // LANES, floats + s.fallback_plane, integers, s.channels // LANES)


def _touches(s: Scattering) -> bool:
    """Windows that do not overlap, none of them cut off: squares of the stride's size, of any depth."""
    _, rows, columns = s.windows
    apart = all(axis.kernel <= axis.stride and axis.pad == 0 for axis in s.windows)
    squares = rows.stride == columns.stride and all(axis.out * axis.stride <= axis.size for axis in s.windows)
    return apart and squares and 2 <= columns.stride <= LARGEST_TILE and columns.out >= NARROWEST_ROW


def _is_pair(s: Scattering) -> bool:
    return s.windows[2].stride == PAIR and not s.plain


def _touching_scratch(s: Scattering) -> int:
    columns = s.windows[2]
    return 0 if s.plain else GATHERED + columns.stride * columns.size + ROOM + columns.out + ROOM


def _book_touching(s: Scattering, record: Record) -> Booking:
    _set_windows(record, s.windows)
    if _is_pair(s):
        return Booking("max_touching_pairs", s.count, s.fallback_plane)
    record["followed"] = s.source.is_dense and s.where.is_dense
    kernel = f"max_touching_{s.windows[2].stride}"
    return Booking(kernel, s.count, _touching_scratch(s) + s.fallback_plane)


def _tiles_small_planes(s: Scattering) -> bool:
    """2 x 2 windows that tile small planes."""
    _, rows, columns = s.windows
    tiled = all(
        axis.kernel <= axis.stride == 2 and axis.pad == 0 and axis.out * 2 == axis.size for axis in (rows, columns)
    )
    return not s.is_deep and tiled and rows.out >= 2 and SHORTEST_ROW <= columns.out < NARROWEST_ROW


def _bands(s: Scattering) -> tuple[Axis, int, int]:
    """What bands are made of: rows, or layers where windows have depth, since these reach over whole layers at least;
    with elements and windows of each."""
    depth, rows, columns = s.windows
    if s.is_deep:
        return depth, rows.size * columns.size, rows.out * columns.out
    return rows, columns.size, columns.out


def _bands_scratch(s: Scattering) -> tuple[int, int, int]:
    """Bands of windows at once; floats of their gradients, and of the band."""
    bands, width, windows = _bands(s)
    at_once = max(s.limits.band // (bands.stride * width), 1)
    return at_once, at_once * windows + ROOM, (at_once * bands.stride + bands.kernel) * width + LINE + ROOM


def _book_bands(s: Scattering, record: Record) -> Booking:
    bands, width, windows = _bands(s)
    record["batch"], record["chunk"], record["longer"] = _bands_scratch(s)
    source, where = (view.cut(bands.out, windows) for view in (s.source, s.where))
    _set_views(record, (source, where, s.target.cut(bands.size, width)))
    _set_windows(record, (whole(1), bands, s.windows[2]))
    return Booking("scatter_bands", s.count, sum(_bands_scratch(s)[1:]) + s.fallback_plane)


def _book_layers(s: Scattering, record: Record) -> Booking:
    _set_windows(record, s.windows)
    return Booking("scatter_layers", s.count)


def _book_channels_last(s: Scattering, record: Record) -> Booking:
    """All planes of an image together, or of halves as many as have room for their sums."""
    channels, plane = s.channels, s.plane
    if s.direct:
        record["batch"] = channels
        return Booking("scatter_channels_last", s.count, grain=channels)
    room, most = (
        min(size, s.limits.total_budget // s.parts) // 4 for size in (s.limits.second_cache, s.limits.most_sums)
    )
    at_once = min(channels, max(room // plane, min(CHANNELS_OF_A_LINE, most // plane), 1))
    record["batch"] = at_once
    return Booking("scatter_channels_last_16_bits", s.count, at_once * plane, grain=channels)


def _are_few(s: Scattering) -> bool:
    in_cache = s.plane * 4 <= s.limits.first_cache and not s.streaming
    return s.gradients * (SPARSE_IN_CACHE if in_cache else SPARSE) <= s.plane


def _book_sparse(s: Scattering, record: Record) -> Booking:
    return Booking("scatter_sparse", s.count, s.plane)


def _book_dense(s: Scattering, record: Record) -> Booking:
    """Planes that are runs of memory."""
    batch, chunk = 1, 0 if s.plain else min(s.gradients, s.limits.windows_at_once)
    if s.is_dense:
        planes = -(-s.limits.batch_bytes // (s.plane * s.itemsize))
        batch = max(min(planes, s.limits.windows_at_once // s.gradients), 1)
        chunk = 0 if s.plain else max(chunk, batch * s.gradients)
    record["batch"], record["chunk"] = batch, chunk
    scratch = 0 if s.direct else batch * s.plane + ROOM
    alike = s.gradients == s.plane and s.target.dtype.itemsize == s.where.dtype.itemsize
    if s.direct and alike and batch * s.plane <= MOST_SIDESTEPPED:
        record["sidestepping"] = True
        scratch = batch * s.plane + ROOM + PAGE // 2 // s.target.dtype.itemsize
    return Booking("scatter_dense", s.count, chunk + scratch)


def _book_scatter(s: Scattering, record: Record) -> Booking:
    chunk = 0 if s.plain else min(s.gradients, s.limits.windows_at_once)
    record["chunk"] = chunk
    return Booking("scatter", s.count, chunk + s.fallback_plane)


def _has_vectors_of_channels(s: Scattering) -> bool:
    return s.channels % LANES == 0 and s.has_channels_side_by_side


WINDOWS = Need[Scattering]("windows of one size, over planes of less than 2**31 elements", _has_windows)
HALVES = Need[Scattering]("numbers of 16 bits", lambda s: not s.direct)
FLOATS = Need[Scattering]("numbers of the type that sums have", lambda s: s.plain)
DENSE_PLANES = Need[Scattering]("planes that are runs of memory", lambda s: s.has_dense_planes)


def _scratch(fits: Callable[[Scattering], bool]) -> Need[Scattering]:
    return Need("so much scratch as each part may have", fits)


WAYS: tuple[Way[Scattering], ...] = (
    Way(
        "sparse",
        legal=(HALVES, DENSE_PLANES),
        pays=(Need(f"{SPARSE} elements for each gradient, {SPARSE_IN_CACHE} of small planes", _are_few),),
        book=_book_sparse,
    ),
    Way(
        "blocks of pixels",
        legal=(
            WINDOWS,
            Need("channels side by side that fill whole vectors", _has_vectors_of_channels),
            Need("windows of 2 or 3 and a stride of 1 or 2", _has_blocks),
            _scratch(lambda s: s.fits(sum(_blocks_scratch(s)[1:]))),
        ),
        pays=(
            Need(
                "halves, windows that touch, or much memory",
                lambda s: (
                    not s.plain or s.windows[1].kernel <= s.windows[1].stride or s.traffic >= s.limits.stream_from
                ),
            ),
        ),
        book=_book_blocks,
    ),
    Way(
        "touching in short rows",
        legal=(
            WINDOWS,
            FLOATS,
            Need("windows of 2 x 2 that tile small planes", _tiles_small_planes),
            Need("tensors that are runs of memory", lambda s: s.is_dense),
        ),
        pays=(Need(f"{FEWEST_TO_PAY} windows in a row", lambda s: s.windows[2].out >= FEWEST_TO_PAY),),
        book=lambda s, record: Booking("max_touching_short_rows", s.count),
    ),
    Way(
        "touching",
        legal=(
            WINDOWS,
            Need(f"windows apart, strides of 2 to {LARGEST_TILE}, a vector of windows in a row", _touches),
            Need("rows that are runs of memory", lambda s: s.has_dense_rows),
            Need(
                "results of floats, of pairs, or planes that are runs of memory",
                lambda s: s.plain or _is_pair(s) or s.target.has_dense_planes,
            ),
            _scratch(lambda s: _is_pair(s) or s.fits(_touching_scratch(s))),
        ),
        pays=(
            Need(
                "no depth, or floats beyond the caches, or pairs",
                lambda s: not (s.is_deep and s.windows[0].stride > 1) or (s.streaming if s.plain else _is_pair(s)),
            ),
        ),
        book=_book_touching,
    ),
    Way(
        "layers",
        legal=(
            WINDOWS,
            FLOATS,
            DENSE_PLANES,
            Need(
                "windows with depth, a vector of them in a row",
                lambda s: s.is_deep and s.windows[2].out >= NARROWEST_ROW,
            ),
        ),
        pays=(
            Need(
                "layers that fill the first-level cache",
                lambda s: s.windows[1].size * s.windows[2].size * s.itemsize >= s.limits.first_cache,
            ),
            Need(f"at most {MOST_LAYERS} layers in a window", lambda s: s.windows[0].kernel <= MOST_LAYERS),
        ),
        book=_book_layers,
    ),
    Way(
        "bands",
        legal=(WINDOWS, HALVES, DENSE_PLANES, _scratch(lambda s: s.fits(sum(_bands_scratch(s)[1:])))),
        pays=(Need("planes larger than a band", lambda s: _bands(s)[0].size * _bands(s)[1] > s.limits.band),),
        book=_book_bands,
    ),
    Way(
        "channels last",
        legal=(Need("channels side by side", lambda s: s.channels > 1 and s.has_channels_side_by_side),),
        pays=(Need("pixels, not planes, that are runs of memory", lambda s: not s.has_dense_planes),),
        book=_book_channels_last,
    ),
    Way("dense", legal=(DENSE_PLANES, Need("gradients", lambda s: s.flows)), pays=(), book=_book_dense),
    Way("scatter", legal=(), pays=(), book=_book_scatter),
)
