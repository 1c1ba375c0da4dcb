"""Averages over whole planes: one gradient for each, so its quotient fills the plane."""

from __future__ import annotations

from typing import Any

from ..jit.memory import piece, write_i64
from ..jit.vectors import as_unit, fence, read, write
from ..record import NOTHING
from ..rows import fill_row
from ..runtime.stopping import MOST_AT_ONCE, shall_stop
from .quotients import divide_row


@piece
def fill_large_plane(plan: Any, target: int, value: Any) -> None:
    for first in range(0, plan.tile, MOST_AT_ONCE):
        if shall_stop(plan, MOST_AT_ONCE, plan.tile, 1):
            break
        here = min(MOST_AT_ONCE, plan.tile - first)
        fill_row(target + first * plan.stored, plan.code, here, value, plan.streaming != 0)


def average_whole_planes(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``; ``tile`` is the number of elements of each, ``chunk`` so many are read at once."""
    plan = records[0]
    divisors, step, between = floats + plan.chunk * plan.itemsize, plan.grad_steps[1], plan.result_steps[1]
    tile, code, streaming = plan.tile, plan.code, plan.streaming != 0
    for i in range(plan.chunk):
        write(divisors, i, as_unit(plan.divisor, unit))
        write_i64(integers, 8 * i, 1)
    for first in range(begin, end, plan.chunk):
        number = min(plan.chunk, end - first)
        divide_row(plan, floats, grad + first * step, step, divisors, integers, plan.divisor, number, unit)
        if tile > MOST_AT_ONCE:
            for i in range(number):
                fill_large_plane(plan, result + (first + i) * between, read(floats, i, unit))
        else:
            for i in range(number):
                fill_row(result + (first + i) * between, code, tile, read(floats, i, unit), streaming)
    if streaming:
        fence()
    return NOTHING
