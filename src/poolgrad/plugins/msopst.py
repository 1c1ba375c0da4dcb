"""Expected results for msOpST: one function per operator, named in a case's ``calc_expect_func_file``.

msOpST describes each tensor by a dict with ``value``, ``dtype``, ``shape`` and ``format``; tensors come in the order of
the C parameters, outputs included, attributes by their names. The answer is a list of NumPy arrays. msOpST loads the
file by its path, so imports are absolute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poolgrad.arrays.files import BFLOAT16, numpy_dtype
from poolgrad.operators import find_operator
from poolgrad.plugins.calls import bound, golden

Array = NDArray[Any]


def avg_pool2d_backward(*tensors: Any, **attributes: Any) -> list[Array]:
    """gradOutput, self, gradInput; kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride, ..."""
    return _expected("avg_pool2d_backward", tensors, attributes)


def adaptive_avg_pool3d_backward(*tensors: Any, **attributes: Any) -> list[Array]:
    """gradOutput, self, out."""
    return _expected("adaptive_avg_pool3d_backward", tensors, attributes)


def max_pool2d_with_indices_backward(*tensors: Any, **attributes: Any) -> list[Array]:
    """gradOutput, self, indices, gradInput; kernelSize, stride, padding, dilation, ceilMode."""
    return _expected("max_pool2d_with_indices_backward", tensors, attributes)


def adaptive_max_pool2d_backward(*tensors: Any, **attributes: Any) -> list[Array]:
    """gradOutput, self, indices, gradInput."""
    return _expected("adaptive_max_pool2d_backward", tensors, attributes)


def _expected(name: str, tensors: tuple[Any, ...], attributes: dict[str, Any]) -> list[Array]:
    operator = find_operator(name)
    arguments = bound(operator, tensors, attributes)
    described = [value for value in arguments.values() if isinstance(value, dict)]
    values = {parameter: _value(given) if isinstance(given, dict) else given for parameter, given in arguments.items()}
    channels_last = any(tensor.get("format") == "NHWC" for tensor in described)
    return [golden(operator, values, channels_last=channels_last)]


def _value(tensor: dict[str, Any]) -> Any:
    """A tensor's numbers in the type that its description names; bfloat16 may come as its bits, or wider."""
    value, name = tensor.get("value"), tensor.get("dtype")
    if value is None or name is None:
        return value if value is None else np.asarray(value)
    array, dtype = np.asarray(value), numpy_dtype(name)
    if dtype == BFLOAT16 and array.dtype.name in ("uint16", "int16"):
        return array.view(BFLOAT16)
    return array.astype(dtype, copy=False)
