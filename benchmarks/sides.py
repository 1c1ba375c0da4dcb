"""One case on both sides: the same memory through torch's out= variants and through poolgrad, and that they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import ml_dtypes  # noqa: F401 - gives NumPy its bfloat16
import numpy as np
import torch

import poolgrad

from . import memory
from .cases import Case

Call = Callable[[], Any]


@dataclass
class Sides:
    """The calls of a case, ready to be timed. Both write ``out``."""

    case: Case
    by_torch: Call
    by_poolgrad: Call
    out: torch.Tensor
    expected: torch.Tensor
    tolerance: float

    @property
    def calls(self) -> dict[str, Call]:
        return {"torch": self.by_torch, "poolgrad": self.by_poolgrad}


def prepare(case: Case) -> Sides:
    """Make the tensors of a case and the two calls on them."""
    generator = torch.Generator().manual_seed(0)
    dtype = getattr(torch, case.dtype)
    grad = torch.randn(case.grad_shape, generator=generator).to(dtype)
    indices = None if case.averages else _indices(case, generator)
    expected = _by_torch(case, grad, indices)
    tolerance = _tolerance(case, grad)

    memory.begin()
    grad = _laid_out(case, grad)
    x, out = _empty(case, case.x_shape, dtype, memory.UNUSED), _empty(case, case.x_shape, dtype, memory.WRITTEN)
    indices = None if indices is None else _laid_out(case, indices)
    theirs = _torch_call(case, grad, x, indices, out)
    if indices is not None and case.index_dtype == "int32":  # torch knows int64 only
        indices = _laid_out(case, indices.int())
    ours = _poolgrad_call(case, grad, indices, out)
    return Sides(case, theirs, ours, out, expected, tolerance)


def compare(sides: Sides, calls: Mapping[str, Call]) -> None:
    """Run each call once; raise if one is further from the expected result than roundings explain."""
    for name, call in calls.items():
        sides.out.fill_(math.nan)
        call()
        # torch adds halves in half precision here and there; poolgrad adds in float32 and rounds once.
        precision = sides.out.dtype if name == "torch" else torch.float32
        worst = _distance(sides.out, sides.expected, sides.tolerance * torch.finfo(precision).eps)
        if not worst <= 1:
            raise AssertionError(f"{sides.case.name}: {name} is {worst:.3g} times further away than roundings explain")


def _distance(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> float:
    """The largest difference, in units of what is allowed; piece by piece, so that it needs little memory."""
    step = torch.finfo(got.dtype).eps if got.dtype != torch.float32 else 0.0
    worst = 0.0
    for mine, theirs in zip(got, expected, strict=True):
        mine, theirs = mine.float(), theirs.float()
        allowed = theirs.abs().mul_(2 * step).add_(tolerance)
        ratio = mine.sub(theirs).abs_().div_(allowed).nan_to_num_(nan=math.inf).max().item()
        if tolerance == 0:
            ratio = 0.0 if torch.equal(mine, theirs) else math.inf
        worst = max(worst, ratio)
    return worst


def _tolerance(case: Case, grad: torch.Tensor) -> float:
    """What roundings can make of sums of this size, in units of the precision; nothing if windows lie side by side."""
    axes = case.x_shape[2:]
    if case.adaptive:
        sizes = case.grad_shape[2:]
        covering = math.prod(-(-many // size) + 1 for many, size in zip(sizes, axes, strict=True))
        terms = covering if any(size % many for many, size in zip(sizes, axes, strict=True)) else 1
        shrunk = 1
    else:
        terms = math.prod(-(-kernel // stride) for kernel, stride in zip(case.kernel, case.stride, strict=True))
        shrunk = math.prod(case.kernel)
    largest = float(grad.abs().max())
    if not case.averages:
        return 0.0 if terms == 1 else terms * terms * largest
    return (terms + 2) * terms / shrunk * largest


def _indices(case: Case, generator: torch.Generator) -> torch.Tensor:
    """Those of a forward pass over noise."""
    x = torch.randn(case.x_shape, generator=generator)
    functional, axes = torch.nn.functional, case.axes
    if case.adaptive:
        pool = getattr(functional, f"adaptive_max_pool{axes}d")
        return cast(torch.Tensor, pool(x, case.grad_shape[-axes:], return_indices=True)[1])
    pool = getattr(functional, f"max_pool{axes}d")
    return cast(torch.Tensor, pool(x, *case.parameters, return_indices=True)[1])


def _by_torch(case: Case, grad: torch.Tensor, indices: torch.Tensor | None) -> torch.Tensor:
    """The expected result: torch in float32 on contiguous tensors, rounded once."""
    out = torch.empty(case.x_shape)
    _torch_call(case, grad.float(), torch.empty(case.x_shape), indices, out)()
    return out.to(grad.dtype)


def _torch_call(
    case: Case, grad: torch.Tensor, x: torch.Tensor, indices: torch.Tensor | None, out: torch.Tensor
) -> Call:
    name = case.described.python_name.replace("with_argmax", "with_indices")
    if case.adaptive and case.averages and case.axes == 2:  # torch makes a tensor for this one, and copies it
        return partial(torch.ops.aten._adaptive_avg_pool2d_backward.out, grad, x, out=out)
    operator = getattr(torch.ops.aten, name).grad_input
    if case.adaptive:
        return partial(operator, grad, x, *(() if indices is None else (indices,)), grad_input=out)
    if case.averages:
        return partial(operator, grad, x, *case.parameters, False, True, None, grad_input=out)
    return partial(operator, grad, x, *case.parameters, [1] * case.axes, False, indices, grad_input=out)


def _poolgrad_call(case: Case, grad: torch.Tensor, indices: torch.Tensor | None, out: torch.Tensor) -> Call:
    operator = getattr(poolgrad, case.described.python_name)
    arrays = [as_numpy(grad), case.x_shape] + ([] if indices is None else [as_numpy(indices)])
    return partial(operator, *arrays, *case.parameters, out=as_numpy(out))


def as_numpy(tensor: torch.Tensor) -> Any:
    """The same memory as a NumPy array."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.dtype("bfloat16"))
    return tensor.numpy()


def _empty(case: Case, shape: Sequence[int], dtype: torch.dtype, kind: str) -> torch.Tensor:
    """Memory in the layout of the case."""
    if case.layout == "channels_last":
        batch, channels, *sizes = shape
        return _tensor((batch, *sizes, channels), dtype, kind).movedim(-1, 1)
    *outer, height, width = shape
    if case.layout == "transposed":
        return _tensor((*outer, width, height), dtype, kind).transpose(-1, -2)
    if case.layout == "cropped":
        return _tensor((*outer, height + 2, width + 2), dtype, kind)[..., 1:-1, 1:-1]
    if case.layout == "every_second":
        return _tensor((*outer, height, 2 * width), dtype, kind)[..., ::2]
    return _tensor(shape, dtype, kind)


def _tensor(shape: Sequence[int], dtype: torch.dtype, kind: str) -> torch.Tensor:
    return torch.from_numpy(memory.take(kind, math.prod(shape) * dtype.itemsize)).view(dtype).view(*shape)


def _laid_out(case: Case, tensor: torch.Tensor) -> torch.Tensor:
    return _empty(case, tensor.shape, tensor.dtype, memory.READ).copy_(tensor)
