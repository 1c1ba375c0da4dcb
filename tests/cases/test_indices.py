"""Legal indices against a search that looks at every place of every window in turn."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from poolgrad.base.windows import Windows, pooled_size
from poolgrad.cases import forward
from poolgrad.cases.indices import astray_indices, drawn_indices, forward_with_indices

Places = list[list[int]]


def places_of_fixed(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> Places:
    """By the formulas of the contract."""
    n = size + 2 * pad - dilation * (kernel - 1) - 1
    out = math.ceil(n / stride) + 1 if ceil_mode else n // stride + 1
    if ceil_mode and (out - 1) * stride >= size + pad:
        out -= 1
    starts = (o * stride - pad for o in range(out))
    return [[p for p in range(start, start + kernel * dilation, dilation) if 0 <= p < size] for start in starts]


def places_of_adaptive(size: int, out: int) -> Places:
    return [list(range(math.floor(o * size / out), math.ceil((o + 1) * size / out))) for o in range(out)]


def fixed(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> Windows:
    out = pooled_size(size, kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil_mode=ceil_mode)
    return Windows(size, out, kernel, stride, pad, dilation)


def adaptive(sizes: tuple[int, ...], outs: tuple[int, ...]) -> list[Windows]:
    return [Windows(size, out, adaptive=True) for size, out in zip(sizes, outs, strict=True)]


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


def test_memory_stays_bounded_for_one_window_over_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "BLOCK", 1000)
    largest = 0
    wide = forward._wide

    def noted(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        nonlocal largest
        largest = max(largest, numbers.size)
        return wide(numbers)

    monkeypatch.setattr(forward, "_wide", noted)
    x = np.random.default_rng(5).random((1, 100_000)).astype(np.float16)
    for shape in ((1, 100_000), (100_000, 1), (250, 400)):
        _, index = forward_with_indices(x.reshape(shape), adaptive(shape, (1, 1)))
        assert index == x.argmax()
    assert largest <= 4000


@pytest.mark.parametrize("shape", [(1, 8_000_000), (8_000_000, 1)], ids=["a row", "a column"])
def test_memory_stays_bounded_for_many_windows_over_a_line(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(8).integers(0, 2**15, 8_000_000, np.uint16).view(np.float16)
    x[np.isnan(x)] = 0
    out = 20_000
    tracemalloc.start()
    windows = adaptive(shape, (out, 1) if shape[1] == 1 else (1, out))
    _, indices = forward_with_indices(x.reshape(shape), windows, np.int32)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (indices.ravel() == x.reshape(out, -1).argmax(axis=1) + np.arange(out) * 400).all()
    assert peak < x.nbytes


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("axes", [2, 3], ids=["planes", "volumes"])
def test_drawn_indices_lie_in_their_windows(axes: int, stride: int) -> None:
    numbers = [(4, 3, stride, 1, 1), (11, 3, stride, 1, 2), (9, 4, stride, 2, 1)][-axes:]
    windows = [fixed(*axis, True) for axis in numbers]
    outs, sizes = [w.out for w in windows], [w.size for w in windows]
    indices = np.full((20, *outs), -1)
    drawn_indices(np.random.default_rng(6), windows, indices)
    seen: set[tuple[int, ...]] = set()
    lists = [places_of_fixed(*axis, True) for axis in numbers]
    for plane, *window in np.ndindex(indices.shape):
        index = int(indices[(plane, *window)])
        for place, places, o in zip(np.unravel_index(index, sizes), lists, window, strict=True):
            assert int(place) in places[o]
        seen.add((*window, index))
    assert len(seen) > 3 * math.prod(outs), "every place has its turn"
    assert stride > 1 or len(np.unique(indices[0])) < indices[0].size, "overlapping windows draw duplicates"


def test_drawn_indices_of_adaptive_windows_reach_both_ends() -> None:
    indices = np.empty((200, 3, 8), np.int64)
    drawn_indices(np.random.default_rng(7), adaptive((7, 5), (3, 8)), indices)
    for i, j in np.ndindex(3, 8):
        expected = [r * 5 + c for r in places_of_adaptive(7, 3)[i] for c in places_of_adaptive(5, 8)[j]]
        assert sorted(set(indices[:, i, j].tolist())) == expected


@pytest.mark.parametrize("shape", [(4, 5, 6), (4, 2, 5, 6)], ids=["planes", "volumes"])
def test_indices_astray_are_drawn_from_all_places(shape: tuple[int, ...]) -> None:
    indices = np.full(shape, -1)
    astray_indices(np.random.default_rng(8), 10, indices)
    assert set(indices.ravel().tolist()) == set(range(10))
