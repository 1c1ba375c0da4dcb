"""Maxima of windows, and where they stand: along W, then H, then D.

The first of equal numbers wins in each row, the first row wins against later ones, and NaN takes over from everything
before it. So the order of the elements in a plane decides, row by row, as if they were looked at one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..geometry import COLUMNS, ROWS
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i32, write_i64
from ..jit.places import larger, larger_number, place_at, splat_place, store_places_32, store_places_64
from ..jit.vectors import itemsize, load, splat, store, type_as
from ..record import INT32, LANES, NOTHING
from .lanes import Group, give_row, lanes_giver, pixels_giver, planes_of, take_row
from .rows import Scratch, pooling

# A pixel: a vector of maxima, and one of their places.
PIXEL = 2 * LANES


@piece
def compare_columns(
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
    dilation, base = plan.dilation[COLUMNS], row * plan.size[COLUMNS]
    for i in range(low, number):
        w, stop = read_i64(scratch.firsts, 8 * i), min(read_i64(scratch.stops, 8 * i), end)
        if w >= end:
            continue
        best, place = splat(type_as(-math.inf, unit)), splat_place(base + w, unit)
        if w < begin:
            best, place = load(at, PIXEL * i, unit), load(at, PIXEL * i + LANES, unit)
            w += -(-(begin - w) // dilation) * dilation
        while w < stop:
            value = load(staged, LANES * (w - begin), unit)
            best, place = larger(best, place, value, splat_place(base + w, unit))
            w += dilation
        store(at, PIXEL * i, best)
        store(at, PIXEL * i + LANES, place)


@piece
def compare_rows(target: int, count: int, number: int, scratch: Scratch, unit: Any) -> None:
    """The best of ``count`` rows that stand in a table."""
    first = read_i64(scratch.rows, 0)
    for i in range(0, PIXEL * number, PIXEL):
        best, place = load(first, i, unit), load(first, i + LANES, unit)
        for j in range(1, count):
            row = read_i64(scratch.rows, 8 * j)
            best, place = larger(best, place, load(row, i, unit), load(row, i + LANES, unit))
        store(target, i, best)
        store(target, i + LANES, place)


@piece
def set_lowest(at: int, number: int, unit: Any) -> None:
    """Windows that hold nothing but padding."""
    for i in range(0, PIXEL * number, PIXEL):
        store(at, i, splat(type_as(-math.inf, unit)))
        store(at, i + LANES, splat(unit))


_give_32, _give_64 = lanes_giver("give_places_32", store_places_32), lanes_giver("give_places_64", store_places_64)
_give_pixels_32 = pixels_giver("give_pixels_of_places_32", store_places_32)
_give_pixels_64 = pixels_giver("give_pixels_of_places_64", store_places_64)


@piece
def give_places(plan: Any, planes: Any, offset: int, source: int, n: int, unit: Any) -> None:
    """n pixels of places into the indices of eight planes."""
    steps, narrow = plan.index_steps[4], plan.index_code == INT32
    if plan.pixel and narrow:
        _give_pixels_32(planes[0] + offset, steps, source, PIXEL, n, unit)
    elif plan.pixel:
        _give_pixels_64(planes[0] + offset, steps, source, PIXEL, n, unit)
    elif narrow and steps == 4 and n >= LANES:
        _give_32(planes, offset, source, PIXEL, n, unit)
    elif not narrow and steps == 8 and n >= LANES:
        _give_64(planes, offset, source, PIXEL, n, unit)
    else:
        for lane in range(LANES):
            for i in range(n):
                place, at = place_at(source, PIXEL * i + lane, unit), planes[lane] + offset
                if narrow:
                    write_i32(at, i * steps, np.int32(place))
                else:
                    write_i64(at, i * steps, place)


@piece
def give_maxima(
    plan: Any, group: Group, row: int, left: int, n: int, result: int, indices: int, scratch: Scratch, unit: Any
) -> None:
    steps, height = plan.result_steps, plan.out[ROWS]
    od, oh = row // height, row % height
    planes = planes_of(plan, result, steps, group)
    offset = od * steps[2] + oh * steps[3] + left * steps[4]
    give_row(plan, planes, offset, scratch.results, n, scratch.edge, unit)
    steps = plan.index_steps
    offset = od * steps[2] + oh * steps[3] + left * steps[4]
    places = scratch.results + LANES * itemsize(unit)
    give_places(plan, planes_of(plan, indices, steps, group), offset, places, n, unit)


_max_rows = pooling("pooled_maxima", compare_columns, compare_rows, set_lowest, give_maxima)


def values_pooling(name: str, lowest: Any, larger_of: Any, take: Any, give: Any) -> Any:
    """What makes rows of maxima alone; the windows have no dilation. It is made of what gives the least number of all,
    the larger one in each lane, and moves rows of planes."""

    @piece_named(f"{name}_columns")
    def compare(
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
            best = lowest(unit)
            if w < begin:
                best, w = load(at, LANES * i, unit), begin
            for column in range(w - begin, stop - begin):
                best = larger_of(best, load(staged, LANES * column, unit))
            store(at, LANES * i, best)

    @piece_named(f"{name}_rows")
    def compare_rows(target: int, count: int, number: int, scratch: Scratch, unit: Any) -> None:
        """The best of ``count`` rows that stand in a table."""
        first = read_i64(scratch.rows, 0)
        for i in range(0, LANES * number, LANES):
            best = load(first, i, unit)
            for j in range(1, count):
                best = larger_of(best, load(read_i64(scratch.rows, 8 * j), i, unit))
            store(target, i, best)

    @piece_named(f"{name}_nothing")
    def set_nothing(at: int, number: int, unit: Any) -> None:
        """Windows that hold nothing but padding."""
        for i in range(0, LANES * number, LANES):
            store(at, i, lowest(unit))

    @piece_named(f"{name}_given")
    def give_values(
        plan: Any, group: Group, row: int, left: int, n: int, result: int, unused: int, scratch: Scratch, unit: Any
    ) -> None:
        steps, height = plan.result_steps, plan.out[ROWS]
        offset = row // height * steps[2] + row % height * steps[3] + left * steps[4]
        give(plan, planes_of(plan, result, steps, group), offset, scratch.results, n, scratch.edge, unit)

    return pooling(f"{name}_pooled", compare, compare_rows, set_nothing, give_values, take)


@inlined_piece
def _lowest(unit: Any) -> Any:
    return splat(type_as(-math.inf, unit))


_value_rows = values_pooling("pool_max_values", _lowest, larger_number, take_row, give_row)


def pool_max_values(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """The same without places."""
    _value_rows(records[0], x, result, result, floats, integers, begin, end, unit)
    return NOTHING


def pool_max(
    records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over groups of planes, layers and rows."""
    _max_rows(records[0], x, result, indices, floats, integers, begin, end, unit)
    return NOTHING
