"""Averages of windows: sums along W, then H, then D, each from +0.0 on in ascending order, and one division."""

from __future__ import annotations

from typing import Any

from ..average.quotients import scale_divisors
from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import add, as_unit, divide, load, read, splat, store, type_as, write
from ..record import LANES, NOTHING
from .lanes import Group, give_row, planes_of
from .rows import Scratch, pooling


@piece
def sum_columns(
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
    """Add what columns ``begin`` to ``end`` of a row hold of the windows from ``low`` on to their sums."""
    for i in range(low, number):
        first, stop = read_i64(scratch.firsts, 8 * i), min(read_i64(scratch.stops, 8 * i), end)
        if first >= end:
            break
        total = load(at, LANES * i, unit) if first < begin else splat(unit)
        first = max(first, begin)
        w, n = LANES * (first - begin), stop - first
        if n == 3:
            total = add(add(total, load(staged, w, unit)), load(staged, w + LANES, unit))
            total = add(total, load(staged, w + 2 * LANES, unit))
        elif n == 2:
            total = add(add(total, load(staged, w, unit)), load(staged, w + LANES, unit))
        else:
            for j in range(n):
                total = add(total, load(staged, w + LANES * j, unit))
        store(at, LANES * i, total)


@piece
def sum_rows(target: int, count: int, number: int, scratch: Scratch, unit: Any) -> None:
    """The sum of ``count`` rows that stand in a table."""
    one, two, three = (
        read_i64(scratch.rows, 0),
        read_i64(scratch.rows, 8),
        read_i64(scratch.rows, 8 * min(2, count - 1)),
    )
    for i in range(0, LANES * number, LANES):
        total = load(one, i, unit)
        if count > 1:
            total = add(total, load(two, i, unit))
        if count > 2:
            total = add(total, load(three, i, unit))
        for j in range(3, count):
            total = add(total, load(read_i64(scratch.rows, 8 * j), i, unit))
        store(target, i, total)


@inlined_piece
def set_zero(at: int, number: int, unit: Any) -> None:
    for i in range(0, LANES * number, LANES):
        store(at, i, splat(unit))


@piece
def divide_row(plan: Any, od: int, oh: int, left: int, row: int, number: int, scratch: Scratch, unit: Any) -> None:
    """Each sum by what its window counts; in float64 where the compute type can't hold that."""
    scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
    if plan.large_divisors:
        for i in range(number):
            divisor = float(scale * count_of(plan, COLUMNS, left + i))
            for lane in range(LANES * i, LANES * i + LANES):
                write(row, lane, type_as(float(read(row, lane, unit)) / divisor, unit))
        return
    known = read_i64(scratch.known, 16)
    if known == 0:  # a new tile
        for i in range(number):
            write(scratch.counts, i, as_unit(count_of(plan, COLUMNS, left + i), unit))
    if known != scale:
        write_i64(scratch.known, 16, scale)
        scale_divisors(scratch.divisors, scratch.counts, scale, number, unit)
    for i in range(number):
        quotient = divide(load(row, LANES * i, unit), splat(read(scratch.divisors, i, unit)))
        store(row, LANES * i, quotient)


@piece
def give_averages(
    plan: Any, group: Group, row: int, left: int, n: int, result: int, indices: int, scratch: Scratch, unit: Any
) -> None:
    steps, height = plan.result_steps, plan.out[ROWS]
    offset = row // height * steps[2] + row % height * steps[3] + left * steps[4]
    planes = planes_of(plan, result, steps, group)
    give_row(plan, planes, offset, scratch.results, n, scratch.edge, unit)


_average_rows = pooling("pooled_averages", sum_columns, sum_rows, set_zero, (divide_row, give_averages))


def pool_average(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over groups of planes, layers and rows."""
    _average_rows(records[0], x, result, begin - begin, floats, integers, begin, end, unit)
    return NOTHING
