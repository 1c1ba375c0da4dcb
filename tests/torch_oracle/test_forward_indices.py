"""The indices that we make without torch are those of torch's forward pass, NaN and equal maxima included."""

from __future__ import annotations

import numpy as np
import torch
from poolgrad.operators.pooling import Windows

from poolgrad.base.windows import has_empty_window
from poolgrad.cases.indices import adaptive_max_pool2d_indices, max_pool2d_indices


def data(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    x = random.integers(-3, 4, shape).astype(np.float32)
    x[random.random(shape) < random.choice([0, 0.2])] = np.nan
    x[random.random(shape) < random.choice([0, 0.5])] = -np.inf
    return x


def test_fixed_windows() -> None:
    random = np.random.default_rng(1)
    compared = 0
    for _ in range(400):
        sizes, kernel = random.integers(1, 20, 2).tolist(), random.integers(1, 9, 2).tolist()
        stride, dilation = random.integers(1, 5, 2).tolist(), random.integers(1, 4, 2).tolist()
        pad = [int(random.integers(0, k // 2 + 1)) for k in kernel]
        ceil_mode = bool(random.integers(2))
        axes = zip(sizes, kernel, stride, pad, dilation, strict=True)
        windows = tuple(Windows(*axis, ceil_mode) for axis in axes)
        if min(w.out for w in windows) <= 0 or any(
            has_empty_window(w.size, w.out, kernel=w.kernel, stride=w.stride, pad=w.pad, dilation=w.dilation)
            for w in windows
        ):
            continue
        x = data(random, (3, *sizes))
        values, indices = max_pool2d_indices(x, windows)
        expected, places = torch.nn.functional.max_pool2d(
            torch.from_numpy(x), kernel, stride, pad, dilation, ceil_mode, return_indices=True
        )
        assert np.array_equal(indices, places.numpy())
        assert np.array_equal(values, expected.numpy(), equal_nan=True)
        compared += 1
    assert compared > 200


def test_adaptive_windows() -> None:
    random = np.random.default_rng(2)
    for _ in range(200):
        x = data(random, (3, *random.integers(1, 20, 2).tolist()))
        out = tuple(random.integers(1, 25, 2).tolist())
        values, indices = adaptive_max_pool2d_indices(x, out)
        expected, places = torch.nn.functional.adaptive_max_pool2d(torch.from_numpy(x), out, return_indices=True)
        assert np.array_equal(indices, places.numpy())
        assert np.array_equal(values, expected.numpy(), equal_nan=True)
