"""Row by row: from gradients to expanded rows, and from sums of these to the result.

A row of gradients is divided (quotients.py) and spread along W into an expanded row, in which every column holds the
sum of its windows (spreading.py). Columns are worked on in tiles, so that scratch stays small for any size. Rows are
expanded in batches: the quotients of a batch lie one row behind the other with zeros in between, and are summed and
spread as one long row. The latest batches are kept in slots with tags, since neighbouring input rows need the same.

An expanded row is longer than the tile, by as many numbers as windows hold a column. Where these are hundreds, slots of
so many rows would not fit scratch: then rows are expanded one by one, and of each the columns of the tile are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..geometry import COLUMNS, DEPTH, ROWS, bounds_of, count_of, run_of, tabulate_runs, window_count
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import as_unit, fence, write
from ..record import BY_ELEMENTS, LANES, LONGEST_TABLE, NOTHING, ROOM, WIDE_ROOM
from ..rows import store_row
from ..runtime.stopping import shall_stop
from .quotients import divide_row, scale_divisors
from .spreading import fill, interleave, lay_windows, shifts_for, sum_fours
from .sums import copy_row, sum_rows, write_sum


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
    quotients: int  # of a batch
    divisors: int  # of a row's quotients
    columns: int  # what each window along W counts, in the compute type
    one: int  # the two streams
    other: int
    levels: int  # sums of 4, 16, 64, ... quotients
    kept: int  # expanded rows, batch by batch
    sums: int  # rows that are summed by blocks; or the expanded row of which columns are kept
    lows: int  # first column of the tile that a window covers
    highs: int  # and one past the last
    counts: int  # what each window along W counts
    tags: int  # which batch a slot keeps
    known: int  # for which tile, first window and scale the tables stand
    shifts: int  # the rows whose sum is a stream
    rows: int  # the rows whose sum is the answer
    runs: int  # for each input row, first and one past the last window along H


@inlined_piece
def slot_of(plan: Any) -> int:
    """Numbers in a slot."""
    return plan.narrow if plan.narrow else plan.batch * plan.wide


@piece
def carve(plan: Any, floats: int, integers: int) -> Scratch:
    wide, longer, chunk = plan.wide * plan.itemsize, plan.longer * plan.itemsize, plan.chunk * plan.itemsize
    quotients = floats + 2 * wide + WIDE_ROOM * plan.itemsize  # a row of sums may be overrun
    divisors = quotients + longer
    one = divisors + 2 * chunk
    levels = one + 2 * longer
    kept = levels + plan.levels * longer
    tags = integers + 24 * plan.chunk
    known = tags + 8 * plan.depth_slots * plan.row_slots
    rows = known + 24 + 8 * LONGEST_TABLE
    scratch = Scratch(
        floats,
        floats + wide,
        quotients,
        divisors,
        divisors + chunk,
        one,
        one + longer,
        levels,
        kept,
        kept + (plan.depth_slots * plan.row_slots * slot_of(plan) + WIDE_ROOM) * plan.itemsize,
        integers,
        integers + 8 * plan.chunk,
        integers + 16 * plan.chunk,
        tags,
        known,
        known + 24,
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
def tabulate_windows(plan: Any, tile: Tile, first: int, number: int, scratch: Scratch, unit: Any) -> None:
    """For some windows along W: the columns of the tile that each covers, and its count; 1 if there is no such window.
    Zeros stand where windows do not exist."""
    write_i64(scratch.known, 0, tile.left)
    write_i64(scratch.known, 8, first)
    write_i64(scratch.known, 16, 0)
    for i in range(number + 2 * LANES):
        o = first + i
        count = 1
        if 0 <= o < plan.out[COLUMNS]:
            start, stop = bounds_of(plan, COLUMNS, o)
            write_i64(scratch.lows, 8 * i, max(start, tile.left) - tile.left)
            write_i64(scratch.highs, 8 * i, min(stop, tile.right) - tile.left)
            count = window_count(start, stop, plan.size[COLUMNS], plan.counting[COLUMNS])
        write_i64(scratch.counts, 8 * i, count)
        write(scratch.columns, i, as_unit(count, unit))
    fill(scratch.quotients, 0, plan.longer - LANES, unit)
    fill(scratch.other, 0, plan.longer - LANES, unit)


@inlined_piece
def tabulate(plan: Any, tile: Tile, first: int, number: int, scale: int, scratch: Scratch, unit: Any) -> None:
    """Have the tables for these windows, and the divisors of their gradients in a row of that scale."""
    if read_i64(scratch.known, 0) != tile.left or read_i64(scratch.known, 8) != first:
        tabulate_windows(plan, tile, first, number, scratch, unit)
    if read_i64(scratch.known, 16) != scale:
        write_i64(scratch.known, 16, scale)
        scale_divisors(scratch.divisors, scratch.columns, scale, number + LANES, unit)


@inlined_piece
def quotients_of(
    plan: Any, target: int, base: int, first: int, number: int, scale: int, scratch: Scratch, unit: Any
) -> None:
    """Those of the windows that exist, each at its place in a row."""
    begin, end = max(first, 0), min(first + number, plan.out[COLUMNS])
    step, ahead = plan.grad_steps[4], (begin - first) * plan.itemsize
    counts, divisors = scratch.counts + 8 * (begin - first), scratch.divisors + ahead
    divide_row(plan, target + ahead, base + begin * step, step, divisors, counts, scale, end - begin, unit)


@inlined_piece
def scale_of(plan: Any, od: int, oh: int) -> int:
    """What all divisors of a row of gradients share."""
    return plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)


@inlined_piece
def expand_by_streams(
    plan: Any, source: int, od: int, oh: int, rows: int, tile: Tile, scratch: Scratch, expanded: int, unit: Any
) -> None:
    """Some rows of gradients from row oh on, divided and spread over the tile's columns."""
    terms, stride, q, itemsize = plan.terms, plan.stride[COLUMNS], scratch.quotients, plan.itemsize
    for r in range(rows):
        scale = scale_of(plan, od, oh + r)
        tabulate(plan, tile, tile.first, tile.number + terms - 1, scale, scratch, unit)
        base, target = source + (oh + r) * plan.grad_steps[3], q + r * plan.pitch * itemsize
        quotients_of(plan, target, base, tile.first, tile.number + terms - 1, scale, scratch, unit)
    number = rows * plan.pitch
    if plan.levels:
        sum_fours(q, scratch.levels, plan.longer, number, terms, scratch.shifts, itemsize, unit)
    one, other = q, scratch.other  # which stays zero if no column has one window less than a single one
    if terms > 1 or stride == 1:
        one = expanded if stride == 1 else scratch.one
        count = shifts_for(scratch.shifts, q, scratch.levels, plan.longer, terms, itemsize)
        sum_rows(one, scratch.shifts, count, number, unit)
    if stride > 1:
        if terms == 2:
            other = q + itemsize
        elif terms > 2 and plan.ones < stride:
            levels = scratch.levels + itemsize
            count = shifts_for(scratch.shifts, q + itemsize, levels, plan.longer, terms - 1, itemsize)
            sum_rows(other, scratch.shifts, count, number, unit)
        interleave(one, other, number, stride, plan.ones, expanded, unit)


