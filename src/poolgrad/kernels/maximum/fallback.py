"""A plane whose indices do not all name a place in their own windows: legal, and rare. A plane may have layers.

The kernels that look for indices where they should be leave such a plane to this plain loop: little code to compile,
any type and any steps. It also finds the first index that is outside its plane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from ..geometry import elements_in, windows_in
from ..jit.halves import bfloat_to_float, float_to_bfloat, float_to_half, half_to_float
from ..jit.memory import add_at, inlined_piece, piece, piece_named, read_f32, read_f64, read_u16, write_u16
from ..jit.vectors import read, type_as, write
from ..record import BFLOAT16, FLOAT16, FLOAT32, NOTHING
from ..rows import index_at
from ..runtime.stopping import is_stopped, shall_stop_at
from .planes import plane_at


@inlined_piece
def is_outside(index: int, size: int) -> bool:
    """One comparison for both ends: a negative index is a huge unsigned one."""
    return types.uint64(index) >= types.uint64(size)


class Sums(NamedTuple):
    """Where the sums of a plane grow: in the output itself, or in scratch. Steps are those of layers, rows, columns."""

    at: int
    layer: int
    row: int
    step: int


@inlined_piece
def sums_of(plan: Any, target: int, plane: int) -> Sums:
    if plan.direct:
        return Sums(target, plan.result_steps[2], plan.result_steps[3], plan.result_steps[4])
    row = plan.size[2] * plan.itemsize
    return Sums(plane, plan.size[1] * row, row, plan.itemsize)


@inlined_piece
def row_of(plan: Any, sums: Sums, h: int) -> int:
    """Where a row begins, counted over all layers."""
    if plan.size[0] == 1:  # two divisions less
        return sums.at + h * sums.row
    return sums.at + h // plan.size[1] * sums.layer + h % plan.size[1] * sums.row


@inlined_piece
def place_of(plan: Any, sums: Sums, index: int) -> int:
    """Where the sum of the element is that an index names."""
    width = plan.size[2]
    if sums.row == width * sums.step and (plan.size[0] == 1 or sums.layer == plan.size[1] * sums.row):
        return sums.at + index * sums.step
    row = types.int64(types.uint64(index) // types.uint64(width))  # without a sign: it is in the plane
    return row_of(plan, sums, row) + (index - row * width) * sums.step


@piece
def clear_sums(plan: Any, sums: Sums, unit: Any) -> None:
    for h in range(plan.size[0] * plan.size[1]):
        if is_stopped(plan):
            break
        row = row_of(plan, sums, h)
        for w in range(plan.size[2]):
            write(row + w * sums.step, 0, unit)


@piece
def round_sums(plan: Any, sums: Sums, target: int) -> None:
    """From scratch to the output, which is of 16 bits."""
    to = Sums(target, plan.result_steps[2], plan.result_steps[3], plan.result_steps[4])
    for h in range(plan.size[0] * plan.size[1]):
        if is_stopped(plan):
            break
        row, rounded = row_of(plan, sums, h), row_of(plan, to, h)
        for w in range(plan.size[2]):
            total = read_f32(row, w * 4)
            half = float_to_half(total) if plan.code == FLOAT16 else float_to_bfloat(total)
            write_u16(rounded, w * to.step, half)


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


@inlined_piece
def _same_number(address: int, code: int, unit: Any) -> Any:
    return read(address, 0, unit)


def _scatterer(name: str, number_at: Any, rounds: bool) -> Any:
    """What scatters planes of any type, or of the compute type alone, which is less to compile."""

    @piece_named(f"{name}_one")
    def scatter_plane(plan: Any, source: int, pointers: int, target: int, plane: int, unit: Any) -> int:
        """One plane of the result; the place of its first bad index, or NOTHING. Halves are summed up in ``plane``."""
        sums, rows, grads, indices = sums_of(plan, target, plane), plan.out[1], plan.grad_steps, plan.index_steps
        clear_sums(plan, sums, unit)
        for row in range(plan.out[0] * rows):
            if shall_stop_at(plan, row, plan.out[0] * rows, 1):
                return NOTHING
            od, oh = row // rows, row % rows
            for ow in range(plan.out[2]):
                index = index_at(pointers, od * indices[2] + oh * indices[3] + ow * indices[4], plan.index_code)
                if is_outside(index, elements_in(plan)):
                    return row * plan.out[2] + ow
                at = source + od * grads[2] + oh * grads[3] + ow * grads[4]
                add_at(place_of(plan, sums, index), 0, number_at(at, plan.code, unit))
        if rounds and not plan.direct:
            round_sums(plan, sums, target)
        return NOTHING

    @piece_named(name)
    def scatter(plan: Any, first: int, stop: int, grad: int, indices: int, result: int, plane: int, unit: Any) -> int:
        """Some planes; the place of their first bad index, counted over all planes, or NOTHING."""
        for p in range(first, stop):
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            bad = scatter_plane(plan, source, pointers, target, plane, unit)
            if bad != NOTHING:
                return p * windows_in(plan) + bad
        return NOTHING

    return scatter


scatter_planes = _scatterer("scatter_planes", number_at, rounds=True)
scatter_planes_of_numbers = _scatterer("scatter_planes_of_numbers", _same_number, rounds=False)
