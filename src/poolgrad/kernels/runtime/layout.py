"""Where things stand in Python's tuples and NumPy's arrays, for compiled code to read them, and whether they do."""

from __future__ import annotations

import ctypes
import sys

import numpy as np

# Every object begins with a header, whose end is its type.
HEADER = object.__basicsize__
TYPE = HEADER - 8
LENGTH, ITEMS = HEADER, tuple.__basicsize__
DATA, RANK, SHAPE, STRIDES, DTYPE, FLAGS = (HEADER + offset for offset in (0, 8, 16, 24, 40, 48))
WRITEABLE = 0x400

# No call that is worth a picture (objects.py) has tuples with more items, or arrays with more axes.
MOST_ITEMS = 16
# Its length, the number of threads, and five objects.
PICTURE_BYTES = 8 * (2 + 5 * (3 + 2 * MOST_ITEMS))


def is_as_expected() -> bool:
    """Look at some objects, small and strange ones too. Without the GIL they could change while they are read."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_gil or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    block = np.zeros((3, 4))
    frozen = np.zeros((2, 1, 3), np.float32)[:, :, ::-1]
    frozen.flags.writeable = False
    arrays = (block, block[1:, ::2], block.T[2], frozen, np.zeros((), np.int8), np.zeros(0, np.int64))
    return all(map(_array_is, arrays)) and all(map(_tuple_is, ((), (None,), (1, "two", 3.0))))


def _array_is(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bool:
    word, half = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    place = id(array)
    if (word(place + TYPE).value, half(place + RANK).value) != (id(np.ndarray), array.ndim):
        return False
    shape, strides = (
        tuple(word(word(place + field).value + 8 * i).value for i in range(array.ndim)) for field in (SHAPE, STRIDES)
    )
    return (
        (shape, strides) == (array.shape, array.strides)
        and word(place + DATA).value == array.ctypes.data
        and word(place + DTYPE).value == id(array.dtype)
        and bool(half(place + FLAGS).value & WRITEABLE) == array.flags.writeable
    )


def _tuple_is(items: tuple[object, ...]) -> bool:
    word = ctypes.c_int64.from_address
    found = [word(id(items) + ITEMS + 8 * i).value for i in range(len(items))]
    is_tuple = (word(id(items) + TYPE).value, word(id(items) + LENGTH).value) == (id(tuple), len(items))
    return is_tuple and found == [id(item) for item in items]
