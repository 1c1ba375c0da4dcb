"""The memory of all cases: what they read, what they write, and a tensor that torch asks for and nobody looks at.

It is kept from case to case, and the limit is measured in it, too. Whether the system gave huge pages changes times by
a factor of two; this way everything that is compared has met the same pages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

READ, WRITTEN, UNUSED = "read", "written", "unused"

_KEPT: dict[str, Any] = {}
_TAKEN: dict[str, int] = {}
LEAST = 1 << 28
LINE = 64


def begin() -> None:
    """What was taken before may be taken again."""
    _TAKEN.clear()


def take(kind: str, size: int) -> Any:
    """So many bytes that nobody else has taken, as NumPy would lay them out: 16 bytes after a page or a line begins."""
    start = _TAKEN.get(kind, 0)
    _TAKEN[kind] = start + -(-size // LINE) * LINE
    return whole(kind, _TAKEN[kind])[start : start + size]


def whole(kind: str, size: int) -> Any:
    """All bytes of a kind, at least so many."""
    if kind not in _KEPT or _KEPT[kind].size < size:
        _KEPT.pop(kind, None)  # before there is more
        _KEPT[kind] = np.empty(max(size, LEAST), np.uint8)
        if kind != UNUSED:  # reading pages that nobody wrote is reading one page of zeros
            _KEPT[kind].fill(1)
    return _KEPT[kind]
