"""The last launch of a plan that passed all rows of phase two, and what has to be asked again for the next one.

Most rows look at descriptions, offsets and addresses alone, which a program that calls an operator in a loop leaves as
they are, or makes anew as they were. What may be new is the workspace, and whether the memory is still there. Where
anything might be wrong there is no answer here: all rows are asked, and say what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..run.execute import Tensors
from .arena import ARENA, Block
from .launch import Launch, Objects, storage_bytes
from .objects import AclIntArray, AclTensor


@dataclass(frozen=True, slots=True, eq=False)
class LastLaunch:
    # Of phase one, and what was known then (known.py): while these are the same, objects are alive and unchanged.
    handles: Mapping[str, int]
    calls: object
    tensors: Tensors  # as the kernel takes them
    storages: list[tuple[int, int]]  # addresses and bytes, which must lie in live blocks
    touched: list[tuple[int, int]]  # first bytes and ends of what is read or written
    checked: Mapping[str, object]  # all that rows see of each object, by name

    @classmethod
    def of(cls, launch: Launch, tensors: Tensors, handles: Mapping[str, int], calls: object) -> LastLaunch:
        used = [(launch.tensor(name), address) for name, address in launch.addresses.items()]
        return cls(
            handles,
            calls,
            tensors,
            [(tensor.address, storage_bytes(tensor)) for _, tensor in launch.placed()],
            [(address + t.byte_range[0], address + t.byte_range[1]) for t, address in used if t.count],
            {name: _seen_by_rows(value) for name, value in launch.objects.items()},
        )

    def with_objects(self, handles: Mapping[str, int], calls: object, objects: Objects) -> LastLaunch | None:
        """The same for other objects, if no row could tell them from those that passed."""
        for name, seen in self.checked.items():
            if _seen_by_rows(objects[name]) != seen:
                return None
        return replace(self, handles=handles, calls=calls)

    def blocks(self, workspace: int, size: int, needed: int) -> list[Block | None] | None:
        """The blocks that such a launch holds, with this workspace; None if a row may have something against it."""
        if size < needed or (size and not workspace):
            return None
        end = workspace + needed
        for low, high in self.touched:
            if low < end and workspace < high:
                return None
        blocks = [ARENA.find(address, nbytes) for address, nbytes in self.storages]
        if needed:
            blocks.append(ARENA.find(workspace, needed))
        return None if None in blocks else blocks


def _seen_by_rows(value: AclTensor | AclIntArray | None) -> object:
    if isinstance(value, AclTensor):
        return value.tensor, value.offset, value.storage_dims, value.address
    return None if value is None else value.values
