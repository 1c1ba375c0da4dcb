"""Pooling for torch on the CPU: the forward pass is torch's own, the gradient is poolgrad's.

The functions have the names and arguments of ``torch.nn.functional``. They can be differentiated any number of times,
backwards and forwards, by ``torch.autograd`` and by ``torch.func``, and ``torch.func.vmap`` takes them.

One idea makes that short. An average is linear, and so is a maximum once it is known where the maxima stand. A linear
map has two sides: it pools, and its transpose spreads gradients. Each side is the other's gradient, and each is its own
tangent map, so the two classes ``_Pool`` and ``_Spread`` call each other for derivatives of any order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":  # it is there, and lacks something itself
        raise
    raise ModuleNotFoundError(
        "poolgrad.torch needs torch, which is not installed here. Run: pip install torch==2.13.0 "
        '(or, in a checkout of poolgrad: pip install ".[torch]"). '
        "All else of poolgrad works without it.",
        name="torch",
    ) from None
from torch.nn import functional

from . import functional as gradients

__all__ = ["adaptive_avg_pool3d", "adaptive_max_pool2d", "avg_pool2d", "max_pool2d"]


def avg_pool2d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> torch.Tensor:
    """2-D average pooling."""
    numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    sides = _Sides(
        axes=2,
        pool=lambda x, _: functional.avg_pool2d(x, *numbers),
        spread=lambda grad, x, _: gradients.avg_pool2d_backward(grad, x, *numbers),
    )
    return _Pool.apply(input, None, sides)


def adaptive_avg_pool3d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    """3-D adaptive average pooling."""
    if torch.is_autocast_enabled("cpu") and input.dtype in (torch.float16, torch.bfloat16):
        input = input.float()  # as torch does, out of our sight: the gradient would be of another type than the input
    sides = _Sides(
        axes=3,
        pool=lambda x, _: functional.adaptive_avg_pool3d(x, output_size),
        spread=lambda grad, x, _: gradients.adaptive_avg_pool3d_backward(grad, x),
    )
    return _Pool.apply(input, None, sides)


def max_pool2d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """2-D max pooling; with ``return_indices`` also where each maximum stood."""
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    sides = _Sides(
        axes=2,
        pool=_gather,
        spread=lambda grad, x, indices: gradients.max_pool2d_with_indices_backward(grad, x, indices, *numbers),
    )
    output, indices = _Maximum.apply(input, lambda x: functional.max_pool2d(x, *numbers, return_indices=True), sides)
    return (output, indices) if return_indices else output


def adaptive_max_pool2d(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """2-D adaptive max pooling; with ``return_indices`` also where each maximum stood."""
    find = partial(functional.adaptive_max_pool2d, output_size=output_size, return_indices=True)
    sides = _Sides(axes=2, pool=_gather, spread=gradients.adaptive_max_pool2d_backward)
    output, indices = _Maximum.apply(input, find, sides)
    return (output, indices) if return_indices else output


@dataclass(frozen=True)
class _Sides:
    """One pooling as a linear map: what it does to an input, and what its transpose does to a gradient.

    ``indices`` are None for averages. The transpose takes the input for its shape and layout alone.
    """

    axes: int  # along how many axes it pools
    pool: Callable[[Any, Any], Any]  # (x, indices)
    spread: Callable[[Any, Any, Any], Any]  # (grad, x, indices)


def _with_its_signature(forward: Any) -> Any:
    """torch wants to know the signature in every call, and Python makes it anew each time if it is not kept."""
    forward.__signature__ = inspect.signature(forward)
    return forward


class _Pool(torch.autograd.Function):
    """The map itself."""

    generate_vmap_rule = True

    @staticmethod
    @_with_its_signature
    def forward(x: torch.Tensor, indices: torch.Tensor | None, sides: _Sides) -> torch.Tensor:
        return sides.pool(x, indices)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, indices, ctx.sides = inputs
        _save(ctx, x, indices)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor | None) -> tuple[Any, ...]:
        if grad is None:
            return None, None, None
        return _Spread.apply(grad, *ctx.saved_tensors, ctx.sides), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, *_: Any) -> torch.Tensor:
        _, indices = ctx.saved_tensors
        return _Pool.apply(tangent, indices, ctx.sides)


class _Maximum(torch.autograd.Function):
    """Finds the maxima, and is then the map that takes the values at their places."""

    generate_vmap_rule = True

    @staticmethod
    @_with_its_signature
    def forward(x: torch.Tensor, find: Callable[[Any], Any], sides: _Sides) -> tuple[torch.Tensor, torch.Tensor]:
        return find(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
        x, _, ctx.sides = inputs
        _, indices = output
        ctx.mark_non_differentiable(indices)
        _save(ctx, x, indices)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor | None, _: Any) -> tuple[Any, ...]:
        return _Pool.backward(ctx, grad)

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, *_: Any) -> tuple[torch.Tensor, None]:
        return _Pool.jvp(ctx, tangent), None


class _Spread(torch.autograd.Function):
    """The transposed map. ``x`` is there for its shape and layout; its values are never read."""

    @staticmethod
    @_with_its_signature
    def forward(grad: torch.Tensor, x: torch.Tensor, indices: torch.Tensor | None, sides: _Sides) -> torch.Tensor:
        try:
            grad, x = grad.detach(), x.detach()
        except RuntimeError:  # as the tensors of torch's older vmap answer
            return _spread_in_older_vmap(grad, x, indices, sides)
        return sides.spread(grad, x, indices)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        _, x, indices, ctx.sides = inputs
        _save(ctx, x, indices)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor | None) -> tuple[Any, ...]:
        if grad is None:
            return None, None, None, None
        x, indices = ctx.saved_tensors
        # torch's own gradients depend on x too, with a derivative of zero: whoever asks for it gets zeros, no error.
        zeros = torch.zeros_like(x) if ctx.needs_input_grad[1] else None
        return _Pool.apply(grad, indices, ctx.sides), zeros, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor | None, *_: Any) -> torch.Tensor:
        x, indices = ctx.saved_tensors
        return torch.zeros_like(x) if tangent is None else _Spread.apply(tangent, x, indices, ctx.sides)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], grad: Any, x: Any, indices: Any, sides: _Sides) -> tuple[Any, int]:
        many = info.batch_size
        one = x if in_dims[1] is None else x.select(in_dims[1], 0)
        grads, places = _stack(grad, in_dims[0], many), _stack(indices, in_dims[2], many)
        return _spread_together(grads, one, places, sides), 0


def _save(ctx: Any, x: torch.Tensor, indices: torch.Tensor | None) -> None:
    ctx.save_for_backward(x, indices)
    ctx.save_for_forward(x, indices)
    ctx.set_materialize_grads(False)


def _gather(x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    *planes, height, width = x.shape
    places = indices.reshape(*planes, indices.shape[-2] * indices.shape[-1])
    return x.reshape(*planes, height * width).gather(-1, places).reshape(indices.shape)


def _stack(tensor: torch.Tensor | None, axis: int | None, many: int) -> Any:
    """The tensors of ``many`` calls along the first axis; all have the same one if no axis tells them apart."""
    if tensor is None:
        return None
    return tensor.expand(many, *tensor.shape) if axis is None else tensor.movedim(axis, 0)


def _spread_together(grads: Any, x: torch.Tensor, indices: Any, sides: _Sides) -> torch.Tensor:
    """Many calls as one whose batch holds them all. One ``x`` will do, since it is not read."""
    many = len(grads)
    if x.dim() == sides.axes + 1:  # one call has no batch
        return _Spread.apply(grads, x.expand(many, *x.shape), indices, sides)
    batch = len(x)
    result = _Spread.apply(
        grads.flatten(0, 1),
        x[:1].expand(many * batch, *x.shape[1:]),
        None if indices is None else indices.flatten(0, 1),
        sides,
    )
    return result.unflatten(0, (many, batch))


def _spread_in_older_vmap(grad: torch.Tensor, x: torch.Tensor, indices: Any, sides: _Sides) -> torch.Tensor:
    """torch.autograd itself (vectorize=True, is_grads_batched=True) has a vmap that asks no function for its rule.

    It hides the batch from us: we take the gradient out of it, and put the result in.
    """
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    grads = torch._remove_batch_dim(grad, level, 1, 0)
    return torch._add_batch_dim(_spread_together(grads, x, _stack(indices, None, len(grads)), sides), 0, level)
