"""The Pythonic layer: four functions on NumPy arrays, torch CPU tensors and anything with DLPack."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np

from . import adapters
from .contract import Operator, Value, enforce, prepare
from .execute import execute
from .operators import REGISTRY
from .overlap import MEMORY_CHECKS
from .products import ANY, find_product
from .tensor import Tensor, contiguous_strides

Ints = SupportsIndex | Sequence[SupportsIndex]
# Enough for any mistake that deserves the contract's answer about lengths.
MOST_VALUES = 1000


def avg_pool2d_backward(
    grad_output: Any,
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    cube_math_type: int = 0,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 2-D average pooling with respect to its input.

    ``grad_output`` is the gradient of the output, (N,C,H,W) or (C,H,W). ``x`` is the input of the forward pass or
    just its shape: its values are never read. Parameters are an int, or one or two ints (for H and W);
    ``stride=None`` means ``kernel_size``. ``product`` applies the documented contract of that product, for instance
    ``"Atlas A2"``. The result is of the kind of ``grad_output``, laid out as ``x``, or ``out`` if that is given.

    Raises ``AclnnError`` with the documented status if the contract refuses the call; the output is then as it was.

    >>> import numpy as np, poolgrad
    >>> poolgrad.avg_pool2d_backward(np.ones((1, 1, 2, 2), np.float32), (1, 1, 4, 4), 2)[0, 0, 0]
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    numbers: dict[str, Value] = {
        "kernelSize": _ints(kernel_size, "kernel_size"),
        "stride": _ints(stride, "stride"),
        "padding": _ints(padding, "padding"),
        "ceilMode": _flag(ceil_mode, "ceil_mode"),
        "countIncludePad": _flag(count_include_pad, "count_include_pad"),
        "divisorOverride": 0 if divisor_override is None else _int(divisor_override, "divisor_override"),
        "cubeMathType": _int(cube_math_type, "cube_math_type"),
    }
    arrays = {"gradOutput": grad_output, "self": x, "gradInput": out}
    return _call("aclnnAvgPool2dBackward", arrays, numbers, "NCHW", product)


def adaptive_avg_pool3d_backward(grad_output: Any, x: Any, *, product: str | None = None, out: Any = None) -> Any:
    """The gradient of 3-D adaptive average pooling with respect to its input.

    ``grad_output`` is (N,C,D,H,W) or (C,D,H,W), of any output size, also larger than ``x``. ``x`` is the input of the
    forward pass or just its shape. Results, ``product``, ``out`` and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_avg_pool3d_backward(np.array([[[[1.0, 2.0]]]], np.float32), (1, 1, 1, 4))
    array([[[[0.5, 0.5, 1. , 1. ]]]], dtype=float32)
    """
    arrays = {"gradOutput": grad_output, "self": x, "out": out}
    return _call("aclnnAdaptiveAvgPool3dBackward", arrays, {}, "ND", product)


def max_pool2d_with_indices_backward(
    grad_output: Any,
    x: Any,
    indices: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    data_format: str = "NCHW",
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 2-D max pooling with respect to its input.

    ``indices`` (int32 or int64, of the shape of ``grad_output``) say where each maximum stood: ``h * W + w`` in its
    own plane. With ``data_format="NHWC"`` all tensors are (N,H,W,C) or (H,W,C); an index still means ``h * W + w``.
    Other parameters, results and errors as in ``avg_pool2d_backward``.

    An index outside its plane raises ``IndexRangeError`` (status 507015), which names the first one in the order of
    planes, rows and columns. The values in the output are then unspecified; nothing outside it was written.

    >>> import numpy as np, poolgrad
    >>> grad, where = np.array([[[1.0]]], np.float32), np.array([[[3]]])
    >>> poolgrad.max_pool2d_with_indices_backward(grad, (1, 2, 2), where, 2)
    array([[[0., 0.],
            [0., 1.]]], dtype=float32)
    """
    if not isinstance(data_format, str):
        raise TypeError(f"data_format must be a string such as 'NCHW' or 'NHWC', got {data_format!r}.")
    numbers: dict[str, Value] = {
        "kernelSize": _ints(kernel_size, "kernel_size"),
        "stride": () if stride is None else _ints(stride, "stride"),
        "padding": _ints(padding, "padding"),
        "dilation": _ints(dilation, "dilation"),
        "ceilMode": _flag(ceil_mode, "ceil_mode"),
    }
    arrays = {"gradOutput": grad_output, "self": x, "indices": indices, "gradInput": out}
    return _call("aclnnMaxPool2dWithIndicesBackward", arrays, numbers, data_format, product)


