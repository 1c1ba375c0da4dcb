"""Rows of windows: how a row of the result comes from rows of the input, whatever is done with the numbers.

A pixel is a vector: the same element or window of eight planes (lanes.py), or eight windows that are neighbours along W
(along_rows.py). Each row of the input is pooled along W, and such rows are pooled along H and D. The latest ones are
kept in slots with tags, since neighbouring windows share them; if windows hold more rows than there are slots, each is
made, used and forgotten. Rows of eight planes that follow each other in memory are taken in several at a time, and
results are given out likewise: a row of seven numbers alone would fill no vector.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..geometry import COLUMNS, DEPTH, ROWS, bounds_of, count_of
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.vectors import load, store
from ..record import LANES, NOTHING
from ..runtime.stopping import shall_stop
from .lanes import planes_of, take_row


class Scratch(NamedTuple):
    """One thread's working memory, as addresses. Of maxima and their places a pixel is two vectors."""

    staged: int  # some rows of the input, or a chunk of one
    edge: int  # one plane's part of it
    results: int  # some rows of the result
    layer: int  # one row for one layer
    kept: int  # rows of the input that are pooled along W, slot by slot
    firsts: int  # where the windows of a tile begin
    stops: int
    counts: int  # and what each contributes to its divisor
    tags: int  # which row a slot keeps
    rows: int  # the rows that are pooled together
    known: int  # which rows are staged, and the first column of a tile
    tables: int  # of vectors, one for each eight windows along W


@inlined_piece
def carve(plan: Any, floats: int, integers: int, windows: int) -> Scratch:
    """``windows`` of a row are in a pixel."""
    size, tile = plan.itemsize, plan.tile
    row, edge = tile * LANES * size * plan.vectors, floats + plan.chunk * LANES * size
    results = edge + (max(plan.chunk, plan.longer) + LANES * LANES) * size
    layer = results + plan.longer * LANES * size * plan.vectors
    kept = layer + row
    table = 8 * tile * windows
    tags = integers + 3 * table
    rows = tags + 8 * plan.depth_slots * plan.row_slots
    return Scratch(
        floats,
        edge,
        results,
        layer,
        kept,
        integers,
        integers + table,
        integers + 2 * table,
        tags,
        rows,
        rows + 8 * max(plan.batch, 2),
        kept + plan.depth_slots * plan.row_slots * row,
    )


@inlined_piece
def places_in_window(plan: Any, axis: int, o: int) -> tuple[int, int]:
    """First and one past the last element that window o of an axis holds; between them are ``dilation`` steps."""
    start, stop = bounds_of(plan, axis, o)
    if start < 0:
        start %= plan.dilation[axis]
    return start, min(stop, plan.size[axis])


@piece
def tabulate_columns(plan: Any, left: int, number: int, scratch: Scratch, unit: Any) -> None:
    """Where the windows of a tile begin and stop, what they count, and the first column of all; with dilation it need
    not be the first window's."""
    write_i64(scratch.known, 16, plan.size[COLUMNS])
    for i in range(number):
        first, stop = places_in_window(plan, COLUMNS, left + i)
        write_i64(scratch.known, 16, min(first, read_i64(scratch.known, 16)))
        write_i64(scratch.firsts, 8 * i, first)
        write_i64(scratch.stops, 8 * i, stop)
        write_i64(scratch.counts, 8 * i, count_of(plan, COLUMNS, left + i))


@inlined_piece
def next_row(od: int, oh: int, height: int) -> tuple[int, int]:
    """The layer and row of windows after another one; a division takes as long as some vectors."""
    return (od + 1, oh - oh) if oh + 1 == height else (od, oh + 1)


@inlined_piece
def first_reaching(stops: int, column: int, begin: int, number: int) -> int:
    """The first window from ``begin`` on that reaches a column."""
    while begin < number and read_i64(stops, 8 * begin) <= column:
        begin += 1
    return begin


def join_fours(join: Any) -> Any:
    """What puts together four pairs of whatever ``join`` puts together one of."""

    @inlined_piece
    def join_four(one: Any, other: Any) -> Any:
        return join(one[0], other[0]), join(one[1], other[1]), join(one[2], other[2]), join(one[3], other[3])

    return join_four


