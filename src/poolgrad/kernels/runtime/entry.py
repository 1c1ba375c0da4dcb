"""The way into compiled code: find the addresses, look whether the output might overlap an input, run all parts."""

from __future__ import annotations

from typing import Any

from numba import types

from ..jit.memory import piece, read_i64
from .layout import DATA
from .objects import draw_call, same_bytes
from .runner import caller_of, run_alone, task_at
from .task import ALIGNMENT, APART, ARRAYS, MAY_OVERLAP, UNKNOWN
from .team import RUN_TOGETHER, TOGETHER

_call_together = caller_of(TOGETHER)


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
    scratch = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    if form == ARRAYS:
        one, two = read_i64(one, DATA), read_i64(two, DATA)
        if task.tensors == 3:
            three = read_i64(three, DATA)
    output = three if task.tensors == 3 else two
    if form != APART and may_overlap(task, output, task.tensors - 1, one, two):
        return MAY_OVERLAP
    if team and task.parts > 1:
        # By its address: who never has a team does not compile what teams need.
        return _call_together(read_i64(team, RUN_TOGETHER), (address, scratch, team, one, two, three))
    return run_alone(address, scratch, one, two, three)


RUN = types.int64(*[types.int64] * 7)
_call_run = caller_of(RUN)

# A known call, as 64-bit integers: the addresses of ``run``, its task and the types, its picture's length, the picture.
KNOWN_RUN, KNOWN_TASK, KNOWN_TYPES, KNOWN_LENGTH, KNOWN_PICTURE = range(0, 40, 8)


def run_known(
    known: int, scratch: int, team: int, threads: int, call: int, grad: int, x: int, indices: int, out: int
) -> int:
    """Run a call on NumPy arrays if it is the known one. Its picture is drawn in scratch, which is still free."""
    length = draw_call(scratch, read_i64(known, KNOWN_TYPES), threads, call, grad, x, indices, out)
    if length != read_i64(known, KNOWN_LENGTH) or not same_bytes(scratch, known + KNOWN_PICTURE, length):
        return UNKNOWN
    task = read_i64(known, KNOWN_TASK)
    two, three = (out, 0) if task_at(task).tensors == 2 else (indices, out)
    return _call_run(read_i64(known, KNOWN_RUN), (task, scratch, team, ARRAYS, grad, two, three))
