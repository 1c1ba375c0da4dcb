"""The gradient of every average: divide each gradient by its window's count, then let it flow into its window.

It separates. A row of gradients is divided and spread along W into an expanded row (spreading.py); the expanded rows of
the windows that hold an input row are added up, then such sums over the layers that hold it. So additions go upwards
along W, then H, then D, and their order depends on nothing but the element's place in its plane.

Columns are worked on in tiles, so that scratch stays small for any size. Expanded rows are kept in a few slots with
tags, since neighbouring input rows need the same ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import windows
from .memory import inlined_piece, piece, read_i64, write_i64
from .record import LANES, ROOM, ROWS_IN_TABLE, WIDE_ROOM
from .rows import load_row, store_row
from .spreading import fill, interleave, lay_windows, window_sums
from .vectors import add, as_unit, divide, fence, load, multiply, read, splat, store, stream, type_as, write

first_window, last_window = piece(windows.first_window), piece(windows.last_window)
window_start, window_stop = piece(windows.window_start), piece(windows.window_stop)
window_count = piece(windows.window_count)

DEPTH, ROWS, COLUMNS = 0, 1, 2
NOTHING = -1


class Tile(NamedTuple):
    """Columns ``left`` to ``right`` of every row, and the windows along W that touch them."""

    left: int
    right: int
    first: int  # the first window; with streams it may lie before the first that exists
    number: int  # stream elements, or windows
    skip: int  # where the tile's first column lies in an expanded row


class Scratch(NamedTuple):
    """One thread's working memory, as addresses: numbers of the compute type, then 64-bit integers."""

    total: int  # the answer's row
    layer: int  # the same for one layer of D
    quotients: int
    divisors: int  # what each window along W counts, in the compute type
    one: int  # the two streams
    other: int
    spare: int
    kept: int  # expanded rows, one per slot
    lows: int  # first column of the tile that a window covers
    highs: int  # and one past the last
    counts: int  # what each window along W counts
    tags: int  # which expanded row a slot keeps
    tabulated: int  # for which tile and first window the tables stand
    runs: int  # for each input row, first and one past the last window along H


@piece
def carve(plan: Any, floats: int, integers: int, itemsize: int) -> Scratch:
    wide = (plan.tile * plan.pixel + WIDE_ROOM) * itemsize
    chunk, longer = plan.chunk * itemsize, plan.longer * itemsize
    quotients = floats + 2 * wide
    one = quotients + 2 * longer
    spare = one + 2 * chunk
    lows = integers
    tags = lows + 3 * 8 * plan.longer
    tabulated = tags + 8 * plan.depth_slots * plan.row_slots
    scratch = Scratch(
        floats,
        floats + wide,
        quotients,
        quotients + longer,
        one,
        one + chunk,
        spare,
        spare + longer,
        lows,
        lows + 8 * plan.longer,
        lows + 16 * plan.longer,
        tags,
        tabulated,
        tabulated + 16,
    )
    write_i64(scratch.tabulated, 0, NOTHING)
    return scratch


@piece
def run_of(plan: Any, axis: int, i: int) -> tuple[int, int]:
    """First and one past the last window that hold element i of an axis."""
    rule, size, out = plan.rule[axis], plan.size[axis], plan.out[axis]
    kernel, stride, pad = plan.kernel[axis], plan.stride[axis], plan.pad[axis]
    first = first_window(i, rule, size, out, kernel, stride, pad)
    return first, last_window(i, rule, size, out, stride, pad) + 1


@piece
def bounds_of(plan: Any, axis: int, o: int) -> tuple[int, int]:
    """Start and stop of window o of an axis."""
    rule, size, out, stride, pad = plan.rule[axis], plan.size[axis], plan.out[axis], plan.stride[axis], plan.pad[axis]
    start = window_start(o, rule, size, out, stride, pad)
    return start, window_stop(o, rule, size, out, plan.kernel[axis], stride, pad)


@piece
def count_of(plan: Any, axis: int, o: int) -> int:
    """What window o of an axis contributes to the divisor."""
    start, stop = bounds_of(plan, axis, o)
    return window_count(start, stop, plan.size[axis], plan.counting[axis])


