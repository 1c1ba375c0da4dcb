"""All operators under their documented names, in two phases: check and plan a call, then launch it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import status
from ..base.errors import AclnnError
from ..contract.engine import BadHandle, Value, enforce
from ..contract.operator import Operator
from ..operators import REGISTRY
from ..run.execute import Tensors, arrange
from ..run.prepared import Prepared, prepared_call
from ..run.threads import get_num_threads
from . import known
from .arena import ARENA, Block
from .arguments import as_int, is_null, shown
from .executors import Executor, find_executor
from .handles import EXECUTOR, HANDLES, INT_ARRAY, TENSOR, Kind
from .last_launch import LastLaunch
from .launch import LAUNCH_CHECKS, Launch, first_element
from .messages import refusal, returning_status, status_of
from .objects import AclIntArray, AclTensor
from .state import RUNTIME, product
from .streams import find_stream
from .worker import Stream

_KINDS: dict[str, Kind[Any]] = {"tensor": TENSOR, "ints": INT_ARRAY}

# A run with less traffic than this takes less time than waking its stream's thread.
SMALL_TRAFFIC = 1 << 20

MOST_KNOWN = 1024
# Of these, equal arguments mean the same call: 2.0 equals 2 and is no number here, True and 1 mean the same.
_PLAIN = frozenset((int, bool, type(None)))


@dataclass(slots=True, eq=False)
class Run:
    """An executor on memory that passed all checks: a task of a stream.

    It holds the blocks, so that a free in the meantime takes nothing away.
    """

    executor: Executor
    workspace: int
    tensors: Tensors
    blocks: list[Block | None]
    new: list[tuple[int, int]]  # first bytes and ends of memory that this executor has not used yet

    def __call__(self) -> None:
        for low, high in self.new:
            ARENA.backing.touch(low, high - low)
        self.new = []
        task = self.executor.prepared.task
        if task is not None:
            task.execute(self.tensors, self.workspace)


def phase_one(operator: Operator, given: tuple[object, ...]) -> tuple[int, int, int]:
    """Check and plan a call, whose arguments come in the order of the parameters: workspace size, executor, status.

    Raises the refusal of a call.
    """
    _require_up()
    key = (operator.name, product(), get_num_threads(), given)
    calls = known.calls
    is_plain = _PLAIN.issuperset(map(type, given))
    call = calls.get(key) if is_plain else None
    if call is None:
        call = _checked_call(operator, given)
        if is_plain and len(calls) < MOST_KNOWN:
            calls[key] = call
    prepared, handles = call
    executor = HANDLES.new(EXECUTOR, Executor(operator, prepared, handles))
    return prepared.plan.scratch_bytes, executor, status.ACLNN_SUCCESS


def _checked_call(operator: Operator, given: tuple[object, ...]) -> tuple[Prepared, Mapping[str, int]]:
    values: dict[str, Value] = {}
    handles: dict[str, int] = {}
    for p, argument in zip(operator.parameters, given, strict=True):
        value = values[p.name] = _value(p.kind, argument)
        if value is not None and p.kind in _KINDS:
            handles[p.name] = as_int(argument) or 0  # what is no handle at all is refused below
    return prepared_call(operator, product(), values, get_num_threads()), handles


def phase_two(operator: Operator, workspace: object, size: object, executor: object, stream: object) -> None:
    """Check what only memory can tell, and hand the plan to the stream. Any failure uses the executor up."""
    key = (operator, workspace, size, executor)
    runs = known.runs
    is_plain = type(executor) is type(size) is int and (type(workspace) is int or workspace is None)
    run = runs.get(key) if is_plain else None
    if run is None:
        _require_up()
        found = find_executor(executor, status.ACLNN_ERR_PARAM_NULLPTR)
        if not found.repeatable and HANDLES.drop(executor, EXECUTOR) is None:
            find_executor(executor, status.ACLNN_ERR_PARAM_NULLPTR)  # another thread was faster, and used it up
    else:
        found = run.executor
    try:
        if run is None:
            run = _new_run(found, operator, workspace, size)
            if found.repeatable and is_plain and len(runs) < MOST_KNOWN:
                runs[key] = run
        target = _find_stream(stream)
        prepared = found.prepared
        if prepared.plan.traffic < SMALL_TRAFFIC and prepared.is_compiled:  # a kernel takes seconds to compile
            target.run(run)
        else:
            target.submit(run)
    except BaseException:
        found.spent = True
        known.forget_runs()
        raise


def _new_run(found: Executor, operator: Operator, workspace: object, size: object) -> Run:
    if found.spent:
        text = "this executor failed before and is used up; call phase one again"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    if found.operator is not operator:
        text = f"the executor was made for {found.operator.name}; pass one from {operator.name}GetWorkspaceSize"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    address, given = (0 if value is None else as_int(value) for value in (workspace, size))
    if address is None or given is None or given < 0:
        text = f"workspace and its size must be integers, got {shown(workspace)} and {shown(size)}"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    return _run_as_before(found, address, given) or _checked_run(found, address, given)


def _run_as_before(found: Executor, workspace: int, size: int) -> Run | None:
    """The run of a launch on the same objects as the last good one, or on equal ones; None if something changed."""
    last: LastLaunch | None = found.prepared.last_launch
    calls = known.calls
    if last is not None and (last.handles is not found.handles or last.calls is not calls):
        last = last.with_objects(found.handles, calls, _objects(found))
        if last is not None:
            found.prepared.last_launch = last
    if last is None:
        return None
    blocks = last.blocks(workspace, size, found.prepared.plan.scratch_bytes)
    return Run(found, workspace, last.tensors, blocks, last.touched) if blocks is not None else None


def _checked_run(found: Executor, workspace: int, size: int) -> Run:
    """The run of a launch that passes all rows."""
    calls = known.calls
    # Copies, since another thread may move a tensor meanwhile: all rows must see the same.
    objects = {name: copy(value) for name, value in _objects(found).items()}
    plan, call = found.prepared.plan, found.prepared.plan.call
    tensors = {name: value for name, value in objects.items() if isinstance(value, AclTensor)}
    firsts = {name: first_element(tensors[name]) for name in plan.tensors if name in tensors}
    needed = plan.scratch_bytes
    launch = Launch(call.operator, call.product, call.values, firsts, objects, workspace, size, needed)
    # Held before they are checked: whatever the checks find live stays so until the task is done.
    blocks = [launch.block_of(tensor) for _, tensor in launch.placed()]
    blocks.append(ARENA.find(workspace, launch.needed))
    enforce(launch, LAUNCH_CHECKS)
    last = found.prepared.last_launch = LastLaunch.of(launch, arrange(plan, launch.addresses), found.handles, calls)
    return Run(found, workspace, last.tensors, blocks, last.touched)


def _find_stream(stream: object) -> Stream:
    try:
        return find_stream(stream)
    except AclnnError as error:
        if error.status not in (status.ACL_ERROR_RT_CONTEXT_NULL, status.ACL_ERROR_UNINITIALIZE):
            raise
        raise refusal(status.ACLNN_ERR_RUNTIME_ERROR, str(error)) from error


def _require_up() -> None:
    if not RUNTIME.up:
        text = "the runtime is not initialised; call aclInit (or aclnnInit) and aclrtSetDevice first"
        raise refusal(status.ACLNN_ERR_RUNTIME_ERROR, text)


def _value(kind: str, argument: object) -> Value:
    """An argument as the contract sees it."""
    wanted = _KINDS.get(kind)
    if wanted is not None:
        if argument is None:
            return None
        found = HANDLES.get(argument, wanted)
        if isinstance(found, AclTensor):
            return found.tensor
        if isinstance(found, AclIntArray):
            return found.values
        return None if is_null(argument) else BadHandle(HANDLES.describe(argument, wanted))
    if kind == "bool" and isinstance(argument, np.bool_):  # which is no integer to Python
        return bool(argument)
    number = as_int(argument)
    if number is None:
        return BadHandle(shown(argument))
    return bool(number) if kind == "bool" else number


def _objects(executor: Executor) -> dict[str, AclTensor | AclIntArray | None]:
    """The objects that phase one was given, as far as they live."""
    given = executor.handles
    return {p.name: HANDLES.get(given[p.name], _KINDS[p.kind]) for p in executor.operator.parameters if p.name in given}


def phases_of(operator: Operator) -> dict[str, Callable[..., Any]]:
    """The two functions of an operator by their names, with the parameters of C but for the two that come back."""
    names = [p.name for p in operator.parameters]
    signature = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])

    def first(*given: Any, **named: Any) -> Any:
        if named or len(given) != len(names):  # a wrong number is a mistake in Python, not one that C could make
            given = signature.bind(*given, **named).args
        try:
            return phase_one(operator, given)
        except Exception as error:  # noqa: BLE001 - it is answered
            return None, None, status_of(error, first.__name__, status.ACLNN_ERR_INNER)

    def second(workspace: int | None, workspaceSize: int, executor: int | None, stream: int | None) -> None:
        phase_two(operator, workspace, workspaceSize, executor, stream)

    first.__name__ = first.__qualname__ = f"{operator.name}GetWorkspaceSize"
    first.__doc__ = f"Check and plan {operator.summary}: workspace size, executor, status."
    first.__signature__ = signature  # type: ignore[attr-defined]
    second.__name__ = second.__qualname__ = operator.name
    second.__doc__ = f"Run {operator.summary}, as its executor has planned it, on a stream."
    return {first.__name__: first, second.__name__: returning_status(status.ACLNN_ERR_INNER)(second)}


PHASES: dict[str, Callable[..., Any]] = {}
for _operator in REGISTRY.values():
    PHASES |= phases_of(_operator)
