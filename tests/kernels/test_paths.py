"""Every path that a plan can choose, forced by its limits, gives the bits of every other.

Small limits bring what only huge tensors need (tiles, chunks, rows made again, streaming stores) to small ones.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from document import T
from documents.avg_pool2d_backward import DOCUMENT as AVG
from planning import Planning

import poolgrad
from poolgrad.base.dtypes import DTYPES
from poolgrad.base.products import ANY
from poolgrad.base.tensor import Tensor, contiguous_strides
from poolgrad.base.windows import pooled_size
from poolgrad.contract.engine import prepare
from poolgrad.kernels.record import FEW_WINDOWS, ROOM, ROWS_IN_TABLE
from poolgrad.operators import REGISTRY
from poolgrad.plans import average
from poolgrad.plans.plan import Plan
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

Use = dict[str, Any]  # ways and limits, as Planning.use takes them

FEW: Use = {"ways": ["few windows"]}
LANES: Use = {"ways": ["small planes", "rows"]}
ROWS: Use = {"ways": ["rows"]}
# What a plan shall use, and what it must show so that the test is known to reach the path.
LIMITS: list[tuple[str, Use, Callable[[Plan], bool]]] = [
    ("few windows", FEW, lambda p: are_few(p) == can_be_few(p)),
    ("few windows past the caches", FEW | {"last_cache": 0}, lambda p: are_few(p) == can_be_few(p)),
    ("many parts of few windows", FEW | {"time_of_part": 1}, lambda p: are_few(p) == can_be_few(p)),
    ("eight planes at a time", LANES, lambda p: p.kernel == "average_small_planes"),
    ("row by row", ROWS, lambda p: p.kernel == "average_rows"),
    ("narrow tiles", ROWS | {"widest_tile": 16, "narrowest_tile": 8}, lambda p: bool(p.record["tile"][0] <= 16)),
    ("odd tiles", ROWS | {"widest_tile": 13, "narrowest_tile": 8}, lambda p: bool(p.record["tile"][0] <= 13)),
    ("windows laid one by one", ROWS | {"shuffled_stride": 0}, lambda p: not p.record["streams"][0]),
    (
        "windows laid in chunks",
        ROWS | {"shuffled_stride": 0, "windows_at_once": 3},
        lambda p: bool(p.record["chunk"][0] <= 3 + ROOM),
    ),
    ("single rows", ROWS | {"batch": 0}, lambda p: bool(p.record["batch"][0] <= 1)),
    (
        "batches of rows",
        ROWS | {"batch": 250},
        lambda p: bool(p.record["batch"][0] * p.record["wide"][0] <= 250 or p.record["batch"][0] <= 1),
    ),
    (
        "rows made again",
        ROWS | {"second_cache": 1, "narrowest_tile": 10**6},
        lambda p: bool(p.record["row_slots"][0] <= 1),
    ),
    ("streaming stores", ROWS | {"last_cache": 0}, lambda p: bool(p.record["streaming"][0])),
    ("many parts", {"time_of_part": 1}, lambda p: True),
    ("many parts of rows", ROWS | {"time_of_part": 1}, lambda p: True),
]


def are_few(made: Plan) -> bool:
    return made.kernel.startswith(FEW_WINDOWS)


def can_be_few(made: Plan) -> bool:
    """Whether at most three windows hold an element, columns of a stride are of two kinds, the next stride's window is
    the farthest that holds one, and blocks of eight windows cover a row, of which the last is laid back."""
    kernel, stride, pad, width, out = (
        int(made.record[0][name][2]) for name in ("kernel", "stride", "pad", "size", "out")
    )
    if not (stride <= kernel <= 3 * stride and stride <= 4):
        return False
    kinds = [
        tuple(o for o in range(-3, 4) if o * stride - pad <= column < o * stride - pad + kernel)
        for column in range(stride)
    ]
    few = len(set(kinds)) <= 2 and max(map(max, kinds)) <= 1
    strides, whole = -(-width // stride), min(out, width // stride) // 8
    covered = whole > 0 and 8 * whole >= strides - 8
    return few and covered and (out >= 16 or min(map(min, kinds)) + strides - out >= -1)


def is_global(made: Plan) -> bool:
    return made.kernel == "average_whole_planes"


# Kernel, stride, padding of W; H has the same, so that rows meet the same windows. At most 8 windows per column:
# longer sums are put together differently where windows are laid one by one.
GEOMETRIES = [
    (1, 1, 0),
    (2, 2, 0),
    (3, 2, 1),
    (3, 1, 1),
    (3, 3, 0),
    (3, 3, 1),
    (5, 3, 2),
    (4, 4, 0),
    (7, 4, 3),
    (1, 4, 0),
    (2, 3, 0),
    (2, 1, 1),
    (2, 2, 1),
    (3, 2, 0),
    (4, 2, 1),
    (4, 2, 2),
    (6, 2, 3),
    (5, 3, 0),
    (9, 3, 3),
]
GEOMETRIES += [(5, 5, 2), (8, 5, 1), (3, 7, 1), (8, 1, 4), (13, 2, 6), (20, 17, 3)]
WIDTHS = [*range(1, 34), 47, 64, 65, 129]


def gradient(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@functools.cache
def calls(dtype: Any) -> list[tuple[Array, tuple[int, ...], tuple[int, ...], Array]]:
    """Gradients, shapes, numbers, and the answers within the usual limits."""
    found = []
    # There is a kernel for each kind of windows and of numbers: a part of the latter is enough to know that all are
    # made alike.
    geometries, widths = (GEOMETRIES, WIDTHS) if dtype == np.float32 else (GEOMETRIES[::2], (*WIDTHS[::8], 64))
    for (kernel, stride, pad), width in itertools.product(geometries, widths):
        height = max(9, kernel)
        sizes = [(size + 2 * pad - kernel) // stride + 1 for size in (height, width)]
        if min(sizes) > 0:
            grad, shape, numbers = gradient((2, 2, *sizes), dtype), (2, 2, height, width), (kernel, stride, pad)
            found.append((grad, shape, numbers, poolgrad.avg_pool2d_backward(grad, shape, *numbers)))
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("line", LIMITS, ids=lambda line: line[0])
def test_averages(line: tuple[str, Use, Callable[[Plan], bool]], dtype: Any, planning: Planning) -> None:
    _, limits, reached = line
    cases = calls(dtype)  # before the limits change
    poolgrad.set_num_threads(3)
    try:
        planning.use(**limits)
        plans = planning.recording()
        for grad, shape, numbers, answer in cases:
            room = np.full((shape[0] * shape[1] * shape[2] * shape[3] + 32,), 77, dtype)
            out = room[16:-16].reshape(shape)
            poolgrad.avg_pool2d_backward(grad, shape, *numbers, out=out)
            assert np.array_equal(out, answer), (shape, numbers)
            assert (room[:16] == 77).all()
            assert (room[-16:] == 77).all()
    finally:
        poolgrad.set_num_threads(2)
    assert len(plans) == len(cases)
    assert all(map(reached, plans))


def test_rows_of_strided_gradients(planning: Planning) -> None:
    """Rows may lie apart, in reverse, or on one another, and a divisor may be given."""
    planning.use(**LANES)
    wide = gradient((2, 3, 18, 24))
    apart, reverse, same = wide[:, :, ::2], wide[:, :, 8::-1], np.broadcast_to(wide[:, :, :1], (2, 3, 9, 24))
    expected = [poolgrad.avg_pool2d_backward(grad, (2, 3, 9, 24), 3, 1, 1) for grad in (apart, reverse, same)]
    overridden = poolgrad.avg_pool2d_backward(apart, (2, 3, 9, 24), 3, 1, 1, divisor_override=-7)
    planning.use(**FEW)
    plans = planning.recording()
    for grad, answer in zip((apart, reverse, same), expected, strict=True):
        assert np.array_equal(poolgrad.avg_pool2d_backward(grad, (2, 3, 9, 24), 3, 1, 1), answer)
    got = poolgrad.avg_pool2d_backward(apart, (2, 3, 9, 24), 3, 1, 1, divisor_override=-7)
    assert np.array_equal(got, overridden)
    assert all(are_few(made) for made in plans)
    assert len(plans) == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strides_of_two_over_strided_gradients(dtype: Any, planning: Planning) -> None:
    """Planes of every width, split anywhere; rows may lie apart, in reverse, or on one another."""
    cases = [
        (grad, (2, 3, 8 - odd, 2 * grad.shape[3] - odd), (3, 2, 1))
        for grad in strided_gradients(range(9, 42), 4, dtype)
        for odd in (0, 1)
    ]
    plans = check_in_any_parts(cases, FEW | {"last_cache": 0}, planning)
    assert all(are_few(made) for made in plans)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_in_any_parts(dtype: Any, planning: Planning) -> None:
    """Planes of every width, split anywhere; rows may lie apart, in reverse, or on one another."""
    cases = [(grad, grad.shape, (3, 1, 1)) for grad in strided_gradients(range(8, 42), 5, dtype)]
    plans = check_in_any_parts(cases, FEW | {"last_cache": 0}, planning)
    assert all(are_few(made) for made in plans)


@pytest.mark.parametrize("numbers", [(3, 1, 1), (3, 2, 1), (2, 1, 1), (3, 3, 0)], ids=str)
def test_rows_of_tall_planes_are_looked_up_in_turn(numbers: tuple[int, ...], planning: Planning) -> None:
    """More rows than a table has room for: each part of a plane begins with what it needs of the rows above."""
    kernel, stride, pad = numbers
    cases = []
    for height in (ROWS_IN_TABLE, ROWS_IN_TABLE + 1, 2 * ROWS_IN_TABLE + 3):
        shape = (1, 2, height, 27)
        grad = gradient((1, 2, *((size + 2 * pad - kernel) // stride + 1 for size in shape[2:])))
        cases.append((grad, shape, numbers))
    for limits in ({}, {"last_cache": 0}):
        assert all(map(are_few, check_in_any_parts(cases, FEW | limits, planning)))


@pytest.mark.parametrize("numbers", [(2, 2), (3, 2, 1), (3, 3)])
@pytest.mark.parametrize("width", [48, 49])
def test_a_beginning_that_stays_in_the_caches(width: int, numbers: tuple[int, ...], planning: Planning) -> None:
    """Of each part some rows are stored and the others streamed: none, some of a plane, planes, or all of them."""
    kernel, stride, pad = (*numbers, 0)[:3]
    shape = (2, 3, 12, width)
    grad = gradient((2, 3, *((n + 2 * pad - kernel) // stride + 1 for n in shape[2:])))
    row, written = 4 * width, 4 * width * 12 * 6
    limits = FEW | {"last_cache": written}
    for rows in (0, 1, 5, 12, 17, 35, 36, 100):
        plans = check_in_any_parts(
            [(grad, shape, numbers)],
            limits | {"kept_by_part": rows * row + row // 2, "kept_in_all": 1 << 30},
            planning,
        )
        assert all(are_few(made) for made in plans)
        assert all(made.record["streaming"][0] for made in plans)
        alone = rows if kernel == stride == 3 else 0  # a ninth as much is read as written
        assert [(made.parts, int(made.record["kept"][0])) for made in plans] == [(1, alone), (7, rows)]
    plans = check_in_any_parts([(grad, shape, numbers)], limits | {"kept_in_all": 7 * 3 * row}, planning)
    assert [int(made.record["kept"][0]) for made in plans] == [21 if kernel == stride == 3 else 0, 3]
    plans = check_in_any_parts([(grad, shape, numbers)], limits | {"last_cache": written // 2}, planning)
    assert [int(made.record["kept"][0]) for made in plans] == [0, 0]


@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_windows_that_touch_over_strided_gradients(dtype: Any, stride: int, planning: Planning) -> None:
    """Rows of every width, with and without columns and rows that no window holds."""
    cases = [
        (grad, (2, 3, 3 * stride + rest, grad.shape[3] * stride + rest), (stride, stride))
        for grad in strided_gradients(range(8, 26), 3, dtype)
        for rest in (0, stride - 1)
    ]
    plans = check_in_any_parts(cases, FEW | {"last_cache": 0}, planning)
    assert all(are_few(made) for made in plans)


@pytest.mark.parametrize("numbers", [(3, 1, 0), (2, 1, 1), (4, 2, 1), (3, 2, 0), (5, 3, 2), (9, 3, 3)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_few_windows_over_strided_gradients(dtype: Any, numbers: tuple[int, ...], planning: Planning) -> None:
    """The same where windows overlap: rows that begin a part need those before them."""
    kernel, stride, pad = numbers
    cases = [
        (grad, (2, 3, *((n - 1) * stride + kernel - 2 * pad for n in grad.shape[2:])), numbers)
        for grad in strided_gradients(range(16, 34), 5, dtype)
    ]
    plans = check_in_any_parts(cases, FEW | {"last_cache": 0}, planning)
    assert [are_few(made) for made in plans] == [can_be_few(made) for made in plans]
    assert any(map(are_few, plans))


@pytest.mark.parametrize("stride", [2, 3, 4])
def test_touching_windows_that_leave_the_plane(stride: int, planning: Planning) -> None:
    """With a divisor of the caller's own a last window counts like all others, though a part of it lies outside."""
    grad, shape = gradient((2, 3, 3, 11)), (2, 3, 2 * stride + 1, 10 * stride + 1)
    arguments = {"ceil_mode": True, "divisor_override": 7}
    planning.use(**LANES)
    expected = poolgrad.avg_pool2d_backward(grad, shape, stride, stride, **arguments)
    planning.use(**FEW)
    plans = planning.recording()
    assert np.array_equal(poolgrad.avg_pool2d_backward(grad, shape, stride, stride, **arguments), expected)
    assert are_few(plans[-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("numbers", [(2, 2), (3, 2, 1), (3, 3), (3, 1, 1)])
def test_results_whose_rows_and_planes_lie_apart(numbers: tuple[int, ...], dtype: Any, planning: Planning) -> None:
    """Rows of a width that is no multiple of 16 bytes, one behind the other or at such multiples; planes and samples at
    any distance: what can be streamed to one row need not suit the next."""
    kernel, stride, pad = (*numbers, 0)[:3]
    size = np.dtype(dtype).itemsize
    limits = FEW | {"last_cache": 0}
    plans, reached = planning.recording(), set()
    for width, wider, between, further in itertools.product((48, 49), (0, 3, 4), (0, 1, 4), (0, 1, 4)):
        shape = (2, 3, 8, width)
        grad = gradient((2, 3, *((n + 2 * pad - kernel) // stride + 1 for n in shape[2:])), dtype)
        planning.use(**LANES)
        expected = poolgrad.avg_pool2d_backward(grad, shape, *numbers)
        planning.use(**limits)
        row = width + wider
        plane = 8 * row + between
        sample = 3 * plane + further
        room = np.full(2 * sample + 64, 77, dtype)
        begin = 32 - room.ctypes.data % 16 // size
        strides = tuple(size * step for step in (sample, plane, row, 1))
        out = np.lib.stride_tricks.as_strided(room[begin:], shape, strides)
        poolgrad.avg_pool2d_backward(grad, shape, *numbers, out=out)
        assert np.array_equal(out, expected), (width, wider, between, further)
        out[...] = 77
        assert (room == 77).all(), (width, wider, between, further)
        reached.add(plans[-1].kernel)
    assert all(name.startswith(FEW_WINDOWS) for name in reached)


def strided_gradients(windows: Sequence[int], rows: int, dtype: Any) -> list[Array]:
    """Gradients whose rows lie apart, in reverse, and on one another, for each number of windows."""
    wide = gradient((2, 3, 2 * rows, max(windows)), dtype)
    wide[0, 0] = -0.0  # sums begin at +0.0
    same = np.broadcast_to(wide[:, :, :1], (2, 3, rows, max(windows)))
    return [view[..., :count] for count in windows for view in (wide[:, :, ::2], wide[:, :, rows - 1 :: -1], same)]


def check_in_any_parts(
    cases: list[tuple[Array, tuple[int, ...], tuple[int, ...]]], limits: Use, planning: Planning
) -> list[Plan]:
    """The same bits with limits as without special rows, as a whole and in parts, and nothing beyond: at multiples of
    16 bytes, at others of a number's size, and between these."""
    planning.use(**LANES)
    expected = [poolgrad.avg_pool2d_backward(grad, shape, *numbers) for grad, shape, numbers in cases]
    plans = planning.recording()
    try:
        poolgrad.set_num_threads(7)
        for parts in (1 << 30, 1):
            planning.use(**limits | {"time_of_part": parts})
            for (grad, shape, numbers), answer in zip(cases, expected, strict=True):
                for place in (0, 4, 8, 12, 1):
                    room = np.full(answer.nbytes + 128, 77, np.uint8)
                    begin = 64 + (place - room.ctypes.data) % 16
                    out = room[begin : begin + answer.nbytes].view(answer.dtype).reshape(shape)
                    poolgrad.avg_pool2d_backward(grad, shape, *numbers, out=out)
                    assert out.tobytes() == answer.tobytes(), (shape, grad.strides, place)
                    assert (room[:begin] == 77).all()
                    assert (room[begin + answer.nbytes :] == 77).all()
    finally:
        poolgrad.set_num_threads(2)
    assert len(plans) == 2 * len(cases)
    return plans


@pytest.mark.parametrize(
    "limits",
    [
        LANES,
        ROWS,
        ROWS | {"widest_tile": 16, "narrowest_tile": 8},
        ROWS | {"windows_at_once": 2},
        ROWS | {"second_cache": 1},
        ROWS | {"batch": 0},
    ],
)
def test_adaptive_averages(limits: Use, planning: Planning) -> None:
    shapes = [((3, 5, w), (2, 4, o)) for w, o in itertools.product((1, 2, 7, 31, 33, 70), (1, 2, 3, 8, 32, 75))]
    cases = [(gradient((2, *out)), (2, *size)) for size, out in shapes]
    expected = [poolgrad.adaptive_avg_pool3d_backward(grad, shape) for grad, shape in cases]
    planning.use(**limits)
    for (grad, shape), answer in zip(cases, expected, strict=True):
        assert np.array_equal(poolgrad.adaptive_avg_pool3d_backward(grad, shape), answer), (grad.shape, shape)


@pytest.mark.parametrize("beyond_caches", [False, True])
def test_layers_of_windows_that_touch(beyond_caches: bool, planning: Planning) -> None:
    """One layer of elements may have several layers of gradients, and the other way round."""
    cases = [
        (gradient((2, layers, 3, 9)), (2, depth, 3 * stride, 9 * stride))
        for stride, depth, layers in itertools.product((1, 2, 3, 4), (1, 2, 3), (1, 2, 3, 8))
    ]
    planning.use(ways=["few windows"], **({"last_cache": 0} if beyond_caches else {}))
    plans = planning.recording()
    for grad, shape in cases:
        got = poolgrad.adaptive_avg_pool3d_backward(grad, shape)
        exact = reference.adaptive_avg_pool3d_backward(grad.astype(np.float64), shape)
        bound = reference.adaptive_avg_pool3d_backward(np.abs(grad).astype(np.float64), shape)
        assert (np.abs(got - exact) <= bound * 9 * 2.0**-24 * 1.001).all(), (grad.shape, shape)
    assert {int(made.record["stride"][0][2]) for made in plans if are_few(made)} == {1, 2, 3, 4}


def average_by_definition(grad: Array, size: tuple[int, ...], kernel: int, stride: int) -> Array:
    square, strides = (kernel, kernel), (stride, stride)
    return reference.avg_pool2d_backward(grad.astype(np.float64), (1, *size), square, strides, (0, 0), False, True, 0)


@pytest.mark.parametrize("kernel", [9, 10, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127])
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_long_windows(kernel: int, stride: int, planning: Planning) -> None:
    """Sums of 9 windows and more, by fours and blocks, in one tile and in many; against exact sums in float64."""
    size = (kernel + 2, 2 * kernel + 75)
    out = [(n - kernel) // stride + 1 for n in size]
    grad = gradient((1, *out))
    got = poolgrad.avg_pool2d_backward(grad, (1, *size), kernel, stride)
    exact = average_by_definition(grad, size, kernel, stride)
    bound = average_by_definition(np.abs(grad), size, kernel, stride)
    additions = sum(-(-kernel // stride) for _ in range(2))
    assert (np.abs(got - exact) <= bound * (additions + 1) * 2.0**-24 * 1.001).all()
    planning.use(widest_tile=24, narrowest_tile=8)
    assert np.array_equal(poolgrad.avg_pool2d_backward(grad, (1, *size), kernel, stride), got)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [9, 12, 20, 33])
def test_long_windows_that_are_few(kernel: int, stride: int, planning: Planning) -> None:
    """However few windows there are, long ones are summed in the same order on every path and in every layout."""
    for many in (2, 3, 5, 8):
        shape = (1, 8, kernel + stride * (many - 1) + 3, kernel + stride * (many - 1) + 1)
        out = [(n + 4 - kernel) // stride + 1 for n in shape[2:]]
        grad, numbers = gradient((1, 8, *out)), (kernel, stride, 2)
        expected = poolgrad.avg_pool2d_backward(grad, shape, *numbers)
        x = channels_last(np.zeros(shape, np.float32))
        assert np.array_equal(poolgrad.avg_pool2d_backward(channels_last(grad), x, *numbers), expected)
        planning.use(**ROWS)
        assert np.array_equal(poolgrad.avg_pool2d_backward(grad, shape, *numbers), expected)
        planning.use()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_nan_stays_in_its_window_in_long_sums(dtype: Any) -> None:
    """Sums of sums must not carry a NaN beyond the window that holds it."""
    for place in range(0, 170, 13):
        grad = np.ones((1, 1, 170), dtype)
        grad[0, 0, place] = np.nan
        result = poolgrad.avg_pool2d_backward(grad, (1, 1, 200), (1, 31), 1)
        assert np.flatnonzero(np.isnan(result[0, 0])).tolist() == list(range(place, place + 31))


def test_planes_of_max_split_over_any_number_of_threads(planning: Planning) -> None:
    grad = gradient((3, 5, 6, 7))
    indices = np.random.default_rng(1).integers(0, 12 * 14, grad.shape)
    expected = poolgrad.max_pool2d_with_indices_backward(grad, (3, 5, 12, 14), indices, 2)
    planning.use(time_of_part=1, windows_at_once=2)
    try:
        for threads in (1, 2, 4, 15, 40):
            poolgrad.set_num_threads(threads)
            assert np.array_equal(poolgrad.max_pool2d_with_indices_backward(grad, (3, 5, 12, 14), indices, 2), expected)
            bad = indices.copy()
            bad[1, 3, 2, 4], bad[2, 4, 5, 6] = -5, 999
            with pytest.raises(poolgrad.IndexRangeError, match=r"indices\[1, 3, 2, 4\] = -5"):
                poolgrad.max_pool2d_with_indices_backward(grad, (3, 5, 12, 14), bad, 2)
    finally:
        poolgrad.set_num_threads(2)


def channels_last(array: Array) -> Array:
    """The same values, with the channels side by side in memory."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)).transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


PIXEL_LIMITS = [
    {},
    {"bytes_of_pixels": 4},
    {"bytes_of_pixels": 2000},
    {"most_channels": 11},
    {"bytes_of_pixels": 2000, "many_channels": 8},
]


@pytest.mark.parametrize("limits", PIXEL_LIMITS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_averages_of_pixels(limits: Use, dtype: Any, planning: Planning) -> None:
    """Channels side by side give the bits of channels apart: strides, gaps, ceil mode, both countings, overrides."""
    planning.use(time_of_part=1, last_cache=0, **limits)
    plans = planning.recording()
    poolgrad.set_num_threads(3)
    try:
        for (kernel, stride, pad), width, channels in itertools.product(GEOMETRIES, (1, 2, 7, 20), (3, 8, 24, 37)):
            shape = (2, channels, max(9, kernel), max(width, kernel))
            numbers = {"kernel_size": kernel, "stride": stride, "padding": pad, "ceil_mode": bool(width % 2)}
            more = {
                "count_include_pad": width != 7,
                "divisor_override": -3 if width == 2 else 2**40 if width == 1 else None,
            }
            out = [pooled_size(n, kernel=kernel, stride=stride, pad=pad, ceil_mode=bool(width % 2)) for n in shape[2:]]
            grad = gradient((2, channels, *out), dtype)
            planning.use(time_of_part=1, last_cache=0, **limits)
            expected = poolgrad.avg_pool2d_backward(grad, shape, **numbers, **more)
            assert plans[-1].kernel != "average_channels_last"
            for way in ("touching pixels", "channels last"):
                planning.use(ways=[way], avoided=["whole planes"], time_of_part=1, last_cache=0, **limits)
                room = np.full((2, shape[2] + 2, shape[3], channels), 77, dtype)
                target = room[:, 1:-1].transpose(0, 3, 1, 2)
                poolgrad.avg_pool2d_backward(channels_last(grad), shape, **numbers, **more, out=target)
                exact = dtype == np.float64 or more["divisor_override"] != 2**40
                touching = exact and (kernel <= stride or out == [1, 1])
                taken = "average_touching_pixels" if touching and way[0] == "t" else "average_channels_last"
                assert plans[-1].kernel == taken or channels == 3
                assert np.array_equal(target, expected), (shape, numbers, more)
                target[:] = 77
                assert (room == 77).all()
    finally:
        poolgrad.set_num_threads(2)


@pytest.mark.parametrize("channels", [4097, 5000])
def test_averages_of_long_pixels(channels: int) -> None:
    """Blocks of channels, the last of which is laid back."""
    for kernel, stride in ((3, 1), (2, 2), (3, 2)):
        out = [pooled_size(n, kernel=kernel, stride=stride, pad=1, ceil_mode=False) for n in (4, 5)]
        grad = gradient((1, channels, *out))
        expected = poolgrad.avg_pool2d_backward(grad, (1, channels, 4, 5), kernel, stride, 1)
        x = channels_last(np.zeros((1, channels, 4, 5), np.float32))
        assert np.array_equal(poolgrad.avg_pool2d_backward(channels_last(grad), x, kernel, stride, 1), expected)


def test_adaptive_averages_of_pixels(planning: Planning) -> None:
    plans = planning.recording()
    sizes = ((3, 5, 7), (4, 6, 8), (2, 3, 4), (1, 4, 5))
    for size, out in itertools.product(
        sizes, ((2, 3, 4), (4, 2, 11), (1, 1, 1), (5, 9, 7), (3, 7, 6), (1, 5, 13), (2, 4, 17))
    ):
        for channels in (2, 5, 16):
            grad, x = gradient((2, channels, *out)), channels_last(np.zeros((2, channels, *size), np.float32))
            planning.use()
            expected = poolgrad.adaptive_avg_pool3d_backward(grad, x.shape)
            for way in ("touching pixels", "channels last"):
                planning.use(ways=[way, "channels last"])
                got = poolgrad.adaptive_avg_pool3d_backward(channels_last(grad), x)
                assert plans[-1].kernel in ("average_touching_pixels", "average_channels_last")
                assert got.strides == x.strides
                assert np.array_equal(got, expected), (size, out)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_columns_of_rows_are_kept(dtype: Any, monkeypatch: Any, planning: Planning) -> None:
    """Where expanded rows of all windows over an element do not fit scratch, but their columns do: with several tiles,
    planes and threads, strides, windows cut off, and depth."""
    monkeypatch.setattr(average, "LONGEST_BLOCK", 0)  # other sums, which have no tiles so narrow
    limits = ROWS | {"narrowest_tile": 16, "total_budget": 1 << 40, "time_of_part": 1}
    calls: list[tuple[Any, ...]] = [
        (poolgrad.avg_pool2d_backward, (1, 2, 90, 75), 40, 1, 0),
        (poolgrad.avg_pool2d_backward, (2, 1, 90, 75), 40, 1, 20),
        (poolgrad.avg_pool2d_backward, (1, 1, 190, 160), 121, 2, 60),
        (poolgrad.avg_pool2d_backward, (1, 1, 190, 160), (141, 90), (2, 3), (30, 7)),
        (poolgrad.avg_pool3d_backward, (1, 1, 5, 60, 50), (3, 30, 30), 1, (1, 15, 15)),
    ]
    for call, shape, kernel, stride, pad in calls:
        axes = len(shape) - 2
        kernels, strides, pads = ((n,) * axes if isinstance(n, int) else n for n in (kernel, stride, pad))
        outs = ((n + 2 * p - k) // s + 1 for n, k, s, p in zip(shape[2:], kernels, strides, pads, strict=True))
        grad, narrow, expected = gradient((*shape[:2], *outs), dtype), set(), None
        for budget in (1 << 40, *range(1500, 12000, 500)):
            planning.use(**limits, second_cache=budget * (8 if dtype == np.float64 else 4))
            plans = planning.recording()
            got = call(grad, shape, kernel, stride, pad)
            expected = got if expected is None else expected
            assert plans[-1].kernel == "average_rows"
            assert np.array_equal(got, expected), budget
            if plans[-1].record["narrow"][0]:
                narrow.add(int(plans[-1].record["tile"][0]))
                assert plans[-1].floats <= budget
        assert narrow
        assert min(narrow) < shape[-1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_whole_planes_of_one_channel(dtype: Any, planning: Planning) -> None:
    """Planes follow each other in the steps of the images, whatever these are."""
    plans = planning.recording()
    for images, apart in ((1, 1), (3, 1), (3, 2)):
        grad, room = gradient((images * apart, 1, 1, 1), dtype), np.full((images * apart + 1, 1, 6, 7), 77, dtype)
        out = room[: images * apart : apart]
        poolgrad.avg_pool2d_backward(grad[::apart], out.shape, (6, 7), out=out)
        assert is_global(plans[-1])
        quotients = (grad[::apart].astype(np.float64 if dtype == np.float64 else np.float32) / 42).astype(dtype)
        assert np.array_equal(out, np.broadcast_to(quotients, out.shape))
        out[:] = 77
        assert (room == 77).all()


def test_long_windows_of_pixels_keep_their_sums(planning: Planning) -> None:
    """Sums of fours are made column by column; layouts must not change them."""
    plans = planning.recording()
    grad = gradient((1, 8, 3, 40))
    expected = poolgrad.avg_pool2d_backward(grad, (1, 8, 3, 70), (1, 31), 1)
    got = poolgrad.avg_pool2d_backward(
        channels_last(grad), channels_last(np.zeros((1, 8, 3, 70), np.float32)), (1, 31), 1
    )
    assert plans[-1].kernel == "average_rows"
    assert np.array_equal(got, expected)


def described(value: Any) -> Any:
    if not isinstance(value, T):
        return value
    dtype = DTYPES[value.dtype]
    return Tensor(dtype, value.shape, contiguous_strides(value.shape, dtype.itemsize), value.format)


def test_scratch_of_long_rows_is_bounded() -> None:
    """Rows so long that each kernel for the usual windows just takes them, or just not any more."""
    reached = set()
    poolgrad.set_num_threads(64)
    try:
        for width, (kernel, stride, pad), even in itertools.product(
            range(2**10, 2**18, 6 * 2**9), [(3, 1, 1), (3, 2, 1), (2, 2, 0), (5, 3, 2)], (False, True)
        ):
            tensors = {
                "gradOutput": T((1, 1, *((n + 2 * pad - kernel) // stride + 1 for n in (64, width))), "float32"),
                "self": T((1, 1, 64, width), "float32"),
                "gradInput": T((1, 1, 64, width), "float32"),
            }
            numbers = {"kernelSize": (kernel,), "stride": (stride,), "padding": (pad,), "countIncludePad": even}
            numbers["cubeMathType"] = 0
            values = dict(AVG.legal) | tensors | numbers
            made = prepare(
                REGISTRY[AVG.name],
                ANY,
                {name: described(value) for name, value in values.items()},
                poolgrad.get_num_threads(),
            )
            assert made.scratch_bytes <= 64_000_000, (width, kernel, stride, made.kernel)
            reached.add(FEW_WINDOWS if are_few(made) else made.kernel)
    finally:
        poolgrad.set_num_threads(2)
    assert reached >= {"average_rows", FEW_WINDOWS}


def test_scratch_is_bounded_for_any_plan() -> None:
    """Planning touches no memory, so absurd shapes show the bound: 64 MB for any number of threads."""
    for threads, dtype in itertools.product((1, 2, 64), ("float32", "float64")):
        poolgrad.set_num_threads(threads)
        try:
            for size, kernel, stride in itertools.product((2**10, 2**20, 2**28), (2, 31, 4096, 2**19), (1, 2, 1000)):
                out = (size - kernel) // stride + 1
                if out < 1:
                    continue
                tensors = {
                    "gradOutput": T((1, 1, out, out), dtype),
                    "self": T((1, 1, size, size), dtype),
                    "gradInput": T((1, 1, size, size), dtype),
                }
                values = dict(AVG.legal) | tensors | {"kernelSize": (kernel,), "stride": (stride,)}
                made = prepare(
                    REGISTRY[AVG.name],
                    ANY,
                    {name: described(value) for name, value in values.items()},
                    poolgrad.get_num_threads(),
                )
                assert made.scratch_bytes <= 64_000_000, (threads, size, kernel, stride)
        finally:
            poolgrad.set_num_threads(2)
