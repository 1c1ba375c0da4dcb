"""Expected results for msOpST: one function per operator, named in a case's ``calc_expect_func_file``.

msOpST describes each tensor by a dict with ``value``, ``dtype``, ``shape`` and ``format``, and passes those that have a
name in the case by that name, and attributes by theirs: the names of the graph operator (``ir.py``), or those of C. The
answer is a list of NumPy arrays. msOpST loads the file by its path, so imports are absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poolgrad.arrays.files import BFLOAT16, numpy_dtype
from poolgrad.contract.operator import Operator
from poolgrad.operators import find_operator
from poolgrad.plugins import ir
from poolgrad.plugins.calls import bound, golden

Array = NDArray[Any]


def avg_pool2d_backward(*tensors: Any, **named: Any) -> list[Array]:
    """AvgPoolV2Grad, AvgPool3DGrad with depth 1; or gradOutput, self, kernelSize, stride, padding, ..."""
    return _expected("avg_pool2d_backward", tensors, named)


def adaptive_avg_pool3d_backward(*tensors: Any, **named: Any) -> list[Array]:
    """AdaptiveAvgPool3dGrad; or gradOutput, self."""
    return _expected("adaptive_avg_pool3d_backward", tensors, named)


def max_pool2d_with_indices_backward(*tensors: Any, **named: Any) -> list[Array]:
    """MaxPoolGradWithArgmaxV3; or gradOutput, self, indices, kernelSize, stride, padding, dilation, ceilMode."""
    return _expected("max_pool2d_with_indices_backward", tensors, named)


def adaptive_max_pool2d_backward(*tensors: Any, **named: Any) -> list[Array]:
    """AdaptiveMaxPool3DGrad with depth 1; or gradOutput, self, indices."""
    return _expected("adaptive_max_pool2d_backward", tensors, named)


def _expected(function: str, tensors: tuple[Any, ...], named: dict[str, Any]) -> list[Array]:
    operator = find_operator(function)
    named = bound(operator, tensors, {}) | named
    described = {name: given for name, given in named.items() if isinstance(given, dict)}
    formats = {str(given["format"]) for name, given in described.items() if given.get("format") and name != ir.SHAPE}
    values = {name: _value(given) if name in described else given for name, given in named.items()}
    values = {name: value for name, value in values.items() if value is not None}  # an output has no value
    arguments = bound(operator, (), ir.renamed(values))
    arguments.pop(operator.output.name, None)
    _check_names(operator, named, arguments)
    if ir.NAMES & values.keys():
        layout = ir.layout_of(operator, arguments["gradOutput"].ndim, values, formats)
        return [layout.back(golden(operator, ir.documented(layout, arguments, values)))]
    channels_last = {p.name: "NHWC" for p in operator.tensors} if "NHWC" in formats else None
    return [golden(operator, arguments, formats=channels_last)]


def _check_names(operator: Operator, named: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Nothing that has to be there is missing, no attribute is one that would go unheard."""
    missing = [p.name for p in operator.tensors if not p.output and p.name not in arguments]
    if missing:
        raise TypeError(
            f"{operator.name}: there is no {' and no '.join(missing)} among {', '.join(named) or 'no arguments'}. "
            "msOpST passes tensors that have a name in the case: give each the name that the operator's IR or C has."
        )
    for name, given in named.items():
        if not isinstance(given, dict) and name not in ir.WORDS and not bound(operator, (), ir.renamed({name: given})):
            raise TypeError(f"{operator.name} has no attribute {name}. Take it out of the case, or correct its name.")


def _value(tensor: dict[str, Any]) -> Any:
    """A tensor's numbers in the type that its description names; bfloat16 may come as its bits, or wider."""
    value, name = tensor.get("value"), tensor.get("dtype")
    if value is None or name is None:
        return value if value is None else np.asarray(value)
    array, dtype = np.asarray(value), numpy_dtype(name)
    if dtype == BFLOAT16 and array.dtype.name in ("uint16", "int16"):
        return array.view(BFLOAT16)
    return array.astype(dtype, copy=False)
