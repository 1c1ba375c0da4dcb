"""Infinities, NaN, zeros, subnormal numbers and every pattern of 16 bits: each arrives as what it is."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import (
    BFLOAT16,
    DTYPES,
    HALVES,
    Case,
    assert_no_negative_zero,
    assert_same_bits,
    assert_within_rounding,
    cases,
    parse,
)

import poolgrad
from poolgrad.selftest import reference

AVERAGES = """
avg n1c2h9w12 k2                    | disjoint                | side by side
avg n1c2h9w12 k3 s1                 | overlap                 | overlapping
avg n1c2h9w12 k3 s2 p1 ceil nopad   | overlap padded clipped  | padded and cut off
avg n1c2h9w14 k2 s3                 | gap                     | gaps
avg n1c1h12w40 k11 s1 p5            | overlap padded          | long runs
avg n1c2h5w8 k5,8                   | global                  | global
aavg n1c2d3h7w11 o2,3,4             | overlap deep uneven     | adaptive
aavg n1c2d2h3w4 o3,5,9              | larger overlap deep     | adaptive, more windows than elements
"""
MAXIMA = """
max n1c2h6w24 k2             | disjoint          | side by side
max n1c2h7w23 k3 s2 p1       | overlap padded    | overlapping
max n1c2h7w23 k3 s1          | overlap           | up to nine gradients in one place
max n1c2h6w24 k2 astray      | disjoint          | indices outside their windows
max n1c4h6w8 k2 nhwc         | disjoint          | channels last
amax n1c2h7w11 o5,4          | overlap uneven    | adaptive
"""


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_infinities_and_nan_arrive_where_they_should(case: Case, dtype):
    """All of them at once, anywhere. Maxima move them bit by bit; of an average only other numbers are rounded."""
    gradients = case.gradients(dtype)
    flat = gradients.reshape(-1)
    places = case.random().permutation(flat.size)[:5]
    flat[places] = np.array([np.nan, np.inf, -np.inf, np.nan, np.inf], dtype=dtype)[: len(places)]
    with np.errstate(invalid="ignore"):
        expected = case.reference(gradients)
    result = case.run(gradients)
    assert np.isnan(expected).any()
    assert np.isinf(expected).any()
    if not case.averages:
        assert_same_bits(result, expected.astype(dtype))
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    infinite = np.isinf(expected)
    assert np.array_equal(np.isinf(result), infinite)
    assert np.array_equal(result[infinite].astype(np.float64), expected[infinite])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_zero_is_never_negative(case: Case, dtype):
    negative_divisor = {"divisor_override": -3} if case.operator == "avg" else {}
    for zero, options in ((-0.0, {}), (0.0, negative_divisor)):
        result = case.run(case.laid_out(np.full(case.grad_shape, zero, dtype=dtype)), **options)
        assert (result == 0).all()
        assert_no_negative_zero(result)


@pytest.mark.parametrize("case", cases(AVERAGES))
def test_every_quotient_is_formed_before_the_sum(case: Case):
    """Gradients close to the largest number: their sum would overflow, the sum of their shares does not."""
    largest = np.finfo(np.float32).max / 2
    gradients = np.full(case.grad_shape, largest, dtype=np.float32)
    expected = case.reference(gradients)
    if "larger" not in case.facts:
        assert np.isfinite(expected.astype(np.float32)).all()
    with np.errstate(over="ignore"):
        assert np.array_equal(np.isinf(case.run(gradients)), np.isinf(expected.astype(np.float32)))


@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_subnormal_numbers_are_kept(case: Case):
    gradients = case.random().integers(1, 2000, case.grad_shape) * 2.0**-149
    gradients = case.laid_out(gradients.astype(np.float32))
    result = case.run(gradients)
    assert (result != 0).any()
    assert np.abs(result).max() < np.finfo(np.float32).tiny
    if case.averages:
        assert_within_rounding(case, gradients, result)
    else:
        assert_same_bits(result, case.reference(gradients))


@pytest.mark.parametrize("case", cases(AVERAGES))
def test_subnormal_halves_are_kept(case: Case):
    gradients = (case.random().integers(1, 600, case.grad_shape) * 2.0**-24).astype(np.float16)
    result = case.run(gradients)
    assert ((result != 0) & (np.abs(result) < np.finfo(np.float16).tiny)).any()
    assert_same_bits(result, case.run(gradients.astype(np.float32)).astype(np.float16))


def test_halves_overflow_and_vanish_by_rounding():
    """Values around the ends of float16 and bfloat16: what float32 makes of the sum decides, rounded once."""
    case = parse("avg n1c1h4w8 k2 s1 div=1 | overlap | sums beyond the range of float16")
    gradients = np.full(case.grad_shape, 32752.0, dtype=np.float16)
    result = case.run(gradients)
    single = case.run(gradients.astype(np.float32))
    assert np.isinf(result).any()
    assert np.isfinite(result).any()
    with np.errstate(over="ignore"):
        assert_same_bits(result, single.astype(np.float16))
    case = parse("avg n1c1h4w8 k2 div=3 | disjoint | quotients that vanish")
    gradients = np.full(case.grad_shape, -(2.0**-24), dtype=np.float16)
    assert_same_bits(case.run(gradients), case.run(gradients.astype(np.float32)).astype(np.float16))


def test_bfloat16_takes_the_even_neighbour():
    """All quotients of small integers by 3 and by 2: ties in both directions."""
    gradients = np.arange(1, 257).astype(BFLOAT16).reshape(1, 1, 16, 16)
    for divisor in (2, 3):
        single = poolgrad.avg_pool2d_backward(gradients.astype(np.float32), (1, 1, 16, 16), 1, divisor_override=divisor)
        result = poolgrad.avg_pool2d_backward(gradients, (1, 1, 16, 16), 1, divisor_override=divisor)
        expected = reference.rounded_to(reference.BFLOAT16, single).astype(BFLOAT16)
        assert_same_bits(result, expected)
    # a sum of two: 256 + 1 lies half-way between 256 and 258, 256 + 3 half-way between 258 and 260
    pair = np.array([[[256, 1], [256, 3]]]).astype(BFLOAT16)
    result = poolgrad.avg_pool2d_backward(pair, (1, 2, 3), (1, 2), 1, divisor_override=1)
    assert result[0, :, 1].astype(np.float32).tolist() == [256.0, 260.0]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(
    "line",
    ["avg n1c1h256w256 k1", "aavg n1c1d1h256w256 o1,256,256", "max n1c1h256w256 k1", "amax n1c1h256w256 o256,256"],
)
def test_every_half_comes_through(line, dtype):
    """The gradient itself, for all patterns: what goes in comes out, but for the sign of zero."""
    case = parse(f"{line} | disjoint | the gradient itself")
    every = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(dtype).reshape(case.grad_shape)
    expected = every.copy()
    expected[every.view(np.uint16) == 0x8000] = 0
    places = np.arange(2**16, dtype=np.int32).reshape(every.shape)
    assert_same_bits(case.run(every, indices=places), expected)
