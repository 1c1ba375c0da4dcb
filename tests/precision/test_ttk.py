"""The standards as TTK's code decides them, one by one where they differ from the rules."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from precision.test_standards import COMBINATIONS, as_array

import poolgrad
from poolgrad.precision import STANDARDS, Comparison, NotComparable

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def test_there_are_five_of_them() -> None:
    assert [name for name in STANDARDS if name.endswith("_ttk")] == [
        "mixed_ttk",
        "close_ttk",
        "cosine_ttk",
        "binary_ttk",
        "cross_check_ttk",
    ]
    ones = np.ones(3, np.float32)
    with pytest.raises(NotComparable, match=r"standard must be one of .*cross_check_ttk; got 'stat_rel_err_ttk'"):
        poolgrad.compare(ones, ones, "stat_rel_err_ttk")


def both(standard: str, actual: Any, golden: Any, **options: Any) -> tuple[Comparison, Comparison]:
    """By the rules, and by TTK's code."""
    rules = poolgrad.compare(actual, golden, standard, **options)
    ttk = poolgrad.compare(actual, golden, f"{standard}_ttk", **options)
    assert (rules.standard, ttk.standard) == (standard, f"{standard}_ttk")
    return rules, ttk


@pytest.mark.parametrize(("dtype", "cap"), [(np.float16, 0.1), (BFLOAT16, 1.0), (np.float32, 0.01), (np.float64, 0.01)])
def test_mixed_has_one_limit_for_small_and_large_numbers(dtype: Any, cap: float) -> None:
    """One step of a large number is far more than the cap, and no number is closer."""
    golden = np.full(1000, 2.0**14 if dtype == np.float16 else 2.0**60).astype(dtype)
    actual = golden.copy()
    actual[3] = (golden[3:4].view(f"u{golden.itemsize}") + 1).view(golden.dtype)[0]
    rules, ttk = both("mixed", actual, golden)
    assert rules.passed
    assert not ttk.passed
    assert (rules.max_ulp, ttk.figures["outliers"]) == (1, 1)
    assert ttk.thresholds["cap"] == cap
    assert "max_ulp" not in ttk.thresholds
    assert ttk.reasons == (f"off by more than {cap:g}: 1 of 1000 elements, none may be",)


@pytest.mark.parametrize(("dtype", "cap"), [(np.float16, 0.1), (BFLOAT16, 1.0), (np.float32, 0.01)])
def test_mixed_takes_an_error_of_exactly_the_cap(dtype: Any, cap: float) -> None:
    actual, golden = np.zeros(1000, dtype), np.zeros(1000)
    golden[7] = cap
    assert poolgrad.compare(actual, golden, "mixed_ttk").passed
    golden[7] = math.nextafter(cap, 9)
    assert not poolgrad.compare(actual, golden, "mixed_ttk").passed


def test_mixed_forgives_no_distance_in_ulp_to_a_wider_golden_number() -> None:
    golden = np.full(1000, 2.0**30 + 50)  # which float32 can't hold: its neighbours are 64 apart
    rules, ttk = both("mixed", golden.astype(np.float32), golden)
    assert rules.max_ulp == 0
    assert (rules.passed, ttk.passed) == (True, False)


