"""Whether an address given as host memory can be touched at all."""

from __future__ import annotations

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
        bounds, permissions = line.split(maxsplit=2)[:2]
        first, last = (int(bound, 16) for bound in bounds.split("-"))
        if last <= position:
            continue
        if first > position or needed not in permissions:
            return False
        position = last
        if position >= end:
            return True
    return False
