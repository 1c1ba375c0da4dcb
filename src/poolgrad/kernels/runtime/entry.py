"""The way into compiled code: find the addresses, look whether an output might overlap, run all parts."""

from __future__ import annotations

from typing import Any

from ..jit.memory import piece, read_i64
from .layout import DATA
from .runner import caller_of, run_alone, task_at
from .task import ALIGNMENT, APART, ARRAYS, MAY_OVERLAP
from .team import RUN_TOGETHER, TOGETHER

_call_together = caller_of(TOGETHER)


@piece
def may_overlap(task: Any, one: int, two: int, three: int) -> bool:
    """A look at the outer bounds of every output and every other tensor."""
    if not task.nested:
        return True
    first = one + task.lows[0], one + task.highs[0]
    second = two + task.lows[1], two + task.highs[1]
    if task.tensors == 2:
        return meet(first, second)
    third = three + task.lows[2], three + task.highs[2]
    return meet(first, third) or meet(second, third) or (task.outputs == 2 and meet(first, second))


@piece
def meet(one: Any, other: Any) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def run(address: int, scratch: int, team: int, form: int, one: int, two: int, three: int) -> int:
    """Run a task on its tensors, outputs last (``three`` is nothing if it has two); team 0 means alone."""
    task = task_at(address)
    scratch = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    if form == ARRAYS:
        one, two = read_i64(one, DATA), read_i64(two, DATA)
        if task.tensors == 3:
            three = read_i64(three, DATA)
    if form != APART and may_overlap(task, one, two, three):
        return MAY_OVERLAP
    if team and task.parts > 1:
        # By its address: who never has a team does not compile what teams need.
        return _call_together(read_i64(team, RUN_TOGETHER), (address, scratch, team, one, two, three))
    return run_alone(address, scratch, one, two, three)
