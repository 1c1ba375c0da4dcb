"""One case on both sides: the same memory through torch's out= variants and through poolgrad, and that they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes  # noqa: F401 - gives NumPy its bfloat16
import numpy as np
import torch

import poolgrad
from poolgrad.contract.operator import Operator

from . import memory
from .cases import Case

Call = Callable[[], Any]


@dataclass
class Result:
    """What a side writes, what it should be, and how far roundings may take it from that, in units of the precision."""

    out: torch.Tensor
    expected: torch.Tensor
    tolerance: float


@dataclass
class Side:
    """A call, ready to be timed, and what it writes. Where torch has no out=, the last result is a new tensor."""

    call: Call
    results: tuple[Result, ...]
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)  # of one operator, by its documented names


@dataclass
class Sides:
    """The calls of a case. Both sides write the same memory, but for indices of another type."""

    case: Case
    torch: Side
    poolgrad: Side

    @property
    def calls(self) -> dict[str, Call]:
        return {"torch": self.torch.call, "poolgrad": self.poolgrad.call}


def prepare(case: Case) -> Sides:
    """Make the tensors of a case and the two calls on them."""
    generator = torch.Generator().manual_seed(0)
    dtype = getattr(torch, case.dtype)
    grad = torch.randn(case.grad_shape, generator=generator).to(dtype)
    x = torch.randn(case.x_shape, generator=generator)
    x = x.to(dtype) if case.pools else x  # of gradients only the maxima of x are asked for
    pooled, indices = _pooled(case, x.float()) if case.pools or not case.averages else (None, None)
    spread = _spread(case, grad, indices) if case.spreads else None
    tolerance = _tolerance(case, grad)

    memory.begin()
    x = _laid_out(case, x) if case.pools else _empty(case, case.x_shape, dtype, memory.UNUSED)
    calls: dict[str, list[Call]] = {"torch": [], "poolgrad": []}
    results: dict[str, list[Result]] = {"torch": [], "poolgrad": []}
    places = {} if indices is None else _places(case, indices, results)
    theirs, ours = places.get("torch"), places.get("poolgrad")
    if case.pools and pooled is not None:
        out = _empty(case, case.grad_shape, dtype, memory.WRITTEN)
        _note(results, Result(out, pooled.to(dtype), _pooling_tolerance(case, x)))
        calls["torch"].append(_torch_forward(case, x, out, theirs))
        calls["poolgrad"].append(_poolgrad_forward(case, x, out, ours))
    if spread is not None:
        grad, out = _laid_out(case, grad), _empty(case, case.x_shape, dtype, memory.WRITTEN)
        _note(results, Result(out, spread, tolerance))
        calls["torch"].append(_torch_backward(case, grad, x, theirs, out))
        calls["poolgrad"].append(_poolgrad_backward(case, grad, ours, out))
    sides = {side: Side(_in_turn(calls[side]), tuple(results[side])) for side in calls}
    if not (case.pools and case.spreads):
        operator, inputs = (case.forward, [x]) if case.pools else (case.described, [grad, x])
        if not (case.pools or ours is None):
            inputs.append(ours)
        outputs = [out, ours] if case.pools and ours is not None else [out]
        named = zip((*operator.inputs, *operator.outputs), (*inputs, *outputs), strict=True)
        sides["poolgrad"].tensors = {parameter.name: tensor for parameter, tensor in named}
    return Sides(case, **sides)


def _places(case: Case, indices: torch.Tensor, results: dict[str, list[Result]]) -> dict[str, torch.Tensor]:
    """The indices of each side: results of a forward pass, or given to a gradient. torch knows int64 only."""
    kind = memory.WRITTEN if case.pools else memory.READ
    theirs = ours = _empty(case, case.grad_shape, torch.int64, kind)
    if case.index_dtype != "int64":
        ours = _empty(case, case.grad_shape, getattr(torch, case.index_dtype), kind)
    places = {"torch": theirs, "poolgrad": ours}
    for side, tensor in places.items():
        if case.pools:
            results[side].append(Result(tensor, indices.to(tensor.dtype), 0.0))
        else:
            tensor.copy_(indices)
    return places


def _note(results: dict[str, list[Result]], result: Result) -> None:
    for side in results.values():
        side.append(result)


def _in_turn(calls: Sequence[Call]) -> Call:
    if len(calls) == 1:
        return calls[0]
    first, second = calls

    def both() -> Any:
        first()
        return second()

    return both


def compare(sides: Sides, calls: Mapping[str, Call]) -> None:
    """Run each call once; raise if a result is further from the expected one than roundings explain."""
    for name, call in calls.items():
        results = (sides.torch if name == "torch" else sides.poolgrad).results
        for result in results:
            result.out.fill_(math.nan if result.out.dtype.is_floating_point else -1)
        made = call()
        if isinstance(made, torch.Tensor) and made.data_ptr() != results[-1].out.data_ptr():
            results[-1].out.copy_(made)
        for result in results:
            # torch adds halves in half precision here and there; poolgrad adds in float32 and rounds once.
            precision = result.out.dtype if name == "torch" else torch.float32
            worst = _distance(result, precision)
            if not worst <= 1:
                raise AssertionError(
                    f"{sides.case.name}: {name} is {worst:.3g} times further away than roundings explain"
                )


def _distance(result: Result, precision: torch.dtype) -> float:
    """The largest difference, in units of what is allowed; piece by piece, so that it needs little memory."""
    got, expected = result.out, result.expected
    if result.tolerance == 0:
        return 0.0 if all(map(torch.equal, got, expected)) else math.inf
    tolerance = result.tolerance * torch.finfo(precision).eps
    step = torch.finfo(got.dtype).eps if got.dtype != torch.float32 else 0.0
    worst = 0.0
    for mine, theirs in zip(got, expected, strict=True):
        mine, theirs = mine.float(), theirs.float()
        allowed = theirs.abs().mul_(2 * step).add_(tolerance)
        worst = max(worst, mine.sub(theirs).abs_().div_(allowed).nan_to_num_(nan=math.inf).max().item())
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


def _pooling_tolerance(case: Case, x: torch.Tensor) -> float:
    """The same of a forward pass: the sum of a window is divided by as many numbers as it has. Maxima are exact."""
    if not case.averages:
        return 0.0
    sizes = zip(case.spatial, case.outputs, strict=True)
    longest = case.kernel if not case.adaptive else tuple(-(-size // many) + 1 for size, many in sizes)
    return (math.prod(longest) + 2) * float(x.abs().max())


def _pooled(case: Case, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The forward pass by torch in float32 on contiguous tensors."""
    how = (case.outputs,) if case.adaptive else case.parameters
    pool = getattr(torch.nn.functional, case.described.torch)
    return (pool(x, *how), None) if case.averages else pool(x, *how, return_indices=True)