@piece
def tile_of(plan: Any, left: int, right: int) -> Tile:
    if plan.streams:
        stride, pad = plan.stride[COLUMNS], plan.pad[COLUMNS]
        first, last = (left + pad) // stride, (right - 1 + pad) // stride
        return Tile(left, right, first - plan.terms + 1, last - first + 1, left + pad - first * stride)
    first = run_of(plan, COLUMNS, left)[0]
    return Tile(left, right, first, run_of(plan, COLUMNS, right - 1)[1] - first, 0)


@inlined_piece
def tabulate(plan: Any, tile: Tile, first: int, number: int, scratch: Scratch, unit: Any) -> None:
    """For some windows along W: the columns of the tile that each covers, and its count; 1 for those that are not."""
    if read_i64(scratch.tabulated, 0) == tile.left and read_i64(scratch.tabulated, 8) == first:
        return
    write_i64(scratch.tabulated, 0, tile.left)
    write_i64(scratch.tabulated, 8, first)
    for i in range(number + LANES):
        o = first + i
        count = 1
        if 0 <= o < plan.out[COLUMNS]:
            start, stop = bounds_of(plan, COLUMNS, o)
            write_i64(scratch.lows, 8 * i, max(start, tile.left) - tile.left)
            write_i64(scratch.highs, 8 * i, min(stop, tile.right) - tile.left)
            count = window_count(start, stop, plan.size[COLUMNS], plan.counting[COLUMNS])
        write_i64(scratch.counts, 8 * i, count)
        write(scratch.divisors, i, as_unit(count, unit))


@inlined_piece
def load_quotients(plan: Any, base: int, scale: int, first: int, number: int, scratch: Scratch, unit: Any) -> None:
    """Load gradients and divide each by the exact integer scale * count; windows that do not exist give zero."""
    q, step = scratch.quotients, plan.grad_steps[4]
    begin, end = max(first, 0), min(first + number, plan.out[COLUMNS])
    fill(q, 0, begin - first, unit)  # each overrun is written over by the next
    where = q + (begin - first) * plan.itemsize
    load_row(base + begin * step, step, plan.code, plan.rounding, where, end - begin, unit)
    fill(q, end - first, number + ROOM, unit)
    if plan.wide:  # beyond what the compute type can hold: in float64
        for i in range(number):
            divisor = float(scale * read_i64(scratch.counts, 8 * i))
            write(q, i, unit + type_as(float(read(q, i, unit)) / divisor, unit))
    else:
        factor, zero = splat(as_unit(scale, unit)), splat(unit)
        for i in range(0, number, LANES):
            quotient = divide(load(q, i, unit), multiply(factor, load(scratch.divisors, i, unit)))
            store(q, i, add(quotient, zero))  # sums start at +0.0


@piece
def expand(plan: Any, base: int, scale: int, tile: Tile, scratch: Scratch, expanded: int, unit: Any) -> None:
    """Load one row of gradients, divide, and spread it over the tile's columns."""
    if plan.streams:
        terms, stride, ones = plan.terms, plan.stride[COLUMNS], plan.ones
        tabulate(plan, tile, tile.first, tile.number + terms - 1, scratch, unit)
        load_quotients(plan, base, scale, tile.first, tile.number + terms - 1, scratch, unit)
        if stride == 1:
            window_sums(scratch.quotients, expanded, tile.number, terms, scratch.spare, unit)
        else:
            window_sums(scratch.quotients, scratch.one, tile.number, terms, scratch.spare, unit)
            if ones < stride:
                one_on = scratch.quotients + plan.itemsize
                window_sums(one_on, scratch.other, tile.number, terms - 1, scratch.spare, unit)
            interleave(scratch.one, scratch.other, tile.number, stride, ones, expanded, unit)
    else:
        covered = 0
        for first in range(tile.first, tile.first + tile.number, plan.chunk):
            number = min(plan.chunk, tile.first + tile.number - first)
            tabulate(plan, tile, first, number, scratch, unit)
            load_quotients(plan, base, scale, first, number, scratch, unit)
            covered = lay_windows(scratch.quotients, scratch.lows, scratch.highs, number, expanded, covered, unit)
        fill(expanded, covered, tile.right - tile.left, unit)


