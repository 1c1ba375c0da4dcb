"""At each threshold: what lies on it is judged as written, and its neighbour is judged the other way."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# type, rtol, atol, cap; HF32 is a way to compute float32
MIXED = [
    ("float16", 2**-9, 2**-9, 1e-1),
    ("bfloat16", 2**-6, 2**-6, 1.0),
    ("float32", 2**-10, 2**-16, 1e-2),
    ("HF32", 2**-9, 2**-10, 1e-1),
    ("float64", 2**-10, 2**-16, 1e-2),
]


def compare(actual: Any, golden: Any, kind: str, standard: str, **options: Any) -> poolgrad.precision.Comparison:
    """Compare numbers; the golden ones are float64, so that they can lie on any threshold."""
    dtype = BFLOAT16 if kind == "bfloat16" else np.dtype("float32" if kind == "HF32" else kind)
    stored = np.asarray(actual, np.float64)
    array = stored.astype(dtype)
    assert (array.astype(np.float64) == stored).all(), "the test's own numbers must be exact"
    return poolgrad.compare(array, np.asarray(golden, np.float64), standard, hf32=kind == "HF32", **options)


def beside(value: float, towards: float) -> float:
    return math.nextafter(value, towards)


@pytest.mark.parametrize(("kind", "rtol", "atol", "cap"), MIXED)
def test_mixed_takes_an_error_of_exactly_the_tolerance(kind: str, rtol: float, atol: float, cap: float) -> None:
    size = _at_tolerance(rtol, atol)
    for sign in (-1, 1):
        assert compare([0.0], [sign * size], kind, "mixed").passed
        further = compare([0.0], [sign * beside(size, 9)], kind, "mixed")
        assert further.count_passed == 0
        assert further.max_abs <= cap
    stepped = compare([1 + atol + rtol], [1.0], kind, "mixed")
    assert stepped.max_abs == atol + rtol
    assert stepped.passed


def _at_tolerance(rtol: float, atol: float) -> float:
    """The largest golden size whose tolerance just reaches an actual 0: size = atol + rtol * size."""
    size = atol / (1 - rtol)
    while size <= atol + rtol * size:
        size = beside(size, 9)
    return beside(size, 0)


@pytest.mark.parametrize(("kind", "rtol", "atol", "cap"), MIXED)
@pytest.mark.parametrize(
    ("count", "failing", "passes"), [(100, 1, True), (100, 2, False), (99, 1, False), (200, 2, True), (199, 2, False)]
)
def test_mixed_wants_99_percent(
    kind: str, rtol: float, atol: float, cap: float, count: int, failing: int, passes: bool
) -> None:
    golden = np.zeros(count)
    golden[:failing] = cap  # beyond the tolerance, and not beyond the cap
    answer = compare(np.zeros(count), golden, kind, "mixed")
    assert answer.count_passed == count - failing
    assert answer.passed == passes


@pytest.mark.parametrize(("kind", "rtol", "atol", "cap"), MIXED)
def test_mixed_lets_no_error_be_above_the_cap(kind: str, rtol: float, atol: float, cap: float) -> None:
    actual, golden = np.zeros(1000), np.zeros(1000)
    golden[7] = cap
    assert compare(actual, golden, kind, "mixed").passed
    golden[7] = beside(cap, 9)
    answer = compare(actual, golden, kind, "mixed")
    assert not answer.passed
    assert answer.count_passed == 999
    assert answer.figures["outliers"] == 1


@pytest.mark.parametrize(
    ("kind", "large", "ulp"), [("float16", 2.0**13, 8.0), ("bfloat16", 2.0**13, 64.0), ("float32", 2.0**20, 0.125)]
)
def test_mixed_forgives_32_ulp_where_numbers_are_large(kind: str, large: float, ulp: float) -> None:
    golden = np.full(1000, large)
    actual = golden.copy()
    actual[3] += 32 * ulp
    near = compare(actual, golden, kind, "mixed")
    assert near.max_ulp == 32
    assert near.max_abs > near.thresholds["cap"]
    assert near.passed
    actual[3] += ulp
    assert not compare(actual, golden, kind, "mixed").passed


def test_32_ulp_is_asked_of_each_element_and_does_not_replace_the_99_percent() -> None:
    """One large number within 32 ULP and one small number within the cap: each has its own excuse."""
    golden = np.full(1000, 1.0)
    golden[0], golden[1] = 2.0**20, 2.0**-20
    actual = golden.copy()
    actual[0] += 0.125
    actual[1] = 0.0
    answer = compare(actual, golden, "float32", "mixed")
    assert answer.max_abs > answer.thresholds["cap"]
    assert answer.max_ulp > 32
    assert answer.passed
    everywhere = compare(np.full(1000, 1 + 2**-6), np.ones(1000), "float16", "mixed")
    assert everywhere.max_ulp == 16
    assert not everywhere.passed


STAT = [("float16", 2**-10), ("bfloat16", 2**-7), ("float32", 2**-13), ("HF32", 2**-11), ("float64", 2**-13)]


def pair_at(relative: float, kind: str) -> tuple[float, float]:
    """An actual number of the type and a golden one above 0 with just this relative error: rare, but there are many."""
    bits = np.arange(1, 0x7C00 if kind == "float16" else 0x7F80, dtype=np.uint16)
    dtype = np.float16 if kind == "float16" else BFLOAT16  # whose numbers are float32 and float64 numbers too
    actual = bits.view(dtype).astype(np.float64)
    actual = actual[(actual > 2**-10) & (actual < 2**10)]
    actual = np.concatenate([actual + actual * 2**-shift for shift in (range(8, 24) if "32" in kind else [99])])
    golden = (actual - relative * 1e-7) / (1 + relative)
    for _ in range(4):
        hits = np.flatnonzero(np.abs(actual - golden) / (np.abs(golden) + 1e-7) == relative)
        if hits.size:
            return float(actual[hits[0]]), float(golden[hits[0]])
        golden = np.nextafter(golden, 0)
    raise AssertionError("no pair is at this distance")


@pytest.mark.parametrize(("kind", "limit"), STAT)
@pytest.mark.parametrize("times", [1, 10])
def test_stat_rel_err_wants_less_than_its_limits(kind: str, limit: float, times: int) -> None:
    count = 1 if times == 1 else 100  # of 100 elements one does not change the mean much
    actual, golden = np.ones(count), np.ones(count)
    actual[-1], golden[-1] = pair_at(times * limit, kind)
    answer = compare(actual, golden, kind, "stat_rel_err")
    assert answer.mare == times * limit
    assert not answer.passed
    golden[-1] = beside(golden[-1], 9999)
    nearer = compare(actual, golden, kind, "stat_rel_err")
    assert nearer.mare < times * limit
    assert nearer.passed


@pytest.mark.parametrize(("kind", "share"), [("float16", 1e-3), ("bfloat16", 1e-3), ("float32", 1e-4), ("HF32", 1e-4)])
def test_close_lets_a_share_fail(kind: str, share: float) -> None:
    count = round(3 / share)
    golden = np.zeros(count)
    golden[:3] = 1.0
    assert compare(np.zeros(count), golden, kind, "close").passed
    assert not compare(np.zeros(count - 1), golden[:-1], kind, "close").passed
    golden[3] = 1.0
    assert not compare(np.zeros(count), golden, kind, "close").passed


@pytest.mark.parametrize(
    ("kind", "rtol"), [("float16", 1e-3), ("bfloat16", 1e-3), ("float32", 1e-4), ("float64", 1e-4)]
)
def test_close_takes_an_error_of_exactly_the_tolerance(kind: str, rtol: float) -> None:
    size = _at_tolerance(rtol, 1e-8)
    for sign in (-1, 1):
        assert np.isclose(0.0, sign * size, rtol, 1e-8)
        assert compare([0.0], [sign * size], kind, "close").passed
        assert not np.isclose(0.0, sign * beside(size, 9), rtol, 1e-8)
        assert not compare([0.0], [sign * beside(size, 9)], kind, "close").passed


def test_cosine_at_its_limit() -> None:
    """Against (1, 0) the distance of (c, s) is 1 - c: neighbours of 0.99 fall on both sides."""
    golden = [1.0, 0.0]

    def at(cosine: float) -> poolgrad.precision.Comparison:
        return compare([cosine, math.sqrt(1 - cosine * cosine)], golden, "float64", "cosine")

    verdicts = {at(cosine).passed for cosine in (0.99 - 1e-12, 0.99 + 1e-12)}
    assert verdicts == {False, True}
    steps = [0.99 + step * 2**-53 for step in range(-20, 21)]
    for answer in map(at, steps):
        assert answer.cosine_distance is not None
        assert answer.passed == (answer.cosine_distance <= 0.01)
    assert len({at(cosine).passed for cosine in steps}) == 2


CROSS = [("float16", 2**-11, 2**-16), ("bfloat16", 2**-8, 2**-16), ("float32", 2**-14, 2**-30)]
LEVELS = [("L0", 10, 2), ("L1", 5, 1.5), ("L2", 2, 1.2)]


def cross(actual: Any, third: Any, golden: Any, level: str = "L1", kind: str = "float64") -> Any:
    dtype = BFLOAT16 if kind == "bfloat16" else np.dtype(kind)
    sides = [np.asarray(side, np.float64).astype(dtype) for side in (actual, third)]
    return poolgrad.compare(sides[0], np.asarray(golden, np.float64), "cross_check", third_party=sides[1], level=level)


@pytest.mark.parametrize(("level", "largest", "mean"), LEVELS)
def test_cross_check_at_its_ratios(level: str, largest: float, mean: float) -> None:
    """Around a number that 1e-7 makes 1, errors of whole units have exact relative errors, and so have their ratios."""
    unit, golden = 2.0**-50, np.full(1024, 1 - 1e-7)
    assert golden[0] + 1e-7 == 1.0

    def errors(*units: float) -> np.ndarray[Any, Any]:
        side = golden.copy()
        side[: len(units)] += np.array(units) * unit
        return side

    on_mean = cross(errors(1000 * mean), errors(1000), golden, level)
    assert on_mean.figures["ratio_mean_relative"] == on_mean.figures["ratio_rmse"] == mean
    assert on_mean.passed
    above_mean = cross(errors(1000 * mean + 1), errors(1000), golden, level)
    assert above_mean.figures["ratio_max_relative"] < largest
    assert [reason.split(" is ")[0] for reason in above_mean.reasons] == [
        "the mean relative error",
        "the root mean square error",
    ]
    many = errors(*[8] * 1000)
    on_largest = cross(errors(8 * largest), many, golden, level)
    assert on_largest.figures["ratio_max_relative"] == largest
    assert on_largest.passed
    above_largest = cross(errors(8 * largest + 1), many, golden, level)
    assert [reason.split(" is ")[0] for reason in above_largest.reasons] == ["the largest relative error"]


@pytest.mark.parametrize(("kind", "small", "atol"), CROSS)
def test_cross_check_counts_errors_on_small_values(kind: str, small: float, atol: float) -> None:
    golden, third, actual = np.zeros(8), np.zeros(8), np.zeros(8)
    third[0] = 2 * atol
    actual[:2] = 2 * atol
    on_limit = cross(actual, third, golden, kind=kind)
    assert on_limit.figures["actual_small_errors"] == 2
    assert on_limit.passed
    actual[2] = 2 * atol
    assert not cross(actual, third, golden, kind=kind).passed
    actual[2] = atol  # is not above it
    assert cross(actual, third, golden, kind=kind).passed


@pytest.mark.parametrize(("kind", "small", "atol"), CROSS)
def test_cross_check_parts_small_values_from_others(kind: str, small: float, atol: float) -> None:
    """At the small value an error is relative; just below it, it is counted."""
    for golden, counted in ((small, 0), (beside(small, 0), 1)):
        answer = cross([2 * small], [2 * small], [golden], kind=kind)
        assert answer.figures["actual_small_errors"] == counted
        assert (answer.figures["actual_max_relative"] == 0) == bool(counted)


def test_cross_check_without_errors_of_the_third_party() -> None:
    exact, off = [1.0, 2.0], [1.0, 2.5]
    assert cross(exact, exact, exact).passed
    assert cross(exact, off, exact).passed
    worse = cross(off, exact, exact)
    assert worse.figures["ratio_max_relative"] == math.inf
    assert not worse.passed
    assert not cross([2.0**-20], [0.0], [0.0]).passed  # one error where the third party has none
