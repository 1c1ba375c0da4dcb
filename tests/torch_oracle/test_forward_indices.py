"""The forward pass in NumPy, which others are held against, is torch's, NaN and equal maxima included."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy_forward import forward_with_indices

from poolgrad.base.windows import Windows, pooled_size

AXES = pytest.mark.parametrize(("axes", "largest"), [(2, 20), (3, 9)], ids=["planes", "volumes"])


def data(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    x = random.integers(-3, 4, shape).astype(np.float32)
    x[random.random(shape) < random.choice([0, 0.2])] = np.nan
    x[random.random(shape) < random.choice([0, 0.5])] = -np.inf
    return x


@AXES
def test_indices_of_fixed_windows(axes: int, largest: int) -> None:
    random = np.random.default_rng(1)
    forward = getattr(torch.nn.functional, f"max_pool{axes}d")
    compared = 0
    for _ in range(400):
        sizes, kernel = random.integers(1, largest, axes).tolist(), random.integers(1, largest // 2, axes).tolist()
        stride, dilation = random.integers(1, 5, axes).tolist(), random.integers(1, 4, axes).tolist()
        pad = [int(random.integers(0, k // 2 + 1)) for k in kernel]
        ceil_mode = bool(random.integers(2))
        windows = [
            Windows(size, pooled_size(size, kernel=k, stride=s, pad=p, dilation=d, ceil_mode=ceil_mode), k, s, p, d)
            for size, k, s, p, d in zip(sizes, kernel, stride, pad, dilation, strict=True)
        ]
        if min(w.out for w in windows) <= 0 or any(w.has_empty for w in windows):
            continue
        x = data(random, (3, *sizes))
        values, indices = forward_with_indices(x, windows)
        expected, places = forward(torch.from_numpy(x), kernel, stride, pad, dilation, ceil_mode, return_indices=True)
        assert np.array_equal(indices, places.numpy())
        assert np.array_equal(values, expected.numpy(), equal_nan=True)
        compared += 1
    assert compared > 100


@AXES
def test_indices_of_adaptive_windows(axes: int, largest: int) -> None:
    random = np.random.default_rng(2)
    forward = getattr(torch.nn.functional, f"adaptive_max_pool{axes}d")
    for _ in range(200):
        x = data(random, (3, *random.integers(1, largest, axes).tolist()))
        outs = random.integers(1, largest + 5, axes).tolist()
        windows = [Windows(size, out, adaptive=True) for size, out in zip(x.shape[1:], outs, strict=True)]
        values, indices = forward_with_indices(x, windows)
        expected, places = forward(torch.from_numpy(x), outs, return_indices=True)
        assert np.array_equal(indices, places.numpy())
        assert np.array_equal(values, expected.numpy(), equal_nan=True)
