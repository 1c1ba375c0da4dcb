"""The gradient of every maximum over 2 x 2 windows that tile small planes, where no row of them fills a vector.

As in max_tiles.py indices are compared with the positions of their windows. Eight windows are read from the beginning
of each row on; those beyond its end belong to the next row, and what they leave behind the row is written over by it.
All planes are one run of memory, so that holds from plane to plane, too. The last row of all has no next one: its
eight windows end with it, and its lower line is written before its upper one.
"""

from __future__ import annotations

from typing import Any

from .astray import scatter_astray
from .matching import (
    add_ints,
    all_lanes,
    any_bits,
    at_places,
    both,
    either,
    equal,
    high_halves,
    lanes_outside,
    load_ints,
    low_halves,
    or_ints,
    rising,
    splat_int,
    store_alternating,
)
from .memory import inlined_piece, piece
from .record import INT32, INT64, LANES, NOTHING
from .vectors import add, load, splat


@inlined_piece
def lay_windows(
    grads: int, indices: int, code: int, i: int, target: int, at: int, place: Any, width: int, unit: Any
) -> tuple[Any, Any]:
    """Eight windows from an index on: which of them named a place, and what their indices have beyond 32 bits.

    One line of them begins at ``at``, where the places are ``place``, the other ``width`` elements from there.
    """
    beyond = splat_int(0)
    if code == INT64:
        index = low_halves(indices, i)
        beyond = high_halves(indices, i)
    else:
        index = load_ints(indices, i)
    gradient = add(splat(unit), load(grads, i, unit))  # as a sum would begin
    columns, in_one = at_places(index, place, gradient, 2)
    store_alternating(target, at, columns)
    columns, in_other = at_places(index, add_ints(place, splat_int(width)), gradient, 2)
    store_alternating(target, at + width, columns)
    return either(in_one, in_other), beyond


@piece
def lay_planes(
    grads: int, indices: int, code: int, planes: int, rows: int, columns: int, target: int, unit: Any
) -> int:
    """Planes that follow each other; returns how many, up to one where an index names no place in its window."""
    width, spare = 2 * columns, LANES - columns
    lines, others = splat_int(2 * width), lanes_outside(0, columns)
    i, at = 0, 0
    for p in range(planes):
        is_last = p == planes - 1
        place, beyond, found = rising(0, 2), splat_int(0), equal(lines, lines)
        for _ in range(rows - is_last):
            named, more = lay_windows(grads, indices, code, i, target, at, place, width, unit)
            found, beyond = both(found, either(named, others)), or_ints(beyond, more)
            place, i, at = add_ints(place, lines), i + columns, at + 2 * width
        if is_last:
            i, at = i - spare, at - 2 * spare + width
            place = rising((2 * rows - 1) * width - 2 * spare, 2)
            named, more = lay_windows(grads, indices, code, i, target, at, place, -width, unit)
            found, beyond = both(found, either(named, lanes_outside(spare, LANES))), or_ints(beyond, more)
        if any_bits(beyond) or not all_lanes(found):
            return p
    return planes


def max_short_rows(
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
            source, pointers = source + done * number * plan.itemsize, pointers + done * number * pointer
            bad = scatter_astray(plan, source, pointers, target + done * size * plan.itemsize, floats, unit)
            if bad != NOTHING:
                return p * number + bad
            p += 1
    return NOTHING
