"""The way into compiled code: find the addresses, look whether the output might overlap an input, run all parts."""

from __future__ import annotations

from typing import Any

from .machine import HAS_LOCKS
from .memory import piece, read_i64
from .runner import run_alone, task_at
from .task import APART, ARRAYS, MAY_OVERLAP

if HAS_LOCKS:
    from .team import run_together
else:

    @piece
    def run_together(task: int, scratch: int, team: int, one: int, two: int, three: int) -> int:
        return run_alone(task, scratch, one, two, three)


# In a NumPy array the address of its data stands right behind what every Python object begins with.
DATA = object.__basicsize__


@piece
def may_overlap(task: Any, output: int, place: int, one: int, two: int) -> bool:
    """A look at the outer bounds. ``place`` is the output's among the tensors."""
    if not task.nested:
        return True
    low, high = output + task.lows[place], output + task.highs[place]
    if one + task.lows[0] < high and low < one + task.highs[0]:
        return True
    return place == 2 and two + task.lows[1] < high and low < two + task.highs[1]


def run(address: int, scratch: int, team: int, form: int, one: int, two: int, three: int) -> int:
    """Run a task on its tensors, the output last (``three`` is nothing if it has two); team 0 means alone."""
    task = task_at(address)
    if form == ARRAYS:
        one, two = read_i64(one, DATA), read_i64(two, DATA)
        if task.tensors == 3:
            three = read_i64(three, DATA)
    output = three if task.tensors == 3 else two
    if form != APART and may_overlap(task, output, task.tensors - 1, one, two):
        return MAY_OVERLAP
    if team and task.parts > 1:
        return run_together(address, scratch, team, one, two, three)
    return run_alone(address, scratch, one, two, three)
