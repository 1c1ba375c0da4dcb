"""Where things stand in NumPy's array objects, for compiled code to read them.

``ctypes.data`` takes as long as a small call. NumPy's headers show these places to everybody who compiles against them;
whether things are there is looked at once. Where they are not, and without the GIL, ``run/calls.py`` asks NumPy.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

# Of an object its class, then of an array: the address of its memory, its rank, the addresses of its sizes and of its
# strides, whoever owns its memory, its type, its flags.
CLASS = object.__basicsize__ - 8
DATA, RANK, SIZES, STRIDES, _, DTYPE, FLAGS = range(object.__basicsize__, object.__basicsize__ + 56, 8)
WRITEABLE = 0x400  # of the flags


def is_as_expected() -> bool:
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_gil or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    block = np.zeros((3, 4))
    arrays = [block, block[1:, ::2], block.T[2], block[::-1], np.zeros((), np.int8), np.zeros(0, np.int64)]
    arrays[1].flags.writeable = False
    return all(map(_is_as_expected, arrays))


def _is_as_expected(array: np.ndarray) -> bool:
    def at(place: int) -> int:
        return ctypes.c_int64.from_address(id(array) + place).value

    def half(place: int) -> int:
        return ctypes.c_int32.from_address(id(array) + place).value

    def numbers(place: int) -> tuple[int, ...]:
        return tuple((ctypes.c_int64 * array.ndim).from_address(at(place))) if array.ndim else ()

    return (
        (at(CLASS), at(DATA), at(DTYPE), half(RANK)) == (id(np.ndarray), array.ctypes.data, id(array.dtype), array.ndim)
        and (numbers(SIZES), numbers(STRIDES)) == (array.shape, array.strides)
        and bool(half(FLAGS) & WRITEABLE) == array.flags.writeable
    )
