"""bfloat16 through DLPack, which NumPy's own reader does not know."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..base.dtypes import BFLOAT16
from ..base.tensor import Tensor, contiguous_strides

_BFLOAT_CODE, _BITS = 4, 16


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def read_bfloat16(value: Any) -> npt.NDArray[Any] | None:
    """A view of an object's memory as a NumPy array, or None if it holds anything but bfloat16."""
    capsule = value.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    found = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    if (found.type_code, found.type_bits, found.type_lanes) != (_BFLOAT_CODE, _BITS, 1):
        return None
    shape = tuple(found.shape[: found.rank])
    steps = tuple(found.strides[: found.rank]) if found.strides else contiguous_strides(shape)
    tensor = Tensor(BFLOAT16, shape, tuple(2 * step for step in steps), "ND")
    low, high = tensor.byte_range
    memory = (ctypes.c_char * (high - low)).from_address((found.data or 0) + found.byte_offset + low)
    # The capsule was not consumed: it gives the memory back when it goes, so it must live as long as the view.
    memory.capsule = capsule  # type: ignore[attr-defined]
    bits = np.ndarray(shape, np.uint16, memoryview(memory), -low, tensor.strides)
    array: npt.NDArray[Any] = bits.view(ml_dtypes.bfloat16)
    return array
