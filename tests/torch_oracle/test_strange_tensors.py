"""Tensors that have a shape but no ordinary memory behind it: a clear error, never a crash."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import poolgrad


def without_storage() -> torch.Tensor:
    tensor = torch.ones(1, 1, 2, 2)
    tensor.untyped_storage().resize_(0)
    return tensor


def fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(1, 1, 2, 2)


STRANGE: list[tuple[str, Any]] = [
    ("storage taken away", without_storage),
    ("lazy zeros", lambda: torch._efficientzerotensor((1, 1, 2, 2))),
    ("fake", fake),
    ("meta", lambda: torch.ones(1, 1, 2, 2, device="meta")),
    ("sparse", lambda: torch.ones(1, 1, 2, 2).to_sparse()),
    ("nested", lambda: torch.nested.nested_tensor([torch.ones(1, 2, 2)])),
]


@pytest.mark.parametrize("line", STRANGE, ids=lambda line: line[0])
@pytest.mark.filterwarnings("ignore")
def test_strange_gradients(line: tuple[str, Any]) -> None:
    with pytest.raises(TypeError, match="grad_output"):
        poolgrad.avg_pool2d_backward(line[1](), (1, 1, 4, 4), 2)


def test_strange_outputs() -> None:
    out = torch.ones(1, 1, 4, 4)
    out.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match="out"):
        poolgrad.avg_pool2d_backward(torch.ones(1, 1, 2, 2), (1, 1, 4, 4), 2, out=out)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer")  # which torch says once per process
def test_results_that_would_be_fake() -> None:
    grad = torch.ones(1, 1, 2, 2)
    with FakeTensorMode(), pytest.raises(TypeError, match=r"memory|data pointer"):
        poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2)


@pytest.mark.parametrize("shape", [(2, 1, 4, 4), (2, 3, 4, 4), (1, 3, 1, 4)])
def test_layout_is_torchs_own(shape: tuple[int, ...]) -> None:
    dense = torch.zeros(shape).to(memory_format=torch.channels_last)
    for x in (dense, dense[:1].expand(shape)):
        grad = torch.ones(shape[0], shape[1], max(shape[2] // 2, 1), shape[3] // 2)
        result = poolgrad.avg_pool2d_backward(grad, x, (min(2, shape[2]), 2))
        assert result.stride() == torch.empty_like(x).stride()
