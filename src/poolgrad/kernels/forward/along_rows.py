"""Averages along the rows of one plane after the other: vectors hold neighbours along W.

A row of the input comes into scratch with zeros on both sides, which stand for the padding: what is added to a sum that
begins at +0.0 does not change it if it is zero. Of strides each phase has a row of its own, so that all windows add up
neighbours. These sums wait in slots for the windows along H and D that share them; the results are divided and written
in the loop that adds them.

The windows along W have one length; those along H and D are any. The order of additions is that of rows.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.vectors import add, as_unit, divide, fence, load, multiply, read, splat, split, store, stream, write
from ..record import BY_ELEMENTS, LANES, NOTHING, READ_BFLOATS, READ_FLOATS
from ..rows import load_row, store_row
from ..runtime.stopping import shall_stop
from .rows import places_in_window


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    phases: int  # a row of the input: every ``stride``-th element in a row of its own
    plain: int  # a row as it lies, if it is no run of memory, or of the result
    counts: int  # what the windows of a tile contribute to their divisors
    divisors: int  # the same times what is known of the row
    total: int  # sums over several layers
    layer: int
    kept: int  # sums along W, slot by slot
    terms: int  # where the first window's elements stand, one by one
    tags: int  # which row a slot keeps
    rows: int  # the rows that are added


class Tile(NamedTuple):
    """Windows ``left`` to ``left + number`` of each row, and the elements of a row that they hold."""

    left: int
    number: int
    begin: int
    end: int
    offset: int  # from where the first window begins, which may be in the padding


@piece
def carve(plan: Any, floats: int, integers: int) -> Scratch:
    size = plan.itemsize
    row = plan.pitch * size
    plain = floats + plan.stride[COLUMNS] * plan.wide * size
    counts = plain + plan.longer * size
    tags = integers + 8 * plan.kernel[COLUMNS]
    return Scratch(
        floats,
        plain,
        counts,
        counts + row,
        counts + 2 * row,
        counts + 3 * row,
        counts + 4 * row,
        integers,
        tags,
        tags + 8 * plan.depth_slots * plan.row_slots,
    )


@inlined_piece
def tile_of(plan: Any, left: int) -> Tile:
    number, stride, pad = min(plan.tile, plan.out[COLUMNS] - left), plan.stride[COLUMNS], plan.pad[COLUMNS]
    first = left * stride - pad
    end = min(first + (number - 1) * stride + plan.kernel[COLUMNS], plan.size[COLUMNS])
    return Tile(left, number, max(first, 0), end, max(first, 0) - first)


@piece
def prepare(plan: Any, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """Tables of a tile, and zeros around its rows."""
    zero, stride, step = splat(unit), plan.stride[COLUMNS], plan.wide * plan.itemsize
    for i in range(0, stride * plan.wide, LANES):
        store(scratch.phases, i, zero)
    for i in range(plan.pitch):
        number = count_of(plan, COLUMNS, tile.left + i) if i < tile.number else 1
        write(scratch.counts, i, as_unit(number, unit))
    for j in range(plan.kernel[COLUMNS]):
        write_i64(scratch.terms, 8 * j, scratch.phases + j % stride * step + j // stride * plan.itemsize)


def _stager(name: str, take: Any) -> Any:
    @piece_named(name)
    def stage(plan: Any, source: int, n: int, offset: int, phases: int, unit: Any) -> None:
        """n neighbours, at least two vectors of them, to their phases: one or two."""
        if plan.stride[COLUMNS] == 1:
            last = n - LANES
            for i in range(0, last, LANES):
                store(phases, offset + i, take(source, i, unit))
            store(phases, offset + last, take(source, last, unit))
        else:
            step = plan.wide * plan.itemsize
            even, odd = phases + offset % 2 * step, phases + (offset + 1) % 2 * step
            first, second, last = offset // 2, (offset + 1) // 2, n // 2 - LANES
            for begin in range(0, last + LANES, LANES):
                i = min(begin, last)  # the last vectors are laid back
                one, other = split(take(source, 2 * i, unit), take(source, 2 * i + LANES, unit))
                store(even, first + i, one)
                store(odd, second + i, other)

    return stage


_stage_floats = _stager("along_rows_stage_floats", load)
_stage_halves = _stager("along_rows_stage_halves", load_halves)
_stage_bfloats = _stager("along_rows_stage_bfloats", load_bfloats)


@piece
def stage_one_by_one(plan: Any, plain: int, begin: int, n: int, offset: int, phases: int, unit: Any) -> None:
    """Elements ``begin`` to n of a row in scratch, to phases of any number."""
    stride, step = plan.stride[COLUMNS], plan.wide * plan.itemsize
    for i in range(begin, n):
        place = offset + i
        write(phases + place % stride * step, place // stride, read(plain, i, unit))


@piece
def stage_row(plan: Any, row: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """What a tile holds of a row of the input, between its zeros."""
    step, n, offset = plan.grad_steps[4], tile.end - tile.begin, tile.offset
    source, nothing = row + tile.begin * step, n - n
    whole = n if plan.stride[COLUMNS] == 1 else n - n % 2
    if plan.reading == BY_ELEMENTS or plan.stride[COLUMNS] > 2 or n < 2 * LANES:
        load_row(source, step, plan.code, plan.rounding, scratch.plain, n, unit)
        if plan.stride[COLUMNS] > 2 or n < 2 * LANES:
            stage_one_by_one(plan, scratch.plain, nothing, n, offset, scratch.phases, unit)
            return
        _stage_floats(plan, scratch.plain, n, offset, scratch.phases, unit)
    elif plan.reading == READ_FLOATS:
        _stage_floats(plan, source, n, offset, scratch.phases, unit)
    elif plan.reading == READ_BFLOATS:
        _stage_bfloats(plan, source, n, offset, scratch.phases, unit)
    else:
        _stage_halves(plan, source, n, offset, scratch.phases, unit)
    if whole < n:
        last = scratch.plain + whole * plan.itemsize
        load_row(source + whole * step, step, plan.code, plan.rounding, last, n - whole, unit)
        stage_one_by_one(plan, scratch.plain, whole, n, offset, scratch.phases, unit)


@piece
def add_terms(target: int, terms: int, count: int, number: int, unit: Any) -> None:
    """The sums of ``count`` neighbours along W, or of as many rows, and some overrun."""
    first = read_i64(terms, 0)
    if count == 3:
        second, third = read_i64(terms, 8), read_i64(terms, 16)
        for i in range(0, number, LANES):
            store(target, i, add(add(load(first, i, unit), load(second, i, unit)), load(third, i, unit)))
    elif count == 2:
        second = read_i64(terms, 8)
        for i in range(0, number, LANES):
            store(target, i, add(load(first, i, unit), load(second, i, unit)))
    else:
        for i in range(0, number, LANES):
            total = load(first, i, unit)
            for j in range(1, count):
                total = add(total, load(read_i64(terms, 8 * j), i, unit))
            store(target, i, total)


def _finisher(name: str, put: Any) -> Any:
    @inlined_piece
    def quotient(total: Any, divisors: int, i: int, unit: Any) -> Any:
        """Adding +0.0 makes sums begin there."""
        return divide(add(total, splat(unit)), load(divisors, i, unit))

    @piece_named(name)
    def finish(target: int, rows: int, count: int, number: int, divisors: int, unit: Any) -> None:
        """Averages, at least a vector of them: the sums of ``count`` rows, divided. The last vector is laid back."""
        first = read_i64(rows, 0)
        if count == 3:
            second, third = read_i64(rows, 8), read_i64(rows, 16)
            for begin in range(0, number, LANES):
                i = min(begin, number - LANES)
                total = add(add(load(first, i, unit), load(second, i, unit)), load(third, i, unit))
                put(target, i, quotient(total, divisors, i, unit))
        else:
            for begin in range(0, number, LANES):
                i = min(begin, number - LANES)
                total = load(first, i, unit)
                for j in range(1, count):
                    total = add(total, load(read_i64(rows, 8 * j), i, unit))
                put(target, i, quotient(total, divisors, i, unit))

    return finish


_finish_floats = _finisher("along_rows_finish_floats", store)
_stream_floats = _finisher("along_rows_stream_floats", stream)
_finish_halves = _finisher("along_rows_finish_halves", store_halves)
_finish_bfloats = _finisher("along_rows_finish_bfloats", store_bfloats)


@inlined_piece
def give_row(plan: Any, target: int, count: int, number: int, streaming: bool, scratch: Scratch, unit: Any) -> None:
    """A row of the result from the rows in the table."""
    if plan.writing == BY_ELEMENTS or number < LANES:
        _finish_floats(scratch.plain, scratch.rows, count, number - number + max(number, LANES), scratch.divisors, unit)
        store_row(target, plan.result_steps[4], plan.code, scratch.plain, number, unit)
    elif streaming:
        _stream_floats(target, scratch.rows, count, number, scratch.divisors, unit)
    elif plan.writing == READ_FLOATS:
        _finish_floats(target, scratch.rows, count, number, scratch.divisors, unit)
    elif plan.writing == READ_BFLOATS:
        _finish_bfloats(target, scratch.rows, count, number, scratch.divisors, unit)
    else:
        _finish_halves(target, scratch.rows, count, number, scratch.divisors, unit)


@inlined_piece
def tabulate_layer(
    plan: Any, plane: int, d: int, first: int, stop: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Sums along W of some rows of a layer, made if no slot has them."""
    for h in range(first, stop):
        slot, tag = (d & plan.depth_slots - 1) * plan.row_slots + (h & plan.row_slots - 1), d * plan.size[ROWS] + h
        at = scratch.kept + slot * plan.pitch * plan.itemsize
        if read_i64(scratch.tags, 8 * slot) != tag:
            write_i64(scratch.tags, 8 * slot, tag)
            row = plane + d * plan.grad_steps[2] + h * plan.grad_steps[3]
            stage_row(plan, row, tile, scratch, unit)
            add_terms(at, scratch.terms, plan.kernel[COLUMNS], tile.number, unit)
        write_i64(scratch.rows, 8 * (h - first), at)