@pytest.mark.parametrize("damage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["actual", "golden"])
def test_close_counts_nan_and_inf_as_misses_like_others(damage: float, side: str) -> None:
    tensors = {"actual": np.ones(20_000, np.float32), "golden": np.ones(20_000, np.float32)}
    tensors[side][77] = damage
    rules, ttk = both("close", **tensors)
    assert (rules.passed, ttk.passed) == (False, True)
    assert ttk.count_passed == 19_999
    assert ttk.nan_mismatches + ttk.inf_mismatches == 1
    assert ttk.first is not None
    assert ttk.worst is not None
    assert ttk.first.coordinates == ttk.worst.coordinates == (77,)
    tensors[side][78] = damage
    assert not poolgrad.compare(**tensors, standard="close_ttk").passed


@pytest.mark.parametrize(("dtype", "count"), [(np.float16, 1000), (BFLOAT16, 1000), (np.float32, 10_000)])
@pytest.mark.parametrize("times", [1, 3, 7])
def test_close_fails_at_its_share(dtype: Any, count: int, times: int) -> None:
    golden = np.ones(times * count, dtype)
    actual = golden.copy()
    actual[:times] = 2
    rules, ttk = both("close", actual, golden)
    assert (rules.passed, ttk.passed) == (True, False)
    share = 100 * ttk.thresholds["ptol"]
    expected = f"not close: {times} of {times * count} elements, less than {share:g} % may be"
    assert ttk.reasons == (expected,)
    fewer = poolgrad.compare(np.append(actual, golden[:1]), np.append(golden, golden[:1]), "close_ttk")
    assert fewer.passed


def test_close_has_a_float16_tolerance_for_float16() -> None:
    """NumPy's own answer for arrays of float16, over every number and its neighbours."""
    golden = np.arange(0x7C00, dtype=np.uint16)
    for steps in (1, 2):
        bits = np.minimum(golden + steps, 0x7BFF).astype(np.uint16)
        actual, expected = bits.view(np.float16), golden.view(np.float16)
        passing = np.isclose(actual, expected, rtol=1e-3, atol=1e-8)
        rules, ttk = both("close", actual, expected)
        assert ttk.count_passed == np.count_nonzero(passing)
        assert ttk.count_passed != rules.count_passed


def test_the_worst_element_by_a_tolerance_of_0() -> None:
    golden = np.array([0, 0, 1], np.float16)
    answer = poolgrad.compare(np.array([0, 2.0**-24, 9], np.float16), golden, "close_ttk")
    assert answer.worst is not None
    assert answer.worst.coordinates == (1,)  # infinitely many times what is tolerated


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_cosine_of_equal_nan_and_inf_is_nan(special: float) -> None:
    tensor = np.array([1, 2, special], np.float32)
    rules, ttk = both("cosine", tensor, tensor.copy())
    assert rules.passed
    assert not ttk.passed
    assert ttk.cosine_distance is not None
    assert math.isnan(ttk.cosine_distance)
    assert ttk.reasons == ("the cosine distance is NaN: NaN or Inf in one of the tensors, or nothing but zeros",)
    assert ttk.as_data()["cosine_distance"] == "nan"


def test_cosine_of_zeros_is_nan() -> None:
    zeros, ones = np.zeros(5, np.float32), np.ones(5, np.float32)
    rules, ttk = both("cosine", zeros, zeros)
    assert (rules.passed, ttk.passed) == (True, False)
    for pair in ((zeros, ones), (ones, zeros)):
        answer = poolgrad.compare(*pair, "cosine_ttk")
        assert math.isnan(answer.cosine_distance or 0)
        assert not answer.passed
    assert poolgrad.compare(ones, ones, "cosine_ttk").cosine_distance == 0


def test_a_nan_in_any_block_makes_the_cosine_nan() -> None:
    tensor = np.ones(200_000, np.float32)
    tensor[70_000] = math.nan
    assert not poolgrad.compare(tensor, tensor, "cosine_ttk").passed


@pytest.mark.parametrize(
    ("dtype", "golden_dtype"), [pair for pair in COMBINATIONS if pair[0] != pair[1]], ids=lambda name: str(name)
)
def test_binary_refuses_tensors_of_different_types(dtype: str, golden_dtype: str) -> None:
    actual, golden = as_array([0, 1], dtype), as_array([0, 0], golden_dtype)
    poolgrad.compare(actual, golden, "binary")
    expected = f"golden must be {dtype}, as actual is, by binary_ttk; got {golden_dtype}. Use binary, or convert one"
    with pytest.raises(NotComparable, match=expected):
        poolgrad.compare(actual, golden, "binary_ttk")


def cross(actual: Any, third: Any, golden: Any) -> tuple[Comparison, Comparison]:
    sides = [np.asarray(side, np.float32) for side in (actual, golden, third)]
    return both("cross_check", sides[0], sides[1], third_party=sides[2])


def test_cross_check_takes_a_third_party_for_no_better_than_the_small_value() -> None:
    """An exact third party leaves room for errors: up to 5, 1.5 and 1.5 times the small value."""
    golden = np.ones(1000, np.float32)
    actual = golden.copy()
    actual[0] += 5 * 2**-14 * (1 - 2**-9)
    rules, ttk = cross(actual, golden, golden)
    assert (rules.passed, ttk.passed) == (False, True)
    assert ttk.figures["third_party_max_relative"] == 0
    assert ttk.figures["ratio_max_relative"] == ttk.figures["actual_max_relative"] / 2**-14
    actual[0] += 2**-14
    further = cross(actual, golden, golden)[1]
    assert [reason.split(":")[0] for reason in further.reasons] == [
        "the largest relative error is 0.0003656, the third party's 0, taken as 6.104e-05"
    ]
    everywhere = cross(golden + np.float32(2**-13), golden, golden)[1]
    assert [reason.split(" is ")[0] for reason in everywhere.reasons] == [
        "the mean relative error",
        "the root mean square error",
    ]


def test_cross_check_counts_at_least_one_error_of_the_third_party() -> None:
    golden, actual = np.zeros(8), np.zeros(8)
    actual[:2] = 2**-20
    rules, ttk = cross(actual, golden, golden)
    assert (rules.passed, ttk.passed) == (False, True)
    assert ttk.figures["ratio_small_errors"] == 2
    actual[2] = 2**-20
    assert not cross(actual, golden, golden)[1].passed


def test_cross_check_forgives_a_nan_that_the_third_party_has_too() -> None:
    golden = [1.0, 2.0, 3.0]
    shared = [1.0, math.nan, 3.0]
    rules, ttk = cross(shared, shared, golden)
    assert (rules.passed, ttk.passed) == (False, True)
    assert ttk.nan_mismatches == 1
    assert ttk.count_passed == 2
    alone = cross(shared, golden, golden)[1]
    assert alone.reasons == ("NaN in just one of the tensors: 1 of 3 elements, none may be",)
    elsewhere = cross(shared, [math.nan, 2.0, 3.0], golden)[1]
    assert elsewhere.reasons == (
        "NaN in just one of the tensors: 1 of 3 elements, none may be",
        "NaN in the third party's tensor alone: 1 of 3 elements, none may be",
    )


def test_cross_check_forgives_no_inf_and_no_missing_nan() -> None:
    golden = [1.0, 2.0, 3.0]
    infinite = [1.0, math.inf, 3.0]
    assert not cross(infinite, infinite, golden)[1].passed
    assert cross(golden, infinite, golden)[1].passed  # left out of the third party's figures, as by the rules
    assert not cross(golden, golden, [1.0, math.nan, 3.0])[1].passed


def test_cross_check_fails_for_a_nan_of_the_third_party_alone() -> None:
    golden = [1.0, 2.0, 3.0]
    rules, ttk = cross(golden, [1.0, 2.0, math.nan], golden)
    assert (rules.passed, ttk.passed) == (True, False)
    assert ttk.reasons == ("NaN in the third party's tensor alone: 1 of 3 elements, none may be",)
    expected = [1.0, 2.0, math.nan]
    assert cross(expected, expected, expected)[1].passed
