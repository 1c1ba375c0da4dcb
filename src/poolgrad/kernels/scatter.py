"""The gradient of every maximum: add each gradient where its index points, in its own plane.

Gradients of one plane are added in ascending order of their place, so duplicates always add up to the same bits.
The range of an index is data, so it is checked here, before the write that it names.
"""

from __future__ import annotations

from typing import Any

from .memory import add_at, piece
from .rows import load_indices, load_row, store_row, zero_row

NOTHING = -1


@piece
def clear_plane(plan: Any, target: int) -> None:
    for h in range(plan.size[1]):
        zero_row(target + h * plan.result_steps[3], plan.result_steps[4], plan.code, plan.size[2])


@piece
def store_plane(plan: Any, target: int, plane: Any) -> None:
    width = plan.size[2]
    for h in range(plan.size[1]):
        row = plane[h * width : (h + 1) * width]
        store_row(target + h * plan.result_steps[3], plan.result_steps[4], plan.code, row)


@piece
def add_to_array(q: Any, where: Any, plane: Any) -> int:
    """Returns the place of the first index outside the plane, or NOTHING."""
    for i in range(q.shape[0]):
        index = where[i]
        if index < 0 or index >= plane.shape[0]:
            return i
        plane[index] += q[i]
    return NOTHING


@piece
def add_to_memory(q: Any, where: Any, target: int, height: int, width: int, row_step: int, step: int) -> int:
    """The same, straight into the output's memory."""
    if row_step == width * step:
        for i in range(q.shape[0]):
            index = where[i]
            if index < 0 or index >= height * width:
                return i
            add_at(target, index * step, q[i])
    else:
        for i in range(q.shape[0]):
            index = where[i]
            if index < 0 or index >= height * width:
                return i
            add_at(target, index // width * row_step + index % width * step, q[i])
    return NOTHING


def scatter(
    records: Any, grad: int, indices: int, result: int, floats: Any, integers: Any, begin: int, end: int
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    height, width = plan.size[1], plan.size[2]
    out_height, out_width = plan.out[1], plan.out[2]
    chunk = plan.chunk
    plane = floats[chunk:]
    for p in range(begin, end):
        n, c = p // plan.channels, p % plan.channels
        source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
        pointers = indices + n * plan.index_steps[0] + c * plan.index_steps[1]
        target = result + n * plan.result_steps[0] + c * plan.result_steps[1]
        if plan.direct:
            clear_plane(plan, target)
        else:
            plane[:] = 0
        for oh in range(out_height):
            for left in range(0, out_width, max(chunk, 1)):
                number = min(chunk, out_width - left)
                q, where = floats[:number], integers[:number]
                at = oh * plan.grad_steps[3] + left * plan.grad_steps[4]
                load_row(source + at, plan.grad_steps[4], plan.code, 0, q)
                at = oh * plan.index_steps[3] + left * plan.index_steps[4]
                load_indices(pointers + at, plan.index_steps[4], plan.index_code, where)
                if plan.direct:
                    steps = plan.result_steps
                    bad = add_to_memory(q, where, target, height, width, steps[3], steps[4])
                else:
                    bad = add_to_array(q, where, plane)
                if bad != NOTHING:
                    return (p * out_height + oh) * out_width + left + bad
        if not plan.direct:
            store_plane(plan, target, plane)
    return NOTHING
