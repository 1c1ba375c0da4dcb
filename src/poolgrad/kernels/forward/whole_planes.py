"""Averages of whole planes: one window over each, as at the end of most networks.

Nothing is looked up and no row waits for another. Eight planes are added at a time, one to a lane; if there are fewer,
eight rows of each. The order of additions is that of rows.py: along W, then H, then D.
"""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, DEPTH, ROWS, count_of, elements_in
from ..jit.memory import inlined_piece, piece
from ..jit.vectors import add, as_unit, divide, load, read, splat, store, type_as, write
from ..record import LANES, NOTHING
from ..rows import store_row
from ..runtime.stopping import shall_stop
from .lanes import group_of, plane_of, planes_of, take_row


@inlined_piece
def length_of(plan: Any, left: int) -> int:
    """How many elements are taken in at once. The last ones are no fewer than a vector, if there are as many."""
    return left if left < plan.chunk + LANES else plan.chunk


@piece
def sums_of_planes(plan: Any, planes: Any, staged: int, edge: int, unit: Any) -> Any:
    """The sum of each of eight planes."""
    width, height, n = plan.size[COLUMNS], plan.size[ROWS], elements_in(plan)
    zero = splat(unit)
    row = layer = total = zero
    begin = w = h = n - n
    while begin < n:
        length, i = length_of(plan, n - begin), n - n
        take_row(plan, planes, n - n, begin, length, staged, edge, unit)
        begin += length
        while i < length:
            stop = min(i + width - w, length)
            for j in range(i, stop):
                row = add(row, load(staged, LANES * j, unit))
            w += stop - i
            i = stop
            if w == width:
                layer, row, w = add(layer, row), zero, n - n
                h += 1
            if h == height:
                total, layer, h = add(total, layer), zero, n - n
    return total


@inlined_piece
def sums_of_rows(plan: Any, plane: int, first: int, rows: int, staged: int, edge: int, unit: Any) -> Any:
    """The sum of each of eight rows of a plane. The last one stands in for those that are not there."""
    step, last, width, total = plan.grad_steps[3], rows - 1, plan.size[COLUMNS], splat(unit)
    lanes = (
        plane + first * step,
        plane + min(first + 1, last) * step,
        plane + min(first + 2, last) * step,
        plane + min(first + 3, last) * step,
        plane + min(first + 4, last) * step,
        plane + min(first + 5, last) * step,
        plane + min(first + 6, last) * step,
        plane + min(first + 7, last) * step,
    )
    begin = first - first
    while begin < width:
        length = length_of(plan, width - begin)
        take_row(plan, lanes, first - first, begin, length, staged, edge, unit)
        begin += length
        for j in range(length):
            total = add(total, load(staged, LANES * j, unit))
    return total


@piece
def sum_of_plane(plan: Any, plane: int, staged: int, edge: int, units: int, unit: Any) -> Any:
    """The sum of one plane, by its rows."""
    height, rows = plan.size[ROWS], plan.size[DEPTH] * plan.size[ROWS]
    layer = total = unit
    for first in range(0, rows, LANES):
        if shall_stop(plan, LANES, rows, units):
            break
        store(edge, 0, sums_of_rows(plan, plane, first, rows, staged, edge, unit))
        for h in range(first, min(first + LANES, rows)):
            layer = layer + read(edge, h - first, unit)
            if (h + 1) % height == 0:
                total, layer = total + layer, unit
    return total


@piece
def give(plan: Any, result: int, first: int, n: int, sums: int, unit: Any) -> None:
    """The averages of n planes that follow each other, from their sums."""
    divisor = plan.divisor * count_of(plan, DEPTH, 0) * count_of(plan, ROWS, 0) * count_of(plan, COLUMNS, 0)
    if plan.large_divisors:
        for i in range(n):
            write(sums, i, type_as(float(read(sums, i, unit)) / float(divisor), unit))
    else:
        divisors = splat(as_unit(divisor, unit))
        for i in range(0, n, LANES):
            store(sums, i, divide(load(sums, i, unit), divisors))
    steps, channels = plan.result_steps, plan.channels
    if plan.dense_results:
        store_row(result + first * steps[4], steps[4], plan.code, sums, n, unit)
    else:
        for i in range(n):
            at = result + (first + i) // channels * steps[0] + (first + i) % channels * steps[1]
            store_row(at, steps[4], plan.code, sums + i * plan.itemsize, n - n + 1, unit)


def pool_average_whole_planes(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Groups ``begin`` to ``end`` of eight planes."""
    plan = records[0]
    edge = floats + (plan.chunk + LANES) * LANES * plan.itemsize
    sums = edge + (plan.chunk + LANES) * plan.itemsize
    for first in range(begin, end, plan.batch):
        some = min(plan.batch, end - first)
        for i in range(some):
            planes = planes_of(plan, x, plan.grad_steps, group_of(plan, first + i))
            store(sums, LANES * i, sums_of_planes(plan, planes, floats, edge, unit))
        give(plan, result, first * LANES, min(some * LANES, plan.planes - first * LANES), sums, unit)
    return NOTHING


def pool_average_few_whole_planes(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``."""
    plan = records[0]
    edge = floats + (plan.chunk + LANES) * LANES * plan.itemsize
    sums = edge + (plan.chunk + LANES) * plan.itemsize
    for first in range(begin, end):
        plane = plane_of(plan, x, plan.grad_steps, group_of(plan, begin - begin), first)
        write(sums, 0, sum_of_plane(plan, plane, floats, edge, end - begin, unit))
        give(plan, result, first, begin - begin + 1, sums, unit)
    return NOTHING
