"""Pooling for torch on the CPU: the forward pass is torch's own, the gradient is poolgrad's.

The functions have the names and arguments of ``torch.nn.functional`` and take part in autograd once (the gradient of
the gradient is not defined).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable
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
    return _AvgPool2d.apply(input, (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))


def adaptive_avg_pool3d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    """3-D adaptive average pooling."""
    return _AdaptiveAvgPool3d.apply(input, output_size)


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
    output, indices = _MaxPool2d.apply(input, (kernel_size, stride, padding, dilation, ceil_mode))
    return (output, indices) if return_indices else output


def adaptive_max_pool2d(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """2-D adaptive max pooling; with ``return_indices`` also where each maximum stood."""
    output, indices = _AdaptiveMaxPool2d.apply(input, output_size)
    return (output, indices) if return_indices else output


class _AvgPool2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, arguments: tuple[Any, ...]) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.arguments = arguments
        return functional.avg_pool2d(x, *arguments)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        (x,) = ctx.saved_tensors
        return gradients.avg_pool2d_backward(grad.detach(), x.detach(), *ctx.arguments), None


class _AdaptiveAvgPool3d(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, output_size: Any) -> torch.Tensor:
        ctx.save_for_backward(x)
        return functional.adaptive_avg_pool3d(x, output_size)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        (x,) = ctx.saved_tensors
        return gradients.adaptive_avg_pool3d_backward(grad.detach(), x.detach()), None


class _MaxPool2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, arguments: tuple[Any, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        output, indices = functional.max_pool2d(x, *arguments, return_indices=True)
        ctx.save_for_backward(x, indices)
        ctx.arguments = arguments
        ctx.mark_non_differentiable(indices)
        return output, indices

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor, _: Any) -> tuple[Any, ...]:
        x, indices = ctx.saved_tensors
        return gradients.max_pool2d_with_indices_backward(grad.detach(), x.detach(), indices, *ctx.arguments), None


class _AdaptiveMaxPool2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, output_size: Any) -> tuple[torch.Tensor, torch.Tensor]:
        output, indices = functional.adaptive_max_pool2d(x, output_size, return_indices=True)
        ctx.save_for_backward(x, indices)
        ctx.mark_non_differentiable(indices)
        return output, indices

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor, _: Any) -> tuple[Any, ...]:
        x, indices = ctx.saved_tensors
        return gradients.adaptive_max_pool2d_backward(grad.detach(), x.detach(), indices), None
