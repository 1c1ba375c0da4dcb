"""out= with a torch tensor: autograd learns that it was written, and what torch lets nobody write into is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import poolgrad

SHAPE = (1, 2, 4, 4)


def gradient() -> torch.Tensor:
    return torch.arange(8.0).reshape(1, 2, 2, 2)


def places() -> torch.Tensor:
    return torch.tensor([0, 2, 8, 10]).reshape(1, 1, 2, 2).repeat(1, 2, 1, 1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "avg_pool2d": lambda out: poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2, out=out),
    "adaptive_avg_pool3d": lambda out: poolgrad.adaptive_avg_pool3d_backward(gradient(), SHAPE, out=out),
    "max_pool2d": lambda out: poolgrad.max_pool2d_with_indices_backward(gradient(), SHAPE, places(), 2, out=out),
    "adaptive_max_pool2d": lambda out: poolgrad.adaptive_max_pool2d_backward(gradient(), SHAPE, places(), out=out),
}
each_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


def ours(out: torch.Tensor, grad: torch.Tensor | None = None) -> Any:
    return poolgrad.avg_pool2d_backward(gradient() if grad is None else grad, SHAPE, 2, out=out)


def theirs(out: torch.Tensor, grad: torch.Tensor | None = None) -> Any:
    backward = torch.ops.aten.avg_pool2d_backward.grad_input
    grad = gradient() if grad is None else grad
    return backward(grad, torch.zeros(SHAPE), [2, 2], [2, 2], [0, 0], False, True, None, grad_input=out)


@each_function
def test_autograd_notices_that_what_it_kept_was_overwritten(function: Callable[..., Any]) -> None:
    for _ in range(3):  # new calls and known ones
        kept = torch.ones(SHAPE)
        weights = torch.ones(SHAPE, requires_grad=True)
        loss = (weights * kept).sum()
        function(kept)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


@each_function
@pytest.mark.parametrize("layout", ["dense", "a view", "channels last", "detached"])
def test_every_write_counts_as_one(function: Callable[..., Any], layout: str) -> None:
    base = torch.empty(2, *SHAPE)
    parameter = torch.nn.Parameter(torch.empty(SHAPE))
    out, owner = {
        "dense": (base[0].clone(),) * 2,
        "a view": (base[1], base),
        "channels last": (torch.empty(SHAPE).to(memory_format=torch.channels_last),) * 2,
        "detached": (parameter.detach(), parameter),
    }[layout]
    for _ in range(3):
        before = owner._version
        assert function(out) is out
        assert owner._version == before + 1


def test_writes_from_other_kinds_of_arrays_count_too() -> None:
    out = torch.empty(SHAPE)
    for _ in range(2):
        before = out._version
        poolgrad.avg_pool2d_backward(gradient().numpy(), SHAPE, 2, out=out)
        assert out._version == before + 1


def test_inputs_are_not_written() -> None:
    grad, x, indices = gradient(), torch.zeros(SHAPE), places()
    for out in (None, torch.empty(SHAPE), np.empty(SHAPE, np.float32)):
        for _ in range(2):
            poolgrad.max_pool2d_with_indices_backward(grad, x, indices, 2, out=out)
    assert grad._version == x._version == indices._version == 0


def test_what_was_refused_was_not_written_and_what_failed_halfway_was() -> None:
    out = torch.zeros(SHAPE)
    ours(out)
    before = out._version
    with pytest.raises(poolgrad.AclnnError):
        poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2, padding=9, out=out)
    assert out._version == before
    for _ in range(2):
        before = out._version
        with pytest.raises(poolgrad.IndexRangeError):
            poolgrad.max_pool2d_with_indices_backward(gradient(), SHAPE, places() + 90, 2, out=out)
        assert out._version > before


@contextlib.contextmanager
def plain_mode() -> Iterator[None]:
    yield


def made_in_inference_mode() -> torch.Tensor:
    with torch.inference_mode():
        return torch.zeros(SHAPE)


def viewed_without_grad() -> torch.Tensor:
    parameter = torch.nn.Parameter(torch.zeros(2, *SHAPE))
    with torch.no_grad():
        return parameter[0]


MODES: dict[str, Callable[[], Any]] = {
    "plain": plain_mode,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}
OUTPUTS: dict[str, Callable[[], torch.Tensor]] = {
    "ordinary": lambda: torch.zeros(SHAPE),
    "leaf that requires grad": lambda: torch.zeros(SHAPE, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.zeros(SHAPE)),
    "result that requires grad": lambda: torch.zeros(SHAPE, requires_grad=True) * 1,
    "view of a parameter": viewed_without_grad,
    "detached": lambda: torch.zeros(SHAPE, requires_grad=True).detach(),
    "made in inference mode": made_in_inference_mode,
    "expanded channels": lambda: torch.zeros(1, 1, 4, 4).expand(SHAPE),
    "one number": lambda: torch.zeros(()).expand(SHAPE),
}


def refused(call: Callable[[torch.Tensor], Any], mode: Callable[[], Any], out: torch.Tensor) -> bool:
    before = out.detach().clone()
    try:
        with mode():
            assert call(out) is out
    except (TypeError, RuntimeError, poolgrad.AclnnError):
        assert call is theirs or torch.equal(out, before), "torch may notice too late"
        return True
    assert not torch.equal(out, before)
    return False


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", OUTPUTS)
def test_outputs_are_refused_where_torch_refuses_them(kind: str, mode: str) -> None:
    make = OUTPUTS[kind]
    expected = refused(theirs, MODES[mode], make())
    for _ in range(3):  # also when calls that look alike are known
        assert refused(ours, MODES[mode], make()) == expected
        for other in MODES.values():
            refused(ours, other, make())
            refused(ours, other, torch.zeros(SHAPE))
            refused(ours, other, made_in_inference_mode())


def test_the_refusals_say_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"out requires grad.*torch\.no_grad\(\).*out\.detach\(\)"):
        ours(torch.zeros(SHAPE, requires_grad=True))
    with pytest.raises(TypeError, match=r"out was made in torch\.inference_mode\(\).*out\.clone\(\)"):
        ours(made_in_inference_mode())


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_tangents_are_not_lost_in_silence() -> None:
    """torch differentiates no out= forwards either, and our functions no gradient at all."""
    for _ in range(2):
        ours(torch.empty(SHAPE))
        poolgrad.avg_pool2d_backward(gradient(), SHAPE, 2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(gradient(), gradient())
        for out in (None, torch.empty(SHAPE)):
            with pytest.raises(TypeError, match=r"grad_output carries a tangent.*poolgrad\.torch"):
                poolgrad.avg_pool2d_backward(dual, SHAPE, 2, out=out)
        out = forward_ad.make_dual(torch.empty(SHAPE), torch.ones(SHAPE))
        with pytest.raises(TypeError, match="out carries a tangent"):
            ours(out)
        with pytest.raises(NotImplementedError):
            theirs(out)
        assert torch.equal(ours(torch.empty(SHAPE)), theirs(torch.empty(SHAPE)))
