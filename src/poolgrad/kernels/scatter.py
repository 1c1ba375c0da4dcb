"""The gradient of every maximum: add each gradient where its index points, in its own plane.

Gradients of one plane are added in ascending order of their place, so duplicates always add up to the same bits.
The range of an index is data, so it is checked here, before the write that it names.
"""

from __future__ import annotations

from typing import Any

from .memory import add_at, piece, read_i64
from .rows import load_indices, load_row, store_row, zero_row
from .vectors import LANES, read, splat, store

NOTHING = -1


@piece
def clear_plane(plan: Any, target: int) -> None:
    if plan.result_steps[3] == plan.size[2] * plan.result_steps[4]:  # rows touch: one long row
        zero_row(target, plan.result_steps[4], plan.code, plan.size[1] * plan.size[2])
    else:
        for h in range(plan.size[1]):
            zero_row(target + h * plan.result_steps[3], plan.result_steps[4], plan.code, plan.size[2])


@piece
def store_plane(plan: Any, target: int, plane: int, unit: Any) -> None:
    width = plan.size[2]
    if plan.result_steps[3] == width * plan.result_steps[4]:
        store_row(target, plan.result_steps[4], plan.code, plane, plan.size[1] * width, unit)
    else:
        for h in range(plan.size[1]):
            row = plane + h * width * plan.itemsize
            store_row(target + h * plan.result_steps[3], plan.result_steps[4], plan.code, row, width, unit)


@piece
def add_rows(
    q: int, where: int, n: int, target: int, height: int, width: int, row_step: int, step: int, unit: Any
) -> int:
    """Add n gradients to a plane in memory; returns the place of the first index outside it, or NOTHING."""
    size = height * width
    if row_step == width * step:
        for i in range(n):
            index = read_i64(where, 8 * i)
            if index < 0 or index >= size:
                return i
            add_at(target, index * step, read(q, i, unit))
    else:
        for i in range(n):
            index = read_i64(where, 8 * i)
            if index < 0 or index >= size:
                return i
            add_at(target, index // width * row_step + index % width * step, read(q, i, unit))
    return NOTHING


def scatter(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    height, width = plan.size[1], plan.size[2]
    out_height, out_width = plan.out[1], plan.out[2]
    chunk, itemsize = plan.chunk, plan.itemsize
    plane = floats + chunk * itemsize
    for p in range(begin, end):
        n, c = p // plan.channels, p % plan.channels
        source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
        pointers = indices + n * plan.index_steps[0] + c * plan.index_steps[1]
        target = result + n * plan.result_steps[0] + c * plan.result_steps[1]
        if plan.direct:
            into, row_step, step = target, plan.result_steps[3], plan.result_steps[4]
            clear_plane(plan, target)
        else:
            into, row_step, step = plane, width * itemsize, itemsize
            for i in range(0, height * width, LANES):
                store(plane, i, splat(unit))
        for oh in range(out_height):
            for left in range(0, out_width, max(chunk, 1)):
                number = min(chunk, out_width - left)
                at = oh * plan.grad_steps[3] + left * plan.grad_steps[4]
                load_row(source + at, plan.grad_steps[4], plan.code, 0, floats, number, unit)
                at = oh * plan.index_steps[3] + left * plan.index_steps[4]
                load_indices(pointers + at, plan.index_steps[4], plan.index_code, integers, number)
                bad = add_rows(floats, integers, number, into, height, width, row_step, step, unit)
                if bad != NOTHING:
                    return (p * out_height + oh) * out_width + left + bad
        if not plan.direct:
            store_plane(plan, target, plane, unit)
    return NOTHING
