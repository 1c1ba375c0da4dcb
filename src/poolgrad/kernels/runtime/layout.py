"""Where an array's address stands in NumPy's object, for compiled code to read it.

``ctypes.data`` takes as long as a small call. Whether the address stands there is looked at once; where it does not,
and without the GIL, ``run/calls.py`` asks NumPy.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

DATA = object.__basicsize__


def is_as_expected() -> bool:
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_gil or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    block = np.zeros((3, 4))
    arrays = (block, block[1:, ::2], block.T[2], block[::-1], np.zeros((), np.int8), np.zeros(0, np.int64))
    return all(ctypes.c_int64.from_address(id(array) + DATA).value == array.ctypes.data for array in arrays)
