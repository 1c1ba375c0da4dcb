"""The plan of a max pooling gradient: which kernel finds the place of each gradient fastest.

All of them give the same bits: every gradient is added where its index points in its own plane, in ascending order.
A plane may have layers; to a scatter it is one run of elements all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..base.dtypes import FLOAT16, DType
from ..base.tensor import Planes, Tensor, as_planes
from ..base.windows import COUNT_ONE, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import record as codes
from ..kernels.record import (
    LANES,
    LINE,
    MOST_ASKED,
    PAGE,
    PIXELS_ASK,
    RECORD,
    ROOM,
)
from .limits import Limits, machine_limits
from .plan import CODES, Plan, compute_dtype, parts_for
from .ways import Booking, Need, Record, Way, choose

# Windows that touch are laid out by constant shuffles up to this stride, at least a vector of them to a row. Beyond it
# few gradients meet many zeros, and a scatter is as fast. So it is where vectors hold so few windows of a row, all in
# all: rows of 8 take 0.9 of its time, of 9 and 10 1.1 to 1.3, of 12 0.9, of 14 and more 0.6 to 0.8.
LARGEST_TILE, NARROWEST_ROW, FEWEST_IN_A_VECTOR = 3, LANES, 5
# Of 16-bit numbers, a window's two columns are one word.
PAIR = 2
# Shorter rows of 2 x 2 windows are laid one over the end of the other: rows of 7 take two thirds of a scatter's time,
# of 5 nine tenths. Rows of 4, the shortest that can be, take as long, and larger windows longer, since few gradients
# meet many zeros.
SHORTEST_ROW, FEWEST_TO_PAY = 4, 5
# What four pixels that ask take, in nanoseconds: together, and for each window that is listed for them; for each eight
# channels, and for each window that these ask, which is less where windows are known when kernels are compiled. And
# what a scatter takes for each gradient, and for each element of the result; from memory it takes longer, since that is
# read before it is written. Fitted to 60 random calls and 20 usual ones by all their ways.
TIME_OF_SQUARE, TIME_OF_LISTING, TIME_OF_FOUR, TIME_OF_ASKED, TIME_OF_KNOWN = 9.0, 1.75, 1.5, 1.4, 1.0
TIME_IN_BAND, ROUNDED, CLEARED, SLOWER_FROM_MEMORY = 0.45, 0.06, 0.03, 1.8
# Elements of a plane whose indices are worth a look before they are copied: 3 x 3 take 2 to 2.7 times as long as a
# scatter or bands, 5 x 5 1.2 times, 7 x 7 of floats 0.6 and of halves 0.8 to 1.
FEWEST_SINGLE = 36
# Layers that would fill the first-level cache are cleared row by row before windows with depth. With windows of 3 and a
# stride of 2 that takes 0.7 to 0.9 of the time beyond half of the last cache, and 1.15 within. If they reach into more
# layers than so many, or if there are as many of them as elements, it takes up to a tenth longer than to clear ahead.
MOST_LAYERS = 3
# Where loads of indices would wait for stores, up to so many elements at once are scattered in scratch and copied: with
# 32-bit indices, windows of 3 and a stride of 1 that takes 0.72 to 0.87 times as long (7 x 7 to 40 x 40 planes). Larger
# planes are cleared as indices come, which is faster than a copy.
MOST_SIDESTEPPED = 1 << 11
# With so many elements for each gradient and more, halves are added up in the output itself, and not in bands; or put
# there if windows are apart. With 6 to 8 of them that takes 0.7 (planes of 18 x 21) to 1.03 (of 60 x 60) of the time.
# bfloat16 takes longer to be rounded one by one: with 8.8 elements for each gradient 1.05 to 1.2 times as long as
# bands. Past the caches, where a band's rows are written as a whole, bands take 0.7 of the time with 16 to 27 elements
# (bfloat16 0.83 and 1.05); and windows that are apart 0.85 to 0.95 of it with 5 to 16 (bfloat16 0.87 with 6, and 1.35
# with 16).
SPARSE, SPARSE_BFLOATS, SPARSE_PAST_CACHES = 7, 10, 28
SPARSE_APART, SPARSE_APART_PAST_CACHES = 5, 12
# With fewer elements for each gradient layers are not cleared row by row.
SPARSE_LAYERS = 2
# Where so many windows hold an element, many gradients meet in few places, and sums that wait there are rounded each
# time: with 7 to 12 elements for each gradient that takes 1.2 to 1.6 times as long as bands (windows of 7 with strides
# of 2, of 14 with strides of 1).
SPARSE_CROWDED, CROWDED = 13, 24
# The same where channels lie side by side and scratch has room for sums of some of them only, but for a band of all:
# with 12 elements for each gradient bands take 0.6 of the time (73 channels of 299 x 299), with 16 1.2 times as long.
SPARSE_PIXELS = 16
# So many elements of an output are cleared at a time, ahead of gradients: twice as many take up to a quarter longer.
# But if there are many for each gradient, more of them, up to so many bytes: halves in proportion, floats by its root.
# (With 4 floats for each, 51 MB in all, 1024 take 3.6 ms, 512 and 2048 3.9 and 4.6; with 37, 4096 2.0 and 1024 2.7.) So
# it is of planes that follow each other. Those of 33 x 32 with one gradient each take 0.4 of the time that they take
# one by one.
CLEARED_AHEAD, MOST_CLEARED_AHEAD = 512, 1 << 15
# A batch of planes grows with the elements for each gradient, if these are more than so many. With 8 of them, batches
# of 32 KB instead of 4 take 1.9 times as long in planes of 7 x 7 x 6 floats, 19 MB in all, and of 8 KB 1.2 times.
SPARSE_BATCH = 8
# Channels side by side, of which bands, sums and threads take no fewer at once: a cache line has as many.
CHANNELS_OF_A_LINE = 32
# Where bands of some channels would hold fewer of them, all channels of a band are summed up together, so that rows of
# pixels are runs of memory. Bands of 45 of 359 channels take 3.6 times as long as those of all, of 83 of 400 twice as
# long, of 146 of 400 1.1 times, and of 234 of 400 0.95. With half of this, or twice as many, 300 random calls take 1.01
# and 1.02 times as long.
FEW_TOGETHER = 256


# What one thread takes for each gradient in nanoseconds, if it is added to floats, to halves, or copied; and how many
# bytes it clears in one. Times of random calls are 0.75 to 1.3 times what these add up to.
TIME_OF_FLOAT, TIME_OF_HALF, TIME_OF_COPY, CLEARED_IN_A_NANOSECOND = 0.44, 0.9, 0.17, 160


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
    def has_equal_steps(self) -> bool:
        """Whether the elements of a plane follow each other in equal steps, over all its rows and layers."""
        (*_, depth, rows, columns), (*_, layer, row, step) = self.planes.shape, self.planes.steps
        return (rows == 1 or row == columns * step) and (depth == 1 or layer == rows * columns * step)

    def cut(self, rows: int, width: int) -> _View:
        """Planes with equal steps, as so many rows without layers."""
        (batch, channels, *_), (image, plane, *_, step) = self.planes.shape, self.planes.steps
        return self._replace(planes=Planes((batch, channels, 1, rows, width), (image, plane, 0, width * step, step)))


_Views = tuple[_View, _View, _View]  # of the gradient, the indices and the result
_Axes = tuple[Axis, Axis, Axis]  # D, H and W


@dataclass(frozen=True)
class Scattering:
    """A maximum's gradient, as its ways look at it."""

    call: Call
    windows: _Axes  # along D, H and W; a plane without depth has one layer
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
        """A cache that is to hold the output would hold the inputs, too. Other programs are in it as well: 22 MB of
        floats whose windows touch take 0.75 of the time past a last cache of 32 MB, and halves in bands 0.6 to 0.9."""
        return 2 * self.traffic >= self.limits.stream_from

    @cached_property
    def traffic(self) -> int:
        return sum(tensor.dtype.nbytes(tensor.count) for tensor in self.tensors)

    @cached_property
    def parts(self) -> int:
        return parts_for(self.threads, self.count, self.limits, self.time_alone)

    @property
    def time_alone(self) -> float:
        """About how many nanoseconds one thread takes within the caches: the output is cleared, and gradients are
        scattered, or copied if there are as many as elements."""
        gradients, _, target = self.tensors
        each = TIME_OF_FLOAT if self.plain else TIME_OF_HALF
        if gradients.count == target.count:
            each = TIME_OF_COPY
        return each * gradients.count + target.dtype.nbytes(target.count) / CLEARED_IN_A_NANOSECOND

    @property
    def is_deep(self) -> bool:
        return self.windows[0].size > 1 or self.windows[0].out > 1

    def has_few(self, least: int) -> bool:
        """Whether there are so many elements for each gradient."""
        return self.gradients * least <= self.plane

    @property
    def are_apart(self) -> bool:
        """Whether no two windows share an element."""
        return all(w.out == 1 or (w.rule == FIXED and w.kernel <= w.stride) for w in self.windows)

    @cached_property
    def over_element(self) -> float:
        """How many windows of one size hold an element, about."""
        return math.prod(w.kernel / w.stride for w in self.windows if w.rule == FIXED and w.out > 1)

    @cached_property
    def by_pixels(self) -> bool:
        """Whether channels lie side by side, and not the elements of a plane."""
        side_by_side = all(view.planes.steps[1] == view.dtype.itemsize for view in self.views)
        return self.channels > 1 and side_by_side and not self.has_dense_planes

    @property
    def pieces(self) -> int:
        """Of each image, to be units of a scatter's work: planes, or channels side by side."""
        return self.pieces_of(self.limits.channels_of_a_part)

    def pieces_of(self, least: int) -> int:
        """Planes, or at least so many channels side by side, and these only if images are hard to share out.

        Threads that write to the same cache lines take longer than one alone, many times if channels are few.
        """
        images = self.target.planes.shape[0]
        if not self.by_pixels:
            return self.channels
        if images % self.parts == 0 or images >= 4 * self.parts:
            return 1
        return max(min(self.parts, self.channels // least), 1)

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
    def has_equal_steps(self) -> bool:
        return all(view.has_equal_steps for view in self.views)

    def fits(self, floats: int) -> bool:
        return floats * self.itemsize <= self.limits.budget(self.parts)


def plan_maximum(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """Every gradient is added where its index points in its own plane.

    Windows of one size decide how that is done, never what comes out.
    """
    names = tuple(call.operator.by_role[role].name for role in (Role.GRADIENT, Role.INDICES, Role.RESULT))
    tensors, layout = [call.tensor(name) for name in names], layout_of(call)
    source, where, target = (_View(_stepped(as_planes(tensor, layout)), tensor.dtype) for tensor in tensors)
    subject = Scattering(call, _axes(call), (source, where, target), threads, limits or machine_limits())
    record = _record(subject)
    if not tensors[2].count:
        return Plan(call, "", subject.compute, record, names, 0, 1, 0, 0)
    choice = choose(WAYS, subject, way)
    kernel, units, floats, integers, grain = choice.taken.book(subject, record)
    parts = max(1, min(subject.parts, units))
    return Plan(call, kernel, subject.compute, record, names, units, parts, floats, integers, grain, choice=choice)


def _stepped(planes: Planes) -> Planes:
    """The same planes. An axis of one element may have any step: here one that follows from the others."""
    (_, _, depth, rows, columns), (image, plane, layer, row, step) = planes.shape, planes.steps
    if columns == 1:
        step = row if rows > 1 else layer if depth > 1 else step
    row = row if rows > 1 else columns * step
    layer = layer if depth > 1 else rows * row
    return Planes(planes.shape, (image, plane, layer, row, step))


def _record(subject: Scattering) -> Record:
    """What all kernels are told."""
    record, target = np.zeros(1, RECORD), subject.target
    record["channels"] = subject.channels
    record["code"], record["index_code"] = CODES[target.dtype], CODES[subject.where.dtype]
    _set_views(record, subject.views)
    record["itemsize"], record["stored"] = subject.itemsize, target.dtype.itemsize
    record["plain"], record["direct"], record["streaming"] = subject.plain, subject.direct, subject.streaming
    return record


def _axes(call: Call) -> _Axes:
    """The windows along D, H and W; a plane without depth has one layer."""
    windows = [w.axis(COUNT_ONE) for w in call.windows]
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *windows)
    return depth, rows, columns


def _set_views(record: Record, views: _Views) -> None:
    source, where, target = (view.planes for view in views)
    record["size"], record["out"] = target.spatial, source.spatial
    record["grad_steps"], record["index_steps"], record["result_steps"] = source.steps, where.steps, target.steps


def _set_windows(record: Record, axes: _Axes) -> None:
    for name in ("rule", "kernel", "stride", "pad"):
        record[name] = [getattr(axis, name) for axis in axes]


def _has_windows(s: Scattering) -> bool:
    """Whether windows of one size tell where indices point. Places are compared in 32 bits."""
    return s.flows and all(w.rule == FIXED for w in s.windows) and s.plane < 2**31


def _has_single_elements(s: Scattering) -> bool:
    """Whether each window is an element, and each element a window."""
    return all(w.kernel == w.stride == 1 and w.pad == 0 and w.out == w.size for w in s.windows)


def _book_single_elements(s: Scattering, record: Record) -> Booking:
    record["pieces"] = s.pieces
    return Booking("max_single_elements", _units(s), s.fallback_plane, grain=_grain(s))


def _most_asked(s: Scattering) -> int:
    """Windows that four pixels ask, at most."""
    depth, *sides = s.windows
    by_two = (-(-(a.kernel + 1) // a.stride) if a.rule == FIXED else a.windows_over(2) for a in sides)
    return depth.longest_run * math.prod(by_two)


def _asked_by_two(axis: Axis) -> float:
    """Windows that two neighbours ask, on average; where strides are even, windows begin with the first of them."""
    if axis.rule == FIXED and axis.stride % 2 == 0:
        return min(-(-axis.kernel // 2) * 2 * axis.out / axis.size, axis.out)
    return min((axis.mean_length + 1) * axis.out / axis.size, axis.out)


def _asking_is_faster(s: Scattering) -> bool:
    """Whether pixels ask in less time than gradients are scattered to them, by estimate."""
    depth, rows, columns = s.windows
    asked = min(depth.mean_length * depth.out / depth.size, depth.out) * _asked_by_two(rows) * _asked_by_two(columns)
    window = TIME_OF_KNOWN if PIXELS_ASK[_asking_kernel(s)][0] else TIME_OF_ASKED
    of_four = TIME_OF_SQUARE + asked * TIME_OF_LISTING + -(-s.channels // LANES) * (TIME_OF_FOUR + asked * window)
    asking = of_four * -(-rows.size // 2) * -(-columns.size // 2) * depth.size
    rates = ((TIME_OF_FLOAT, CLEARED),) if s.plain else ((TIME_IN_BAND, ROUNDED), (TIME_OF_HALF, CLEARED))
    scattering = s.channels * min(each * s.gradients + written * s.plane for each, written in rates)
    return asking < (SLOWER_FROM_MEMORY if s.traffic >= s.limits.last_cache else 1.0) * scattering


def _asking_scratch(s: Scattering) -> tuple[int, int, int]:
    """Channels at once, at least two vectors, so that one can be left over; floats and integers: four pixels and one
    that stands in for others, and four tables of windows."""
    at_once = min(s.channels, max(s.limits.channels_at_once, 2 * LANES))
    return at_once, 5 * at_once, 4 * 2 * MOST_ASKED


def _asking_kernel(s: Scattering) -> str:
    (_, rows, columns), code = s.windows, codes.FLOAT32 if s.plain else CODES[s.target.dtype]
    alike = not s.is_deep and (rows.rule, rows.kernel, rows.stride) == (FIXED, columns.kernel, columns.stride)
    names = {kind: name for name, kind in PIXELS_ASK.items()}
    usual = names.get((rows.kernel, rows.stride, code)) if alike else None
    return usual or names[0, 0, code]


def _book_asking(s: Scattering, record: Record) -> Booking:
    record["together"], floats, integers = _asking_scratch(s)
    record["pieces"] = pieces = min(s.pieces_of(CHANNELS_OF_A_LINE), s.channels // LANES)
    record["soon"] = not s.are_apart or s.channels > s.limits.channels_at_once
    _set_windows(record, s.windows)
    units = s.target.planes.shape[0] * pieces
    return Booking(_asking_kernel(s), units, floats + s.fallback_plane, integers, pieces)


def _touches(s: Scattering) -> bool:
    """Windows that do not overlap, none of them cut off: squares of the stride's size, in layers of their own."""
    depth, rows, columns = s.windows
    apart = all(axis.kernel <= axis.stride and axis.pad == 0 for axis in s.windows)
    squares = rows.stride == columns.stride and all(axis.out * axis.stride <= axis.size for axis in s.windows)
    return apart and squares and depth.out == depth.size and columns.out >= NARROWEST_ROW


def _book_touching(s: Scattering, record: Record) -> Booking:
    record["followed"] = s.source.is_dense and s.where.is_dense
    record["streaming"] = s.streaming and _has_whole_sixteens(s)  # else it takes up to three times as long
    return Booking(f"max_touching_{s.windows[2].stride}", s.count)


def _has_whole_sixteens(s: Scattering) -> bool:
    """Whether rows of the result are multiples of 16 bytes."""
    return s.windows[2].size * s.itemsize % 16 == 0


def _book_pairs(s: Scattering, record: Record) -> Booking:
    record["followed"] = True  # nothing is read behind a row
    record["streaming"] = s.traffic >= s.limits.stream_from  # with less it takes 1.2 to 1.45 times as long
    return Booking("max_touching_pairs", s.count, s.fallback_plane)


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


def _rows_of_band(bands: Axis, windows: int) -> int:
    """Rows that so many rows of windows reach at most, with those that the next ones share, or that follow the last."""
    if bands.rule == FIXED:
        return min(windows * bands.stride + max(bands.kernel, bands.stride - 1), bands.size)
    return min(windows * bands.size // bands.out + 3, bands.size)


class _Bands(NamedTuple):
    """Rows of windows, and planes, at once; floats of their gradients, and of the band."""

    at_once: int
    together: int
    chunk: int
    floats: int


def _bands_of(s: Scattering, together: int, numbers: int) -> _Bands:
    """Of so many planes, and at least so many numbers, with the gradients, if rows are not too long."""
    bands, width, windows = _bands(s)
    row = width * together
    shared = max(bands.kernel - bands.stride, 0) if bands.rule == FIXED else 1
    numbers = max(numbers, min(s.limits.shared_by_band * shared * row, s.limits.budget(s.parts) // s.itemsize // 4))
    at_once = 1
    while at_once < bands.out and _rows_of_band(bands, at_once) * row + at_once * windows * together < numbers:
        at_once *= 2
    floats = _rows_of_band(bands, at_once) * row + LINE + ROOM
    return _Bands(at_once, together, at_once * windows * together + ROOM, floats)


def _bands_scratch(s: Scattering) -> _Bands:
    if not s.by_pixels:
        return _bands_of(s, 1, s.limits.band)
    (bands, width, _), numbers = _bands(s), s.limits.band_of_channels // s.itemsize
    some = min(max(numbers // (_rows_of_band(bands, 1) * width), CHANNELS_OF_A_LINE), s.channels)
    if some < FEW_TOGETHER:
        of_all = _bands_of(s, s.channels, numbers)
        if _fits_most_sums(s, of_all):
            return of_all
    return _bands_of(s, some, numbers)


def _fits_most_sums(s: Scattering, bands: _Bands) -> bool:
    return (bands.chunk + bands.floats) * s.itemsize <= _most_sums(s)


def _fits_bands(s: Scattering) -> bool:
    bands = _bands_scratch(s)
    whole = s.by_pixels and bands.together == s.channels
    return s.fits(bands.chunk + bands.floats) or (whole and _fits_most_sums(s, bands))


def _book_bands(s: Scattering, record: Record) -> Booking:
    """Small planes that follow each other share a band."""
    bands, width, windows = _bands(s)
    at_once, together, chunk, floats = _bands_scratch(s)
    batch = _batch(s, s.limits.batch_bytes) if at_once >= bands.out else 1
    if batch > 1:
        chunk, floats = batch * s.gradients + ROOM, batch * s.plane + ROOM
    record["tile"], record["together"], record["batch"], record["chunk"] = at_once, together, batch, chunk
    record["pieces"] = s.pieces
    source, where = (view.cut(bands.out, windows) for view in (s.source, s.where))
    _set_views(record, (source, where, s.target.cut(bands.size, width)))
    _set_windows(record, (whole(1), bands, s.windows[2]))
    return Booking("scatter_bands", _units(s), chunk + max(floats, s.fallback_plane), grain=_grain(s))


def _batch(s: Scattering, size: int) -> int:
    """Planes that follow each other and are filled together, of so many bytes as sums."""
    if not (s.is_dense and s.gradients):
        return 1
    planes = -(-size // (s.plane * s.itemsize))
    return max(min(planes, s.limits.windows_at_once // s.gradients), 1)


def _units(s: Scattering) -> int:
    return s.target.planes.shape[0] * s.pieces


def _grain(s: Scattering) -> int:
    return s.pieces if s.by_pixels else 1


def _book_layers(s: Scattering, record: Record) -> Booking:
    _set_windows(record, s.windows)
    return Booking("scatter_layers", s.count)


def _most_sums(s: Scattering) -> int:
    """Bytes of sums of halves that each part may have."""
    return min(s.limits.most_sums, s.limits.total_budget // s.parts)


def _channels_of_sums(s: Scattering) -> int:
    """Channels side by side whose sums have room in scratch."""
    room, most = min(s.limits.second_cache, _most_sums(s)) // 4, _most_sums(s) // 4
    return min(s.channels, max(room // s.plane, min(CHANNELS_OF_A_LINE, most // s.plane), 1))


def _sparse(s: Scattering) -> int:
    if s.streaming:
        return SPARSE_PAST_CACHES
    if s.over_element >= CROWDED:
        return SPARSE_CROWDED
    return SPARSE if s.target.dtype == FLOAT16 else SPARSE_BFLOATS


def _has_bands_of_pixels(s: Scattering) -> bool:
    """Whether all channels are in a band, and only some of them would be added up at once in the output."""
    some = s.by_pixels and _channels_of_sums(s) < s.channels
    return some and _bands_scratch(s).together == s.channels and not s.has_few(SPARSE_PIXELS)


def _in_place(s: Scattering, record: Record, kernel: str, *, sums: bool) -> Booking:
    """All planes of an image together, or as many as have room for their sums, or some small planes."""
    usual = s.limits.batch_bytes
    size = max(usual, min(usual * s.plane // max(SPARSE_BATCH * s.gradients, 1), MOST_CLEARED_AHEAD))
    batch, together, floats = 1 if s.by_pixels else _batch(s, size), s.channels if s.by_pixels else 1, s.fallback_plane
    if sums and s.by_pixels:
        together = _channels_of_sums(s)
        floats = together * s.plane + ROOM
    record["batch"], record["together"], record["pieces"] = batch, together, s.pieces
    record["dense_results"] = s.target.has_equal_steps
    most = MOST_CLEARED_AHEAD // s.target.dtype.itemsize
    ahead = CLEARED_AHEAD * s.plane // max(s.gradients, 1)
    record["chunk"] = max(min(math.isqrt(CLEARED_AHEAD * ahead) if s.plain else ahead, most), CLEARED_AHEAD)
    alike = s.gradients == s.plane and s.target.dtype.itemsize == s.where.dtype.itemsize
    if s.plain and alike and s.has_dense_planes and batch * s.plane <= MOST_SIDESTEPPED:
        record["sidestepping"] = True
        floats = batch * s.plane + ROOM + PAGE // 2 // s.target.dtype.itemsize
    return Booking(kernel, _units(s), floats, grain=_grain(s))


def _book_in_place(s: Scattering, record: Record) -> Booking:
    kernel = {codes.FLOAT16: "scatter_halves", codes.BFLOAT16: "scatter_bfloats"}.get(CODES[s.target.dtype])
    return _in_place(s, record, kernel or "scatter_numbers", sums=not s.direct)


def _book_apart(s: Scattering, record: Record) -> Booking:
    kernel = "scatter_halves_apart" if CODES[s.target.dtype] == codes.FLOAT16 else "scatter_bfloats_apart"
    return _in_place(s, record, kernel, sums=False)


WINDOWS = Need[Scattering]("windows of one size, over planes of less than 2**31 elements", _has_windows)
HALVES = Need[Scattering]("numbers of 16 bits", lambda s: not s.direct)
FLOATS = Need[Scattering]("numbers of the type that sums have", lambda s: s.plain)
DENSE_PLANES = Need[Scattering]("planes that are runs of memory", lambda s: s.has_dense_planes)
EQUAL_STEPS = Need[Scattering]("equal steps all over a plane", lambda s: s.has_equal_steps)
RUNS = Need[Scattering](
    "planes that are runs of memory, or channels side by side", lambda s: s.has_dense_planes or s.by_pixels
)


WAYS: tuple[Way[Scattering], ...] = (
    Way(
        "single elements",
        legal=(
            WINDOWS,
            Need("windows of one element, each element in one", _has_single_elements),
            EQUAL_STEPS,
            RUNS,
        ),
        pays=(
            Need(
                f"planes of {FEWEST_SINGLE} elements, or channels side by side",
                lambda s: s.by_pixels or s.plane >= FEWEST_SINGLE,
            ),
        ),
        book=_book_single_elements,
    ),
    Way(
        "pixels ask",
        legal=(
            Need("gradients, over planes of less than 2**31 elements", lambda s: s.flows and s.plane < 2**31),
            Need("channels side by side that fill a vector", lambda s: s.by_pixels and s.channels >= LANES),
            Need(
                f"at most {MOST_ASKED} windows that hold one of four elements", lambda s: _most_asked(s) <= MOST_ASKED
            ),
        ),
        pays=(Need("less time than a scatter, by estimate", _asking_is_faster),),
        book=_book_asking,
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
            FLOATS,
            Need("windows apart, a vector of them in a row", _touches),
            Need(f"strides of 2 to {LARGEST_TILE}", lambda s: 2 <= s.windows[2].stride <= LARGEST_TILE),
            Need("rows that are runs of memory", lambda s: s.has_dense_rows),
        ),
        pays=(
            Need(
                f"more than {FEWEST_IN_A_VECTOR} windows for each vector of a row",
                lambda s: s.windows[2].out > -(-s.windows[2].out // LANES) * FEWEST_IN_A_VECTOR,
            ),
            # Vectors that lie in two cache lines are slow where no cache holds these: 1.1 to 1.5 times a scatter.
            Need(
                "rows of whole multiples of 16 bytes, or no more than three quarters of the last cache",
                lambda s: _has_whole_sixteens(s) or 4 * s.traffic <= 3 * s.limits.last_cache,
            ),
        ),
        book=_book_touching,
    ),
    Way(
        "pairs",
        legal=(
            WINDOWS,
            HALVES,
            Need("windows apart, a vector of them in a row", _touches),
            Need("strides of 2", lambda s: s.windows[2].stride == PAIR),
            Need("rows that are runs of memory", lambda s: s.has_dense_rows),
        ),
        pays=(),
        book=_book_pairs,
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
            Need("half as much memory as the last cache has", lambda s: 2 * s.traffic >= s.limits.last_cache),
            Need("few gradients", lambda s: s.has_few(SPARSE_LAYERS)),
        ),
        book=_book_layers,
    ),
    Way(
        "apart",
        legal=(HALVES, Need("windows that share no element", lambda s: s.are_apart)),
        pays=(
            Need(
                f"{SPARSE_APART} elements for each gradient, {SPARSE_APART_PAST_CACHES} past the caches",
                lambda s: s.has_few(SPARSE_APART_PAST_CACHES if s.streaming else SPARSE_APART),
            ),
        ),
        book=_book_apart,
    ),
    Way(
        "bands",
        legal=(
            HALVES,
            EQUAL_STEPS,
            RUNS,
            Need("so much scratch as each part may have", _fits_bands),
        ),
        pays=(
            Need(
                f"less than {SPARSE} elements for each gradient, {SPARSE_BFLOATS} of bfloat16, {SPARSE_PAST_CACHES} "
                f"past the caches, {SPARSE_PIXELS} of channels side by side that have room in a band only",
                lambda s: not s.has_few(_sparse(s)) or _has_bands_of_pixels(s),
            ),
        ),
        book=_book_bands,
    ),
    Way("in place", legal=(), pays=(), book=_book_in_place),
)
