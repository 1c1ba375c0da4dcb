"""Averages on small planes: eight planes at a time, one in each lane of a vector.

On a plane of a few hundred elements every row costs more in preparation than in additions. So eight planes are taken
together: their gradients are divided and transposed, and from then on a pixel is a vector, with one lane for each
plane. Whatever has to be known of the geometry is looked up in tables once for all eight; no row has tails.

The additions are those of rows.py, in the same order. Along W the windows that hold a column are ``terms``
neighbours, or one less, so there are two rows of sums, A and B, for each row of gradients, and every column has its
place in one of them (or on a pixel that stays zero). Along H and D the rows of sums are added, and the result is
transposed back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.windows import ADAPTIVE
from ..geometry import COLUMNS, DEPTH, ROWS, count_of, fewest_windows, most_windows, run_of
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.vectors import add, as_unit, divide, fence, itemsize, load, splat, store, stream, transpose, write
from ..record import KEPT, LANES, LINE, NOTHING, READ_BFLOATS, READ_FLOATS
from ..rows import load_row, store_row
from .spreading import fill
from .sums import add_row, sum_rows


class Scratch(NamedTuple):
    """One thread's working memory, as addresses. A pixel is a vector."""

    edge: int  # eight vectors, for planes shorter than a vector
    divisors: int  # of a plane's gradients
    quotients: int  # rows of pixels, with zeros around each
    one: int  # A
    other: int  # B
    layer: int  # one row of the result, for one layer
    result: int  # pixels of the result that are sums of several rows
    places: int  # for each gradient of a plane, its pixel among the quotients
    columns: int  # for each column, its pixel in the first row of A, B or quotients
    pixels: int  # for each element of the result's plane, its pixel
    runs: int  # for each row of a layer, first and one past the last window along H
    shifts: int


class Geometry(NamedTuple):
    """Rows of quotients, and how many windows hold a column at most."""

    rows: int
    pitch: int  # pixels per row
    margin: int  # pixels before the first gradient of a row
    terms: int
    fewest: int  # and at least, but for borders


@piece
def geometry_of(plan: Any) -> Geometry:
    rows, columns = plan.out[DEPTH] * plan.out[ROWS], plan.out[COLUMNS]
    if plan.rule[COLUMNS] != ADAPTIVE:
        terms = (plan.kernel[COLUMNS] - 1) // plan.stride[COLUMNS] + 1
        return Geometry(rows, columns + 2 * terms - 1, terms - 1, terms, fewest_windows(plan, COLUMNS, terms))
    terms = most_windows(plan, COLUMNS)
    return Geometry(rows, columns + 1, 0, terms, fewest_windows(plan, COLUMNS, terms))


@piece
def carve(plan: Any, geometry: Geometry, floats: int, integers: int) -> Scratch:
    gradients = plan.out[DEPTH] * plan.out[ROWS] * plan.out[COLUMNS]
    block = (geometry.rows * geometry.pitch + geometry.terms) * LANES * plan.itemsize
    divisors = floats + LANES * LANES * plan.itemsize
    quotients = divisors + (gradients + LANES) * plan.itemsize
    blocks = 1 + (geometry.terms > 1) + (geometry.terms > 2 and geometry.fewest < geometry.terms)
    layer = quotients + blocks * block
    columns = integers + 8 * (gradients + LANES)
    pixels = columns + 8 * plan.size[COLUMNS]
    runs = pixels + 8 * (plan.size[DEPTH] * plan.size[ROWS] * plan.size[COLUMNS] + LANES)
    return Scratch(
        floats,
        divisors,
        quotients,
        quotients + block,
        quotients + min(geometry.terms, 2) * block,
        layer,
        layer + plan.size[COLUMNS] * LANES * plan.itemsize,
        integers,
        columns,
        pixels,
        runs,
        runs + 16 * plan.size[ROWS],
    )


@piece
def tabulate_gradients(plan: Any, geometry: Geometry, scratch: Scratch, unit: Any) -> None:
    """Divisor and place of every gradient of a plane; what lies beyond the last goes to a pixel that nobody reads."""
    g = 0
    for od in range(plan.out[DEPTH]):
        for oh in range(plan.out[ROWS]):
            scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
            row = (od * plan.out[ROWS] + oh) * geometry.pitch + geometry.margin
            for ow in range(plan.out[COLUMNS]):
                write(scratch.divisors, g, as_unit(scale * count_of(plan, COLUMNS, ow), unit))
                write_i64(scratch.places, 8 * g, row + ow)
                g += 1
    for more in range(LANES):
        write(scratch.divisors, g + more, as_unit(1, unit))
        write_i64(scratch.places, 8 * (g + more), geometry.rows * geometry.pitch)


