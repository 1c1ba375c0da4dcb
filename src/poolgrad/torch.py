"""Pooling for torch on the CPU, forwards and backwards by poolgrad.

The functions have the names and arguments of ``torch.nn.functional``. They can be differentiated any number of times,
backwards and forwards, by ``torch.autograd`` and by ``torch.func``, and ``torch.func.vmap`` takes them.

One idea makes that short. An average is linear, and so is a maximum once it is known where the maxima stand. A linear
map has two sides: it pools, and its transpose spreads gradients. Each side is the other's gradient, and each is its own
tangent map, so the two classes ``_Pool`` and ``_Spread`` call each other for derivatives of any order.

What poolgrad does not pool, torch does: tensors of other types, and numbers that only torch takes or refuses.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

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

from . import functional as operators
from .base.errors import AclnnError
from .base.status import ACLNN_ERR_PARAM_INVALID
from .base.windows import Windows
from .contract.operator import Operator
from .contract.parameters import OUTPUT_SIZE, REQUIRED, Parameter, Role
from .operators import REGISTRY, forward_of


def _function(operator: Operator) -> Callable[..., Any]:
    """The pooling whose gradient the operator is, with the arguments of torch's function of the same name."""
    name, axes = operator.torch, len(operator.axes)
    adaptive = Role.KERNEL not in operator.by_role
    numbers = [OUTPUT_SIZE] if adaptive else [p for p in operator.numbers if p.role is not Role.CUBE_MATH_TYPE]
    parameters = [inspect.Parameter("input", _ANY)]
    for p in numbers:
        parameters.append(inspect.Parameter(p.python_name, _ANY, default=_default(p)))
    if not operator.averages:
        parameters.append(inspect.Parameter("return_indices", _ANY, default=False))
    signature = inspect.Signature(parameters)
    forward, pools = _forward(operator, numbers), forward_of(operator)
    forward_name = pools.python_name if pools else operator.python_name

    def spread(*tensors_and_numbers: Any) -> Any:
        return getattr(operators, operator.python_name)(*tensors_and_numbers)

    def pooling(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        x, *arguments = bound.args
        if not hasattr(type(x), "__torch_function__"):
            raise TypeError(
                f"input must be a torch tensor, got {type(x).__name__}. Pass torch.as_tensor(input), or call "
                f"poolgrad.{forward_name}, which takes NumPy arrays."
            )
        return_indices = False if operator.averages else arguments.pop()
        own = () if adaptive else tuple(arguments)  # of the gradient, whose shape tells an output size
        if x.dtype in _HALVES and torch.is_autocast_enabled("cpu") and _widens(name, axes):
            x = x.float()  # as torch does, out of our sight: the gradient would be of another type than the input
        if operator.averages:
            sides = _Sides(axes, lambda x, _: forward(x, arguments), lambda grad, x, _: spread(grad, x, *own))
            return _Pool.apply(x, None, sides)
        sides = _Sides(axes, partial(_gather, axes=axes), lambda grad, x, indices: spread(grad, x, indices, *own))
        output, indices = _Maximum.apply(x, lambda x: forward(x, arguments), sides)
        return (output, indices) if return_indices else output

    pooling.__name__ = pooling.__qualname__ = name
    pooling.__doc__ = f"torch.nn.functional.{name}, and {operator.summary}, by poolgrad."
    pooling.__signature__ = signature  # type: ignore[attr-defined]
    return pooling


def _forward(gradient: Operator, numbers: list[Parameter]) -> Callable[[torch.Tensor, Any], Any]:
    """What pools a tensor by these numbers; maxima come with their indices. It is poolgrad's, or else torch's."""
    by_torch, operator = getattr(functional, gradient.torch), forward_of(gradient)
    options = {} if gradient.averages else {"return_indices": True}

    def theirs(x: torch.Tensor, arguments: Any) -> Any:
        result = by_torch(x, *arguments, **options)
        if Role.DILATION in gradient.by_role and not _is_traced():
            _refuse_empty_windows(gradient, x, result[0], arguments[:4])
        return result

    if operator is None:
        return theirs
    name, names = operator.python_name, [operator.by_role[p.role].python_name for p in numbers]

    def forward(x: torch.Tensor, arguments: Any) -> Any:
        if _is_traced() or not _is_usual(x) or any(map(_refused_by_torch, numbers, arguments)):
            return theirs(x, arguments)
        try:
            return getattr(operators, name)(_plain(x.detach()), **dict(zip(names, arguments, strict=True)))
        except (AclnnError, TypeError, RuntimeError):  # which is not ours to do, or wrong: torch has the errors
            return theirs(x, arguments)

    return forward


def _refuse_empty_windows(gradient: Operator, x: torch.Tensor, output: torch.Tensor, numbers: Any) -> None:
    """Where a dilation steps over all elements, torch's index is of none of them, and no gradient has a place."""
    axes = len(gradient.axes)
    kernel, stride, pad, dilation = ([each] * axes if hasattr(each, "__index__") else each for each in numbers)
    sizes = zip(x.shape[-axes:], output.shape[-axes:], strict=True)
    for i, (size, out) in enumerate(sizes):
        k, s, p, d = (each[i % len(each)] for each in (kernel, stride or kernel, pad, dilation))
        if Windows(size, out, k, s, p, d).has_empty:
            raise AclnnError(
                f"{gradient.torch}: dilation: expected one that leaves an element in every window; got {d}, which "
                f"steps over all {size} elements. Use a smaller one.",
                status=ACLNN_ERR_PARAM_INVALID,
                operator=gradient.name,
                parameter="dilation",
            )


def _is_traced() -> bool:
    """Whether somebody takes down what torch does: he would not see what we do."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing() or torch._C._len_torch_dispatch_stack() > 0


def _is_usual(x: torch.Tensor) -> bool:
    """Whether results in the layout of x are laid out as torch's own."""
    return x.is_contiguous() or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last))


