"""Maxima of integers over channels that lie side by side (pixels.py): a kernel for each type."""

from __future__ import annotations

from typing import Any

from ..jit.integers import larger_integers
from .integers import kind_of
from .pixels import Numbers, kernel_of_rows, maxima, row_pooler, value_giver, value_reader


def make_kernel(name: str) -> Any:
    kind = kind_of(name)
    numbers = Numbers(kind.load, kind.store, kind.store, kind.load_few, kind.store_few)
    pool = row_pooler(f"{name}_row", numbers, maxima, value_reader, larger_integers, value_giver)
    return kernel_of_rows(name, pool, pool, pool)