@piece
def tabulate_columns(plan: Any, geometry: Geometry, scratch: Scratch, pixel: int) -> None:
    """Where each column's sum lies in the first row."""
    terms, out = geometry.terms, plan.out[COLUMNS]
    nowhere = scratch.quotients + (geometry.pitch - 1) * pixel  # the last pixel of every row stays zero
    for w in range(plan.size[COLUMNS]):
        if plan.rule[COLUMNS] == ADAPTIVE:
            first, stop = run_of(plan, COLUMNS, w)
            number = stop - first
        else:  # zeros stand in for windows before the first and behind the last
            last, phase = (
                (w + plan.pad[COLUMNS]) // plan.stride[COLUMNS],
                (w + plan.pad[COLUMNS]) % plan.stride[COLUMNS],
            )
            number = terms if phase < plan.ones else terms - 1
            first = last - number + 1
        base = scratch.one if number == terms else scratch.other
        if number == 1:
            base = scratch.quotients
        at = base + (geometry.margin + first) * pixel
        write_i64(scratch.columns, 8 * w, at if number > 0 and first < out else nowhere)


@piece
def tabulate_pixels(plan: Any, geometry: Geometry, scratch: Scratch, pixel: int) -> None:
    """Where each element of the result is found: where a single row gives it, at that row's column."""
    i = 0
    for h in range(plan.size[ROWS]):
        first, stop = run_of(plan, ROWS, h)
        write_i64(scratch.runs, 16 * h, first)
        write_i64(scratch.runs, 16 * h + 8, stop)
    nowhere = scratch.quotients + (geometry.pitch - 1) * pixel
    for d in range(plan.size[DEPTH]):
        layers_from, layers_to = run_of(plan, DEPTH, d)
        for h in range(plan.size[ROWS]):
            first, stop = read_i64(scratch.runs, 16 * h), read_i64(scratch.runs, 16 * h + 8)
            number = max(layers_to - layers_from, 0) * max(stop - first, 0)
            row = (layers_from * plan.out[ROWS] + first) * geometry.pitch * pixel
            for w in range(plan.size[COLUMNS]):
                at = scratch.result + i * pixel
                if number == 1:
                    at = read_i64(scratch.columns, 8 * w) + row
                elif number == 0:
                    at = nowhere
                write_i64(scratch.pixels, 8 * i, at)
                i += 1


@inlined_piece
def plane_at(base: int, steps: Any, channels: int, p: int) -> int:
    if channels == 0:  # all planes follow each other in the same steps
        return base + p * steps[1]
    return base + p // channels * steps[0] + p % channels * steps[1]


def _taker(name: str, take: Any) -> Any:
    @piece_named(name)
    def take_in(planes: Any, n: int, scratch: Scratch, unit: Any) -> None:
        """n gradients of each of eight planes, at least a vector of them, divided, as pixels; none is read twice, but
        for the last vector, which is laid back over its predecessor."""
        zero = splat(unit)  # adding +0.0 makes sums begin at +0.0
        a, b, c, d, e, f, g, h = planes
        for start in range(0, n, LANES):
            i = min(start, n - LANES)
            by = load(scratch.divisors, i, unit)
            pixels = transpose(
                (
                    add(divide(take(a, i, unit), by), zero),
                    add(divide(take(b, i, unit), by), zero),
                    add(divide(take(c, i, unit), by), zero),
                    add(divide(take(d, i, unit), by), zero),
                    add(divide(take(e, i, unit), by), zero),
                    add(divide(take(f, i, unit), by), zero),
                    add(divide(take(g, i, unit), by), zero),
                    add(divide(take(h, i, unit), by), zero),
                )
            )
            place = scratch.places + 8 * i
            store(scratch.quotients, LANES * read_i64(place, 0), pixels[0])
            store(scratch.quotients, LANES * read_i64(place, 8), pixels[1])
            store(scratch.quotients, LANES * read_i64(place, 16), pixels[2])
            store(scratch.quotients, LANES * read_i64(place, 24), pixels[3])
            store(scratch.quotients, LANES * read_i64(place, 32), pixels[4])
            store(scratch.quotients, LANES * read_i64(place, 40), pixels[5])
            store(scratch.quotients, LANES * read_i64(place, 48), pixels[6])
            store(scratch.quotients, LANES * read_i64(place, 56), pixels[7])

    return take_in


@inlined_piece
def rows_at(i: int, scratch: Scratch, unit: Any) -> Any:
    """Eight elements of each of eight planes."""
    pixel = scratch.pixels + 8 * i
    return transpose(
        (
            load(read_i64(pixel, 0), 0, unit),
            load(read_i64(pixel, 8), 0, unit),
            load(read_i64(pixel, 16), 0, unit),
            load(read_i64(pixel, 24), 0, unit),
            load(read_i64(pixel, 32), 0, unit),
            load(read_i64(pixel, 40), 0, unit),
            load(read_i64(pixel, 48), 0, unit),
            load(read_i64(pixel, 56), 0, unit),
        )
    )


