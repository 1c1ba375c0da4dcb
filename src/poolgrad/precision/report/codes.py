"""One byte per element: how far it is off, and whether that is too far. A larger byte is a worse element."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import Bools, Errors, quiet
from ..histogram import bucket_of
from ..judges import Judge

Codes = npt.NDArray[np.uint8]

CODES = 256
FAILS = 0x80  # added to the bucket of the distance in ULP
MISMATCH = 0xFF  # a NaN or an Inf that differs


@quiet
def codes_of(judge: Judge, errors: Errors) -> tuple[Codes, Bools]:
    """The bytes, and which elements pass."""
    passes = judge.accepts(errors, errors.relative)
    codes = bucket_of(errors.ulp).astype(np.uint8)
    if judge.judges_elements:
        codes[~passes] |= FAILS
    codes[errors.mismatch] = MISMATCH
    return codes, passes