@inlined_piece
def sum_layers(plan: Any, plane: int, od: int, oh: int, tile: Tile, scratch: Scratch, unit: Any) -> int:
    """The rows whose sum is a row of windows, in the table, and how many they are."""
    layers_from, layers_to = places_in_window(plan, DEPTH, od)
    first, stop = places_in_window(plan, ROWS, oh)
    if layers_to - layers_from == 1:
        tabulate_layer(plan, plane, layers_from, first, stop, tile, scratch, unit)
        return stop - first
    one = od - od + 1
    for d in range(layers_from, layers_to):
        tabulate_layer(plan, plane, d, first, stop, tile, scratch, unit)
        into = scratch.total if d == layers_from else scratch.layer
        add_terms(into, scratch.rows, stop - first, tile.number, unit)
        write_i64(scratch.rows, 0, scratch.total)
        write_i64(scratch.rows, 8, scratch.layer)
        if d > layers_from:
            add_terms(scratch.total, scratch.rows, one + one, tile.number, unit)
    return one


@piece
def scale_divisors(plan: Any, scale: int, scratch: Scratch, unit: Any) -> None:
    factor = splat(as_unit(scale, unit))
    for i in range(0, plan.pitch, LANES):
        store(scratch.divisors, i, multiply(factor, load(scratch.counts, i, unit)))


