"""The gradient of every average: divide each gradient by its window's count, then let it flow into its window.

It separates. A row of gradients is divided (quotients.py) and spread along W into an expanded row (spreading.py); the
expanded rows of the windows that hold an input row are added up (sums.py), then such sums over the layers that hold it.
So additions go along W, then H, then D, and their order depends on nothing but the element's place in its plane.

Columns are worked on in tiles, so that scratch stays small for any size. Expanded rows are kept in slots with tags,
since neighbouring input rows need the same ones. Rows that many windows hold are summed by blocks (``rows_by_blocks``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .geometry import COLUMNS, DEPTH, ROWS, bounds_of, count_of, run_of, window_count
from .memory import inlined_piece, piece, read_i64, write_i64
from .quotients import divide_row, scale_divisors
from .record import (
    LANES,
    LONGEST_TABLE,
    ROOM,
    ROWS_IN_TABLE,
    WIDE_ROOM,
    WRITE_BFLOATS,
    WRITE_FLOATS,
    WRITE_HALVES,
)
from .rows import store_row
from .spreading import fill, interleave, lay_windows, shifts_for, sum_fours
from .sums import add_row, copy_row, store_sum, store_sum_as_bfloats, store_sum_as_halves, stream_sum, sum_rows
from .vectors import as_unit, fence, write

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

    total: int  # a row of sums
    layer: int  # the same for one layer of D
    quotients: int
    divisors: int  # of a row's quotients
    columns: int  # what each window along W counts, in the compute type
    one: int  # the two streams
    other: int
    levels: int  # sums of 4, 16, 64, ... quotients
    kept: int  # expanded rows, one per slot
    lows: int  # first column of the tile that a window covers
    highs: int  # and one past the last
    counts: int  # what each window along W counts
    tags: int  # which expanded row a slot keeps
    known: int  # for which tile, first window and scale the tables stand
    shifts: int  # the rows whose sum is a stream
    rows: int  # the rows whose sum is the answer
    runs: int  # for each input row, first and one past the last window along H


@piece
def carve(plan: Any, floats: int, integers: int) -> Scratch:
    wide = (plan.tile + WIDE_ROOM) * plan.itemsize
    longer, chunk = plan.longer * plan.itemsize, plan.chunk * plan.itemsize
    quotients = floats + 2 * wide
    one = quotients + 3 * longer
    levels = one + 2 * chunk
    lows = integers
    tags = lows + 24 * plan.longer
    known = tags + 8 * plan.depth_slots * plan.row_slots
    shifts = known + 24
    rows = shifts + 8 * LONGEST_TABLE
    scratch = Scratch(
        floats,
        floats + wide,
        quotients,
        quotients + longer,
        quotients + 2 * longer,
        one,
        one + chunk,
        levels,
        levels + plan.levels * longer,
        lows,
        lows + 8 * plan.longer,
        lows + 16 * plan.longer,
        tags,
        known,
        shifts,
        rows,
        rows + 8 * LONGEST_TABLE,
    )
    write_i64(scratch.known, 0, NOTHING)
    return scratch


@piece
def tile_of(plan: Any, left: int, right: int) -> Tile:
    if plan.streams:
        stride, pad = plan.stride[COLUMNS], plan.pad[COLUMNS]
        first, last = (left + pad) // stride, (right - 1 + pad) // stride
        return Tile(left, right, first - plan.terms + 1, last - first + 1, left + pad - first * stride)
    first = run_of(plan, COLUMNS, left)[0]
    return Tile(left, right, first, run_of(plan, COLUMNS, right - 1)[1] - first, 0)


@piece
def tabulate(plan: Any, tile: Tile, first: int, number: int, scale: int, scratch: Scratch, unit: Any) -> None:
    """For some windows along W: the columns of the tile that each covers, its count (1 if there is no such window) and
    the divisor of its gradients in a row of that scale. Zeros stand where windows do not exist."""
    if read_i64(scratch.known, 0) != tile.left or read_i64(scratch.known, 8) != first:
        write_i64(scratch.known, 0, tile.left)
        write_i64(scratch.known, 8, first)
        write_i64(scratch.known, 16, 0)
        for i in range(number + LANES):
            o = first + i
            count = 1
            if 0 <= o < plan.out[COLUMNS]:
                start, stop = bounds_of(plan, COLUMNS, o)
                write_i64(scratch.lows, 8 * i, max(start, tile.left) - tile.left)
                write_i64(scratch.highs, 8 * i, min(stop, tile.right) - tile.left)
                count = window_count(start, stop, plan.size[COLUMNS], plan.counting[COLUMNS])
            write_i64(scratch.counts, 8 * i, count)
            write(scratch.columns, i, as_unit(count, unit))
        fill(scratch.quotients, 0, number + ROOM, unit)
        if plan.streams:
            fill(scratch.other, 0, plan.chunk - LANES, unit)
    if read_i64(scratch.known, 16) != scale:
        write_i64(scratch.known, 16, scale)
        scale_divisors(scratch.divisors, scratch.columns, scale, number, unit)


@inlined_piece
def quotients_of(plan: Any, base: int, first: int, number: int, scale: int, scratch: Scratch, unit: Any) -> None:
    """Those of the windows that exist, each at its place."""
    begin, end = max(first, 0), min(first + number, plan.out[COLUMNS])
    step, ahead = plan.grad_steps[4], (begin - first) * plan.itemsize
    counts = scratch.counts + 8 * (begin - first)
    target, divisors = scratch.quotients + ahead, scratch.divisors + ahead
    divide_row(plan, target, base + begin * step, step, divisors, counts, scale, end - begin, unit)


@piece
def expand(plan: Any, base: int, scale: int, tile: Tile, scratch: Scratch, expanded: int, unit: Any) -> None:
    """Load one row of gradients, divide, and spread it over the tile's columns."""
    if not plan.streams:
        covered = 0
        for first in range(tile.first, tile.first + tile.number, plan.chunk):
            number = min(plan.chunk, tile.first + tile.number - first)
            tabulate(plan, tile, first, number, scale, scratch, unit)
            quotients_of(plan, base, first, number, scale, scratch, unit)
            covered = lay_windows(scratch.quotients, scratch.lows, scratch.highs, number, expanded, covered, unit)
        fill(expanded, covered, tile.right - tile.left, unit)
        return
    terms, stride, q, itemsize = plan.terms, plan.stride[COLUMNS], scratch.quotients, plan.itemsize
    number = tile.number + terms - 1
    tabulate(plan, tile, tile.first, number, scale, scratch, unit)
    quotients_of(plan, base, tile.first, number, scale, scratch, unit)
    if plan.levels:
        sum_fours(q, scratch.levels, plan.longer, tile.number, terms, scratch.shifts, itemsize, unit)
    one, other = q, scratch.other  # which stays zero if no column has one window less than a single one
    if terms > 1 or stride == 1:
        one = expanded if stride == 1 else scratch.one
        count = shifts_for(scratch.shifts, q, scratch.levels, plan.longer, 0, terms, itemsize)
        sum_rows(one, scratch.shifts, count, tile.number, unit)
    if stride > 1:
        if terms == 2:
            other = q + itemsize
        elif terms > 2 and plan.ones < stride:
            count = shifts_for(scratch.shifts, q, scratch.levels, plan.longer, 1, terms - 1, itemsize)
            sum_rows(other, scratch.shifts, count, tile.number, unit)
        interleave(one, other, tile.number, stride, plan.ones, expanded, unit)


