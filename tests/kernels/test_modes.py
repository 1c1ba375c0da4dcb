"""Results are the same bits whatever floating-point mode the caller's thread is in, and it keeps its mode."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba import njit
from oracle import DTYPES, assert_same_bits

import poolgrad
from poolgrad.kernels.jit import modes

ARM = platform.machine() in ("aarch64", "arm64")
# By the bits of the processors' registers: tiny numbers are zero; rounding up, down, towards zero.
MODES = (
    {"tiny is zero": 1 << 24, "up": 1 << 22, "down": 2 << 22, "to zero": 3 << 22}
    if ARM
    else {"tiny is zero": 0x9FC0, "up": 0x5F80, "down": 0x3F80, "to zero": 0x7F80}
)


@njit
def in_mode(mode: int) -> int:
    """Set the thread's mode, and return the one before."""
    before = modes.floating_mode()
    modes.set_floating_mode(mode)
    return before


@pytest.fixture(params=MODES)
def mode(request: Any) -> Iterator[int]:
    if not modes.MODE_BITS:
        pytest.skip("this processor's mode is not known to the package, which leaves it as it is")
    in_mode(modes.NORMAL)  # compile it
    yield MODES[request.param]
    in_mode(modes.NORMAL)


@njit
def third(number: float) -> float:
    return number / 3


def test_modes_are_what_they_are_called(mode: int) -> None:
    """Otherwise the next test would test nothing."""
    exact = [third(number) for number in (1.0, -1.0, 5.0, 7.0, 1e-310)]
    in_mode(mode)
    changed = [third(number) for number in (1.0, -1.0, 5.0, 7.0, 1e-310)]
    in_mode(modes.NORMAL)
    assert exact != changed


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_do_not_depend_on_the_mode(dtype: Any, threads: int, mode: int) -> None:
    """Numbers of all sizes, tiny ones among them; divisions and sums that must be rounded."""
    random = np.random.default_rng(5)
    exponents = random.integers(np.finfo(np.float32).minexp - 20, 4, (2, 16, 30, 30)).astype(np.float64)
    grad = (random.standard_normal(exponents.shape) * 2.0**exponents).astype(dtype)
    shape = (2, 16, 60, 60)
    indices = random.integers(0, 3600, grad.shape)
    before = poolgrad.get_num_threads()
    poolgrad.set_num_threads(threads)
    try:
        expected = (
            poolgrad.avg_pool2d_backward(grad, shape, 3, 2, 1),
            poolgrad.adaptive_max_pool2d_backward(grad, shape, indices),
        )
        outs = np.empty(shape, dtype), np.empty(shape, dtype)
        in_mode(mode)
        poolgrad.avg_pool2d_backward(grad, shape, 3, 2, 1, out=outs[0])
        poolgrad.adaptive_max_pool2d_backward(grad, shape, indices, out=outs[1])
        after = in_mode(modes.NORMAL)
    finally:
        poolgrad.set_num_threads(before)
    assert after & modes.MODE_BITS == mode
    for out, right in zip(outs, expected, strict=True):
        assert_same_bits(out, right)