def _giver(name: str, put: Any) -> Any:
    @piece_named(name)
    def give_out(planes: Any, begin: int, end: int, scratch: Scratch, unit: Any) -> None:
        """Elements ``begin`` to ``end`` of each of eight planes; at least a vector of them lies before the end."""
        a, b, c, d, e, f, g, h = planes
        for start in range(begin, end, LANES):
            i = min(start, end - LANES)
            rows = rows_at(i, scratch, unit)
            put(a, i, rows[0])
            put(b, i, rows[1])
            put(c, i, rows[2])
            put(d, i, rows[3])
            put(e, i, rows[4])
            put(f, i, rows[5])
            put(g, i, rows[6])
            put(h, i, rows[7])

    return give_out


@piece
def _stream_lines(planes: Any, begin: int, lines: int, scratch: Scratch, unit: Any) -> None:
    """The same past the caches, in whole cache lines of 64 bytes: with eight planes at once halves of lines would pile
    up. A line is two vectors of float32, or one of float64."""
    a, b, c, d, e, f, g, h = planes
    per_line = LINE // itemsize(unit)
    for i in range(begin, begin + lines * per_line, 2 * LANES):
        one, two = rows_at(i, scratch, unit), rows_at(i + LANES, scratch, unit)
        stream(a, i, one[0])
        stream(a, i + LANES, two[0])
        stream(b, i, one[1])
        stream(b, i + LANES, two[1])
        stream(c, i, one[2])
        stream(c, i + LANES, two[2])
        stream(d, i, one[3])
        stream(d, i + LANES, two[3])
        stream(e, i, one[4])
        stream(e, i + LANES, two[4])
        stream(f, i, one[5])
        stream(f, i + LANES, two[5])
        stream(g, i, one[6])
        stream(g, i + LANES, two[6])
        stream(h, i, one[7])
        stream(h, i + LANES, two[7])


_take_floats = _taker("take_floats", load)
_take_halves = _taker("take_halves", load_halves)
_take_bfloats = _taker("take_bfloats", load_bfloats)
_give_floats = _giver("give_floats", store)
_give_halves = _giver("give_halves", store_halves)
_give_bfloats = _giver("give_bfloats", store_bfloats)


@inlined_piece
def planes_from(base: int, steps: Any, channels: int, p: int, end: int) -> Any:
    """Eight planes; the last one stands in for those that are not there."""
    return (
        plane_at(base, steps, channels, p),
        plane_at(base, steps, channels, min(p + 1, end - 1)),
        plane_at(base, steps, channels, min(p + 2, end - 1)),
        plane_at(base, steps, channels, min(p + 3, end - 1)),
        plane_at(base, steps, channels, min(p + 4, end - 1)),
        plane_at(base, steps, channels, min(p + 5, end - 1)),
        plane_at(base, steps, channels, min(p + 6, end - 1)),
        plane_at(base, steps, channels, min(p + 7, end - 1)),
    )


@inlined_piece
def edges(plan: Any, scratch: Scratch) -> Any:
    at, step = scratch.edge, LANES * plan.itemsize
    return at, at + step, at + 2 * step, at + 3 * step, at + 4 * step, at + 5 * step, at + 6 * step, at + 7 * step


@inlined_piece
def take_planes(plan: Any, planes: Any, n: int, scratch: Scratch, unit: Any) -> None:
    if n < LANES:
        for lane in range(LANES):
            row = scratch.edge + lane * LANES * plan.itemsize
            load_row(planes[lane], plan.stored, plan.code, KEPT, row, n, unit)
        _take_floats(edges(plan, scratch), n - n + LANES, scratch, unit)  # not a literal, as in give_planes
    elif plan.reading == READ_FLOATS:
        _take_floats(planes, n, scratch, unit)
    elif plan.reading == READ_BFLOATS:
        _take_bfloats(planes, n, scratch, unit)
    else:
        _take_halves(planes, n, scratch, unit)


@inlined_piece
def give_planes(plan: Any, planes: Any, n: int, streaming: bool, scratch: Scratch, unit: Any) -> None:
    nothing = n - n  # not a plain zero: Numba would compile what is given one once more
    if n < LANES:
        _give_floats(edges(plan, scratch), nothing, LANES + nothing, scratch, unit)
        for lane in range(LANES):
            row = scratch.edge + lane * LANES * plan.itemsize
            store_row(planes[lane], plan.stored, plan.code, row, n, unit)
    elif plan.reading == READ_FLOATS:
        begin = nothing
        if streaming:
            # Up to the first whole line, and behind the last, as usual; all planes begin at the same place of a line.
            begin = (LINE - planes[0] % LINE) % LINE // plan.itemsize
            if begin:
                _give_floats(planes, nothing, max(begin, LANES), scratch, unit)
            lines = (n - begin) // (2 * LANES) * (2 * LANES * plan.itemsize // LINE)
            _stream_lines(planes, begin, lines, scratch, unit)
            begin += lines * LINE // plan.itemsize
        _give_floats(planes, begin, n, scratch, unit)
    elif plan.reading == READ_BFLOATS:
        _give_bfloats(planes, nothing, n, scratch, unit)
    else:
        _give_halves(planes, nothing, n, scratch, unit)


