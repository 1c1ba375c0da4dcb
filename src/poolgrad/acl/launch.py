"""The rows of phase two: what must hold when a plan meets memory. All are safe answers where a device would crash."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..base.status import ACLNN_ERR_PARAM_NULLPTR
from ..contract.checks import INT64_MAX
from ..contract.engine import DOCUMENT, SAFE, Broken, Call, Check
from ..contract.overlap import MEMORY_CHECKS
from .addresses import what_is_at
from .arena import ARENA, Block
from .objects import AclIntArray, AclTensor

# The tensors and arrays of a call by name, None for those that are no longer alive.
Objects = Mapping[str, AclTensor | AclIntArray | None]


@dataclass(frozen=True, slots=True)
class Launch(Call):
    """A call on its way to a stream: its objects, as far as they are still alive, and its workspace."""

    objects: Objects = field(default_factory=dict)
    workspace: int = 0
    workspace_size: int = 0
    needed: int = 0

    def placed(self) -> Iterator[tuple[str, AclTensor]]:
        """The tensors whose memory matters: those with elements, and of one that is never read, a given one."""
        for p in self.operator.tensors:
            value = self.objects.get(p.name)
            if isinstance(value, AclTensor) and value.tensor.count and (value.address or p.read or p.output):
                yield p.name, value

    def block_of(self, tensor: AclTensor) -> Block | None:
        return ARENA.find(tensor.address, storage_bytes(tensor))


def storage_elements(tensor: AclTensor) -> int:
    return math.prod(max(size, 0) for size in tensor.storage_dims)


def storage_bytes(tensor: AclTensor) -> int:
    return tensor.tensor.dtype.nbytes(storage_elements(tensor))


def first_element(tensor: AclTensor) -> int:
    return tensor.address + tensor.offset * tensor.tensor.dtype.itemsize


def _workspace_null(call: Launch) -> Broken | None:
    if call.workspace or not call.workspace_size:
        return None
    got = f"a null pointer with workspaceSize {call.workspace_size}"
    return Broken("workspace", "an address", got, "Allocate workspaceSize bytes with aclrtMalloc.")


def _workspace_small(call: Launch) -> Broken | None:
    if call.workspace_size >= call.needed:
        return None
    change = "Pass the size that phase one gave, and that much memory."
    return Broken("workspaceSize", f"at least {call.needed} bytes", str(call.workspace_size), change)


def _workspace_live(call: Launch) -> Broken | None:
    if not call.needed or ARENA.find(call.workspace, call.needed):
        return None
    got, change = _misplaced(call.workspace, call.needed)
    return Broken("workspace", f"{call.needed} bytes in one live aclrtMalloc block", got, change)


def _objects_live(call: Launch) -> Broken | None:
    for name, value in call.objects.items():
        if value is None:
            change = f"Destroy {name} after phase two was called."
            return Broken(name, "an object that lives until phase two", "a destroyed one", change)
    return None


def _descriptions_unchanged(call: Launch) -> Broken | None:
    for name, value in call.objects.items():
        if isinstance(value, AclTensor) and value.tensor != call.tensor(name):
            change = "Call phase one again after aclInitTensor."
            return Broken(name, "the description that phase one saw", "another one", change)
    return None


def _views_in_storage(call: Launch) -> Broken | None:
    for name, value in call.placed():
        itemsize = value.tensor.dtype.itemsize
        low, high = (edge // itemsize + value.offset for edge in value.tensor.byte_range)
        storage = storage_elements(value)
        if low < 0 or high > storage:
            got = f"elements {low} to {high - 1}"
            change = "Correct the strides, the offset or the storage shape."
            return Broken(name, f"a view inside its storage of {storage} elements", got, change)
        if storage_bytes(value) > INT64_MAX:
            change = "Correct the offset or the storage shape."
            return Broken(name, "storage of fewer than 2^63 bytes", f"{storage_bytes(value)} bytes", change)
    return None


def _storage_in_block(call: Launch) -> Broken | None:
    for name, value in call.placed():
        if call.block_of(value) is None:
            got, change = _misplaced(value.address, storage_bytes(value))
            return Broken(name, "storage inside one live aclrtMalloc block", got, change)
    return None


def _misplaced(address: int, nbytes: int) -> tuple[str, str]:
    """What memory this is that lies in no live block, and what to change."""
    block = ARENA.find(address, 1)
    if block is None:
        what, change = what_is_at(address)
        return what, f"{change[0].upper()}{change[1:]}."
    start = address - block.address
    got = f"{address:#x}, bytes {start} to {start + nbytes} of an allocation of {block.size} bytes"
    return got, "Allocate enough with aclrtMalloc, and create the tensor with the dtype and shape of its data."


def _workspace_apart(call: Launch) -> Broken | None:
    start, stop = call.workspace, call.workspace + call.needed
    for name in call.addresses:
        tensor = call.tensor(name)
        low, high = (edge + call.addresses[name] for edge in tensor.byte_range)
        if tensor.count and low < stop and start < high:
            return Broken("workspace", f"memory apart from {name}", "memory that overlaps it", "Use other memory.")
    return None


def _row(key: str, says: str, test: Callable[[Launch], Broken | None], **more: Any) -> Check:
    """A row that is asked of launches alone."""
    return Check(key, says, cast(Callable[[Call], Broken | None], test), **{"source": SAFE, **more})


_NOT_NULL = "workspace is not null where workspaceSize is greater than 0"
_IN_STORAGE = "every view lies inside its storage shape, which has fewer than 2^63 bytes"
LAUNCH_CHECKS = (
    _row("workspace-null", _NOT_NULL, _workspace_null, status=ACLNN_ERR_PARAM_NULLPTR, source=DOCUMENT),
    _row("workspace-size", "the workspace is at least as large as phase one asked", _workspace_small),
    _row("workspace-live", "the workspace lies in one live block", _workspace_live),
    _row("objects-live", "tensors and arrays live until phase two", _objects_live),
    _row("objects-unchanged", "tensors are as phase one saw them", _descriptions_unchanged),
    _row("view-in-storage", _IN_STORAGE, _views_in_storage),
    _row("storage-in-block", "every storage lies inside one live block", _storage_in_block),
    *MEMORY_CHECKS,
    _row("workspace-apart", "the workspace overlaps no tensor that is read or written", _workspace_apart),
)
