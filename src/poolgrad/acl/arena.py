"""Blocks of memory behind addresses: allocate, free, find the block that holds an address."""

from __future__ import annotations

import bisect
import os
import sys
import threading
from collections import deque
from dataclasses import dataclass

import numpy as np

ALIGNMENT = 64

# The last blocks of all arenas that were freed, for messages: start, stop, and the function that did it.
FREED: deque[tuple[int, int, str]] = deque(maxlen=256)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A live allocation. The memory stays as long as somebody holds the block, freed or not."""

    address: int
    size: int
    owner: object


class Backing:
    """Where the memory of an arena comes from: here, ordinary memory of this process."""

    def reserve(self, size: int) -> tuple[int, object]:
        """An aligned address and its owner, whose end gives the memory back; ``MemoryError`` if there is none."""
        owner = np.empty(size + ALIGNMENT - 1, np.uint8)
        start: int = owner.ctypes.data
        return -(-start // ALIGNMENT) * ALIGNMENT, owner

    def touch(self, address: int, nbytes: int) -> None:
        """All of these bytes of a live block are about to be used. The system fills pages as they are needed."""

    def holds(self, address: int) -> bool:
        """Whether an address can only be one of this backing, whoever has it at the moment."""
        return False


class Arena:
    """The live blocks of one kind of memory, at most ``capacity`` bytes of them."""

    def __init__(self, backing: Backing, capacity: int) -> None:
        self.backing = backing
        self.capacity = capacity
        self.used = 0
        self._blocks: dict[int, Block] = {}
        self._starts: list[int] = []
        # Reentrant: the garbage collector may run a destructor that frees a block at any moment.
        self._lock = threading.RLock()

    def alloc(self, size: int) -> int | None:
        """The address of a new block, or None if there is no room for it."""
        with self._lock:
            if self.used + size > self.capacity:
                return None
            self.used += size
        try:
            address, owner = self.backing.reserve(size)
        except (MemoryError, ValueError):  # NumPy's answer to sizes beyond its own limit is a ValueError
            with self._lock:
                self.used -= size
            return None
        block = Block(address, size, owner)
        with self._lock:
            self._blocks[address] = block
            bisect.insort(self._starts, address)
        return address

    def free(self, address: int, by: str = "aclrtFree") -> bool:
        """Forget the block that starts at ``address``, in the name of a function; False if there is none."""
        with self._lock:
            block = self._blocks.pop(address, None)
            if block is None:
                return False
            del self._starts[bisect.bisect_left(self._starts, address)]
            self.used -= block.size
        FREED.append((address, address + block.size, by))
        return True

    def find(self, address: int, nbytes: int) -> Block | None:
        """The live block that holds all of ``nbytes`` bytes from ``address`` on."""
        with self._lock:
            place = bisect.bisect_right(self._starts, address)
            block = self._blocks.get(self._starts[place - 1]) if place else None
        return block if block and 0 <= nbytes <= block.address + block.size - address else None

    def clear(self) -> None:
        for address in list(self._blocks):
            self.free(address, "aclFinalize")

    def renew_lock(self) -> None:
        """For the child of a fork, where the thread that held the lock does not exist."""
        self._lock = threading.RLock()


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


# A limit of its own, since Linux would promise any amount and kill the process when it is touched.
ARENA = Arena(Backing(), _physical_memory())
HOST_ARENA = Arena(Backing(), _physical_memory())
