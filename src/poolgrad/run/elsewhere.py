"""Arrays that are not in memory, and who computes on them. Their libraries are never imported to find that out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

# The module and the class of such arrays, and the module whose ``call`` takes what ``run/calls.py`` was given.
_TAKERS: dict[tuple[str, str], str] = {}


def takes(library: str, kind: str, *, by: str) -> None:
    """Send calls on arrays of that class to a module, which is imported with the first of them."""
    _TAKERS[library, kind] = by


def taker_of(values: Iterable[Any], name: str = "call") -> Callable[..., Any] | None:
    """Who computes a call on these arguments, or what else has a name; None if they are in memory, or strange to
    everybody."""
    given = [value for value in values if value is not None]
    for (library, kind), module in _TAKERS.items():
        known = getattr(sys.modules.get(library), kind, None)
        if known is not None and any(isinstance(value, known) for value in given):
            taker: Callable[..., Any] | None = getattr(import_module(module), name, None)
            return taker
    return None
