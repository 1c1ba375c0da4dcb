"""Runs that may be long: kernels look now and then whether they shall stop, and say how far they are.

Between units (rows, small planes) the runner looks. A kernel whose units may be large looks in their middle, too.
"""

from __future__ import annotations

from typing import Any

from ..jit.machine import atomic_add, atomic_read
from ..jit.memory import inlined_piece, piece
from .task import DONE_WITHIN, PARTS_OF_A_UNIT, STOP

# Elements that are cleared, copied or scattered at once at most.
MOST_AT_ONCE = 1 << 18


@inlined_piece
def asked_to_stop(control: int) -> bool:
    return atomic_read(control + STOP) != 0


@inlined_piece
def is_stopped(plan: Any) -> bool:
    return plan.control != 0 and asked_to_stop(plan.control)


@inlined_piece
def shall_stop(plan: Any, length: int, whole: int, units: int) -> bool:
    """Whether to leave units unfinished that are made in steps, each ``length`` of a ``whole``, and return anything."""
    return plan.control != 0 and look(plan, length, whole, units)


@inlined_piece
def shall_stop_at(plan: Any, row: int, rows: int, units: int) -> bool:
    """The same for steps that may be as short as a row: only every so many of them it looks."""
    return plan.control != 0 and (row & plan.pace) == plan.pace and look(plan, plan.pace + 1, rows, units)


@piece
def look(plan: Any, length: int, whole: int, units: int) -> bool:
    atomic_add(plan.control + DONE_WITHIN, min(length, whole) * units * PARTS_OF_A_UNIT // whole)
    return asked_to_stop(plan.control)
