"""Averages on small planes: eight planes at a time, one in each lane of a vector.

On a plane of a few hundred elements every row costs more in preparation than in additions. So eight planes are taken
together: their gradients are divided and transposed, and from then on a pixel is a vector, with one lane for each
plane. Whatever has to be known of the geometry is looked up in tables once for all eight; no row has tails.

The additions are those of average.py, in the same order. Along W the windows that hold a column are ``terms``
neighbours, or one less, so there are two rows of sums, A and B, for each row of gradients, and every column has its
place in one of them (or on a pixel that stays zero). Along H and D the rows of sums are added, and the result is
transposed back.
"""

from __future__ import annotations

from typing import Any

from .eights import (
    divide_each,
    eight_at,
    load_each,
    load_each_bfloat,
    load_each_half,
    store_each,
    store_each_bfloat,
    store_each_half,
    stream_each_pair,
    transpose,
)
from .geometry import COLUMNS, DEPTH, ROWS, run_of
from .lane_tables import (
    Geometry,
    Scratch,
    carve,
    geometry_of,
    tabulate_columns,
    tabulate_edges,
    tabulate_gradients,
    tabulate_pixels,
    tabulate_planes,
)
from .memory import inlined_piece, piece, piece_named, read_i64, read_u16, write_i64, write_u16
from .record import LANES, LINE, NOTHING
from .rows import copy_exactly
from .spreading import fill
from .sums import add_row, sum_rows
from .vectors import add, fence, load, store


@piece
def copy_halves(target: int, source: int, n: int, unit: Any) -> None:
    for i in range(n):
        write_u16(target, 2 * i, read_u16(source, 2 * i))


def _taker(name: str, load_rows: Any, copy_few: Any) -> Any:
    @piece_named(f"{name}_gradients")
    def take_in(planes: Any, n: int, scratch: Scratch, unit: Any) -> None:
        """n gradients of each of eight planes, at least a vector of them, divided, as pixels; none is read twice, but
        for the last vector, which is laid back over its predecessor."""
        for start in range(0, n, LANES):
            i = min(start, n - LANES)
            quotients = divide_each(load_rows(planes, i, unit), load(scratch.divisors, i, unit))
            store_each(eight_at(scratch.places + 8 * i), 0, transpose(quotients))

    @piece_named(name)
    def take(n: int, scratch: Scratch, unit: Any) -> None:
        if n < LANES:
            for lane in range(LANES):
                copy_few(read_i64(scratch.edges, 8 * lane), read_i64(scratch.planes, 8 * lane), n, unit)
            take_in(eight_at(scratch.edges), n - n + LANES, scratch, unit)  # not a literal, as in give
        else:
            take_in(eight_at(scratch.planes), n, scratch, unit)

    return take


@inlined_piece
def rows_at(i: int, scratch: Scratch, unit: Any) -> Any:
    """Eight elements of each of eight planes."""
    return transpose(load_each(eight_at(scratch.pixels + 8 * i), 0, unit))


def _writer(name: str, store_rows: Any) -> Any:
    @piece_named(name)
    def give_out(planes: Any, begin: int, end: int, scratch: Scratch, unit: Any) -> None:
        """Elements ``begin`` to ``end`` of each of eight planes; at least a vector of them lies before the end."""
        for start in range(begin, end, LANES):
            i = min(start, end - LANES)
            store_rows(planes, i, rows_at(i, scratch, unit))

    return give_out


def _giver(name: str, give_out: Any, copy_few: Any) -> Any:
    @piece_named(name)
    def give(plan: Any, n: int, streaming: bool, scratch: Scratch, unit: Any) -> None:
        begin = n - n  # not a plain zero: Numba would compile what is given one once more
        if n < LANES:
            give_out(eight_at(scratch.edges), begin, begin + LANES, scratch, unit)
            for lane in range(LANES):
                copy_few(read_i64(scratch.planes, 8 * lane), read_i64(scratch.edges, 8 * lane), n, unit)
        else:
            give_out(eight_at(scratch.planes), begin, n, scratch, unit)

    return give


give_out_floats = _writer("give_out_floats", store_each)
give_floats_by_caches = _giver("give_floats_by_caches", give_out_floats, copy_exactly)


@piece
def stream_lines(planes: Any, begin: int, end: int, scratch: Scratch, unit: Any) -> None:
    """Elements past the caches, in whole cache lines of 64 bytes: with eight planes at once halves of lines would pile
    up. A line is two vectors of float32, or one of float64."""
    for i in range(begin, end, 2 * LANES):
        stream_each_pair(planes, i, rows_at(i, scratch, unit), rows_at(i + LANES, scratch, unit))


@piece
def give_floats(plan: Any, n: int, streaming: bool, scratch: Scratch, unit: Any) -> None:
    if streaming:
        # Up to the first whole line, and behind the last, as usual; all planes begin at the same place of a line.
        planes = eight_at(scratch.planes)
        begin = (LINE - planes[0] % LINE) % LINE // plan.itemsize
        end = begin + (n - begin) // (2 * LANES) * (2 * LANES)
        if begin:
            give_out_floats(planes, n - n, max(begin, LANES), scratch, unit)
        stream_lines(planes, begin, end, scratch, unit)
        give_out_floats(planes, end, n, scratch, unit)
    else:
        give_floats_by_caches(plan, n, streaming, scratch, unit)


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


def _kernel(name: str, take: Any, give: Any) -> Any:
    def kernel(
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
        tabulate_gradients(plan, geometry, scratch, pixel, unit)
        tabulate_columns(plan, geometry, scratch, pixel)
        tabulate_pixels(plan, geometry, scratch, pixel)
        tabulate_edges(scratch, pixel)
        for more in range(LANES):  # what a plane shorter than a vector reads beyond its end
            write_i64(scratch.pixels, 8 * (elements + more), scratch.quotients)
        fill(scratch.quotients, 0, (geometry.rows * geometry.pitch + geometry.terms) * LANES, unit)
        for p in range(begin, end, LANES):
            tabulate_planes(scratch, grad, plan.grad_steps, plan.channels, p, end)
            take(gradients, scratch, unit)
            if geometry.terms > 1:
                sum_windows(geometry, scratch, pixel, unit)
            if plan.overlapping:
                sum_all_rows(plan, geometry, scratch, pixel, unit)
            tabulate_planes(scratch, result, plan.result_steps, plan.channels, p, end)
            give(plan, elements, streaming, scratch, unit)
        if streaming:
            fence()
        return NOTHING

    kernel.__name__ = kernel.__qualname__ = name  # kernels are kept on disk by their names
    return kernel


# By the type that tensors store: the compute type, float16 or bfloat16.
average_lanes = _kernel("average_lanes", _taker("take_floats", load_each, copy_exactly), give_floats)
average_lanes_of_halves = _kernel(
    "average_lanes_of_halves",
    _taker("take_halves", load_each_half, copy_halves),
    _giver("give_halves", _writer("give_out_halves", store_each_half), copy_halves),
)
average_lanes_of_bfloats = _kernel(
    "average_lanes_of_bfloats",
    _taker("take_bfloats", load_each_bfloat, copy_halves),
    _giver("give_bfloats", _writer("give_out_bfloats", store_each_bfloat), copy_halves),
)