@inlined_piece
def expand_by_windows(
    plan: Any, source: int, od: int, oh: int, rows: int, tile: Tile, scratch: Scratch, expanded: int, unit: Any
) -> None:
    """The same for any windows, laid one after the other."""
    for r in range(rows):
        scale, base, covered = scale_of(plan, od, oh + r), source + (oh + r) * plan.grad_steps[3], 0
        target = expanded + r * plan.wide * plan.itemsize
        for first in range(tile.first, tile.first + tile.number, plan.chunk - ROOM):
            number = min(plan.chunk - ROOM, tile.first + tile.number - first)
            tabulate(plan, tile, first, number, scale, scratch, unit)
            quotients_of(plan, scratch.quotients, base, first, number, scale, scratch, unit)
            covered = lay_windows(scratch.quotients, scratch.lows, scratch.highs, number, target, covered, unit)
        fill(target, covered, tile.right - tile.left, unit)


@piece
def expand_batch(
    plan: Any, source: int, od: int, first: int, tile: Tile, scratch: Scratch, expanded: int, unit: Any
) -> None:
    base, rows = source + od * plan.grad_steps[2], min(plan.batch, plan.out[ROWS] - first)
    if plan.streams:
        expand_by_streams(plan, base, od, first, rows, tile, scratch, expanded, unit)
    else:
        expand_by_windows(plan, base, od, first, rows, tile, scratch, expanded, unit)


