"""Running a plan: scratch into parts, parts onto threads, and a bad index into an error."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Mapping
from functools import partial

import numpy as np

from ..base.dtypes import FLOAT64, INT32
from ..base.errors import IndexRangeError
from ..base.tensor import as_planes
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import kernel_address, load_run
from ..kernels.runtime.task import APART, DONE, MOST_TENSORS, TASK
from ..plans.plan import Plan, power_of_two
from . import threads
from .bad_indices import index_outside, mask_error
from .waiting import Control, can_be_stopped

Tensors = tuple[int, int, int]

KEPT_SCRATCH = 1 << 21
# Scratch of earlier calls: an address and its owner. It is taken away while it is used, since other threads call too,
# and a signal handler may call in the middle of a call. What is beyond the limit is given back.
FREE_SCRATCH: deque[tuple[int, object]] = deque(maxlen=16)


# Runs that read and write less take a moment, whatever they compute. Of others it is known after the first one, unless
# there is so much that it depends on where the memory comes from: a file, say.
SURELY_QUICK, PERHAPS_SLOW = 1 << 20, 1 << 28
QUICK_SECONDS = 0.05
# Elements between two looks of a kernel in the middle of a unit, about.
LOOK_AFTER = 1 << 18


class Task:
    """A plan as compiled code reads it: made once, run any number of times."""

    __slots__ = ("_enter", "_memory", "address", "helpers", "large", "plan", "quick")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.helpers = plan.parts - 1
        self.quick = plan.traffic < SURELY_QUICK  # nobody need be able to stop it
        self.large = plan.scratch_bytes > KEPT_SCRATCH
        tensors = [plan.call.tensor(name) for name in plan.tensors]
        self._memory = np.zeros(1, TASK)
        fields = self._memory[0]
        fields["kernel"], fields["tensors"] = kernel_address(plan.kernel, plan.compute), len(tensors)
        fields["double"], fields["record"] = plan.compute == FLOAT64.name, plan.record.ctypes.data
        fields["units"], fields["parts"] = plan.units, plan.parts
        fields["grain"] = plan.grain
        fields["rest_from"], fields["rest_to"] = plan.rest
        fields["part_bytes"], fields["integer_bytes"] = plan.part_bytes, 8 * plan.integers
        fields["outputs"], fields["nested"] = len(plan.call.operator.outputs), plan.nested_outputs
        for place, tensor in enumerate(tensors):
            fields["lows"][place], fields["highs"][place] = tensor.byte_range
        self.address: int = self._memory.ctypes.data
        self._enter, _ = load_run()

    def run(self, form: int, one: int, two: int, three: int = 0) -> int:
        """Run on tensors in one of the forms of kernels/runtime/task.py, which has the answers too; scratch is found
        here."""
        if not self.quick and can_be_stopped():
            return self._run_for_long(form, one, two, three)
        team = threads.team_for(self.helpers) if self.helpers else 0
        scratch = new_scratch(self.plan.scratch_bytes) if self.large else take_scratch()
        try:
            return self._enter(self.address, scratch[0], team, form, one, two, three)
        finally:
            if not self.large:
                FREE_SCRATCH.append(scratch)

    def _run_for_long(self, form: int, one: int, two: int, three: int) -> int:
        """The same if it may take long: whatever is raised meanwhile, as by Ctrl-C, stops it."""
        plan, control = self.plan, Control(self.plan.units)
        record, memory = plan.record.copy(), self._memory.copy()
        record["control"] = control.address
        row = int(record["size"][0][2]) * plan.grain
        record["pace"] = power_of_two(max(1, LOOK_AFTER // row)) - 1
        memory["record"] = record.ctypes.data
        team = threads.team_for(self.helpers) if self.helpers else 0
        address, _scratch = new_scratch(plan.scratch_bytes)
        begun = time.perf_counter()
        answer = control.wait_for(partial(self._enter, memory.ctypes.data, address, team, form, one, two, three))
        took = time.perf_counter() - begun
        self.quick = answer == DONE and took < QUICK_SECONDS and plan.traffic < PERHAPS_SLOW
        return answer

    def execute(self, tensors: Tensors, scratch: int) -> None:
        """Run on memory: tensors as ``arrange`` gives them, and the address of ``plan.scratch_bytes`` of scratch.

        The caller keeps that memory alive, and has checked that the views lie inside it and that the output is apart.
        """
        team = threads.team_for(self.helpers) if self.helpers else 0
        place = self._enter(self.address, scratch, team, APART, *tensors)
        if place != DONE:
            raise index_error(self.plan, tensors, place)


def arrange(plan: Plan, addresses: Mapping[str, int]) -> Tensors:
    """The addresses of a plan's tensors in the order of its kernel."""
    one, two, three = (*[addresses[name] for name in plan.tensors], 0)[:MOST_TENSORS]
    return one, two, three


def take_scratch() -> tuple[int, object]:
    """Scratch for a task that is not large; put it back into FREE_SCRATCH."""
    try:
        return FREE_SCRATCH.pop()
    except IndexError:
        return new_scratch(KEPT_SCRATCH)


def new_scratch(size: int) -> tuple[int, object]:
    memory = np.empty(size, np.uint8)
    return memory.ctypes.data, memory


def index_error(plan: Plan, tensors: Tensors, place: int) -> IndexRangeError:
    """Where the first bad index stands, what it is, and what it should have been."""
    call, by_role = plan.call, plan.call.operator.by_role
    role = Role.INDICES if Role.INDICES in by_role else Role.MASK
    address = tensors[plan.tensors.index(by_role[role].name)]
    error = mask_error(call, address, place) if role is Role.MASK else _error_at(call, address, place)
    error.place = place
    return error


def _error_at(call: Call, address: int, place: int) -> IndexRangeError:
    view, position = call.tensor(Role.INDICES), position_of(call, place)
    where = address + sum(i * step for i, step in zip(position, view.strides, strict=True))
    integer = ctypes.c_int32 if view.dtype is INT32 else ctypes.c_int64
    return index_outside(call, Role.INDICES, position, integer.from_address(where).value)


def position_of(call: Call, place: int) -> list[int]:
    """Where the index of an output stands, which is counted over all of them."""
    view, layout = call.tensor(Role.INDICES), layout_of(call)
    by_letter = dict(zip("NCDHW", np.unravel_index(place, as_planes(view, layout).shape), strict=True))
    return [int(by_letter[letter]) for letter in layout[-view.rank :]]
