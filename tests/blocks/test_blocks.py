"""Blocks of a result, put together, are the result: bit for bit, whatever the windows and wherever it is cut."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from poolgrad.base.windows import Windows, pooled_size
from poolgrad.blocks.calls import Block, Whole, judged
from poolgrad.blocks.parts import cut_by_elements, cut_by_windows, part_over_elements, part_under_windows
from poolgrad.operators import find_operator

NONE = (None, None, None)


def windows_at_random(draw: random.Random) -> Windows:
    kernel, dilation, stride = draw.randint(1, 6), draw.choice((1, 1, 2, 3)), draw.randint(1, 5)
    pad, ceil_mode = draw.randint(0, kernel // 2), draw.random() < 0.5
    size = draw.randint(max(dilation * (kernel - 1) + 1 - 2 * pad, dilation, 1), 60)
    out = pooled_size(size, kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil_mode=ceil_mode)
    return Windows(size, out, kernel, stride, pad, dilation)


def test_a_part_has_the_windows_of_the_whole() -> None:
    """For every range of every one of many windows: those that are asked for hold the same elements, none shortened."""
    draw = random.Random(5)
    for _ in range(300):
        w = windows_at_random(draw)
        for first, stop in itertools.combinations(range(w.out + 1), 2):
            part = part_under_windows(w, first, stop)
            assert 0 <= part.begin < part.end <= w.size
            assert part.first <= first < stop <= part.stop
            assert part.begin == part.first * w.stride
            assert w.size - part.end == (w.out - part.stop) * w.stride
            for o in (first, stop - 1):
                places = w.places(o)
                assert not places or part.begin <= places[0] <= places[-1] < part.end
                unclipped = o * w.stride - w.pad, o * w.stride - w.pad + w.dilation * (w.kernel - 1) + 1
                assert part.begin == 0 or unclipped[0] >= part.begin
                assert part.end == w.size or unclipped[1] <= part.end


def test_a_part_has_all_windows_over_its_elements() -> None:
    draw = random.Random(6)
    for _ in range(300):
        w = windows_at_random(draw)
        if w.dilation > 1:
            continue  # averages have none
        for low, high in itertools.combinations(range(w.size + 1), 2):
            part = part_over_elements(w, low, high)
            assert part.begin <= low < high <= part.end
            holding = [o for o in range(w.out) if set(w.places(o)) & set(range(low, high))]
            assert all(part.first <= o < part.stop for o in holding)


def test_a_part_is_little_more_than_its_block() -> None:
    w = Windows(10_000, 5_000, 3, 2, 1)
    assert part_under_windows(w, 2_000, 3_000) == (3_998, 6_000, 1_999, 3_000)
    assert part_over_elements(w, 4_000, 6_000) == (3_998, 6_002, 1_999, 3_001)


def test_cuts_cover_everything_once() -> None:
    draw = random.Random(7)
    for _ in range(500):
        w = windows_at_random(draw)
        for cut, total, size in ((cut_by_elements, w.out, w.size), (cut_by_windows, w.size, w.out)):
            ends = sorted({size, *(draw.randint(1, size) for _ in range(4))})
            made = cut(w, tuple(np.diff([0, *ends]).tolist()))
            assert sum(made) == total
            assert all(number > 0 for number in made)


# Calls: name, shape of the input, numbers, options.
DTYPES = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
CALLS: list[tuple[str, tuple[int, ...], dict[str, Any], tuple[Any, ...]]] = [
    ("avg_pool2d", (2, 3, 33, 41), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}, NONE),
    ("avg_pool2d", (2, 3, 33, 41), {"kernel_size": (4, 3), "padding": 1, "count_include_pad": False}, NONE),
    ("avg_pool2d", (1, 2, 50, 70), {"kernel_size": (21, 33), "stride": (2, 1), "padding": (9, 16)}, NONE),
    ("avg_pool2d", (3, 40, 44), {"kernel_size": 3, "stride": 1, "divisor_override": -7}, NONE),
    ("avg_pool3d", (2, 2, 9, 17, 23), {"kernel_size": 3, "stride": (1, 2, 3), "padding": 1, "ceil_mode": True}, NONE),
    ("avg_pool2d_backward", (2, 3, 33, 41), {"kernel_size": 3, "stride": 1, "padding": 1}, NONE),
    ("avg_pool2d_backward", (2, 3, 33, 41), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}, NONE),
    (
        "avg_pool2d_backward",
        (2, 3, 33, 41),
        {"kernel_size": (5, 7), "stride": (2, 1), "padding": (2, 3), "count_include_pad": False},
        NONE,
    ),
    ("avg_pool2d_backward", (2, 3, 33, 41), {"kernel_size": 2, "stride": 3}, NONE),  # with gaps
    ("avg_pool2d_backward", (1, 2, 45, 90), {"kernel_size": 8, "stride": 1, "divisor_override": 5}, NONE),
    ("avg_pool3d_backward", (2, 2, 9, 17, 23), {"kernel_size": 3, "stride": (1, 2, 3), "padding": 1}, NONE),
    ("max_pool2d_with_indices", (2, 3, 33, 41), {"kernel_size": 3, "stride": 2, "padding": 1}, NONE),
    ("max_pool2d_with_indices", (2, 33, 41, 5), {"kernel_size": 3, "dilation": (2, 3)}, (None, "NHWC", "int32")),
    ("max_pool3d_with_argmax", (2, 9, 17, 23), {"kernel_size": 2, "ceil_mode": True, "dilation": 2}, NONE),
    ("max_pool", (2, 3, 19, 23), {"kernel_shape": (3, 2), "pads": (0, 2, 3, 0), "ceil_mode": True}, NONE),
]


def numbers_of(name: str, given: dict[str, Any]) -> tuple[Any, ...]:
    """In the order of the parameters."""
    defaults = {p.python_name: p.default for p in find_operator(name).numbers}
    return tuple((defaults | given).values())


def arrays_at_random(name: str, shape: tuple[int, ...], numbers: dict[str, Any], dtype: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    values = rng.standard_normal(shape)
    values.flat[:: values.size // 5] = np.nan
    x = values.astype(dtype)
    if not find_operator(name).is_gradient:
        return (x,)
    pooled = getattr(poolgrad, name.removesuffix("_backward"))(x, **numbers)
    return rng.standard_normal(pooled.shape).astype(dtype), x


def by_blocks(whole: Whole, arrays: tuple[Any, ...], cuts: list[tuple[int, ...]]) -> list[np.ndarray]:
    """The results, block by block in a shuffled order, each as another process would compute it."""
    results = [np.empty(tensor.shape, tensor.dtype.name) for tensor in whole.results]
    axes = [list(itertools.pairwise(itertools.accumulate(sizes, initial=0))) for sizes in cuts]
    blocks = [Block(whole, ranges) for ranges in itertools.product(*axes)]
    random.Random(1).shuffle(blocks)
    for block in blocks:
        sent = pickle.loads(pickle.dumps(block))
        parts = zip(arrays, sent.reads, strict=True)
        read = (None if part is None else array[tuple(slice(*r) for r in part)] for array, part in parts)
        for result, made in zip(results, sent.compute(*read, threads=1), strict=True):
            result[tuple(slice(*r) for r in block.ranges)] = made
    return results


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}-{'x'.join(map(str, call[1]))}")
def test_blocks_are_the_whole(call: Any, dtype: Any) -> None:
    name, shape, given, (product, data_format, index_dtype) = call
    arrays = arrays_at_random(name, shape, given, dtype)
    options = {"data_format": data_format, "index_dtype": index_dtype}
    named = {key: value for key, value in options.items() if value is not None}
    expected = getattr(poolgrad, name)(*arrays, **given, **named)
    whole = judged(find_operator(name), arrays, numbers_of(name, given), (product, data_format, index_dtype))
    assert not whole.whole_planes
    draw = random.Random(9)
    for _ in range(4):
        cuts = [
            tuple(np.diff([0, *sorted({size, *(draw.randint(1, size) for _ in range(3))})]).tolist())
            for size in whole.results[0].shape
        ]
        made = by_blocks(whole, arrays, cuts)
        for one, other in zip(made, expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert one.dtype == other.dtype
            assert one.tobytes() == np.ascontiguousarray(other).tobytes()


@pytest.mark.parametrize(
    ("name", "arrays", "numbers", "why"),
    [
        ("adaptive_avg_pool2d", ((2, 3, 9, 9),), {"output_size": (3, 2)}, "adaptive"),
        ("avg_pool2d_backward", ((2, 3, 32, 12), (2, 3, 40, 12)), {"kernel_size": (9, 1), "stride": 1}, "summed by"),
        ("max_pool2d_with_mask", ((2, 3, 8, 8),), {"kernel_size": 2}, "mask"),
    ],
)
def test_planes_that_can_not_be_divided_say_why(name: str, arrays: Any, numbers: Any, why: str) -> None:
    given = tuple(np.zeros(shape, np.float32) for shape in arrays)
    assert why in judged(find_operator(name), given, numbers_of(name, numbers), NONE).whole_planes


def test_a_block_costs_little_more_than_what_it_makes() -> None:
    """Of a plane that is cut into quarters, hardly more is read than there is."""
    x = np.broadcast_to(np.float32(0), (1, 1, 1000, 1000))
    numbers = {"kernel_size": 3, "stride": 2, "padding": 1}
    whole = judged(find_operator("AvgPool2d"), (x,), numbers_of("avg_pool2d", numbers), NONE)
    corners = itertools.product(((0, 250), (250, 500)), repeat=2)
    read = [Block(whole, ((0, 1), (0, 1), *corner)).input_ranges for corner in corners]
    assert sum(math.prod(high - low for low, high in ranges) for ranges in read) < 1.02 * x.size
