"""The huge pages of large blocks: filled when they are first used, kept when their block is freed, given back in time.

Kernels run a quarter faster over huge pages, which shared memory gets on request only. Filling one takes as long as the
first touch of so many small ones, much longer than all else that an allocation does. So nothing is filled before it is
used, and a program that allocates and frees with every step finds the pages of its last step.
"""

from __future__ import annotations

import ctypes
import time

HUGE_PAGE = 1 << 21
SPARE = 32 << 21  # bytes that may be kept besides what blocks took at their peak, for those that rest
_MADV_REMOVE = 9
_MADV_COLLAPSE = 25
_PATIENCE = 1.0  # seconds

# What is known of each huge page. One of a live block is touched or not, and huge pages were asked for or not; so are
# those that are kept. What belongs to no large block is none of our business.
_OTHERS, _PLAIN, _HUGE, _KEPT_PLAIN, _KEPT_HUGE = range(5)
_TAKEN = bytes.maketrans(bytes((_OTHERS, _KEPT_PLAIN, _KEPT_HUGE)), bytes((_PLAIN, _PLAIN, _HUGE)))
_LEFT = bytes.maketrans(bytes((_PLAIN, _HUGE)), bytes((_KEPT_PLAIN, _KEPT_HUGE)))

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def remove(start: int, stop: int) -> None:
    """Give memory back to the system; what is read there next is zero."""
    _LIBC.madvise(start, stop - start, _MADV_REMOVE)


class HugePages:
    """Of one range of addresses, which begins with a huge page. Who calls ``take`` and its kin holds a lock."""

    def __init__(self, address: int, size: int) -> None:
        self._address = address
        self._pages = bytearray(size // HUGE_PAGE + 1)
        self._most_kept = size // 8 // HUGE_PAGE
        self._used = self._peak = self._kept = 0  # pages

    def take(self, start: int, stop: int) -> None:
        """A new block has these whole pages."""
        pages = self._range(start, stop)
        taken = self._pages[pages]
        self._kept -= taken.count(_KEPT_PLAIN) + taken.count(_KEPT_HUGE)
        self._pages[pages] = taken.translate(_TAKEN)
        self._used += len(taken)
        self._peak = max(self._peak, self._used)
        self._give_back()

    def leave(self, start: int, stop: int) -> None:
        """The block is gone, its memory is kept."""
        pages = self._range(start, stop)
        self._pages[pages] = self._pages[pages].translate(_LEFT)
        self._used -= pages.stop - pages.start
        self._kept += pages.stop - pages.start
        self._give_back()

    def clear(self, start: int, stop: int) -> None:
        """These bytes go to a block that has no whole pages: none that they lie in is kept."""
        if self._kept:
            pages = self._range(start, stop)
            for page in range(pages.start, pages.stop):
                if self._pages[page] >= _KEPT_PLAIN:
                    self._remove(page, page + 1)

    def touch(self, address: int, nbytes: int) -> None:
        """Fill the pages that these bytes of a live block lie in, unless that was tried before.

        Where the system has no huge pages, or it takes long, the rest of the bytes stays as it is.
        """
        pages = self._range(address, address + nbytes)
        bare = self._pages.count(_PLAIN, pages.start, pages.stop)
        if not bare:
            return
        good, end = bare * HUGE_PAGE <= _available_memory() // 8, time.monotonic() + _PATIENCE
        for page in range(pages.start, pages.stop):
            if self._pages[page] == _PLAIN:
                self._pages[page] = _HUGE
                good = good and _fill(self._address + page * HUGE_PAGE) and time.monotonic() < end

    def _give_back(self) -> None:
        """Keep no more than what blocks took at their peak, from the top: blocks lie as low as possible."""
        most = min(self._peak - self._used + SPARE // HUGE_PAGE, self._most_kept)
        while self._kept > most:
            stop = 1 + max(self._pages.rfind(_KEPT_PLAIN), self._pages.rfind(_KEPT_HUGE))
            start = stop - 1
            while start and self._pages[start - 1] >= _KEPT_PLAIN and stop - start < self._kept - most:
                start -= 1
            self._remove(start, stop)

    def _remove(self, start: int, stop: int) -> None:
        """Give kept pages back."""
        remove(self._address + start * HUGE_PAGE, self._address + stop * HUGE_PAGE)
        self._kept -= stop - start
        self._pages[start:stop] = bytes(stop - start)

    def _range(self, start: int, stop: int) -> slice:
        return slice((start - self._address) // HUGE_PAGE, -(-(stop - self._address) // HUGE_PAGE))


def _fill(page: int) -> bool:
    """Collapse a page, of which something must be there: reading it is enough, and spoils nothing."""
    ctypes.string_at(page, 1)
    return not _LIBC.madvise(page, HUGE_PAGE, _MADV_COLLAPSE)


def _available_memory() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 0
