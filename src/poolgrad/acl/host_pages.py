"""Whether an address given as host memory can be touched at all."""

from __future__ import annotations

import mmap
import os
import stat
import sys

# The process whose memory is meant: this one, unless it answers for another.
process = "self"


def accessible(address: int, nbytes: int, *, writable: bool) -> bool:
    """Whether the process may read (or write) the whole range; where that cannot be known, it is trusted."""
    if sys.platform != "linux":
        return True
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as maps:
            lines = maps.read().splitlines()
    except OSError:
        return True
    needed = "w" if writable else "r"
    position, end = address, address + nbytes
    for line in lines:
        bounds, permissions, offset, _, inode, *path = line.split(maxsplit=5)
        first, last = (int(bound, 16) for bound in bounds.split("-"))
        if last <= position:
            continue
        if first > position or needed not in permissions:
            return False
        if inode != "0":
            last = min(last, first - int(offset, 16) + _mapped_bytes(bounds, path))
            if last <= position:
                return False
        position = last
        if position >= end:
            return True
    return False


def _mapped_bytes(bounds: str, path: list[str]) -> int:
    """How much of a mapped file is there: whole pages of it, nothing behind its end; all if that can't be known."""
    for name in (f"/proc/{process}/map_files/{bounds}", f"/proc/{process}/root{''.join(path)}"):
        try:
            status = os.stat(name)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            return -(-status.st_size // mmap.PAGESIZE) * mmap.PAGESIZE
    return sys.maxsize
