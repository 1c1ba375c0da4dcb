"""Half precision as CANN's library has it, through both doors."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from poolgrad import acl
from poolgrad.acl import messages

pytestmark = pytest.mark.doors("Python", "C")


def as_the_library_reads(halves: npt.NDArray[np.uint16]) -> npt.NDArray[np.float64]:
    """The numbers of half precision as CANN's library has them: the largest exponent is one like any other."""
    exponents, fractions = halves >> 10 & 31, (halves & 1023).astype(float)
    sizes = np.where(exponents > 0, (1024 + fractions) * 2.0 ** (exponents - 25.0), fractions * 2.0**-24)
    return np.where(halves >> 15, -sizes, sizes)


def test_every_half_becomes_its_float_and_back() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    floats = [acl.aclFloat16ToFloat(int(each)) for each in bits]
    assert floats == as_the_library_reads(bits).tolist()
    finite = (bits >> 10 & 31) < 31
    for each, value in zip(bits[finite].tolist(), np.array(floats)[finite].tolist(), strict=True):
        assert acl.aclFloatToFloat16(value) == each


def test_floats_are_rounded_to_the_nearest_half() -> None:
    """Random bits of every magnitude, and the numbers half way between two halves with their neighbours."""
    bits = np.random.default_rng(1).integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    halves = as_the_library_reads(np.arange(0, 0x7C00, 7, dtype=np.uint16))
    after = as_the_library_reads(np.arange(0, 0x7C00, 7, dtype=np.uint16) + np.uint16(1))
    middles = ((halves + after) / 2).astype(np.float32)
    near = [middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))]
    numbers = np.concatenate([bits[~np.isnan(bits)], *near])
    numbers = np.concatenate([numbers, -numbers])
    expected = numbers.clip(-65504, 65504).astype(np.float16).view(np.uint16)
    found = np.array([acl.aclFloatToFloat16(float(number)) for number in numbers], np.uint16)
    assert np.array_equal(found, expected)
    for sign, largest in ((1, 0x7BFF), (-1, 0xFBFF)):
        for number in (math.nan, math.inf, 65520.0, 65536.0):
            assert acl.aclFloatToFloat16(math.copysign(number, sign)) == largest


@pytest.mark.parametrize(
    ("bits", "value"), [(0x7C00, 65536.0), (0xFC00, -65536.0), (0x7E00, 98304.0), (0xFE00, -98304.0)]
)
def test_halves_have_neither_infinity_nor_nan(bits: int, value: float) -> None:
    assert acl.aclFloat16ToFloat(bits) == value


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1 + 2**-11, 0x3C00), (1 + 3 * 2**-11, 0x3C02), (2**-25, 0), (-(2**-25), 0x8000), (True, 0x3C00)],
)
def test_rounding_is_to_nearest_even(value: float, bits: int) -> None:
    assert acl.aclFloatToFloat16(value) == bits


@pytest.mark.parametrize("value", [65504.0, 65519.0, 65520.0, 65536.0, 1e300, math.inf, math.nan])
def test_what_is_too_large_becomes_the_largest_half(value: float) -> None:
    assert acl.aclFloatToFloat16(value) == 0x7BFF
    assert acl.aclFloatToFloat16(math.copysign(value, -1)) == 0xFBFF


@pytest.mark.doors("Python")
def test_what_is_no_half() -> None:
    for wrong in (-1, 2**16, 1.0, "1", None):
        assert acl.aclFloat16ToFloat(wrong) is None  # type: ignore[arg-type]
        assert messages.aclGetRecentErrMsg()
    for wrong in ("1.5", None, object(), [1.0, 2.0], 10**400):
        assert acl.aclFloatToFloat16(wrong) is None  # type: ignore[arg-type]
        assert messages.aclGetRecentErrMsg()
