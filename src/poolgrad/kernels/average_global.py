"""Averages over whole planes: one gradient for each, so its quotient fills the plane."""

from __future__ import annotations

from typing import Any

from numba import types

from .halves import float_to_bfloat, float_to_half
from .memory import float_of_bits, inlined_piece, piece, write_i64, write_u16
from .quotients import divide_row
from .record import BFLOAT16, FLOAT16, LANES, NOTHING
from .vectors import as_unit, fence, read, splat, store, stream, write


@piece
def fill_exactly(target: int, n: int, value: Any, streaming: bool) -> None:
    """n times the value, no more: the last vector is laid back over its predecessor."""
    vector = splat(value)
    if streaming and target % 16 == 0:
        for i in range(0, n - LANES + 1, LANES):
            stream(target, i, vector)
        for i in range(n - n % LANES, n):
            write(target, i, value)
    elif n >= LANES:
        for i in range(0, n - LANES, LANES):
            store(target, i, vector)
        store(target, n - LANES, vector)
    else:
        for i in range(n):
            write(target, i, value)


@inlined_piece
def fill_plane(plan: Any, target: int, n: int, value: Any, unit: Any) -> None:
    if plan.code == FLOAT16 or plan.code == BFLOAT16:
        narrow = float_to_half(types.float32(value)) if plan.code == FLOAT16 else float_to_bfloat(types.float32(value))
        pair = float_of_bits(types.uint32(narrow) << types.uint32(16) | types.uint32(narrow))
        fill_exactly(target, n // 2, pair, plan.streaming != 0)
        if n % 2:
            write_u16(target, 2 * n - 2, narrow)
    else:
        fill_exactly(target, n, value, plan.streaming != 0)


def average_global(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``; ``tile`` is the number of elements of each, ``chunk`` so many are read at once."""
    plan = records[0]
    divisors, step = floats + plan.chunk * plan.itemsize, plan.grad_steps[1]
    for i in range(plan.chunk):
        write(divisors, i, as_unit(plan.divisor, unit))
        write_i64(integers, 8 * i, 1)
    for first in range(begin, end, plan.chunk):
        number = min(plan.chunk, end - first)
        divide_row(plan, floats, grad + first * step, step, divisors, integers, plan.divisor, number, unit)
        for i in range(number):
            target = result + (first + i) * plan.result_steps[1]
            fill_plane(plan, target, plan.tile, read(floats, i, unit), unit)
    if plan.streaming:
        fence()
    return NOTHING
