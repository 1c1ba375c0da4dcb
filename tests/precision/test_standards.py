"""Every standard, by the rules or by TTK's code, agrees with plain loops over Python's numbers, whatever the bits."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from precision import plain

import poolgrad
from poolgrad.precision import STANDARDS, Comparison

TYPES: dict[str, np.dtype[Any]] = {
    **{
        name: np.dtype(name)
        for name in ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64")
    },
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
WIDER = {
    "float16": ["float16", "float32", "float64"],
    "bfloat16": ["bfloat16", "float32", "float64"],
    "float32": ["float32", "float64"],
    "float64": ["float64"],
    **{name: [name] for name in ("int8", "uint8", "int16", "uint16")},
    "int32": ["int32", "int64"],
    "int64": ["int64"],
}
FLOATS = [name for name in WIDER if "int" not in name]
COMBINATIONS = [(one, other) for one, others in WIDER.items() for other in others]
FLOAT_COMBINATIONS = [(one, other) for one, other in COMBINATIONS if one in FLOATS]


def as_array(bits: list[int], dtype: str) -> np.ndarray[Any, Any]:
    return np.array(bits, f"u{TYPES[dtype].itemsize}").view(TYPES[dtype])


@st.composite
def numbers(draw: st.DrawFn, dtype: str) -> int:
    """Bits of any number, but ordinary, tiny, huge and special ones far more often than chance would give them."""
    width = plain.WIDTH[dtype]
    anything = st.integers(0, 2**width - 1)
    if "int" in dtype:
        return draw(anything | st.integers(0, 5) | st.integers(2**width - 5, 2**width - 1))
    digits, _, highest, _, _ = plain.FLOATS[dtype]
    infinity = (2 * highest + 1) << (digits - 1)
    one = highest << (digits - 1)
    size = draw(
        st.integers(0, 3)  # zero and denormals
        | st.integers(one - (8 << (digits - 1)), one + (4 << (digits - 1)))  # around 1
        | st.integers(infinity - 2, infinity + 1)  # the largest, Inf, NaN
        | st.integers(0, 2 ** (width - 1) - 1)
    )
    return size | draw(st.integers(0, 1)) << (width - 1)


@st.composite
def pairs(draw: st.DrawFn, dtype: str, golden_dtype: str) -> tuple[list[int], list[int]]:
    """Bits of a tensor and of its golden one: equal, near by and unrelated numbers."""
    actual = draw(st.lists(numbers(dtype), max_size=20))
    if dtype == golden_dtype:
        near = [
            st.integers(-40, 40).map(lambda step, bits=bits: (bits + step) % 2 ** plain.WIDTH[dtype]) for bits in actual
        ]
    elif "int" in dtype:
        near = [st.just(plain.number(bits, dtype) % 2**64) for bits in actual]
    else:
        shift = plain.WIDTH[golden_dtype] - plain.WIDTH[dtype]
        near = [
            st.integers(-(2**shift), 2**shift).map(
                lambda step, bits=bits: (
                    (plain.rounded_bits(float(plain.number(bits, dtype)), golden_dtype) + step)
                    % 2 ** plain.WIDTH[golden_dtype]
                )
            )
            for bits in actual
        ]
    golden = [draw(close | numbers(golden_dtype)) for close in near]
    return actual, golden


def check(answer: Comparison, verdict: plain.Verdict, found: list[plain.Element]) -> None:
    """All that a comparison says, but for the measure of the worst."""
    assert answer.passed == verdict.passed
    assert answer.passed == (not answer.reasons)
    assert answer.count == len(found)
    assert answer.count_passed == sum(verdict.passing)
    assert answer.max_abs == max((e.absolute for e in found), default=0)
    assert answer.mare == max((e.relative for e in found), default=0)
    assert answer.max_ulp == max((e.ulp for e in found), default=0)
    assert answer.nan_mismatches == sum(e.mismatch == "nan" for e in found)
    assert answer.inf_mismatches == sum(e.mismatch == "inf" for e in found)
    if math.isfinite(answer.mere):  # the sum may be beyond float64 where the mean is not
        assert answer.mere == pytest.approx(plain.mean_relative(found), rel=1e-14)
    if all(verdict.passing):
        assert answer.first is None
    else:
        first = verdict.passing.index(False)
        assert answer.first is not None
        assert answer.first.coordinates == (first,)
        assert same(answer.first.actual, found[first].actual)
        assert same(answer.first.golden, found[first].golden)
        assert answer.first.ulp == (found[first].ulp if found[first].finite else None)
    check_histogram(answer, found)
    mismatches = [place for place, e in enumerate(found) if e.mismatch]
    if mismatches:
        assert answer.worst is not None
        assert answer.worst.coordinates == (mismatches[0],)


def check_histogram(answer: Comparison, found: list[plain.Element]) -> None:
    told = {entry["from"]: (entry["to"], entry["count"]) for entry in answer.as_data()["ulp_histogram"]}
    for low, (high, count) in told.items():
        assert count == sum(e.finite and low <= e.ulp <= high for e in found)
    assert sum(count for _, count in told.values()) == sum(e.finite for e in found)


def same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or (
        one == other and math.copysign(1, one) == math.copysign(1, other)
    )


def beyond_float64(found: list[plain.Element]) -> bool:
    """Whether an error, or the sum of all, is more than float64 can hold."""
    return math.isinf(sum(e.absolute for e in found) + sum(e.relative for e in found))


# By the rules, and as TTK's code decides. TTK knows one pair of types for bits: the same.
ELEMENTWISE = {
    **{"mixed": plain.mixed, "stat_rel_err": plain.stat_rel_err, "close": plain.close, "binary": plain.binary},
    **{"mixed_ttk": plain.mixed_ttk, "close_ttk": plain.close_ttk, "binary_ttk": plain.binary_ttk},
}
OF_SUMS = {"cosine": plain.cosine, "cosine_ttk": plain.cosine_ttk}
CROSS = {"cross_check": plain.cross_check, "cross_check_ttk": plain.cross_check_ttk}
TAKEN = {"stat_rel_err": FLOAT_COMBINATIONS, "binary_ttk": [(name, name) for name in WIDER]}
# Type, golden type, and the type whose limits hold: HF32 has limits of its own.
CASES = [
    *((standard, *types, types[0]) for standard in ELEMENTWISE for types in TAKEN.get(standard, COMBINATIONS)),
    *((standard, "float32", "float32", "HF32") for standard in ELEMENTWISE if not standard.startswith("binary")),
]


def test_every_standard_is_here() -> None:
    assert {*ELEMENTWISE, *OF_SUMS, *CROSS} == set(STANDARDS)


@pytest.mark.parametrize(("standard", "dtype", "golden_dtype", "limits"), CASES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_standards_agree_with_plain_loops(
    standard: str, dtype: str, golden_dtype: str, limits: str, data: st.DataObject
) -> None:
    actual, golden = data.draw(pairs(dtype, golden_dtype))
    found = plain.elements(actual, golden, dtype, golden_dtype)
    sides = as_array(actual, dtype), as_array(golden, golden_dtype)
    answer = poolgrad.compare(*sides, standard, hf32=limits == "HF32")
    check(answer, ELEMENTWISE[standard](found, limits), found)


@pytest.mark.parametrize("standard", OF_SUMS)
@pytest.mark.parametrize(("dtype", "golden_dtype"), COMBINATIONS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_cosine_agrees_with_exact_sums(standard: str, dtype: str, golden_dtype: str, data: st.DataObject) -> None:
    actual, golden = data.draw(pairs(dtype, golden_dtype))
    found = plain.elements(actual, golden, dtype, golden_dtype)
    answer = poolgrad.compare(as_array(actual, dtype), as_array(golden, golden_dtype), standard)
    verdict = OF_SUMS[standard](found, dtype)
    check(answer, verdict, found)
    expected = pytest.approx(verdict.figures["cosine_distance"], abs=1e-13, nan_ok=standard == "cosine_ttk")
    assert answer.cosine_distance == expected


@pytest.mark.parametrize("standard", CROSS)
@pytest.mark.parametrize(("dtype", "golden_dtype"), FLOAT_COMBINATIONS)
@pytest.mark.parametrize("level", ["L0", "L1", "L2"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_cross_check_agrees_with_exact_sums(
    standard: str, dtype: str, golden_dtype: str, level: str, data: st.DataObject
) -> None:
    actual, golden = data.draw(pairs(dtype, golden_dtype))
    third = [
        data.draw(st.integers(-40, 40).map(lambda step, bits=bits: (bits + step) % 2 ** plain.WIDTH[dtype]))
        for bits in actual
    ]
    found, others = (plain.elements(side, golden, dtype, golden_dtype) for side in (actual, third))
    if beyond_float64(found) or beyond_float64(others):
        return  # Inf over Inf has no opinion worth comparing
    answer = poolgrad.compare(
        as_array(actual, dtype),
        as_array(golden, golden_dtype),
        standard,
        third_party=as_array(third, dtype),
        level=level,
    )
    verdict = CROSS[standard](found, others, dtype, level)
    check(answer, verdict, found)
    told = [answer.figures[f"ratio_{name}"] for name in ("max_relative", "mean_relative", "rmse", "small_errors")]
    assert told == pytest.approx(verdict.figures["ratios"], rel=1e-12)


@settings(max_examples=300, deadline=None)
@given(bits=numbers("float64"))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_golden_number_is_rounded_once(dtype: str, bits: int) -> None:
    """The distance of the rounded number from itself is 0; ml_dtypes alone would round float64 to bfloat16 twice."""
    value = float(plain.number(bits, "float64"))
    stored = plain.rounded_bits(value, dtype)
    answer = poolgrad.compare(as_array([stored], dtype), np.array([value]), "binary")
    assert answer.passed, answer.summary()
    assert answer.max_ulp == 0


def test_double_rounding_is_seen_where_it_would_happen() -> None:
    golden = np.array([1 + 2**-8 + 2**-40])
    right = np.array([1 + 2**-7], np.float32).astype(ml_dtypes.bfloat16)
    assert golden.astype(ml_dtypes.bfloat16) != right
    assert poolgrad.compare(right, golden, "binary").passed
