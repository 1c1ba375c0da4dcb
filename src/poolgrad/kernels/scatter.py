"""The gradient of every maximum: add each gradient where its index points, in its own plane.

Gradients of one plane are added in ascending order of their place, so duplicates always add up to the same bits.
The range of an index is data, so it is checked here, before the write that it names.
"""

from __future__ import annotations

from typing import Any

from numba import types

from .memory import add_at, inlined_piece, piece, read_at, read_i32, read_i64
from .record import BFLOAT16, FLOAT16, INT32, LANES
from .rows import load_row, store_row, zero_row
from .vectors import splat, store

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


@inlined_piece
def is_outside(index: int, size: int) -> bool:
    """One comparison for both ends: a negative index is a huge unsigned one."""
    return types.uint64(index) >= types.uint64(size)


@piece
def add_run(
    grads: int,
    step: int,
    indices: int,
    index_step: int,
    index_code: int,
    n: int,
    target: int,
    height: int,
    width: int,
    row_step: int,
    target_step: int,
    unit: Any,
) -> int:
    """Add n gradients to a plane in memory; returns the place of the first index outside it, or NOTHING."""
    size = height * width
    flat = row_step == width * target_step  # the plane is one long row
    if flat and index_code == INT32:
        for i in range(n):
            index = types.int64(read_i32(indices, i * index_step))
            if is_outside(index, size):
                return i
            add_at(target, index * target_step, read_at(grads, i * step, unit))
    elif flat:
        for i in range(n):
            index = read_i64(indices, i * index_step)
            if is_outside(index, size):
                return i
            add_at(target, index * target_step, read_at(grads, i * step, unit))
    else:
        for i in range(n):
            at = i * index_step
            index = types.int64(read_i32(indices, at)) if index_code == INT32 else read_i64(indices, at)
            if is_outside(index, size):
                return i
            place = index // width * row_step + index % width * target_step
            add_at(target, place, read_at(grads, i * step, unit))
    return NOTHING


@piece
def clear_together(plan: Any, target: int, number: int) -> None:
    """Zero some neighbouring channels of every pixel."""
    steps = plan.result_steps
    for h in range(plan.size[1]):
        row = target + h * steps[3]
        if number * plan.itemsize == steps[4]:  # all channels: a row of pixels is one long row of numbers
            zero_row(row, plan.itemsize, plan.code, plan.size[2] * number)
        else:
            for w in range(plan.size[2]):
                zero_row(row + w * steps[4], plan.itemsize, plan.code, number)


@piece
def add_together(plan: Any, grads: int, indices: int, target: int, number: int, unit: Any) -> bool:
    """Add the gradients of some neighbouring channels, pixel by pixel; False if an index is outside its plane."""
    width, size, itemsize = plan.size[2], plan.size[1] * plan.size[2], plan.itemsize
    row_step, step = plan.result_steps[3], plan.result_steps[4]
    flat = row_step == width * step
    for oh in range(plan.out[1]):
        for ow in range(plan.out[2]):
            source = grads + oh * plan.grad_steps[3] + ow * plan.grad_steps[4]
            where = indices + oh * plan.index_steps[3] + ow * plan.index_steps[4]
            for c in range(number):
                at = c * plan.index_steps[1]
                index = types.int64(read_i32(where, at)) if plan.index_code == INT32 else read_i64(where, at)
                if is_outside(index, size):
                    return False
                place = index * step if flat else index // width * row_step + index % width * step
                add_at(target, place + c * itemsize, read_at(source, c * plan.grad_steps[1], unit))
    return True


@piece
def first_outside(plan: Any, indices: int, begin: int, end: int) -> int:
    """The place of the first index outside its plane, counted over planes, rows and columns."""
    size = plan.size[1] * plan.size[2]
    for p in range(begin, end):
        pointers = indices + p // plan.channels * plan.index_steps[0] + p % plan.channels * plan.index_steps[1]
        for oh in range(plan.out[1]):
            for ow in range(plan.out[2]):
                at = oh * plan.index_steps[3] + ow * plan.index_steps[4]
                index = types.int64(read_i32(pointers, at)) if plan.index_code == INT32 else read_i64(pointers, at)
                if is_outside(index, size):
                    return (p * plan.out[1] + oh) * plan.out[2] + ow
    return NOTHING


@piece
def scatter_together(plan: Any, grad: int, indices: int, result: int, begin: int, end: int, unit: Any) -> int:
    """Where the channels of a pixel are neighbours in memory: all planes of an image at once, pixel by pixel.

    Plane by plane every cache line would be fetched once per channel. Within each plane the order is the same.
    """
    p = begin
    while p < end:
        n, c = p // plan.channels, p % plan.channels
        number = min(plan.channels - c, end - p)
        target = result + n * plan.result_steps[0] + c * plan.result_steps[1]
        clear_together(plan, target, number)
        grads = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
        pointers = indices + n * plan.index_steps[0] + c * plan.index_steps[1]
        if not add_together(plan, grads, pointers, target, number, unit):
            return first_outside(plan, indices, begin, end)
        p += number
    return NOTHING


def scatter(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    if plan.together:
        return scatter_together(plan, grad, indices, result, begin, end, unit)
    height, width, itemsize = plan.size[1], plan.size[2], plan.itemsize
    rows, columns = plan.out[1], plan.out[2]
    grad_step, index_step = plan.grad_steps[4], plan.index_steps[4]
    if plan.grad_steps[3] == columns * grad_step and plan.index_steps[3] == columns * index_step:
        rows, columns = 1, rows * columns  # gradients and indices of a plane are one long row each
    widened = plan.code in (FLOAT16, BFLOAT16)  # halves are widened into scratch before they are added
    chunk = plan.chunk if widened else columns
    plane = floats + plan.chunk * itemsize
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
        for oh in range(rows):
            for left in range(0, columns, max(chunk, 1)):
                number = min(chunk, columns - left)
                grads, here = source + oh * plan.grad_steps[3] + left * grad_step, grad_step
                if widened:
                    load_row(grads, grad_step, plan.code, 0, floats, number, unit)
                    grads, here = floats, itemsize
                where = pointers + oh * plan.index_steps[3] + left * index_step
                bad = add_run(
                    grads, here, where, index_step, plan.index_code, number, into, height, width, row_step, step, unit
                )
                if bad != NOTHING:
                    return (p * rows + oh) * columns + left + bad
        if not plan.direct:
            store_plane(plan, target, plane, unit)
    return NOTHING
