"""Maxima without places: the reference's, bit for bit, of floats and of integers, also where padding differs from side
to side and where windows hold nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernels.test_forward import OF_MAXIMA
from kernels.test_paths import Use
from oracle import DTYPES, LAYOUTS, Guarded, OnlyDLPack, assert_same_bits
from planning import Planning

import poolgrad
from poolgrad.operators.max_pool import INTEGERS
from poolgrad.run.calls import forget_calls
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

# Sizes, kernel, strides, pads, ceil mode.
CASES = [
    ((8, 10), (2, 2), (2, 2), (0, 0), False),
    ((9, 21), (3, 3), (2, 2), (1, 1), False),
    ((9, 40), (3, 3), (1, 1), (1, 0, 2, 1), False),
    ((7, 7), (3, 3), (1, 1), (0, 3, 3, 0), False),
    ((5, 1), (3, 1), (1, 1), (1, 0, 0, 1), False),
    ((1, 5), (1, 2), (1, 3), (0, 1), True),
    ((6, 30), (4, 4), (1, 3), (4, 0, 0, 4), True),
    ((40, 17), (40, 17), (1, 1), (0, 0), False),
    ((50, 8), (35, 3), (1, 2), (17, 1, 18, 2), False),
    ((3, 3), (2, 2), (1, 1), (2, 2, 0, 0), False),
    ((2, 1), (3, 3), (2, 1), (0, 3, 3, 0), True),
    ((7, 37), (2, 2), (2, 2), (0, 0), False),
    ((6, 40), (3, 3), (2, 2), (1, 1, 0, 1), True),
    ((5, 40), (3, 3), (1, 1), (2, 0, 1, 1), False),
]
ALL_TYPES = (*DTYPES, *map(np.dtype, INTEGERS))


def numbers(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Few different ones, at both ends of a type of integers; of floats NaN, infinities and zeros of both signs."""
    random = np.random.default_rng(math.prod(shape))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype)
        return ends[random.integers(0, random.integers(1, 7, shape))]
    values = random.integers(-2, 3, shape).astype(np.float64)
    for strange in (np.nan, -np.inf, np.inf, -0.0):
        values[random.random(shape) < 0.04] = strange
    values[..., : shape[-1] // 3] = -np.inf
    return values.astype(dtype)


def check(case: Any, lead: tuple[int, ...], dtype: np.dtype[Any], layouts: tuple[str, str]) -> None:
    sizes, kernel, strides, pads, ceil_mode = case
    x = numbers((*lead, *sizes), dtype)
    expected = reference.max_pool(x, kernel, strides, pads, ceil_mode=ceil_mode)
    out = Guarded(expected.shape, dtype, layouts[1])
    poolgrad.max_pool(Guarded.holding(x, layouts[0]).array, kernel, strides, pads, 1, ceil_mode, out=out.array)
    assert_same_bits(np.ascontiguousarray(out.array), expected)
    out.assert_untouched()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = poolgrad.get_num_threads()
    yield
    poolgrad.set_num_threads(before)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("limits", OF_MAXIMA, ids=str)
def test_windows_and_limits(case: Any, limits: Use, planning: Planning) -> None:
    planning.use(time_of_part=1, **limits)
    for number in (1, 3):
        poolgrad.set_num_threads(number)
        forget_calls()
        for lead in ((2, 5), (1, 8)):
            for dtype in ("float32", "int16", "int64"):
                check(case, lead, np.dtype(dtype), ("plain", "plain"))


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_types_and_layouts(dtype: np.dtype[Any]) -> None:
    for case in (CASES[1], CASES[6], *CASES[-3:]):
        for channels in (3, 9):
            for layout in LAYOUTS:
                for layouts in ((layout, layout), (layout, "plain"), ("plain", layout)):
                    check(case, (1, channels), dtype, layouts)


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_channels_side_by_side(dtype: np.dtype[Any]) -> None:
    """Some vectors of them at once, single ones, the last one laid back or not full; windows of padding only go another
    way."""
    for case in CASES:
        for channels in (2, 3, 5, 7, 8, 37, 64):
            check(case, (2, channels), dtype, ("channels last", "channels last"))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_by_dlpack(dtype: str) -> None:
    x = numbers((2, 3, 4, 5), np.dtype(dtype))
    expected = poolgrad.max_pool(x, 2)
    assert expected.dtype == dtype
    found = poolgrad.max_pool(OnlyDLPack(x), 2)
    assert np.array_equal(found, expected)


def test_integers_beyond_what_floats_hold() -> None:
    near = np.array([[[2**53, 2**53 + 1], [-(2**53) - 1, -(2**53)]]])
    assert poolgrad.max_pool(near, (1, 2)).tolist() == [[[2**53 + 1], [-(2**53)]]]
    near = np.array([[[2**24, 2**24 + 1], [-(2**24) - 1, -(2**24)]]], np.int32)
    assert poolgrad.max_pool(near, (1, 2)).tolist() == [[[2**24 + 1], [-(2**24)]]]


def test_the_first_zero_keeps_its_sign() -> None:
    for first in (0.0, -0.0):  # column by column the other one would be the first
        x = np.array([[[-1.0, first], [-first, -1.0]]], np.float32)
        assert_same_bits(poolgrad.max_pool(x, 2), np.full((1, 1, 1), first, np.float32))