@inlined_piece
def expanded_row(plan: Any, source: int, od: int, oh: int, tile: Tile, scratch: Scratch, unit: Any) -> int:
    """Where the expanded row of gradient row (od, oh) lies; its batch is made if no slot has it."""
    batch = oh >> plan.batch_bits
    slot = (od & plan.depth_slots - 1) * plan.row_slots + (batch & plan.row_slots - 1)
    tag, first = od * plan.out[ROWS] + batch, batch << plan.batch_bits
    at = scratch.kept + slot * slot_of(plan) * plan.itemsize
    if read_i64(scratch.tags, 8 * slot) != tag:
        write_i64(scratch.tags, 8 * slot, tag)
        expand_batch(plan, source, od, first, tile, scratch, scratch.sums if plan.narrow else at, unit)
        if plan.narrow:
            copy_row(at, scratch.sums + tile.skip * plan.itemsize, tile.right - tile.left, unit)
    return at if plan.narrow else at + ((oh - first) * plan.wide + tile.skip) * plan.itemsize


@inlined_piece
def write_answer(plan: Any, target: int, count: int, columns: int, scratch: Scratch, unit: Any) -> None:
    """The sum of the rows that stand in the table, rounded once, into the tensor."""
    if columns >= LANES and plan.writing != BY_ELEMENTS:
        write_sum(plan, target, scratch.rows, count, columns, unit)
    else:
        row = read_i64(scratch.rows, 0)
        if count > 1:
            row = scratch.layer
            sum_rows(row, scratch.rows, count, columns, unit)
        store_row(target, plan.result_steps[4], plan.code, row, columns, unit)


@inlined_piece
def begin_plane(plan: Any, scratch: Scratch) -> None:
    """No slot has a row of this plane."""
    for slot in range(plan.depth_slots * plan.row_slots):
        write_i64(scratch.tags, 8 * slot, NOTHING)


def row_kernel(rows_of_plane: Any) -> Any:
    """A kernel that has a function make some rows of each plane: those of one tile, counted over its layers."""

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
        plan = records[0]
        scratch = carve(plan, floats, integers)
        tabulate_runs(plan, scratch.runs)
        width, rows_per_plane = plan.size[COLUMNS], plan.size[DEPTH] * plan.size[ROWS]
        for left in range(0, width, plan.tile):
            if shall_stop(plan, plan.tile, width, end - begin):
                break
            tile = tile_of(plan, left, min(left + plan.tile, width))
            row = begin
            while row < end:
                plane = row // rows_per_plane
                row_to = min(end, (plane + 1) * rows_per_plane)
                n, c = plane // plan.channels, plane % plan.channels
                source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
                target = result + n * plan.result_steps[0] + c * plan.result_steps[1] + left * plan.result_steps[4]
                low, high = row - plane * rows_per_plane, row_to - plane * rows_per_plane
                begin_plane(plan, scratch)
                rows_of_plane(plan, source, target, low, high, tile, scratch, unit)
                row = row_to
        if plan.streaming:
            fence()
        return NOTHING

    return kernel
