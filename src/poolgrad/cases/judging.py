"""What the contract says to a case: both phases, as far as a description decides them."""

from __future__ import annotations

from dataclasses import dataclass

from ..acl.launch import LAUNCH_CHECKS, Launch
from ..acl.objects import AclTensor
from ..base.dtypes import FORMATS
from ..base.errors import AclnnError
from ..base.products import Product
from ..base.status import ACLNN_SUCCESS
from ..contract.engine import Broken, Check, first_violation, refusal
from .model import Case, CaseTensor, product_named

# The rows of phase two that look at views and storage alone.
_VIEW_CHECKS = tuple(c for c in LAUNCH_CHECKS if c.key in ("view-in-storage", "output-overlaps-itself"))


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of a call; if it is refused, the row that decides, the error that says all about it, and its parts."""

    status: int = ACLNN_SUCCESS
    row: Check | None = None
    error: AclnnError | None = None
    broken: Broken | None = None


def judge(case: Case, product: Product | None = None) -> Answer:
    """The contract's answer to a case on its product, or on another one."""
    call = Launch(case.operator, product or product_named(case.product), case.arguments)
    found = first_violation(call, case.operator.checks)
    if found is None:
        objects = {name: _placed(tensor) for name, tensor in case.tensors.items() if tensor is not None}
        call = Launch(call.operator, call.product, call.values, objects=objects)
        found = first_violation(call, _VIEW_CHECKS)
    if found is None:
        return Answer()
    return Answer(found[0].status, found[0], refusal(call, *found), found[1])


def surprise(expected: int, status: int, message: str | None) -> str:
    """What is told of a status that a case does not expect."""
    why = "" if message is None else f": {message}; if that is meant, give the case the status {status}"
    return f"expected status {expected}, got {status}{why}"


def _placed(tensor: CaseTensor) -> AclTensor:
    """The tensor in memory of its storage's size; without a storage shape it fits."""
    described = tensor.described()
    storage = tensor.storage
    if storage is None:
        storage = (described.byte_range[1] // max(described.dtype.itemsize, 1) + tensor.offset,)
    return AclTensor(described, tensor.steps, tensor.offset, FORMATS[tensor.format], storage, 1)
