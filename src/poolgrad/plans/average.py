"""The plan of an average pooling gradient: which kernel adds its windows fastest.

All of them give the same bits: each gradient is divided by what its window counts; sums go along W, then H, then D, in
an order that an element's place in its plane alone decides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType
from ..base.tensor import Planes, Tensor, as_planes
from ..base.windows import COUNT_ONE, COUNT_PADDED, COUNT_VALID, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import record as codes
from ..kernels.record import (
    FEW_WINDOWS,
    LANES,
    LAYERS,
    LAYERS_IN_ONE_PASS,
    LONGEST_TABLE,
    MOST_DIRECT_TERMS,
    RECORD,
    ROOM,
    ROWS_IN_TABLE,
    WIDE_ROOM,
)
from . import plan as plans
from .plan import CODES, Plan, Record, compute_dtype, parts_for, power_of_two

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

WIDEST_TILE, NARROWEST_TILE = 8192, 64
# Fixed windows: strides that constant shuffles can lay out, and the longest sums that fit scratch.
LARGEST_SHUFFLED_STRIDE, MOST_TERMS = 4, 2048
# Rows of gradients that are summed by blocks, in all layers; so many narrow tiles fit scratch for any number of parts.
LONGEST_BLOCK = 256
# Rows that are expanded together, in numbers: what is made of them should stay in the first-level cache.
BATCH = 2048
# Rows of this width are woven. Measured in the caches, lanes are up to a third faster on planes of 28 and 35 columns,
# as fast on 56 (faster by a quarter where windows touch), and slower by 15 to 50 % on wider ones.
NARROWEST_WOVEN, NARROWEST_TOUCHING = 40, 60
# Layers of such rows are made in scratch and added up: with windows of 3 in 0.3 to 0.6 of the time that single rows
# take. Lanes are as fast on 16 to 28 columns. Some rows of each layer are made at a time, in slots of so many bytes in
# all; a quarter of that takes a tenth longer, a sixteenth a third.
NARROWEST_LAYERS, BAND_OF_LAYERS, FEWEST_ROWS_OF_LAYERS = 24, 1 << 18, 4
# With windows of 3 and a stride of 1 such rows of the result are written while the last of their layers is made, in 0.8
# to 0.9 of the time. Rows of 40 columns take as long, narrower ones up to twice as long. Strides of 2 gain nothing.
NARROWEST_JOINED = 48
# Windows of 3 and a stride of 1 roll in such rows: planes of 11 columns and more take 0.4 to 0.9 of the time that any
# other way takes, narrower ones a tenth more than in lanes.
NARROWEST_ROLLING = 11
# Strides of 2 double rows of such widths: beyond the caches in 0.5 to 0.8 of the time that any other way takes. Within
# them windows of 3 take 0.6 to 0.8 of it on 56 and 112 columns and as long on 28; windows of 2 are repeated as fast.
NARROWEST_DOUBLING = 24
# Other windows that touch are repeated in such rows. Beyond the caches that takes 0.5 to 0.9 of the time of any other
# way, and as long on 28 columns; within them as long on 56 columns and more, 0.7 of it on 224, and longer on 28.
NARROWEST_REPEATING_BEYOND_CACHES, NARROWEST_REPEATING = 16, 60
# Of results up to twice as large as caches, a beginning of so many bytes is not written past them. Threads share the
# way past them, so two take 0.8 to 0.9 of the time if at most half as much is read as is written. One alone takes 0.95
# of it if a ninth is read, and no less if it is a quarter. Nothing is gained with larger results.
KEPT_BY_PART, KEPT_IN_ALL = 12 << 20, 24 << 20
LITTLE_READ, LITTLE_READ_ALONE = 2, 6
# Channels that are worked on together at most, numbers in all their slots, and channels from which on a row is cut
# into blocks of them rather than into tiles: with windows of 3 over 2048 channels in 0.6 of the time.
MOST_CHANNELS, PIXELS_AT_ONCE, MANY_CHANNELS = 4096, 1 << 16, 1024
# Gradients that are read at once where each fills a plane.
PLANES_AT_ONCE = 256
# Scratch of eight small planes should stay in a core's second-level cache.
LANES_BUDGET = 1000 << 10
# With fewer planes most lanes would work for nothing, which does not matter if there is little work.
FEWEST_LANES, TINY = 3, 1 << 13

Axes = tuple[Axis, Axis, Axis]


def axes_of(call: Call) -> Axes:
    """The windows along D, H and W, and what they count in divisors."""
    counting = COUNT_PADDED if call.value(Role.COUNT_INCLUDE_PAD) else COUNT_VALID
    windows = [w.axis(COUNT_ONE if call.value(Role.DIVISOR) else counting) for w in call.operator.windows(call)]
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *windows)
    return depth, rows, columns


def divisor_of(call: Call) -> int:
    """What multiplies every window's count: the divisor that is given, where windows count as one."""
    return (call.value(Role.DIVISOR) and call.number(Role.DIVISOR)) or 1