@piece
def sum_windows(geometry: Geometry, scratch: Scratch, pixel: int, unit: Any) -> None:
    """A and B of all rows at once; sums that reach from one row into the next are not read."""
    for terms in range(max(geometry.fewest, 2), geometry.terms + 1):
        for j in range(terms):
            write_i64(scratch.shifts, 8 * j, scratch.quotients + j * pixel)
        target = scratch.one if terms == geometry.terms else scratch.other
        sum_rows(target, scratch.shifts, terms, geometry.rows * geometry.pitch * LANES, unit)


@piece
def add_columns(target: int, columns: int, width: int, row: int, rows: int, step: int, unit: Any) -> None:
    """The pixels of one row of the result: sums over ``rows`` rows from an offset on."""
    if rows == 2:
        for w in range(width):
            at = read_i64(columns, 8 * w) + row
            store(target, LANES * w, add(load(at, 0, unit), load(at + step, 0, unit)))
    elif rows == 3:
        for w in range(width):
            at = read_i64(columns, 8 * w) + row
            total = add(load(at, 0, unit), load(at + step, 0, unit))
            store(target, LANES * w, add(total, load(at + 2 * step, 0, unit)))
    else:
        for w in range(width):
            at = read_i64(columns, 8 * w) + row
            total = load(at, 0, unit)
            for _ in range(1, rows):
                at += step
                total = add(total, load(at, 0, unit))
            store(target, LANES * w, total)


@inlined_piece
def sum_all_rows(plan: Any, geometry: Geometry, scratch: Scratch, pixel: int, unit: Any) -> None:
    """The pixels of the result that more than one row of gradients flows into."""
    width, step = plan.size[COLUMNS], geometry.pitch * pixel
    for d in range(plan.size[DEPTH]):
        layers_from, layers_to = run_of(plan, DEPTH, d)
        for h in range(plan.size[ROWS]):
            first, stop = read_i64(scratch.runs, 16 * h), read_i64(scratch.runs, 16 * h + 8)
            if first < stop and (layers_to - layers_from) * (stop - first) > 1:
                target = scratch.result + (d * plan.size[ROWS] + h) * width * pixel
                for od in range(layers_from, layers_to):
                    row = (od * plan.out[ROWS] + first) * step
                    into = target if od == layers_from else scratch.layer
                    add_columns(into, scratch.columns, width, row, stop - first, step, unit)
                    if od != layers_from:
                        add_row(target, into, width * LANES, unit)


def average_small_planes(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``."""
    plan = records[0]
    geometry = geometry_of(plan)
    scratch = carve(plan, geometry, floats, integers)
    pixel = LANES * plan.itemsize
    gradients = geometry.rows * plan.out[COLUMNS]
    elements = plan.size[DEPTH] * plan.size[ROWS] * plan.size[COLUMNS]
    steps = plan.result_steps
    streaming = plan.streaming and result % 16 == 0 and (steps[0] | steps[1]) % LINE == 0 and elements >= 4 * LANES
    tabulate_gradients(plan, geometry, scratch, unit)
    tabulate_columns(plan, geometry, scratch, pixel)
    tabulate_pixels(plan, geometry, scratch, pixel)
    for more in range(LANES):  # what a plane shorter than a vector reads beyond its end
        write_i64(scratch.pixels, 8 * (elements + more), scratch.quotients)
    # What planes shorter than a vector leave of it is divided, too: with what may be found there, a denormal number in
    # each lane, 3 x 3 planes take up to eight times as long.
    fill(scratch.edge, 0, LANES * LANES, unit)
    fill(scratch.quotients, 0, (geometry.rows * geometry.pitch + geometry.terms) * LANES, unit)
    for p in range(begin, end, LANES):
        sources = planes_from(grad, plan.grad_steps, plan.channels, p, end)
        take_planes(plan, sources, gradients, scratch, unit)
        if geometry.terms > 1:
            sum_windows(geometry, scratch, pixel, unit)
        if plan.overlapping:
            sum_all_rows(plan, geometry, scratch, pixel, unit)
        targets = planes_from(result, plan.result_steps, plan.channels, p, end)
        give_planes(plan, targets, elements, streaming, scratch, unit)
    if streaming:
        fence()
    return NOTHING