def rows_joiner(name: str, take: Any, join: Any, put: Any, pixel: int) -> Any:
    """What pools rows of pixels of so many numbers each, four of these at once: additions of one need not wait for
    those of another."""
    join_four = join_fours(join)

    @inlined_piece
    def take_four(row: int, i: int, unit: Any) -> Any:
        one, two = take(row, i, unit), take(row, i + pixel, unit)
        return one, two, take(row, i + 2 * pixel, unit), take(row, i + 3 * pixel, unit)

    @piece_named(name)
    def pool_rows(target: int, count: int, number: int, scratch: Scratch, unit: Any) -> None:
        """``count`` rows that stand in a table."""
        first, end = read_i64(scratch.rows, 0), pixel * number
        fours = end - end % (4 * pixel)
        for i in range(0, fours, 4 * pixel):
            four = take_four(first, i, unit)
            for j in range(1, count):
                four = join_four(four, take_four(read_i64(scratch.rows, 8 * j), i, unit))
            put(target, i, four[0])
            put(target, i + pixel, four[1])
            put(target, i + 2 * pixel, four[2])
            put(target, i + 3 * pixel, four[3])
        for i in range(fours, end, pixel):
            pooled = take(first, i, unit)
            for j in range(1, count):
                pooled = join(pooled, take(read_i64(scratch.rows, 8 * j), i, unit))
            put(target, i, pooled)

    return pool_rows


def row_setter(name: str, value: Any) -> Any:
    """What sets such a row to what windows give that hold nothing but padding."""

    @piece_named(name)
    def set_nothing(at: int, number: int, unit: Any) -> None:
        for i in range(0, LANES * number, LANES):
            store(at, i, value(unit))

    return set_nothing


