"""Rules that hold for every standard: NaN and Inf, zeros, empty tensors, types, and where damage is found."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from poolgrad.precision import STANDARDS, Comparison, NotComparable
from poolgrad.precision.limits import WITH_THIRD_PARTY

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")] + [BFLOAT16]
INTEGERS = [np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "int64")]
BY_THE_RULES = [standard for standard in STANDARDS if not standard.endswith("_ttk")]


def compare(actual: Any, golden: Any, standard: str, **options: Any) -> Comparison:
    """With a third party that makes no errors, where one is needed."""
    if standard in WITH_THIRD_PARTY:
        options["third_party"] = golden
    return poolgrad.compare(actual, golden, standard, **options)


SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("standard", BY_THE_RULES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_and_inf_at_the_same_places_are_equal(standard: str, dtype: np.dtype[Any]) -> None:
    tensor = np.array(SPECIAL).astype(dtype)
    answer = compare(tensor, tensor.copy(), standard)
    assert answer.passed, answer.summary()
    assert answer.count_passed == len(SPECIAL)
    assert (answer.max_abs, answer.max_ulp, answer.mere, answer.mare) == (0, 0, 0, 0)
    assert answer.first is answer.worst is None


@pytest.mark.parametrize("standard", BY_THE_RULES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("actual", "golden", "nan", "inf"),
    [
        (math.nan, 1.0, 1, 0),
        (1.0, math.nan, 1, 0),
        (math.nan, math.inf, 1, 0),
        (-math.inf, math.nan, 1, 0),
        (math.inf, -math.inf, 0, 1),
        (math.inf, 1.0, 0, 1),
        (1.0, -math.inf, 0, 1),
        (math.inf, 0.0, 0, 1),
    ],
)
def test_any_other_nan_or_inf_fails_however_rare(
    standard: str, dtype: np.dtype[Any], actual: float, golden: float, nan: int, inf: int
) -> None:
    ones = np.ones((100, 1000), dtype)
    damaged, expected = ones.copy(), ones.copy()
    damaged[7, 11], expected[7, 11] = actual, golden
    answer = compare(damaged, expected, standard)
    assert not answer.passed
    assert (answer.nan_mismatches, answer.inf_mismatches) == (nan, inf)
    assert answer.max_abs == 0  # over pairs of finite numbers
    assert answer.count_passed == answer.count - 1
    for place in (answer.first, answer.worst):
        assert place is not None
        assert place.coordinates == (7, 11)
        assert place.ulp is None
        assert [place.actual, place.golden] == pytest.approx([actual, golden], nan_ok=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_of_other_bits_is_the_same_nan(dtype: np.dtype[Any]) -> None:
    bits = np.array([math.nan], dtype).view(f"u{dtype.itemsize}")
    other = (bits | bits.dtype.type(1) | bits.dtype.type(1 << (8 * dtype.itemsize - 1))).view(dtype)
    assert other.tobytes() != bits.tobytes()
    for standard in BY_THE_RULES:
        assert compare(other, bits.view(dtype), standard).passed


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_two_zeros_differ_in_bits_alone(dtype: np.dtype[Any]) -> None:
    plus, minus = np.zeros(3, dtype), -np.zeros(3, dtype)
    verdicts = {standard: compare(minus, plus, standard).passed for standard in BY_THE_RULES}
    assert verdicts == dict.fromkeys(BY_THE_RULES, True) | {"binary": False}
    answer = compare(minus, plus, "binary")
    assert answer.max_ulp == 0
    assert answer.worst is not None
    assert answer.worst.coordinates == (0,)
    assert math.copysign(1, answer.worst.actual) == -1


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_ulp_distances_cross_zero_and_count_denormals(dtype: np.dtype[Any]) -> None:
    tiny = np.array([1], f"u{dtype.itemsize}").view(dtype)  # the smallest denormal
    answer = compare(-tiny, tiny, "binary")
    assert answer.max_ulp == 2
    assert answer.max_abs == 2 * float(tiny[0])


def test_distances_may_need_64_bits() -> None:
    largest = np.array([np.finfo(np.float64).max])
    answer = compare(-largest, largest, "mixed")
    assert answer.max_ulp == 2 * int(largest.view(np.int64)[0]) > 2**63
    assert answer.max_abs == math.inf
    assert not answer.passed
    ends = np.array([-(2**63)]), np.array([2**63 - 1])
    assert compare(*ends, "mixed").max_ulp == 2**64 - 1


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("shape", [(0,), (3, 0, 4), ()])
def test_tensors_without_axes_or_elements(standard: str, shape: tuple[int, ...]) -> None:
    answer = compare(np.ones(shape, np.float32), np.ones(shape, np.float32), standard)
    assert answer.passed
    assert answer.share_passed == 1
    assert answer.shape == shape
    if shape == ():
        wrong = compare(np.zeros(shape, np.float32), np.ones(shape, np.float32), standard)
        assert not wrong.passed
        assert wrong.first is not None
        assert wrong.first.coordinates == ()


def test_cosine_of_zeros() -> None:
    zeros, ones = np.zeros(5, np.float32), np.ones(5, np.float32)
    assert compare(zeros, zeros, "cosine").cosine_distance == 0
    for pair in ((zeros, ones), (ones, zeros)):
        answer = compare(*pair, "cosine")
        assert answer.cosine_distance == 1
        assert not answer.passed
    assert compare(-ones, ones, "cosine").cosine_distance == 2


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200, 1e308])
def test_cosine_of_numbers_whose_squares_float64_can_not_hold(scale: float) -> None:
    golden = np.array([1.0, 0.5, -0.25]) * scale
    assert compare(golden, golden, "cosine").cosine_distance == 0
    turned = golden * np.array([1, 1, -1])
    assert compare(turned, golden, "cosine").cosine_distance == pytest.approx(1 - 1.1875 / 1.3125, rel=1e-3)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("standard", ["mixed", "close", "binary", "mixed_ttk", "close_ttk", "binary_ttk"])
def test_integers_must_be_equal(dtype: np.dtype[Any], standard: str) -> None:
    first = min(1_000_000, np.iinfo(dtype).max - 100)
    golden = (np.arange(10_000) % 100 + first).astype(dtype)
    assert compare(golden, golden, standard).passed
    off = golden.copy()
    off[77] += 1
    answer = compare(off, golden, standard)
    assert not answer.passed
    assert answer.max_ulp == answer.max_abs == 1
    assert answer.worst is not None
    assert (answer.worst.coordinates, answer.worst.actual) == ((77,), first + 78)


def test_large_integers_are_not_compared_as_floats() -> None:
    golden = np.array([2**62 + 1])
    answer = compare(golden - 1, golden, "mixed")
    assert not answer.passed
    assert answer.worst is not None
    assert answer.worst.golden == 2**62 + 1


@pytest.mark.parametrize("standard", ["stat_rel_err", "cross_check", "cross_check_ttk"])
def test_integers_have_no_relative_thresholds(standard: str) -> None:
    with pytest.raises(NotComparable, match=r"no thresholds for int32\. Use binary"):
        compare(np.ones(3, np.int32), np.ones(3, np.int32), standard)


def test_a_wider_golden_tensor_is_not_rounded_before_it_is_compared() -> None:
    golden = np.array([1 / 3], np.float64)
    actual = golden.astype(np.float16)
    answer = compare(actual, golden, "stat_rel_err")
    assert answer.max_abs == abs(float(actual[0]) - 1 / 3) > 0
    assert answer.max_ulp == 0
    assert answer.worst is not None
    assert answer.worst.golden == 1 / 3


@pytest.mark.parametrize("standard", BY_THE_RULES)
def test_a_golden_number_beyond_the_type_is_the_inf_that_it_rounds_to(standard: str) -> None:
    golden = np.array([1.0, 65520.0, -1e6], np.float32)  # 65520 is the first that float16 rounds to Inf
    assert compare(np.array([1, math.inf, -math.inf], np.float16), golden, standard).passed
    short = compare(np.array([1, 65504, -math.inf], np.float16), golden, standard)
    assert short.inf_mismatches == 1
    assert not short.passed
    assert compare(np.array([65504], np.float16), np.array([65519.0], np.float32), "binary").passed


WRONG = [
    (
        np.ones(3, np.float16),
        np.ones(3, BFLOAT16),
        r"golden must be float16 or float32 or float64 where actual is float16",
    ),
    (np.ones(3, np.float32), np.ones(3, np.float16), "golden must be float32 or float64"),
    (np.ones(3, np.float32), np.ones(3, np.int32), "Convert one of them first"),
    (np.ones(3, np.uint32), np.ones(3, np.uint32), "actual must be of one of the types .*; got uint32"),
    (np.ones((2, 3)), np.ones((3, 2)), r"golden must have the shape of actual, \[2, 3\]; got \[3, 2\]"),
    (np.ones((1, 3)), np.ones(3), "must have the shape"),
]


@pytest.mark.parametrize(("actual", "golden", "message"), WRONG)
def test_what_can_not_be_compared_is_refused(actual: Any, golden: Any, message: str) -> None:
    with pytest.raises(NotComparable, match=message):
        poolgrad.compare(actual, golden)


def test_options_that_do_not_go_together_are_refused() -> None:
    ones, halves = np.ones(3, np.float32), np.ones(3, np.float16)
    for options, message in [
        ({"standard": "rough"}, "standard must be one of mixed, .*; got 'rough'"),
        ({"level": "L3"}, "level must be one of L0, L1, L2; got 'L3'"),
        ({"standard": "cross_check"}, "cross_check compares with .* give it as third_party"),
        ({"standard": "cross_check_ttk"}, "cross_check_ttk compares with .* give it as third_party"),
        ({"third_party": ones}, "belongs to the standard cross_check"),
        ({"standard": "cross_check", "third_party": ones, "hf32": True}, "no thresholds for HF32"),
        ({"standard": "cross_check", "third_party": ones[:2]}, "third_party must have the shape"),
        ({"standard": "cross_check", "third_party": halves}, "third_party must be float32"),
    ]:
        with pytest.raises(NotComparable, match=message):
            poolgrad.compare(ones, ones, **options)  # type: ignore[arg-type]
    with pytest.raises(NotComparable, match="hf32 is a way to compute float32; actual is float16"):
        poolgrad.compare(halves, halves, hf32=True)
    with pytest.raises(TypeError, match="actual must be a NumPy array"):
        poolgrad.compare([1.0], ones)
    assert issubclass(NotComparable, ValueError)


def test_the_other_name_of_mixed() -> None:
    ones = np.ones(3, np.float32)
    assert poolgrad.compare(ones, ones, "mix_tolerance") == poolgrad.compare(ones, ones, "mixed")


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
def test_damage_is_located(standard: str, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(5)
    golden = rng.uniform(1, 2, (3, 5, 17, 19)).astype(dtype)
    damaged = golden.copy()
    damaged[1, 2, 3, 4] *= 2
    damaged[2, 4, 16, 18] *= -4
    answer = compare(damaged, golden, standard)
    assert answer.first is not None
    assert answer.worst is not None
    assert answer.first.coordinates == (1, 2, 3, 4)
    assert answer.worst.coordinates == (2, 4, 16, 18)
    assert answer.worst.actual == -4 * answer.worst.golden == float(damaged[2, 4, 16, 18])
    assert answer.at_max_abs == answer.worst
    assert answer.count_passed == answer.count - 2


def test_the_answer_tells_people_and_machines() -> None:
    golden = np.ones((2, 3), np.float32)
    actual = golden.copy()
    actual[1, 2] = math.nan
    answer = poolgrad.compare(actual, golden)
    assert answer.summary().startswith("FAIL mixed (float32): 83.33 % of 6 elements pass")
    assert "worst at [1, 2]: actual nan, golden 1.0" in answer.summary()
    assert "\n" not in answer.summary()
    data = json.loads(json.dumps(answer.as_data(), allow_nan=False))
    assert data["passed"] is False
    assert data["worst"]["coordinates"] == [1, 2]
    assert data["worst"]["actual"] == "nan"
    assert data["thresholds"]["rtol"] == 2**-10
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.passed = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        answer.thresholds["rtol"] = 1  # type: ignore[index]


def test_objects_with_dlpack_are_read() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    ones = np.ones((2, 3), np.float32)
    assert poolgrad.compare(Foreign(ones), ones).passed


def test_comparing_needs_no_numba() -> None:
    program = (
        "import sys, numpy, poolgrad; poolgrad.compare(numpy.ones(3), numpy.ones(3));"
        "print([name for name in ('numba', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_warnings_of_numpy_are_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    signalling = np.array([0x7F800001, 0x7F7FFFFF], np.uint32).view(np.float32)
    with np.errstate(all="raise"):
        answer = poolgrad.compare(signalling, np.array([np.nan, -np.inf], np.float32))
    assert answer.inf_mismatches == 1
    assert not recwarn.list
