"""The plan of an average pooling gradient: which kernel adds its windows fastest.

All of them give the same bits: each gradient is divided by what its window counts; sums go along W, then H, then D, in
an order that an element's place in its plane alone decides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..base.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ..base.tensor import Planes, Tensor, as_planes
from ..base.windows import COUNT_ONE, COUNT_PADDED, COUNT_VALID, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import record as codes
from ..kernels.record import (
    FEW_WINDOWS,
    FIELDS_OF_STEP,
    LANES,
    LAYERS_OF_FEW_WINDOWS,
    LONGEST_TABLE,
    MOST_DIRECT_TERMS,
    MOST_FEW,
    RECORD,
    ROOM,
    ROWS_IN_TABLE,
    WIDE_ROOM,
    FewWindows,
)
from . import average_times
from .limits import Limits, machine_limits
from .plan import CODES, Plan, compute_dtype, parts_for, power_of_two, time_of_traffic
from .ways import Booking, Need, Record, Way, choose

# What grad_output is rounded to before anything else ("computed in X").
ROUNDINGS = {
    "kept": codes.KEPT,
    "float16": codes.TO_FLOAT16,
    "hf32": codes.TO_HF32,
    "hf32 of Ascend 950": codes.TO_HF32_950,
}

# How rows of neighbours move between tensors and scratch.
MOVES = {
    FLOAT32: codes.READ_FLOATS,
    FLOAT64: codes.READ_FLOATS,
    FLOAT16: codes.READ_HALVES,
    BFLOAT16: codes.READ_BFLOATS,
}

# Fixed windows: strides that constant shuffles can lay out where sums are long, and the longest that fit scratch.
LARGEST_SHUFFLED_STRIDE, MOST_TERMS = 4, 2048
# Rows of gradients that are summed by blocks, in all layers; so many narrow tiles fit scratch for any number of parts.
LONGEST_BLOCK = 256
# A beginning of results is written into the caches if at most such a part of what is written is read: by some threads,
# and by one alone.
LITTLE_READ, LITTLE_READ_ALONE = 2, 6
# Gradients that are read at once where each fills a plane.
PLANES_AT_ONCE = 256

Axes = tuple[Axis, Axis, Axis]


def axes_of(call: Call) -> Axes:
    """The windows along D, H and W, and what they count in divisors."""
    counting = COUNT_PADDED if call.value(Role.COUNT_INCLUDE_PAD) else COUNT_VALID
    windows = [w.axis(COUNT_ONE if call.value(Role.DIVISOR) else counting).apart_if_single for w in call.windows]
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *windows)
    return depth, rows, columns


def divisor_of(call: Call) -> int:
    """What multiplies every window's count: the divisor that is given, where windows count as one."""
    return (call.value(Role.DIVISOR) and call.number(Role.DIVISOR)) or 1


def has_large_divisors(divisor: int, axes: Axes, compute: str) -> bool:
    """Whether the compute dtype can't hold every divisor."""
    exact = 2**53 if compute == FLOAT64.name else 2**24
    return abs(divisor) * math.prod(axis.longest_count for axis in axes) > exact


