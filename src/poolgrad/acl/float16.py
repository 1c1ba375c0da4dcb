"""Half precision numbers as their 16 bits, as C programs carry them."""

from __future__ import annotations

import ctypes

import numpy as np

from ..base.status import ACL_ERROR_INTERNAL_ERROR, ACL_ERROR_INVALID_PARAM
from .arguments import as_int, shown
from .messages import guarded, refusal


@guarded(ACL_ERROR_INTERNAL_ERROR, returns_status=False)
def aclFloat16ToFloat(value: int) -> float | None:
    """The number that 16 bits stand for; None if they are no integer of 16 bits.

    >>> aclFloat16ToFloat(0x3C00)
    1.0
    """
    bits = as_int(value)
    if bits is None or not 0 <= bits < 2**16:
        raise refusal(ACL_ERROR_INVALID_PARAM, f"value must be an integer of 16 bits, got {shown(value)}")
    return float(np.uint16(bits).view(np.float16))


@guarded(ACL_ERROR_INTERNAL_ERROR, returns_status=False)
def aclFloatToFloat16(value: float) -> int | None:
    """The 16 bits of the nearest half precision number; None for what is no number.

    >>> hex(aclFloatToFloat16(1.0))
    '0x3c00'
    """
    try:
        # The C function takes a float, so the argument becomes one first.
        single = np.float32(ctypes.c_float(value).value)
        with np.errstate(over="ignore"):
            return int(single.astype(np.float16).view(np.uint16))
    except (TypeError, OverflowError):
        raise refusal(ACL_ERROR_INVALID_PARAM, f"value must be a number, got {shown(value)}") from None
