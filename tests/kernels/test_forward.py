"""Maxima and their places: the reference's, bit for bit, whatever the windows, types, layouts, threads and limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernels.test_paths import Use
from oracle import DTYPES, INDEX_DTYPES, LAYOUTS, Guarded, assert_same_bits
from planning import Planning

import poolgrad
from poolgrad.operators import adaptive_max_pool2d, adaptive_max_pool3d, max_pool2d_with_indices, max_pool3d_with_argmax
from poolgrad.run.calls import call, forget_calls
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

# By the number of pooled axes.
FIXED = {2: max_pool2d_with_indices.OPERATOR, 3: max_pool3d_with_argmax.OPERATOR}
ADAPTIVE = {2: adaptive_max_pool2d.OPERATOR, 3: adaptive_max_pool3d.OPERATOR}

# Sizes, kernel, stride, padding, dilation, ceil mode.
PLANES = [
    ((8, 10), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((9, 21), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((9, 40), (3, 3), (1, 1), (1, 1), (1, 1), False),
    ((7, 7), (3, 3), (1, 1), (1, 1), (1, 1), False),
    ((5, 1), (3, 1), (1, 1), (1, 0), (1, 1), False),
    ((1, 5), (1, 2), (1, 3), (0, 1), (1, 1), True),
    ((11, 9), (3, 2), (2, 1), (1, 1), (2, 3), False),
    ((12, 30), (2, 4), (3, 5), (0, 0), (1, 4), True),
    ((40, 17), (40, 17), (1, 1), (0, 0), (1, 1), False),
    ((50, 8), (35, 3), (1, 2), (17, 1), (1, 1), False),
    ((9, 9), (2, 2), (3, 3), (1, 1), (1, 1), True),
    ((8, 8), (8, 8), (1, 1), (0, 0), (1, 1), False),
    ((3, 2), (3, 2), (1, 1), (0, 0), (1, 1), False),
    ((5, 18), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((6, 37), (2, 2), (2, 2), (0, 0), (1, 1), True),
    ((7, 67), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((4, 17), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((5, 50), (3, 3), (2, 2), (1, 1), (1, 1), True),
    ((6, 19), (3, 3), (2, 2), (0, 0), (1, 1), False),
    ((7, 40), (3, 3), (2, 2), (0, 0), (1, 1), True),
    ((1, 9), (3, 3), (1, 1), (1, 1), (1, 1), False),
    ((4, 26), (3, 3), (1, 1), (0, 0), (1, 1), False),
    ((5, 20), (3, 3), (1, 1), (1, 0), (1, 1), False),
]
DEEP = [
    ((4, 6, 8), (2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1), False),
    ((5, 7, 9), (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), True),
    ((5, 7, 18), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), False),
    ((7, 9, 11), (2, 3, 2), (1, 2, 3), (1, 1, 0), (2, 2, 3), False),
    ((4, 9, 5), (4, 9, 5), (1, 1, 1), (0, 0, 0), (1, 1, 1), False),
    ((5, 2, 19), (5, 2, 19), (1, 1, 1), (0, 0, 0), (1, 1, 1), False),
    ((4, 5, 19), (2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1), False),
    ((3, 5, 30), (1, 3, 3), (1, 2, 2), (0, 1, 1), (1, 1, 1), False),
    ((5, 6, 21), (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), False),
    ((3, 4, 27), (2, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), False),
]
# One of each of the usual windows.
USUAL = [PLANES[14], PLANES[16], PLANES[20]]
# Sizes, and how many windows there are.
SPREAD = [
    ((8, 10), (4, 5)),
    ((9, 21), (4, 6)),
    ((7, 7), (1, 1)),
    ((5, 9), (7, 20)),
    ((40, 33), (3, 2)),
    ((4, 6, 8), (2, 3, 4)),
    ((5, 7, 9), (3, 9, 4)),
    ((4, 9, 5), (1, 1, 1)),
]
# Past the caches. Eight planes at a time: chunks, tiles and results of a vector or two; rows that are made anew each
# time. Eight windows at a time, and tiles of as many.
OF_MAXIMA: list[Use] = [
    {},
    {"last_cache": 0},
    {"ways": ["usual windows", "channels last"]},
    {"ways": ["lanes"]},
    {"ways": ["lanes"], "chunk": 9, "tile": 3, "results": 1},
    {"ways": ["lanes"], "rows_kept": 1},
    {"ways": ["lanes"], "chunk": 16, "rows_kept": 0},
    {"ways": ["along rows"]},
    {"ways": ["along rows"], "tile": 1, "rows_kept": 0, "last_cache": 0},
]
LARGE_WINDOWS: Use = {"ways": ["large windows"]}
OF_PLACES: list[Use] = [*OF_MAXIMA, LARGE_WINDOWS, {"largest_plane": 3}]  # the last of 64 bits


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    """Few different ones, so that many are equal; NaN, infinities and zeros of both signs among them."""
    random = np.random.default_rng(math.prod(shape))
    values = random.integers(-2, 3, shape).astype(np.float64)
    for strange in (np.nan, -np.inf, np.inf, -0.0):
        values[random.random(shape) < 0.04] = strange
    values[..., : shape[-1] // 3] = -np.inf
    return values.astype(dtype)


def expected(x: Array, case: Any) -> tuple[Array, Array]:
    if len(case) == 2:
        return reference.adaptive_max_pool2d(x, case[1])
    return reference.max_pool2d_with_indices(x, *case[1:])


def pool(x: Array, case: Any, out: tuple[Array, Array]) -> Any:
    operators = ADAPTIVE if len(case) == 2 else FIXED
    return call(operators[len(case[0])], (x,), case[1:], None, out)


def check(case: Any, lead: tuple[int, ...], dtype: Any, index: Any, layouts: Any) -> None:
    x = numbers((*lead, *case[0]), dtype)
    values, places = expected(x, case)
    of_x, of_values, of_places = layouts
    out = Guarded(values.shape, dtype, of_values), Guarded(places.shape, index, of_places)
    pool(Guarded.holding(x, of_x).array, case, (out[0].array, out[1].array))
    assert np.array_equal(out[1].array, places)
    assert_same_bits(np.ascontiguousarray(out[0].array), values)
    for result in out:
        result.assert_untouched()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = poolgrad.get_num_threads()
    yield
    poolgrad.set_num_threads(before)


@pytest.mark.parametrize("case", PLANES + DEEP + SPREAD, ids=str)
@pytest.mark.parametrize("limits", OF_PLACES, ids=str)
def test_windows_and_limits(case: Any, limits: Use, planning: Planning) -> None:
    planning.use(time_of_part=1, **limits)
    for number in (1, 3):
        poolgrad.set_num_threads(number)
        forget_calls()
        for lead in ((2, 5), (1, 8)):
            check(case, lead, np.dtype(np.float32), INDEX_DTYPES[1], ("plain", "plain", "plain"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("case", "index"),
    [
        (case, index)
        for case in (PLANES[1], PLANES[6], DEEP[1], DEEP[-1], SPREAD[1], SPREAD[6], *USUAL)
        for index in INDEX_DTYPES
        if case != SPREAD[1] or index == INDEX_DTYPES[1]  # which has indices of 64 bits only
    ],
    ids=str,
)
def test_types_and_layouts(case: Any, index: Any, dtype: Any) -> None:
    for channels in (3, 9, 16, 45):  # the last one: four vectors of channels at once, and single ones
        for layout in LAYOUTS:
            for layouts in (
                (layout,) * 3,
                (layout, "plain", "plain"),
                ("plain", layout, "plain"),
                ("plain", "plain", layout),
            ):
                check(case, (2, channels), dtype, index, layouts)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", PLANES + DEEP + SPREAD, ids=str)
def test_channels_side_by_side(case: Any, dtype: Any) -> None:
    """Vectors of channels that are full, that are laid back and that are not full."""
    index = np.dtype(np.int64) if len(case) == 2 and len(case[0]) == 2 else INDEX_DTYPES[dtype.itemsize % 4 // 2]
    for channels in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 37):
        check(case, (2, channels), dtype, index, ("channels last", "channels last", "channels last"))
    check(case, (2, 5), dtype, index, ("channels last apart", "channels last", "channels last apart"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("index", INDEX_DTYPES, ids=str)
def test_results_past_the_caches(index: Any, dtype: Any, planning: Planning) -> None:
    """Pixels that fill cache lines, where vectors can be streamed to and where not; others are not streamed."""
    planning.use(ways=["channels last"], last_cache=0)
    for case in (PLANES[0], PLANES[2], PLANES[6], DEEP[1], SPREAD[6]):
        for channels, layout in ((32, "channels last"), (64, "channels last"), (64, "channels last apart")):
            check(case, (2, channels), dtype, index, ("channels last", layout, layout))
            assert planning.plans[-1].record["streaming"] == (layout == "channels last")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("index", INDEX_DTYPES, ids=str)
def test_one_window_after_the_other(index: Any, dtype: Any, planning: Planning) -> None:
    """Rows shorter than a vector, as long, and longer; four of them together, and those that are left."""
    planning.use(**LARGE_WINDOWS)
    for kernel in ((1, 1), (3, 5), (4, 8), (9, 9), (11, 16), (5, 23)):
        case = ((13, 29), kernel, (2, 3), (kernel[0] // 2, kernel[1] // 2), (1, 1), False)
        for layouts in (("plain", "plain", "plain"), ("cropped", "channels last", "transposed")):
            check(case, (2, 3), dtype, index, layouts)
            assert planning.plans[-1].kernel == "pool_max_large_windows"


@pytest.mark.parametrize("limits", [{}, LARGE_WINDOWS], ids=str)
@pytest.mark.parametrize("lanes", [(3, 3), (6, 1), (1, 6), (2, 29)], ids=str)
def test_equal_maxima_and_several_nan_anywhere(lanes: Any, limits: Use, planning: Planning) -> None:
    """In one lane of a vector and in two, in either order: the first of equal numbers wins, and the last NaN."""
    planning.use(**limits)
    for value in (5.0, np.nan):
        x = np.zeros((1, 1, 6, 13), np.float32)
        x.ravel()[list(lanes)] = value
        found, indices = poolgrad.max_pool2d_with_indices(x, (6, 13))
        assert_same_bits(found.ravel(), np.array([value], np.float32))
        assert indices.item() == (max(lanes) if np.isnan(value) else min(lanes))


def test_all_of_a_window_is_one_value() -> None:
    """The first element is the maximum, also where all of it is -Inf; of NaN it is the last."""
    for value, place in ((1.0, 0), (-np.inf, 0), (np.nan, 8)):
        x = np.full((1, 1, 3, 3), value, np.float32)
        found, indices = poolgrad.max_pool2d_with_indices(x, 3)
        assert_same_bits(found.ravel(), x[0, 0, 0, :1])
        assert indices.item() == place


def test_scratch_is_bounded(planning: Planning) -> None:
    """Windows whose rows lie far apart, on rows that are long."""
    case = ((1, 3000), (31, 3), (1, 1), (15, 1), (100, 1), False)
    x = np.zeros((1, 1, 3001, 3000), np.float32)
    poolgrad.max_pool2d_with_indices(x, case[1], 1, case[3], case[4])
    made = planning.plans
    assert made
    assert made[0].scratch_bytes <= 64 << 20
    assert made[0].part_bytes <= 2 << 20
