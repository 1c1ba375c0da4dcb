"""The gradient of every maximum: add each gradient where its index points, in its own plane.

Two kernels: for planes that are runs of memory, and for anything else.
Gradients of one plane are added in ascending order of their place, so duplicates always add up to the same bits.
The range of an index is data, so it is checked here, before the write that it names.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..emitting import emit, fetch_row
from ..geometry import elements_in, windows_in
from ..jit.memory import add_at, inlined_piece, piece, read_at, read_i32, read_i64, stay_apart
from ..jit.vectors import fence, itemsize, read, splat, store
from ..record import BFLOAT16, FLOAT16, INT32, LANES, NOTHING
from ..rows import fill_exactly, index_at, load_row, store_row, zero_row
from ..runtime.stopping import MOST_AT_ONCE, is_stopped, shall_stop
from .aliasing import place_for
from .fallback import is_outside, offset_of
from .planes import plane_at

# From layer to layer, row to row and column to column, in bytes.
Steps = tuple[int, int, int]
# So many elements of a plane are cleared at a time. Twice as many take up to 4 % longer, four times as many 10 %.
CLEARED_AHEAD = 512


@inlined_piece
def is_one_row(plan: Any, steps: Steps) -> bool:
    """Whether rows touch, and layers too: a plane with such steps is one long row."""
    layer, row, step = steps
    return row == plan.size[2] * step and (plan.size[0] == 1 or layer == plan.size[1] * row)


@inlined_piece
def result_steps(plan: Any) -> Steps:
    return plan.result_steps[2], plan.result_steps[3], plan.result_steps[4]


@inlined_piece
def row_at(plan: Any, target: int, h: int) -> int:
    """Where a row of the result begins, counted over all layers of a plane."""
    return target + h // plan.size[1] * plan.result_steps[2] + h % plan.size[1] * plan.result_steps[3]


@piece
def clear_plane(plan: Any, target: int) -> None:
    step = plan.result_steps[4]
    if is_one_row(plan, result_steps(plan)):
        size = elements_in(plan)
        for first in range(0, size, MOST_AT_ONCE):
            if is_stopped(plan):
                break
            zero_row(target + first * step, step, plan.code, min(MOST_AT_ONCE, size - first))
    else:
        for h in range(plan.size[0] * plan.size[1]):
            if is_stopped(plan):
                break
            zero_row(row_at(plan, target, h), step, plan.code, plan.size[2])


@piece
def store_plane(plan: Any, target: int, plane: int, unit: Any) -> None:
    width, step = plan.size[2], plan.result_steps[4]
    if is_one_row(plan, result_steps(plan)):
        size = elements_in(plan)
        for first in range(0, size, MOST_AT_ONCE):
            if is_stopped(plan):
                break
            here = min(MOST_AT_ONCE, size - first)
            store_row(target + first * step, step, plan.code, plane + first * plan.itemsize, here, unit)
    else:
        for h in range(plan.size[0] * plan.size[1]):
            if is_stopped(plan):
                break
            store_row(row_at(plan, target, h), step, plan.code, plane + h * width * plan.itemsize, width, unit)


@piece
def add_run(plan: Any, grads: int, step: int, indices: int, n: int, target: int, steps: Steps, unit: Any) -> int:
    """Add n gradients to a plane in memory; returns the place of the first index outside it, or NOTHING."""
    index_step, index_code, size, flat = (
        plan.index_steps[4],
        plan.index_code,
        elements_in(plan),
        is_one_row(plan, steps),
    )
    for i in range(n):
        at = i * index_step
        index = index_at(indices, at, index_code)
        if is_outside(index, size):
            return i
        place = index * steps[2] if flat else offset_of(plan, index, steps[0], steps[1], steps[2])
        add_at(target, place, read_at(grads, i * step, unit))
    return NOTHING


@piece
def first_outside(plan: Any, indices: int, begin: int, end: int) -> int:
    """The place of the first index outside its plane, counted over planes, layers, rows and columns."""
    size = elements_in(plan)
    for p in range(begin, end):
        pointers = indices + p // plan.channels * plan.index_steps[0] + p % plan.channels * plan.index_steps[1]
        for row in range(plan.out[0] * plan.out[1]):
            if is_stopped(plan):
                return NOTHING
            od, oh = row // plan.out[1], row % plan.out[1]
            for ow in range(plan.out[2]):
                at = od * plan.index_steps[2] + oh * plan.index_steps[3] + ow * plan.index_steps[4]
                index = index_at(pointers, at, plan.index_code)
                if is_outside(index, size):
                    return p * windows_in(plan) + row * plan.out[2] + ow
    return NOTHING


@piece
def scatter_plane(plan: Any, source: int, pointers: int, target: int, floats: int, unit: Any) -> int:
    """One plane of the result of any steps; the place of the first bad index in it, or NOTHING.

    Halves are widened into scratch and summed up there, in a plane behind them.
    """
    plane = floats + plan.chunk * plan.itemsize
    if plan.direct:
        clear_plane(plan, target)
        return add_plane(plan, source, pointers, target, result_steps(plan), floats, unit)
    zero_plane(plane, elements_in(plan), unit)
    row = plan.size[2] * plan.itemsize
    bad = add_plane(plan, source, pointers, plane, (plan.size[1] * row, row, plan.itemsize), floats, unit)
    if bad == NOTHING:
        store_plane(plan, target, plane, unit)
    return bad


@inlined_piece
def zero_plane(plane: int, n: int, unit: Any) -> None:
    """In scratch, with some overrun."""
    for i in range(0, n, LANES):
        store(plane, i, splat(unit))


@piece
def add_plane(plan: Any, source: int, pointers: int, into: int, steps: Steps, floats: int, unit: Any) -> int:
    """Add all gradients of a plane; the place of the first bad index in it, or NOTHING."""
    rows, columns = plan.out[1], plan.out[2]
    grad_step, index_step = plan.grad_steps[4], plan.index_steps[4]
    if plan.grad_steps[3] == columns * grad_step and plan.index_steps[3] == columns * index_step:
        rows, columns = 1, rows * columns  # gradients and indices of a layer are one long row each
    widened = plan.code in (FLOAT16, BFLOAT16)
    chunk = max(plan.chunk if widened else min(columns, MOST_AT_ONCE), 1)
    for row in range(plan.out[0] * rows):
        od, oh = row // rows, row % rows
        for left in range(0, columns, chunk):
            if shall_stop(plan, min(chunk, columns), plan.out[0] * rows * columns, 1):
                return NOTHING
            number = min(chunk, columns - left)
            grads = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3] + left * grad_step
            here = grad_step
            if widened:
                load_row(grads, grad_step, plan.code, 0, floats, number, unit)
                grads, here = floats, plan.itemsize
            where = pointers + od * plan.index_steps[2] + oh * plan.index_steps[3] + left * index_step
            bad = add_run(plan, grads, here, where, number, into, steps, unit)
            if bad != NOTHING:
                return row * columns + left + bad
    return NOTHING


def scatter(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    for p in range(begin, end):
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        bad = scatter_plane(plan, source, pointers, target, floats, unit)
        if bad != NOTHING:
            return p * windows_in(plan) + bad
    return NOTHING


@piece
def clear_on(target: int, cleared: int, index: int, size: int, unit: Any) -> int:
    """Clear a plane some way beyond an index; returns how far it is clear now, or NOTHING if the index is outside."""
    if is_outside(index, size):
        return NOTHING
    stop = min(index + CLEARED_AHEAD, size)
    fill_exactly(target + cleared * itemsize(unit), stop - cleared, unit, False)
    return stop


@piece
def add_flat(grads: int, indices: int, code: int, n: int, target: int, size: int, cleared: int, unit: Any) -> int:
    """Add n neighbouring gradients to a plane that is one run of memory, of which ``cleared`` elements are clear.

    Returns how many are clear then, or NOTHING if an index is outside the plane. Indices rise by and large, so the
    plane is cleared as they come, and what is cleared is still in the first-level cache when gradients arrive.
    """
    step = itemsize(unit)
    if code == INT32:
        for i in range(n):
            index = types.int64(read_i32(indices, i * 4))
            if is_outside(index, cleared):
                cleared = clear_on(target, cleared, index, size, unit)
                if cleared == NOTHING:
                    return NOTHING
            add_at(target, index * step, read(grads, i, unit))
    else:
        for i in range(n):
            index = read_i64(indices, i * 8)
            if is_outside(index, cleared):
                cleared = clear_on(target, cleared, index, size, unit)
                if cleared == NOTHING:
                    return NOTHING
            add_at(target, index * step, read(grads, i, unit))
    return cleared


@inlined_piece
def add_clear(grads: int, indices: int, code: int, n: int, target: int, first: int, size: int, unit: Any) -> bool:
    """The same for ``size`` places from ``first`` on, all of them clear; False if an index is not one of these."""
    step = itemsize(unit)
    if code == INT32:
        for i in range(n):
            index = types.int64(read_i32(indices, i * 4)) - first
            if is_outside(index, size):
                return False
            add_at(target, index * step, read(grads, i, unit))
    else:
        for i in range(n):
            index = read_i64(indices, i * 8) - first
            if is_outside(index, size):
                return False
            add_at(target, index * step, read(grads, i, unit))
    return True


@piece
def add_planes(grads: int, indices: int, code: int, planes: int, n: int, target: int, size: int, unit: Any) -> bool:
    """Planes that follow each other, as do their gradients; False if an index is outside its own."""
    stay_apart()
    step, pointer = itemsize(unit), 4 if code == INT32 else 8
    for _ in range(planes):
        if not add_clear(grads, indices, code, n, target, 0, size, unit):
            return False
        grads += n * step
        indices += n * pointer
        target += size * step
    return True


@piece
def fill_plane(plan: Any, grads: int, indices: int, into: int, floats: int, unit: Any) -> bool:
    """One plane that is a run of memory; False if an index is outside it. Halves are widened in chunks."""
    size, number, cleared = elements_in(plan), windows_in(plan), 0
    chunk, index_size = MOST_AT_ONCE if plan.plain else plan.chunk, 4 if plan.index_code == INT32 else 8
    left = 0
    while left < number and cleared != NOTHING:
        if shall_stop(plan, chunk, number, 1):
            return True
        here, source = min(chunk, number - left), grads + left * plan.stored
        if not plan.plain:
            fetch_row(source, plan.stored, plan.code, here, here, floats, unit)
            source = floats
        cleared = add_flat(source, indices + left * index_size, plan.index_code, here, into, size, cleared, unit)
        left += here
    if cleared == NOTHING:
        return False
    while cleared < size and not is_stopped(plan):
        here = min(MOST_AT_ONCE, size - cleared)
        fill_exactly(into + cleared * plan.itemsize, here, unit, False)
        cleared += here
    return True


@piece
def emit_planes(plan: Any, target: int, source: int, n: int, unit: Any) -> None:
    """n elements that are complete, from scratch."""
    for first in range(0, n, MOST_AT_ONCE):
        if is_stopped(plan):
            break
        at, here = target + first * plan.stored, min(MOST_AT_ONCE, n - first)
        emit(at, source + first * plan.itemsize, here, plan.code, plan.streaming, True, unit)


def scatter_dense(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Where gradients, indices and results of a plane are one run of memory each. Small ones that follow each other
    are done some at a time. Halves grow in scratch, the others in the output itself, or aside (aliasing.py).
    """
    plan = records[0]
    size, number = elements_in(plan), windows_in(plan)
    scratch = floats + plan.chunk * plan.itemsize
    for p in range(begin, end, plan.batch):
        planes = min(plan.batch, end - p)
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        into = scratch
        if plan.direct:
            into = place_for(pointers, target, scratch, plan.size[2]) if plan.sidestepping else target
        if planes == 1:
            done = fill_plane(plan, source, pointers, into, floats, unit)
        else:
            fill_exactly(into, planes * size, unit, False)
            if not plan.plain:
                fetch_row(source, plan.stored, plan.code, planes * number, planes * number, floats, unit)
                source = floats
            done = add_planes(source, pointers, plan.index_code, planes, number, into, size, unit)
        if not done:
            return first_outside(plan, indices, p, end)
        if into != target:
            emit_planes(plan, target, into, planes * size, unit)
    if plan.streaming:
        fence()
    return NOTHING
