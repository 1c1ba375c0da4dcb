"""The forward pass in NumPy, which others are held against, against a search of every place of every window in turn."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy_forward as forward
import pytest
from cases.windows import Places, adaptive, fixed, places_of_adaptive, places_of_fixed
from numpy_forward import forward_with_indices


def search(x: np.ndarray[Any, Any], *axes: Places) -> tuple[list[Any], list[int]]:
    """The first of equal maxima, the last of NaN."""
    values, indices, sizes = [], [], x.shape[-len(axes) :]
    for plane in x.reshape(-1, *sizes).astype(np.float64):
        for window in itertools.product(*axes):
            best, index = -math.inf, int(np.ravel_multi_index([places[0] for places in window], sizes))
            for place in itertools.product(*window):
                if plane[place] > best or math.isnan(plane[place]):
                    best, index = plane[place], int(np.ravel_multi_index(place, sizes))
            values.append(best)
            indices.append(index)
    return values, indices


def data(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Few different numbers, so that maxima have equals; some NaN and -Inf."""
    x = random.integers(-3, 4, shape).astype(np.float64)
    x[random.random(shape) < random.choice([0, 0.2])] = math.nan
    x[random.random(shape) < random.choice([0, 0.5])] = -math.inf
    return x.astype(dtype)


@pytest.fixture(params=[8, 64, forward.BLOCK], ids=lambda block: f"blocks of {block}")
def any_block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks divide small planes in every way in which large ones are divided."""
    monkeypatch.setattr(forward, "BLOCK", request.param)


DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


AXES = pytest.mark.parametrize(("axes", "largest"), [(2, 14), (3, 7)], ids=["planes", "volumes"])


@pytest.mark.usefixtures("any_block")
@AXES
def test_maxima_of_fixed_windows(axes: int, largest: int) -> None:
    random = np.random.default_rng(1)
    dilated = padded = ceiled = 0
    for trial in range(150):
        sizes, kernel = random.integers(1, largest, axes).tolist(), random.integers(1, largest // 2 + 1, axes).tolist()
        stride, dilation = random.integers(1, 5, axes).tolist(), random.integers(1, 4, axes).tolist()
        pad = [int(random.integers(0, k // 2 + 1)) for k in kernel]
        ceil_mode = bool(random.integers(2))
        numbers = list(zip(sizes, kernel, stride, pad, dilation, strict=True))
        windows = [fixed(*axis, ceil_mode) for axis in numbers]
        if min(w.out for w in windows) <= 0 or any(w.has_empty for w in windows):
            continue
        x = data(random, (2, *sizes), DTYPES[trial % 4])
        values, indices = forward_with_indices(x, windows)
        expected, places = search(x, *(places_of_fixed(*axis, ceil_mode) for axis in numbers))
        assert indices.ravel().tolist() == places, (numbers, ceil_mode)
        np.testing.assert_array_equal(values.ravel().astype(np.float64), expected)
        dilated, padded, ceiled = dilated + (max(dilation) > 1), padded + (max(pad) > 0), ceiled + ceil_mode
    assert min(dilated, padded, ceiled) > 10


@pytest.mark.usefixtures("any_block")
@AXES
def test_maxima_of_adaptive_windows(axes: int, largest: int) -> None:
    random = np.random.default_rng(2)
    larger = 0
    for trial in range(100):
        sizes, out = random.integers(1, largest, axes).tolist(), random.integers(1, largest + 4, axes).tolist()
        x = data(random, (2, *sizes), DTYPES[trial % 4])
        values, indices = forward_with_indices(x, adaptive(sizes, out), np.int32)
        expected, places = search(x, *(places_of_adaptive(*axis) for axis in zip(sizes, out, strict=True)))
        assert indices.dtype == np.int32
        assert indices.ravel().tolist() == places, (sizes, out)
        np.testing.assert_array_equal(values.ravel().astype(np.float64), expected)
        larger += max(out) > max(sizes)
    assert larger > 10


@pytest.mark.usefixtures("any_block")
def test_long_windows_that_overlap_much() -> None:
    """Which are made of runs whose lengths are powers of two."""
    x = data(np.random.default_rng(3), (1, 20, 30), np.float32)
    windows = fixed(20, 11, 1, 5, 1, False), fixed(30, 17, 1, 8, 1, True)
    _, indices = forward_with_indices(x, windows)
    axes = ((20, 11, 1, 5, 1), (30, 17, 1, 8, 1))
    rows, columns = (places_of_fixed(*axis, ceil) for axis, ceil in zip(axes, (False, True), strict=True))
    assert indices.ravel().tolist() == search(x, rows, columns)[1]


def test_views_of_any_strides_go_in() -> None:
    x = data(np.random.default_rng(4), (9, 8, 3), np.float32)
    planes = np.moveaxis(x, -1, 0)
    windows = fixed(9, 3, 2, 1, 1, False), fixed(8, 3, 2, 1, 1, False)
    _, expected = forward_with_indices(np.ascontiguousarray(planes), windows)
    assert (forward_with_indices(planes, windows)[1] == expected).all()
