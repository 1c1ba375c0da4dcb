"""A self-test: every operator in every dtype against ``reference.py``, on planes small enough to be exact about.

The windows are chosen so that different kernels are used. Averages must be as near to the exact sums as the arithmetic
of the contract allows, gradients of maxima must be right to the bit, and a NaN must stay in its window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import functional
from . import reference

Array = NDArray[Any]

# How each type is made, and in which one it computes: halves in float32, rounded once more at the end.
FORMATS = {
    np.dtype(np.float64): (reference.FLOAT64, reference.FLOAT64),
    np.dtype(np.float32): (reference.FLOAT32, reference.FLOAT32),
    np.dtype(np.float16): (reference.FLOAT16, reference.FLOAT32),
    np.dtype(ml_dtypes.bfloat16): (reference.BFLOAT16, reference.FLOAT32),
}
INDEX_DTYPES = (np.dtype(np.int32), np.dtype(np.int64))


class Trial(NamedTuple):
    """One comparison: what it is called, and what says whether it came out right (None) or what was wrong."""

    name: str
    run: Callable[[], str | None]


def trials() -> Iterator[Trial]:
    """All comparisons, to be run one by one; the first ones compile kernels if the cache does not have them."""
    for dtype in FORMATS:
        for case in _AVERAGES:
            yield Trial(f"avg_pool2d_backward, {dtype.name}, {case.name}", partial(_average, case, dtype))
        for shape, out in _ADAPTIVE:
            name = f"adaptive_avg_pool3d_backward, {dtype.name}, {shape} from {out}"
            yield Trial(name, partial(_adaptive_average, shape, out, dtype))
        for index in INDEX_DTYPES:
            what = f"{dtype.name}, {index.name} indices"
            for maximum in _MAXIMA:
                name = f"max_pool2d_with_indices_backward, {what}, {maximum.name}"
                yield Trial(name, partial(_maximum, maximum, dtype, index))
            yield Trial(f"adaptive_max_pool2d_backward, {what}", partial(_adaptive_maximum, dtype, index))


class _Average(NamedTuple):
    name: str
    shape: tuple[int, ...]
    out: tuple[int, ...]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor: int = 0
    channels_last: bool = False  # in memory; the shape is as ever


_AVERAGES = (
    _Average("wide rows", (1, 1, 3, 100), (3, 100), (3, 3), (1, 1), (1, 1)),
    _Average("wide rows, strides of 2", (1, 2, 6, 100), (3, 50), (3, 3), (2, 2), (1, 1)),
    _Average("wide rows, touching", (1, 2, 7, 100), (3, 50), (2, 2), (2, 2), (0, 0)),
    _Average("wide windows", (1, 1, 5, 100), (5, 100), (5, 5), (1, 1), (2, 2)),
    _Average("tall windows", (1, 1, 9, 100), (1, 100), (9, 1), (1, 1), (0, 0)),
    _Average("channels last", (1, 24, 6, 6), (3, 3), (3, 3), (2, 2), (1, 1), channels_last=True),
    _Average("overlapping", (1, 2, 9, 33), (5, 17), (3, 3), (2, 2), (1, 1), ceil_mode=True),
    _Average("touching", (1, 10, 6, 8), (3, 4), (2, 2), (2, 2), (0, 0), count_include_pad=False),
    _Average("global", (2, 3, 7, 7), (1, 1), (7, 7), (7, 7), (0, 0)),
    _Average("divisor given", (1, 3, 5, 5), (4, 4), (2, 2), (1, 1), (0, 0), divisor=-3),
)


class _Maximum(NamedTuple):
    name: str
    shape: tuple[int, ...]
    kernel: int
    stride: int
    pad: int
    layout: str = "NCHW"


_MAXIMA = (
    _Maximum("overlapping", (2, 3, 8, 18), 3, 2, 1),
    _Maximum("touching", (1, 2, 4, 64), 2, 2, 0),
    _Maximum("NHWC", (1, 32, 6, 6), 3, 2, 1, "NHWC"),
)
_ADAPTIVE = (((2, 3, 5, 7), (2, 3, 4)), ((1, 2, 4, 8), (1, 2, 4)), ((1, 2, 2, 3), (3, 5, 4)))


def _gradients(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Numbers of mixed signs and sizes, so that sums cancel and round."""
    random = np.random.default_rng(len(shape) + shape[-1])
    return (random.standard_normal(shape) * 2.0 ** random.integers(-4, 5, shape)).astype(dtype)


