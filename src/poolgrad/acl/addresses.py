"""What is at an address that is no live device memory, in the words of a message, and what to do about it."""

from __future__ import annotations

from .arena import ARENA, FREED, HOST_ARENA
from .arguments import shown
from .host_pages import accessible


def what_is_at(address: int) -> tuple[str, str]:
    """What an address is, itself included, and what to change."""
    allocate = "pass an address from aclrtMalloc"
    if not address:
        return "null", allocate
    where = f"{address:#x}" if 0 < address < 2**64 else shown(address)
    by = freed_by(address)
    if by:
        return f"{where}, which was freed by {by}", "free it after its last use"
    if ARENA.backing.holds(address) and HOST_ARENA.find(address, 1) is None:
        return f"{where}, device memory that no block has", allocate
    if accessible(address, 1, writable=False):
        return f"{where}, memory of the host", "copy it with aclrtMemcpy into a block from aclrtMalloc"
    return f"{where}, where there is no memory", allocate


def freed_by(address: int) -> str | None:
    """The function that freed the memory at an address, if it was not long ago and nobody has it again."""
    if any(arena.find(address, 1) for arena in (ARENA, HOST_ARENA)):
        return None
    return next((by for start, stop, by in reversed(tuple(FREED)) if start <= address < stop), None)