@dataclasses.dataclass(frozen=True)
class Spreading:
    """An average's gradient, as its ways look at it."""

    call: Call
    axes: Axes
    source: Tensor
    target: Tensor
    gradients: Planes
    planes: Planes
    compute: str
    divisor: int
    rounding: str
    threads: int
    limits: Limits

    @cached_property
    def itemsize(self) -> int:
        return np.dtype(self.compute).itemsize

    @cached_property
    def large_divisors(self) -> bool:
        return has_large_divisors(self.divisor, self.axes, self.compute)

    @cached_property
    def as_they_are(self) -> bool:
        """Whether gradients are divided as they are read."""
        return self.rounding == "kept" and not self.large_divisors

    @cached_property
    def reading(self) -> int:
        rows = self.gradients.has_neighbours(self.source.dtype.itemsize) and self.as_they_are
        return MOVES[self.source.dtype] if rows else codes.BY_ELEMENTS

    @cached_property
    def writing(self) -> int:
        return MOVES[self.target.dtype] if self.planes.has_neighbours(self.target.dtype.itemsize) else codes.BY_ELEMENTS

    @cached_property
    def written(self) -> int:
        """Bytes of the result."""
        return self.target.dtype.nbytes(self.target.count)

    @cached_property
    def streaming(self) -> bool:
        return self.written >= self.limits.stream_averages_from

    @cached_property
    def bytes_in_all(self) -> int:
        return sum(tensor.dtype.nbytes(tensor.count) for tensor in (self.source, self.target))

    @cached_property
    def rows(self) -> int:
        """Of the result."""
        return self.target.count // self.axes[2].size

    @cached_property
    def number_of_planes(self) -> int:
        return self.target.count // math.prod(self.planes.spatial)

    @cached_property
    def side_by_side(self) -> bool:
        """Whether the channels of a pixel are. A single one is laid out as without channels."""
        itemsize = self.target.dtype.itemsize
        return self.planes.shape[1] > 1 and self.gradients.steps[1] == self.planes.steps[1] == itemsize

    @cached_property
    def has_streams(self) -> bool:
        """Whether to sum all columns' windows at once: for fixed windows of small strides. Long sums are put together
        in another order then, which no limit may change."""
        axis = self.axes[2]
        largest = self.limits.shuffled_stride if _is_short(axis) else LARGEST_SHUFFLED_STRIDE
        return axis.rule == FIXED and axis.stride <= largest and axis.terms <= MOST_TERMS

    @cached_property
    def quickest(self) -> str:
        """The way that takes the least time, by estimate."""
        legal = [way for way in WAYS if way.name in TIMES and not way.lacks(self)]
        return min(legal, key=lambda way: TIMES[way.name](self)).name

    @property
    def has_layers(self) -> bool:
        """Whether several windows along D hold an element."""
        return self.axes[0].longest_run > 1

    def parts(self, units: int, way: str) -> int:
        return parts_for(self.threads, units, self.limits, self.time_alone(way)) if self.threads > 1 else 1

    def time_alone(self, way: str) -> float:
        """What a way takes on one thread, in nanoseconds, by estimate."""
        if way in TIMES:
            return TIMES[way](dataclasses.replace(self, threads=1))
        return time_of_traffic(self.source, self.target)

    def budget(self, units: int) -> int:
        """Bytes of scratch that each part may have of a kernel that is split into so many units at most."""
        return self.limits.budget(self.most_parts(units))

    def most_parts(self, units: int) -> int:
        return max(1, min(self.threads, units))