def _average(case: _Average, dtype: np.dtype[Any]) -> str | None:
    grad = _gradients((*case.shape[:2], *case.out), dtype)
    numbers = (case.kernel, case.stride, case.pad, case.ceil_mode, case.count_include_pad, case.divisor)

    def run(gradients: Array) -> Array:
        x: Any = case.shape
        if case.channels_last:
            gradients, x = _channels_last(gradients), _channels_last(np.zeros(case.shape, dtype))
        result: Array = functional.avg_pool2d_backward(gradients, x, *numbers)
        return result

    return _judge_average(run, reference.avg_pool2d_backward, grad, case.shape, *numbers)


def _channels_last(array: Array) -> Array:
    """The same numbers, channels side by side in memory."""
    return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1)


def _adaptive_average(shape: tuple[int, ...], out: tuple[int, ...], dtype: np.dtype[Any]) -> str | None:
    grad = _gradients((shape[0], *out), dtype)

    def run(gradients: Array) -> Array:
        result: Array = functional.adaptive_avg_pool3d_backward(gradients, shape)
        return result

    return _judge_average(run, reference.adaptive_avg_pool3d_backward, grad, shape)


def _judge_average(run: Callable[[Array], Array], slow: Callable[..., Array], grad: Array, *numbers: Any) -> str | None:
    wanted = reference.exact(slow, grad, *numbers)
    value, size = wanted.value.astype(np.float64), wanted.magnitude.astype(np.float64)
    stored, computed = FORMATS[grad.dtype]
    # Each quotient and each addition is rounded, and at last the sum, perhaps to a denormal number.
    sums = 1.01 * (wanted.terms + 1) * 2.0**-computed.precision * size
    bound = sums + 2.0**-stored.precision * np.abs(value) + 2.0**stored.smallest
    error = np.abs(run(grad).astype(np.float64) - value)
    if not (error <= bound).all():
        place = tuple(map(int, np.unravel_index(np.argmax(error - bound), error.shape)))
        return f"at {place} the error is {error[place]:.3g}, more than {bound[place]:.3g}"
    strange = grad.copy()
    strange[..., 0, 0] = np.nan
    if not np.array_equal(np.isnan(run(strange)), np.isnan(slow(strange, *numbers))):
        return "a NaN has left its window"
    return None


def _maximum(case: _Maximum, dtype: np.dtype[Any], index: np.dtype[Any]) -> str | None:
    x = _gradients(case.shape, np.dtype(np.float64))
    kernel, stride, pad = ((n, n) for n in (case.kernel, case.stride, case.pad))
    indices = reference.max_pool2d_indices(x, kernel, stride, pad).astype(index)
    grad, shape = _gradients(indices.shape, dtype), x.shape
    if case.layout == "NHWC":
        grad, indices = (np.moveaxis(array, 1, -1).copy() for array in (grad, indices))
        shape = (shape[0], *shape[2:], shape[1])
    got = functional.max_pool2d_with_indices_backward(
        grad, shape, indices, kernel, stride, pad, data_format=case.layout
    )
    return _judge_maximum(got, reference.max_pool2d_with_indices_backward(grad, shape, indices, case.layout))


def _adaptive_maximum(dtype: np.dtype[Any], index: np.dtype[Any]) -> str | None:
    x = _gradients((1, 4, 7, 10), np.dtype(np.float64))
    indices = reference.adaptive_max_pool2d_indices(x, (3, 4)).astype(index)
    grad = _gradients(indices.shape, dtype)
    got = functional.adaptive_max_pool2d_backward(grad, x.shape, indices)
    return _judge_maximum(got, reference.adaptive_max_pool2d_backward(grad, x.shape, indices))


def _judge_maximum(got: Array, wanted: Array) -> str | None:
    different = np.argwhere(got != wanted.astype(got.dtype))
    return f"{len(different)} elements differ, the first at {tuple(map(int, different[0]))}" if len(different) else None
