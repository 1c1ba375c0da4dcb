"""The usual windows, two or three wide and high, with vectors of neighbours along W and no row in scratch.

Two rows of windows are made at once, from the four or five rows of the input that they hold: each of these is pooled
along W in registers, once for both. Averages and maxima differ in what they keep of numbers. The order is that of
rows.py: along W, then H, then D.

The first vector of a row may begin in the padding, and the last one, which is laid back, end there: shuffles put a
number there that changes nothing. A row of the input that is not there has a stand-in: of zeros for sums; for maxima
the nearest row, which is looked at twice. A row of windows that is one too many goes to scratch.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.halves import (
    load_bfloats,
    load_halves,
    load_pairs_of_bfloats,
    load_pairs_of_halves,
    store_bfloats,
    store_halves,
    stream_bfloats,
    stream_halves,
)
from ..jit.memory import inlined_piece, piece, piece_named
from ..jit.places import (
    lanes_apart,
    larger,
    larger_number,
    moved,
    splat_place,
    splat_place_after_edge,
    store_places_32,
    store_places_64,
    stream_places_32,
    stream_places_64,
)
from ..jit.vectors import (
    add,
    as_unit,
    divide,
    fence,
    itemsize,
    load,
    multiply,
    prefetch,
    splat,
    spliced,
    split,
    store,
    stream,
    type_as,
    write,
)
from ..record import AHEAD, INT32, LANES, NOTHING, READ_BFLOATS, READ_FLOATS, USUAL_WINDOWS
from .lanes import size_of_half
from .rows import places_in_window


class Rows(NamedTuple):
    """Five rows of the input, as addresses, how far the same rows of the next layer are, and where their places begin,
    counted from the first column of the plane."""

    at: Any
    further: Any
    places: Any


class Target(NamedTuple):
    """A row of results: where its numbers and places go, whether past the caches, and what numbers are divided by."""

    values: int
    indices: int
    streaming: bool
    divisors: int


class Kind(NamedTuple):
    """What becomes of numbers: what stands for padding, what a row's columns give (also where the first is padding),
    what two rows give, what the next layer does to places, and what is written in the end."""

    edge: Any
    along: Any
    along_first: Any
    join: Any
    in_layer: Any
    finish: Any


@inlined_piece
def _load_pairs(base: int, index: int, unit: Any) -> Any:
    return split(load(base, index, unit), load(base, index + LANES, unit))


@inlined_piece
def _zero(unit: Any) -> Any:
    return splat(unit)


@inlined_piece
def _lowest(unit: Any) -> Any:
    return splat(type_as(-math.inf, unit))


@inlined_piece
def _as_it_is(pooled: Any, distance: int) -> Any:
    return pooled


@inlined_piece
def _moved(best: Any, distance: int) -> Any:
    return best[0], moved(best[1], distance)


@inlined_piece
def _best_of(best: Any, other: Any) -> Any:
    return larger(best[0], best[1], other[0], other[1])


@inlined_piece
def _average(total: Any, target: Target, i: int, unit: Any) -> Any:
    """Adding +0.0 makes sums begin there."""
    return divide(add(total, splat(unit)), load(target.divisors, i, unit))


@inlined_piece
def _number(best: Any, target: Target, i: int, unit: Any) -> Any:
    return best


def _columns_joiner(kernel: int, join: Any) -> Any:
    """What the columns of a window give, where numbers alone count."""

    @inlined_piece
    def along(columns: Any, place: int, unit: Any) -> Any:
        both = join(columns[0], columns[1])
        return both if kernel == 2 else join(both, columns[kernel - 1])

    return along


def _columns_looker(kernel: int, first_place: Any) -> Any:
    """The same of numbers and places."""

    @inlined_piece
    def along(columns: Any, place: int, unit: Any) -> Any:
        best, at = larger(columns[0], first_place(place, unit), columns[1], splat_place(place + 1, unit))
        if kernel == 2:
            return best, at
        return larger(best, at, columns[kernel - 1], splat_place(place + 2, unit))

    return along


def _kind(of: str, kernel: int) -> Kind:
    if of == "pool_average":
        along = _columns_joiner(kernel, add)
        return Kind(_zero, along, along, add, _as_it_is, _average)
    if of == "pool_max_values":
        along = _columns_joiner(kernel, larger_number)
        return Kind(_lowest, along, along, larger_number, _as_it_is, _number)
    along, along_first = _columns_looker(kernel, splat_place), _columns_looker(kernel, splat_place_after_edge)
    return Kind(_lowest, along, along_first, _best_of, _moved, _number)


def _columns(kernel: int, stride: int, take: Any, pairs: Any, edge: Any) -> Any:
    """What loads the columns of eight windows: from a column on, where the first one is padding, and the last one."""

    @inlined_piece
    def middle(row: int, at: int, unit: Any) -> Any:
        if kernel == 2:
            return pairs(row, at, unit)
        if stride == 1:
            return take(row, at, unit), take(row, at + 1, unit), take(row, at + 2, unit)
        second, third = pairs(row, at + 1, unit)
        return pairs(row, at, unit)[0], second, third

    @inlined_piece
    def first(row: int, at: int, unit: Any) -> Any:
        if stride == 1:
            here = take(row, 0, unit)
            return spliced(edge(unit), here, 7), here, take(row, 1, unit)
        second, third = pairs(row, 0, unit)
        return spliced(edge(unit), third, 7), second, third

    @inlined_piece
    def last(row: int, at: int, unit: Any) -> Any:
        if stride == 1:
            second = take(row, at + 1, unit)
            return take(row, at, unit), second, spliced(second, edge(unit), 1)
        one, second = pairs(row, at, unit)
        return one, second, spliced(one, edge(unit), 1)

    return middle, first, last


def _row_maker(
    name: str, of: str, kernel: int, stride: int, deep: bool, size_in: Any, take: Any, pairs: Any, put: Any
) -> Any:
    kind = _kind(of, kernel)
    edge, join, in_layer, finish = kind.edge, kind.join, kind.in_layer, kind.finish
    middle, first, last = _columns(kernel, stride, take, pairs, edge)

    def windows_at(columns: Any, along: Any) -> Any:
        @inlined_piece
        def both_rows(rows: Rows, layer: int, at: int, unit: Any) -> Any:
            """Eight windows of each of two rows, as far as they are in one layer."""
            places, far = rows.places, rows.further
            one = along(columns(rows.at[0] + layer * far[0], at, unit), places[0], unit)
            two = along(columns(rows.at[1] + layer * far[1], at, unit), places[1], unit)
            three = along(columns(rows.at[2] + layer * far[2], at, unit), places[2], unit)
            four = along(columns(rows.at[3] + layer * far[3], at, unit), places[3], unit)
            if kernel == 2:
                return join(one, two), join(three, four)
            if stride == 1:
                return join(join(one, two), three), join(join(two, three), four)
            five = along(columns(rows.at[4] + layer * far[4], at, unit), places[4], unit)
            return join(join(one, two), three), join(join(three, four), five)

        @inlined_piece
        def ask(rows: Rows, at: int, unit: Any) -> None:
            """Have memory bring what comes later, each row once: the first ones were the last ones of other windows."""
            later = at * size_in(unit)
            if kernel == 2:
                prefetch(rows.at[0] + later, AHEAD, unit)
            if stride == 2:
                prefetch(rows.at[1] + later, AHEAD, unit)
            prefetch(rows.at[2] + later, AHEAD, unit)
            prefetch(rows.at[3] + later, AHEAD, unit)
            if kernel + stride == 5:
                prefetch(rows.at[4] + later, AHEAD, unit)

        @inlined_piece
        def give(
            rows: Rows, layers: int, area: int, upper: Target, lower: Target, i: int, pad: int, narrow: bool, unit: Any
        ) -> None:
            at, none = i * stride - pad, i - i
            ask(rows, at, unit)
            above, below = both_rows(rows, none, at, unit)
            if deep:
                for layer in range(1, layers):
                    one, other = both_rows(rows, layer, at, unit)
                    above, below = join(above, in_layer(one, layer * area)), join(below, in_layer(other, layer * area))
            put(upper, i, finish(above, upper, i, unit), at, stride, narrow)
            put(lower, i, finish(below, lower, i, unit), at, stride, narrow)

        return give

    give, give_first, give_last = (
        windows_at(columns, along)
        for columns, along in ((middle, kind.along), (first, kind.along_first), (last, kind.along))
    )

    @piece_named(name)
    def make(plan: Any, rows: Rows, layers: int, upper: Target, lower: Target, unit: Any) -> None:
        """Two rows of windows, at least nine in each."""
        number, pad, area = plan.out[COLUMNS], plan.pad[COLUMNS], plan.size[ROWS] * plan.size[COLUMNS]
        end, begin, narrow = number - LANES, number - number, plan.index_code == INT32
        if kernel == 3 and pad:
            give_first(rows, layers, area, upper, lower, begin, pad, narrow, unit)
            begin += LANES
        for i in range(begin, end, LANES):
            give(rows, layers, area, upper, lower, i, pad, narrow, unit)
        if kernel == 3 and plan.edge:  # the last window ends in the padding
            give_last(rows, layers, area, upper, lower, end, pad, narrow, unit)
        else:
            give(rows, layers, area, upper, lower, end, pad, narrow, unit)

    return make


def _putter(of: str, store_numbers: Any, stream_numbers: Any) -> Any:
    """What writes eight results, past the caches if the plan says so."""

    @inlined_piece
    def put_numbers(target: Target, i: int, numbers: Any, place: int, stride: int, narrow: bool) -> None:
        if target.streaming:
            stream_numbers(target.values, i, numbers)
        else:
            store_numbers(target.values, i, numbers)

    @inlined_piece
    def put_both(target: Target, i: int, best: Any, place: int, stride: int, narrow: bool) -> None:
        put_numbers(target, i, best[0], place, stride, narrow)
        there, at = lanes_apart(best[1], place, stride), target.indices
        if narrow:
            if target.streaming:
                stream_places_32(at, i, there)
            else:
                store_places_32(at, i, there)
        elif target.streaming:
            stream_places_64(at, i, there)
        else:
            store_places_64(at, i, there)

    return put_both if of == "pool_max" else put_numbers


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    stand_in: int  # a row of zeros
    values: int  # a row of windows that nobody asked for
    indices: int
    counts: int  # what the windows of a row contribute to their divisors
    upper: int  # divisors of either row
    lower: int


@piece
def carve(plan: Any, floats: int, unit: Any) -> Scratch:
    row = plan.pitch * plan.itemsize
    zeros = floats + 6 * row
    for i in range(0, plan.wide, LANES):
        store(zeros, i, splat(unit))
    for i in range(plan.out[COLUMNS]):
        write(floats, i, as_unit(count_of(plan, COLUMNS, i), unit))
    return Scratch(zeros, floats + 3 * row, floats + 4 * row, floats, floats + row, floats + 2 * row)


@piece
def scale_divisors(plan: Any, od: int, oh: int, divisors: int, counts: int, scaled: int, unit: Any) -> int:
    """Let divisors be those of a row of windows, if they are not; and what they were made from."""
    factor = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
    if factor != scaled:
        for i in range(0, plan.out[COLUMNS], LANES):
            store(divisors, i, multiply(splat(as_unit(factor, unit)), load(counts, i, unit)))
    return factor


@inlined_piece
def _real_or_zeros(plan: Any, source: int, h: int, zeros: int) -> tuple[int, int, int]:
    if 0 <= h < plan.size[ROWS]:
        return source + h * plan.grad_steps[3], plan.grad_steps[2], h
    return zeros, h - h, h


@inlined_piece
def _nearest(plan: Any, source: int, h: int, zeros: int) -> tuple[int, int, int]:
    h = min(max(h, 0), plan.size[ROWS] - 1)
    return source + h * plan.grad_steps[3], plan.grad_steps[2], h


def _rows_finder(row_at: Any) -> Any:
    @inlined_piece
    def rows_from(plan: Any, source: int, base: int, h: int, zeros: int) -> Rows:
        """Five rows of a layer that begins so many places behind its plane."""
        width = plan.size[COLUMNS]
        a, b, c = row_at(plan, source, h, zeros), row_at(plan, source, h + 1, zeros), row_at(plan, source, h + 2, zeros)
        d, e = row_at(plan, source, h + 3, zeros), row_at(plan, source, h + 4, zeros)
        places = base + a[2] * width, base + b[2] * width, base + c[2] * width, base + d[2] * width, base + e[2] * width
        return Rows((a[0], b[0], c[0], d[0], e[0]), (a[1], b[1], c[1], d[1], e[1]), places)

    return rows_from


def _pooler(name: str, of: str, kernel: int, stride: int, deep: bool) -> Any:
    averages = of == "pool_average"
    rows_from = _rows_finder(_real_or_zeros if averages else _nearest)

    def maker(of_what: str, size_in: Any, take: Any, pairs: Any, put: Any, put_past_caches: Any) -> Any:
        putter = _putter(of, put, put_past_caches)
        return _row_maker(f"{name}_{of_what}", of, kernel, stride, deep, size_in, take, pairs, putter)

    of_floats = maker("floats", itemsize, load, _load_pairs, store, stream)
    of_halves = maker("halves", size_of_half, load_halves, load_pairs_of_halves, store_halves, stream_halves)
    of_bfloats = maker("bfloats", size_of_half, load_bfloats, load_pairs_of_bfloats, store_bfloats, stream_bfloats)

    @piece_named(f"{name}_rows")
    def pool(plan: Any, x: int, result: int, indices: int, floats: int, begin: int, end: int, unit: Any) -> None:
        """Rows ``begin`` to ``end`` of the results, counted over planes, layers and rows."""
        scratch, height, row = carve(plan, floats, unit), plan.out[ROWS], begin
        steps, index_steps, area = plan.result_steps, plan.index_steps, plan.size[ROWS] * plan.size[COLUMNS]
        # Rows begin at multiples of 16 bytes; the last vector is laid back by such a multiple, too.
        offsets = result | indices | steps[0] | steps[1] | steps[2] | steps[3] | plan.out[COLUMNS] * steps[4]
        offsets |= (
            index_steps[0] | index_steps[1] | index_steps[2] | index_steps[3] | plan.out[COLUMNS] * index_steps[4]
        )
        streaming = plan.streaming != 0 and offsets % 16 == 0
        upper_scaled = lower_scaled = begin - begin
        while row < end:
            layer, oh = row // height, row % height
            stop, plane, od = min(oh + end - row, height), layer // plan.out[DEPTH], layer % plan.out[DEPTH]
            image, channel = plane // plan.channels, plane % plan.channels
            first, last = places_in_window(plan, DEPTH, od)
            source = x + image * plan.grad_steps[0] + channel * plan.grad_steps[1] + first * plan.grad_steps[2]
            values = result + image * steps[0] + channel * steps[1] + od * steps[2]
            places = indices + image * index_steps[0] + channel * index_steps[1] + od * index_steps[2]
            inside = begin - begin - 1
            row += stop - oh
            while oh < stop:
                top, is_one = oh * stride - plan.pad[ROWS], oh + 1 == stop
                if averages and not (inside == od and top >= 0 and top + stride + kernel <= plan.size[ROWS]):
                    upper_scaled = scale_divisors(plan, od, oh, scratch.upper, scratch.counts, upper_scaled, unit)
                    below = oh if is_one else oh + 1
                    lower_scaled = scale_divisors(plan, od, below, scratch.lower, scratch.counts, lower_scaled, unit)
                    if top >= 0:
                        inside = od
                upper = Target(values + oh * steps[3], places + oh * index_steps[3], streaming, scratch.upper)
                lower = Target(upper.values + steps[3], upper.indices + index_steps[3], streaming, scratch.lower)
                if is_one:
                    lower = Target(scratch.values, scratch.indices, streaming, scratch.lower)
                rows = rows_from(plan, source, first * area, top, scratch.stand_in)
                if plan.reading == READ_FLOATS:
                    of_floats(plan, rows, last - first, upper, lower, unit)
                elif plan.reading == READ_BFLOATS:
                    of_bfloats(plan, rows, last - first, upper, lower, unit)
                else:
                    of_halves(plan, rows, last - first, upper, lower, unit)
                oh += 2
        if streaming:
            fence()

    return pool


def make_kernel(name: str) -> Any:
    of, kernel, stride, deep = USUAL_WINDOWS[name]
    pool = _pooler(name, of, kernel, stride, deep)

    def of_numbers(
        records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        pool(records[0], x, result, result, floats, begin, end, unit)
        return NOTHING

    def of_both(
        records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        pool(records[0], x, result, indices, floats, begin, end, unit)
        return NOTHING

    return of_both if of == "pool_max" else of_numbers
