"""The gradient of every maximum over 2 x 2 windows that tile small planes, where no row of them fills a vector.

Each element asks for its gradient, as in touching_vectors.py. Eight windows are read from the beginning
of each row on; those beyond its end belong to the next row, and what they leave behind the row is written over by it.
All planes are one run of memory, so that holds from plane to plane, too. The last row of all has no next one: its
eight windows end with it, and its lower line is written before its upper one.
"""

from __future__ import annotations

from typing import Any

from ..jit.matching import all_below, and_ints, any_bits, lanes_within, larger, or_ints, rising, splat_int
from ..jit.memory import inlined_piece, piece
from ..jit.vectors import interleaved
from ..record import INT32, LANES, NOTHING
from .fallback import scatter_planes_of_numbers
from .touching_vectors import eight_windows, named, on_first_line, store_line


@inlined_piece
def lay_windows(
    grads: int, indices: int, code: int, i: int, target: int, at: int, row: int, width: int, upwards: bool, unit: Any
) -> tuple[Any, Any]:
    """Both lines of eight windows from an index on, from ``at`` on in the target, which is the place ``row``.

    How far their indices are from their places, and what these have beyond 32 bits.
    """
    gradient, distance, beyond = eight_windows(grads, indices, code, i, row, unit)
    gradients, distances = interleaved(gradient, gradient, 2, 0), interleaved(distance, distance, 2, 0)
    if upwards:
        store_line(target, at + width, named(gradients, distances, width))
        store_line(target, at, named(gradients, distances, 0))
    else:
        store_line(target, at, named(gradients, distances, 0))
        store_line(target, at + width, named(gradients, distances, width))
    return on_first_line(distance, rising(0, 2), splat_int(width), 2), beyond


@piece
def lay_planes(
    grads: int, indices: int, code: int, planes: int, rows: int, columns: int, target: int, unit: Any
) -> int:
    """Planes that follow each other; returns how many, up to one where an index names no place in its window."""
    width, spare = 2 * columns, LANES - columns
    own = lanes_within(0, columns)
    i, at = 0, 0
    for p in range(planes):
        is_last = p == planes - 1
        beyond, worst, row = splat_int(0), splat_int(0), 0
        for _ in range(rows - is_last):
            inside, more = lay_windows(grads, indices, code, i, target, at, row, width, False, unit)
            worst, beyond = larger(worst, and_ints(inside, own)), or_ints(beyond, more)
            i, at, row = i + columns, at + 2 * width, row + 2 * width
        if is_last:
            i, at, row = i - spare, at - 2 * spare, row - 2 * spare
            inside, more = lay_windows(grads, indices, code, i, target, at, row, width, True, unit)
            worst, beyond = larger(worst, and_ints(inside, lanes_within(spare, LANES))), or_ints(beyond, more)
        if any_bits(beyond) or not all_below(worst, 2):
            return p
    return planes


def max_touching_short_rows(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    rows, columns, code = plan.out[1], plan.out[2], plan.index_code
    number, size, pointer = rows * columns, plan.size[1] * plan.size[2], 4 if code == INT32 else 8
    p = begin
    while p < end:
        source, pointers = grad + p * number * plan.itemsize, indices + p * number * pointer
        target = result + p * size * plan.itemsize
        done = lay_planes(source, pointers, code, end - p, rows, columns, target, unit)
        p += done
        if p < end:
            bad = scatter_planes_of_numbers(plan, p, p + 1, grad, indices, result, floats, unit)
            if bad != NOTHING:
                return bad
            p += 1
    return NOTHING