def pool_average_along_rows(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over planes, layers and rows."""
    plan = records[0]
    scratch, width, height, steps = carve(plan, floats, integers), plan.out[COLUMNS], plan.out[ROWS], plan.result_steps
    per_plane, channels = plan.out[DEPTH] * height, plan.channels
    # Rows of whole multiples of 16 bytes; the last vector is laid back by such a multiple, too.
    offsets = result | steps[0] | steps[1] | steps[2] | steps[3] | width * plan.itemsize | plan.tile * plan.itemsize
    streaming = plan.streaming and plan.writing == READ_FLOATS and offsets % 16 == 0
    for left in range(0, width, plan.tile):
        if shall_stop(plan, plan.tile, width, end - begin):
            break
        tile, row, scaled = tile_of(plan, left), begin, 0
        prepare(plan, tile, scratch, unit)
        while row < end:
            stop = min(end, (row // per_plane + 1) * per_plane)
            for slot in range(plan.depth_slots * plan.row_slots):
                write_i64(scratch.tags, 8 * slot, NOTHING)
            plane = row // per_plane
            image, channel, od, oh = plane // channels, plane % channels, row % per_plane // height, row % height
            source = x + image * plan.grad_steps[0] + channel * plan.grad_steps[1]
            target = result + image * steps[0] + channel * steps[1] + left * steps[4]
            while row < stop:
                count = sum_layers(plan, source, od, oh, tile, scratch, unit)
                scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
                if scale != scaled:
                    scaled = scale
                    scale_divisors(plan, scale, scratch, unit)
                give_row(plan, target + od * steps[2] + oh * steps[3], count, tile.number, streaming, scratch, unit)
                oh += 1
                if oh == height:
                    od, oh = od + 1, oh - height
                row += 1
    if streaming:
        fence()
    return NOTHING
