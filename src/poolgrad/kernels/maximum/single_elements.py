"""The gradient of every maximum over windows of one element each: a copy, if every index names its own window.

That is asked of eight indices at once. If one of them names another place, which is legal, or none at all, these planes
are done again by scattering. It takes a half to a third of the time of that.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..geometry import elements_in
from ..jit.halves import bfloat_to_float, float_to_bfloat, float_to_half, half_to_float
from ..jit.matching import any_bits, or_ints, rising, splat_int, subtract_ints
from ..jit.memory import piece, read_u16, write_u16
from ..jit.vectors import read, write
from ..record import BFLOAT16, FLOAT16, INT32, LANES, NOTHING
from ..rows import index_at
from ..runtime.stopping import shall_stop
from .fallback import scatter_planes
from .planes import first_plane, plane_at, share_of
from .touching_vectors import eight_distances

# Numbers whose indices are looked at before they are copied.
AT_ONCE = 1024


@piece
def are_own(indices: int, code: int, n: int, first: int, step: int) -> bool:
    """Whether n indices are ``first`` and what follows in such steps."""
    if n < LANES:
        size, others = 4 if code == INT32 else 8, 0
        for i in range(n):
            others += index_at(indices, i * size, code) != first + i * step
        return others == 0
    own, wrong, i = rising(0, step), splat_int(0), 0
    while i < n:
        i = min(i, n - LANES)
        distance, beyond = eight_distances(indices, code, i, first + i * step)
        wrong = or_ints(wrong, or_ints(beyond, subtract_ints(distance, own)))
        i += LANES
    return not any_bits(wrong)


@piece
def begin_sums(target: int, grads: int, code: int, n: int, unit: Any) -> None:
    """n gradients as their sums begin: zeros lose their sign, and NaN is quiet."""
    if code == FLOAT16:
        for i in range(n):
            write_u16(target, 2 * i, float_to_half(half_to_float(read_u16(grads, 2 * i)) + types.float32(unit)))
    elif code == BFLOAT16:
        for i in range(n):
            write_u16(target, 2 * i, float_to_bfloat(bfloat_to_float(read_u16(grads, 2 * i)) + types.float32(unit)))
    else:
        for i in range(n):
            write(target, i, read(grads, i, unit) + unit)


def max_single_elements(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Groups of planes ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
    plan = records[0]
    size, p, stop = elements_in(plan), first_plane(plan, begin), first_plane(plan, end)
    while p < stop:
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        planes = 1 if plan.pieces == plan.channels else min(plan.channels - p % plan.channels, stop - p)
        at_once, found = max(AT_ONCE // planes, 1), True
        for first in range(0, size, at_once):
            pixels = min(at_once, size - first)
            if shall_stop(plan, pixels, size * share_of(plan, planes), 1):
                return NOTHING
            where, grads = pointers + first * plan.index_steps[4], source + first * plan.grad_steps[4]
            made = target + first * plan.result_steps[4]
            if planes == 1:
                found &= are_own(where, plan.index_code, pixels, first, 1)
            else:
                for i in range(pixels):
                    found &= are_own(where + i * plan.index_steps[4], plan.index_code, planes, first + i, 0)
            if planes * plan.stored == plan.grad_steps[4] == plan.result_steps[4]:
                begin_sums(made, grads, plan.code, pixels * planes, unit)
            else:
                for i in range(pixels):
                    begin_sums(made + i * plan.result_steps[4], grads + i * plan.grad_steps[4], plan.code, planes, unit)
        if not found:
            bad = scatter_planes(plan, p, p + planes, grad, indices, result, floats, unit)
            if bad != NOTHING:
                return bad
        p += planes
    return NOTHING
