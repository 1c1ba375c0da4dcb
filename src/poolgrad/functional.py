"""The Pythonic layer: four functions on NumPy arrays, torch CPU tensors and anything with DLPack."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy import ndarray

from . import adapters, threads
from .contract import Operator, Value, enforce, prepare
from .execute import Task, arrange, index_error
from .kernels.task import ADDRESSES, APART, ARRAYS, DONE, MAY_OVERLAP
from .keys import key_of
from .operators import REGISTRY
from .overlap import MEMORY_CHECKS
from .pictures import remember, repeat
from .plan import Plan
from .products import ANY, Product, find_product
from .tensor import Tensor, contiguous_strides

AVG, ADAPTIVE_AVG = "aclnnAvgPool2dBackward", "aclnnAdaptiveAvgPool3dBackward"
MAX, ADAPTIVE_MAX = "aclnnMaxPool2dWithIndicesBackward", "aclnnAdaptiveMaxPool2dBackward"

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
    What a signal handler raises, such as ``KeyboardInterrupt`` after Ctrl-C, ends a call within a second. The values in
    the output are then unspecified, and nothing writes into it any more.

    >>> import numpy as np, poolgrad
    >>> poolgrad.avg_pool2d_backward(np.ones((1, 1, 2, 2), np.float32), (1, 1, 4, 4), 2)[0, 0, 0]
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    call = (AVG, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, cube_math_type, product)
    result = _repeat(call, grad_output, x, None, out)
    if result is not None:
        return result
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
    return _call(call, arrays, numbers, "NCHW", product)


def adaptive_avg_pool3d_backward(grad_output: Any, x: Any, *, product: str | None = None, out: Any = None) -> Any:
    """The gradient of 3-D adaptive average pooling with respect to its input.

    ``grad_output`` is (N,C,D,H,W) or (C,D,H,W), of any output size, also larger than ``x``. ``x`` is the input of the
    forward pass or just its shape. Results, ``product``, ``out`` and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_avg_pool3d_backward(np.array([[[[1.0, 2.0]]]], np.float32), (1, 1, 1, 4))
    array([[[[0.5, 0.5, 1. , 1. ]]]], dtype=float32)
    """
    call = (ADAPTIVE_AVG, product)
    result = _repeat(call, grad_output, x, None, out)
    if result is not None:
        return result
    arrays = {"gradOutput": grad_output, "self": x, "out": out}
    return _call(call, arrays, {}, "ND", product)


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
    call = (MAX, kernel_size, stride, padding, dilation, ceil_mode, data_format, product)
    result = _repeat(call, grad_output, x, indices, out)
    if result is not None:
        return result
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
    return _call(call, arrays, numbers, data_format, product)


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
    call = (ADAPTIVE_MAX, product)
    result = _repeat(call, grad_output, x, indices, out)
    if result is not None:
        return result
    arrays = {"gradOutput": grad_output, "self": x, "indices": indices, "gradInput": out}
    return _call(call, arrays, {}, "ND", product)


class _Verdict(NamedTuple):
    """A call that the contract allows: its plan, its task if there is anything to do, and what makes its results."""

    plan: Plan
    task: Task | None
    new_result: Callable[[], Any]


# Verdicts of earlier calls, by everything that a verdict depends on, and known calls, by their fingerprints. What is
# refused is never kept.
_VERDICTS: dict[Any, Any] = {}
MOST_VERDICTS = 1024


def _repeat(call: tuple[Any, ...], grad: Any, x: Any, indices: Any, out: Any) -> Any:
    """The result of a call that was judged before; None for one that is new, and one that something is wrong with."""
    if out is not None and type(grad) is ndarray and repeat(_VERDICTS, call, grad, x, indices, out) == DONE:
        return out
    verdict: _Verdict | None = _VERDICTS.get(key_of(call, grad, x, indices, out))
    if verdict is None:
        return None
    _, task, new_result = verdict
    if out is None:
        out = new_result()
    elif task is not None and type(grad) is not ndarray:
        adapters.note_write(out)
    if task is None:
        return out
    if type(grad) is ndarray:
        if indices is None:
            answer = task.run(ARRAYS, id(grad), id(out), 0)
        else:
            answer = task.run(ARRAYS, id(grad), id(indices), id(out))
    elif type(out) is not type(grad):  # torch in one of its modes makes tensors without memory
        return None
    elif indices is None:
        answer = task.run(ADDRESSES, grad.data_ptr(), out.data_ptr(), 0)
    else:
        answer = task.run(ADDRESSES, grad.data_ptr(), indices.data_ptr(), out.data_ptr())
    return out if answer == DONE else None


def _call(
    call: tuple[Any, ...],
    given: Mapping[str, Any],
    numbers: Mapping[str, Value],
    format: str,
    product: str | None,
) -> Any:
    """Describe the arrays, let the contract judge, plan, and run."""
    name = call[0]
    op = REGISTRY[name]
    output = op.output.name
    wanted = ANY if product is None else find_product(product)
    grad, x, indices, result = given["gradOutput"], given["self"], given.get("indices"), given[output]
    key = key_of(call, grad, x, indices, result)
    count = threads.count_beside(sys.modules["torch"]) if adapters.is_torch(grad) else threads.count
    arrays = _describe(op, given, format)
    shape = tuple(_int(size, "each size of x") for size in x) if isinstance(x, tuple | list) else None
    description = (
        name,
        wanted.name,
        count,
        shape,
        *numbers.values(),
        *((p, type(array.owner), array.tensor) for p, array in arrays.items()),
    )
    verdict: _Verdict | None = _VERDICTS.get(description)
    if verdict is None:
        with threads.in_this_call(count):
            verdict = _judge(op, wanted, arrays, shape, numbers)
        if len(_VERDICTS) >= MOST_VERDICTS:
            _VERDICTS.clear()
        _VERDICTS[description] = verdict
    if key is not None:
        _VERDICTS[key] = verdict
    if result is None:
        result = verdict.new_result()
        arrays[output] = adapters.describe(result, output, format)
    elif verdict.task is not None:
        adapters.note_write(result)
    if verdict.task is not None:
        _run(verdict.task, {used: arrays[used].address for used in (*verdict.plan.inputs, output)})
        if key is not None and given[output] is not None and type(grad) is ndarray:
            remember(_VERDICTS, verdict.task, call, grad, x, indices, result)
    return result


def _run(task: Task, addresses: Mapping[str, int]) -> None:
    """Run on memory of which nothing is known but its addresses."""
    tensors = arrange(task.plan, addresses)
    answer = task.run(ADDRESSES, *tensors)
    if answer == MAY_OVERLAP:  # by a look at the outer bounds; the contract has the exact rows
        enforce(dataclasses.replace(task.plan.call, addresses=addresses), MEMORY_CHECKS)
        answer = task.run(APART, *tensors)
    if answer != DONE:
        raise index_error(task.plan, tensors, answer)


def _judge(
    op: Operator,
    product: Product,
    arrays: Mapping[str, adapters.Array],
    shape: tuple[int, ...] | None,
    numbers: Mapping[str, Value],
) -> _Verdict:
    """Contract and plan; raises the refusal."""
    output = op.output.name
    tensors = {name: array.tensor for name, array in arrays.items()}
    grad = tensors.get("gradOutput")
    if grad and shape is not None:
        tensors["self"] = Tensor(grad.dtype, shape, contiguous_strides(shape, grad.dtype.itemsize), grad.format)
    if output not in tensors and grad and "self" in tensors:
        tensors[output] = _result_like(tensors["self"], grad)
    values = {p.name: tensors.get(p.name) for p in op.tensors} | dict(numbers)
    plan = prepare(op, product, values)
    new_result = adapters.maker_of(arrays["gradOutput"].owner, plan.call.tensor(output))
    return _Verdict(plan, Task(plan) if plan.kernel else None, new_result)


def _describe(op: Operator, given: Mapping[str, Any], format: str) -> dict[str, adapters.Array]:
    """The arrays among the arguments; ``x`` may be a shape instead, and what is None stays out."""
    found = {}
    for p in op.tensors:
        value = given[p.name]
        if value is not None and not (p.name == "self" and isinstance(value, tuple | list)):
            found[p.name] = adapters.describe(value, p.python_name, format, output=p.output)
    return found


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
