"""Derivatives of poolgrad.torch beyond the first backward pass: higher ones, forward ones, and those of torch.func."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import functional as transforms
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch.nn import functional

import poolgrad
import poolgrad.torch
from poolgrad.operators import REGISTRY

CALLS = [
    ("avg_pool2d", (2, 2, 4, 3), (3, 2, 1, True, False)),
    ("avg_pool2d", (2, 4, 3), (2, 1)),
    ("adaptive_avg_pool3d", (2, 2, 2, 3, 2), ((1, 2, 3),)),
    ("adaptive_avg_pool3d", (2, 2, 3, 3), ((2, None, 2),)),
    ("max_pool2d", (2, 2, 4, 3), (3, 2, 1, 1, True)),
    ("max_pool2d", (2, 4, 4), (2, 1, 0, 2)),
    ("adaptive_max_pool2d", (2, 2, 4, 3), ((3, 2),)),
    ("adaptive_max_pool2d", (2, 4, 3), ((3, 2),)),
    ("avg_pool3d", (1, 2, 3, 3, 2), (2, 1, 1)),
    ("adaptive_avg_pool2d", (2, 2, 4, 3), ((3, 2),)),
    ("max_pool3d", (1, 2, 3, 3, 2), (2, 1)),
    ("adaptive_max_pool3d", (1, 2, 2, 3, 2), ((2, 2, 1),)),
]
each_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}-{len(call[1])}d")

# What torch itself runs into when it first differentiates forwards, and in linearize.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]

Call = tuple[str, tuple[int, ...], tuple[Any, ...]]
Pool = Callable[[torch.Tensor], torch.Tensor]


def both(call: Call) -> tuple[Pool, Pool]:
    name, _, arguments = call
    return (
        lambda x: getattr(poolgrad.torch, name)(x, *arguments),
        lambda x: getattr(functional, name)(x, *arguments),
    )


def test_every_function_is_among_them() -> None:
    assert {name for name, _, _ in CALLS} == {op.torch for op in REGISTRY.values() if op.torch and op.is_gradient}


def distinct(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    """Numbers so far apart that small steps leave every maximum where it is."""
    count = torch.Size(shape).numel()
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed)).double().reshape(shape) / count


def cubed(pool: Pool) -> Pool:
    return lambda x: pool(x).pow(3).sum()


def check(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-13, atol=1e-13)


@each_call
def test_against_differences(call: Call) -> None:
    """torch's own checks, with every one of their ways to come by a derivative."""
    ours, _ = both(call)
    x = distinct(call[1]).requires_grad_()
    assert torch.autograd.gradcheck(
        ours, x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(ours, x, check_fwd_over_rev=True, check_batched_grad=True)


@each_call
def test_transforms_of_autograd(call: Call) -> None:
    ours, theirs = both(call)
    x, v = distinct(call[1]), distinct(call[1], seed=1)
    expected = transforms.hessian(cubed(theirs), x)
    assert expected.abs().max() > 0
    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        check(transforms.hessian(cubed(ours), x, **options), expected)
    expected = transforms.jacobian(theirs, x)
    for options in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        check(transforms.jacobian(ours, x, **options), expected)
    check(transforms.jvp(ours, x, v)[1], transforms.jvp(theirs, x, v)[1])
    for transform in (transforms.jvp, transforms.hvp, transforms.vhp):
        check(transform(cubed(ours), x, v)[1], transform(cubed(theirs), x, v)[1])


TRANSFORMS: dict[str, Callable[[Pool, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "grad": lambda pool, x, v: grad(cubed(pool))(x),
    "vjp": lambda pool, x, v: vjp(cubed(pool), x)[1](x.new_ones(()))[0],
    "jvp": lambda pool, x, v: jvp(pool, (x,), (v,))[1],
    "linearize": lambda pool, x, v: linearize(pool, x)[1](v),
    "jacrev": lambda pool, x, v: jacrev(pool)(x),
    "jacfwd": lambda pool, x, v: jacfwd(pool)(x),
    "hessian": lambda pool, x, v: hessian(cubed(pool))(x),
    "backwards twice": lambda pool, x, v: jacrev(jacrev(cubed(pool)))(x),
    "forwards, then backwards": lambda pool, x, v: jacrev(jacfwd(cubed(pool)))(x),
    "forwards twice": lambda pool, x, v: jacfwd(jacfwd(cubed(pool)))(x),
    "hessian times vector": lambda pool, x, v: jvp(grad(cubed(pool)), (x,), (v,))[1],
    "third": lambda pool, x, v: grad(lambda x: grad(lambda x: grad(cubed(pool))(x).pow(2).sum())(x).pow(2).sum())(x),
    "vmap": lambda pool, x, v: vmap(pool)(torch.stack([x, v, -x])),
    "vmap along another axis": lambda pool, x, v: vmap(pool, in_dims=2, out_dims=1)(torch.stack([x, v, -x], 2)),
    "gradient of vmap": lambda pool, x, v: grad(lambda many: vmap(cubed(pool))(many).sum())(torch.stack([x, v, -x])),
    "vmap of grad": lambda pool, x, v: vmap(grad(cubed(pool)))(torch.stack([x, v, -x])),
    "vmap of vmap": lambda pool, x, v: vmap(vmap(grad(cubed(pool)), in_dims=1))(torch.stack([x, v]).unsqueeze(2)),
    "vmap of hessian": lambda pool, x, v: vmap(hessian(cubed(pool)))(torch.stack([x, v])),
    "vmap of x alone": lambda pool, x, v: vmap(lambda one: vjp(pool, one)[1](pool(v))[0])(torch.stack([x, -x])),
    "vmap of the gradient alone": lambda pool, x, v: vmap(vjp(pool, x)[1])(torch.stack([pool(x), pool(v)]))[0],
}


@each_call
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_func(call: Call, name: str) -> None:
    ours, theirs = both(call)
    x, v = distinct(call[1]), distinct(call[1], seed=1)
    expected = TRANSFORMS[name](theirs, x, v)
    assert expected.abs().max() > 0
    check(TRANSFORMS[name](ours, x, v), expected)


@each_call
def test_third_derivatives_of_autograd(call: Call) -> None:
    def third(pool: Pool) -> torch.Tensor:
        x = distinct(call[1]).requires_grad_()
        value = pool(x).pow(4).sum()
        for _ in range(3):
            (gradient,) = torch.autograd.grad(value, x, create_graph=True)
            value = gradient.pow(2).sum()
        return gradient.detach()

    ours, theirs = map(third, both(call))
    assert theirs.abs().max() > 0
    check(ours, theirs)


@each_call
def test_a_zero_derivative_is_no_error(call: Call) -> None:
    """The gradient of a sum does not depend on x. torch answers zeros to who asks for its derivative."""
    for pool in both(call):
        x = distinct(call[1]).requires_grad_()
        (gradient,) = torch.autograd.grad(pool(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(gradient.pow(2).sum(), x)
        assert torch.equal(second, torch.zeros_like(x))


POOLS = [
    ("max_pool2d", (3, 2, 1)),
    ("avg_pool2d", (3, 2, 1)),
    ("adaptive_max_pool2d", (3,)),
]


def network(module: Any, name: str, arguments: tuple[Any, ...]) -> torch.nn.Module:
    class Pooling(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return getattr(module, name)(x, *arguments)  # type: ignore[no-any-return]

    torch.manual_seed(2)
    layers = torch.nn.Conv2d(2, 3, 3), torch.nn.Tanh(), Pooling(), torch.nn.Flatten(), torch.nn.LazyLinear(1)
    return torch.nn.Sequential(*layers).double()


@pytest.mark.parametrize(("name", "arguments"), POOLS)
def test_a_gradient_penalty_is_torchs(name: str, arguments: tuple[Any, ...]) -> None:
    """As critics are trained: the gradient's norm is part of the loss."""

    def train(module: Any) -> list[torch.Tensor]:
        critic, x = network(module, name, arguments), distinct((4, 2, 8, 8)).requires_grad_()
        (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        penalty = (gradient.flatten(1).norm(dim=1) - 1).pow(2).sum()
        penalty.backward()
        return [penalty.detach(), x.grad, *(p.grad for p in critic.parameters() if p.grad is not None)]

    ours, theirs = train(poolgrad.torch), train(functional)
    assert len(ours) == len(theirs) == 5
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "arguments"), POOLS)
def test_gradients_of_each_sample(name: str, arguments: tuple[Any, ...]) -> None:
    x = distinct((4, 2, 8, 8))
    model = network(poolgrad.torch, name, arguments)
    model(x)
    weights = {key: value.detach() for key, value in model.named_parameters()}

    def loss(weights: dict[str, torch.Tensor], sample: torch.Tensor) -> torch.Tensor:
        return functional_call(model, weights, (sample.unsqueeze(0),)).pow(2).sum()

    found = vmap(grad(loss), in_dims=(None, 0))(weights, x)
    for place, sample in enumerate(x):
        model.zero_grad()
        model(sample.unsqueeze(0)).pow(2).sum().backward()
        for key, value in model.named_parameters():
            torch.testing.assert_close(found[key][place], value.grad, rtol=1e-12, atol=1e-14)


@each_call
def test_the_gradient_is_still_ours(call: Call, monkeypatch: Any) -> None:
    """In every transform poolgrad spreads gradients, also those of a whole batch in one call."""
    operator = next(op for op in REGISTRY.values() if op.torch == call[0] and op.is_gradient)
    name = operator.python_name
    original, shapes = getattr(poolgrad.functional, name), []

    def watched(grad_output: Any, *arguments: Any) -> Any:
        shapes.append(tuple(grad_output.shape))
        return original(grad_output, *arguments)

    monkeypatch.setattr(poolgrad.functional, name, watched)
    ours, theirs = both(call)
    x, v = distinct(call[1]), distinct(call[1], seed=1)
    TRANSFORMS["vmap of grad"](ours, x, v)
    one = tuple(theirs(x).shape)
    has_batch = len(one) == len(operator.axes) + 2
    assert shapes == [(3 * one[0], *one[1:]) if has_batch else (3, *one)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("call", [call for call in CALLS if call[0] != "avg_pool3d"])  # torch's takes no halves
def test_half_precision(call: Call, dtype: torch.dtype) -> None:
    """The gradient's derivative is the pooling of what comes in, rounded once."""
    ours, _ = both(call)
    x = distinct(call[1]).to(dtype).requires_grad_()
    output = ours(x)
    weights, incoming = torch.ones_like(output, requires_grad=True), distinct(call[1]).to(dtype)
    (gradient,) = torch.autograd.grad(output, x, weights, create_graph=True)
    (second,) = torch.autograd.grad(gradient, weights, incoming)
    assert gradient.dtype == second.dtype == dtype
    # incoming has the order of x, so maxima are at the same places
    expected = ours(incoming.double())
    torch.testing.assert_close(second.double(), expected, rtol=torch.finfo(dtype).eps, atol=1e-7)


def test_empty_batches() -> None:
    x = torch.empty(0, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    for name in ("avg_pool2d", "max_pool2d", "adaptive_max_pool2d"):
        pool = getattr(poolgrad.torch, name)
        (gradient,) = torch.autograd.grad(pool(x, 2).pow(2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(gradient.sum(), x)
        assert second.shape == x.shape
        assert vmap(grad(lambda x: pool(x, 2).sum()))(torch.empty(3, 0, 2, 4, 4)).shape == (3, 0, 2, 4, 4)  # noqa: B023
