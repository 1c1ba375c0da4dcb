"""Results that are parts of larger arrays: few of their planes and columns, and nothing beside them is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import DTYPES, assert_same_bits

import poolgrad
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

Array = np.ndarray[Any, Any]
# What no result has.
BESIDE = 77

FORWARD = [op for op in REGISTRY.values() if not op.is_gradient and Role.MASK not in {p.role for p in op.outputs}]
# Images, channels and sizes of a plane of the results; and how much of a larger array that is, in channels and columns.
PARTS = [
    ((1, 1), (2, 1), (0, 1)),
    ((9, 1), (2, 1), (0, 1)),
    ((9, 1), (6, 1), (0, 3)),
    ((3, 2), (2, 2), (1, 0)),
    ((2, 3), (2, 2), (2, 0)),
    ((2, 2), (5, 1), (4, 0)),
    ((2, 2), (1, 7), (4, 0)),
    ((3, 3), (2, 3), (1, 2)),
    ((2, 8), (2, 2), (1, 0)),
    ((5, 5), (1, 1), (1, 1)),
]


def part_of(shape: tuple[int, ...], more: tuple[int, int], dtype: Any) -> tuple[Array, Array]:
    """A larger array, and as many of its channels and columns."""
    images, channels, *sizes, columns = shape
    large = np.full((images, channels + more[0], *sizes, columns + more[1]), BESIDE, dtype)
    return large, large[:, :channels, ..., :columns]


# The kernels of float64 are compiled from the same lines.
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype.itemsize < 8], ids=str)
@pytest.mark.parametrize("operator", FORWARD, ids=lambda op: op.python_name)
def test_nothing_beside_the_results_is_written(operator: Any, dtype: Any) -> None:
    pool = getattr(poolgrad, operator.python_name)
    for lead, plane, more in PARTS:
        sizes = (*[2] * (len(operator.axes) - 2), *plane)
        x = np.random.default_rng(5).standard_normal((*lead, *(2 * n for n in sizes))).astype(dtype)
        numbers = [2] if Role.KERNEL in operator.by_role else [sizes]
        expected = pool(x, *numbers)
        several = isinstance(expected, tuple)
        parts = [part_of(array.shape, more, array.dtype) for array in (expected if several else (expected,))]
        for given in (x, np.asfortranarray(x)):
            for large, _ in parts:
                large[...] = BESIDE
            out = tuple(part for _, part in parts)
            pool(given, *numbers, out=out if several else out[0])
            for (large, part), wanted in zip(parts, expected if several else (expected,), strict=True):
                assert_same_bits(np.ascontiguousarray(part), wanted)
                part[...] = BESIDE
                assert (large == BESIDE).all()


@pytest.mark.parametrize("operator", FORWARD, ids=lambda op: op.python_name)
def test_a_result_laid_out_as_x(operator: Any) -> None:
    """Nine planes side by side, of one column each: the last one is alone in its group of eight."""
    pool, axes = getattr(poolgrad, operator.python_name), len(operator.axes)
    sizes = (*[2] * (axes - 2), 6, 2)
    x = np.random.default_rng(6).standard_normal((9, 1, *sizes)).astype(np.float32)
    beside = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)
    halved = (*sizes[:-1], 1)
    numbers = [(*[1] * (axes - 1), 2)] if Role.KERNEL in operator.by_role else [halved]
    one, other = pool(x, *numbers), pool(beside, *numbers)
    pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
    for wanted, got in pairs:
        assert_same_bits(np.ascontiguousarray(got), wanted)
