"""poolgrad.torch: gradients through autograd, against torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

import poolgrad.torch
from poolgrad.operators import REGISTRY

CALLS = [
    ("avg_pool2d", (2, 3, 9, 8), (3, 2, 1, True, False)),
    ("avg_pool2d", (3, 9, 8), (2,)),
    ("adaptive_avg_pool3d", (2, 3, 4, 5, 6), ((2, 3, 4),)),
    ("max_pool2d", (2, 3, 9, 8), (3, 2, 1, 1, True)),
    ("max_pool2d", (2, 3, 9, 8), (2, 1, 0, 2)),
    ("adaptive_max_pool2d", (2, 3, 9, 8), ((4, 3),)),
    ("avg_pool3d", (2, 3, 5, 6, 4), (3, 2, 1, True, False)),
    ("adaptive_avg_pool2d", (2, 3, 9, 8), ((4, 3),)),
    ("max_pool3d", (2, 3, 5, 6, 4), (3, 2, 1, 1, True)),
    ("adaptive_max_pool3d", (2, 3, 5, 6, 4), ((2, 3, 2),)),
]


def test_every_function_is_among_them() -> None:
    assert {name for name, _, _ in CALLS} == {operator.torch for operator in REGISTRY.values() if operator.torch}


@pytest.mark.parametrize(("name", "shape", "arguments"), CALLS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_gradients_are_torchs(name: str, shape: tuple[int, ...], arguments: Any, channels_last: bool) -> None:
    torch.manual_seed(0)
    ours = torch.randn(shape, dtype=torch.float64)
    if channels_last and len(shape) == 4:
        ours = ours.to(memory_format=torch.channels_last)
    theirs = ours.clone().requires_grad_()
    ours.requires_grad_()
    mine, other = getattr(poolgrad.torch, name)(ours, *arguments), getattr(functional, name)(theirs, *arguments)
    assert torch.equal(mine, other)
    weights = torch.randn_like(mine)
    (mine * weights).sum().backward()
    (other * weights).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ["max_pool2d", "adaptive_max_pool2d"])
def test_indices_on_demand(name: str) -> None:
    x = torch.randn(1, 2, 6, 6, requires_grad=True)
    output, indices = getattr(poolgrad.torch, name)(x, 3, return_indices=True)
    expected, places = getattr(functional, name)(x, 3, return_indices=True)
    assert torch.equal(output, expected)
    assert torch.equal(indices, places)
    assert not indices.requires_grad


def test_numerical_gradient() -> None:
    x = torch.randn(1, 2, 6, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: poolgrad.torch.avg_pool2d(x, 3, 2, 1), x)


def test_training_reaches_the_same_weights() -> None:
    """A small network, trained a few steps with either gradient, ends with nearly the same weights."""

    def train(pool: Any) -> torch.Tensor:
        torch.manual_seed(1)
        layer = torch.nn.Conv2d(3, 4, 3, dtype=torch.float64)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        x, target = torch.randn(2, 3, 12, 12, dtype=torch.float64), torch.randn(2, 4, 5, 5, dtype=torch.float64)
        for _ in range(5):
            optimizer.zero_grad()
            functional.mse_loss(pool(layer(x), 2), target).backward()
            optimizer.step()
        return layer.weight.detach()

    for name in ("avg_pool2d", "max_pool2d"):
        torch.testing.assert_close(
            train(getattr(poolgrad.torch, name)), train(getattr(functional, name)), rtol=1e-12, atol=1e-12
        )


def test_a_first_derivative_with_its_graph_kept() -> None:
    x = torch.randn(1, 2, 8, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(poolgrad.torch.avg_pool2d(x, 2).pow(2).sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad(functional.avg_pool2d(x, 2).pow(2).sum(), x)
    torch.testing.assert_close(grad.detach(), expected)


def test_autocast() -> None:
    """Where torch widens the input of a pooling by itself, gradients go back as they came."""
    for name, shape in (("adaptive_avg_pool3d", (1, 2, 4, 4, 4)), ("avg_pool2d", (1, 2, 4, 4))):
        results = []
        for module in (poolgrad.torch, functional):
            x = torch.arange(0, 1, 1 / torch.Size(shape).numel(), dtype=torch.bfloat16).reshape(shape).requires_grad_()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                output = getattr(module, name)(x, 2)
            output.sum().backward()
            results.append((output, x.grad))
        (mine, ours), (other, theirs) = results
        assert mine.dtype == other.dtype
        assert ours.dtype == theirs.dtype
        assert torch.equal(mine, other)
        assert torch.equal(ours, theirs)
