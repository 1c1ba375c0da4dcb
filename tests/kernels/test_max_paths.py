"""Every way to the gradient of a maximum gives the bits of the plain scatter, and a test knows which way it took."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from document import T
from documents.max_pool2d_with_indices_backward import DOCUMENT as MAX
from kernels.test_paths import channels_last, described
from oracle import DTYPES, HALVES, INDEX_DTYPES, Guarded, assert_same_bits
from planning import Planning

import poolgrad
from poolgrad.base.products import ANY
from poolgrad.base.windows import pooled_size
from poolgrad.contract.engine import prepare
from poolgrad.kernels.record import PIXELS_ASK
from poolgrad.operators import REGISTRY
from poolgrad.run.calls import forget_calls

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

LARGE: dict[str, Any] = {"ways": ["pixels ask"], "avoided": ["apart"], "time_of_part": 1}


@pytest.fixture(autouse=True)
def ways_of_large_tensors(planning: Planning) -> None:
    """What is small enough for a test would go other ways than what is large: here ways are those of large tensors."""
    planning.use(**LARGE)


@pytest.fixture
def threads() -> Iterator[None]:
    before = poolgrad.get_num_threads()
    poolgrad.set_num_threads(3)
    yield
    poolgrad.set_num_threads(before)


def gradients_and_indices(
    shape: tuple[int, int, int, int], dtype: Any, index_dtype: Any, kernel: int, stride: int, pad: int, ceil: bool
) -> tuple[Array, Array]:
    """Random gradients with special values among them, and an index inside each window."""
    random = np.random.default_rng(abs(hash((shape, kernel, stride, pad))) % 2**32)
    height, width = shape[2:]
    outs = [pooled_size(n, kernel=kernel, stride=stride, pad=pad, ceil_mode=ceil) for n in (height, width)]
    grad = random.standard_normal((*shape[:2], *outs)).astype(dtype)
    flat = grad.reshape(-1)
    places = random.permutation(flat.size)[:6]
    flat[places] = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0], dtype)[: places.size]
    rows, columns = (
        [(max(o * stride - pad, 0), min(o * stride - pad + kernel, n)) for o in range(out)]
        for n, out in zip((height, width), outs, strict=True)
    )
    h = np.stack([random.integers(low, high, (*shape[:2], outs[1])) for low, high in rows], axis=2)
    w = np.stack([random.integers(low, high, (*shape[:2], outs[0])) for low, high in columns], axis=3)
    return grad, (h * width + w).astype(index_dtype)


def asking(kernel: int, stride: int, dtype: Any) -> str:
    """The kernel that lets pixels ask: one that knows these windows, or the one for any."""
    suffix = {np.dtype(np.float16): "_halves", np.dtype(ml_dtypes.bfloat16): "_bfloats"}.get(np.dtype(dtype), "")
    known = f"_k{kernel}s{stride}" if (kernel, stride, 0) in ASKED else ""
    return f"max_pixels_ask{known}{suffix}"


def in_place(dtype: Any) -> str:
    """The kernel that adds gradients up in the output itself."""
    return {np.dtype(np.float16): "scatter_halves", np.dtype(ml_dtypes.bfloat16): "scatter_bfloats"}.get(
        np.dtype(dtype), "scatter_numbers"
    )


def touching(stride: int, dtype: Any) -> str:
    """The kernel for windows that touch."""
    if dtype not in HALVES:
        return f"max_touching_{stride}"
    return "max_touching_pairs" if stride == 2 else f"{in_place(dtype)}_apart"


def added_up(grad: Array, shape: tuple[int, ...], indices: Array) -> Array:
    """The answer, gradient by gradient."""
    planes, compute = shape[0] * shape[1], np.float64 if grad.dtype == np.float64 else np.float32
    total = np.zeros((planes, shape[2] * shape[3]), compute)
    where = (np.arange(planes)[:, None], indices.reshape(planes, -1))
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(total, where, grad.reshape(planes, -1).astype(compute))
        return total.reshape(shape).astype(grad.dtype)


TILES = [(2, 2), (3, 3), (1, 2), (2, 3)]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_windows_that_touch(dtype: Any, index_dtype: Any, streamed: bool, planning: Planning, threads: None) -> None:
    """Every remainder of rows and columns, exact to the last byte."""
    planning.ways = ["touching", "pairs", "apart"]
    if streamed:
        planning.limit(last_cache=0)
    for (kernel, stride), windows, spare in itertools.product(TILES, (8, 9, 15, 16, 17, 23), range(4)):
        if spare >= kernel:
            continue
        shape = (2, 2, 3 * stride + (spare + 1) % kernel, windows * stride + spare)
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, kernel, stride, 0, False)
        arguments = (grad, shape, indices, kernel, stride)
        expected = added_up(*arguments[:3])
        for layout in ("plain", "misaligned", "cropped"):
            out = Guarded(shape, dtype, layout)
            if layout == "misaligned" and spare:
                continue
            poolgrad.max_pool2d_with_indices_backward(*arguments, out=out.array)
            assert_same_bits(out.array, expected)
            out.assert_untouched()
            assert planning.plans.pop().kernel == touching(stride, dtype)


def test_long_rows_that_touch(planning: Planning) -> None:
    planning.limit(last_cache=0)
    planning.ways = ["touching", "pairs", "apart"]
    for dtype, width, kernel in itertools.product(DTYPES, (1023, 1025, 2048, 3001), (2, 3)):
        shape = (1, 3, 10, width)
        grad, indices = gradients_and_indices(shape, dtype, np.int64, kernel, kernel, 0, False)
        expected = added_up(grad, shape, indices)
        out = Guarded(shape, dtype)
        poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel, out=out.array)
        assert planning.plans.pop().kernel == touching(kernel, dtype)
        assert_same_bits(out.array, expected)
        out.assert_untouched()


def beginning_at(values: Array, offset: int) -> Array:
    """A copy that begins so many bytes behind the beginning of a page."""
    block = np.full(values.nbytes + offset + 4096, 0xFF, np.uint8)
    start = -block.ctypes.data % 4096 + offset
    copy = block[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("stride", [2, 3])
def test_rows_that_are_streamed(stride: int, dtype: Any, index_dtype: Any, planning: Planning) -> None:
    """Every length of a last group of windows, where memory can be streamed to, and where it can't; one thread, so that
    there are planes with another one behind them and a plane without."""
    planning.use(ways=["touching"], last_cache=0, time_of_part=1 << 60)
    for width in range(stride * 8, stride * 8 + 34):
        shape = (2, 2, 2 * stride + width % 2, width)
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, stride, stride, 0, False)
        expected = added_up(grad, shape, indices)
        for offset in (16, 24):
            out = beginning_at(np.full(shape, 77, dtype), offset)
            poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, stride, out=out)
            assert_same_bits(out, expected)
        assert planning.kernels == [f"max_touching_{stride}"]
        planning.plans.clear()


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("width", [28, 44])
def test_windows_behind_a_row_are_not_taken_for_its_own(width: int, index_dtype: Any, planning: Planning) -> None:
    """The last row of a plane is streamed together with the first windows of the next plane. The first of these names
    every place of its own plane in turn. One or two columns of each plane are in no window and stay zero."""
    planning.use(ways=["touching"], last_cache=0, time_of_part=1 << 60)
    shape = (1, 3, 3, width)
    grad, good = gradients_and_indices(shape, np.float32, index_dtype, 3, 3, 0, False)
    grad = np.arange(1, grad.size + 1, dtype=np.float32).reshape(grad.shape)
    for place in range(3 * width):
        indices = good.copy()
        indices[0, 1, 0, 0] = place
        expected = np.zeros((3, 3 * width), np.float32)
        np.add.at(expected, (np.arange(3)[:, None], indices.reshape(3, -1)), grad.reshape(3, -1))
        out = beginning_at(np.full(shape, 77, np.float32), 16)
        poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, 3, out=out)
        assert_same_bits(out, expected.reshape(shape))
    assert planning.kernels == ["max_touching_3"]


@pytest.mark.parametrize("streamed", [False, True])
def test_gradients_of_16_bits_as_words(streamed: bool, planning: Planning) -> None:
    """Every number there is: zeros lose their sign and NaN is quiet, as in a sum."""
    if streamed:
        planning.limit(last_cache=0)
    for dtype, index_dtype in itertools.product(HALVES, INDEX_DTYPES):
        shape = (1, 1, 512, 512)
        grad = np.arange(2**16, dtype=np.uint16).view(dtype).reshape(1, 1, 256, 256)
        indices = gradients_and_indices(shape, dtype, index_dtype, 2, 2, 0, False)[1]
        expected = added_up(grad, shape, indices)
        out = beginning_at(np.full(shape, 77, dtype), 16)
        poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, 2, out=out)
        assert planning.plans.pop().kernel == "max_touching_pairs"
        assert_same_bits(out, expected)


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
def test_rows_of_windows_shorter_than_a_vector(dtype: Any, index_dtype: Any, planning: Planning, threads: None) -> None:
    """Each length that is laid so, and 4, the shortest that could be; planes that one thread has, and that three share.

    What lies beside gradients and indices is NaN and -1; nothing beside the output is written.
    """
    planning.ways = ["touching in short rows"]
    planes = ((1, 1), (1, 2), (1, 5), (3, 7))
    for kernel, windows, rows, outer in itertools.product((1, 2), (4, 5, 6, 7), (2, 3, 4, 7), planes):
        shape = (*outer, 2 * rows, 2 * windows)
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, kernel, 2, 0, False)
        expected = added_up(grad, shape, indices)
        held = [Guarded.holding(values).array for values in (grad, indices)]
        out = Guarded(shape, dtype)
        poolgrad.max_pool2d_with_indices_backward(held[0], shape, held[1], kernel, 2, out=out.array)
        assert planning.plans.pop().kernel == "max_touching_short_rows"
        assert_same_bits(out.array, expected)
        out.assert_untouched()


SCATTERED = [
    ("4 windows to a row", (2, 3, 6, 8), np.float32, 2, 0, 1),
    ("a column behind the last window", (2, 3, 6, 15), np.float32, 2, 0, 1),
    ("a row behind the last window", (2, 3, 7, 14), np.float32, 2, 0, 1),
    ("one row of windows", (2, 3, 2, 14), np.float32, 2, 0, 1),
    ("windows cut off", (2, 3, 6, 12), np.float32, 2, 1, 1),
    ("3 x 3 windows", (2, 3, 9, 21), np.float32, 3, 0, 1),
    ("16 bits", (2, 3, 6, 14), np.float16, 2, 0, 1),
    ("planes that do not follow each other", (2, 3, 6, 14), np.float32, 2, 0, 2),
]


@pytest.mark.parametrize("case", SCATTERED, ids=lambda case: case[0])
def test_short_rows_that_are_scattered(case: Any, planning: Planning) -> None:
    """What rows laid one over the other need, and these do not have."""
    _, shape, dtype, kernel, pad, apart = case
    grad, indices = gradients_and_indices(shape, dtype, np.int64, kernel, kernel, pad, False)
    expected = added_up(grad, shape, indices)
    out = np.empty((shape[0], apart * shape[1], *shape[2:]), dtype)[:, ::apart]
    poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel, kernel, pad, out=out)
    assert planning.kernels == ["scatter_bands" if dtype in HALVES else "scatter_numbers"]
    assert_same_bits(np.ascontiguousarray(out), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_adaptive_windows_of_one_length(dtype: Any, planning: Planning) -> None:
    planning.ways = ["touching", "apart"]
    shape = (2, 3, 12, 36)
    grad, indices = gradients_and_indices(shape, dtype, np.int32, 3, 3, 0, False)
    expected = added_up(grad, shape, indices)
    assert_same_bits(poolgrad.adaptive_max_pool2d_backward(grad, shape, indices), expected)
    assert planning.plans.pop().kernel == touching(3, dtype)
    planning.ways = ["touching in short rows", "bands"]
    shape = (2, 3, 14, 14)
    grad, indices = gradients_and_indices(shape, dtype, np.int32, 2, 2, 0, False)
    expected = added_up(grad, shape, indices)
    assert_same_bits(poolgrad.adaptive_max_pool2d_backward(grad, shape, indices), expected)
    assert planning.plans.pop().kernel == ("scatter_bands" if dtype in HALVES else "max_touching_short_rows")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_bands_of_a_plane(dtype: Any, index_dtype: Any, streamed: bool, planning: Planning, threads: None) -> None:
    """Bands of one row of windows, of some, and of all but the last; windows that overlap, touch, or leave rows out."""
    if streamed:
        planning.limit(last_cache=0)
    geometries = ((3, 2, 1), (3, 1, 1), (5, 2, 2), (2, 1, 0), (1, 1, 0), (2, 5, 1), (6, 5, 3), (7, 1, 3))
    for (kernel, stride, pad), width, height, ceil in itertools.product(geometries, (7, 40), (8, 23), (False, True)):
        shape = (2, 2, height, width)
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, kernel, stride, pad, ceil)
        arguments = (grad, shape, indices, kernel, stride, pad, 1, ceil)
        expected = added_up(*arguments[:3])
        for band in (1, min(3 * stride, height - 2) * width, (height - 1) * width):
            planning.limit(band=band, shared_by_band=0)
            planning.ways = ["bands"]
            out = Guarded(shape, dtype)
            poolgrad.max_pool2d_with_indices_backward(*arguments, out=out.array)
            assert planning.plans.pop().kernel == "scatter_bands"
            assert_same_bits(out.array, expected)
            out.assert_untouched()


@pytest.mark.parametrize("layout", ["plain", "channels last"])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_bands_that_end_behind_the_last_window(dtype: Any, layout: str, planning: Planning, threads: None) -> None:
    """The last band holds all rows that follow its windows, nearly a stride of them."""
    for kernel, stride, height in itertools.product((1, 2), (3, 4, 7), range(9, 37)):
        shape = (1, 33, height, 8)
        grad, indices = gradients_and_indices(shape, dtype, np.int64, kernel, stride, 0, False)
        inputs = [Guarded.holding(array, layout).array for array in (grad, indices)]
        for size in (1, 1 << 10, 1 << 13):
            planning.limit(band=size >> 5, band_of_channels=size, most_sums=0)
            planning.ways = ["bands"]
            out = Guarded(shape, dtype, layout)
            poolgrad.max_pool2d_with_indices_backward(inputs[0], shape, inputs[1], kernel, stride, out=out.array)
            assert planning.plans.pop().kernel == "scatter_bands"
            assert_same_bits(np.ascontiguousarray(out.array), added_up(grad, shape, indices))
            out.assert_untouched()


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_windows_of_one_element(dtype: Any, index_dtype: Any, planning: Planning, threads: None) -> None:
    """Planes and pixels of fewer numbers than a vector has, and of more than are looked at together; in runs of memory
    and channel by channel, some of them for each thread."""
    planning.use(ways=["single elements"], time_of_part=1, channels_of_a_part=8)
    sizes = ((1, 1, 1, 1), (2, 3, 1, 7), (1, 2, 3, 3), (2, 9, 4, 5), (1, 70, 3, 5), (2, 2, 41, 53))
    for shape, layout in itertools.product(sizes, ("plain", "channels last")):
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, 1, 1, 0, False)
        out = Guarded(shape, dtype, layout)
        inputs = [Guarded.holding(array, layout).array for array in (grad, indices)]
        poolgrad.adaptive_max_pool2d_backward(inputs[0], shape, inputs[1], out=out.array)
        assert_same_bits(np.ascontiguousarray(out.array), added_up(grad, shape, indices))
        out.assert_untouched()
    assert set(planning.kernels) == {"max_single_elements"}


PIXELS = [(1, 1, 0), (2, 2, 0), (2, 2, 1), (3, 2, 1), (3, 2, 0), (3, 1, 1), (2, 1, 0), (3, 3, 1), (5, 3, 2), (3, 5, 0)]


def assert_same_over_channels_side_by_side(
    expected: Array, planning: Planning, kernel: str, grad: Array, indices: Array, *numbers: Any
) -> None:
    """By that kernel: to an output that is one run of memory, and to one with gaps between its rows."""
    number, channels, height, width = expected.shape
    room = np.full((number, height + 2, width + 2, channels), 77, expected.dtype)
    run = room[:, 1:-1].reshape(number, -1, channels)[:, : height * width]
    for pixels in (run.reshape(number, height, width, channels), room[:, 1:-1, 1:-1]):
        assert np.shares_memory(pixels, room)
        out = pixels.transpose(0, 3, 1, 2)
        poolgrad.max_pool2d_with_indices_backward(
            channels_last(grad), expected.shape, channels_last(indices), *numbers, out=out
        )
        assert planning.plans.pop().kernel == kernel
        assert_same_bits(np.ascontiguousarray(out), expected)
        out[:] = 77
        assert (room == 77).all()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_channels_that_lie_side_by_side(
    dtype: Any, index_dtype: Any, streamed: bool, planning: Planning, threads: None
) -> None:
    """Images split between threads, rows with gaps between them, windows cut off at every border; sums of halves for
    all channels at once, and for some; in the output itself, and in bands if rows follow each other."""
    planning.limit(channels_of_a_part=32, **({"last_cache": 0} if streamed else {}))
    sizes = ((7, 5), (6, 8), (1, 9), (8, 3))
    for (kernel, stride, pad), size, channels, ceil in itertools.product(PIXELS, sizes, (3, 8, 70), (False, True)):
        shape = (2, channels, max(size[0], kernel), max(size[1], kernel))
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, kernel, stride, pad, ceil)
        numbers = (kernel, stride, pad, 1, ceil)
        expected = added_up(grad, shape, indices)
        for room in (1 << 20, 4 * 7 * shape[2] * shape[3], 0):
            planning.limit(second_cache=room, most_sums=room)
            planning.ways = ["in place"]
            given = (planning, in_place(dtype), grad, indices, *numbers)
            assert_same_over_channels_side_by_side(expected, *given)
            if dtype not in HALVES:
                break
        if dtype in HALVES:
            for band, most in ((0, 0), (1 << 12, 0), (1 << 18, 1 << 23)):  # some channels together, and all
                planning.limit(second_cache=1 << 20, most_sums=most, band_of_channels=band)
                planning.ways = ["bands"]
                last = Guarded(shape, dtype, "channels last")
                poolgrad.max_pool2d_with_indices_backward(
                    channels_last(grad), shape, channels_last(indices), *numbers, out=last.array
                )
                assert planning.plans.pop().kernel == "scatter_bands"
                assert_same_bits(np.ascontiguousarray(last.array), expected)
                last.assert_untouched()


ASKED = [(2, 2, 0), (2, 2, 1), (3, 2, 0), (3, 2, 1), (3, 1, 0), (3, 1, 1), (2, 1, 0), (2, 1, 1)]
OTHERS = [(3, 3, 0), (3, 3, 1), (4, 2, 2), (4, 2, 1), (5, 2, 1), (5, 3, 2), (2, 3, 0), (1, 2, 0), (4, 4, 1), (5, 1, 2)]
FLOATS = [dtype for dtype in DTYPES if dtype not in HALVES]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_pixels_that_ask(dtype: Any, index_dtype: Any, streamed: bool, planning: Planning, threads: None) -> None:
    """With and without squares between the borders, half a square at the end, all channels at once and some at a time;
    windows that kernels know, and others."""
    if streamed:
        planning.limit(last_cache=0)
    sizes = ((3, 3), (4, 11), (7, 12), (10, 5))
    windows = [window for window in ASKED + OTHERS if window[0] + window[2] <= 5]
    for (kernel, stride, pad), size, ceil, at_once in itertools.product(windows, sizes, (False, True), (16, 512)):
        if kernel > min(size) + 2 * pad:
            continue
        planning.limit(channels_at_once=at_once)
        shape = (2, 40, *size)
        grad, indices = gradients_and_indices(shape, dtype, index_dtype, kernel, stride, pad, ceil)
        numbers = (kernel, stride, pad, 1, ceil)
        expected = added_up(grad, shape, indices)
        forget_calls()
        name = asking(kernel, stride, dtype)
        assert_same_over_channels_side_by_side(expected, planning, name, grad, indices, *numbers)


def test_the_windows_that_kernels_know() -> None:
    assert {window[:2] for window in ASKED} | {(0, 0)} == {kind[:2] for kind in PIXELS_ASK.values()}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize(
    ("size", "out"),
    [((9, 9), (6, 11)), ((7, 8), (7, 3)), ((3, 3), (2, 2)), ((5, 4), (3, 4)), ((2, 9), (5, 2))],
    ids=str,
)
def test_adaptive_windows_are_asked(size: Any, out: Any, dtype: Any, index_dtype: Any, planning: Planning) -> None:
    """Windows of different sizes, more windows than pixels, and half squares; every place that a window may name."""
    bounds = [[(o * n // of, -(-(o + 1) * n // of)) for o in range(of)] for n, of in zip(size, out, strict=True)]
    random = np.random.default_rng(3)
    h = np.stack([random.integers(low, high, (3, 21, out[1])) for low, high in bounds[0]], axis=2)
    w = np.stack([random.integers(low, high, (3, 21, out[0])) for low, high in bounds[1]], axis=3)
    indices, shape = (h * size[1] + w).astype(index_dtype), (3, 21, *size)
    grad = random.standard_normal(indices.shape).astype(dtype)
    got = poolgrad.adaptive_max_pool2d_backward(
        channels_last(grad), channels_last(np.full(shape, 77, dtype)), channels_last(indices)
    )
    assert planning.plans.pop().kernel == asking(0, 0, dtype)
    assert_same_bits(np.ascontiguousarray(got), added_up(grad, shape, indices))


def test_dilated_windows_are_asked(planning: Planning) -> None:
    shape = (2, 19, 9, 8)
    x = channels_last(np.random.default_rng(1).standard_normal(shape).astype(np.float32))
    for stride in (1, 2, 3):
        values, indices = poolgrad.max_pool2d_with_indices(x, (3, 2), stride, 1, (2, 3))
        got = poolgrad.max_pool2d_with_indices_backward(values, x, indices, (3, 2), stride, 1, (2, 3))
        assert planning.plans.pop().kernel.startswith("max_pixels_ask")
        assert_same_bits(np.ascontiguousarray(got), added_up(np.ascontiguousarray(values), shape, indices))


def test_windows_with_depth_are_asked(planning: Planning) -> None:
    """Layers that one window reaches and that several do, by what a plain sum of each place gives."""
    shape, flat = (2, 13, 5, 6, 7), (2, 13, 1, 5 * 6 * 7)
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 4, 1)).transpose(0, 4, 1, 2, 3)
    for kernel, stride, pad in ((3, 1, 1), (2, 2, 1), (3, 2, (1, 0, 1)), ((2, 1, 3), (1, 1, 2), 0)):
        values, indices = poolgrad.max_pool3d_with_argmax(x, kernel, stride, pad)
        got = poolgrad.max_pool3d_with_argmax_backward(values, x, indices, kernel, stride, pad)
        assert planning.plans.pop().kernel == "max_pixels_ask"
        expected = added_up(np.ascontiguousarray(values), flat, np.ascontiguousarray(indices))
        assert_same_bits(np.ascontiguousarray(got), expected.reshape(shape))


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("window", ASKED + OTHERS, ids=str)
def test_every_window_may_name_every_place(window: Any, index_dtype: Any, planning: Planning) -> None:
    """One image for each of them, in which all other indices are where they should be."""
    kernel, stride, pad = window
    grad, indices = gradients_and_indices((1, 8, 5, 6), np.float32, index_dtype, kernel, stride, pad, False)
    number = indices[0, 0].size
    shape = (number * 30, 8, 5, 6)
    grad = np.random.default_rng(5).standard_normal((shape[0], *grad.shape[1:])).astype(np.float32)
    flat = np.broadcast_to(indices.reshape(1, 8, number), (shape[0], 8, number)).copy()
    image = np.arange(shape[0])
    flat[image, image % 8, image // 30] = image % 30
    expected = np.zeros((*shape[:2], 30), np.float32)
    np.add.at(expected, (image[:, None, None], np.arange(8)[None, :, None], flat), grad.reshape(flat.shape))
    x, where = channels_last(np.full(shape, 77, np.float32)), channels_last(flat.reshape(grad.shape))
    got = poolgrad.max_pool2d_with_indices_backward(channels_last(grad), x, where, kernel, stride, pad)
    assert planning.kernels == [asking(kernel, stride, np.float32)]
    assert_same_bits(np.ascontiguousarray(got), expected.reshape(shape))


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("window", ASKED + OTHERS[:5], ids=str)
def test_a_bad_index_in_every_window(window: Any, index_dtype: Any, planning: Planning) -> None:
    kernel, stride, pad = window
    shape = (1, 16, 5, 6)
    grad, good = gradients_and_indices(shape, np.float32, index_dtype, kernel, stride, pad, False)
    x = channels_last(np.zeros(shape, np.float32))
    for oh, ow in np.ndindex(good.shape[2:]):
        lower_half = int(good[0, 9, oh, ow])
        beyond = () if index_dtype == np.int32 else (2**32 + lower_half, -(2**32) + lower_half, -(2**63))
        for value in (-1, -30, 30, 2**31 - 1, -(2**31), *beyond):
            bad = good.copy()
            bad[0, 9, oh, ow] = value
            with pytest.raises(poolgrad.IndexRangeError, match=rf"indices\[0, 9, {oh}, {ow}\] = {value} "):
                poolgrad.max_pool2d_with_indices_backward(channels_last(grad), x, channels_last(bad), *window)
    assert set(planning.kernels) == {asking(kernel, stride, np.float32)}


def test_no_good_index_is_taken_for_one_that_went_astray(tmp_path: Any) -> None:
    """Images would be done again for nothing, and nobody would see it but by the clock: so here that is an error."""
    program = """if True:
        import sys
        import numpy as np, poolgrad
        from poolgrad.kernels.jit import memory
        from poolgrad.kernels.maximum import fallback
        from planning import Planning

        @memory.piece
        def refuse(plan, first, stop, grad, indices, result, plane, unit):
            return 0

        fallback.scatter_planes = refuse
        planning = Planning()
        planning.ways = ["pixels ask"]
        poolgrad.run.prepared.prepare = planning.prepare
        windows = (2, 2, 0), (2, 2, 1), (3, 2, 0), (3, 2, 1), (3, 1, 0), (3, 1, 1), (2, 1, 1), (3, 3, 1), (4, 2, 2)
        for k, s, p in windows:
            for index, (height, width) in ((t, n) for t in (np.int32, np.int64) for n in ((3, 3), (7, 8), (8, 7))):
                rows, columns = (np.arange((n + 2 * p - k) // s + 1) * s - p for n in (height, width))
                for last in (False, True):  # the first place of each window, and the last one
                    h = np.clip(rows + last * (k - 1), 0, height - 1)
                    w = np.clip(columns + last * (k - 1), 0, width - 1)
                    places = np.repeat((h[:, None] * width + w)[None, :, :, None], 8, 3).astype(index)
                    grad, x = np.ones(places.shape, np.float32), np.zeros((1, height, width, 8), np.float32)
                    grad, x, places = (a.transpose(0, 3, 1, 2) for a in (grad, x, places))
                    got = poolgrad.max_pool2d_with_indices_backward(grad, x, places, k, s, p)
                    assert got.sum() == grad.size
        places[0, 0, 0, 0] = height * width - 1
        try:
            poolgrad.max_pool2d_with_indices_backward(grad, x, places, k, s, p)
        except poolgrad.IndexRangeError:
            print("refused")
    """
    environment = os.environ | {"POOLGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


def test_what_stands_in_for_windows_names_no_pixel(planning: Planning, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch was left with a place in it, and as a gradient that is a number, too."""
    kept = []

    def full_of_places(size: int) -> tuple[int, object]:
        kept.append(np.full(size // 8 + 1, 1))
        return kept[-1].ctypes.data, kept[-1]

    monkeypatch.setattr(poolgrad.run.execute, "new_scratch", full_of_places)
    for kernel, stride, pad in ASKED:
        shape = (1, 8, 5, 6)
        grad, indices = gradients_and_indices(shape, np.float32, np.int64, kernel, stride, pad, False)
        x = channels_last(np.full(shape, 77, np.float32))
        got = poolgrad.max_pool2d_with_indices_backward(
            channels_last(0 * np.nan_to_num(grad, posinf=0, neginf=0)), x, channels_last(indices), kernel, stride, pad
        )
        assert planning.plans.pop().kernel == f"max_pixels_ask_k{kernel}s{stride}"
        assert not got.any()
    assert kept


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_pixels_that_cannot_be_streamed_to(dtype: Any, planning: Planning) -> None:
    """Eight of nine channels: pixels lie at addresses that no vector can be streamed to. Or only the rows do."""
    planning.limit(last_cache=0)
    for kernel, stride, pad in ((3, 1, 1), (3, 2, 1), (2, 2, 0), (5, 3, 2)):
        shape = (2, 8, 6, 7)
        grad, indices = gradients_and_indices(shape, dtype, np.int64, kernel, stride, pad, False)
        expected = added_up(grad, shape, indices)
        size = np.dtype(dtype).itemsize
        for pixel, row in ((9 * size, 70 * size), (8 * size, 57 * size)):
            room = np.full(1000, 77, dtype)
            out = np.lib.stride_tricks.as_strided(
                room[-room.ctypes.data % 16 // size :], shape, (6 * row, size, row, pixel)
            )
            poolgrad.max_pool2d_with_indices_backward(
                channels_last(grad), shape, channels_last(indices), kernel, stride, pad, out=out
            )
            assert planning.plans.pop().kernel == asking(kernel, stride, dtype)
            assert_same_bits(np.ascontiguousarray(out), expected)
            out[:] = 77
            assert (room == 77).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("channels", [2, 3, 8, 9, 19, 23])
def test_any_number_of_channels(channels: int, dtype: Any, planning: Planning, threads: None) -> None:
    """Fewer than fill a vector are scattered; of more the last vector is laid back, also where some are left over."""
    for (kernel, stride, pad), at_once in itertools.product(ASKED, (8, 16, 512)):
        planning.limit(channels_at_once=at_once)
        shape = (2, channels, 9, 11)
        grad, indices = gradients_and_indices(shape, dtype, np.int32, kernel, stride, pad, False)
        out = Guarded(shape, dtype, "channels last")
        poolgrad.max_pool2d_with_indices_backward(
            channels_last(grad), shape, channels_last(indices), kernel, stride, pad, out=out.array
        )
        assert_same_bits(np.ascontiguousarray(out.array), added_up(grad, shape, indices))
        out.assert_untouched()
        scattered = "scatter_bands" if dtype in HALVES else "scatter_numbers"
        assert planning.plans.pop().kernel == (asking(kernel, stride, dtype) if channels >= 8 else scattered)


WAYS = [
    ("single elements", (3, 5, 12, 34), 1, False),
    ("single elements", (3, 3, 95, 96), 1, False),
    ("single elements", (3, 16, 6, 7), 1, True),
    ("single elements", (3, 3, 9, 10), 1, True),
    ("touching", (3, 5, 12, 34), 2, False),
    ("touching", (2, 3, 13, 28), 3, False),
    ("pairs", (3, 5, 12, 34), 2, False),
    ("touching in short rows", (3, 5, 12, 14), 2, False),
    ("pixels ask", (3, 16, 6, 7), 2, True),
    ("pixels ask", (3, 13, 9, 10), 3, True),
    ("pixels ask", (3, 13, 12, 13), 4, True),
    ("apart", (3, 16, 9, 10), 3, True),
    ("apart", (3, 5, 13, 15), 2, False),
    ("apart", (3, 3, 95, 96), 2, False),
    ("bands", (3, 5, 41, 36), 5, False),
    ("bands", (3, 5, 13, 15), 2, False),
    ("bands", (3, 5, 41, 36), 5, True),
    ("in place", (3, 16, 9, 10), 3, True),
    ("in place", (3, 5, 13, 15), 2, False),
    ("in place", (3, 3, 95, 96), 2, False),
    ("in place", (3, 5, 6, 7), 2, True),
]


def can_take(way: str, dtype: Any, size: int) -> bool:
    """Whether a way is there for a type, and for windows with a stride of their size."""
    if way == "single elements":
        return size <= 2
    if way == "pixels ask":
        return True
    return dtype not in HALVES if way.startswith("touching") else dtype in HALVES or way == "in place"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_indices_that_went_astray(way: Any, dtype: Any, index_dtype: Any, planning: Planning) -> None:
    """One index outside its window, or all of them, in one plane or in all; the same for any number of threads."""
    name, shape, size, last = way
    if not can_take(name, dtype, size):
        return
    planning.use(ways=[name], channels_of_a_part=1)
    arrange = channels_last if last else np.ascontiguousarray
    grad, good = gradients_and_indices(shape, dtype, index_dtype, size, size, 0, False)
    far = shape[2] * shape[3] - 1
    one, many = good.copy(), np.random.default_rng(3).integers(0, far + 1, good.shape).astype(index_dtype)
    one[1, 1, 0, 0] = far
    duplicates = np.full_like(good, far)
    try:
        for threads, indices in itertools.product((1, 2, 5), (good, one, many, duplicates)):
            poolgrad.set_num_threads(threads)
            expected = np.zeros(shape, np.float64 if dtype == np.float64 else np.float32)
            with np.errstate(invalid="ignore"):
                for n, c, oh, ow in np.ndindex(good.shape):
                    expected[n, c].reshape(-1)[indices[n, c, oh, ow]] += grad[n, c, oh, ow].astype(expected.dtype)
                expected = expected.astype(dtype)
            out = arrange(np.full(shape, 77, dtype))
            poolgrad.max_pool2d_with_indices_backward(arrange(grad), shape, arrange(indices), size, out=out)
            assert_same_bits(np.ascontiguousarray(out), expected)
    finally:
        poolgrad.set_num_threads(2)
    assert {made.choice.taken.name for made in planning.plans if made.choice} == {name}


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_first_bad_index_of_every_way(way: Any, planning: Planning) -> None:
    name, shape, size, last = way
    dtype = np.float32 if can_take(name, np.float32, size) else np.float16
    if not can_take(name, dtype, size):
        return
    planning.use(ways=[name], channels_of_a_part=1)
    arrange = channels_last if last else np.ascontiguousarray
    grad, good = gradients_and_indices(shape, dtype, np.int64, size, size, 0, False)
    x, plane = arrange(np.zeros(shape, dtype)), shape[2] * shape[3]
    try:
        for threads, value in itertools.product((1, 2, 5), (-1, plane, 2**32, 2**32 + int(good[1, 1, 1, 2]), -(2**63))):
            poolgrad.set_num_threads(threads)
            bad = good.copy()
            bad[1, 1, 1, 2], bad[1, 1, 2, 0], bad[2 % shape[0], 0, 0, 0], bad[0, 1, 0, 0] = (
                value,
                -7,
                good[0, 0, 0, 0],
                plane - 1,
            )
            bad[-1, -1, -1, -1] = plane + 9
            with pytest.raises(poolgrad.IndexRangeError, match=rf"indices\[1, 1, 1, 2\] = {value} "):
                poolgrad.max_pool2d_with_indices_backward(arrange(grad), x, arrange(bad), size)
    finally:
        poolgrad.set_num_threads(2)
    assert {made.choice.taken.name for made in planning.plans if made.choice} == {name}


def test_rows_too_long_for_scratch_are_scattered(planning: Planning) -> None:
    planning.limit(second_cache=4096)
    for dtype, kernel in ((np.float32, 2), (np.float16, 2), (np.float16, 3)):
        shape = (1, 8, 2 * kernel, 32 * kernel)
        grad, indices = gradients_and_indices(shape, dtype, np.int32, kernel, kernel, 0, False)
        first = poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel)
        x = channels_last(np.zeros(shape, dtype))
        last = poolgrad.max_pool2d_with_indices_backward(channels_last(grad), x, channels_last(indices), kernel)
        assert_same_bits(last, first)
    # Floats, pairs and pixels that ask need no scratch that grows with rows.
    assert planning.kernels == [
        "max_touching_2",
        "max_pixels_ask_k2s2",
        "max_touching_pairs",
        "max_pixels_ask_k2s2_halves",
        "scatter_halves",
        "max_pixels_ask_halves",
    ]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_planes_in_batches(dtype: Any, planning: Planning, threads: None) -> None:
    """As many as fit, some, and one at a time, in every way; exact to the last byte."""
    for size, kernel, stride, pad in ((7, 3, 1, 1), (7, 2, 2, 0), (7, 7, 7, 0), (2, 2, 1, 0), (1, 1, 1, 0)):
        shape = (5, 7, size, size)
        grad, indices = gradients_and_indices(shape, dtype, np.int64, kernel, stride, pad, False)
        expected, ways = (
            added_up(grad, shape, indices),
            ("in place", "bands", "apart") if dtype in HALVES else ("in place",),
        )
        for way, batch_bytes, last_cache in itertools.product(ways, (1 << 12, 1, 1000), (0, 1 << 30)):
            planning.use(**LARGE | {"ways": [way]}, batch_bytes=batch_bytes, last_cache=last_cache)
            out = Guarded(shape, dtype)
            poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel, stride, pad, out=out.array)
            out.assert_untouched()
            assert_same_bits(out.array, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_planes_are_cleared_as_indices_come(dtype: Any, planning: Planning) -> None:
    """Whether indices rise, fall, jump or stay; in planes of more elements than are cleared at a time."""
    planning.ways = ["in place"]
    for width, order in itertools.product(
        (1, 511, 512, 513, 519, 1024, 5000, 20000), ("up", "down", "any", "last", "first")
    ):
        random = np.random.default_rng(width)
        grad = random.standard_normal((1, 2, 1, 300)).astype(dtype)
        indices = random.integers(0, width, grad.shape)
        if order in ("up", "down"):
            indices.sort()
        indices = {"down": indices[..., ::-1], "last": 0 * indices + width - 1, "first": 0 * indices}.get(
            order, indices
        )
        out = Guarded((1, 2, 1, width), dtype)
        poolgrad.adaptive_max_pool2d_backward(grad, out.array.shape, np.ascontiguousarray(indices), out=out.array)
        out.assert_untouched()
        expected = np.zeros((2, width), np.float64 if dtype == np.float64 else np.float32)
        np.add.at(expected, (np.arange(2)[:, None], indices.reshape(2, -1)), grad.reshape(2, -1).astype(expected.dtype))
        assert_same_bits(out.array.reshape(2, -1), expected.astype(dtype))
    assert set(planning.kernels) == {in_place(dtype)}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_planes_are_cleared_wherever_they_begin(dtype: Any, planning: Planning) -> None:
    """At every distance from a vector's natural place, also such that no element is at its own; exact to the byte."""
    planning.ways = ["in place"]
    itemsize = np.dtype(dtype).itemsize
    for offset, width in itertools.product(range(65), (1, 7, 8, 9, 15, 16, 17, 24, 33, 100)):
        block = np.full(64 + 1024, 0xFF, np.uint8)
        start = -block.ctypes.data % 64 + offset
        out = np.ndarray((1, 1, 1, width), dtype, block, start)
        poolgrad.adaptive_max_pool2d_backward(
            np.ones((1, 1, 1, 1), dtype), out.shape, np.zeros((1, 1, 1, 1), int), out=out
        )
        assert_same_bits(out, np.eye(1, width, dtype=dtype).reshape(out.shape))
        assert (block[:start] == 0xFF).all()
        assert (block[start + width * itemsize :] == 0xFF).all()
    assert set(planning.kernels) == {in_place(dtype)}


@pytest.mark.parametrize("size", [(60, 70), (100, 90)])
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_in_the_output_itself(
    dtype: Any, index_dtype: Any, size: Any, planning: Planning, threads: None
) -> None:
    """Every number there is, and sums of numbers that cancel each other or lie below the least normal one; planes that
    are cleared at once, and as indices come."""
    every = np.arange(2**16, dtype=np.uint16)
    least = np.tile(np.array([1, 0x8001, 0, 0x8000, 2, 0x8003, 0x80, 0x8080, 0x400, 0x8400], np.uint16), 400)
    random, shape = np.random.default_rng(7), (2, 3, *size)
    for bits, places in itertools.product((every, least), (size[0] * size[1], 900, 7)):
        grad = random.choice(bits, (2, 3, 40, 50)).view(dtype)
        indices = random.integers(0, places, grad.shape).astype(index_dtype)
        if places == 900:
            indices = np.sort(indices.reshape(2, 3, -1)).reshape(grad.shape)
        expected = added_up(grad, shape, indices)
        planning.use(**LARGE | {"ways": ["in place"]})
        out = Guarded(shape, dtype)
        poolgrad.adaptive_max_pool2d_backward(grad, shape, indices, out=out.array)
        assert planning.plans.pop().kernel == in_place(dtype)
        assert_same_bits(out.array, expected)
        out.assert_untouched()
        last = Guarded(shape, dtype, "channels last")
        poolgrad.adaptive_max_pool2d_backward(channels_last(grad), shape, channels_last(indices), out=last.array)
        assert planning.plans.pop().kernel == in_place(dtype)
        assert_same_bits(np.ascontiguousarray(last.array), expected)
        last.assert_untouched()


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
def test_the_first_bad_index_of_few(index_dtype: Any, planning: Planning) -> None:
    planning.ways = ["in place"]
    for size in (9, 99):  # cleared at once, and as indices come
        grad, indices = np.ones((2, 3, 1, 5), np.float16), np.zeros((2, 3, 1, 5), index_dtype)
        for value in (-1, size**2, 2**31 - 1, -(2**31)):
            indices[1, 2, 0, 4], indices[1, 1, 0, 3] = -9, value
            with pytest.raises(poolgrad.IndexRangeError, match=rf"indices\[1, 1, 0, 3\] = {value} "):
                poolgrad.adaptive_max_pool2d_backward(grad, (2, 3, size, size), indices)
    assert set(planning.kernels) == {"scatter_halves"}


def test_few_gradients_of_halves_are_added_in_the_output(planning: Planning) -> None:
    """From so many elements for each gradient on."""
    planning.use()
    for dtype, size in ((np.float16, (6, 10)), (ml_dtypes.bfloat16, (8, 11))):
        for windows in (9, 8):
            grad, indices = np.ones((1, 1, 1, windows), dtype), np.zeros((1, 1, 1, windows), np.int32)
            poolgrad.adaptive_max_pool2d_backward(grad, (1, 1, *size), indices)
            assert (planning.plans.pop().kernel == in_place(dtype)) == (windows == 8)


def test_halves_that_meet_nothing_are_put(planning: Planning) -> None:
    """Every number there is: zeros lose their sign and NaN is quiet, as in a sum."""
    planning.ways = ["apart"]
    for dtype, index_dtype, layout in itertools.product(HALVES, INDEX_DTYPES, (channels_last, np.ascontiguousarray)):
        shape = (1, 2, 384, 384)
        grad = np.arange(2**15, dtype=np.uint16).reshape(1, 1, 128, 256)
        grad = np.concatenate([grad, grad | 0x8000], axis=1).view(dtype)[:, :, :, :128].copy()
        indices = gradients_and_indices(shape, dtype, index_dtype, 3, 3, 0, False)[1]
        out = layout(np.full(shape, 77, dtype))
        poolgrad.max_pool2d_with_indices_backward(layout(grad), shape, layout(indices), 3, out=out)
        assert planning.plans.pop().kernel == f"{in_place(dtype)}_apart"
        assert_same_bits(np.ascontiguousarray(out), added_up(grad, shape, indices))


def test_scratch_of_maxima_is_bounded() -> None:
    """Float32 needs no plane of its own, however long its rows and however many its channels."""
    for threads, (height, width, channels), form in itertools.product(
        (1, 2, 64), ((2, 2**28, 1), (2**14, 2**14, 64), (8, 2**20, 4096)), ("NCHW", "NHWC")
    ):
        poolgrad.set_num_threads(threads)
        try:
            for kernel in (2, 3, 4):
                out = (height - kernel) // kernel + 1, (width - kernel) // kernel + 1
                if min(out) < 1:
                    continue
                shapes = [
                    (1, channels, *size) if form == "NCHW" else (1, *size, channels) for size in ((height, width), out)
                ]
                values = dict(MAX.legal) | {
                    "gradOutput": T(shapes[1], "float32", form),
                    "self": T(shapes[0], "float32", form),
                    "indices": T(shapes[1], "int32", form),
                    "gradInput": T(shapes[0], "float32", form),
                    "kernelSize": (kernel,),
                    "stride": (kernel,),
                    "padding": (0,),
                    "dilation": (1,),
                }
                made = prepare(
                    REGISTRY[MAX.name],
                    ANY,
                    {key: described(value) for key, value in values.items()},
                    poolgrad.get_num_threads(),
                )
                assert made.scratch_bytes <= 64_000_000
        finally:
            poolgrad.set_num_threads(2)


def test_halves_by_vectors_are_halves_by_numbers() -> None:
    """All patterns through the vector conversions: widened, moved by windows of one element, rounded."""
    for dtype in (np.float16, ml_dtypes.bfloat16):
        every = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(dtype).reshape(1, 1, 256, 256)
        places = (np.arange(256)[:, None] * 2 * 512 + np.arange(256) * 2).reshape(every.shape)
        expected = np.zeros((1, 1, 512, 512), dtype)
        expected[:, :, ::2, ::2] = every
        expected.view(np.uint16)[expected.view(np.uint16) == 0x8000] = 0  # only the sign of zero is lost
        assert_same_bits(poolgrad.max_pool2d_with_indices_backward(every, expected.shape, places, 2), expected)


SIDESTEPS = [
    # where indices, output and scratch begin in their pages, and what of scratch is used: from which byte on
    ("alike", 16, 16, 2048, 0),
    ("indices just behind", 16, 256, 2048, 0),
    ("scratch alike, too", 64, 64, 64, 2048),
    ("indices ahead", 1024, 16, 2048, None),
    ("indices far behind", 16, 1024, 2048, None),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("case", SIDESTEPS, ids=lambda case: case[0])
def test_loads_that_would_wait_for_stores(
    case: Any, streamed: bool, planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planes are scattered in scratch then, and otherwise scratch stays as it was. Some at a time, and one by one."""
    _, of_indices, of_output, of_scratch, used = case
    planning.limit(time_of_part=1 << 60, last_cache=0 if streamed else 1 << 60)
    for shape in ((1, 2, 28, 28), (2, 3, 32, 32), (1, 1, 40, 40)):  # all batches begin alike in their pages
        grad, indices = gradients_and_indices(shape, np.float32, np.int32, 3, 1, 1, False)
        expected = np.zeros(shape, np.float32)
        with np.errstate(invalid="ignore"):
            for n, c, oh, ow in np.ndindex(shape):
                expected[n, c].reshape(-1)[indices[n, c, oh, ow]] += grad[n, c, oh, ow]
        scratch: list[Array] = []

        def new_scratch(size: int, scratch: list[Array] = scratch) -> tuple[int, object]:
            scratch.append(beginning_at(np.full(size, 255, np.uint8), of_scratch))
            return scratch[-1].ctypes.data, scratch[-1]

        monkeypatch.setattr(poolgrad.run.execute, "new_scratch", new_scratch)
        places, out = beginning_at(indices, of_indices), beginning_at(np.full(shape, 77, np.float32), of_output)
        poolgrad.max_pool2d_with_indices_backward(grad, shape, places, 3, 1, 1, out=out)
        assert planning.plans.pop().kernel == "scatter_numbers"
        assert_same_bits(out, expected)
        touched = np.flatnonzero(scratch[-1] != 255)
        if used is None:
            assert not touched.size
        else:
            assert used <= touched[0] < used + 64
