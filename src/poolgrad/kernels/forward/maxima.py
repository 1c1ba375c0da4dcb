"""Maxima of windows, and where they stand: along W, then H, then D.

The first of equal numbers wins in each row, the first row wins against later ones, and NaN takes over from everything
before it. So the order of the elements in a plane decides, row by row, as if they were looked at one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..geometry import COLUMNS
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i32, write_i64
from ..jit.places import larger, larger_number, place_at, splat_place, store_places_32, store_places_64
from ..jit.vectors import itemsize, load, splat, store, type_as
from ..record import INT32, LANES, NOTHING
from .lanes import few_giver, give_row, lanes_giver, offset_of, pixels_giver, take_row
from .rows import Scratch, lanes_pooling, numbers_pooling, rows_joiner

# A pixel: a vector of maxima, and one of their places.
PIXEL = 2 * LANES


@inlined_piece
def lowest(unit: Any) -> Any:
    """What every number takes over from."""
    return splat(type_as(-math.inf, unit))


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
        best, place = lowest(unit), splat_place(base + w, unit)
        if w < begin:
            best, place = load(at, PIXEL * i, unit), load(at, PIXEL * i + LANES, unit)
            w += -(-(begin - w) // dilation) * dilation
        while w < stop:
            value = load(staged, LANES * (w - begin), unit)
            best, place = larger(best, place, value, splat_place(base + w, unit))
            w += dilation
        store(at, PIXEL * i, best)
        store(at, PIXEL * i + LANES, place)


@inlined_piece
def _take_both(row: int, i: int, unit: Any) -> Any:
    return load(row, i, unit), load(row, i + LANES, unit)


@inlined_piece
def larger_of_places(one: Any, other: Any) -> Any:
    return larger(one[0], one[1], other[0], other[1])


@inlined_piece
def put_both(at: int, i: int, best: Any) -> None:
    """Maxima, and behind them their places."""
    store(at, i, best[0])
    store(at, i + LANES, best[1])


compare_rows = rows_joiner("compare_rows", _take_both, larger_of_places, put_both, PIXEL)


@piece
def set_lowest(at: int, number: int, unit: Any) -> None:
    """Windows that hold nothing but padding."""
    for i in range(0, PIXEL * number, PIXEL):
        store(at, i, lowest(unit))
        store(at, i + LANES, splat(unit))


@inlined_piece
def size_of_narrow_place(unit: Any) -> int:
    return 4


@inlined_piece
def size_of_wide_place(unit: Any) -> int:
    return 8


_give_32, _give_64 = lanes_giver("give_places_32", store_places_32), lanes_giver("give_places_64", store_places_64)
_give_few_32 = few_giver("give_few_places_32", store_places_32, size_of_narrow_place)
_give_few_64 = few_giver("give_few_places_64", store_places_64, size_of_wide_place)
_give_pixels_32 = pixels_giver("give_pixels_of_places_32", store_places_32)
_give_pixels_64 = pixels_giver("give_pixels_of_places_64", store_places_64)


@piece
def give_places(plan: Any, planes: Any, offset: int, source: int, n: int, edge: int, unit: Any) -> None:
    """n pixels of places into the indices of eight planes."""
    steps, narrow = plan.index_steps[4], plan.index_code == INT32
    done = plan.pixel or (n >= LANES and steps == (4 if narrow else 8))
    if plan.pixel and narrow:
        _give_pixels_32(planes[0] + offset, steps, source, PIXEL, n, unit)
    elif plan.pixel:
        _give_pixels_64(planes[0] + offset, steps, source, PIXEL, n, unit)
    elif narrow and steps == 4 and n >= LANES:
        _give_32(planes, offset, source, PIXEL, n, unit)
    elif not narrow and steps == 8 and n >= LANES:
        _give_64(planes, offset, source, PIXEL, n, unit)
    elif narrow and steps == 4:
        done = _give_few_32(planes, offset, source, PIXEL, n, edge, unit)
    elif not narrow and steps == 8:
        done = _give_few_64(planes, offset, source, PIXEL, n, edge, unit)
    for lane in range(0 if done else LANES):
        for i in range(n):
            place, at = place_at(source, PIXEL * i + lane, unit), planes[lane] + offset
            if narrow:
                write_i32(at, i * steps, np.int32(place))
            else:
                write_i64(at, i * steps, place)


@piece
def give_maxima(plan: Any, planes: Any, places: Any, row: Any, left: int, n: int, scratch: Scratch, unit: Any) -> None:
    give_row(plan, planes, offset_of(plan.result_steps, row, left), scratch.results, n, scratch.edge, unit)
    there = scratch.results + LANES * itemsize(unit)
    give_places(plan, places, offset_of(plan.index_steps, row, left), there, n, scratch.edge, unit)


_max_rows = lanes_pooling("pooled_maxima", compare_columns, compare_rows, set_lowest, give_maxima)


def values_pooling(name: str, least: Any, larger_of: Any, take: Any, give: Any) -> Any:
    """What makes rows of maxima alone, of what gives the least number of all and the larger one in each lane, and moves
    rows of planes."""

    @piece_named(f"{name}_given")
    def give_values(
        plan: Any, planes: Any, unused: Any, row: Any, left: int, n: int, scratch: Scratch, unit: Any
    ) -> None:
        offset = offset_of(plan.result_steps, row, left)
        give(plan, planes, offset, scratch.results, n, scratch.edge, unit)

    return numbers_pooling(name, least, larger_of, give_values, take)


_value_rows = values_pooling("pool_max_values", lowest, larger_number, take_row, give_row)


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
