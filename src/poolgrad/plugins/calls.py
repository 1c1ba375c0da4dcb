"""What the plug-ins share: a tool's arguments as a call of the contract, its golden result, legal indices for it."""

from __future__ import annotations

import operator as operators
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import functional
from ..arrays.adapters import as_numpy, describe, is_torch
from ..arrays.files import numpy_dtype
from ..base.dtypes import FLOAT32, FLOAT64, DType
from ..base.products import ANY, Product, find_product
from ..base.tensor import Tensor, contiguous_strides
from ..cases.indices import adaptive_max_pool2d_indices, max_pool2d_indices
from ..cases.model import DEFAULT_FORMATS, DEFAULT_NUMBERS
from ..contract.engine import Call, Value, enforce, first_violation
from ..contract.operator import Operator
from ..contract.overlap import MEMORY_CHECKS
from ..contract.parameters import Parameter
from ..operators.average import cube_rounding
from ..operators.pooling import windows_of

Array = NDArray[Any]

# Names of other tools for documented parameters, without underscores and capitals.
_ALIASES = {"input": "self", "x": "self"}


def bound(operator: Operator, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by their documented names, however they came.

    Names may be written as in C, as in Python or as ATK writes them; what is no parameter is left out. Arguments
    without a name have the order of C. They are all parameters, or some that are not named: then each goes to the next
    that it can be. None, a null pointer, can be any.

    >>> from poolgrad.operators import find_operator
    >>> bound(find_operator("AvgPool2dBackward"), [np.ones(1), np.zeros(2)], {"kernel_size": 3, "case_name": "a"})
    {'kernelSize': 3, 'gradOutput': array([1.]), 'self': array([0., 0.])}
    """
    if len(positional) == len(operator.parameters):
        return {parameter.name: value for parameter, value in zip(operator.parameters, positional, strict=True)}
    documented = {parameter.name.casefold(): parameter.name for parameter in operator.parameters}
    found: dict[str, Any] = {}
    for name, value in named.items():
        plain = name.replace("_", "").casefold()
        if (wanted := documented.get(_ALIASES.get(plain, plain))) is not None:
            found[wanted] = value
    missing = iter([parameter for parameter in operator.parameters if parameter.name not in found])
    for value in positional:
        fitting = next((p for p in missing if value is None or (p.kind == "tensor") == _is_tensor(value)), None)
        if fitting is None:
            raise TypeError(f"{operator.name} has no parameter left for argument {type(value).__name__}")
        found[fitting.name] = value
    return found


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) or (hasattr(value, "shape") and not isinstance(value, np.generic))


def described(
    operator: Operator,
    arguments: Mapping[str, Any],
    *,
    formats: Mapping[str, str] | None = None,
    product: Product = ANY,
) -> Call:
    """The call as the contract sees it. Tensors that are missing or None are null pointers.

    A tensor may also be a description, and ``self`` a shape. Numbers that were not given are as in the Pythonic layer,
    an output is one like ``self``.
    """
    formats = formats or {p.name: DEFAULT_FORMATS[operator.name] for p in operator.tensors}
    values: dict[str, Value] = {}
    for parameter in operator.parameters:
        name, given = parameter.name, arguments.get(parameter.name)
        if parameter.kind != "tensor":
            values[name] = _number(parameter, arguments)
        elif given is None or isinstance(given, Tensor):
            values[name] = given
        elif name == "self" and isinstance(given, tuple):
            grad = values["gradOutput"]
            values[name] = blank(grad.dtype, given, formats[name]) if isinstance(grad, Tensor) else None
        else:
            values[name] = description(operator, name, given, formats[name])
    output, like, grad = operator.output.name, values["self"], values["gradOutput"]
    if output not in arguments and isinstance(like, Tensor) and isinstance(grad, Tensor):
        values[output] = blank(grad.dtype, like.shape, like.format)
    return Call(operator, product, values)


def description(operator: Operator, name: str, array: Any, format: str | None = None) -> Tensor:
    """A tensor as the contract sees it.

    float64, which no product has, is described as float32: for that it stands where a tool asks for a more precise
    golden result.
    """
    tensor = describe(detached(array), name, format or DEFAULT_FORMATS[operator.name]).tensor
    return replace(tensor, dtype=FLOAT32) if tensor.dtype is FLOAT64 else tensor


def blank(dtype: DType, shape: tuple[int, ...], format: str) -> Tensor:
    """The description of a contiguous tensor."""
    return Tensor(dtype, shape, contiguous_strides(shape, dtype.itemsize), format)


def _number(parameter: Parameter, arguments: Mapping[str, Any]) -> Value:
    """A number or numbers as the contract knows them; what is none is a TypeError."""
    kind, value = parameter.kind, arguments.get(parameter.name, DEFAULT_NUMBERS.get(parameter.name))
    if kind == "bool" and isinstance(value, bool | np.bool_ | int) and value in (0, 1):
        return bool(value)
    if kind == "int" and (value is None or hasattr(value, "__index__")):
        return operators.index(value or 0)
    if kind == "ints" and value is None:
        return None
    if kind == "ints":
        values = (value,) if hasattr(value, "__index__") and not getattr(value, "ndim", 0) else value
        if hasattr(values, "__len__") and all(hasattr(v, "__index__") for v in values):
            return tuple(operators.index(v) for v in values)
    wanted = {"bool": "True or False", "int": "an integer", "ints": "an integer or integers"}[kind]
    raise TypeError(f"{parameter.name} must be {wanted}, got {value!r}.")


def golden(
    operator: Operator,
    arguments: Mapping[str, Any],
    *,
    formats: Mapping[str, str] | None = None,
    product: str | None = None,
) -> Any:
    """The result of a call; ``AclnnError`` if the contract refuses it, which also judges an output that was given.

    The contract is that of POOLGRAD_PRODUCT if it is set, else of ``product``, else what any product accepts.
    """
    product = os.environ.get("POOLGRAD_PRODUCT") or product or None
    call = described(operator, arguments, formats=formats, product=find_product(product) if product else ANY)
    enforce(call, (*operator.checks, *MEMORY_CHECKS))
    tensors = {p.python_name: detached(arguments[p.name]) for p in operator.tensors if not p.output}
    numbers: dict[str, Any] = {p.python_name: call.values[p.name] for p in operator.parameters if p.kind != "tensor"}
    if call.tensor("self").format == "NHWC":
        numbers["data_format"] = "NHWC"
    if str(tensors["grad_output"].dtype).endswith("float64"):
        return _promoted(call, tensors, numbers, product)
    return getattr(functional, operator.python_name)(**tensors, **numbers, product=product)


def _promoted(call: Call, tensors: dict[str, Any], numbers: dict[str, Any], product: str | None) -> Any:
    """The same in float64: gradients are rounded as cubeMathType says to round float32, all else is more precise."""
    grad, mode = tensors["grad_output"], numbers.get("cube_math_type", 0)
    if mode and cube_rounding(call) != "kept":
        # Windows of one element give gradients back as they are, but rounded; on Ascend 950 too, where HF32 is for
        # global pooling alone: a plane of gradients is one element then, so these windows are global as well.
        float32 = grad.float() if is_torch(grad) else grad.astype(np.float32)
        rounded = functional.avg_pool2d_backward(float32, float32, 1, cube_math_type=mode, product=product)
        grad = rounded.double() if is_torch(grad) else rounded.astype(np.float64)
    if mode:
        numbers = numbers | {"cube_math_type": 0}
    shape = call.tensor("self").shape  # since self itself may be of another type
    return getattr(functional, call.operator.python_name)(**tensors | {"grad_output": grad, "x": shape}, **numbers)


def detached(value: Any) -> Any:
    """Of a torch tensor that autograd watches, the numbers."""
    return value.detach() if is_torch(value) else value


def is_legal(call: Call) -> bool:
    """Whether the contract accepts the call, whatever its indices are."""
    return first_violation(call, call.operator.checks) is None


def forward(call: Call, x: Any) -> tuple[Array, Array]:
    """Output and indices of the forward pass of max pooling over ``x``, the self of a legal call.

    The indices are of the type that the call says.
    """
    array, last = as_numpy(detached(x), "self"), call.tensor("self").format == "NHWC"
    planes = np.moveaxis(array, -1, -3) if last else array
    index = numpy_dtype(call.tensor("indices").dtype.name)
    if "kernelSize" in call.values:
        found = max_pool2d_indices(planes, windows_of(call), index)
    else:
        height, width = call.tensor("gradOutput").shape[-2:]
        found = adaptive_max_pool2d_indices(planes, (height, width), index)
    if not last:
        return found
    output, indices = (np.ascontiguousarray(np.moveaxis(part, -3, -1)) for part in found)
    return output, indices


def write(target: Any, values: Array) -> None:
    """Put values into an array or tensor of a tool's own."""
    if is_torch(target):
        target.copy_(like(target, values))
    else:
        target[...] = values


def like(kind: Any, array: Array) -> Any:
    """The array, as a torch tensor if ``kind`` is one."""
    if not is_torch(kind):
        return array
    torch = sys.modules["torch"]
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
