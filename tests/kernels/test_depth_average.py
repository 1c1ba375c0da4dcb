"""Gradients of averages over D, H and W: every way gives the bits of the plainest one, row by row, which is exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kernels.test_paths import ROWS, Use, can_be_few, channels_last
from oracle import DTYPES, HALVES, LAYOUTS, Guarded, assert_same_bits, gamma
from planning import Planning

import poolgrad
from poolgrad import avg_pool3d_backward
from poolgrad.base.windows import pooled_size
from poolgrad.kernels.record import FEW_WINDOWS, LAYERS_OF_FEW_WINDOWS, MOST_DIRECT_TERMS
from poolgrad.plans.average import LONGEST_BLOCK
from poolgrad.plans.plan import Plan
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
Three = tuple[int, int, int]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

FLOATS = [dtype for dtype in DTYPES if dtype not in HALVES]
FEW: Use = {"ways": ["few windows"]}
# Scratch for few rows of a layer at a time, and for all of them.
BANDS = [{"band_of_layers": 0, "rows_of_layers": 3}, {}]
# Layers of the result that are written while the last of their layers is made, and after it.
JOINED, APART = {"joined_from": 0}, {"joined_from": 1 << 30}

# Kernel, stride and padding along D: several windows hold a layer, one does, or none.
DEPTHS = [(3, 2, 1), (3, 1, 1), (2, 1, 0), (5, 1, 2), (8, 1, 4), (2, 2, 0), (1, 1, 0), (3, 3, 1), (1, 2, 0), (2, 3, 1)]


def gradient(shape: tuple[int, ...], kernel: Three, stride: Three, pad: Three, dtype: Any, ceil: bool = False) -> Array:
    """Of mixed signs, with zeros that are negative."""
    outs = [
        pooled_size(n, kernel=k, stride=s, pad=p, ceil_mode=ceil)
        for n, k, s, p in zip(shape[2:], kernel, stride, pad, strict=True)
    ]
    grad = np.random.default_rng(sum(outs)).standard_normal((*shape[:2], *outs)).astype(dtype)
    grad[:, -1] = -0.0
    return grad


def check(cases: list[Any], limits: Use, dtype: Any, reached: Callable[[Plan], bool], planning: Planning) -> None:
    """The same bits as row by row: as a whole and in parts, to results of several layouts, and nothing beyond."""
    planning.use(**ROWS)
    expected = [avg_pool3d_backward(*case) for case in cases]
    assert {made.kernel for made in planning.plans[-len(cases) :]} == {"average_rows"}
    threads = poolgrad.get_num_threads()
    try:
        for parts in (1, 5):
            poolgrad.set_num_threads(parts)
            planning.use(**limits | {"time_of_part": 1})
            plans = planning.recording()
            for case, answer in zip(cases, expected, strict=True):
                for layout in ("plain", "cropped"):
                    out = Guarded(answer.shape, dtype, layout)
                    avg_pool3d_backward(Guarded.holding(case[0], layout).array, *case[1:], out=out.array)
                    assert_same_bits(np.ascontiguousarray(out.array), answer)
                    out.assert_untouched()
            assert all(reached(made) for made in plans)
    finally:
        poolgrad.set_num_threads(threads)


def is_layered(made: Plan) -> bool:
    return made.kernel.startswith(LAYERS_OF_FEW_WINDOWS)


def overlaps(made: Plan) -> bool:
    """Whether several windows along D hold an element."""
    (kernel, *_), (stride, *_), (out, *_) = (made.record[0][name] for name in ("kernel", "stride", "out"))
    return bool(kernel > stride and out > 1)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("limits", [bands | more for bands in BANDS for more in (JOINED, APART)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_layers_in_one_pass(dtype: Any, limits: Use, streamed: bool, planning: Planning) -> None:
    """The usual windows: rows that fill no vectors, an odd number of rows and columns, any windows along D."""
    cases = []
    for (k, s, p), (depth, height), width, plane in itertools.product(
        DEPTHS, ((7, 6), (5, 9)), (16, 19), ((3, 1, 1), (3, 2, 1), (2, 2, 0))
    ):
        if depth + 2 * p < k or (plane[0] == 2 and (height % 2 or width % 2)):
            continue
        numbers = tuple(zip((k, s, p), plane, plane, strict=True))
        shape = (2, 2, depth, height, width)
        cases.append((gradient(shape, *numbers, dtype), shape, *numbers))
    more = {"last_cache": 0} if streamed else {}

    def reached(made: Plan) -> bool:
        if overlaps(made):
            return is_layered(made) and bool(made.record[0]["joined"]) == (limits["joined_from"] == 0)
        return made.kernel.startswith(FEW_WINDOWS)

    check(cases, FEW | limits | more, dtype, reached, planning)


# Kernel, stride and padding along W and H, up to three windows over an element.
WINDOWS = [
    (kernel, stride, pad)
    for stride in (1, 2, 3)
    for kernel in range(stride, 3 * stride + 1)
    for pad in {0, min(1, kernel // 2)}
]


# Layers are made by the kernels that make rows without depth, which have tests of their own, and alike for all types.
@pytest.mark.parametrize(
    ("window", "dtype"),
    [(window, dtype) for dtype in DTYPES for window in (WINDOWS[::4] if dtype == np.float32 else WINDOWS[2::9])],
)
def test_layers_of_few_windows(window: Three, dtype: Any, planning: Planning) -> None:
    """Both countings, ceil mode, a divisor of the caller's own."""
    kernel, stride, pad = window
    cases = []
    for (k, s, p), width, more in itertools.product(
        DEPTHS[:4], (8 * stride + 9, 8 * stride + 16), ((False, True, 0), (True, False, 0), (False, True, -7))
    ):
        shape = (2, 2, 9, 11, max(width, 16))
        numbers = ((k, kernel, kernel), (s, stride, stride), (p, pad, pad))
        cases.append((gradient(shape, *numbers, dtype, more[0]), shape, *numbers, *more))

    def reached(made: Plan) -> bool:
        return is_layered(made) == can_be_few(made) or not overlaps(made)

    for limits in BANDS:
        check(cases, FEW | limits, dtype, reached, planning)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("window", [(3, 2, 1), (3, 1, 1), (2, 2, 0), (4, 3, 1)], ids=str)