@piece
def expand_pixels(plan: Any, base: int, scale: int, tile: Tile, scratch: Scratch, expanded: int, unit: Any) -> None:
    """The same where a column is a pixel: so many channels, side by side, that share their windows."""
    q, channels, covered = scratch.quotients, plan.pixel, 0
    for first in range(tile.first, tile.first + tile.number, plan.chunk):
        number = min(plan.chunk, tile.first + tile.number - first)
        tabulate(plan, tile, first, number, scratch, unit)
        for i in range(number):
            load_row(
                base + (first + i) * plan.grad_steps[4], plan.grad_steps[1], plan.code, plan.rounding, q, channels, unit
            )
            divide_pixel(q, channels, scale * read_i64(scratch.counts, 8 * i), plan.wide, unit)
            low, high = read_i64(scratch.lows, 8 * i), read_i64(scratch.highs, 8 * i)
            if low > covered:  # a gap between windows
                fill(expanded, covered * channels, low * channels, unit)
                covered = low
            for w in range(low, high):
                row = expanded + w * channels * plan.itemsize
                if w < covered:
                    for c in range(0, channels, LANES):
                        store(row, c, add(load(row, c, unit), load(q, c, unit)))
                else:
                    for c in range(0, channels, LANES):
                        store(row, c, load(q, c, unit))
            covered = max(covered, high)
    fill(expanded, covered * channels, (tile.right - tile.left) * channels, unit)


@piece
def divide_pixel(q: int, channels: int, divisor: int, wide: int, unit: Any) -> None:
    """Divide all channels of a pixel by the same exact integer; sums start at +0.0."""
    if wide:
        for c in range(channels):
            write(q, c, unit + type_as(float(read(q, c, unit)) / float(divisor), unit))
    else:
        by, zero = splat(as_unit(divisor, unit)), splat(unit)
        for c in range(0, channels, LANES):
            store(q, c, add(divide(load(q, c, unit), by), zero))


@inlined_piece
def kept_row(plan: Any, tile: Tile, scratch: Scratch, od: int, oh: int) -> int:
    """Where the expanded row of gradient row (od, oh) lies, once it was made."""
    slot = (od & plan.depth_slots - 1) * plan.row_slots + (oh & plan.row_slots - 1)
    return scratch.kept + (slot * (plan.tile * plan.pixel + WIDE_ROOM) + tile.skip) * plan.itemsize