def adaptive_max_pool2d_backward(
    grad_output: Any, x: Any, indices: Any, *, product: str | None = None, out: Any = None
) -> Any:
    """The gradient of 2-D adaptive max pooling with respect to its input.

    ``grad_output`` and ``indices`` are (N,C,H,W) or (C,H,W); the rest as in ``max_pool2d_with_indices_backward``.

    >>> import numpy as np, poolgrad
    >>> grad, where = np.array([[[1.0, 2.0]]]), np.array([[[1, 1]]], np.int32)
    >>> poolgrad.adaptive_max_pool2d_backward(grad, (1, 1, 3), where)
    array([[[0., 3., 0.]]])
    """
    arrays = {"gradOutput": grad_output, "self": x, "indices": indices, "gradInput": out}
    return _call("aclnnAdaptiveMaxPool2dBackward", arrays, {}, "ND", product)


def _call(name: str, given: Mapping[str, Any], numbers: Mapping[str, Value], format: str, product: str | None) -> Any:
    """Describe the arrays, let the contract judge, plan, and run."""
    op = REGISTRY[name]
    output = op.output.name
    arrays = _describe(op, given, format)
    tensors = {name: array.tensor for name, array in arrays.items()}
    grad = tensors.get("gradOutput")
    if grad and isinstance(given["self"], tuple | list):
        tensors["self"] = _tensor_of_shape(given["self"], grad)
    fresh = given[output] is None
    if fresh and grad and "self" in tensors:
        tensors[output] = _result_like(tensors["self"], grad)
    values = {p.name: tensors.get(p.name) for p in op.tensors} | dict(numbers)
    plan = prepare(op, ANY if product is None else find_product(product), values)

    result = given[output]
    if fresh:
        target = plan.call.tensor(output)
        result = adapters.new_array(arrays["gradOutput"].owner, target)
        arrays[output] = adapters.describe(result, output, format)
    addresses = {name: arrays[name].address for name in (*plan.inputs, output)}
    if not fresh:
        enforce(dataclasses.replace(plan.call, addresses=addresses), MEMORY_CHECKS)
    scratch = np.empty(plan.scratch_bytes, np.uint8)
    execute(plan, addresses, scratch.ctypes.data)
    return result


def _describe(op: Operator, given: Mapping[str, Any], format: str) -> dict[str, adapters.Array]:
    """The arrays among the arguments; ``x`` may be a shape instead, and what is None stays out."""
    found = {}
    for p in op.tensors:
        value = given[p.name]
        if value is not None and not (p.name == "self" and isinstance(value, tuple | list)):
            found[p.name] = adapters.describe(value, p.python_name, format, output=p.output)
    return found


def _tensor_of_shape(sizes: Sequence[Any], grad: Tensor) -> Tensor:
    shape = tuple(_int(size, "each size of x") for size in sizes)
    return Tensor(grad.dtype, shape, contiguous_strides(shape, grad.dtype.itemsize), grad.format)


def _result_like(self: Tensor, grad: Tensor) -> Tensor:
    """The result's type follows grad_output, its layout follows x."""
    return Tensor(grad.dtype, self.shape, adapters.dense_strides(self, grad.dtype.itemsize), self.format)


def _int(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}.") from None


def _ints(value: Any, name: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if hasattr(value, "__index__") and not getattr(value, "ndim", 0):
        return (_int(value, name),)
    strange = isinstance(value, str | bytes | dict) or not hasattr(value, "__len__")
    if strange or not hasattr(value, "__getitem__") or len(value) > MOST_VALUES:
        raise TypeError(f"{name} must be an integer or a sequence of one or two integers, got {value!r}.")
    return tuple(_int(value[i], name) for i in range(len(value)))


def _flag(value: Any, name: str) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {value!r}.")
