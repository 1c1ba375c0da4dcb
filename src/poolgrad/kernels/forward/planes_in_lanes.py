"""Averages of small planes as wholes: eight planes at a time, one to a lane, and sums that never leave registers.

Four columns of eight planes are loaded and turned in registers, over the ends of rows. Each row is summed alone, its
sum is added to that of its layer, and that to the plane's: so sums go along W, then H, then D, as everywhere. Whole
planes by rows (whole_planes.py) take memory from one end to the other, whatever the planes' size, but keep the sums of
rows in scratch, and turn them again.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.instructions import instruction
from ..jit.memory import inlined_piece
from ..jit.vectors import (
    Vector,
    add,
    as_unit,
    columns_of_quads,
    divide,
    itemsize,
    load,
    prefetch_near,
    quads_of,
    splat,
    store,
)
from ..record import LANES, LINE, NOTHING, PLANES_IN_LANES
from ..runtime.stopping import shall_stop_at
from .lanes import QUAD
from .whole_planes import give, plane_at

# Rows whose quads have no columns twice, whatever their width.
ROWS_AT_ONCE = 4


def _summer(width: int, rows: int) -> Any:
    """What sums some rows of eight planes, ``step`` bytes apart, each row from its first column on. The last quad is
    laid back where columns fill no whole ones."""
    starts = [*range(0, rows * width - QUAD + 1, QUAD)]
    if rows * width % QUAD:
        starts.append(rows * width - QUAD)

    def sums(builder: ir.IRBuilder, base: ir.Value, step: ir.Value, unit: ir.Value) -> list[ir.Value]:
        planes = [builder.add(base, builder.mul(step, ir.Constant(step.type, k))) for k in range(LANES)]
        found: list[ir.Value] = []
        column = 0
        for start in starts:
            pairs = zip(planes[:QUAD], planes[QUAD:], strict=True)
            quads = [quads_of(builder, *pair, ir.Constant(step.type, start), unit) for pair in pairs]
            for numbers in columns_of_quads(builder, quads)[column - start :]:
                zero = ir.Constant(numbers.type, [0.0] * LANES)
                before = zero if column % width == 0 else found.pop()
                found.append(builder.fadd(before, numbers))
                column += 1
        return found

    kinds = (types.int64, types.int64)
    return instruction(lambda base, step, unit: types.UniTuple(Vector(unit), rows)(*kinds, unit))(sums)


@inlined_piece
def with_row(total: Any, layer: Any, row: int, height: int, sums: Any, unit: Any) -> Any:
    """Sums of planes and of a layer, and its rows so far, after another row."""
    layer = add(layer, sums)
    if row + 1 == height:
        return add(total, layer), splat(unit), 0
    return total, layer, row + 1


@inlined_piece
def ask_for(memory: int, size: int, unit: Any) -> None:
    for line in range(0, size, LINE):
        prefetch_near(memory + line, 0, unit)


def make_kernel(name: str) -> Any:
    width = PLANES_IN_LANES[name]
    sums_of_four, sums_of_one = _summer(width, ROWS_AT_ONCE), _summer(width, 1)

    @inlined_piece
    def sum_planes(plan: Any, source: int, step: int, unit: Any) -> Any:
        height, rows = plan.size[ROWS], plan.size[DEPTH] * plan.size[ROWS]
        total = layer = splat(unit)
        row, at, later, size = 0, source, source + plan.soon, width * itemsize(unit)
        for _ in range(rows // ROWS_AT_ONCE):
            ask_for(later, ROWS_AT_ONCE * LANES * size, unit)
            sums = sums_of_four(at, step, unit)
            total, layer, row = with_row(total, layer, row, height, sums[0], unit)
            total, layer, row = with_row(total, layer, row, height, sums[1], unit)
            total, layer, row = with_row(total, layer, row, height, sums[2], unit)
            total, layer, row = with_row(total, layer, row, height, sums[3], unit)
            at, later = at + ROWS_AT_ONCE * size, later + ROWS_AT_ONCE * LANES * size
        for _ in range(rows % ROWS_AT_ONCE):
            ask_for(later, LANES * size, unit)
            total, layer, row = with_row(total, layer, row, height, sums_of_one(at, step, unit)[0], unit)
            at, later = at + size, later + LANES * size
        return total

    def pool(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
        """Planes ``begin`` to ``end``. The last eight of an image may be such as were summed before."""
        plan, first = records[0], begin
        divisor = plan.divisor * count_of(plan, DEPTH, 0) * count_of(plan, ROWS, 0) * count_of(plan, COLUMNS, 0)
        while first < end:
            last = first - first % plan.channels + plan.channels - LANES
            n = min(plan.batch, end - first, last + LANES - first)
            for i in range(first, first + n, LANES):
                if shall_stop_at(plan, (i - first) // LANES, plan.batch // LANES, n):
                    return NOTHING
                p = min(i, last)
                store(floats, LANES + p - first, sum_planes(plan, plane_at(plan, x, p), plan.grad_steps[1], unit))
            for i in range(LANES, LANES + n, LANES):
                store(floats, i, divide(load(floats, i, unit), splat(as_unit(divisor, unit))))
            give(plan, result, first, n, floats + LANES * itemsize(unit), unit)
            first += n
        return NOTHING

    return pool