@inlined_piece
def make_row(plan: Any, source: int, od: int, oh: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """Have the expanded row of gradient row (od, oh) in its slot."""
    slot = (od & plan.depth_slots - 1) * plan.row_slots + (oh & plan.row_slots - 1)
    tag = od * plan.out[ROWS] + oh
    if read_i64(scratch.tags, 8 * slot) != tag:
        write_i64(scratch.tags, 8 * slot, tag)
        scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
        base = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
        expanded = scratch.kept + slot * (plan.tile * plan.pixel + WIDE_ROOM) * plan.itemsize
        if plan.pixel > 1:
            expand_pixels(plan, base, scale, tile, scratch, expanded, unit)
        else:
            expand(plan, base, scale, tile, scratch, expanded, unit)


@inlined_piece
def put(target: int, i: int, vector: Any, streaming: bool) -> None:
    if streaming:
        stream(target, i, vector)
    else:
        store(target, i, vector)


@piece
def write_sum(target: int, one: int, two: int, three: int, rows: int, n: int, streaming: bool, unit: Any) -> None:
    """The sum of one, two or three rows, written exactly: n elements, at least a vector of them."""
    last = n - LANES
    if rows == 1:
        for i in range(0, last + 1, LANES):
            put(target, i, load(one, i, unit), streaming)
        put(target, last, load(one, last, unit), streaming)
    elif rows == 2:
        for i in range(0, last + 1, LANES):
            put(target, i, add(load(one, i, unit), load(two, i, unit)), streaming)
        put(target, last, add(load(one, last, unit), load(two, last, unit)), streaming)
    else:
        for i in range(0, last + 1, LANES):
            put(target, i, add(add(load(one, i, unit), load(two, i, unit)), load(three, i, unit)), streaming)
        total = add(add(load(one, last, unit), load(two, last, unit)), load(three, last, unit))
        put(target, last, total, streaming)


@piece
def accumulate(target: int, row: int, n: int, is_first: bool, unit: Any) -> None:
    """Into scratch: begin a sum of rows, or add to it."""
    if is_first:
        for i in range(0, n, LANES):
            store(target, i, load(row, i, unit))
    else:
        for i in range(0, n, LANES):
            store(target, i, add(load(target, i, unit), load(row, i, unit)))


@inlined_piece
def answer(
    plan: Any,
    source: int,
    target: int,
    layers_from: int,
    layers_to: int,
    rows_from: int,
    rows_to: int,
    tile: Tile,
    scratch: Scratch,
    unit: Any,
) -> None:
    """The tile's part of one row of the result: sums along H, then along D, then the store."""
    columns, rows = (tile.right - tile.left) * plan.pixel, rows_to - rows_from
    if layers_from >= layers_to or rows <= 0:  # stride larger than kernel: no window here
        fill(scratch.total, 0, columns, unit)
    # Few rows are added while they are stored, all others in scratch.
    at_once = plan.plain and layers_to - layers_from == 1 and 0 < rows <= min(3, plan.row_slots) and columns >= LANES
    for od in range(layers_from, layers_to):
        sum_of_rows = scratch.total if od == layers_from else scratch.layer
        for oh in range(rows_from, rows_to):
            make_row(plan, source, od, oh, tile, scratch, unit)
            if not at_once:
                row = kept_row(plan, tile, scratch, od, oh)
                accumulate(sum_of_rows, row, columns, oh == rows_from, unit)
        if od != layers_from:
            accumulate(scratch.total, scratch.layer, columns, False, unit)
    if at_once:
        one = kept_row(plan, tile, scratch, layers_from, rows_from)
        two = kept_row(plan, tile, scratch, layers_from, rows_from + 1)
        three = kept_row(plan, tile, scratch, layers_from, rows_from + 2)
        streaming = plan.streaming and target % 16 == 0 and columns % LANES == 0
        write_sum(target, one, two, three, rows, columns, streaming, unit)
    else:
        store_row(target, plan.row_step, plan.code, scratch.total, columns, unit)


def average(records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
    plan = records[0]
    scratch = carve(plan, floats, integers, plan.itemsize)
    height, width = plan.size[ROWS], plan.size[COLUMNS]
    rows_per_plane = plan.size[DEPTH] * height
    has_table = height <= ROWS_IN_TABLE
    if has_table:
        for h in range(height):
            first, stop = run_of(plan, ROWS, h)
            write_i64(scratch.runs, 16 * h, first)
            write_i64(scratch.runs, 16 * h + 8, stop)
    for left in range(0, width, plan.tile):
        tile = tile_of(plan, left, min(left + plan.tile, width))
        row = begin
        while row < end:
            plane = row // rows_per_plane
            row_to = min(end, (plane + 1) * rows_per_plane)
            n, c = plane // plan.channels, plane % plan.channels
            source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
            target = result + n * plan.result_steps[0] + c * plan.result_steps[1] + left * plan.result_steps[4]
            for slot in range(plan.depth_slots * plan.row_slots):
                write_i64(scratch.tags, 8 * slot, NOTHING)
            r = row - plane * rows_per_plane
            d, h = r // height, r % height
            layers_from, layers_to = run_of(plan, DEPTH, d)
            for _ in range(row_to - row):
                if has_table:
                    first, stop = read_i64(scratch.runs, 16 * h), read_i64(scratch.runs, 16 * h + 8)
                else:
                    first, stop = run_of(plan, ROWS, h)
                at = target + d * plan.result_steps[2] + h * plan.result_steps[3]
                answer(plan, source, at, layers_from, layers_to, first, stop, tile, scratch, unit)
                h += 1
                if h == height:
                    d, h = d + 1, 0
                    layers_from, layers_to = run_of(plan, DEPTH, d)
            row = row_to
    if plan.streaming:
        fence()
    return NOTHING
