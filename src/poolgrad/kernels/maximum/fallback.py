"""A plane whose indices do not all name a place in their own windows: legal, and rare. A plane may have layers.

The kernels that look for indices where they should be leave such a plane to this plain loop: little code to compile,
any type and any steps. It also finds the first index that is outside its plane.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..geometry import elements_in, windows_in
from ..jit.halves import bfloat_to_float, half_to_float
from ..jit.memory import add_at, inlined_piece, piece, read_f32, read_f64, read_u16
from ..jit.vectors import type_as, write
from ..record import BFLOAT16, FLOAT16, FLOAT32, NOTHING
from ..rows import index_at, store_row
from ..runtime.stopping import is_stopped


@inlined_piece
def is_outside(index: int, size: int) -> bool:
    """One comparison for both ends: a negative index is a huge unsigned one."""
    return types.uint64(index) >= types.uint64(size)


@inlined_piece
def offset_of(plan: Any, index: int, layer_step: int, row_step: int, step: int) -> int:
    """From the first element of a plane with such steps to the one that an index names, in bytes."""
    height, width = plan.size[1], plan.size[2]
    h = index // width
    offset = h * row_step + index % width * step
    if plan.size[0] > 1:  # h counts rows over all layers, which need not follow each other
        offset += h // height * (layer_step - height * row_step)
    return offset


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
    height, width, itemsize, size, to = plan.size[1], plan.size[2], plan.itemsize, elements_in(plan), plan.result_steps
    layer_step, row_step, step, into = to[2], to[3], to[4], target
    if not plan.direct:
        layer_step, row_step, step, into = height * width * itemsize, width * itemsize, itemsize, plane
    for h in range(plan.size[0] * height):
        if is_stopped(plan):
            return NOTHING
        for w in range(width):
            write(into + offset_of(plan, h * width + w, layer_step, row_step, step), 0, unit)
    for row in range(plan.out[0] * plan.out[1]):
        if is_stopped(plan):
            return NOTHING
        od, oh = row // plan.out[1], row % plan.out[1]
        for ow in range(plan.out[2]):
            at = od * plan.index_steps[2] + oh * plan.index_steps[3] + ow * plan.index_steps[4]
            index = index_at(pointers, at, plan.index_code)
            if is_outside(index, size):
                return row * plan.out[2] + ow
            at = od * plan.grad_steps[2] + oh * plan.grad_steps[3] + ow * plan.grad_steps[4]
            add_at(into, offset_of(plan, index, layer_step, row_step, step), number_at(source + at, plan.code, unit))
    if not plan.direct:
        for h in range(plan.size[0] * height):
            if is_stopped(plan):
                return NOTHING
            at = target + h // height * to[2] + h % height * to[3]
            store_row(at, to[4], plan.code, plane + h * row_step, width, unit)
    return NOTHING


@piece
def scatter_channels(plan: Any, source: int, pointers: int, target: int, channels: int, plane: int, unit: Any) -> int:
    """Neighbouring planes of one image by scattering; the place of their first bad index, or NOTHING."""
    for c in range(channels):
        bad = scatter_astray(plan, source, pointers, target, plane, unit)
        if bad != NOTHING:
            return c * windows_in(plan) + bad
        source += plan.grad_steps[1]
        pointers += plan.index_steps[1]
        target += plan.result_steps[1]
    return NOTHING
