"""Masks and torch: its tensors go in and come out, and its maxima are those that a mask stands for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import max_pool2d

import poolgrad

TRAINING = "Atlas training series"
# Sizes, kernel, stride, padding, ceil mode.
CASES = [
    ((2, 17, 12, 14), 2, 2, 0, False),
    ((2, 3, 11, 13), 3, 2, 1, True),
    ((5, 9, 10), (3, 2), (1, 2), (1, 0), False),
    ((2, 3, 7, 7), 1, 2, 0, False),
]


def mixed(shape: tuple[int, ...], dtype: Any) -> Any:
    """Few different numbers, so that many are equal."""
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(5)).to(dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("product", [None, "Atlas A2", TRAINING])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_forward_and_gradient_are_torchs(case: Any, product: str | None, dtype: Any) -> None:
    shape, *windows = case
    kernel, stride, pad, ceil = windows
    x = mixed(shape, dtype)
    values, indices = max_pool2d(x, kernel, stride, pad, 1, ceil, return_indices=True)
    found, mask = poolgrad.max_pool2d_with_mask(x, kernel, stride, pad, 1, ceil, product=product)
    assert isinstance(mask, torch.Tensor)
    assert torch.equal(found, values)
    told = poolgrad.mask_to_indices(mask, x, kernel, stride, pad, 1, ceil, product=product, index_dtype=torch.int64)
    assert isinstance(told, torch.Tensor)
    assert torch.equal(told, indices)
    made = torch.empty_like(mask)
    assert poolgrad.indices_to_mask(indices, shape, kernel, stride, pad, 1, ceil, product=product, out=made) is made
    assert torch.equal(made, mask)
    grad = mixed(tuple(values.shape), dtype)
    watched = x.clone().requires_grad_()
    max_pool2d(watched, kernel, stride, pad, 1, ceil).backward(grad)
    back = poolgrad.max_pool2d_with_mask_backward(grad, x, mask, kernel, stride, pad, 1, ceil, product=product)
    assert torch.equal(back, watched.grad)


@pytest.mark.parametrize("product", [None, TRAINING])
def test_channels_last_goes_through_and_the_mask_stays_in_c_order(product: str | None) -> None:
    x = mixed((2, 16, 8, 8), torch.float32).to(memory_format=torch.channels_last)
    values, mask = poolgrad.max_pool2d_with_mask(x, 2, product=product)
    assert values.is_contiguous(memory_format=torch.channels_last)
    assert mask.is_contiguous()
    view = torch.stack((mask, mask), -1)[..., 1]
    back = poolgrad.max_pool2d_with_mask_backward(values, x, view, 2, product=product)
    assert back.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(back.sum((2, 3)), values.sum((2, 3)))


def test_writing_into_a_tensor_is_a_write_that_autograd_sees() -> None:
    out = torch.zeros((1, 1, 2, 2), dtype=torch.int64)
    before = out._version
    poolgrad.mask_to_indices(poolgrad.max_pool2d_with_mask(torch.ones(1, 1, 4, 4), 2)[1], (1, 1, 4, 4), 2, out=out)
    assert out._version > before
    assert out.flatten().tolist() == [0, 2, 8, 10]
