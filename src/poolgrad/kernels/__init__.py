"""Compiled loops. They know numbers, addresses and steps, and nothing of the contract.

Importing this package costs nothing: Numba is loaded with the first kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def kernel(name: str, compute: str) -> Callable[..., int]:
    """The kernel of that name ("average", "scatter") for one compute dtype, compiled if need be.

    Arguments: the plan's record, the addresses of inputs and output, float and integer scratch, and a range of units.
    It returns the place of the first bad index, or -1.
    """
    from numba import from_dtype, types

    from ..plan import RECORD
    from . import average, scatter
    from .cache import compiled

    functions: dict[str, tuple[Callable[..., Any], int]] = {
        "average": (average.average, 2),
        "scatter": (scatter.scatter, 3),
    }
    function, addresses = functions[name]
    record = types.Array(from_dtype(RECORD), 1, "C")
    floats = types.Array(getattr(types, compute), 1, "C")
    integers = types.Array(types.int64, 1, "C")
    signature = types.int64(record, *([types.int64] * addresses), floats, integers, types.int64, types.int64)
    return compiled(function, signature)
