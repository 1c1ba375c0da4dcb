"""The same averages by torch, in every layout."""

from __future__ import annotations

import math

import pytest
import torch
from oracle import Case, cases, gamma
from torch_oracle.test_against_torch import AVERAGES, FULL, HALVES, same_bits

import poolgrad

LAYOUTS = {
    "plain": lambda x: x,
    "channels last": lambda x: x.movedim(-x.ndim + (x.ndim > 3), -1).contiguous().movedim(-1, -x.ndim + (x.ndim > 3)),
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "cropped": lambda x: torch.nn.functional.pad(x, (1, 2, 2, 1))[..., 2:-1, 1:-2],
}


def by_torch(case: Case, x: torch.Tensor) -> torch.Tensor:
    named = torch.nn.functional
    if case.output_size:
        return getattr(named, f"adaptive_avg_pool{case.axes}d")(x, case.output_size)
    include = case.arguments.get("count_include_pad", True)
    pool = getattr(named, f"avg_pool{case.axes}d")
    return pool(x, case.kernel, case.stride, case.padding, case.ceil, include, case.divisor or None)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", cases(AVERAGES))
def test_averages_are_torchs(case: Case, layout: str) -> None:
    x = torch.randn(case.x_shape, generator=torch.Generator().manual_seed(len(case.text)), dtype=torch.float64)
    held = math.prod(max(w.stop - w.start for w in axis) for axis in case.windows)
    for dtype in FULL:
        given = LAYOUTS[layout](x.to(dtype))
        result = case.pool(given)
        assert type(result) is torch.Tensor
        assert result.dtype == dtype
        expected, magnitude = by_torch(case, given.double()), by_torch(case, given.double().abs()).abs()
        bound = gamma(2 + case.additions_of_pooling(), torch.finfo(dtype).eps / 2) + gamma(held + 2, 2.0**-53)
        assert ((result.double() - expected).abs() <= bound * magnitude).all()
        assert same_bits(result, case.pool(x.to(dtype)))
    for dtype in HALVES:
        given = LAYOUTS[layout](x.to(dtype))
        assert same_bits(case.pool(given), case.pool(given.float()).to(dtype))


@pytest.mark.parametrize("dtype", [*FULL, *HALVES], ids=str)
def test_channels_last_stays(dtype: torch.dtype) -> None:
    x = torch.randn(2, 9, 6, 8).to(dtype).contiguous(memory_format=torch.channels_last)
    result = poolgrad.avg_pool2d(x, 2)
    assert result.is_contiguous(memory_format=torch.channels_last)
    out = torch.empty_like(result)
    assert poolgrad.avg_pool2d(x, 2, out=out) is out
    assert same_bits(out, result)
