"""A plane whose indices do not all name a place in their own windows: legal, and rare.

The kernels that look for indices where they should be leave such a plane to this plain loop: little code to compile,
any type and any steps. It also finds the first index that is outside its plane.
"""

from __future__ import annotations

from typing import Any

from numba import types

from .halves import bfloat_to_float, half_to_float
from .memory import (
    add_at,
    inlined_piece,
    piece,
    read_f32,
    read_f64,
    read_u16,
)
from .record import BFLOAT16, FLOAT16, FLOAT32, NOTHING
from .rows import index_at, store_row
from .stopping import is_stopped
from .vectors import type_as, write


@inlined_piece
def is_outside(index: int, size: int) -> bool:
    """One comparison for both ends: a negative index is a huge unsigned one."""
    return types.uint64(index) >= types.uint64(size)


@inlined_piece
def number_at(address: int, code: int, unit: Any) -> Any:
    """A stored number in the compute type."""
    if code == FLOAT32:
        return unit + type_as(float(read_f32(address, 0)), unit)
    if code == FLOAT16:
        return unit + type_as(float(half_to_float(read_u16(address, 0))), unit)
    if code == BFLOAT16:
        return unit + type_as(float(bfloat_to_float(read_u16(address, 0))), unit)
    return unit + type_as(read_f64(address, 0), unit)


@piece
def scatter_astray(plan: Any, source: int, pointers: int, target: int, plane: int, unit: Any) -> int:
    """One plane of the result; the place of its first bad index, or NOTHING. Halves are summed up in ``plane``."""
    height, width, itemsize = plan.size[1], plan.size[2], plan.itemsize
    row_step, step, into = plan.result_steps[3], plan.result_steps[4], target
    if not plan.direct:
        row_step, step, into = width * itemsize, itemsize, plane
    for h in range(height):
        if is_stopped(plan):
            return NOTHING
        for w in range(width):
            write(into + h * row_step + w * step, 0, unit)
    for oh in range(plan.out[1]):
        if is_stopped(plan):
            return NOTHING
        for ow in range(plan.out[2]):
            at = oh * plan.index_steps[3] + ow * plan.index_steps[4]
            index = index_at(pointers, at, plan.index_code)
            if is_outside(index, height * width):
                return oh * plan.out[2] + ow
            gradient = number_at(source + oh * plan.grad_steps[3] + ow * plan.grad_steps[4], plan.code, unit)
            add_at(into, index // width * row_step + index % width * step, gradient)
    if not plan.direct:
        for h in range(height):
            if is_stopped(plan):
                return NOTHING
            row = plane + h * row_step
            store_row(target + h * plan.result_steps[3], plan.result_steps[4], plan.code, row, width, unit)
    return NOTHING


@piece
def scatter_channels(plan: Any, source: int, pointers: int, target: int, channels: int, plane: int, unit: Any) -> int:
    """Neighbouring planes of one image by scattering; the place of their first bad index, or NOTHING."""
    for c in range(channels):
        bad = scatter_astray(plan, source, pointers, target, plane, unit)
        if bad != NOTHING:
            return c * plan.out[1] * plan.out[2] + bad
        source += plan.grad_steps[1]
        pointers += plan.index_steps[1]
        target += plan.result_steps[1]
    return NOTHING
