"""Half precision numbers as their 16 bits, as C programs carry them.

As in CANN's library, which knows neither infinity nor NaN here: the largest exponent is one like any other, and what is
too large, infinite or no number becomes the largest half.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from ..base.status import ACL_ERROR_INTERNAL_ERROR, ACL_ERROR_INVALID_PARAM
from .arguments import as_int, shown
from .messages import refusal, returning_value

_LARGEST = 0x7BFF
_ROUNDS_TO_INFINITY = 65520  # and all beyond it, where there is one


@returning_value(ACL_ERROR_INTERNAL_ERROR)
def aclFloat16ToFloat(value: int) -> float:
    """The number that 16 bits stand for; None if they are no integer of 16 bits.

    >>> aclFloat16ToFloat(0x3C00)
    1.0
    """
    bits = as_int(value)
    if bits is None or not 0 <= bits < 2**16:
        raise refusal(ACL_ERROR_INVALID_PARAM, f"value must be an integer of 16 bits, got {shown(value)}")
    exponent, fraction = bits >> 10 & 31, bits & 1023
    size = math.ldexp(1024 + fraction, exponent - 25) if exponent else math.ldexp(fraction, -24)
    return -size if bits >> 15 else size


@returning_value(ACL_ERROR_INTERNAL_ERROR)
def aclFloatToFloat16(value: float) -> int:
    """The 16 bits of the nearest half precision number; None for what is no number.

    >>> hex(aclFloatToFloat16(1.0))
    '0x3c00'
    """
    try:
        # The C function takes a float, so the argument becomes one first.
        single = ctypes.c_float(value).value
    except (TypeError, OverflowError):
        raise refusal(ACL_ERROR_INVALID_PARAM, f"value must be a number, got {shown(value)}") from None
    if not abs(single) < _ROUNDS_TO_INFINITY:
        return _LARGEST if math.copysign(1, single) > 0 else _LARGEST | 0x8000
    return int(np.float16(single).view(np.uint16))
