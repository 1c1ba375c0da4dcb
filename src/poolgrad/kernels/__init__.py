"""Compiled loops. They know numbers, addresses and steps, and nothing of the contract.

Importing this package costs nothing: Numba is loaded with the first kernel.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

# Held while Numba is imported and kernels are compiled. A fork waits for it: a child that was forked in the middle
# would wait for ever for locks of a thread that it does not have.
_loading = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


def kernel(name: str, compute: str) -> Callable[..., int]:
    """The kernel of that name (a row of the table below) for one compute dtype, compiled if need be.

    Arguments: the plan's record, the addresses of inputs, output, float and integer scratch, a range of units, and a
    zero of the compute dtype. It returns the place of the first bad index, or -1.
    """
    found = _LOADED.get((name, compute))
    if found is None:
        with _loading:
            found = _LOADED[name, compute] = _load(name, compute)
    return found


_LOADED: dict[tuple[str, str], Callable[..., int]] = {}


@cache
def _load(name: str, compute: str) -> Callable[..., int]:
    import numpy as np
    from numba import from_dtype, typeof, types

    from . import average, max_pixels, max_tiles, scatter
    from .cache import compiled
    from .record import RECORD

    functions: dict[str, tuple[Callable[..., Any], int]] = {
        "average": (average.average, 2),
        "scatter": (scatter.scatter, 3),
        "scatter_dense": (scatter.scatter_dense, 3),
        "scatter_together": (scatter.scatter_together, 3),
        "max_pixels": (max_pixels.max_pixels, 3),
        "max_tiles_2": (max_tiles.max_tiles_2, 3),
        "max_tiles_3": (max_tiles.max_tiles_3, 3),
        "max_tiles_4": (max_tiles.max_tiles_4, 3),
    }
    function, tensors = functions[name]
    typeof(np.zeros(1, RECORD))  # imports what Numba would import with the first call, after the lock
    record = types.Array(from_dtype(RECORD), 1, "C")
    integers = [types.int64] * (tensors + 4)
    return compiled(function, types.int64(record, *integers, getattr(types, compute)))