def _spread(case: Case, grad: torch.Tensor, indices: torch.Tensor | None) -> torch.Tensor:
    """The gradient by torch in float32 on contiguous tensors, rounded once."""
    out = torch.empty(case.x_shape)
    made = _torch_backward(case, grad.float(), torch.empty(case.x_shape), indices, out)()
    return made.to(grad.dtype)


def _is_global(case: Case) -> bool:
    """Whether it is one mean of each plane: torch's function for that is another one."""
    return case.adaptive and case.averages and set(case.outputs) == {1}


def _torch_name(operator: Operator) -> str:
    return operator.python_name.replace("with_argmax", "with_indices")


def _torch_forward(case: Case, x: torch.Tensor, out: torch.Tensor, indices: torch.Tensor | None) -> Call:
    if _is_global(case):
        return partial(torch.mean, x, tuple(range(-case.axes, 0)), keepdim=True, out=out)
    operator = getattr(torch.ops.aten, _torch_name(case.forward)).out
    results = {"out": out} | ({} if indices is None else {"indices": indices})
    return partial(operator, x, *((case.outputs,) if case.adaptive else case.parameters), **results)


def _torch_backward(
    case: Case, grad: torch.Tensor, x: torch.Tensor, indices: torch.Tensor | None, out: torch.Tensor
) -> Call:
    if case.pools and _is_global(case):
        return partial(torch.div, grad.expand(case.x_shape), math.prod(case.spatial), out=out)
    if case.adaptive and case.averages and case.axes == 2:  # its out= makes a tensor, too, and then copies it
        return partial(torch.ops.aten._adaptive_avg_pool2d_backward, grad, x)
    operator = getattr(torch.ops.aten, _torch_name(case.described)).grad_input
    if case.adaptive:
        return partial(operator, grad, x, *(() if indices is None else (indices,)), grad_input=out)
    if case.averages:
        return partial(operator, grad, x, *case.parameters, False, True, None, grad_input=out)
    return partial(operator, grad, x, *case.parameters, [1] * case.axes, False, indices, grad_input=out)


def _poolgrad_forward(case: Case, x: torch.Tensor, out: torch.Tensor, indices: torch.Tensor | None) -> Call:
    operator = getattr(poolgrad, case.forward.python_name)
    results = as_numpy(out) if indices is None else (as_numpy(out), as_numpy(indices))
    return partial(operator, as_numpy(x), *((case.outputs,) if case.adaptive else case.parameters), out=results)


def _poolgrad_backward(case: Case, grad: torch.Tensor, indices: torch.Tensor | None, out: torch.Tensor) -> Call:
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
