"""Device memory that the program sees too: a shared mapping, at the same address in both processes."""

from __future__ import annotations

import bisect
import ctypes
import errno
import mmap
import os
import resource
import threading
from collections import deque

from ..acl.arena import ALIGNMENT, ARENA, Backing
from .huge_pages import HUGE_PAGE, SPARE, HugePages, remove

_MAP_NORESERVE = 0x4000
_MAP_FIXED_NOREPLACE = 0x100000
_PAGE = mmap.PAGESIZE
SMALLEST = 1 << 16
_MOST_RESTING = 8

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def largest_size() -> int:
    """As much as there is RAM, or what the limits of the process, which are the program's, leave room for."""
    size = ARENA.capacity
    for limit, share in ((resource.RLIMIT_FSIZE, 1), (resource.RLIMIT_AS, 4)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            size = min(size, most // share)
    return whole_pages(size)


def whole_pages(size: int) -> int:
    return size // _PAGE * _PAGE


def new_file(size: int) -> int:
    """The descriptor of a file of that size which is in memory, and nowhere else."""
    if size < SMALLEST:
        raise MemoryError("there is no room for device memory; raise the limits of the process (ulimit -v, ulimit -f)")
    try:
        descriptor = os.memfd_create("poolgrad")
    except (AttributeError, OSError):  # an old system
        descriptor = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    os.ftruncate(descriptor, size)
    return descriptor


def map_shared(descriptor: int, address: int, size: int) -> int:
    """Map a file at this address: 0, or the errno. ``EEXIST`` means that something else lies there."""
    flags = mmap.MAP_SHARED | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
    got = _LIBC.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0)
    if got == address:
        return 0
    if got is None or got == ctypes.c_void_p(-1).value:
        return ctypes.get_errno() or errno.ENOMEM
    _LIBC.munmap(got, size)  # an old kernel, which takes the address for a hint
    return errno.EEXIST


class Piece:
    """Some bytes of the shared memory; with its end they can be given to others."""

    __slots__ = ("_memory", "_span")

    def __init__(self, memory: SharedMemory, span: tuple[int, int]) -> None:
        self._memory = memory
        self._span = span

    def __del__(self) -> None:
        self._memory.give_back(*self._span)


class SharedMemory(Backing):
    """The backing of an arena: pieces of one range of addresses, as low as possible.

    A piece that was given back rests until some others were, so that a freed address is not handed out again at once,
    and a program that goes on using it is told so; large ones do not, since what they keep would be missed. Behind each
    piece some bytes stay free: the address behind a block is never another block's.
    """

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size
        # Free spans (start, stop), ascending; neighbours never touch.
        self._free = [(address, address + size)]
        self._ended: deque[tuple[int, int]] = deque()
        self._resting: deque[tuple[int, int]] = deque()
        self._resting_bytes = 0
        self._huge_pages = HugePages(address, size)
        self._lock = threading.Lock()

    def reserve(self, size: int) -> tuple[int, Piece]:
        unit = _unit(size)
        length = -(-(size + ALIGNMENT) // unit) * unit
        with self._lock:
            self._settle()
            start = self._place(length, unit)
        return start, Piece(self, (start, start + length))

    def touch(self, address: int, nbytes: int) -> None:
        self._huge_pages.touch(address, nbytes)

    def holds(self, address: int) -> bool:
        return self.overlaps(address, 1)

    def overlaps(self, address: int, nbytes: int) -> bool:
        return address < self.address + self.size and self.address < address + nbytes

    def give_back(self, start: int, stop: int) -> None:
        self._ended.append((start, stop))
        # The garbage collector may end a piece at any moment, also while this thread is in the middle of something:
        # then the piece waits for whoever comes next.
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def _settle(self) -> None:
        """Let pieces that have ended rest."""
        while self._ended:
            start, stop = self._ended.popleft()
            if _is_large(stop - start):
                self._huge_pages.leave(start, stop)
            self._resting.append((start, stop))
            self._resting_bytes += stop - start
            self._wake(_MOST_RESTING)

    def _place(self, length: int, unit: int) -> int:
        start = self._take_resting(length) if unit == _PAGE else None
        if start is None:
            start = self._find(length, unit)
        if start is None:
            self._wake(0)
            start = self._find(length, unit)
        if start is None:
            raise MemoryError
        if unit == HUGE_PAGE:
            self._huge_pages.take(start, start + length)
        else:
            self._huge_pages.clear(start, start + length)
        return start

    def _take_resting(self, length: int) -> int | None:
        """A piece that has rested for a while and still has its pages: a workspace comes and goes with every call."""
        for span in list(self._resting)[:-2]:
            if span[1] - span[0] == length:
                self._resting.remove(span)
                self._resting_bytes -= length
                return span[0]
        return None

    def _find(self, length: int, unit: int) -> int | None:
        """Take a piece out of the free spans."""
        for place, (low, high) in enumerate(self._free):
            start = -(-low // unit) * unit
            if start + length <= high:
                left = [span for span in ((low, start), (start + length, high)) if span[0] < span[1]]
                self._free[place : place + 1] = left
                return start
        return None

    def _wake(self, most: int) -> None:
        """Free the oldest of the resting pieces, until at most so many are left, of a small part of the memory."""
        while self._resting and (len(self._resting) > most or self._resting_bytes > min(self.size // 32, SPARE)):
            start, stop = self._resting.popleft()
            self._resting_bytes -= stop - start
            if stop - start >= 16 * _PAGE and not _is_large(stop - start):
                remove(start, stop)
            place = bisect.bisect_left(self._free, (start, stop))
            if place < len(self._free) and self._free[place][0] == stop:
                stop = self._free.pop(place)[1]
            if place and self._free[place - 1][1] == start:
                place -= 1
                start = self._free.pop(place)[0]
            self._free.insert(place, (start, stop))


def _unit(size: int) -> int:
    """What a piece is made of: whole pages, unless it is small."""
    if _is_large(-(-(size + ALIGNMENT) // _PAGE) * _PAGE):
        return HUGE_PAGE
    return _PAGE if size >= 16 * _PAGE else ALIGNMENT


def _is_large(length: int) -> bool:
    """Whether a piece of that length has huge pages of its own."""
    return length >= 2 * HUGE_PAGE
