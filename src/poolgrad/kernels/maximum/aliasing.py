"""Where a plane is scattered so that loads of indices do not wait for stores.

A load waits for a store shortly before it if both have the same address within their pages, though the pages differ.
Large arrays begin at the same address in their pages. So with as many indices as elements, both of 32 bits, all loads
of a plane may meet stores, and it takes up to a third longer. Then it is scattered in scratch and copied.
"""

from __future__ import annotations

from ..jit.memory import inlined_piece
from ..record import PAGE

# Bytes of stores that are under way.
UNDER_WAY = 256


@inlined_piece
def meets_stores(indices: int, target: int, width: int) -> bool:
    """Whether indices lie in their pages where the elements do that they name, or the ones before.

    These are counted from a row above the window's own to one below.
    """
    row = 4 * width
    return (indices - target + row + UNDER_WAY) % PAGE < 2 * row + UNDER_WAY


@inlined_piece
def place_for(indices: int, target: int, scratch: int, width: int) -> int:
    """The target itself, or else scratch, from its beginning on or from half a page behind it."""
    if not meets_stores(indices, target, width):
        return target
    return scratch + PAGE // 2 if meets_stores(indices, scratch, width) else scratch
