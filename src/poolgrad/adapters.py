"""Arrays of other libraries: what they are made of, and how to make one like them. torch is never imported here."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, NamedTuple

import numpy as np

from .dtypes import DTYPES, foreign_dtype
from .tensor import Tensor, contiguous_strides

_DLPACK_CPU = 1


class Array(NamedTuple):
    """A described array: the tensor, where it begins, and the object that keeps its memory alive."""

    tensor: Tensor
    address: int
    owner: Any


def describe(value: Any, name: str, format: str) -> Array:
    """Read an array of any known kind; ``TypeError`` if it is none."""
    if isinstance(value, np.ndarray):
        return _describe_numpy(value, name, format)
    if is_torch(value):
        return _describe_torch(value, name, format)
    if hasattr(value, "__dlpack__"):
        return _describe_numpy(_from_dlpack(value, name), name, format)
    raise TypeError(
        f"{name} must be a NumPy array, a torch CPU tensor or an object with __dlpack__, "
        f"got {type(value).__name__}. Try numpy.asarray({name})."
    )


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def new_array(like: Any, tensor: Tensor) -> Any:
    """An uninitialised array of the kind of ``like``, as described; the strides are those of ``dense_strides``."""
    if is_torch(like):
        steps = tuple(step // tensor.dtype.itemsize for step in tensor.strides)
        return sys.modules["torch"].empty_strided(tensor.shape, steps, dtype=like.dtype)
    order = sorted(range(tensor.rank), key=lambda axis: -tensor.strides[axis])
    dense = np.empty([tensor.shape[axis] for axis in order], like.dtype)
    return dense.transpose(np.argsort(order))


def dense_strides(tensor: Tensor, itemsize: int) -> tuple[int, ...]:
    """Byte strides of a dense array whose axes lie in memory in the order of the tensor's."""
    sized = [(step, size) for step, size in zip(tensor.strides, tensor.shape, strict=True) if size > 1]
    if any(step == 0 for step, _ in sized):  # a broadcast view has no order of its own
        return contiguous_strides(tensor.shape, itemsize)
    order = sorted(range(tensor.rank), key=lambda axis: -abs(tensor.strides[axis]))
    steps = contiguous_strides([tensor.shape[axis] for axis in order], itemsize)
    return tuple(steps[order.index(axis)] for axis in range(tensor.rank))


def _describe_numpy(array: Any, name: str, format: str) -> Array:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and the mask would be ignored. Pass {name}.filled(0).")
    dtype = array.dtype
    known = DTYPES.get(dtype.name) if dtype.isnative else None
    described = known or foreign_dtype(dtype.str if not dtype.isnative else dtype.name, 8 * dtype.itemsize)
    tensor = Tensor(described, array.shape, array.strides, format, array.flags.writeable)
    return Array(tensor, array.__array_interface__["data"][0], array)


def _describe_torch(value: Any, name: str, format: str) -> Array:
    torch = sys.modules["torch"]
    if value.requires_grad:
        raise TypeError(
            f"{name} requires grad, and this function is not differentiable. "
            f"Use poolgrad.torch, whose functions take part in autograd, or pass {name}.detach()."
        )
    if value.device.type != "cpu" or value.layout is not torch.strided:
        raise TypeError(f"{name} must be a dense tensor on the CPU, got {value.layout} on {value.device}.")
    if value.is_conj() or value.is_neg():
        raise TypeError(f"{name} is a lazily negated view. Pass {name}.resolve_neg().")
    dtype = foreign_dtype(str(value.dtype).removeprefix("torch."), 8 * value.element_size())
    strides = tuple(step * value.element_size() for step in value.stride())
    return Array(Tensor(dtype, tuple(value.shape), strides, format), value.data_ptr(), value)


def _from_dlpack(value: Any, name: str) -> Any:
    device = value.__dlpack_device__()[0]
    if device != _DLPACK_CPU:
        raise TypeError(
            f"{name} must be on the CPU, its DLPack device type is {int(device)}. Copy it to the CPU first."
        )
    try:
        return np.from_dlpack(value)
    except Exception as error:
        array = _without_numpy_dlpack(value)
        if array is None:
            raise TypeError(f"{name} can't be read through DLPack: {error}") from error
        return array


def _without_numpy_dlpack(value: Any) -> Any:
    """NumPy's reader refused: bfloat16 we read ourselves, else the owner may know how to make a NumPy array."""
    from .dlpack import read_bfloat16  # with ml_dtypes, which few calls need

    with contextlib.suppress(Exception):
        array = read_bfloat16(value)
        if array is not None:
            return array
    with contextlib.suppress(Exception):
        array = np.asarray(value)
        if array.dtype != object:
            return array
    return None