def has_large_divisors(divisor: int, axes: Axes, compute: str) -> bool:
    """Whether the compute dtype can't hold every divisor."""
    exact = 2**53 if compute == FLOAT64.name else 2**24
    return abs(divisor) * math.prod(axis.longest_count for axis in axes) > exact


def plan_average(call: Call, threads: int) -> Plan:
    """The gradient of an average over the windows of one to three axes; a plane without depth has one layer."""
    by_role = call.operator.by_role
    grad, result = by_role[Role.GRADIENT].name, by_role[Role.RESULT].name
    source, target = call.tensor(grad), call.tensor(result)
    divisor, layout = divisor_of(call), layout_of(call)
    axes, rounding = axes_of(call), call.operator.rounding(call) or "kept"
    compute = compute_dtype(target.dtype)
    itemsize = np.dtype(compute).itemsize
    planes, gradients = as_planes(target, layout), as_planes(source, layout)
    record = _record(target.dtype, planes.shape[1], axes)
    record["grad_steps"], record["result_steps"] = gradients.steps, planes.steps
    record["divisor"], record["rounding"] = divisor, ROUNDINGS[rounding]
    record["large_divisors"] = has_large_divisors(divisor, axes, compute)

    moves = MOVES[target.dtype]
    if gradients.has_neighbours(source.dtype.itemsize) and rounding == "kept" and not record["large_divisors"]:
        record["reading"] = moves
    if planes.has_neighbours(target.dtype.itemsize):
        record["writing"] = moves
    record["itemsize"], record["stored"], record["row_step"] = itemsize, target.dtype.itemsize, planes.steps[3]
    record["ones"] = axes[2].phases_with_all_terms
    record["overlapping"] = max(axes[0].longest_run, axes[1].longest_run) > 1
    record["streaming"] = target.dtype.nbytes(target.count) >= plans.STREAM_FROM
    views = Views(axes, source, target, gradients, planes, threads)
    booked = None
    if target.count and not source.count:
        booked = "average_zeros", target.count // axes[2].size, 0, 0
    elif target.count:
        booked = (
            _for_whole_planes(views, record)
            or _for_channels_last(views, record)
            or _k3s1(views, record)
            or _stride2(views, record)
            or _touching(views, record)
            or _few_windows(views, record)
            or _for_small_planes(views, record)
            or _in_rows(views, record)
        )
    kernel, units, floats, integers = booked or ("", 0, 0, 0)
    # Lanes are worked on together, so a part of fewer would gain nothing.
    grain = LANES if kernel == "average_small_planes" else 1
    parts = views.parts(-(-units // grain))
    return Plan(call, kernel, compute, record, (grad, result), units, parts, floats, integers, grain)


class Views(NamedTuple):
    """The two tensors of an average, as a planner looks at them."""

    axes: Axes
    source: Tensor
    target: Tensor
    gradients: Planes
    planes: Planes
    threads: int

    def parts(self, units: int) -> int:
        return parts_for(self.threads, units, self.source, self.target)


# A kernel, its units of work, and its scratch: floats and integers.
Booking = tuple[str, int, int, int]


def _for_whole_planes(views: Views, record: Record) -> Booking | None:
    """One window over each plane."""
    axes, source, target, gradients, planes, _ = views
    if not all(axis.is_one_window for axis in axes):
        return None
    one_channel = planes.shape[1] == 1  # then planes follow each other in the steps of the images
    stacks = one_channel or (gradients.is_stack() and planes.is_stack())
    if not (stacks and planes.is_dense(target.dtype.itemsize)):
        return None
    if one_channel:
        record["grad_steps"][0][1], record["result_steps"][0][1] = gradients.steps[0], planes.steps[0]
    record["divisor"] *= math.prod(axis.count(0) for axis in axes)
    if record["grad_steps"][0][1] != source.dtype.itemsize:
        record["reading"] = codes.BY_ELEMENTS
    # Next to nothing is read, so caches hold more of the result: up to twice their size stores past them take longer.
    record["streaming"] = target.dtype.nbytes(target.count) >= 2 * plans.STREAM_FROM
    record["tile"], record["chunk"] = math.prod(planes.spatial), PLANES_AT_ONCE
    return "average_whole_planes", source.count, 2 * PLANES_AT_ONCE + LANES, PLANES_AT_ONCE


def _for_channels_last(views: Views, record: Record) -> Booking | None:
    """Channels that lie side by side: all of a pixel together.

    Not for long sums: these are put together where columns are single numbers, and only there, and the layout must not
    change a bit.
    """
    axes, _, target, gradients, planes, _ = views
    channels = planes.shape[1]
    side_by_side = gradients.steps[1] == planes.steps[1] == target.dtype.itemsize
    few = all(_is_short(axis) for axis in axes)
    if not (side_by_side and few and channels >= LANES):
        return None
    slots = [power_of_two(axis.longest_run) for axis in axes[:2]]
    tile, blocks = axes[2].size, -(-channels // MOST_CHANNELS)
    rows = math.prod(slots) * _rows_of_sums(axes[2])
    while (pitch := _pitch_of_pixels(axes[2], tile)) * (pixel := -(-channels // blocks)) * rows > PIXELS_AT_ONCE:
        if pixel > MANY_CHANNELS:
            blocks += 1
        elif tile > 1:
            tile = -(-tile // 2)
        else:
            break
    moves = MOVES[target.dtype]
    record["reading"] = (
        moves if record["rounding"] == codes.KEPT and not record["large_divisors"] else codes.BY_ELEMENTS
    )
    record["writing"], record["pixel"], record["tile"], record["pitch"] = moves, pixel, tile, pitch
    record["wide"] = pitch * pixel * _rows_of_sums(axes[2])
    record["depth_slots"], record["row_slots"] = slots
    floats = 3 * _whole_vectors(pixel) + pitch * pixel * (1 + rows) + ROOM
    integers = pixel + tile + math.prod(slots) + 1 + LONGEST_TABLE + math.prod(slots)
    return "average_channels_last", target.count // (axes[2].size * channels), floats, integers


def _pitch_of_pixels(columns: Axis, tile: int) -> int:
    """Pixels in a row of quotients: windows, some that do not exist, and one that stays zero."""
    return columns.windows_over(tile) + (2 * columns.terms if columns.rule == FIXED else 2) + 1


def _rows_of_sums(columns: Axis) -> int:
    """Rows of a slot: one if all columns have the same number of windows (of three and more), or one of quotients."""
    terms = columns.terms if columns.rule == FIXED else columns.longest_run
    return 1 if terms == 1 or (terms > 2 and columns.fewest == terms) else 2


def _k3s1(views: Views, record: Record) -> Booking | None:
    """Windows of 3 x 3 with a stride of 1."""
    _, rows, columns = views.axes
    nine = all((axis.rule, axis.kernel, axis.stride) == (FIXED, 3, 1) for axis in (rows, columns))
    wide = columns.size >= max(NARROWEST_ROLLING, LANES)
    if not (nine and columns.pad == 1 and wide):
        return None
    pitch = _whole_vectors(columns.size) + LANES
    # As much is read as is written: if both together leave the caches, stores past them save a fifth to a half.
    streaming = _bytes_in_all(views) >= plans.STREAM_FROM
    return _in_one_pass("average_k3s1", views, record, streaming, pitch, 7 * pitch)


def _bytes_in_all(views: Views) -> int:
    return sum(tensor.dtype.nbytes(tensor.count) for tensor in (views.source, views.target))


def _touching(views: Views, record: Record) -> Booking | None:
    """Windows of 2 x 2 to 4 x 4 that touch."""
    _, rows, columns = views.axes
    stride, streaming = columns.stride, bool(record["streaming"][0])
    touching = all(
        (axis.rule, axis.kernel, axis.stride, axis.pad) == (FIXED, stride, stride, 0) for axis in (rows, columns)
    )
    narrowest = NARROWEST_REPEATING_BEYOND_CACHES if streaming else NARROWEST_REPEATING
    if not (touching and 2 <= stride <= 4 and columns.out >= LANES and columns.size >= narrowest):
        return None
    numbers = 2 * stride * codes.REPEATED_AT_ONCE + LANES + codes.PAGE // 4 // int(record["itemsize"][0])
    return _in_one_pass(f"average_touching_{stride}", views, record, streaming, 0, numbers)


def _stride2(views: Views, record: Record) -> Booking | None:
    """Windows of 2 x 2, or of 3 x 3 with a padding of 1, with a stride of 2."""
    _, rows, columns = views.axes
    size, itemsize, streaming = columns.kernel, int(record["itemsize"][0]), bool(record["streaming"][0])
    usual = all(
        (axis.rule, axis.kernel, axis.stride, axis.pad) == (FIXED, size, 2, size - 2)
        and 0 <= 2 * axis.out - axis.size <= size - 2
        for axis in (rows, columns)
    )
    wide = columns.size >= max(NARROWEST_DOUBLING, 2 * LANES)
    pays = size == 3 or (size == 2 and streaming)
    if not (usual and wide and pays):
        return None
    pitch = -(-columns.size * itemsize // codes.PAGE) * codes.PAGE // itemsize
    numbers = 4 * pitch + codes.PAGE // 4 // itemsize
    name = f"average_k{size}s2_odd" if columns.size % 2 else f"average_k{size}s2"
    return _in_one_pass(name, views, record, streaming, pitch, numbers)


def _in_one_pass(name: str, views: Views, record: Record, streaming: bool, pitch: int, numbers: int) -> Booking | None:
    """Planes of floats whose windows in a layer all count the same, if so many numbers of scratch fit."""
    depth, rows, columns = views.axes
    layers = depth.longest_run > 1  # that are made in scratch, and added up
    name = name.replace("average", "average_layers") if layers else name
    if layers and (name not in LAYERS_IN_ONE_PASS or not _is_short(depth)):
        return None
    even = rows.counts_evenly and columns.counts_evenly
    floats = record["reading"] == record["writing"] == codes.READ_FLOATS
    rows_in_all = views.target.count // columns.size
    fits = numbers * int(record["itemsize"][0]) <= _budget(rows_in_all, views)
    if not (even and floats and fits):
        return None
    booked = _in_layers(name, views, record, numbers, 0) if layers else (name, rows_in_all, numbers, 0)
    if booked is not None:
        if layers:  # stores that miss the caches wait longer here: those past them pay from half the size on
            streaming = _bytes_in_all(views) >= plans.STREAM_FROM // 2
            record["joined"] = name == "average_layers_k3s1" and columns.size >= NARROWEST_JOINED
        record["streaming"], record["chunk"], record["pitch"] = streaming, numbers, pitch
        record["kept"] = _kept(views, views.parts(rows_in_all)) if streaming and not layers else 0
    return booked


def _kept(views: Views, parts: int) -> int:
    """How many rows each part writes into the caches before it writes past them."""
    _, source, target, *_ = views
    read, written = (tensor.dtype.nbytes(tensor.count) for tensor in (source, target))
    if read * (LITTLE_READ if parts > 1 else LITTLE_READ_ALONE) > written or written >= 2 * plans.STREAM_FROM:
        return 0
    return min(KEPT_BY_PART, KEPT_IN_ALL // parts) // target.dtype.nbytes(views.axes[2].size)


def _few_windows(views: Views, record: Record) -> Booking | None:
    """Few windows hold an element along W and H, and rows are long enough."""
    (depth, rows, columns), _, target, *_ = views
    layers = depth.longest_run > 1  # that are made in scratch, and added up
    windows = f"{columns.kernel}_{columns.stride}_{columns.pad % columns.stride}"
    name = f"average_layers_{windows}" if layers else f"average_few_windows_{windows}"
    few = name in FEW_WINDOWS | LAYERS and columns.rule == FIXED and rows.longest_run <= columns.terms
    narrowest = NARROWEST_WOVEN if columns.terms > 1 or record["streaming"] else NARROWEST_TOUCHING
    if layers:
        narrowest = NARROWEST_LAYERS if _is_short(depth) else columns.size + 1
    wide = columns.size >= max(narrowest, 2 * LANES, columns.stride * LANES)
    # Whole vectors everywhere: rows that begin amid a cache line take longer to read.
    chunk = _whole_vectors(columns.out) + LANES
    pitch = _whole_vectors(max(columns.out, (columns.size + columns.pad) // columns.stride)) + 4 * LANES
    as_made = layers or target.dtype in (FLOAT32, FLOAT64)
    slots, row = power_of_two(columns.terms), 0 if as_made else _whole_vectors(columns.size)
    floats = 2 * LANES + row + 2 * chunk + (1 + slots) * pitch
    integers = _whole_vectors(chunk + 1 + min(rows.out, ROWS_IN_TABLE) + 2 * min(rows.size, ROWS_IN_TABLE))
    rows_in_all = target.count // columns.size
    fits = floats * int(record["itemsize"][0]) + 8 * integers <= _budget(rows_in_all, views)
    # Halves are rounded in a second pass, which takes longer than lanes if there is nothing to add.
    slow = row > 0 and columns.terms == 1
    if not (few and wide and fits and record["writing"]) or slow:
        return None
    booked = _in_layers(name, views, record, floats, integers) if layers else (name, rows_in_all, floats, integers)
    if booked is not None:
        record["chunk"], record["pitch"], record["row_slots"], record["wide"] = chunk, pitch, slots, row
        record["even"] = columns.counts_evenly and record["reading"] == codes.READ_FLOATS and columns.out >= LANES
    return booked


def _in_layers(name: str, views: Views, record: Record, floats: int, integers: int) -> Booking | None:
    """Layers that are made in so much scratch: some rows of each at a time, as many as stay in a core's caches."""
    (depth, rows, columns), _, target, *_ = views
    # One more than are added: a slot that was read just now takes longer to write, up to four times beside streams.
    slots, itemsize = power_of_two(depth.longest_run + 1), int(record["itemsize"][0])
    units = target.count // (depth.size * columns.size)
    band = min(rows.size, max(BAND_OF_LAYERS // (slots * columns.size * itemsize), FEWEST_ROWS_OF_LAYERS))
    booked = floats + slots * band * columns.size + LANES
    if booked * itemsize + 8 * (integers + slots) > _budget(units, views):
        return None
    record["depth_slots"], record["tile"], record["row_step"] = slots, band, columns.size * itemsize
    record["longer"], record["wide_row"] = floats, integers
    return name, units, booked, integers + slots


def _for_small_planes(views: Views, record: Record) -> Booking | None:
    """Dense planes that are small enough to be worked on eight at a time."""
    axes, _, target, gradients, planes, _ = views
    dense = gradients.is_dense(target.dtype.itemsize) and planes.is_dense(target.dtype.itemsize)
    few = _is_short(axes[2]) and not _has_blocks(axes)
    floats, integers = _small_planes_scratch(axes)
    count = target.count // math.prod(planes.spatial)
    parts = views.parts(-(-count // LANES))
    if 3 * parts < views.parts(target.count // axes[2].size):
        return None  # too few for all threads
    budget = min(LANES_BUDGET, plans.TOTAL_BUDGET // parts)
    enough = count >= FEWEST_LANES or floats <= TINY
    fits = floats * int(record["itemsize"][0]) <= budget and enough
    if not (dense and few and fits and record["reading"]):
        return None
    if gradients.is_stack() and planes.is_stack():
        record["channels"] = 0
    return "average_small_planes", count, floats, integers


def _in_rows(views: Views, record: Record) -> Booking:
    """Any tensors: row by row."""
    axes, target = views.axes, views.target
    streams = _has_streams(axes[2])
    terms = axes[2].terms if streams else 0
    rows = target.count // axes[2].size
    block = axes[1].terms if _has_blocks(axes) else 0
    sums = axes[0].longest_run * (block + 1) if block else 0
    budget = _budget(rows, views) // int(record["itemsize"][0])
    tile, wide, batch, depth_slots, row_slots, narrow = _tiling(axes, streams, sums, budget)
    if streams:
        windows = axes[2].phases_over(tile) + terms - 1
        chunk, pitch = windows + ROOM, _whole_vectors(windows)
    else:
        chunk, pitch = min(axes[2].windows_over(tile), plans.MOST_WINDOWS_AT_ONCE) + ROOM, 0
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
    return "average_row_blocks" if block else "average_rows", rows, floats, integers


def _budget(units: int, views: Views) -> int:
    """Bytes of scratch that each part of a kernel may have which is split into so many units at most."""
    return min(plans.PART_BUDGET, plans.TOTAL_BUDGET // views.parts(units))


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


def _record(dtype: DType, channels: int, axes: tuple[Axis, ...]) -> Record:
    record = np.zeros(1, RECORD)
    for field in dataclasses.fields(Axis):
        record[field.name] = [getattr(axis, field.name) for axis in axes]
    record["channels"], record["code"] = channels, CODES[dtype]
    return record


class Tiling(NamedTuple):
    """Columns per tile; numbers of an expanded row, and rows per batch; how many batches to keep (of layers, of rows);
    and numbers that are kept of a row if they are not all."""

    tile: int
    wide: int
    batch: int
    depth_slots: int
    row_slots: int
    narrow: int


def _tiling(axes: Axes, streams: bool, sums: int, budget: int) -> Tiling:
    """As many slots as hold one element's windows, if they fit."""
    depth, rows, columns = axes
    # Powers of two, so that a kernel finds a slot without a division.
    depth_slots, batch, row_slots = power_of_two(depth.longest_run), 1, 1
    wanted = 1 if sums else rows.longest_run
    tile = min(columns.size, WIDEST_TILE)

    def wide(tile: int) -> int:
        if streams:  # rows of quotients, spread
            return _whole_vectors(columns.phases_over(tile) + columns.terms - 1) * columns.stride
        return tile + WIDE_ROOM

    def fits(rows: int) -> bool:
        return (depth_slots * rows + sums + 8) * wide(tile) <= budget  # with the rows of all steps before and after

    while not fits(2 * wanted) and tile > NARROWEST_TILE:
        tile //= 2
    while batch < rows.out and 2 * batch * wide(tile) <= BATCH and fits(4 * batch):
        batch *= 2
    # Two batches hold any run that is not longer than one; of a deep tensor the next layer needs all rows again.
    wanted = rows.out if depth.size > 1 else min(wanted + batch - 1, rows.out)
    while row_slots * batch < wanted and fits(2 * row_slots * batch):
        row_slots *= 2
    if streams and not sums and row_slots * batch < rows.longest_run:
        narrow = _narrow_tiling(axes, wide, budget)
        if narrow is not None:
            return narrow
    # Rows that do not fit are expanded again whenever they are needed: slower, never wrong.
    while not fits(row_slots * batch) and depth_slots > 1:
        depth_slots //= 2
    return Tiling(tile, wide(tile), batch, depth_slots, row_slots, 0)


def _narrow_tiling(axes: Axes, wide: Callable[[int], int], budget: int) -> Tiling | None:
    """Slots for the columns of one element's windows, if these fit."""
    depth, rows, columns = axes
    depth_slots, row_slots = power_of_two(depth.longest_run), power_of_two(rows.longest_run)
    tile = columns.size
    while tile >= NARROWEST_TILE // 2:
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


def _has_streams(axis: Axis) -> bool:
    """Whether to sum all columns' windows at once: for fixed windows of small strides."""
    return axis.rule == FIXED and axis.stride <= LARGEST_SHUFFLED_STRIDE and axis.terms <= MOST_TERMS


def _has_blocks(axes: Axes) -> bool:
    """Whether to sum rows by blocks: where fixed windows are long along H. The slots of all layers must always fit."""
    depth, rows, _ = axes
    return rows.rule == FIXED and MOST_DIRECT_TERMS < rows.terms <= LONGEST_BLOCK // max(depth.longest_run, 1)