@inlined_piece
def slot_at(plan: Any, scratch: Scratch, slot: int) -> int:
    return scratch.kept + slot * (plan.tile + WIDE_ROOM) * plan.itemsize


@inlined_piece
def expand_into(
    plan: Any, slot: int, source: int, od: int, oh: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
    base = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
    expand(plan, base, scale, tile, scratch, slot_at(plan, scratch, slot), unit)


@piece
def expanded_row(plan: Any, source: int, od: int, oh: int, tile: Tile, scratch: Scratch, unit: Any) -> int:
    """Where the expanded row of gradient row (od, oh) lies; it is made if no slot has it."""
    slot = (od & plan.depth_slots - 1) * plan.row_slots + (oh & plan.row_slots - 1)
    tag = od * plan.out[ROWS] + oh
    if read_i64(scratch.tags, 8 * slot) != tag:
        write_i64(scratch.tags, 8 * slot, tag)
        expand_into(plan, slot, source, od, oh, tile, scratch, unit)
    return slot_at(plan, scratch, slot) + tile.skip * plan.itemsize


@piece
def write_answer(plan: Any, target: int, count: int, columns: int, scratch: Scratch, unit: Any) -> None:
    """The sum of the rows that stand in the table, rounded once, into the tensor."""
    if columns >= LANES and plan.writing == WRITE_FLOATS:
        if plan.streaming and target % 16 == 0 and columns * plan.itemsize % 16 == 0:
            stream_sum(target, scratch.rows, count, columns, unit)
        else:
            store_sum(target, scratch.rows, count, columns, unit)
    elif columns >= LANES and plan.writing == WRITE_HALVES:
        store_sum_as_halves(target, scratch.rows, count, columns, unit)
    elif columns >= LANES and plan.writing == WRITE_BFLOATS:
        store_sum_as_bfloats(target, scratch.rows, count, columns, unit)
    else:
        row = read_i64(scratch.rows, 0)
        if count > 1:
            row = scratch.layer
            sum_rows(row, scratch.rows, count, columns, unit)
        store_row(target, plan.result_steps[4], plan.code, row, columns, unit)


@piece
def sum_layers(
    plan: Any,
    source: int,
    layers_from: int,
    layers_to: int,
    first: int,
    stop: int,
    columns: int,
    tile: Tile,
    scratch: Scratch,
    unit: Any,
) -> None:
    """Any rows of any layers into ``total``, one after the other: they may share a slot."""
    for od in range(layers_from, layers_to):
        into = scratch.total if od == layers_from else scratch.layer
        for oh in range(first, stop):
            row = expanded_row(plan, source, od, oh, tile, scratch, unit)
            if oh == first:
                copy_row(into, row, columns, unit)
            else:
                add_row(into, row, columns, unit)
        if od != layers_from:
            add_row(scratch.total, scratch.layer, columns, unit)


@inlined_piece
def run_of_row(plan: Any, scratch: Scratch, h: int) -> tuple[int, int]:
    if h < ROWS_IN_TABLE:
        return read_i64(scratch.runs, 16 * h), read_i64(scratch.runs, 16 * h + 8)
    return run_of(plan, ROWS, h)


@inlined_piece
def rows_by_slots(
    plan: Any, source: int, target: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one plane, counted over its layers: few windows hold a row, and their expanded rows are at hand."""
    height, columns = plan.size[ROWS], tile.right - tile.left
    for slot in range(plan.depth_slots * plan.row_slots):
        write_i64(scratch.tags, 8 * slot, NOTHING)
    d, h = begin // height, begin % height
    layers_from, layers_to = run_of(plan, DEPTH, d)
    first, stop = run_of_row(plan, scratch, h)
    number, again = 0, False  # rows in the table; whether they are those of the row before
    for r in range(begin, end):
        last_of_layer = h == height - 1
        next_first, next_stop = run_of_row(plan, scratch, 0 if last_of_layer else h + 1)
        more = not last_of_layer and next_first == first and next_stop == stop  # the next row needs the same
        if not again:
            number = stop - first
            if layers_from >= layers_to or number <= 0:  # stride larger than kernel: no window here
                fill(scratch.total, 0, columns, unit)
                number = 1
                write_i64(scratch.rows, 0, scratch.total)
            elif layers_to - layers_from == 1 and number <= min(plan.row_slots, LONGEST_TABLE):
                for i in range(number):
                    row = expanded_row(plan, source, layers_from, first + i, tile, scratch, unit)
                    write_i64(scratch.rows, 8 * i, row)
                if more and number > 1:
                    sum_rows(scratch.total, scratch.rows, number, columns, unit)
                    number = 1
                    write_i64(scratch.rows, 0, scratch.total)
            else:
                sum_layers(plan, source, layers_from, layers_to, first, stop, columns, tile, scratch, unit)
                number = 1
                write_i64(scratch.rows, 0, scratch.total)
        at = target + d * plan.result_steps[2] + h * plan.result_steps[3]
        write_answer(plan, at, number, columns, scratch, unit)
        again, first, stop, h = more, next_first, next_stop, h + 1
        if last_of_layer and r + 1 < end:
            d, h = d + 1, 0
            layers_from, layers_to = run_of(plan, DEPTH, d)


@piece
def sum_to_the_end(plan: Any, low: int, high: int, columns: int, scratch: Scratch, unit: Any) -> None:
    """Let each slot from low to high hold the sum of its row and all after it."""
    for slot in range(high - 2, low - 1, -1):
        add_row(slot_at(plan, scratch, slot), slot_at(plan, scratch, slot + 1), columns, unit)


@inlined_piece
def rows_by_blocks(
    plan: Any, source: int, target: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one plane that many windows hold, in three additions each.

    Gradient rows are cut into blocks as long as the longest run of windows, from the plane's first on. A run is then the
    end of one block and the beginning of the next, or one of these alone: ``total`` grows with the block that is being
    expanded, and when the block is whole its slots are turned into sums to its end. A slot is not needed any more when
    the next block's row comes to it.
    """
    block, columns = plan.block, tile.right - tile.left + tile.skip
    made, _ = run_of_row(plan, scratch, begin)  # gradient rows expanded so far, up to here
    began, turned = made, NOTHING
    for h in range(begin, end):
        first, stop = run_of_row(plan, scratch, h)
        while made < stop:
            slot = made % block
            if slot == 0 and made > began and turned != made - block:
                sum_to_the_end(plan, max(began - (made - block), 0), block, columns, scratch, unit)
            expand_into(plan, slot, source, 0, made, tile, scratch, unit)
            if slot == 0:
                copy_row(scratch.total, slot_at(plan, scratch, slot), columns, unit)
            elif began <= made - slot:  # else this block was not begun here, and its end alone will be asked for
                add_row(scratch.total, slot_at(plan, scratch, slot), columns, unit)
            made += 1
        start = (stop - 1) // block * block
        if start < first < stop and turned != start:
            sum_to_the_end(plan, max(began - start, 0), stop - start, columns, scratch, unit)
            turned = start
        skip, number = tile.skip * plan.itemsize, 0
        if first >= stop:  # behind the last window
            fill(scratch.layer, 0, columns, unit)
            write_i64(scratch.rows, 0, scratch.layer)
            number = 1
        elif first != start:
            write_i64(scratch.rows, 0, slot_at(plan, scratch, first % block) + skip)
            number = 1
        if first <= start < stop:
            write_i64(scratch.rows, 8 * number, scratch.total + skip)
            number += 1
        write_answer(plan, target + h * plan.result_steps[3], number, tile.right - tile.left, scratch, unit)


def average(records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
    plan = records[0]
    scratch = carve(plan, floats, integers)
    height, width = plan.size[ROWS], plan.size[COLUMNS]
    rows_per_plane = plan.size[DEPTH] * height
    for h in range(min(height, ROWS_IN_TABLE)):
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
            low, high = row - plane * rows_per_plane, row_to - plane * rows_per_plane
            if plan.block:
                rows_by_blocks(plan, source, target, low, high, tile, scratch, unit)
            else:
                rows_by_slots(plan, source, target, low, high, tile, scratch, unit)
            row = row_to
    if plan.streaming:
        fence()
    return NOTHING