def plan_average(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """The gradient of an average over the windows of one to three axes; a plane without depth has one layer."""
    by_role, layout = call.operator.by_role, layout_of(call)
    names = by_role[Role.GRADIENT].name, by_role[Role.RESULT].name
    source, target = (call.tensor(name) for name in names)
    axes, compute = axes_of(call), compute_dtype(target.dtype)
    rounding, gradients, planes = (
        call.operator.rounding(call) or "kept",
        as_planes(source, layout),
        as_planes(target, layout),
    )
    views = Spreading(
        call,
        axes,
        source,
        target,
        gradients,
        planes,
        compute,
        divisor_of(call),
        rounding,
        threads,
        limits or machine_limits(),
    )
    record = _record(views)
    if not target.count:
        return Plan(call, "", compute, record, names, 0, 1, 0, 0)
    choice = choose(WAYS, views, way)
    kernel, units, floats, integers, grain = choice.taken.book(views, record)
    parts = views.parts(-(-units // grain), choice.taken.name)
    return Plan(call, kernel, compute, record, names, units, parts, floats, integers, grain, choice=choice)


def _record(views: Spreading) -> Record:
    """What all kernels are told."""
    record, dtype, axes = np.zeros(1, RECORD), views.target.dtype, views.axes
    for field in dataclasses.fields(Axis):
        record[field.name] = [getattr(axis, field.name) for axis in axes]
    record["channels"], record["code"] = views.planes.shape[1], CODES[dtype]
    record["grad_steps"], record["result_steps"] = views.gradients.steps, views.planes.steps
    record["divisor"], record["rounding"] = views.divisor, ROUNDINGS[views.rounding]
    record["large_divisors"], record["reading"], record["writing"] = views.large_divisors, views.reading, views.writing
    record["itemsize"], record["stored"], record["row_step"] = views.itemsize, dtype.itemsize, views.planes.steps[3]
    record["ones"] = axes[2].phases_with_all_terms
    record["overlapping"] = max(axes[0].longest_run, axes[1].longest_run) > 1
    record["streaming"] = views.streaming
    return record


def _book_zeros(views: Spreading, record: Record) -> Booking:
    return Booking("average_zeros", views.rows)


def _are_whole_planes(views: Spreading) -> bool:
    """Whether each gradient fills a plane that is one run of memory, and planes follow each other."""
    one_channel = views.planes.shape[1] == 1  # then planes follow each other in the steps of the images
    stacks = one_channel or (views.gradients.is_stack() and views.planes.is_stack())
    return stacks and views.planes.is_dense(views.target.dtype.itemsize)


def _book_whole_planes(views: Spreading, record: Record) -> Booking:
    source, gradients, planes = views.source, views.gradients, views.planes
    if planes.shape[1] == 1:
        record["grad_steps"][0][1], record["result_steps"][0][1] = gradients.steps[0], planes.steps[0]
    record["divisor"] *= math.prod(axis.count(0) for axis in views.axes)
    if record["grad_steps"][0][1] != source.dtype.itemsize:
        record["reading"] = codes.BY_ELEMENTS
    # Next to nothing is read, so caches hold more of the result: up to twice their size stores past them take longer.
    record["streaming"] = views.written >= 2 * views.limits.stream_from
    record["tile"], record["chunk"] = math.prod(planes.spatial), PLANES_AT_ONCE
    return Booking("average_whole_planes", source.count, 2 * PLANES_AT_ONCE + LANES, PLANES_AT_ONCE)


def _book_touching_pixels(views: Spreading, record: Record) -> Booking:
    """All channels of a pixel together, without scratch."""
    record["writing"], target = MOVES[views.target.dtype], views.target
    return Booking("average_touching_pixels", target.count // (views.axes[2].size * views.planes.shape[1]))


def _book_channels_last(views: Spreading, record: Record) -> Booking:
    """All channels of a pixel together, or blocks of them."""
    axes, target, channels, limits = views.axes, views.target, views.planes.shape[1], views.limits
    slots = [power_of_two(axis.longest_run) for axis in axes[:2]]
    room = min(limits.bytes_of_pixels, limits.total_budget // views.threads)
    tile, blocks = axes[2].size, -(-channels // limits.most_channels)
    while True:
        pixel, pitch = -(-channels // blocks), _pitch_of_pixels(axes[2], tile, channels)
        # A slot has rows of sums, or a sum for each column and what these overrun.
        wide = pitch * pixel * _rows_of_sums(axes[2]) if axes[2].rule == FIXED else tile * pixel + LANES
        if wide * math.prod(slots) * views.itemsize <= room:
            break
        if pixel > limits.many_channels:
            blocks += 1
        elif tile > 1:
            tile = -(-tile // 2)
        else:
            break
    moves = MOVES[target.dtype]
    record["reading"] = moves if views.as_they_are else codes.BY_ELEMENTS
    record["writing"], record["pixel"], record["tile"], record["pitch"] = moves, pixel, tile, pitch
    record["wide"], (record["depth_slots"], record["row_slots"]) = wide, slots
    floats = pitch * pixel + wide * math.prod(slots) + ROOM
    integers = 3 * tile + math.prod(slots) + LONGEST_TABLE + math.prod(slots)
    return Booking("average_channels_last", target.count // (axes[2].size * channels), floats, integers)


def _pitch_of_pixels(columns: Axis, tile: int, channels: int) -> int:
    """Pixels in a row of quotients: windows, some that do not exist, what sums overrun, and one that stays zero."""
    overrun = -(-LANES // channels) if channels < LANES else 0
    return columns.windows_over(tile) + (2 * columns.terms if columns.rule == FIXED else 2) + overrun + 1


def _rows_of_sums(columns: Axis) -> int:
    """Rows of a slot: one if all columns have the same number of windows (of three and more), or one of quotients."""
    return 1 if columns.terms == 1 or (columns.terms > 2 and columns.fewest == columns.terms) else 2


def _fits_rows(views: Spreading, floats: int, integers: int) -> bool:
    """Whether rows that take so many numbers fit scratch, with layers where these are made there."""
    if views.has_layers:
        _, _, floats, integers = _layers_scratch(views, floats, integers)
    units = views.rows // (views.axes[0].size if views.has_layers else 1)
    return floats * views.itemsize + 8 * integers <= views.budget(units)


def _in_rows(
    kernel: str, views: Spreading, record: Record, floats: int, integers: int, *, made_in_scratch: bool = False
) -> Booking:
    """Rows of the result, without layers. With strides of 1 as much is read as is written: if both together leave the
    caches, stores past them save a fifth to a half."""
    bytes_that_stay = views.bytes_in_all if views.axes[2].stride == 1 else views.written
    limits = views.limits
    record["streaming"] = bytes_that_stay >= (
        limits.stream_rows_from if made_in_scratch else limits.stream_averages_from
    )
    record["kept"] = _kept(views, views.parts(views.rows, "")) if record["streaming"] else 0
    return Booking(kernel, views.rows, floats, integers)


def _kept(views: Spreading, parts: int) -> int:
    """How many rows each part writes into the caches before it writes past them."""
    limits, written = views.limits, views.written
    read = views.bytes_in_all - written
    if read * (LITTLE_READ if parts > 1 else LITTLE_READ_ALONE) > written or written >= 2 * limits.stream_averages_from:
        return 0
    return min(limits.kept_by_part, limits.kept_in_all // parts) // views.target.dtype.nbytes(views.axes[2].size)


def _few_windows_of(views: Spreading) -> FewWindows:
    columns = views.axes[2]
    strides, code = -(-columns.size // columns.stride), CODES[views.target.dtype]
    return FewWindows(
        columns.kernel,
        columns.stride,
        columns.pad,
        strides * columns.stride - columns.size,
        strides - columns.out,
        int(columns.counts_evenly),
        codes.FLOAT32 if code == codes.FLOAT64 else code,
    )


def _are_few(views: Spreading) -> bool:
    """Whether few windows hold an element along W and H: columns of two kinds, and from row to row one window more."""
    depth, rows, columns = views.axes
    if columns.rule != FIXED or not columns.stride <= columns.kernel <= 3 * columns.stride:
        return False
    offsets = _few_windows_of(views).offsets
    short = len(set(offsets)) <= 2 and max(map(max, offsets)) <= 1 and columns.stride <= LARGEST_SHUFFLED_STRIDE
    one_by_one = rows.rule == FIXED or rows.out <= rows.size
    return short and one_by_one and rows.longest_run <= columns.terms and _is_short(depth)


def _fill_vectors(views: Spreading) -> bool:
    """Whether blocks of eight windows, the last one laid back, cover a row, and need no windows that are not there."""
    windows, out = _few_windows_of(views), views.axes[2].out
    whole = min(out, out + windows.lack - (windows.over > 0)) // LANES
    reach = min(map(min, windows.offsets)) + windows.lack  # of the last block
    return whole > 0 and whole * LANES >= out + windows.lack - LANES and (reach >= -1 or out >= 2 * LANES)


def _few_windows_scratch(views: Spreading) -> tuple[int, int, int, int]:
    """Numbers of a row of gradients and of sums; floats and integers in all."""
    _, rows, columns = views.axes
    chunk = _whole_vectors(columns.out) + LANES
    pitch = (-(-columns.size // (columns.stride * LANES)) + 1) * LANES * columns.stride
    floats = 4 * chunk + (3 + MOST_FEW) * pitch
    return chunk, pitch, floats, _whole_vectors(chunk + FIELDS_OF_STEP * (min(rows.size, ROWS_IN_TABLE) + MOST_FEW))


def _fits_few_windows(views: Spreading) -> bool:
    return _fits_rows(views, *_few_windows_scratch(views)[2:])


def _book_few_windows(views: Spreading, record: Record) -> Booking:
    chunk, pitch, floats, integers = _few_windows_scratch(views)
    record["chunk"], record["pitch"] = chunk, pitch
    record["even"] = views.axes[2].counts_evenly
    if views.has_layers:
        return _in_layers(_few_windows_of(views).name(LAYERS_OF_FEW_WINDOWS), views, record, floats, integers)
    windows = _few_windows_of(views)
    in_scratch = windows.over > 0  # the last stride of a row is cut off
    return _in_rows(windows.name(FEW_WINDOWS), views, record, floats, integers, made_in_scratch=in_scratch)


def _layers_scratch(views: Spreading, floats: int, integers: int) -> tuple[int, int, int, int]:
    """Slots for layers, and rows of each that are made at a time, as many as stay in a core's caches: floats and
    integers in all, beside so many that one layer takes."""
    depth, rows, columns = views.axes
    # One more than are added: a slot that was read just now takes longer to write, up to four times beside streams.
    slots = power_of_two(depth.longest_run + 1)
    room = views.limits.band_of_layers // (slots * columns.size * views.itemsize)
    band = min(rows.size, ROWS_IN_TABLE, max(room, views.limits.rows_of_layers))
    return slots, band, floats + slots * band * columns.size + LANES, integers + slots


def _in_layers(name: str, views: Spreading, record: Record, floats: int, integers: int) -> Booking:
    """Layers that are made in so much scratch."""
    slots, band, in_all, integers_in_all = _layers_scratch(views, floats, integers)
    record["depth_slots"], record["tile"], record["row_step"] = slots, band, views.axes[2].size * views.itemsize
    record["longer"], record["wide_row"] = floats, integers
    record["joined"] = views.axes[2].size >= views.limits.joined_from
    # Stores that miss the caches wait longer here: those past them pay from half the size on.
    record["streaming"] = views.bytes_in_all >= views.limits.stream_averages_from // 2
    return Booking(name, views.rows // views.axes[0].size, in_all, integers_in_all)


def _are_planes_of_short_sums(views: Spreading) -> bool:
    size = views.target.dtype.itemsize
    dense = views.gradients.is_dense(size) and views.planes.is_dense(size)
    return dense and _is_short(views.axes[2]) and not _has_blocks(views.axes) and bool(views.reading)


def _fits_small_planes(views: Spreading) -> bool:
    parts = views.most_parts(-(-views.number_of_planes // LANES))
    return _small_planes_scratch(views.axes)[0] * views.itemsize <= views.limits.total_budget // parts


def _book_small_planes(views: Spreading, record: Record) -> Booking:
    """Eight at a time: lanes are worked on together, so a part of fewer would gain nothing."""
    record["streaming"] = views.written >= views.limits.stream_planes_from
    if views.gradients.is_stack() and views.planes.is_stack():
        record["channels"] = 0
    return Booking("average_small_planes", views.number_of_planes, *_small_planes_scratch(views.axes), grain=LANES)


def _book_rows(views: Spreading, record: Record) -> Booking:
    """Any tensors: row by row."""
    axes, limits = views.axes, views.limits
    streams = views.has_streams
    terms = axes[2].terms if streams else 0
    block = axes[1].terms if _has_blocks(axes) else 0
    sums = axes[0].longest_run * (block + 1) if block else 0
    tile, wide, batch, depth_slots, row_slots, narrow = _tiling(views, streams, sums)
    if streams:
        windows = axes[2].phases_over(tile) + terms - 1
        chunk, pitch = windows + ROOM, _whole_vectors(windows)
    else:
        chunk, pitch = min(axes[2].windows_over(tile), limits.windows_at_once) + ROOM, 0
    longer = batch * pitch + max(chunk, terms + ROOM)
    levels = int(math.log2(terms)) // 2 if terms > MOST_DIRECT_TERMS else 0
    record["streams"], record["terms"], record["levels"], record["block"] = streams, terms, levels, block
    record["tile"], record["chunk"], record["longer"] = tile, chunk, longer
    record["batch"], record["batch_bits"], record["pitch"], record["wide"] = batch, batch.bit_length() - 1, pitch, wide
    record["depth_slots"], record["row_slots"] = depth_slots, row_slots
    record["narrow"] = narrow
    slots = depth_slots * row_slots
    kept = slots * narrow + wide if narrow else (slots * batch + sums) * wide
    floats = 2 * wide + kept + 3 * WIDE_ROOM + 2 * chunk + (3 + levels) * longer
    integers = 3 * chunk + slots + 3 + 2 * LONGEST_TABLE + 2 * min(axes[1].size, ROWS_IN_TABLE)
    return Booking("average_row_blocks" if block else "average_rows", views.rows, floats, integers)


def _small_planes_scratch(axes: Axes) -> tuple[int, int]:
    """Floats and integers that the tables and rows of ``average_small_planes`` take."""
    gradients, elements = math.prod(axis.out for axis in axes), math.prod(axis.size for axis in axes)
    fixed = axes[2].rule == FIXED
    terms = axes[2].terms if fixed else axes[2].longest_run
    # Rows of quotients, with room for windows that do not exist; as many of A and of B, if there are any.
    rows = axes[0].out * axes[1].out * (axes[2].out + (2 * terms if fixed else 1)) + terms
    overlapping = max(axes[0].longest_run, axes[1].longest_run) > 1
    pixels = rows * (1 + (terms > 1) + (terms > 2 and axes[2].fewest < terms)) + (
        elements + axes[2].size if overlapping else 0
    )
    floats = LANES * LANES + gradients + LANES + LANES * pixels
    return floats, gradients + elements + 2 * LANES + axes[2].size + 2 * axes[1].size + LONGEST_TABLE


class Tiling(NamedTuple):
    """Columns per tile; numbers of an expanded row, and rows per batch; how many batches to keep (of layers, of rows);
    and numbers that are kept of a row if they are not all."""

    tile: int
    wide: int
    batch: int
    depth_slots: int
    row_slots: int
    narrow: int


def _tiling(views: Spreading, streams: bool, sums: int) -> Tiling:
    """As many slots as hold one element's windows, if they fit."""
    axes, limits, budget = views.axes, views.limits, views.budget(views.rows) // views.itemsize
    depth, rows, columns = axes
    # Powers of two, so that a kernel finds a slot without a division.
    depth_slots, batch, row_slots = power_of_two(depth.longest_run), 1, 1
    wanted = 1 if sums else rows.longest_run
    tile = min(columns.size, limits.widest_tile)

    def wide(tile: int) -> int:
        if streams:  # rows of quotients, spread
            return _whole_vectors(columns.phases_over(tile) + columns.terms - 1) * columns.stride
        return tile + WIDE_ROOM

    def fits(rows: int) -> bool:
        return (depth_slots * rows + sums + 8) * wide(tile) <= budget  # with the rows of all steps before and after

    while not fits(2 * wanted) and tile > limits.narrowest_tile:
        tile //= 2
    while batch < rows.out and 2 * batch * wide(tile) <= limits.batch and fits(4 * batch):
        batch *= 2
    # Two batches hold any run that is not longer than one; of a deep tensor the next layer needs all rows again.
    wanted = rows.out if depth.size > 1 else min(wanted + batch - 1, rows.out)
    while row_slots * batch < wanted and fits(2 * row_slots * batch):
        row_slots *= 2
    if streams and not sums and row_slots * batch < rows.longest_run:
        narrow = _narrow_tiling(axes, wide, budget, limits.narrowest_tile)
        if narrow is not None:
            return narrow
    # Rows that do not fit are expanded again whenever they are needed: slower, never wrong.
    while not fits(row_slots * batch) and depth_slots > 1:
        depth_slots //= 2
    return Tiling(tile, wide(tile), batch, depth_slots, row_slots, 0)


def _narrow_tiling(axes: Axes, wide: Callable[[int], int], budget: int, narrowest: int) -> Tiling | None:
    """Slots for the columns of one element's windows, if these fit."""
    depth, rows, columns = axes
    depth_slots, row_slots = power_of_two(depth.longest_run), power_of_two(rows.longest_run)
    tile = columns.size
    while tile >= narrowest // 2:
        narrow = _whole_vectors(tile)
        if depth_slots * row_slots * narrow + 24 * wide(tile) <= budget:  # with all other rows
            return Tiling(tile, wide(tile), 1, depth_slots, row_slots, narrow)
        tile //= 2
    return None


def _whole_vectors(n: int) -> int:
    return -(-n // LANES) * LANES


def _is_short(axis: Axis) -> bool:
    """Whether sums along an axis are made one by one: then all kernels make them in the same order."""
    return (axis.terms if axis.rule == FIXED else axis.longest_run) <= MOST_DIRECT_TERMS


def _has_blocks(axes: Axes) -> bool:
    """Whether to sum rows by blocks: where fixed windows are long along H. The slots of all layers must always fit."""
    depth, rows, _ = axes
    return rows.rule == FIXED and MOST_DIRECT_TERMS < rows.terms <= LONGEST_BLOCK // max(depth.longest_run, 1)


LAID_IN_ROWS = Need[Spreading]("rows of results that are runs of memory", lambda v: bool(v.writing))


# Ways between which estimates decide.
TIMES: dict[str, Callable[[Spreading], float]] = {
    "touching pixels": average_times.of_touching_pixels,
    "channels last": average_times.of_channels_last,
    "few windows": average_times.of_few_windows,
    "small planes": average_times.of_small_planes,
    "rows": average_times.of_rows,
    "whole planes": average_times.of_whole_planes,
}


def _if_quickest(way: str) -> tuple[Need[Spreading], ...]:
    return (Need("less time than any other way, by estimate", lambda v: v.quickest == way),)


def _scratch(fits: Callable[[Spreading], bool]) -> Need[Spreading]:
    return Need("so much scratch as each part may have", fits)


WAYS: tuple[Way[Spreading], ...] = (
    Way("zeros", (Need("no gradients at all", lambda v: not v.source.count),), (), _book_zeros),
    Way(
        "whole planes",
        legal=(
            Need("one window over each plane", lambda v: all(axis.is_one_window for axis in v.axes)),
            Need("planes that follow each other in memory", _are_whole_planes),
        ),
        pays=(),
        book=_book_whole_planes,
    ),
    Way(
        "touching pixels",
        legal=(
            Need("channels side by side", lambda v: v.side_by_side),
            Need("at most one window over an element", lambda v: all(axis.longest_run == 1 for axis in v.axes)),
            Need("gradients that are divided as they are", lambda v: v.as_they_are),
        ),
        pays=_if_quickest("touching pixels"),
        book=_book_touching_pixels,
    ),
    Way(
        "channels last",
        legal=(
            Need("channels side by side", lambda v: v.side_by_side),
            # Long sums are put together where columns are single numbers, and only there; bits must not differ.
            Need(f"at most {MOST_DIRECT_TERMS} windows over an element", lambda v: all(map(_is_short, v.axes))),
        ),
        pays=_if_quickest("channels last"),
        book=_book_channels_last,
    ),
    Way(
        "few windows",
        legal=(
            Need("one of the small windows along W, and no more of them along H", _are_few),
            LAID_IN_ROWS,
            Need(
                "floats, or rows of gradients that are runs of memory",
                lambda v: v.reading != codes.BY_ELEMENTS or v.itemsize == v.target.dtype.itemsize,
            ),
            Need("rows that vectors of windows cover", _fill_vectors),
            _scratch(_fits_few_windows),
        ),
        pays=_if_quickest("few windows"),
        book=_book_few_windows,
    ),
    Way(
        "small planes",
        legal=(
            Need("planes that are runs of memory, of short sums", _are_planes_of_short_sums),
            _scratch(_fits_small_planes),
        ),
        pays=_if_quickest("small planes"),
        book=_book_small_planes,
    ),
    Way("rows", legal=(), pays=(), book=_book_rows),
)
