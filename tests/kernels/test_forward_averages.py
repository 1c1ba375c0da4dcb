"""Averages, bit for bit: sums in the contract's order, whatever the windows, types, layouts, threads and limits."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernels.test_paths import Use
from oracle import DTYPES, FLOAT32, FLOAT64, LAYOUTS, Guarded, assert_same_bits
from planning import Planning

import poolgrad
from poolgrad.contract.engine import Call
from poolgrad.contract.parameters import OUTPUT_SIZE, POOLED
from poolgrad.contract.pooling import adaptive_windows
from poolgrad.operators.avg_pool2d import OPERATOR, OUT
from poolgrad.plans import forward
from poolgrad.run.calls import call, forget_calls
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

# The same over D, H and W, and with adaptive windows, without a contract: for the kernel they are all alike.
VOLUMES = dataclasses.replace(OPERATOR, name="AvgPool3d", axes="DHW", rows=(), default_format="ND")
ADAPTIVE = dataclasses.replace(
    OPERATOR,
    name="AdaptiveAvgPool",
    rows=(),
    parameters=(POOLED, OUTPUT_SIZE, OUT),
    windows=adaptive_windows,
    rounding=lambda call: "kept",
)
ADAPTIVE_VOLUMES = dataclasses.replace(ADAPTIVE, name="AdaptiveAvgPool3d", axes="DHW", default_format="ND")


class Fixed(NamedTuple):
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: tuple[int, ...]
    ceil: bool = False
    count_pad: bool = True
    divisor: int = 0
    mode: int = 0

    def windows(self) -> list[list[reference.Window]]:
        along = zip(self.sizes, self.kernel, self.stride, self.pad, strict=True)
        return [reference.fixed_windows(*axis, self.ceil) for axis in along]

    def divides_by(self, windows: list[reference.Window]) -> int:
        return self.divisor or math.prod(w.padded if self.count_pad else w.stop - w.start for w in windows)

    def pool(self, x: Array, out: Array | None) -> Any:
        operator = OPERATOR if len(self.sizes) == 2 else VOLUMES
        numbers = (self.kernel, self.stride, self.pad, self.ceil, self.count_pad, self.divisor, self.mode)
        return call(operator, (x,), numbers, None, out)


class Adaptive(NamedTuple):
    sizes: tuple[int, ...]
    out: tuple[int, ...]

    def windows(self) -> list[list[reference.Window]]:
        return [reference.adaptive_windows(*axis) for axis in zip(self.sizes, self.out, strict=True)]

    def divides_by(self, windows: list[reference.Window]) -> int:
        return math.prod(w.stop - w.start for w in windows)

    def pool(self, x: Array, out: Array | None) -> Any:
        return call(ADAPTIVE if len(self.sizes) == 2 else ADAPTIVE_VOLUMES, (x,), (self.out,), None, out)


Case = Fixed | Adaptive
PLANES: list[Case] = [
    Fixed((8, 10), (2, 2), (2, 2), (0, 0)),
    Fixed((9, 21), (3, 3), (2, 2), (1, 1)),
    Fixed((9, 40), (3, 3), (1, 1), (1, 1)),
    Fixed((9, 40), (3, 3), (1, 1), (1, 1), count_pad=False),
    Fixed((7, 7), (3, 3), (1, 1), (1, 1), divisor=-5),
    Fixed((5, 1), (3, 1), (1, 1), (1, 0)),
    Fixed((1, 5), (1, 2), (1, 3), (0, 1), ceil=True),
    Fixed((12, 30), (2, 4), (3, 5), (0, 0), ceil=True, divisor=2**24 + 1),
    Fixed((11, 30), (3, 4), (3, 3), (1, 2), ceil=True),
    Fixed((11, 30), (3, 4), (3, 3), (1, 2), ceil=True, count_pad=False),
    Fixed((40, 17), (40, 17), (1, 1), (0, 0)),
    Fixed((19, 5), (21, 7), (3, 3), (1, 1), count_pad=False),
    Fixed((3, 9), (3, 9), (1, 1), (0, 0), divisor=2**24 + 1),
    Fixed((50, 8), (35, 3), (1, 2), (17, 1)),
    Fixed((5, 70), (1, 40), (1, 1), (0, 20)),
    Fixed((9, 9), (2, 2), (3, 3), (1, 1), ceil=True),
    Fixed((6, 75), (2, 2), (2, 2), (0, 0)),
    Fixed((6, 75), (3, 3), (3, 3), (0, 0)),
    Fixed((7, 130), (3, 3), (2, 2), (1, 1)),
    Fixed((6, 41), (5, 5), (4, 4), (2, 2), ceil=True),
    Adaptive((7, 9), (3, 4)),
    Fixed((7, 131), (3, 3), (2, 2), (1, 1)),
    Fixed((7, 70), (3, 3), (2, 2), (0, 0)),
    Fixed((7, 71), (3, 3), (2, 2), (0, 0)),
    Fixed((5, 33), (2, 2), (2, 2), (0, 0), ceil=True),
    Fixed((5, 16), (3, 3), (1, 1), (1, 1)),
    Fixed((5, 31), (3, 3), (2, 2), (1, 1)),
    Adaptive((3, 4), (5, 9)),
    Adaptive((13, 30), (1, 1)),
    Adaptive((12, 64), (6, 16)),
    Adaptive((5, 70), (3, 33)),
    Fixed((8, 8), (8, 8), (1, 1), (0, 0)),
    Fixed((2, 2), (2, 2), (2, 2), (0, 0)),
    Fixed((1, 3), (1, 3), (1, 1), (0, 0)),
    Fixed((37, 1), (37, 1), (1, 1), (0, 0)),
    Fixed((5, 18), (2, 2), (2, 2), (0, 0)),
    Fixed((7, 40), (3, 3), (2, 2), (0, 0), ceil=True),
    Fixed((5, 33), (3, 3), (2, 2), (1, 1), count_pad=False),
    Fixed((4, 26), (3, 3), (1, 1), (0, 0)),
    Fixed((1, 9), (3, 3), (1, 1), (1, 1), count_pad=False),
]
DEEP: list[Case] = [
    Fixed((4, 6, 8), (2, 2, 2), (2, 2, 2), (0, 0, 0)),
    Fixed((5, 7, 9), (3, 3, 3), (2, 2, 2), (1, 1, 1), ceil=True, count_pad=False),
    Fixed((5, 7, 18), (3, 3, 3), (1, 1, 1), (1, 1, 1)),
    Fixed((4, 9, 5), (4, 9, 5), (1, 1, 1), (0, 0, 0)),
    Fixed((5, 2, 19), (5, 2, 19), (1, 1, 1), (0, 0, 0)),
    Adaptive((3, 2, 2), (1, 1, 1)),
    Fixed((3, 5, 40), (2, 3, 3), (1, 1, 1), (1, 1, 1), divisor=7),
    Fixed((4, 5, 19), (2, 2, 2), (2, 2, 2), (0, 0, 0)),
    Fixed((3, 5, 30), (1, 3, 3), (1, 2, 2), (0, 1, 1), count_pad=False),
    Fixed((5, 6, 21), (3, 3, 3), (2, 2, 2), (1, 1, 1), count_pad=False),
    Adaptive((5, 7, 10), (2, 3, 4)),
    Adaptive((2, 3, 3), (3, 2, 5)),
]
# Eight planes at a time: chunks, tiles and results of a vector or two; rows that are made anew each time.
LANES_ONLY: Use = {"ways": ["lanes"]}
# Along rows: any width and any depth, strides and tiles; streamed where that is possible.
ALONG_ROWS: Use = {"ways": ["along rows"]}
LIMITS: list[Use] = [
    {},
    {"last_cache": 0},
    {"ways": ["usual windows"]},
    LANES_ONLY,
    LANES_ONLY | {"chunk": 9, "tile": 3, "results": 1},
    LANES_ONLY | {"rows_kept": 1},
    LANES_ONLY | {"chunk": 16, "rows_kept": 0},
    ALONG_ROWS,
    ALONG_ROWS | {"tile": 1},
    ALONG_ROWS | {"tile": 2, "last_cache": 0, "rows_kept": 0},
    ALONG_ROWS | {"last_cache": 0},
]


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    """Of mixed signs and sizes, so that every order of additions gives other bits; what is no number among them."""
    random = np.random.default_rng(math.prod(shape))
    values = random.standard_normal(shape) * 2.0 ** random.integers(-6, 7, shape)
    values[..., : shape[-1] // 3] *= random.random((*shape[:-1], 1)) < 0.8  # zeros of both signs
    for strange in (np.nan, -np.inf, np.inf):
        values[random.random(shape) < 0.003] = strange
    return values.astype(dtype)


@np.errstate(invalid="ignore", over="ignore")
def expected(x: Array, case: Case) -> Array:
    """Along W, then H, then D, one number after the other."""
    compute = np.float64 if x.dtype == FLOAT64 else np.float32
    total, axes = x.astype(compute), case.windows()
    for axis, windows in zip(range(-1, -len(axes) - 1, -1), reversed(axes), strict=True):
        pooled = np.zeros((*total.shape[:axis], len(windows), *total.shape[axis:][1:]), compute)
        for o, window in enumerate(windows):
            at = pooled.swapaxes(axis, 0)[o]
            for i in range(window.start, window.stop):
                at += total.swapaxes(axis, 0)[i]
        total = pooled
    divisors = np.empty([len(windows) for windows in axes])
    for place in np.ndindex(divisors.shape):
        divisors[place] = case.divides_by([windows[o] for windows, o in zip(axes, place, strict=True)])
    if np.abs(divisors).max() > 2**24:
        return (total.astype(np.float64) / divisors).astype(compute).astype(x.dtype)
    return (total / divisors.astype(compute)).astype(x.dtype)


def check(case: Case, lead: tuple[int, ...], dtype: Any, of_x: str = "plain", of_out: str = "plain") -> None:
    x = numbers((*lead, *case.sizes), dtype)
    wanted = expected(x, case)
    out = Guarded(wanted.shape, dtype, of_out)
    case.pool(Guarded.holding(x, of_x).array, out.array)
    assert_same_bits(np.ascontiguousarray(out.array), wanted)
    out.assert_untouched()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = poolgrad.get_num_threads()
    yield
    poolgrad.set_num_threads(before)


@pytest.mark.parametrize("case", PLANES + DEEP, ids=str)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_windows_and_limits(case: Case, limits: Use, planning: Planning) -> None:
    planning.use(time_of_part=1, **limits)
    for number in (1, 3):
        poolgrad.set_num_threads(number)
        forget_calls()
        for lead in ((2, 5), (1, 8), (1, 1)):
            check(case, lead, FLOAT32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", [PLANES[1], PLANES[2], PLANES[7], PLANES[18], *DEEP[1:3]], ids=str)
@pytest.mark.parametrize("limits", [{}, ALONG_ROWS], ids=["usual", "along rows"])
def test_types_and_layouts(case: Case, dtype: Any, limits: Use, planning: Planning) -> None:
    planning.use(**limits)
    planning.limit(long_pixel=0, second_cache=planning.limits.second_cache)
    for channels in (3, 9, 16):
        for layout in LAYOUTS:
            for layouts in ((layout, layout), (layout, "plain"), ("plain", layout)):
                check(case, (2, channels), dtype, *layouts)


WHOLE = [(1, 4), (4, 1), (7, 1), (9, 2), (4, 3), (5, 3), (3, 4), (1, 5), (7, 6), (7, 7), (3, 8), (2, 3, 1), (3, 3, 3)]
WHOLE += [(5, 5, 8), (2, 7, 7), (4, 2, 5), (3, 1, 6), (1, 9, 4)]


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("sizes", WHOLE, ids=str)
@pytest.mark.parametrize("way", ["whole planes in lanes", "whole planes"])
def test_small_planes_as_wholes(way: str, sizes: tuple[int, ...], dtype: Any, planning: Planning) -> None:
    """Rows that fill quads and do not, images of more and fewer than eight planes, which follow each other or do not,
    parts that end anywhere, results that lie anywhere."""
    planning.use(ways=[way], time_of_part=1, results=24, rows_of_planes=40)
    case = Adaptive(sizes, (1,) * len(sizes))
    taken = set()
    for lead, number, apart in itertools.product(
        ((2, 5), (1, 8), (3, 9), (20, 1), (9, 2), (1, 61), (4, 12)), (1, 3), (1, 2)
    ):
        poolgrad.set_num_threads(number)
        forget_calls()
        x = Guarded.holding(numbers((lead[0] * apart, *lead[1:], *sizes), dtype)).array[::apart]
        for layout in ("plain", "cropped", "channels last"):
            out = Guarded((*lead, *case.out), dtype, layout)
            case.pool(x, out.array)
            assert_same_bits(np.ascontiguousarray(out.array), expected(x, case))
            out.assert_untouched()
            taken.add(planning.plans[-1].choice.taken.name)
    assert way in taken


def test_rows_of_images_are_planes_in_turn(planning: Planning) -> None:
    """Images of one channel are worked on eight at a time, unless there is something between them."""
    plans = planning.recording()
    x = np.ones((40, 1, 18, 7), np.float32)
    for given, kernel in ((x, "pool_average_planes_in_lanes_7"), (x[::2], "pool_average_whole_planes_7")):
        poolgrad.adaptive_avg_pool2d(given, 1, out=np.empty((len(given), 1, 1, 1), np.float32))
        assert plans[-1].kernel == kernel


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", PLANES + DEEP, ids=str)
def test_rows_of_channels(case: Case, dtype: Any, planning: Planning) -> None:
    """Sums wait in scratch; channels that are whole fours of vectors, whole vectors, and others."""
    planning.use(ways=["rows of channels"], time_of_part=1)
    for number, channels in ((1, 32), (3, 40), (2, 8), (1, 9), (2, 47)):
        poolgrad.set_num_threads(number)
        for layout in ("channels last", "channels last apart"):
            check(case, (2, channels), dtype, layout, layout)
    large = dtype != FLOAT64 and getattr(case, "divisor", 0) > 2**24
    empty = not all(window for axis in case.windows() for window in axis)
    assert (planning.plans[-1].kernel == "pool_average_pixel_rows") == (not large and not empty)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", [PLANES[10], PLANES[20], DEEP[3]], ids=str)
def test_rows_of_channels_in_pieces(case: Case, dtype: Any, planning: Planning) -> None:
    """Where windows are fewer than threads these share their channels, also such that are no whole vectors."""
    planning.use(ways=["rows of channels"], time_of_part=1)
    poolgrad.set_num_threads(5)
    rows = math.prod(map(len, case.windows()[:-1]))
    for channels, most in ((192, 3), (203, 3), (321, 5)):
        for layout in ("channels last", "channels last apart"):
            check(case, (1, channels), dtype, layout, layout)
            assert planning.plans[-1].record["pieces"][0] == min(most, -(-5 // rows))


@pytest.mark.parametrize("limits", [{}, LANES_ONLY, ALONG_ROWS], ids=["usual", "lanes", "along rows"])
@pytest.mark.parametrize("case", PLANES[:4], ids=str)
@pytest.mark.parametrize("layout", ["plain", "channels last", "every second"])
def test_self_is_rounded_first(case: Any, layout: str, limits: Use, planning: Planning) -> None:
    planning.use(**limits)
    x = numbers((2, 9, *case.sizes), FLOAT32)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = expected(x.astype(np.float16).astype(np.float32), case)
    assert_same_bits(case._replace(mode=2).pool(Guarded.holding(x, layout).array, None), wanted)


FIVE = {"kernel_size": 5, "padding": 2}


@pytest.mark.parametrize(
    ("shape", "layout", "options", "kernel"),
    [
        ((2, 8, 7, 64), "plain", FIVE, "pool_average"),
        ((2, 8, 7, 300), "plain", FIVE, "pool_average_along_rows"),
        ((1, 7, 7, 200), "plain", FIVE, "pool_average_along_rows"),
        ((1, 1, 7, 17), "plain", FIVE, "pool_average_along_rows"),
        ((1, 1, 7, 24), "channels last", FIVE, "pool_average_along_rows"),
        ((1, 2, 7, 24), "channels last", {}, "pool_average_pixels"),
        ((1, 4, 7, 40), "channels last", {"cube_math_type": 2}, "pool_average_along_rows"),
        ((1, 8, 7, 48), "channels last", {}, "pool_average_pixels"),
        ((1, 64, 7, 48), "channels last", {}, "pool_average_pixels"),
        ((1, 43, 6, 48), "channels last", {"kernel_size": 6, "stride": 6, "padding": 0}, "pool_average_pixel_rows"),
        ((1, 42, 6, 48), "channels last", {"kernel_size": 6, "stride": 6, "padding": 0}, "pool_average_pixels"),
        ((1, 64, 6, 50), "channels last", {"kernel_size": 5, "stride": 5, "padding": 0}, "pool_average_pixels"),
        (
            (1, 9, 4, 72),
            "channels last",
            {"kernel_size": (1, 29), "stride": (1, 29), "padding": 0},
            "pool_average_pixel_rows",
        ),
        ((1, 8, 7, 48), "channels last", {"cube_math_type": 2}, "pool_average_along_rows"),
        ((1, 8, 7, 48), "channels last", {"divisor_override": 2**25}, "pool_average"),
        ((2, 8, 7, 48), "plain", {"divisor_override": 2**25}, "pool_average"),
        ((2, 8, 7, 48), "plain", {"stride": 3}, "pool_average"),
        ((2, 8, 7, 8), "plain", {}, "pool_average"),
        ((2, 8, 7, 9), "plain", {}, "pool_average"),
        ((2, 8, 7, 10), "plain", {}, "pool_average_k3s1"),
        ((1, 7, 7, 9), "plain", {}, "pool_average_k3s1"),
        ((2, 8, 7, 18), "plain", {"kernel_size": 2, "stride": 2, "padding": 0}, "pool_average_k2s2"),
        ((2, 8, 7, 18), "plain", {"kernel_size": 2, "stride": 2, "padding": 1}, "pool_average"),
        ((2, 8, 7, 20), "plain", {"stride": 2, "padding": 0, "ceil_mode": True}, "pool_average_k3s2"),
        ((1, 1, 3, 2**14), "plain", {}, "pool_average_k3s1"),
        ((1, 1, 3, 2**14 + 1), "plain", {}, "pool_average_pixels"),
        ((1, 1, 3, 2**14 + 1), "plain", FIVE, "pool_average_pixels"),
        ((2, 4, 7, 7), "plain", {"kernel_size": 7, "padding": 0}, "pool_average_whole_planes_7"),
        ((2, 4, 7, 7), "plain", {"kernel_size": 9}, "pool_average_whole_planes_7"),
        ((2, 4, 7, 7), "plain", {"kernel_size": 8}, "pool_average"),
        ((2, 4, 7, 7), "every second", {"kernel_size": 7, "padding": 0}, "pool_average"),
        ((1, 7, 8, 8), "plain", {"kernel_size": 8, "padding": 0}, "pool_average_whole_planes_8"),
        ((1, 1, 2, 2), "plain", {"kernel_size": 2, "padding": 0}, "pool_average_whole_planes_0"),
        ((1, 1, 2, 64), "plain", {"kernel_size": (2, 64), "padding": 0}, "pool_average_whole_planes_64"),
        ((1, 1, 2, 65), "plain", {"kernel_size": (2, 65), "padding": 0}, "pool_average_whole_planes_0"),
    ],
)
def test_which_kernel(shape: Any, layout: str, options: Any, kernel: str, planning: Planning) -> None:
    made = planning.recording()
    windows = {"kernel_size": 3, "stride": 1, "padding": 1} | options
    poolgrad.avg_pool2d(Guarded(shape, FLOAT32, layout).array, **windows)
    assert [plan.kernel for plan in made] == [kernel]


def test_sums_begin_at_plus_zero() -> None:
    for sizes in ((3, 3), (3, 40)):
        for channels in (1, 9):
            x = np.full((1, channels, *sizes), -0.0, np.float32)
            for layout in ("plain", "channels last"):
                result = poolgrad.avg_pool2d(Guarded.holding(x, layout).array, 3, 1, 1)
                assert not np.signbit(result).any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", PLANES + DEEP, ids=str)
def test_channels_side_by_side(case: Case, dtype: Any) -> None:
    """Blocks of four vectors, single ones, a last one that is laid back, one that is not full; pixels that follow each
    other, and not."""
    for channels in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 45):
        check(case, (2, channels), dtype, "channels last", "channels last")
    for channels in (3, 7, 45):
        check(case, (1, channels), dtype, "channels last", "channels last apart")
        check(case, (1, channels), dtype, "channels last apart", "channels last")


@pytest.mark.parametrize("layout", ["plain", "channels last"])
@pytest.mark.parametrize("case", PLANES + DEEP, ids=str)
def test_a_nan_stays_in_its_windows(case: Case, layout: str) -> None:
    x = np.ones((1, 9, *case.sizes), np.float32)
    place = (0, 4, *(size // 2 for size in case.sizes))
    x[place] = np.nan
    found = case.pool(Guarded.holding(x, layout).array, None)
    holds = [[w.start <= i < w.stop for w in axis] for axis, i in zip(case.windows(), place[2:], strict=True)]
    wanted = np.zeros(found.shape, bool)
    wanted[0, 4] = functools.reduce(np.logical_and.outer, holds)
    assert np.array_equal(np.isnan(found), wanted)


@pytest.mark.parametrize("threads", [1, 64])
@pytest.mark.parametrize(
    "case",
    [
        Fixed((3001, 3000), (31, 3), (1, 1), (15, 1)),
        Fixed((200, 200, 300), (31, 31, 31), (1, 1, 1), (15, 15, 15)),
        Fixed((10, 2**20), (3, 3), (1, 1), (1, 1)),
        Adaptive((3000, 3000), (7, 7)),
    ],
    ids=str,
)
def test_scratch_is_bounded(case: Any, threads: int) -> None:
    operator = VOLUMES if len(case.sizes) == 3 else OPERATOR if isinstance(case, Fixed) else ADAPTIVE
    x = np.broadcast_to(np.float32(0), (8, 8, *case.sizes))
    made: list[Any] = []

    def planned(call: Call, *_: object) -> Any:
        made.append(forward.plan_average(call, threads))
        raise InterruptedError  # enough is known

    given = case[1:] if isinstance(case, Fixed) else (case.out,)
    with pytest.raises(InterruptedError):
        call(dataclasses.replace(operator, name=f"Planned{threads}", planner=planned), (x,), tuple(given), None, None)
    assert made[0].scratch_bytes <= 64 << 20
    assert made[0].parts == threads or threads == 64
