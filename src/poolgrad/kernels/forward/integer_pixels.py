"""Maxima of integers over channels that lie side by side (pixels.py): a kernel for each type."""

from __future__ import annotations

from typing import Any

from ..jit.integers import larger_integers
from ..record import INTEGER_MAXIMA
from .integers import KINDS
from .pixels import Numbers, kernel_of_rows, maxima, row_pooler, value_giver, value_reader


def _kernel(name: str, dtype: str) -> Any:
    kind = KINDS[dtype]
    numbers = Numbers(kind.load, kind.store, kind.store, kind.load_few, kind.store_few)
    pool = row_pooler(f"{name}_row", numbers, maxima, value_reader, larger_integers, value_giver)
    return kernel_of_rows(name, pool, pool, pool)


globals().update({f"{name}_pixels": _kernel(f"{name}_pixels", dtype) for dtype, name in INTEGER_MAXIMA.items()})
