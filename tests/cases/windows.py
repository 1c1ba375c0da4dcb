"""Windows as the package describes them, and the places of each, by the formulas of the contract."""

from __future__ import annotations

import math

from poolgrad.base.windows import Windows, pooled_size

Places = list[list[int]]


def places_of_fixed(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> Places:
    """By the formulas of the contract."""
    n = size + 2 * pad - dilation * (kernel - 1) - 1
    out = math.ceil(n / stride) + 1 if ceil_mode else n // stride + 1
    if ceil_mode and (out - 1) * stride >= size + pad:
        out -= 1
    starts = (o * stride - pad for o in range(out))
    return [[p for p in range(start, start + kernel * dilation, dilation) if 0 <= p < size] for start in starts]


def places_of_adaptive(size: int, out: int) -> Places:
    return [list(range(math.floor(o * size / out), math.ceil((o + 1) * size / out))) for o in range(out)]


def fixed(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> Windows:
    out = pooled_size(size, kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil_mode=ceil_mode)
    return Windows(size, out, kernel, stride, pad, dilation)


def adaptive(sizes: tuple[int, ...], outs: tuple[int, ...]) -> list[Windows]:
    return [Windows(size, out, adaptive=True) for size, out in zip(sizes, outs, strict=True)]
