"""Maxima and their places are torch's, ties, NaN, -Inf and memory formats included; of integers the reference's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import poolgrad
from poolgrad.operators.max_pool import INTEGERS
from poolgrad.selftest import reference

AXES = pytest.mark.parametrize(("axes", "largest"), [(2, 20), (3, 9)], ids=["planes", "volumes"])
FIXED = {2: poolgrad.max_pool2d_with_indices, 3: poolgrad.max_pool3d_with_argmax}
SPREAD = {2: poolgrad.adaptive_max_pool2d, 3: poolgrad.adaptive_max_pool3d}
CHANNELS_LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def data(random: np.random.Generator, shape: tuple[int, ...], axes: int) -> torch.Tensor:
    x = random.integers(-3, 4, shape).astype(np.float32)
    x[random.random(shape) < random.choice([0, 0.2])] = np.nan
    x[random.random(shape) < random.choice([0, 0.5])] = -np.inf
    tensor = torch.from_numpy(x).to([torch.float32, torch.float64, torch.bfloat16][random.integers(3)])
    return tensor.to(memory_format=CHANNELS_LAST[axes]) if random.integers(2) else tensor


def plain(x: torch.Tensor) -> torch.Tensor:
    """With channels last torch itself finds places in other layers where all of a window is -Inf."""
    return x.clone(memory_format=torch.contiguous_format)


def assert_same(found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    (values, places), (wanted, where) = found, expected
    assert values.dtype == wanted.dtype
    assert torch.equal(places, where)
    assert torch.equal(values.isnan(), wanted.isnan())
    assert torch.equal(values.nan_to_num(7), wanted.nan_to_num(7))


@AXES
def test_fixed_windows(axes: int, largest: int) -> None:
    random = np.random.default_rng(1)
    forward = getattr(torch.nn.functional, f"max_pool{axes}d")
    compared = 0
    for _ in range(300):
        sizes, kernel = random.integers(1, largest, axes).tolist(), random.integers(1, largest // 2, axes).tolist()
        stride, dilation = random.integers(1, 5, axes).tolist(), random.integers(1, 4, axes).tolist()
        pad = [int(random.integers(0, k // 2 + 1)) for k in kernel]
        x, ceil_mode = data(random, (2, int(random.integers(1, 12)), *sizes), axes), bool(random.integers(2))
        try:
            found = FIXED[axes](x, kernel, stride, pad, dilation, ceil_mode)
        except poolgrad.AclnnError:  # no window fits, or one would be empty
            continue
        assert_same(found, forward(plain(x), kernel, stride, pad, dilation, ceil_mode, return_indices=True))
        compared += 1
    assert compared > 80


@AXES
def test_adaptive_windows(axes: int, largest: int) -> None:
    random = np.random.default_rng(2)
    forward = getattr(torch.nn.functional, f"adaptive_max_pool{axes}d")
    for _ in range(100):
        x = data(random, (2, int(random.integers(1, 12)), *random.integers(1, largest, axes).tolist()), axes)
        outs = random.integers(1, largest + 5, axes).tolist()
        assert_same(SPREAD[axes](x, outs), forward(plain(x), outs, return_indices=True))


def test_values_alone() -> None:
    """torch pads alike on both sides; with numbers that are there already it can have any padding."""
    random = np.random.default_rng(3)
    for _ in range(200):
        kernel, stride = random.integers(1, 6, 2).tolist(), random.integers(1, 4, 2).tolist()
        before = [int(random.integers(0, k + 1)) for k in kernel]
        behind = [int(random.integers(0, k - p + 1)) for k, p in zip(kernel, before, strict=True)]
        sizes = [int(random.integers(k, 20)) for k in kernel]
        x = data(random, (2, int(random.integers(1, 12)), *sizes), 2)
        padded = torch.nn.functional.pad(x, (before[1], behind[1], before[0], behind[0]), value=-torch.inf)
        found = poolgrad.max_pool(x, kernel, stride, (*before, *behind))
        expected = torch.nn.functional.max_pool2d(padded, kernel, stride)
        assert torch.equal(found.isnan(), expected.isnan())
        assert torch.equal(found.nan_to_num(7), expected.nan_to_num(7))
        assert found.is_contiguous(memory_format=torch.channels_last) or found.is_contiguous()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_tensors_of_integers(dtype: str) -> None:
    info, random = np.iinfo(dtype), np.random.default_rng(4)
    numbers = random.integers(info.min, info.max, (2, 9, 7, 8), dtype, endpoint=True)
    found = poolgrad.max_pool(torch.from_numpy(numbers), 3, 2, (1, 0, 2, 3))
    assert found.dtype == getattr(torch, dtype)
    assert np.array_equal(found.numpy(), reference.max_pool(numbers, (3, 3), (2, 2), (1, 0, 2, 3)))
    out = torch.empty_like(found)
    assert poolgrad.max_pool(torch.from_numpy(numbers), 3, 2, (1, 0, 2, 3), out=out) is out
    assert np.array_equal(out.numpy(), found.numpy())