def test_every_layout_of_averages(window: Three, dtype: Any, planning: Planning) -> None:
    """Also where layers do not follow each other in the steps of rows, and where channels lie side by side."""
    numbers = tuple((number,) * 3 for number in window)
    shape = (2, 9, 5, 7, 18)
    grad = gradient(shape, *numbers, dtype)
    planning.use(**ROWS)
    expected = avg_pool3d_backward(grad, shape, *numbers)
    planning.use()
    for layout, of_grad in itertools.product(LAYOUTS, LAYOUTS):
        if layout == of_grad or "plain" in (layout, of_grad):
            out = Guarded(shape, dtype, layout)
            avg_pool3d_backward(Guarded.holding(grad, of_grad).array, shape, *numbers, out=out.array)
            assert_same_bits(np.ascontiguousarray(out.array), expected)
            out.assert_untouched()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("window", [(3, 2, 1), (3, 1, 1)], ids=str)
def test_sums_against_fractions(window: Three, dtype: Any, planning: Planning) -> None:
    """One division and at most ``additions`` additions to each term."""
    planning.use(**FEW)
    plans = planning.recording()
    kernel, stride, pad = window
    numbers, shape = tuple((number,) * 3 for number in window), (1, 1, 5, 4, 17)
    grad = gradient((1, 2, *shape[2:]), *numbers, dtype)[:, :1]
    got = avg_pool3d_backward(np.ascontiguousarray(grad), shape, *numbers)
    assert is_layered(plans[-1])
    unit = Fraction(1, 2 ** (53 if dtype == np.float64 else 24))
    runs = [
        [[o for o in range(out) if 0 <= i + pad - o * stride < kernel] for i in range(size)]
        for size, out in zip(shape[2:], grad.shape[2:], strict=True)
    ]
    for place in np.ndindex(shape[2:]):
        windows = [run[i] for run, i in zip(runs, place, strict=True)]
        terms = [Fraction(float(grad[0, 0][at])) / kernel**3 for at in itertools.product(*windows)]
        additions = sum(len(axis) - 1 for axis in windows)
        error = abs(Fraction(float(got[0, 0][place])) - sum(terms))
        assert error <= gamma(1 + additions, unit) * sum(abs(term) for term in terms)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_nan_stays_in_its_windows(value: float, planning: Planning) -> None:
    planning.use(**FEW)
    for at, window in itertools.product([(0, 0, 0), (2, 3, 9), (4, 6, 17)], [(3, 1, 1), (3, 2, 1)]):
        numbers, shape = tuple((number,) * 3 for number in window), (1, 1, 5, 7, 18)
        grad = gradient((1, 2, *shape[2:]), *numbers, np.float32)[:, :1].copy()
        at = tuple(min(i, n - 1) for i, n in zip(at, grad.shape[2:], strict=True))
        grad[0, 0][at] = value
        got = avg_pool3d_backward(grad, shape, *numbers)
        kernel, stride, pad = window
        held = tuple(slice(max(o * stride - pad, 0), o * stride - pad + kernel) for o in at)
        expected = np.zeros(shape[2:], bool)
        expected[held] = True
        assert np.array_equal(~np.isfinite(got[0, 0]), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_adaptive_windows_of_several_lengths_along_depth(dtype: Any, planning: Planning) -> None:
    """Two of them may hold a layer, or more where there are fewer layers than windows; of one length along H and W."""
    plans = planning.recording()
    for depth, windows in ((5, 3), (7, 4), (3, 8), (2, 9)):
        shape = (2, 3, depth, 6, 32)
        grad = np.random.default_rng(depth).standard_normal((2, 3, windows, 3, 16)).astype(dtype)
        planning.use(**ROWS)
        expected = poolgrad.adaptive_avg_pool3d_backward(grad, shape)
        planning.use(**FEW)
        assert_same_bits(poolgrad.adaptive_avg_pool3d_backward(grad, shape), expected)
        assert plans[-2].kernel == "average_rows"
        assert plans[-1].kernel.startswith(LAYERS_OF_FEW_WINDOWS)


@pytest.mark.parametrize("rows", [9, 30, 128, 129])
def test_windows_that_are_long_along_rows(rows: int, planning: Planning) -> None:
    """Each layer has blocks of its own, if those of all layers fit; in parts, and where no window holds a layer."""
    for (k, s, p), stride in itertools.product([(1, 1, 0), (2, 1, 0), (3, 1, 1), (2, 2, 1), (1, 2, 0)], (1, 3)):
        numbers, shape = ((k, rows, 2), (s, stride, 1), (p, 1, 0)), (1, 2, 4, rows + 21, 19)
        grad = gradient(shape, *numbers, np.float32)
        plans = planning.recording()
        got = avg_pool3d_backward(grad, shape, *numbers, divisor_override=1)
        blocks = rows // stride > MOST_DIRECT_TERMS and -(-rows // stride) * -(-k // s) <= LONGEST_BLOCK
        assert (plans[-1].kernel == "average_row_blocks") == blocks
        terms = (rows // stride + 1) * 2 * -(-k // s)
        layers, sizes = [range(o * s - p, o * s - p + k) for o in range(grad.shape[2])], (shape[1], *shape[3:])
        for d in range(shape[2]):
            exact, bound = np.zeros((2, *sizes))
            for o, layer in enumerate(layers):
                if d in layer:
                    plane = grad[0, :, o].astype(np.float64)
                    one, many = ((rows, 2), (stride, 1), (1, 0)), (False, True, 1)
                    exact += reference.avg_pool2d_backward(plane, sizes, *one, *many)
                    bound += reference.avg_pool2d_backward(np.abs(plane), sizes, *one, *many)
            assert (np.abs(got[0, :, d] - exact) <= bound * terms * 2.0**-24 * 1.001).all()
        planning.use(time_of_part=1, widest_tile=8, narrowest_tile=8)
        assert_same_bits(avg_pool3d_backward(grad, shape, *numbers, divisor_override=1), got)
        planning.use()


def test_large_layers_go_row_by_row(planning: Planning) -> None:
    """Slots that no scratch holds, and sums that are put together."""
    plans = planning.recording()
    for limits, kernel in (({"second_cache": 1 << 12}, 3), ({}, 9)):
        planning.use(**limits)
        shape = (1, 1, 9, 9, 40)
        numbers = ((kernel, 3, 3), (1, 1, 1), (kernel // 2, 1, 1))
        avg_pool3d_backward(gradient((1, 2, *shape[2:]), *numbers, np.float32)[:, :1].copy(), shape, *numbers)
    assert not any(is_layered(made) for made in plans)
    assert len(plans) == 2


def test_channels_side_by_side_have_a_way_of_their_own(planning: Planning) -> None:
    plans = planning.recording()
    shape, numbers = (1, 16, 5, 7, 18), ((3,) * 3, (1,) * 3, (1,) * 3)
    grad = gradient(shape, *numbers, np.float32)
    x = channels_last(np.zeros(shape, np.float32))
    assert_same_bits(
        np.ascontiguousarray(avg_pool3d_backward(channels_last(grad), x, *numbers)),
        avg_pool3d_backward(grad, shape, *numbers),
    )
    assert [made.kernel for made in plans] == ["average_channels_last", f"{LAYERS_OF_FEW_WINDOWS}_3_1_1_0_0_1_0"]
    assert math.prod(shape) == x.size
