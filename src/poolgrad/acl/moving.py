"""Other addresses for the tensors of a call, between two runs of its executor."""

from __future__ import annotations

from ..base import status
from .arguments import as_int, is_null
from .arguments import shown as shown_value
from .executors import find_executor
from .handles import HANDLES, TENSOR
from .messages import refusal, returning_status


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
        text = f"index must be 0 to {len(names) - 1}, for {', '.join(names)}; got {shown_value(index)}"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    target = HANDLES.get(tensor, TENSOR)
    if target is None or as_int(tensor) != found.handles[names[place]]:
        text = f"tensor must be the {names[place]} that phase one was given; got {HANDLES.describe(tensor, TENSOR)}"
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, text)
    if address is None:
        raise refusal(status.ACLNN_ERR_PARAM_INVALID, f"addr must be an address or null, got {shown_value(addr)}")
    target.move(address)
