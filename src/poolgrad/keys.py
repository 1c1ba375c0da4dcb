"""Keys of calls: two calls with equal keys get the same answer from the contract and the same plan.

Python calls 2, 2.0 and True equal, an array and its read-only twin look alike, and a list can change after it was
looked at. So a key is made only of what is exactly of a plain type, and holds all that a verdict depends on. Any other
call has no key, and is looked at more closely each time; that is slower, never wrong.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import threads
from .adapters import write_refusal
from .kernels import layout

Key = tuple[Any, ...]

# Among these only False and 0, True and 1 are equal, and parameters that take both take them for the same.
_PLAIN = frozenset((int, bool, type(None), str))
_INT = frozenset((int,))


def key_of(call: tuple[Any, ...], grad: Any, x: Any, indices: Any, out: Any) -> Key | None:
    """The key of a call on NumPy arrays alone, or torch tensors alone; ``indices`` and ``out`` may be None.

    ``call`` is the operator's name and all its other arguments.
    """
    if not (_PLAIN.issuperset(map(type, call)) or _are_plain(call)):
        return None
    if type(grad) is not _array:
        return _key_of_tensors(call, grad, x, indices, out)
    if type(x) is _array:
        x = x.dtype, x.shape, x.strides
    elif type(x) is not tuple or not _INT.issuperset(map(type, x)):
        return None
    if indices is not None:
        if type(indices) is not _array:
            return None
        indices = indices.dtype, indices.shape, indices.strides
    if out is not None:
        if type(out) is not _array:
            return None
        out = out.dtype, out.shape, out.strides, out.flags.writeable
    return threads.count, call, grad.dtype, grad.shape, grad.strides, x, indices, out


def _key_of_tensors(call: tuple[Any, ...], grad: Any, x: Any, indices: Any, out: Any) -> Key | None:
    torch = sys.modules.get("torch")
    if torch is None or type(grad) is not torch.Tensor:
        return None
    tensor = torch.Tensor
    if type(x) is not tensor and not (type(x) in (torch.Size, tuple) and _INT.issuperset(map(type, x))):
        return None
    if (indices is not None and type(indices) is not tensor) or (out is not None and type(out) is not tensor):
        return None
    if torch.autograd.forward_ad._current_level >= 0:  # any tensor may carry a tangent
        return None
    try:
        return (
            threads.count_beside(torch),
            call,
            _tensor_key(grad),
            _tensor_key(x) if type(x) is tensor else x,
            indices if indices is None else _tensor_key(indices),
            out if out is None else (_tensor_key(out), write_refusal(torch, out)),
        )
    except RuntimeError:  # what torch raises for tensors of its own special kinds
        return None


def _tensor_key(tensor: Any) -> Key:
    return (
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        tensor.requires_grad,
        tensor.is_cpu,
        tensor.layout,
        tensor.is_neg(),  # conjugates are of complex types, which no operator takes
        # Whether there is memory behind the shape.
        tensor.storage_offset(),
        tensor.untyped_storage().nbytes(),
        tensor.data_ptr() == 0,
    )


def _are_plain(numbers: tuple[Any, ...]) -> bool:
    """The same for numbers of which some are tuples of integers."""
    return all(type(n) in _PLAIN or (type(n) is tuple and _INT.issuperset(map(type, n))) for n in numbers)


# If compiled code can't read arrays, none is of the kind that has a key.
_array: Any = np.ndarray if layout.is_as_expected() else type(None)
