"""What the plug-ins share: a tool's arguments as a call of the contract, its golden result, legal indices for it."""

from __future__ import annotations

import operator as operators
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.adapters import as_numpy, describe, is_torch, like
from ..arrays.files import numpy_dtype
from ..base.dtypes import FLOAT32, FLOAT64, DType
from ..base.products import ANY, Product, find_product
from ..base.tensor import Tensor, contiguous_strides, retyped
from ..cases.forward import forward_max, index_type
from ..contract.engine import Call, Value, enforce, first_violation
from ..contract.operator import Operator
from ..contract.overlap import MEMORY_CHECKS
from ..contract.parameters import REQUIRED, Parameter, Role
from ..contract.pooling import CLASSIC, is_channels_last
from ..contract.support import where_maxima_stood
from ..run.calls import call as run

Array = NDArray[Any]

# What tools call parameters, whatever the operator.
_ALIASES = {"input": Role.INPUT, "x": Role.INPUT}


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
    documented = {alias: operator.by_role[role].name for alias, role in _ALIASES.items() if role in operator.by_role}
    for parameter in operator.parameters:
        for name in (parameter.name, operator.atk_names.get(parameter.name, parameter.name)):
            documented[_plain(name)] = parameter.name
    found = {documented[_plain(name)]: value for name, value in named.items() if _plain(name) in documented}
    missing = iter([parameter for parameter in operator.parameters if parameter.name not in found])
    for value in positional:
        fitting = next((p for p in missing if value is None or (p.kind == "tensor") == _is_tensor(value)), None)
        if fitting is None:
            raise TypeError(f"{operator.name} has no parameter left for argument {type(value).__name__}")
        found[fitting.name] = value
    return found


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


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

    A tensor may also be a description, one that is never read a shape, and an output the name of its type. Numbers that
    were not given are as in the Pythonic layer, outputs as the operator says.
    """
    formats = formats or {}
    values: dict[str, Value] = {}
    for parameter in operator.parameters:
        name, given = parameter.name, arguments.get(parameter.name)
        if parameter.kind != "tensor":
            values[name] = _number(parameter, arguments)
        elif given is None or isinstance(given, Tensor):
            values[name] = given
        elif isinstance(given, str) and parameter.output:
            values[name] = None
        elif isinstance(given, tuple) and not parameter.read:
            leader = values[operator.inputs[0].name]
            format = formats.get(name) or operator.usual_format(len(given))
            values[name] = blank(leader.dtype, given, format) if isinstance(leader, Tensor) else None
        else:
            values[name] = description(operator, parameter, given, formats.get(name))
    call = Call(operator, product, values)
    if all(values[p.name] is not None for p in operator.inputs):
        for p, result in zip(operator.outputs, operator.results(call), strict=True):
            if isinstance(given := arguments.get(p.name), str):
                values[p.name] = retyped(result, given)
            elif p.name not in arguments:
                values[p.name] = result
    return call


def description(operator: Operator, parameter: Parameter, array: Any, format: str | None = None) -> Tensor:
    """A tensor as the contract sees it, in the usual format if nobody names one.

    float64, which no product has, is described as float32: for that it stands where a tool asks for a more precise
    golden result.
    """
    tensor = describe(detached(array), parameter.name, format or operator.default_format).tensor
    tensor = replace(tensor, format=format or operator.usual_format(tensor.rank))
    return replace(tensor, dtype=FLOAT32) if tensor.dtype is FLOAT64 else tensor


def blank(dtype: DType, shape: tuple[int, ...], format: str) -> Tensor:
    """The description of a contiguous tensor."""
    return Tensor(dtype, shape, contiguous_strides(shape, dtype.itemsize), format)


def _number(parameter: Parameter, arguments: Mapping[str, Any]) -> Value:
    """A number or numbers as the contract knows them; what is none is a TypeError."""
    kind, default = parameter.kind, None if parameter.default is REQUIRED else parameter.default
    value = arguments.get(parameter.name, default)
    if kind == "bool" and isinstance(value, bool | np.bool_ | int) and value in (0, 1):
        return bool(value)
    number: Any = default if value is None else value
    if kind == "int" and hasattr(number, "__index__"):
        return operators.index(number)
    if kind == "ints" and value is None:
        return None
    if kind == "ints":
        values = (value,) if hasattr(value, "__index__") and not getattr(value, "ndim", 0) else value
        if hasattr(values, "__len__") and all(hasattr(v, "__index__") for v in values):
            return tuple(operators.index(v) for v in values)
    wanted = {"bool": "True or False", "int": "an integer", "ints": "an integer or integers"}[kind]
    raise TypeError(f"{parameter.name} must be {wanted}, got {value!r}.")


def product_for(product: str | None) -> Product:
    """The product whose contract holds: of POOLGRAD_PRODUCT if it is set, else the one that a tool names, if any."""
    name = os.environ.get("POOLGRAD_PRODUCT") or product
    return find_product(name) if name else ANY


def golden(
    operator: Operator,
    arguments: Mapping[str, Any],
    *,
    formats: Mapping[str, str] | None = None,
    product: str | None = None,
) -> list[Any]:
    """The results of a call; ``AclnnError`` if the contract refuses it, which also judges outputs that were given.

    The contract is that of POOLGRAD_PRODUCT if it is set, else of ``product``, else what any product accepts.
    """
    wanted = product_for(product)
    product = None if wanted is ANY else wanted.name
    call = described(operator, arguments, formats=formats, product=wanted)
    enforce(call, (*operator.checks, *MEMORY_CHECKS))
    arrays = [detached(arguments[p.name]) for p in operator.inputs]
    numbers = {p.role: call.values[p.name] for p in operator.numbers}
    if not str(arrays[0].dtype).endswith("float64"):
        return _results(call, arrays, numbers, product)
    if Role.MASK in operator.by_role and call.product in CLASSIC:
        return _widened(call, arrays, numbers, product)
    return _results(call, *_promoted(call, arrays, numbers, product), None)


def _results(call: Call, arrays: Sequence[Any], numbers: Mapping[Role, Value], product: str | None) -> list[Any]:
    """Results of the kinds that the call has, of other arrays and numbers."""
    operator = call.operator
    data_format = operator.channels_last if is_channels_last(call) else None
    index = call.tensor(Role.PLACES).dtype.name if Role.PLACES in operator.by_role else None
    in_order = tuple(numbers[p.role] for p in operator.numbers)
    results = run(operator, tuple(arrays), in_order, product, None, data_format, index)
    return list(results) if isinstance(results, tuple) else [results]


def _widened(call: Call, arrays: Sequence[Any], numbers: Mapping[Role, Value], product: str | None) -> list[Any]:
    """The results of float32 in float64: without a product, as float64 needs it, a mask would hold something else."""

    def of_type(dtype: Any, parameters: Sequence[Parameter], given: Sequence[Any]) -> list[Any]:
        pairs = zip(parameters, given, strict=True)
        return [array if p.role is Role.MASK else like(array, np.asarray(array, dtype)) for p, array in pairs]

    inputs = of_type(np.float32, call.operator.inputs, arrays)
    return of_type(np.float64, call.operator.outputs, _results(call, inputs, numbers, product))


def _promoted(
    call: Call, arrays: Sequence[Any], numbers: Mapping[Role, Value], product: str | None
) -> tuple[list[Any], Mapping[Role, Value]]:
    """The same in float64: the first tensor is rounded as it is in float32, all else is more precise."""
    operator, cube = call.operator, Role.CUBE_MATH_TYPE
    # What is never read may be of another type.
    wide = arrays[0]
    others = [a if p.read else call.tensor(p).shape for p, a in zip(operator.inputs[1:], arrays[1:], strict=True)]
    if cube not in numbers:
        return [wide, *others], numbers
    usual = {p.role: p.default for p in operator.numbers}
    if operator.rounding(call) != "kept":
        # Windows of one element give numbers back as they are, but rounded; on Ascend 950 too, where HF32 is for
        # global pooling alone: in planes of one element these windows are global as well.
        apart = wide.reshape(-1, *[1] * (len(operator.axes) + 1))
        float32 = apart.float() if is_torch(wide) else apart.astype(np.float32)
        ones = usual | {Role.KERNEL: (1,), cube: numbers[cube]}
        (rounded,) = _results(call, [float32] * len(arrays), ones, product)
        wide = (rounded.double() if is_torch(wide) else rounded.astype(np.float64)).reshape(wide.shape)
    return [wide, *others], {**numbers, cube: usual[cube]}


def detached(value: Any) -> Any:
    """Of a torch tensor that autograd watches, the numbers."""
    return value.detach() if is_torch(value) else value


def is_legal(call: Call) -> bool:
    """Whether the contract accepts the call, whatever its indices are."""
    return first_violation(call, call.operator.checks) is None


def takes_indices(operator: Operator) -> bool:
    """Whether a call needs what the forward pass of max pooling says of its maxima."""
    return where_maxima_stood(operator) is not None


def forward(call: Call, x: Any) -> tuple[Array, Array]:
    """Output and indices, or mask, of the forward pass of max pooling over ``x``, the input of a legal call.

    The indices are of the type that the call says.
    """
    name = call.operator.by_role[Role.INPUT].name
    array, format = as_numpy(detached(x), name), call.operator.channels_last if is_channels_last(call) else None
    if Role.MASK in call.operator.by_role:  # what it holds is a matter of the product
        array = array.astype(numpy_dtype(call.tensor(name).dtype.name), copy=False)
        return forward_max(call, array, product=call.product_name)
    wanted = call.tensor(Role.INDICES).dtype.name
    output, indices = forward_max(call, array, index=index_type(call, wanted), format=format)
    return np.ascontiguousarray(output), np.ascontiguousarray(indices, numpy_dtype(wanted))
