"""Shared memory of views, against the sets of bytes that they touch."""

from __future__ import annotations

import itertools
import random

from poolgrad.base.dtypes import FLOAT16, FLOAT32, FLOAT64, DType
from poolgrad.base.tensor import Tensor
from poolgrad.contract.overlap import overlaps_itself, share_memory


def view(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType = FLOAT32) -> Tensor:
    return Tensor(dtype, shape, strides, "ND")


def bytes_of(tensor: Tensor, address: int = 0) -> list[int]:
    return [
        address + sum(i * step for i, step in zip(index, tensor.strides, strict=True)) + byte
        for index in itertools.product(*map(range, tensor.shape))
        for byte in range(tensor.dtype.itemsize)
    ]


def random_view(source: random.Random) -> Tensor:
    rank = source.randint(1, 4)
    unit = source.choice([1, 2, 4])
    strides = tuple(unit * source.randint(-12, 12) for _ in range(rank))
    return view(tuple(source.randint(0, 4) for _ in range(rank)), strides, source.choice([FLOAT16, FLOAT32, FLOAT64]))


def test_overlap_with_itself_is_exact() -> None:
    source, answers = random.Random(1), [0, 0]
    for _ in range(6000):
        tensor = random_view(source)
        touched = bytes_of(tensor)
        expected = len(touched) != len(set(touched))
        answers[expected] += 1
        assert overlaps_itself(tensor) == expected, tensor
    assert min(answers) > 1000, "both answers are tried"


def test_shared_memory_is_exact() -> None:
    source, answers = random.Random(2), [0, 0]
    for _ in range(4000):
        one, other = random_view(source), random_view(source)
        shift = source.randint(-60, 60)
        base = 10_000_000
        expected = bool(set(bytes_of(one, base)) & set(bytes_of(other, base + shift)))
        answers[expected] += 1
        assert share_memory(one, base, other, base + shift) == expected
    assert min(answers) > 500, "both answers are tried"


def test_large_layouts_are_judged_at_once() -> None:
    """Nested, permuted, flipped and padded layouts of any size need no search."""
    assert not overlaps_itself(view((2**20, 2**10, 2**10, 4), (2**24, 2**14, 16, -4)))
    assert not overlaps_itself(view((64, 256, 1000, 1000), (4 * 256 * 10**6, 4, 4 * 256 * 1000, 4 * 256)))
    assert overlaps_itself(view((2**20, 2**20), (4 * 2**19, 4)))


def test_a_search_that_would_not_end_answers_overlap() -> None:
    """Coprime strides of huge views: the safe answer comes in bounded time."""
    shape = (100_003, 100_019, 100_043, 100_049)
    assert overlaps_itself(view(shape, (4 * 1_000_003, 4 * 1_000_033, 4 * 1_000_037, 4 * 1_000_039)))
