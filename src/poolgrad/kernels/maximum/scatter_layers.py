"""The gradient of a maximum over windows with depth whose layers and rows are known: a scatter, some rows at a time.

A row of windows reaches into several layers. Where layers do not fit the first-level cache, clearing them one after the
other and scattering later brings each of them there twice. So of the layers that no window has reached before only
those rows are cleared that the next windows reach, and gradients follow at once.

An index outside the rows and layers of its window is legal, or a mistake: then the plane is done again by the plain
scatter, which knows.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..geometry import DEPTH, ROWS, bounds_of
from ..jit.matching import all_below, any_bits, larger, or_ints, smaller, splat_int, subtract_ints
from ..jit.memory import add_at, inlined_piece, piece, read_i32, read_i64, stay_apart
from ..jit.vectors import itemsize, read
from ..record import INT32, LANES, LINE, NOTHING
from ..rows import fill_exactly
from ..runtime.stopping import is_stopped, shall_stop_at
from .fallback import scatter_planes_of_numbers
from .planes import plane_at
from .touching_vectors import eight_distances


@piece
def are_reached(indices: int, code: int, n: int, first: int, reached: int, area: int, layers: int) -> bool:
    """Whether n >= 8 indices name one of the ``reached`` places from ``first`` on, in this layer or one of the next.

    Layers are ``area`` places apart.
    """
    next_layer, beyond, worst, i = splat_int(area), splat_int(0), splat_int(0), 0
    while i < n:
        i = min(i, n - LANES)
        distance, more = eight_distances(indices, code, i, first)
        for _ in range(layers - 1):  # as unsigned integers: never below the first layer
            distance = smaller(distance, subtract_ints(distance, next_layer))
        beyond, worst = or_ints(beyond, more), larger(worst, distance)
        i += LANES
    return all_below(worst, reached) and not any_bits(beyond)


@piece
def add_all(grads: int, indices: int, code: int, n: int, target: int, unit: Any) -> None:
    """Add n gradients where their indices point, which is known to be in the plane."""
    stay_apart()
    step = itemsize(unit)
    if code == INT32:
        for i in range(n):
            add_at(target, types.int64(read_i32(indices, i * 4)) * step, read(grads, i, unit))
    else:
        for i in range(n):
            add_at(target, read_i64(indices, i * 8) * step, read(grads, i, unit))


@inlined_piece
def whole_lines(layer: int, length: int, size: int) -> int:
    """Where a beginning of a layer ends, with the rest of its last cache line: no line is cleared in two steps.

    Clearing took about 0.8 times as long that way (layers of 56 x 56 and 112 x 112 floats).
    """
    return min((layer + length + LINE - 1) // LINE * LINE, layer + size)


@inlined_piece
def fill_layers(plan: Any, source: int, pointers: int, target: int, unit: Any) -> bool:
    """One plane; False if an index is outside the rows and layers of its window."""
    depth, height, width, rows, columns = plan.size[0], plan.size[1], plan.size[2], plan.out[1], plan.out[2]
    area, row, layer = height * width, width * plan.itemsize, height * width * plan.itemsize
    pointer = 4 if plan.index_code == INT32 else 8
    fresh = 0  # the first layer that no window has reached
    for od in range(plan.out[0]):
        front, back = bounds_of(plan, DEPTH, od)
        front, back, clear = max(front, 0), min(back, depth), 0
        for oh in range(rows):
            if shall_stop_at(plan, od * rows + oh, plan.out[0] * rows, 1):
                return True
            top, bottom = bounds_of(plan, ROWS, oh)
            top, bottom = max(top, 0), min(bottom, height)
            until = height if oh == rows - 1 else max(bottom, clear)
            for d in range(fresh, back):
                begin = target + d * layer
                end = whole_lines(begin, until * row, layer)
                if clear > 0:
                    begin = whole_lines(begin, clear * row, layer)
                fill_exactly(begin, (end - begin) // itemsize(unit), unit, False)
            clear, at = until, (od * rows + oh) * columns
            where, first, reached = pointers + at * pointer, (front * height + top) * width, (bottom - top) * width
            if not are_reached(where, plan.index_code, columns, first, reached, area, back - front):
                return False
            add_all(source + at * plan.itemsize, where, plan.index_code, columns, target, unit)
        fresh = max(fresh, back)
    for d in range(fresh, depth):  # behind the last windows
        if is_stopped(plan):
            break
        fill_exactly(target + d * layer, area, unit, False)
    return True


def scatter_layers(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    for p in range(begin, end):
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        if not fill_layers(plan, source, pointers, target, unit):
            bad = scatter_planes_of_numbers(plan, p, p + 1, grad, indices, result, floats, unit)
            if bad != NOTHING:
                return bad
    return NOTHING
