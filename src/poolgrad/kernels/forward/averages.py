"""Averages of windows: sums along W, then H, then D, from +0.0 in ascending order, and one division.

A divisor is the exact integer ``scale`` (of the row) times a count (of the column), as the compute type holds it; where
it can't hold them all the division is done in float64.
"""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.memory import piece, read_i64
from ..jit.vectors import add, as_unit, divide, load, read, splat, store, type_as, write
from ..record import LANES, NOTHING
from .lanes import give_row, offset_of
from .rows import Scratch, next_row, numbers_pooling


@piece
def divide_sums(plan: Any, sums: int, scale: int, number: int, scratch: Scratch, unit: Any) -> None:
    """Sums of a row of windows, each by what its window counts."""
    for i in range(number):
        divisor = scale * read_i64(scratch.counts, 8 * i)
        if plan.large_divisors:
            for lane in range(LANES * i, LANES * (i + 1)):
                write(sums, lane, type_as(float(read(sums, lane, unit)) / float(divisor), unit))
        else:
            store(sums, LANES * i, divide(load(sums, LANES * i, unit), splat(as_unit(divisor, unit))))


@piece
def give_averages(
    plan: Any, planes: Any, unused: Any, row: Any, left: int, n: int, scratch: Scratch, unit: Any
) -> None:
    (od, oh), number, sums = row, min(plan.tile, plan.out[COLUMNS] - left), scratch.results
    for _ in range(0, n, number):
        scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
        divide_sums(plan, sums, scale, number, scratch, unit)
        sums += number * LANES * plan.itemsize
        od, oh = next_row(od, oh, plan.out[ROWS])
    give_row(plan, planes, offset_of(plan.result_steps, row, left), scratch.results, n, scratch.edge, unit)


_average_rows = numbers_pooling("averages", splat, add, give_averages)


def pool_average(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over groups of planes, layers and rows."""
    _average_rows(records[0], x, result, result, floats, integers, begin, end, unit)
    return NOTHING