def lanes_pooling(
    name: str, pool_columns: Any, pool_rows: Any, set_nothing: Any, give: Any, take: Any = take_row
) -> Any:
    """What makes rows of results, of eight planes at a time. It is made of functions that pool windows along W out of a
    chunk of a row, pool rows, set a row to what windows without elements give, give rows of results out, and take rows
    of planes in."""

    @piece_named(f"{name}_staged_row")
    def stage(plan: Any, planes: Any, row: int, scratch: Scratch, unit: Any) -> int:
        """Where a row of planes that are runs of memory stands in scratch; it is taken in with those behind it."""
        width, first = plan.size[COLUMNS], read_i64(scratch.known, 0)
        if not first <= row < read_i64(scratch.known, 8):
            first = row
            stop = min(row + plan.chunk // width, plan.size[DEPTH] * plan.size[ROWS])
            write_i64(scratch.known, 0, row)
            write_i64(scratch.known, 8, stop)
            offset, n = row * plan.grad_steps[3], (stop - row) * width
            take(plan, planes, offset, row - row, n, scratch.staged, scratch.edge, unit)
        return scratch.staged + (row - first) * width * LANES * plan.itemsize

    @piece_named(f"{name}_row")
    def make_row(plan: Any, planes: Any, d: int, h: int, at: int, number: int, scratch: Scratch, unit: Any) -> None:
        """One row of the input, pooled along W."""
        base = d * plan.size[ROWS] + h
        if plan.empty:
            set_nothing(at, number, unit)
        if plan.dense:
            staged = stage(plan, planes, base, scratch, unit)
            pool_columns(plan, at, staged, base - base, plan.size[COLUMNS], base, base - base, number, scratch, unit)
            return
        offset, low = d * plan.grad_steps[2] + h * plan.grad_steps[3], base - base
        begin, stop = read_i64(scratch.known, 16), read_i64(scratch.stops, 8 * (number - 1))
        while begin < stop:
            end = min(begin + plan.chunk, stop)
            take(plan, planes, offset, begin, end - begin, scratch.staged, scratch.edge, unit)
            low = first_reaching(scratch.stops, begin, low, number)
            pool_columns(plan, at, scratch.staged, begin, end, base, low, number, scratch, unit)
            begin = end

    return pooling(name, make_row, pool_rows, set_nothing, give, tabulate_columns, planes_of, 1)


def numbers_pooling(name: str, first: Any, join: Any, give: Any, take: Any = take_row) -> Any:
    """The same where numbers alone count, and windows have no dilation: made of what stands before the first number,
    and what puts two together."""

    @piece_named(f"{name}_columns")
    def pool_columns(
        plan: Any,
        at: int,
        staged: int,
        begin: int,
        end: int,
        row: int,
        low: int,
        number: int,
        scratch: Scratch,
        unit: Any,
    ) -> None:
        """Let the windows from ``low`` on look at columns ``begin`` to ``end`` of a row."""
        for i in range(low, number):
            w, stop = read_i64(scratch.firsts, 8 * i), min(read_i64(scratch.stops, 8 * i), end)
            if w >= end:
                break
            pooled = first(unit)
            if w < begin:
                pooled, w = load(at, LANES * i, unit), begin
            for column in range(w - begin, stop - begin):
                pooled = join(pooled, load(staged, LANES * column, unit))
            store(at, LANES * i, pooled)

    pool_rows, set_nothing = rows_joiner(f"{name}_rows", load, join, store, LANES), row_setter(f"{name}_none", first)
    return lanes_pooling(f"{name}_pooled", pool_columns, pool_rows, set_nothing, give, take)


def pooling(
    name: str,
    make_row: Any,
    pool_rows: Any,
    set_nothing: Any,
    give: Any,
    tabulate: Any,
    find_planes: Any,
    windows: int,
) -> Any:
    """The same, made of what pools a row of the input along W, tells of a tile's windows and where planes of a group
    begin, and of how many windows of a row are in a pixel."""

    @piece_named(f"{name}_row_of_windows")
    def make_windows(
        plan: Any, planes: Any, od: int, oh: int, into: int, number: int, scratch: Scratch, unit: Any
    ) -> None:
        """A row of the result."""
        layers_from, layers_to = places_in_window(plan, DEPTH, od)
        first, stop = places_in_window(plan, ROWS, oh)
        by_layers, by_rows = plan.dilation[DEPTH], plan.dilation[ROWS]
        row, layers = plan.tile * LANES * plan.itemsize * plan.vectors, od - od
        one = layers + 1
        for d in range(layers_from, layers_to, by_layers):
            count, target = od - od, scratch.layer if layers else into
            for h in range(first, stop, by_rows):
                if plan.batch:
                    slot = (d & plan.depth_slots - 1) * plan.row_slots + (h & plan.row_slots - 1)
                    at, tag = scratch.kept + slot * row, d * plan.size[ROWS] + h
                    if read_i64(scratch.tags, 8 * slot) != tag:
                        write_i64(scratch.tags, 8 * slot, tag)
                        make_row(plan, planes, d, h, at, number, scratch, unit)
                    write_i64(scratch.rows, 8 * count, at)
                else:
                    make_row(plan, planes, d, h, scratch.kept, number, scratch, unit)
                    write_i64(scratch.rows, 0, target if count else scratch.kept)
                    write_i64(scratch.rows, 8, scratch.kept)
                    pool_rows(target, one + (count > 0), number, scratch, unit)
                count += 1
            if count and plan.batch:
                pool_rows(target, count, number, scratch, unit)
            if count and layers:
                write_i64(scratch.rows, 0, into)
                write_i64(scratch.rows, 8, scratch.layer)
                pool_rows(into, one + one, number, scratch, unit)
            layers += count > 0
        if not layers:
            set_nothing(into, number, unit)

    @piece_named(name)
    def rows(
        plan: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> None:
        """Rows ``begin`` to ``end`` of the results, counted over groups of planes, layers and rows."""
        height, width = plan.out[ROWS], -(-plan.out[COLUMNS] // windows)
        rows_per_group, scratch = plan.out[DEPTH] * height, carve(plan, floats, integers, windows)
        at_once = plan.longer // width if plan.dense_results else 1
        for left in range(0, width, plan.tile):
            if shall_stop(plan, plan.tile, width, end - begin):
                break
            number, row, stop, od, oh = min(plan.tile, width - left), begin, begin, begin - begin, begin - begin
            tabulate(plan, left, number, scratch, unit)
            while row < end:
                if row == stop:
                    group = row // rows_per_group
                    inside, stop = row - group * rows_per_group, min((group + 1) * rows_per_group, end)
                    od, oh = inside // height, inside % height
                    sources = find_planes(plan, x, plan.grad_steps, group)
                    targets = places = find_planes(plan, result, plan.result_steps, group)
                    if plan.vectors == 2:
                        places = find_planes(plan, indices, plan.index_steps, group)
                    write_i64(scratch.known, 0, 0)
                    write_i64(scratch.known, 8, 0)
                    for slot in range(plan.depth_slots * plan.row_slots):
                        write_i64(scratch.tags, 8 * slot, NOTHING)
                some, first, into = min(at_once, stop - row), (od, oh), scratch.results
                for _ in range(some):
                    make_windows(plan, sources, od, oh, into, number, scratch, unit)
                    into += number * LANES * plan.itemsize * plan.vectors
                    od, oh = next_row(od, oh, height)
                give(plan, targets, places, first, left, some * number, scratch, unit)
                row += some

    return rows
