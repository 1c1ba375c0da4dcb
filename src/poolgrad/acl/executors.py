"""Executors: plans that wait for their workspace and their stream, and whose tensors may move between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..base import status
from ..contract.operator import Operator
from ..run.prepared import Prepared
from . import known
from .arguments import as_int, is_null, shown
from .handles import EXECUTOR, HANDLES, TENSOR
from .messages import refusal, returning_status


@dataclass(slots=True, eq=False)
class Executor:
    """``handles`` are the tensors and arrays of the call by their documented names; null ones are left out."""

    operator: Operator
    prepared: Prepared
    handles: Mapping[str, int]
    repeatable: bool = False
    spent: bool = False


def find_executor(handle: object, null_status: int) -> Executor:
    if is_null(handle):
        raise refusal(null_status, "executor is null; pass the one that phase one gave")
    found = HANDLES.get(handle, EXECUTOR)
    if found is None:
        what = HANDLES.describe(handle, EXECUTOR)
        if what != "a destroyed executor":
            raise refusal(status.ACLNN_ERR_PARAM_INVALID, f"executor is {what}; pass the one that phase one gave")
        text = "executor is a used or destroyed executor; it serves one run, unless made repeatable with "
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, f"{text}aclSetAclOpExecutorRepeatable right after phase one")
    return found


@returning_status(status.ACLNN_ERR_INNER)
def aclSetAclOpExecutorRepeatable(executor: int | None) -> None:
    """Let phase two run again and again, until aclDestroyAclOpExecutor."""
    find_executor(executor, status.ACLNN_ERR_INNER_NULLPTR).repeatable = True


@returning_status(status.ACLNN_ERR_INNER)
def aclDestroyAclOpExecutor(executor: int | None) -> None:
    """Forget an executor; null is fine."""
    if not is_null(executor):
        find_executor(executor, status.ACLNN_ERR_INNER_NULLPTR)
        HANDLES.drop(executor, EXECUTOR)
        known.forget_runs()


@returning_status(status.ACLNN_ERR_INNER)
def aclSetTensorAddr(executor: int | None, index: int, tensor: int | None, addr: int | None) -> None:
    """Move a tensor of the call, counted over all tensors in the order of the parameters, to another address."""
    _move(executor, index, tensor, addr, outputs=None)


@returning_status(status.ACLNN_ERR_INNER)
def aclSetInputTensorAddr(executor: int | None, index: int, tensor: int | None, addr: int | None) -> None:
    """The same, counted over the inputs."""
    _move(executor, index, tensor, addr, outputs=False)


@returning_status(status.ACLNN_ERR_INNER)
def aclSetOutputTensorAddr(executor: int | None, index: int, tensor: int | None, addr: int | None) -> None:
    """The same, counted over the outputs."""
    _move(executor, index, tensor, addr, outputs=True)


def _move(executor: object, index: object, tensor: object, addr: object, *, outputs: bool | None) -> None:
    found = find_executor(executor, status.ACLNN_ERR_INNER_NULLPTR)
    if is_null(tensor):
        raise refusal(status.ACLNN_ERR_PARAM_NULLPTR, "tensor is null; pass the tensor that phase one was given")
    names = [p.name for p in found.operator.tensors if outputs is None or p.output == outputs]
    place, address = as_int(index), 0 if addr is None else as_int(addr)
    if place is None or not 0 <= place < len(names):
        text = f"index must be 0 to {len(names) - 1}, for {', '.join(names)}; got {shown(index)}"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    target = HANDLES.get(tensor, TENSOR)
    if target is None or as_int(tensor) != found.handles[names[place]]:
        text = f"tensor must be the {names[place]} that phase one was given; got {HANDLES.describe(tensor, TENSOR)}"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    if address is None:
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, f"addr must be an address or null, got {shown(addr)}")
    target.move(address)
