"""poolgrad.torch: gradients through autograd, against torch's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import poolgrad.torch
from poolgrad.operators import REGISTRY, forward_of

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


GRADIENTS = {operator.torch: operator for operator in REGISTRY.values() if operator.torch and operator.is_gradient}


def test_every_function_is_among_them() -> None:
    assert {name for name, _, _ in CALLS} == set(GRADIENTS)


def check_pooled(name: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Maxima are torch's; means of float64 may be added in another order, and lie in the same layout."""
    assert ours.dtype == theirs.dtype
    assert ours.stride() == theirs.stride()
    exact = {"rtol": 0.0, "atol": 0.0}
    torch.testing.assert_close(
        ours, theirs, equal_nan=True, **({"rtol": 1e-14, "atol": 1e-14} if GRADIENTS[name].averages else exact)
    )


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
    check_pooled(name, mine, other)
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


POOLED_BY_US = [call for call in CALLS if forward_of(GRADIENTS[call[0]])]


class Watched:
    """The shapes that a function of ``poolgrad.functional`` was called with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.shapes: list[tuple[int, ...]] = []
        function = getattr(poolgrad.functional, name)

        def watched(x: Any, **numbers: Any) -> Any:
            result = function(x, **numbers)
            self.shapes.append(tuple(x.shape))
            return result

        monkeypatch.setattr(poolgrad.functional, name, watched)


def watched_forward(monkeypatch: pytest.MonkeyPatch, name: str) -> Watched:
    forward = forward_of(GRADIENTS[name])
    assert forward is not None
    return Watched(monkeypatch, forward.python_name)


@pytest.mark.parametrize(("name", "shape", "arguments"), POOLED_BY_US)
def test_the_forward_pass_is_ours(
    name: str, shape: tuple[int, ...], arguments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = watched_forward(monkeypatch, name)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    pool = lambda x: getattr(poolgrad.torch, name)(x, *arguments)  # noqa: E731
    pool(x).sum().backward()
    assert ours.shapes == [shape]
    many = torch.randn(4, *shape, dtype=torch.float64)
    check_pooled(
        name, torch.func.vmap(pool)(many), torch.stack([getattr(functional, name)(x, *arguments) for x in many])
    )
    has_batch = len(shape) == len(GRADIENTS[name].axes) + 2
    assert ours.shapes[1:] == [(4 * shape[0], *shape[1:]) if has_batch else (4, *shape)], "all of them in one call"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("name", "shape", "arguments"), [c for c in POOLED_BY_US if not GRADIENTS[c[0]].averages])
def test_ties_nan_and_their_places_are_torchs(
    name: str, shape: tuple[int, ...], arguments: Any, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = watched_forward(monkeypatch, name)
    torch.manual_seed(4)
    x = torch.randint(-2, 2, shape).to(dtype)
    x[torch.rand(shape) < 0.2] = torch.nan
    x[torch.rand(shape) < 0.1] = -torch.inf
    for laid_out in (x, x.to(memory_format=torch.channels_last)) if x.dim() == 4 else (x,):
        mine, places = getattr(poolgrad.torch, name)(laid_out, *arguments, return_indices=True)
        other, expected = getattr(functional, name)(laid_out, *arguments, return_indices=True)
        check_pooled(name, mine, other)
        assert torch.equal(places, expected)
        assert places.stride() == expected.stride()
    assert ours.shapes


LAYOUTS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: x.movedim(1, -1).contiguous().movedim(-1, 1),
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "cropped": lambda x: functional.pad(x, (1, 1, 1, 1))[..., 1:-1, 1:-1],
    "one image for all": lambda x: x[:1].expand_as(x),
    "one channel": lambda x: x[:, :1].contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x[:, :1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "shape", "arguments"), [c for c in CALLS if len(c[1]) > 3])
def test_results_lie_in_memory_as_torchs(name: str, shape: tuple[int, ...], arguments: Any, layout: str) -> None:
    x = LAYOUTS[layout](torch.randn(shape, dtype=torch.float64))
    check_pooled(name, getattr(poolgrad.torch, name)(x, *arguments), getattr(functional, name)(x, *arguments))


PLAIN = torch.arange(32.0).reshape(1, 2, 4, 4)
BAD = [
    ("max_pool2d", PLAIN, (3, 2, 2)),
    ("max_pool2d", PLAIN, (0,)),
    ("max_pool2d", PLAIN, (5,)),
    ("max_pool2d", PLAIN, (2, 0)),
    ("max_pool2d", PLAIN, (2.5,)),
    ("max_pool2d", PLAIN, (None,)),
    ("max_pool2d", PLAIN, ((2, 2, 2),)),
    ("max_pool2d", PLAIN[0, 0], (2,)),
    ("max_pool2d", PLAIN.bool(), (2,)),
    ("max_pool2d", PLAIN.to(torch.complex64), (2,)),
    ("avg_pool2d", PLAIN, (2, 2, 0, False, True, 0)),
    ("avg_pool2d", PLAIN.int(), (2,)),
    ("avg_pool3d", PLAIN, (5,)),
    ("adaptive_avg_pool2d", PLAIN, (-1,)),
    ("adaptive_max_pool2d", PLAIN, ((2, 2, 2),)),
]


@pytest.mark.parametrize("place", range(len(BAD)))
def test_errors_are_torchs(place: int) -> None:
    name, x, arguments = BAD[place]
    options = (
        {} if GRADIENTS[name].averages else {"return_indices": True}
    )  # without, torch calls itself by another name
    said = []
    for module in (poolgrad.torch, functional):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as error:
            getattr(module, name)(x, *arguments, **options)
        said.append((error.type, str(error.value)))
    assert said[0] == said[1]


def test_what_only_torch_pools_is_pooled_by_torch() -> None:
    """Integers, sizes of zero, tensors without memory."""
    integers = torch.randint(0, 99, (1, 2, 6, 6))
    assert torch.equal(poolgrad.torch.max_pool2d(integers, 3, 2), functional.max_pool2d(integers, 3, 2))
    assert poolgrad.torch.adaptive_avg_pool2d(PLAIN, 0).shape == (1, 2, 0, 0)
    assert poolgrad.torch.max_pool2d(PLAIN.to("meta"), 2).shape == (1, 2, 2, 2)
    with torch._subclasses.FakeTensorMode() as mode:
        assert poolgrad.torch.max_pool2d(mode.from_tensor(PLAIN), 2).shape == (1, 2, 2, 2)


@pytest.mark.filterwarnings("ignore:.* should not be instantiated:DeprecationWarning")  # as torch's compiler does
def test_who_takes_down_what_torch_does_sees_it() -> None:
    pool = lambda x: poolgrad.torch.max_pool2d(x, 2)  # noqa: E731
    taken_down = torch.fx.experimental.proxy_tensor.make_fx(pool)(PLAIN)
    assert torch.equal(taken_down(-PLAIN), functional.max_pool2d(-PLAIN, 2))
    compiled = torch.compile(pool, backend="eager", fullgraph=False)
    assert torch.equal(compiled(PLAIN), functional.max_pool2d(PLAIN, 2))


@pytest.mark.parametrize(
    "name", ["adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool3d"]
)
def test_results_are_laid_out_as_torchs_whatever_axes_of_one_element_say(name: str) -> None:
    axes = int(name[-2])
    turned = torch.randn((2, 3, *[2] * (axes - 2), 1, 4)).transpose(-1, -2)
    assert turned.is_contiguous()
    for x in (turned, torch.randn((3, 3, *[1] * axes)).movedim(1, -1).contiguous().movedim(-1, 1)):
        ours, theirs = (getattr(module, name)(x, 3) for module in (poolgrad.torch, functional))
        assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("name", sorted(poolgrad.torch.__all__))
def test_arrays_are_sent_where_they_are_taken(name: str) -> None:
    own = "poolgrad.(adaptive_)?(avg|max)_pool[23]d"
    with pytest.raises(TypeError, match=rf"input must be a torch tensor, got ndarray\. .* or call {own}.*NumPy arrays"):
        getattr(poolgrad.torch, name)(np.ones((1, 2, 4, 4, 4)), 2)


@pytest.mark.parametrize("is_usual", [True, False])
def test_windows_without_an_element_are_refused_before_a_gradient_looks_for_one(is_usual: bool) -> None:
    """torch gives them an index outside the plane."""
    x = torch.ones(1, 2, 1, 8) if is_usual else torch.ones(1, 2, 8, 1).transpose(2, 3)[..., ::1]
    for function, input, numbers in (
        (poolgrad.torch.max_pool2d, x, (2, (1, 2), (1, 0), (2, 1))),
        (poolgrad.torch.max_pool3d, x[None], (2, (2, 1, 2), (1, 1, 0), (1, 2, 1))),
    ):
        with pytest.raises(poolgrad.AclnnError, match="dilation: expected one that leaves an element in every window"):
            function(input, *numbers)
    assert poolgrad.torch.max_pool2d(x, (1, 2), 2, 0, (2, 1)).shape == (1, 2, 1, 4), "no window is empty here"
