"""One plane after the other, with windows that are neighbours along W in the lanes of vectors: any windows, pooled
along W, then H and D (rows.py), averages and maxima alike.

A row of the input comes into scratch, between numbers that change nothing where windows begin or end in the padding.
Eight windows with a stride of 1 are eight neighbours; of others four elements of each are loaded and turned in
registers. Adaptive windows may differ in length: behind the end of the shorter ones stands what changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.windows import FIXED
from ..geometry import COLUMNS, DEPTH, ROWS, bounds_of, count_of
from ..jit.few import (
    store_few,
    store_few_bfloats,
    store_few_halves,
    store_few_places_32,
    store_few_places_64,
)
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.places import (
    larger,
    larger_number,
    moved,
    moved_each,
    of_longer,
    splat_place,
    store_places_32,
    store_places_64,
    write_place,
)
from ..jit.vectors import (
    add,
    as_unit,
    divide,
    fence,
    itemsize,
    load,
    load_quads,
    multiply,
    splat,
    store,
    stream,
    transpose_quads,
    write,
)
from ..record import BY_ELEMENTS, INT32, LANES, NOTHING, READ_BFLOATS, READ_FLOATS
from ..rows import copy_exactly, load_row, store_row
from .lanes import QUAD, offset_of
from .maxima import PIXEL, compare_rows, lowest, put_both, set_lowest
from .rows import Scratch, pooling, row_setter, rows_joiner


class Tables(NamedTuple):
    """Of the windows of a tile: where they begin, which of their elements is the first that is no padding, and how many
    they have, all as places; and what they contribute to their divisors."""

    starts: int
    clips: int
    lengths: int
    counts: int


@inlined_piece
def tables_of(plan: Any, scratch: Scratch) -> Tables:
    step, at = plan.tile * LANES * plan.itemsize, scratch.tables
    return Tables(at, at + step, at + 2 * step, at + 3 * step)


@inlined_piece
def plane_alone(plan: Any, base: int, steps: Any, number: int) -> Any:
    """Where the only plane of a group begins."""
    return (base + number // plan.channels * steps[0] + number % plan.channels * steps[1],)


@inlined_piece
def windows_in_tile(plan: Any, left: int, number: int) -> int:
    """How many windows so many vectors stand for, from the ``left``-th vector on."""
    return min(number * LANES, plan.out[COLUMNS] - left * LANES)


def _tabulator(name: str, filler: Any) -> Any:
    @piece_named(name)
    def tabulate(plan: Any, left: int, number: int, scratch: Scratch, unit: Any) -> None:
        """Tables of a tile, and what stands around its rows. A window that is not there is the last one again."""
        tables, first = tables_of(plan, scratch), left * LANES
        last = first + windows_in_tile(plan, left, number) - 1
        origin = bounds_of(plan, COLUMNS, first)[0]
        write_i64(scratch.known, 16, origin)
        for i in range(plan.chunk):
            store(scratch.staged, LANES * i, filler(unit))
        for i in range(number * LANES):
            start, stop = bounds_of(plan, COLUMNS, min(first + i, last))
            write_i64(scratch.firsts, 8 * i, start - origin)
            write_place(tables.starts, i, start, unit)
            write_place(tables.clips, i, max(-start, 0), unit)
            write_place(tables.lengths, i, stop - start, unit)
            write(tables.counts, i, as_unit(count_of(plan, COLUMNS, min(first + i, last)), unit))
            # Of eight windows the shortest and the longest.
            group = 8 * (i // LANES)
            least = stop - start if i % LANES == 0 else min(read_i64(scratch.stops, group), stop - start)
            most = stop - start if i % LANES == 0 else max(read_i64(scratch.counts, group), stop - start)
            write_i64(scratch.stops, group, least)
            write_i64(scratch.counts, group, most)

    return tabulate


def _taker(name: str, take: Any) -> Any:
    @piece_named(name)
    def take_in(source: int, n: int, target: int, unit: Any) -> None:
        """n neighbours, at least a vector of them; the last one is laid back."""
        for i in range(0, n - LANES, LANES):
            store(target, i, take(source, i, unit))
        store(target, n - LANES, take(source, n - LANES, unit))

    return take_in


_take_halves, _take_bfloats = _taker("along_rows_halves", load_halves), _taker("along_rows_bfloats", load_bfloats)


@piece
def take_row(plan: Any, source: int, n: int, target: int, unit: Any) -> None:
    """n elements of a row of the input."""
    if plan.reading == READ_FLOATS:
        copy_exactly(target, source, n, unit)
    elif plan.reading == BY_ELEMENTS or n < LANES:  # rows are widened by an addition, and -0.0 leaves zeros their signs
        load_row(source, plan.grad_steps[4], plan.code, plan.rounding, target, n, -unit)
    elif plan.reading == READ_BFLOATS:
        _take_bfloats(source, n, target, unit)
    else:
        _take_halves(source, n, target, unit)


def _row_maker(name: str, filler: Any, begin: Any, look: Any, put: Any) -> Any:
    """What pools a row along W. It is made of what changes nothing, what is known before the first element of a window
    and after another one, and what puts down the results of eight windows."""

    @inlined_piece
    def look_further(pooled: Any, value: Any, j: int, least: int, lengths: int, unit: Any) -> Any:
        """Element j, which not all windows have."""
        if j < least:
            return look(pooled, value, j, unit)
        return look(pooled, of_longer(load(lengths, 0, unit), j, value, filler(unit)), j, unit)

    @inlined_piece
    def side_by_side(at: int, group: int, length: int, tables: Tables, unit: Any) -> Any:
        pooled = begin(tables, group, unit)
        for j in range(length):
            pooled = look(pooled, load(at, j, unit), j, unit)
        return pooled

    @inlined_piece
    def four_side_by_side(at: int, group: int, length: int, tables: Tables, unit: Any) -> Any:
        """Four vectors of windows at once: additions of one need not wait for those of another."""
        one, two = begin(tables, group, unit), begin(tables, group + 1, unit)
        three, four = begin(tables, group + 2, unit), begin(tables, group + 3, unit)
        for j in range(length):
            one, two = look(one, load(at, j, unit), j, unit), look(two, load(at, j + LANES, unit), j, unit)
            three = look(three, load(at, j + 2 * LANES, unit), j, unit)
            four = look(four, load(at, j + 3 * LANES, unit), j, unit)
        return one, two, three, four

    @inlined_piece
    def apart(staged: int, group: int, least: int, most: int, scratch: Scratch, tables: Tables, unit: Any) -> Any:
        firsts, size = scratch.firsts + 8 * LANES * group, itemsize(unit)
        a, b = staged + read_i64(firsts, 0) * size, staged + read_i64(firsts, 8) * size
        c, d = staged + read_i64(firsts, 16) * size, staged + read_i64(firsts, 24) * size
        e, f = staged + read_i64(firsts, 32) * size, staged + read_i64(firsts, 40) * size
        g, h = staged + read_i64(firsts, 48) * size, staged + read_i64(firsts, 56) * size
        pooled, lengths, whole = begin(tables, group, unit), tables.lengths + LANES * group * size, least - least % QUAD
        for j in range(0, most, QUAD):
            pixels = transpose_quads(
                (
                    load_quads(a, e, j, unit),
                    load_quads(b, f, j, unit),
                    load_quads(c, g, j, unit),
                    load_quads(d, h, j, unit),
                )
            )
            if j < whole:
                pooled = look(pooled, pixels[0], j, unit)
                pooled = look(pooled, pixels[1], j + 1, unit)
                pooled = look(pooled, pixels[2], j + 2, unit)
                pooled = look(pooled, pixels[3], j + 3, unit)
            else:
                pooled = look_further(pooled, pixels[0], j, least, lengths, unit)
                if j + 1 < most:
                    pooled = look_further(pooled, pixels[1], j + 1, least, lengths, unit)
                if j + 2 < most:
                    pooled = look_further(pooled, pixels[2], j + 2, least, lengths, unit)
                if j + 3 < most:
                    pooled = look_further(pooled, pixels[3], j + 3, least, lengths, unit)
        return pooled

    @piece_named(name)
    def make_row(plan: Any, planes: Any, d: int, h: int, at: int, number: int, scratch: Scratch, unit: Any) -> None:
        tables, row, origin = tables_of(plan, scratch), d * plan.size[ROWS] + h, read_i64(scratch.known, 16)
        last = read_i64(scratch.firsts, 8 * (number * LANES - 1)) + read_i64(scratch.counts, 8 * (number - 1))
        first, stop, size = max(origin, 0), min(origin + last, plan.size[COLUMNS]), plan.itemsize
        source = planes[0] + d * plan.grad_steps[2] + h * plan.grad_steps[3] + first * plan.grad_steps[4]
        take_row(plan, source, stop - first, scratch.staged + (first - origin) * size, unit)
        place, group, step = row * plan.size[COLUMNS], h - h, LANES * size
        if plan.rule[COLUMNS] == FIXED and plan.stride[COLUMNS] == 1:
            while group < number:
                here, length = scratch.staged + group * step, plan.kernel[COLUMNS]
                if number - group >= 4:
                    four = four_side_by_side(here, group, length, tables, unit)
                    put(at, group, four[0], tables, place, unit)
                    put(at, group + 1, four[1], tables, place, unit)
                    put(at, group + 2, four[2], tables, place, unit)
                    put(at, group + 3, four[3], tables, place, unit)
                    group += 4
                else:
                    put(at, group, side_by_side(here, group, length, tables, unit), tables, place, unit)
                    group += 1
            return
        for some in range(number):
            least, most = read_i64(scratch.stops, 8 * some), read_i64(scratch.counts, 8 * some)
            pooled = apart(scratch.staged, some, least, most, scratch, tables, unit)
            put(at, some, pooled, tables, place, unit)

    return make_row


def _giver(name: str, put: Any, put_few: Any) -> Any:
    @piece_named(name)
    def give(target: int, step: int, source: int, pixel: int, n: int, unit: Any) -> None:
        """n windows, whose vectors stand ``pixel`` numbers apart."""
        whole = n - n % LANES
        for i in range(0, whole, LANES):
            put(target, i, load(source, i // LANES * pixel, unit))
        if whole < n:
            put_few(target + whole * step, n - whole, load(source, whole // LANES * pixel, unit))

    return give


_give_floats = _giver("along_rows_give_floats", store, store_few)
_stream_floats = _giver("along_rows_stream_floats", stream, store_few)
_give_halves = _giver("along_rows_give_halves", store_halves, store_few_halves)
_give_bfloats = _giver("along_rows_give_bfloats", store_bfloats, store_few_bfloats)
_give_places_32 = _giver("along_rows_give_places_32", store_places_32, store_few_places_32)
_give_places_64 = _giver("along_rows_give_places_64", store_places_64, store_few_places_64)


@piece
def give_numbers(plan: Any, planes: Any, unused: Any, row: Any, left: int, n: int, scratch: Scratch, unit: Any) -> None:
    """A row of n vectors of windows."""
    target = planes[0] + offset_of(plan.result_steps, row, left * LANES)
    step = plan.result_steps[4]
    windows, pixel = windows_in_tile(plan, left, n), LANES * plan.vectors
    if plan.writing == BY_ELEMENTS:
        store_row(target, step, plan.code, scratch.results, windows, unit)
    elif plan.writing == READ_BFLOATS:
        _give_bfloats(target, step, scratch.results, pixel, windows, unit)
    elif plan.writing != READ_FLOATS:
        _give_halves(target, step, scratch.results, pixel, windows, unit)
    elif plan.streaming and target % 16 == 0:
        _stream_floats(target, step, scratch.results, pixel, windows, unit)
    else:
        _give_floats(target, step, scratch.results, pixel, windows, unit)


@piece
def give_averages(
    plan: Any, planes: Any, unused: Any, row: Any, left: int, n: int, scratch: Scratch, unit: Any
) -> None:
    """Sums, divided by the exact integers that their windows count."""
    counts = tables_of(plan, scratch).counts
    scale = splat(as_unit(plan.divisor * count_of(plan, DEPTH, row[0]) * count_of(plan, ROWS, row[1]), unit))
    for i in range(0, n * LANES, LANES):
        total = load(scratch.results, i, unit)
        store(scratch.results, i, divide(total, multiply(scale, load(counts, i, unit))))
    give_numbers(plan, planes, unused, row, left, n, scratch, unit)


@piece
def give_maxima(plan: Any, planes: Any, places: Any, row: Any, left: int, n: int, scratch: Scratch, unit: Any) -> None:
    """Maxima and their places."""
    give_numbers(plan, planes, places, row, left, n, scratch, unit)
    target, step = places[0] + offset_of(plan.index_steps, row, left * LANES), plan.index_steps[4]
    there, windows = scratch.results + LANES * plan.itemsize, windows_in_tile(plan, left, n)
    if plan.index_code == INT32:
        _give_places_32(target, step, there, PIXEL, windows, unit)
    else:
        _give_places_64(target, step, there, PIXEL, windows, unit)


def _of_numbers(first: Any, join: Any) -> tuple[Any, Any, Any]:
    """What is known of windows whose numbers alone count."""

    @inlined_piece
    def begin(tables: Tables, group: int, unit: Any) -> Any:
        return first(unit)

    @inlined_piece
    def look(pooled: Any, value: Any, j: int, unit: Any) -> Any:
        return join(pooled, value)

    @inlined_piece
    def put(at: int, group: int, pooled: Any, tables: Tables, place: int, unit: Any) -> None:
        store(at, LANES * group, pooled)

    return begin, look, put


@inlined_piece
def _first_place(tables: Tables, group: int, unit: Any) -> Any:
    return lowest(unit), load(tables.clips, LANES * group, unit)


@inlined_piece
def _look_at_place(best: Any, value: Any, j: int, unit: Any) -> Any:
    return larger(best[0], best[1], value, splat_place(j, unit))


@inlined_piece
def _put_places(at: int, group: int, best: Any, tables: Tables, place: int, unit: Any) -> None:
    """Places count from where their window begins: from now on, from the beginning of the plane."""
    places = moved(moved_each(best[1], load(tables.starts, LANES * group, unit)), place)
    put_both(at, PIXEL * group, (best[0], places))


def _pooling(name: str, filler: Any, of_windows: Any, pool_rows: Any, set_nothing: Any, give: Any) -> Any:
    make_row, tabulate = _row_maker(f"{name}_row", filler, *of_windows), _tabulator(f"{name}_table", filler)
    return pooling(name, make_row, pool_rows, set_nothing, give, tabulate, plane_alone, LANES)


def _numbers_pooling(name: str, first: Any, join: Any, give: Any) -> Any:
    pool_rows, set_nothing = rows_joiner(f"{name}_rows", load, join, store, LANES), row_setter(f"{name}_none", first)
    return _pooling(name, first, _of_numbers(first, join), pool_rows, set_nothing, give)


_average_rows = _numbers_pooling("averages_along_rows", splat, add, give_averages)
_value_rows = _numbers_pooling("values_along_rows", lowest, larger_number, give_numbers)
_max_rows = _pooling(
    "maxima_along_rows", lowest, (_first_place, _look_at_place, _put_places), compare_rows, set_lowest, give_maxima
)


def pool_average_along_rows(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over planes, layers and rows."""
    _average_rows(records[0], x, result, result, floats, integers, begin, end, unit)
    if records[0].streaming:
        fence()
    return NOTHING


def pool_max_values_along_rows(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """The same of maxima."""
    _value_rows(records[0], x, result, result, floats, integers, begin, end, unit)
    if records[0].streaming:
        fence()
    return NOTHING


def pool_max_along_rows(
    records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """The same of maxima and their places."""
    _max_rows(records[0], x, result, indices, floats, integers, begin, end, unit)
    if records[0].streaming:
        fence()
    return NOTHING
