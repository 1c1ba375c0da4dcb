"""What the plug-ins share: a tool's arguments become a call of the Pythonic layer, and placeholders legal indices."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import functional
from ..arrays.adapters import is_torch
from ..base.products import ANY
from ..cases import BadCase, Case
from ..cases.building import make_case, make_tensor, pooled_shape
from ..cases.indices import adaptive_max_pool2d_indices, max_pool2d_indices
from ..cases.judging import judge
from ..cases.model import DEFAULT_NUMBERS
from ..contract.engine import Call
from ..contract.operator import Operator
from ..operators.pooling import windows_of

Array = NDArray[Any]

# Names of other tools for documented parameters, without underscores and capitals.
_ALIASES = {"input": "self", "x": "self"}


def bound(operator: Operator, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by their documented names, however they came.

    Names may be written as in C, as in Python or as ATK writes them; what is no parameter is left out. Without any name
    arguments have the order of C; beside named ones, tensors have the order of tensors and numbers that of numbers.

    >>> from poolgrad.operators import find_operator
    >>> bound(find_operator("AvgPool2dBackward"), [np.ones(1), np.zeros(2)], {"kernel_size": 3, "case_name": "a"})
    {'kernelSize': 3, 'gradOutput': array([1.]), 'self': array([0., 0.])}
    """
    documented = {parameter.name.casefold(): parameter.name for parameter in operator.parameters}
    found: dict[str, Any] = {}
    for name, value in named.items():
        plain = name.replace("_", "").casefold()
        if (wanted := documented.get(_ALIASES.get(plain, plain))) is not None:
            found[wanted] = value
    missing = [parameter for parameter in operator.parameters if parameter.name not in found]
    for value in positional:
        fitting = [p for p in missing if not named or (p.kind == "tensor") == _is_tensor(value)]
        if not fitting:
            raise TypeError(f"{operator.name} has no parameter left for argument {type(value).__name__}")
        found[fitting[0].name] = value
        missing.remove(fitting[0])
    return found


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") or isinstance(value, dict)


def golden(operator: Operator, arguments: Mapping[str, Any], *, channels_last: bool = False) -> Any:
    """The result of a call. The contract is that of POOLGRAD_PRODUCT, if it is set, else what any product accepts."""
    values = {p.python_name: arguments[p.name] for p in operator.parameters if p.name in arguments and not p.output}
    for name in ("grad_output", "x", "indices"):
        if hasattr(values.get(name), "detach"):  # of a torch tensor that autograd watches, the numbers
            values[name] = values[name].detach()
    if channels_last:
        values["data_format"] = "NHWC"
    return getattr(functional, operator.python_name)(**values, product=os.environ.get("POOLGRAD_PRODUCT") or None)


def forward(
    operator: Operator, arguments: Mapping[str, Any], output_size: Sequence[int] | None = None
) -> tuple[Any, Any] | None:
    """Output and indices of the forward pass of max pooling over ``self``, as arrays or tensors like ``self``.

    The windows are those of the numbers, of ``output_size`` or of gradOutput's shape. The indices are of the type of
    those that were given. None for a call that the contract refuses whatever its indices are: it has no forward pass.
    """
    x, placeholder = as_numpy(arguments["self"]), arguments.get("indices")
    case = _legal_case(operator, arguments, x, output_size)
    if case is None:
        return None
    index = np.dtype(np.int64) if placeholder is None else as_numpy(placeholder).dtype
    if "kernelSize" in case.numbers:
        output, indices = max_pool2d_indices(x, windows_of(Call(operator, ANY, case.arguments)), index)
    else:
        height, width = case.tensor("gradOutput").shape[-2:]
        output, indices = adaptive_max_pool2d_indices(x, (height, width), index)
    return like(arguments["self"], output), like(arguments["self"], indices)


def _legal_case(
    operator: Operator, arguments: Mapping[str, Any], x: Array, output_size: Sequence[int] | None
) -> Case | None:
    """The call with a gradOutput and indices as they should be, if the contract accepts that."""
    given = [p.name for p in operator.parameters if p.kind != "tensor" and p.name in arguments]
    numbers = {name: _plain(arguments[name]) for name in given}
    try:
        self = make_tensor(operator, "self", "self", dtype=x.dtype.name, shape=x.shape)
        if "kernelSize" in numbers:
            shape = pooled_shape(self, DEFAULT_NUMBERS | numbers) or x.shape
        else:
            size = output_size or tuple(arguments["gradOutput"].shape)[-2:]
            shape = (*x.shape[:-2], *size[:1], *size[-1:])
        grad = make_tensor(operator, "gradOutput", "gradOutput", dtype=x.dtype.name, shape=shape)
        case = make_case(operator, "inputs", name="inputs", tensors={"self": self, "gradOutput": grad}, numbers=numbers)
    except BadCase:
        return None
    return case if judge(case, ANY).row is None else None


def _plain(value: Any) -> Any:
    """A number or numbers as Python has them, not as NumPy or torch do."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, np.generic):
        return value.item()
    return [int(v) for v in value]


def as_numpy(value: Any) -> Array:
    """The numbers of an array or torch tensor, without copying them."""
    if not is_torch(value):
        return np.asarray(value)
    torch = sys.modules["torch"]
    value = value.detach()
    if value.dtype is torch.bfloat16:
        bits: Array = value.contiguous().view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    array: Array = value.numpy()
    return array


def like(kind: Any, array: Array) -> Any:
    """The array, as a torch tensor if ``kind`` is one."""
    if not is_torch(kind):
        return array
    torch = sys.modules["torch"]
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
