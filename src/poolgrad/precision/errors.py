"""How far a block of elements is from its golden values: absolute, relative, and in ULP of the stored type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .limits import RELATIVE_FLOOR

Block = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SIGNED = {2: np.int16, 4: np.int32, 8: np.int64}


@dataclass(frozen=True, slots=True)
class Errors:
    """One block against its golden one. Where a pair is not finite, all three distances are 0 and a flag tells more."""

    actual: Floats
    golden: Floats
    golden_size: Floats  # |golden|, and 0 where the pair is not finite, so that formulas stay quiet there
    absolute: Floats
    ulp: npt.NDArray[np.uint64]
    finite: Bools  # both values are
    nan_mismatch: Bools  # just one of them is NaN
    inf_mismatch: Bools  # none is NaN, one is Inf, and the other is not the same Inf
    same_bits: Bools  # or NaN in both

    @property
    def relative(self) -> Floats:
        ratio: Floats = self.absolute / (self.golden_size + RELATIVE_FLOOR)
        return ratio

    @property
    def mismatch(self) -> Bools:
        """NaN or Inf that are not at the same place in both: no element passes with them."""
        return self.nan_mismatch | self.inf_mismatch


def count(flags: Bools) -> int:
    """How many are set."""
    return int(np.count_nonzero(flags))


# Numbers beyond float64 are Inf, signalling NaN are NaN, and nobody needs a warning of them: neither here nor in what
# is made of errors later on.
quiet = np.errstate(all="ignore")


@quiet
def measure(actual: Block, golden: Block) -> Errors:
    """Compare two blocks; the golden one is of the same type or of a wider one."""
    are_integers = actual.dtype.kind in "iu"
    stored = golden if are_integers or golden.dtype == actual.dtype else round_to(golden, actual.dtype)
    a, g = actual.astype(np.float64), golden.astype(np.float64)
    if stored is not golden:
        # What is beyond the range of the stored type is the Inf that it rounds to.
        beyond = np.isinf(stored.astype(np.float64))
        g[beyond] = np.copysign(np.inf, g[beyond])
    finite = np.isfinite(a) & np.isfinite(g)
    nan_a, nan_g = np.isnan(a), np.isnan(g)
    ulp = _distance(_order(actual), _order(stored))
    absolute, golden_size = ulp.astype(np.float64) if are_integers else np.abs(a - g), np.abs(g)
    if not finite.all():
        absolute[~finite] = golden_size[~finite] = 0.0
        ulp[~finite] = 0
    return Errors(
        actual=a,
        golden=g,
        golden_size=golden_size,
        absolute=absolute,
        ulp=ulp,
        finite=finite,
        nan_mismatch=nan_a != nan_g,
        inf_mismatch=~finite & ~(nan_a | nan_g) & (a != g),
        same_bits=actual == golden if are_integers else (_bits(actual) == _bits(stored)) | (nan_a & nan_g),
    )


def round_to(values: Block, dtype: np.dtype[Any]) -> Block:
    """The nearest values of a narrower type, ties to even, each rounded once."""
    if dtype.name == "bfloat16" and values.dtype == np.float64:
        values = _to_odd(values)
    return values.astype(dtype)


def _to_odd(values: Floats) -> npt.NDArray[np.float32]:
    """float32 values with a last bit of 1 where digits were lost: a second rounding then ends where one would.

    ml_dtypes rounds float64 to bfloat16 by way of float32, and to nearest twice is not to nearest.
    """
    nearest = values.astype(np.float32)
    bits = nearest.view(np.uint32).copy()
    bits[np.abs(nearest) > np.abs(values)] -= 1  # towards zero
    bits[nearest != values] |= 1
    odd: npt.NDArray[np.float32] = np.where(np.isnan(values), nearest, bits.view(np.float32))
    return odd


def _bits(values: Block) -> npt.NDArray[Any]:
    return values.view(_SIGNED[values.dtype.itemsize])


def _order(values: Block) -> npt.NDArray[np.int64]:
    """Whole numbers that count the representable values; both zeros are 0."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    bits = _bits(values)
    size = (bits & np.iinfo(bits.dtype).max).astype(np.int64)
    return np.where(bits < 0, -size, size)


def _distance(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """|one - other|, which may need all 64 bits."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return high.view(np.uint64) - low.view(np.uint64)
