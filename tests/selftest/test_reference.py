"""The reference is what everything else is measured by; here it is measured by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from oracle import BFLOAT16, Case, cases, fast_average, gamma

from poolgrad.selftest import reference

SAMPLES = """
avg  n2c3h7w9 k3,2 s2 p1               | padded overlap           | overlapping, padded
avg  n1c2h7w6 k3 s2 p1 ceil nopad      | clipped padded overlap   | ceil mode cuts the last window off
avg  c2h5w8 k2 s3 ceil div=-7          | gap negative-divisor     | gaps, and a divisor of one's own
aavg c2d3h5w4 o2,3,7                   | uneven larger overlap    | adaptive windows of all kinds
max  n2c2h6w7 k3 s1 p1 dil2,1 ceil     | dilated overlap          | dilated windows
max  n1c3h5w5 k2 nhwc                  | disjoint                 | channels last
amax c3h5w7 o3,3                       | uneven overlap           | adaptive maxima
"""


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_the_sample_programs_of_the_documents():
    average = reference.avg_pool2d_backward(np.ones((1, 16, 1, 1)), (1, 16, 4, 4), (4, 4), (1, 1), (0, 0))
    assert average.ravel().tolist() == [0.0625] * 256

    adaptive = reference.adaptive_avg_pool3d_backward(np.arange(1.0, 9.0).reshape(2, 2, 1, 1, 2), (2, 2, 1, 1, 4))
    assert adaptive.ravel().tolist() == [0.5, 0.5, 1, 1, 1.5, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3.5, 3.5, 4, 4]

    gradients, indices = np.array([[[[0.4757], [0.1726]]]]), np.array([[[[0], [6]]]])
    largest = reference.max_pool2d_with_indices_backward(gradients, (1, 1, 4, 3), indices)
    assert largest.ravel().tolist() == [0.4757, 0, 0, 0, 0, 0, 0.1726, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("reason", "kernel", "stride", "padding", "options", "expected"),
    [
        ("the middle belongs to both windows", 2, 1, 0, {}, [1.5, 3.0, 1.5]),
        ("a stride beyond the kernel leaves a gap", 1, 2, 0, {}, [3.0, 0.0, 3.0]),
        ("the last window of ceil mode holds one element", 2, 2, 0, {"ceil_mode": True}, [1.5, 1.5, 3.0]),
        ("padding counts", 2, 2, 1, {}, [1.5, 1.5, 1.5]),
        ("padding does not count", 2, 2, 1, {"count_include_pad": False}, [3.0, 1.5, 1.5]),
        ("what lies beyond the padding never counts", 3, 3, 1, {"ceil_mode": True}, [1.0, 1.0, 1.5]),
        ("a divisor of one's own comes first", 2, 2, 1, {"divisor_override": -3}, [-1.0, -1.0, -1.0]),
        ("a divisor of zero is none", 2, 2, 1, {"divisor_override": 0}, [1.5, 1.5, 1.5]),
    ],
)
def test_averages_of_a_row_of_three(reason, kernel, stride, padding, options, expected):
    row = np.full((1, 1, 2), 3.0)
    result = reference.avg_pool2d_backward(row, (1, 1, 3), (1, kernel), (1, stride), (0, padding), **options)
    assert result.ravel().tolist() == expected, reason
    column = np.full((1, 2, 1), 3.0)
    result = reference.avg_pool2d_backward(column, (1, 3, 1), (kernel, 1), (stride, 1), (padding, 0), **options)
    assert result.ravel().tolist() == expected, reason


def test_adaptive_averages_by_hand():
    result = reference.adaptive_avg_pool3d_backward(np.array([[[[6.0, 12.0]]]]), (1, 1, 1, 3))
    assert result.ravel().tolist() == [3.0, 9.0, 6.0]
    result = reference.adaptive_avg_pool3d_backward(np.array([[[[1.0]], [[2.0]], [[4.0]]]]), (1, 2, 1, 1))
    assert result.ravel().tolist() == [1.0 + 2.0 / 2, 2.0 / 2 + 4.0]


def test_channels_last_maxima_by_hand():
    gradients = np.array([[[[1.0, 2.0, 3.0]]]])  # one place, three channels
    result = reference.max_pool2d_with_indices_backward(gradients, (1, 2, 2, 3), np.array([[[[3, 0, 1]]]]), "NHWC")
    assert result.tolist() == [[[[0, 2, 0], [0, 0, 3]], [[0, 0, 0], [1, 0, 0]]]]


def test_forward_indices_by_hand():
    x = np.array([[[1.0, 5.0, 2.0], [7.0, 3.0, 4.0], [0.0, 6.0, 8.0]]])
    assert reference.max_pool_indices(x, (2, 2), (1, 1), (0, 0)).tolist() == [[[3, 1], [3, 8]]]
    assert reference.max_pool_indices(x, (2, 2), (2, 2), (1, 1)).tolist() == [[[0, 1], [3, 8]]]
    assert reference.max_pool_indices(x, (2, 2), (2, 2), (0, 0), ceil_mode=True).tolist() == [[[3, 5], [7, 8]]]
    assert reference.max_pool_indices(x, (2, 2), (1, 1), (0, 0), dilation=(2, 2)).tolist() == [[[8]]]
    assert reference.adaptive_max_pool_indices(x, (2, 1)).tolist() == [[[3], [8]]]


def test_forward_maxima_by_hand():
    nan = np.nan
    x = np.array([[[1.0, 1.0, nan], [0.0, nan, 2.0]], [[5.0, -np.inf, 5.0], [-1.0, -np.inf, -0.0]]])
    values, indices = reference.max_pool2d_with_indices(x, (2, 2), (2, 1), (0, 0))
    assert np.array_equal(values, [[[nan, nan]], [[5, 5]]], equal_nan=True)
    assert indices.tolist() == [[[4, 4]], [[0, 2]]]  # the last NaN
    values, indices = reference.max_pool2d_with_indices(x, (1, 2), (1, 2), (0, 1))
    assert np.array_equal(values, [[[1, nan], [0, nan]], [[5, 5], [-1, 0]]], equal_nan=True)
    assert indices.tolist() == [[[0, 2], [3, 4]], [[0, 2], [3, 5]]]


@pytest.mark.parametrize("index", [-1, 4, 2**40])
def test_an_index_outside_its_plane_is_refused(index):
    with pytest.raises(IndexError, match=str(index)):
        reference.adaptive_max_pool2d_backward(np.ones((2, 1, 1)), (2, 2, 2), np.array([0, index]).reshape(2, 1, 1))


def test_averages_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="do not belong"):
        reference.avg_pool2d_backward(np.ones((1, 2, 2)), (1, 3, 3), (3, 3), (1, 1), (0, 0))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "floor", "ceil"),
    [
        (7, 3, 2, 0, 1, 3, 3),
        (8, 3, 2, 0, 1, 3, 4),
        (5, 2, 2, 1, 1, 3, 3),  # ceil mode's fourth window would begin in the padding
        (1, 1, 1, 0, 1, 1, 1),
        (7, 3, 1, 1, 2, 5, 5),
        (2, 3, 2, 0, 1, 0, 1),  # only ceil mode has a window that is larger than the input
    ],
)
def test_output_sizes(size, kernel, stride, padding, dilation, floor, ceil):
    assert reference.pooled_size(size, kernel, stride, padding, dilation) == floor
    assert reference.pooled_size(size, kernel, stride, padding, dilation, ceil_mode=True) == ceil


# ---- rounding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "kept", "expected"),
    [
        (0x3F800000, 11, 0x3F800000),
        (0x3F8007FF, 11, 0x3F800000),
        (0x3F800800, 11, 0x3F800000),  # a tie goes to the even neighbour below
        (0x3F800801, 11, 0x3F801000),
        (0x3F801800, 11, 0x3F802000),  # a tie goes to the even neighbour above
        (0xBF801800, 11, 0xBF802000),
        (0x3F801000, 10, 0x3F800000),
        (0x3F803000, 10, 0x3F804000),
        (0x3FFFF800, 11, 0x40000000),  # the carry passes into the exponent
        (0x7F7FFFFF, 11, 0x7F800000),  # and from the largest number into infinity
        (0x7F7FF7FF, 11, 0x7F7FF000),
        (0x000017FF, 11, 0x00001000),  # subnormal numbers lose the same bits
        (0x00001800, 11, 0x00002000),
        (0x000007FF, 11, 0x00000000),
        (0x800007FF, 11, 0x80000000),
        (0x80000000, 11, 0x80000000),
        (0x7F800000, 11, 0x7F800000),
        (0xFF800000, 10, 0xFF800000),
    ],
)
def test_hf32_bit_by_bit(bits, kept, expected):
    rounded = reference.round_to_hf32(np.array([bits], dtype=np.uint32).view(np.float32), kept)
    assert rounded.dtype == np.float32
    assert hex(rounded.view(np.uint32)[0]) == hex(expected)


def test_hf32_keeps_nan():
    assert np.isnan(reference.round_to_hf32(np.float32([np.nan]), 10)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BFLOAT16], ids=str)
def test_a_signalling_nan_is_one_like_any_other(dtype):
    """NumPy may warn of it where it is widened, divided or added; which of these depends on the processor."""
    bits = np.array([1.0, np.inf, 2.0], dtype).view(f"u{np.dtype(dtype).itemsize}")
    bits[1] += 1  # Inf but for the last bit of the mantissa
    gradients, expected = bits.view(dtype).reshape(1, 1, 3), [1.0, np.nan, 2.0]
    places = np.arange(3).reshape(1, 1, 3)
    for answer in (
        reference.avg_pool2d_backward(gradients, (1, 1, 3), (1, 1), (1, 1), (0, 0)),
        reference.adaptive_avg_pool3d_backward(gradients[None], (1, 1, 1, 3)),
        reference.max_pool2d_with_indices_backward(gradients, (1, 1, 3), places),
        reference.rounded_to(reference.BFLOAT16, gradients),
    ):
        assert np.array_equal(answer.ravel().tolist(), expected, equal_nan=True)
    assert reference.max_pool_indices(gradients, (1, 3), (1, 1), (0, 0)).tolist() == [[[1]]]


@pytest.mark.parametrize(
    ("target", "dtype"),
    [(reference.FLOAT32, np.float32), (reference.FLOAT16, np.float16), (reference.BFLOAT16, BFLOAT16)],
)
def test_rounding_agrees_with_the_hardware(target, dtype):
    random = np.random.default_rng(1)
    numbers = random.standard_normal(2000) * 2.0 ** random.integers(-160, 140, 2000)
    with np.errstate(over="ignore"):
        numbers = np.concatenate([numbers, numbers.astype(np.float32) * (1 + 2.0**-12)])
        if dtype is not np.float32:
            numbers = numbers.astype(np.float32).astype(np.float64)  # halves come from float32
        expected = numbers.astype(dtype).astype(np.float64)
    assert np.array_equal(reference.rounded_to(target, numbers), expected)


def test_quotients_agree_with_the_hardware():
    random = np.random.default_rng(2)
    for number in random.standard_normal(500).astype(np.float32):
        divisor = int(random.integers(1, 2**24))
        exact = Fraction(float(number)) / divisor
        assert reference.nearest(exact, reference.FLOAT32) == float(number / np.float32(divisor))
        assert reference.nearest(exact, reference.FLOAT64) == float(number) / divisor


# ---- the flavours against each other ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases(SAMPLES))
def test_the_two_flavours_agree(case: Case):
    gradients = case.gradients(np.float64)
    plain, exact = case.reference(gradients), case.exact(gradients)
    assert plain.shape == case.x
    for place in np.ndindex(plain.shape):
        bound = gamma(max(int(exact.terms[place]), 1), Fraction(1, 2**53)) * exact.magnitude[place]
        assert abs(Fraction(plain[place]) - exact.value[place]) <= bound


@pytest.mark.parametrize("case", cases(SAMPLES))
def test_every_gradient_arrives_in_full(case: Case):
    """What leaves as one number arrives as a sum of shares; with a divisor or padding the shares need not be all."""
    gradients = case.gradients(np.float64)
    total = sum(case.exact(gradients).value.ravel())
    expected = sum(Fraction(number) for number in gradients.ravel())
    if case.operator == "avg":
        expected = Fraction(0)
        for position in np.ndindex(gradients.shape):
            windows = [axis[place] for axis, place in zip(case.windows, position[-2:], strict=True)]
            inside = math.prod(window.stop - window.start for window in windows)
            counted = math.prod(window.padded for window in windows)
            counted = counted if case.arguments.get("count_include_pad", True) else inside
            expected += Fraction(gradients[position]) * inside / (case.divisor or counted)
    assert total == expected


@pytest.mark.parametrize("case", cases("\n".join(line for line in SAMPLES.splitlines() if line.startswith("avg "))))
def test_summing_by_places_in_the_kernel_is_the_same(case: Case):
    gradients = case.gradients(np.float64)
    expected = case.reference(gradients)
    assert np.abs(fast_average(case, gradients) - expected).max() <= 1e-13 * np.abs(gradients).max()


def test_not_a_number_stays_in_its_window():
    gradients = np.zeros((1, 1, 3))
    gradients[0, 0, 1] = np.nan
    result = reference.avg_pool2d_backward(gradients, (1, 1, 7), (1, 3), (1, 2), (0, 0))
    assert np.isnan(result).ravel().tolist() == [False, False, True, True, True, False, False]


def test_duplicates_are_added_in_order_and_in_single_precision():
    gradients = np.float16([2048, 1, 1, 0.25]).reshape(1, 1, 4)  # float16 would lose each one
    result = reference.adaptive_max_pool2d_backward(gradients, (1, 1, 2), np.zeros((1, 1, 4), dtype=np.int32))
    assert result.dtype == np.float32
    assert result.ravel().tolist() == [2050.25, 0.0]
    gradients = np.float32([2**24, 1, 1, -(2**24)]).reshape(1, 1, 4)
    result = reference.adaptive_max_pool2d_backward(gradients, (1, 1, 2), np.zeros((1, 1, 4), dtype=np.int32))
    assert result.ravel().tolist() == [0.0, 0.0]
