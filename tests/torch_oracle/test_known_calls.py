"""torch tensors in calls whose like was judged before: what looks alike and is not still gets its own answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import poolgrad

SHAPE = (1, 2, 4, 4)


def gradient() -> torch.Tensor:
    return torch.arange(8.0).reshape(1, 2, 2, 2)


def places() -> torch.Tensor:
    return torch.arange(8).reshape(1, 2, 2, 2)


def every_function(grad: Any, x: Any, indices: Any, out: Any) -> list[Any]:
    return [
        poolgrad.avg_pool2d_backward(grad, x, 2, out=out),
        poolgrad.avg_pool2d_backward(grad, x, (2, 2), (2, 2), out=out),
        poolgrad.adaptive_avg_pool3d_backward(grad, x, out=out),
        poolgrad.max_pool2d_with_indices_backward(grad, x, indices, 2, out=out),
        poolgrad.adaptive_max_pool2d_backward(grad, x, indices, out=out),
    ]


@pytest.mark.parametrize("x", [SHAPE, torch.Size(SHAPE), torch.zeros(SHAPE)], ids=["shape", "size", "tensor"])
@pytest.mark.parametrize("with_out", [True, False])
def test_known_calls_of_tensors_are_not_judged_again(x: Any, with_out: bool, monkeypatch: Any) -> None:
    def forbid(*arguments: Any) -> Any:
        raise AssertionError("this call should have been known")

    out = torch.empty(SHAPE) if with_out else None
    first = every_function(gradient(), x, places(), None)
    every_function(gradient(), x, places(), out)
    monkeypatch.setattr(poolgrad.run.calls, "_call", forbid)
    again = every_function(gradient(), x, places(), out)
    if with_out:
        assert all(result is out for result in again)
        assert torch.equal(again[-1], first[-1])
    else:
        assert all(torch.equal(one, other) for one, other in zip(again, first, strict=True))
        assert len({result.data_ptr() for result in again}) == len(again)


def negated() -> torch.Tensor:
    return torch.complex(torch.zeros(1, 2, 2, 2), -gradient()).conj().imag


def without_storage() -> torch.Tensor:
    tensor = gradient()
    tensor.untyped_storage().resize_(0)
    return tensor


def with_half_its_storage() -> torch.Tensor:
    tensor = gradient()
    tensor.untyped_storage().resize_(16)
    return tensor


def without_storage_at_an_offset() -> torch.Tensor:
    tensor = torch.arange(-4.0, 8.0)[4:].reshape(1, 2, 2, 2)
    tensor.untyped_storage().resize_(0)
    return tensor


def fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(1, 2, 2, 2)


# Each has the type and shape of a good gradient.
STRANGE: list[tuple[str, Any, str]] = [
    ("negated", negated, "lazily negated"),
    ("storage taken away", without_storage, "no memory"),
    ("storage taken away behind an offset", without_storage_at_an_offset, "no memory"),
    ("half of the storage taken away", with_half_its_storage, "no memory"),
    ("lazy zeros", lambda: torch._efficientzerotensor((1, 2, 2, 2)), "memory"),
    ("tracked", lambda: gradient().requires_grad_(), "requires grad"),
    ("a parameter", lambda: torch.nn.Parameter(gradient()), "requires grad"),
    ("fake", fake, "grad_output"),
    ("meta", lambda: gradient().to("meta"), "on the CPU"),
    ("sparse", lambda: gradient().to_sparse(), "dense"),
]


@pytest.mark.parametrize("line", STRANGE, ids=lambda line: line[0])
@pytest.mark.filterwarnings("ignore")
def test_strange_gradients_after_good_ones(line: tuple[str, Any, str]) -> None:
    _, make, message = line
    for out in (None, torch.empty(SHAPE)):
        for _ in range(2):
            poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2, out=out)
        with pytest.raises(TypeError, match=message):
            poolgrad.avg_pool2d_backward(make(), SHAPE, 2, out=out)


def test_strange_inputs_outputs_and_indices_after_good_ones() -> None:
    x, out, indices = torch.zeros(SHAPE), torch.zeros(SHAPE), places()
    for _ in range(2):
        poolgrad.max_pool2d_with_indices_backward(gradient(), x, indices, 2, out=out)
    with pytest.raises(TypeError, match="x requires grad"):
        poolgrad.max_pool2d_with_indices_backward(gradient(), x.clone().requires_grad_(), indices, 2, out=out)
    with pytest.raises(TypeError, match="out requires grad"):
        poolgrad.max_pool2d_with_indices_backward(gradient(), x, indices, 2, out=out.clone().requires_grad_())
    with pytest.raises(poolgrad.IndexRangeError):
        poolgrad.max_pool2d_with_indices_backward(gradient(), x, indices + 10, 2, out=out)
    with pytest.raises(poolgrad.AclnnError, match="overlaps"):
        poolgrad.max_pool2d_with_indices_backward(out[..., :2, :2], x, indices, 2, out=out)
    for tensor, name in ((x, "x"), (out, "out"), (indices, "indices")):
        tensor.untyped_storage().resize_(0)
        with pytest.raises(TypeError, match=f"{name} has no memory"):
            poolgrad.max_pool2d_with_indices_backward(gradient(), x, indices, 2, out=out)
        tensor.untyped_storage().resize_(8 * tensor.numel())


def test_kinds_are_not_mixed_up() -> None:
    """A tensor and an array of the same shape and type are different calls: the result follows the gradient."""
    for _ in range(3):
        assert type(poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2)) is torch.Tensor
        assert type(poolgrad.avg_pool2d_backward(gradient().numpy(), SHAPE, 2)) is np.ndarray
        out = np.empty(SHAPE, np.float32)
        assert poolgrad.avg_pool2d_backward(gradient(), torch.zeros(SHAPE), 2, out=out) is out
        assert type(poolgrad.avg_pool2d_backward(gradient(), np.zeros(SHAPE, np.float32), 2)) is torch.Tensor


@pytest.mark.filterwarnings("ignore:Accessing the data pointer")  # which torch says once per process
def test_a_mode_that_makes_other_tensors() -> None:
    for _ in range(2):
        poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2)
    grad = gradient()
    with torch.device("meta"):
        assert poolgrad.avg_pool2d_backward(grad, SHAPE, 2).device.type == "cpu"
    with FakeTensorMode(), pytest.raises(TypeError):
        poolgrad.avg_pool2d_backward(grad, SHAPE, 2)


def test_transformed_functions_are_told_no() -> None:
    """Inside vmap a tensor looks like one of a smaller shape, and has no memory of its own."""
    poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2)
    with pytest.raises(TypeError):
        torch.func.vmap(lambda grad: poolgrad.avg_pool2d_backward(grad, SHAPE, 2))(torch.stack([gradient()] * 3))
