"""What average_lanes.py has to know of the geometry, looked up once for all planes: tables of addresses in scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..windows import ADAPTIVE
from .geometry import COLUMNS, DEPTH, ROWS, count_of, fewest_windows, most_windows, run_of
from .memory import inlined_piece, piece, read_i64, write_i64
from .record import LANES, MOST_DIRECT_TERMS
from .vectors import as_unit, write


class Scratch(NamedTuple):
    """One thread's working memory, as addresses. A pixel is a vector."""

    edge: int  # eight vectors, for planes shorter than a vector
    divisors: int  # of a plane's gradients
    quotients: int  # rows of pixels, with zeros around each
    one: int  # A
    other: int  # B
    layer: int  # one row of the result, for one layer
    result: int  # pixels of the result that are sums of several rows
    places: int  # for each gradient of a plane, where its pixel is among the quotients
    columns: int  # for each column, its pixel in the first row of A, B or quotients
    pixels: int  # for each element of the result's plane, its pixel
    runs: int  # for each row of a layer, first and one past the last window along H
    shifts: int  # rows that are added
    planes: int  # the eight planes
    edges: int  # the eight vectors at ``edge``


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
    shifts = runs + 16 * plan.size[ROWS]
    planes = shifts + 8 * MOST_DIRECT_TERMS
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
        shifts,
        planes,
        planes + 8 * LANES,
    )


@piece
def tabulate_gradients(plan: Any, geometry: Geometry, scratch: Scratch, pixel: int, unit: Any) -> None:
    """Divisor and place of every gradient of a plane; what lies beyond the last goes to a pixel that nobody reads."""
    g = 0
    nobody = scratch.quotients + geometry.rows * geometry.pitch * pixel
    for od in range(plan.out[DEPTH]):
        for oh in range(plan.out[ROWS]):
            scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
            row = (od * plan.out[ROWS] + oh) * geometry.pitch + geometry.margin
            for ow in range(plan.out[COLUMNS]):
                write(scratch.divisors, g, as_unit(scale * count_of(plan, COLUMNS, ow), unit))
                write_i64(scratch.places, 8 * g, scratch.quotients + (row + ow) * pixel)
                g += 1
    for more in range(LANES):
        write(scratch.divisors, g + more, as_unit(1, unit))
        write_i64(scratch.places, 8 * (g + more), nobody)


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


@piece
def tabulate_edges(scratch: Scratch, pixel: int) -> None:
    for lane in range(LANES):
        write_i64(scratch.edges, 8 * lane, scratch.edge + lane * pixel)


@inlined_piece
def plane_at(base: int, steps: Any, channels: int, p: int) -> int:
    if channels == 0:  # all planes follow each other in the same steps
        return base + p * steps[1]
    return base + p // channels * steps[0] + p % channels * steps[1]


@piece
def tabulate_planes(scratch: Scratch, base: int, steps: Any, channels: int, p: int, end: int) -> None:
    """Eight planes from p on; the last one stands in for those that are not there."""
    for lane in range(LANES):
        write_i64(scratch.planes, 8 * lane, plane_at(base, steps, channels, min(p + lane, end - 1)))