def _plain(x: torch.Tensor) -> torch.Tensor:
    """The same tensor with the strides that results have: axes of one element may have had any."""
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return x
    strides = [math.prod(x.shape[axis + 1 :]) for axis in range(x.dim())]
    return x if list(x.stride()) == strides else x.as_strided(x.shape, strides)


def _refused_by_torch(parameter: Parameter, value: Any) -> bool:
    """Whether it is a number that stands for its own absence here, and for nothing in torch: a divisor of 0."""
    return parameter.optional and parameter.kind == "int" and value is not None and value == parameter.default


def _default(parameter: Parameter) -> Any:
    """What torch's functions have in its place: one number for all axes, None for one that follows."""
    if parameter.default is REQUIRED:
        return inspect.Parameter.empty
    if parameter.optional:
        return None
    return parameter.default[0] if parameter.kind == "ints" else parameter.default


_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD
_HALVES = (torch.float16, torch.bfloat16)


@cache
def _widens(name: str, axes: int) -> bool:
    """Whether torch computes that function in float32 where it is told to cast by itself."""
    tiny = torch.zeros((1, 1, *[1] * axes), dtype=torch.bfloat16)
    return getattr(functional, name)(tiny, 1).dtype is torch.float32


_FUNCTIONS = {op.torch: _function(op) for op in REGISTRY.values() if op.torch and op.is_gradient}
globals().update(_FUNCTIONS)
__all__ = sorted(_FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


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

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], x: Any, indices: Any, sides: _Sides) -> tuple[Any, int]:
        many = _Many(info.batch_size, _stack(x, in_dims[0], info.batch_size), sides.axes)
        places = _stack(indices, in_dims[1], info.batch_size)
        return many.apart(_Pool.apply(many.folded, many.fold(places), sides)), 0


class _Maximum(torch.autograd.Function):
    """Finds the maxima, and is then the map that takes the values at their places."""

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

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], x: Any, find: Any, sides: _Sides) -> tuple[Any, tuple[int, int]]:
        many = _Many(info.batch_size, _stack(x, in_dims[0], info.batch_size), sides.axes)
        output, indices = _Maximum.apply(many.folded, find, sides)
        return (many.apart(output), many.apart(indices)), (0, 0)


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


def _gather(x: torch.Tensor, indices: torch.Tensor, axes: int) -> torch.Tensor:
    planes, places = x.shape[:-axes], indices.shape[-axes:]
    flat = x.reshape(*planes, math.prod(x.shape[-axes:]))
    return flat.gather(-1, indices.reshape(*planes, math.prod(places))).reshape(indices.shape)


def _stack(tensor: torch.Tensor | None, axis: int | None, many: int) -> Any:
    """The tensors of ``many`` calls along the first axis; all have the same one if no axis tells them apart."""
    if tensor is None:
        return None
    return tensor.expand(many, *tensor.shape) if axis is None else tensor.movedim(axis, 0)


class _Many:
    """Tensors of many calls along the first axis, and as those of one call whose batch holds them all."""

    def __init__(self, count: int, tensors: torch.Tensor, axes: int) -> None:
        self.has_batches = tensors.dim() > axes + 2
        self.folded = self.fold(tensors)
        self._shape = (count, tensors.shape[1]) if self.has_batches else (count,)

    def fold(self, tensors: Any) -> Any:
        return tensors.flatten(0, 1) if tensors is not None and self.has_batches else tensors

    def apart(self, result: torch.Tensor) -> torch.Tensor:
        return result.unflatten(0, self._shape)


def _spread_together(grads: Any, x: torch.Tensor, indices: Any, sides: _Sides) -> torch.Tensor:
    """Many calls as one whose batch holds them all. One ``x`` will do, since it is not read."""
    many = _Many(len(grads), grads, sides.axes)
    one = x[:1] if many.has_batches else x[None]
    xs = one.expand(len(many.folded), *one.shape[1:])
    return many.apart(_Spread.apply(many.folded, xs, many.fold(indices), sides))


def _spread_in_older_vmap(grad: torch.Tensor, x: torch.Tensor, indices: Any, sides: _Sides) -> torch.Tensor:
    """torch.autograd itself (vectorize=True, is_grads_batched=True) has a vmap that asks no function for its rule.

    It hides the batch from us: we take the gradient out of it, and put the result in.
    """
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    grads = torch._remove_batch_dim(grad, level, 1, 0)
    return torch._add_batch_dim(_spread_together(grads, x, _stack(indices, None, len(grads)), sides), 0, level)
