"""One window over each plane, as at the end of most networks: averages of whole planes, or their maxima.

Planes that follow each other are one table of rows. Eight rows are pooled at a time, one to a lane: four columns of
them are loaded and turned in registers. What they give is a table again, with a row for each layer; it is pooled the
same way, and then the layers of each plane. So sums go along W, then H, then D, as everywhere.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.halves import load_quads_of_bfloats, load_quads_of_halves
from ..jit.memory import inlined_piece, piece, piece_named, write_i32, write_i64
from ..jit.places import larger, moved, place_at, splat_place
from ..jit.vectors import (
    add,
    as_unit,
    divide,
    itemsize,
    load,
    load_quads,
    prefetch_near,
    read,
    splat,
    store,
    transpose_quads,
    type_as,
    write,
)
from ..record import INT32, LANES, LINE, NOTHING, READ_BFLOATS, READ_FLOATS, WHOLE_PLANES
from ..rows import load_row, store_row
from ..runtime.stopping import shall_stop_at
from .lanes import QUAD, size_of_half


class Table(NamedTuple):
    """Rows that follow each other in memory: of numbers, and beside them of places where these stand."""

    values: int
    places: int
    rows: int
    width: int
    scale: int  # how many places neighbours in a row are apart
    soon: int  # memory is asked for so many bytes before it is read; 0 for what is in a cache


def _pooler(name: str, quad: Any, size_in: Any, start: Any, look: Any, put: Any, known_width: int) -> Any:
    """What pools each row of a table. It is made of what gives four columns of eight rows, the bytes of an element,
    what is known before the first element and after another one, and what puts down the results of eight rows. If the
    width is known, LLVM makes one straight piece of it: rows of 7 take half the time."""

    @inlined_piece
    def look_at_four(pooled: Any, pixels: Any, column: int, scale: int, unit: Any) -> Any:
        pooled = look(pooled, pixels[0], column * scale, unit)
        pooled = look(pooled, pixels[1], (column + 1) * scale, unit)
        pooled = look(pooled, pixels[2], (column + 2) * scale, unit)
        return look(pooled, pixels[3], (column + 3) * scale, unit)

    @inlined_piece
    def look_at_some(pooled: Any, pixels: Any, column: int, first: int, stop: int, scale: int, unit: Any) -> Any:
        if first == 0:
            pooled = look(pooled, pixels[0], column * scale, unit)
        if first <= 1 < stop:
            pooled = look(pooled, pixels[1], (column + 1) * scale, unit)
        if first <= 2 < stop:
            pooled = look(pooled, pixels[2], (column + 2) * scale, unit)
        if stop == QUAD:
            pooled = look(pooled, pixels[3], (column + 3) * scale, unit)
        return pooled

    @inlined_piece
    def ask_for_four(values: int, column: int, soon: int, unit: Any) -> None:
        """As much memory as four columns of eight rows are."""
        if soon:
            later = values + LANES * column * size_in(unit) + soon
            prefetch_near(later, 0, unit)
            if size_in(unit) * QUAD * LANES > LINE:
                prefetch_near(later + LINE, 0, unit)

    @inlined_piece
    def pool_rows(table: Table, row: int, other: int, step: int, unit: Any) -> Any:
        """Eight rows from each of two on: additions of the one need not wait for those of the other."""
        one = two = start(unit)
        size, width, scale = size_in(unit), known_width or table.width, table.scale
        left, offset, further = width % QUAD, row * width * size, (other - row) * width * size
        values, places = table.values + offset, table.places + offset
        for column in range(0, width - left, QUAD):
            ask_for_four(values, column, table.soon, unit)
            ask_for_four(values + further, column, table.soon, unit)
            one = look_at_four(one, quad(values, places, step, column, unit), column, scale, unit)
            pixels = quad(values + further, places + further, step, column, unit)
            two = look_at_four(two, pixels, column, scale, unit)
        if left:  # the last four columns; of shorter rows the first four, with others behind them
            column = max(width - QUAD, 0)
            first, stop = width - left - column, width - column
            ask_for_four(values, column, table.soon, unit)
            ask_for_four(values + further, column, table.soon, unit)
            one = look_at_some(one, quad(values, places, step, column, unit), column, first, stop, scale, unit)
            pixels = quad(values + further, places + further, step, column, unit)
            two = look_at_some(two, pixels, column, first, stop, scale, unit)
        return one, two

    @piece_named(name)
    def pool(plan: Any, table: Table, exactly: bool, into: Any, units: int, unit: Any) -> None:
        """``exactly`` where nothing must be read behind the table."""
        rows, step = table.rows, (known_width or table.width) * size_in(unit)
        last = rows - LANES if exactly else rows + LANES
        if exactly and rows < LANES:  # one after the other, in all lanes
            for row in range(rows):
                put(into, row, pool_rows(table, row, row, 0, unit)[0])
            return
        groups = -(-rows // (2 * LANES))
        for group in range(groups):
            if shall_stop_at(plan, group, groups, units):
                return
            row, other = min(group * 2 * LANES, last), min((group * 2 + 1) * LANES, last)
            one, two = pool_rows(table, row, other, step, unit)
            put(into, row, one)
            put(into, other, two)

    return pool


def _quad_of(take: Any) -> Any:
    @inlined_piece
    def quad(values: int, places: int, step: int, column: int, unit: Any) -> Any:
        """Four columns of eight rows, ``step`` bytes apart."""
        below = values + QUAD * step
        return transpose_quads(
            (
                take(values, below, column, unit),
                take(values + step, below + step, column, unit),
                take(values + 2 * step, below + 2 * step, column, unit),
                take(values + 3 * step, below + 3 * step, column, unit),
            )
        )

    return quad


_floats, _halves, _bfloats = map(_quad_of, (load_quads, load_quads_of_halves, load_quads_of_bfloats))


@inlined_piece
def _floats_and_places(values: int, places: int, step: int, column: int, unit: Any) -> Any:
    numbers, there = _floats(values, values, step, column, unit), _floats(places, places, step, column, unit)
    return (numbers[0], there[0]), (numbers[1], there[1]), (numbers[2], there[2]), (numbers[3], there[3])


@inlined_piece
def _zero(unit: Any) -> Any:
    return splat(unit)


@inlined_piece
def _add(total: Any, pixel: Any, place: int, unit: Any) -> Any:
    return add(total, pixel)


@inlined_piece
def _put_sums(into: Any, row: int, sums: Any) -> None:
    store(into[0], row, sums)


@inlined_piece
def _lowest(unit: Any) -> Any:
    return splat(type_as(-math.inf, unit)), splat_place(0, unit)


@inlined_piece
def _look_at_number(best: Any, pixel: Any, place: int, unit: Any) -> Any:
    return larger(best[0], best[1], pixel, splat_place(place, unit))


@inlined_piece
def _look_at_both(best: Any, pixel: Any, place: int, unit: Any) -> Any:
    return larger(best[0], best[1], pixel[0], moved(pixel[1], place))


@inlined_piece
def _put_both(into: Any, row: int, best: Any) -> None:
    store(into[0], row, best[0])
    store(into[1], row, best[1])


def _planes_pooler(name: str, start: Any, look: Any, look_again: Any, again: Any, put: Any, width: int) -> Any:
    """What pools some planes: rows of the input, and tables of what these gave."""
    pool_floats = _pooler(f"{name}_floats", _floats, itemsize, start, look, put, width)
    pool_halves = _pooler(f"{name}_halves", _halves, size_of_half, start, look, put, width)
    pool_bfloats = _pooler(f"{name}_bfloats", _bfloats, size_of_half, start, look, put, width)
    pool_again = _pooler(f"{name}_again", again, itemsize, start, look_again, put, 0)
    pool_squares_again = _pooler(f"{name}_squares_again", again, itemsize, start, look_again, put, width)

    @piece_named(name)
    def pool(plan: Any, source: int, planes: int, scratch: Any, unit: Any) -> None:
        """Some planes that follow each other. What they give stands at the beginning of the second scratch."""
        columns, height, depth = plan.size[COLUMNS], plan.size[ROWS], plan.size[DEPTH]
        one, other, staged = scratch
        if depth == 1:  # two steps are enough
            one, other = other, one
        table = Table(source, source, planes * depth * height, columns, 1, plan.soon)
        if columns < QUAD:  # four columns may pass the last row: there is room behind it in scratch
            load_row(source, plan.stored, plan.code, plan.rounding, staged, table.rows * columns, -unit)
            pool_floats(plan, Table(staged, staged, table.rows, columns, 1, 0), False, other, planes, unit)
        elif plan.reading == READ_FLOATS:
            pool_floats(plan, table, True, other, planes, unit)
        elif plan.reading == READ_BFLOATS:
            pool_bfloats(plan, table, True, other, planes, unit)
        else:
            pool_halves(plan, table, True, other, planes, unit)
        table = Table(other[0], other[1], planes * depth, height, columns, 0)
        if height == width:
            pool_squares_again(plan, table, True, one, planes, unit)
        else:
            pool_again(plan, table, height >= QUAD, one, planes, unit)
        if depth > 1:
            table = Table(one[0], one[1], planes, depth, columns * height, 0)
            pool_again(plan, table, depth >= QUAD, other, planes, unit)

    return pool


@piece
def give(plan: Any, result: int, first: int, n: int, values: int, unit: Any) -> None:
    """Results of n planes of an image."""
    steps, channels = plan.result_steps, plan.channels
    at = result + first // channels * steps[0] + first % channels * steps[1]
    store_row(at, steps[1], plan.code, values, n, unit)


@inlined_piece
def scratch_of(plan: Any, floats: int) -> Any:
    """Two tables of numbers and places, and rows of the input. The second one is where results come to stand."""
    step = plan.pitch * plan.itemsize
    return (floats + 2 * step, floats + 3 * step), (floats, floats + step), floats + 4 * step


@inlined_piece
def planes_at_once(plan: Any, first: int, end: int) -> int:
    """How many planes follow each other from one on, and fit scratch."""
    return min(plan.batch, end - first, plan.channels - first % plan.channels)


@inlined_piece
def plane_at(plan: Any, x: int, p: int) -> int:
    return x + p // plan.channels * plan.grad_steps[0] + p % plan.channels * plan.grad_steps[1]


def _average(name: str, width: int) -> Any:
    pool_planes = _planes_pooler(f"{name}_sums", _zero, _add, _add, _floats, _put_sums, width)

    def pool(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
        """Planes ``begin`` to ``end``."""
        plan, first = records[0], begin
        divisor = plan.divisor * count_of(plan, DEPTH, 0) * count_of(plan, ROWS, 0) * count_of(plan, COLUMNS, 0)
        while first < end:
            n = planes_at_once(plan, first, end)
            pool_planes(plan, plane_at(plan, x, first), n, scratch_of(plan, floats), unit)
            if plan.large_divisors:
                for i in range(n):
                    write(floats, i, type_as(float(read(floats, i, unit)) / float(divisor), unit))
            else:
                for i in range(0, n, LANES):
                    store(floats, i, divide(load(floats, i, unit), splat(as_unit(divisor, unit))))
            give(plan, result, first, n, floats, unit)
            first += n
        return NOTHING

    return pool


def _maximum(name: str, width: int) -> Any:
    pool_planes = _planes_pooler(
        f"{name}_found", _lowest, _look_at_number, _look_at_both, _floats_and_places, _put_both, width
    )

    def pool(
        records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Planes ``begin`` to ``end``."""
        plan, first = records[0], begin
        while first < end:
            n, scratch = planes_at_once(plan, first, end), scratch_of(plan, floats)
            pool_planes(plan, plane_at(plan, x, first), n, scratch, unit)
            give(plan, result, first, n, floats, unit)
            steps = plan.index_steps
            at = indices + first // plan.channels * steps[0] + first % plan.channels * steps[1]
            for i in range(n):
                place = place_at(scratch[1][1], i, unit)
                if plan.index_code == INT32:
                    write_i32(at, i * steps[1], np.int32(place))
                else:
                    write_i64(at, i * steps[1], place)
            first += n
        return NOTHING

    return pool


def make_kernel(name: str) -> Any:
    of, width = WHOLE_PLANES[name]
    return _average(name, width) if of == "pool_average" else _maximum(name, width)
