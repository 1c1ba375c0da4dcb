"""The 16-bit conversions, bit for bit: the hardware's and the ones for CPUs that have none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numba import njit, types

from poolgrad.kernels.jit import halves, memory

Bits = np.ndarray[Any, Any]


def apply(function: Any, values: Bits, result: Any) -> Bits:
    @njit
    def loop(values: Any, out: Any) -> None:
        for i in range(values.shape[0]):
            out[i] = function(values[i])

    out = np.empty(values.shape, result)
    loop(values, out)
    return out


def interesting_floats() -> Bits:
    """Every sign and exponent, with mantissas at and around the ties of both formats; and random bits."""
    ties = [0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2FFF, 0x3000, 0x7FFF, 0x8000, 0x8001, 0x17FFF, 0x18000, 0x7FFFFF]
    high = np.arange(512, dtype=np.uint32) << 23
    grid = (high[:, None] | np.array(ties, np.uint32)).ravel()
    spread = np.random.default_rng(3).integers(0, 2**32, 400_000, dtype=np.uint32)
    denormal_halves = np.random.default_rng(4).integers(0x33000000, 0x38800000, 100_000, dtype=np.uint32)
    return np.concatenate([grid, spread, denormal_halves])


ALL_HALVES = np.arange(2**16, dtype=np.uint16)
TO_FLOAT = {
    "chosen": halves.half_to_float,
    "hardware": halves.number_instruction(halves.widen_half, types.uint16, types.float32),
    "integers": halves.number_instruction(halves.widen_half_by_integers, types.uint16, types.float32),
}
FROM_FLOAT = {
    "chosen": halves.float_to_half,
    "hardware": halves.number_instruction(halves.narrow_half, types.float32, types.uint16),
    "integers": halves.number_instruction(halves.narrow_half_by_integers, types.float32, types.uint16),
}
HERE = ["chosen", "integers"] + (["hardware"] if halves.target_has_half_conversion() else [])


def assert_same(got: Bits, expected: Bits) -> None:
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(got), nan)
    integer = {2: np.uint16, 4: np.uint32}[got.dtype.itemsize]
    assert np.array_equal(got.view(integer)[~nan], expected.view(integer)[~nan])


def cast(numbers: Bits, dtype: Any) -> Bits:
    """As NumPy does it; which of these numbers it warns of depends on the processor."""
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.astype(dtype)


@pytest.mark.parametrize("way", HERE)
def test_half_to_float(way: str) -> None:
    assert_same(apply(TO_FLOAT[way], ALL_HALVES, np.float32), cast(ALL_HALVES.view(np.float16), np.float32))


@pytest.mark.parametrize("way", HERE)
def test_float_to_half(way: str) -> None:
    bits = interesting_floats()
    expected = cast(bits.view(np.float32), np.float16)
    assert_same(apply(FROM_FLOAT[way], bits.view(np.float32), np.uint16).view(np.float16), expected)


def test_both_ways_agree_on_nans() -> None:
    if "hardware" not in HERE:
        pytest.skip("this CPU has no half conversion to agree with")
    nans = np.array([0x7F800001, 0x7FC00000, 0xFFFFFFFF, 0xFF812345], np.uint32).view(np.float32)
    one, other = (apply(FROM_FLOAT[way], nans, np.uint16) for way in ("hardware", "integers"))
    assert np.array_equal(one, other)


def test_bfloat_to_float() -> None:
    expected = cast(ALL_HALVES.view(ml_dtypes.bfloat16), np.float32)
    assert_same(apply(halves.bfloat_to_float, ALL_HALVES, np.float32), expected)


def test_float_to_bfloat() -> None:
    bits = interesting_floats()
    got = apply(halves.float_to_bfloat, bits.view(np.float32), np.uint16).view(ml_dtypes.bfloat16)
    expected = cast(bits.view(np.float32), ml_dtypes.bfloat16)
    assert_same(cast(got, np.float32), cast(expected, np.float32))


@pytest.mark.parametrize("dropped", [12, 13])
def test_round_mantissa(dropped: int) -> None:
    """Against rounding in float64, where adding and subtracting a large number rounds to nearest even."""

    @njit
    def rounded(value: float) -> float:
        return memory.round_mantissa(value, types.int64(dropped))

    values = interesting_floats().view(np.float32)
    values = values[np.isfinite(values) & (np.abs(values) > 1e-30) & (np.abs(values) < 1e30)]
    wide = values.astype(np.float64)
    scale = np.exp2(np.floor(np.log2(np.abs(wide))) - 23 + dropped)
    expected = (np.rint(wide / scale) * scale).astype(np.float32)
    assert np.array_equal(apply(rounded, values, np.float32), expected)
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 3.4028235e38], np.float32)
    got = apply(rounded, special, np.float32)
    assert np.array_equal(got, [np.inf, -np.inf, np.nan, 0.0, -0.0, np.inf], equal_nan=True)


def test_kernels_on_a_cpu_without_half_conversion(tmp_path: Any) -> None:
    """On the x86-64 baseline the integer way is chosen, and float16 gradients come out the same. What else the kernels
    do there, ``make test-baseline`` shows."""
    program = """if True:
        import numpy as np, poolgrad
        from poolgrad.kernels.jit import halves
        assert not halves.target_has_half_conversion()
        grad = np.arange(-32, 32, dtype=np.float16).reshape(1, 4, 4, 4) / 7
        result = poolgrad.avg_pool2d_backward(grad, (1, 4, 8, 8), 2)
        expected = np.repeat(np.repeat((grad.astype(np.float32) / 4).astype(np.float16), 2, 2), 2, 3)
        assert np.array_equal(result, expected)
        places = np.tile(np.arange(4)[:, None] * 16 + np.arange(4) * 2, (1, 4, 1, 1))
        result = poolgrad.max_pool2d_with_indices_backward(grad, (1, 4, 8, 8), places, 2)
        assert np.array_equal(result[:, :, ::2, ::2], grad)
        assert np.count_nonzero(result) == np.count_nonzero(grad)
    """
    environment = os.environ | {
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "",
        "POOLGRAD_CACHE_DIR": str(tmp_path),
    }
    if not halves.llvm.get_process_triple().startswith("x86_64"):
        pytest.skip("the baseline without half conversion is x86-64's")
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
