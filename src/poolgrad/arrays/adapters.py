"""Arrays of other libraries: what they are made of, and how to make one like them. torch is never imported here."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import DType, dtype_named
from ..base.tensor import Tensor, contiguous_strides

_DLPACK_CPU = 1


class Array(NamedTuple):
    """A described array: the tensor, where it begins, and the object that keeps its memory alive."""

    tensor: Tensor
    address: int
    owner: Any


def describe(value: Any, name: str, format: str, *, output: bool = False) -> Array:
    """Read an array of any known kind; ``TypeError`` if it is none."""
    if isinstance(value, np.ndarray):
        return _describe_numpy(value, name, format)
    if is_torch(value):
        return _describe_torch(value, name, format, output)
    if hasattr(value, "__dlpack__"):
        return _describe_numpy(_from_dlpack(value, name, output), name, format)
    got, advice = type(value).__name__, f"Try numpy.asarray({name})."
    if output:  # which a copy would not be
        advice = "Give the array itself."
    if isinstance(value, tuple | list) and value and all(isinstance(n, int | np.integer) for n in value):
        got, advice = f"a {got} of integers", f"If that is a shape: pass an array of it, such as numpy.ones({name})."
    elif hasattr(value, "store_path") and not hasattr(value, "dtype"):
        got, advice = f"a Zarr {got}", "Give one of its arrays."
    elif hasattr(value, "__dask_graph__") or hasattr(value, "store_path"):
        got, advice = f"{type(value).__module__}.{got}", f"Try numpy.asarray({name}), which loads all of it."
    raise TypeError(
        f"{name} must be a NumPy array, a torch CPU tensor or an object with __dlpack__, got {got}. {advice}"
    )


def describe_without_memory(value: Any, name: str, format: str, *, output: bool = False) -> Array:
    """The same of something that has a type and a shape, and perhaps no memory: in C order, wherever it is."""
    try:
        dtype, shape = np.dtype(value.dtype), tuple(operator.index(size) for size in value.shape)
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"{name} must have a dtype and a shape that are known, got {type(value).__name__}.") from None
    kind = _numpy_dtype(dtype)
    return Array(Tensor(kind, shape, contiguous_strides(shape, kind.itemsize), format), 0, value)


def as_numpy(value: Any, name: str) -> Any:
    """The same memory as a NumPy array, or, where its owner only gives it so, a copy of it."""
    owner = describe(value, name, "ND").owner
    return owner if isinstance(owner, np.ndarray) else _from_dlpack(owner, name, False)


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def write_refusal(torch: Any, tensor: Any) -> str:
    """Why torch lets nobody write into a tensor just now; empty if it does."""
    if tensor.requires_grad and torch.is_grad_enabled():
        return (
            "requires grad, and this function is not differentiable. Use poolgrad.torch, whose functions take part in "
            "autograd, call inside torch.no_grad(), or pass out.detach()."
        )
    if tensor.is_inference() and not torch.is_inference_mode_enabled():
        return "was made in torch.inference_mode(), and may be written there only. Call inside it, or pass out.clone()."
    return ""


def note_write(array: Any) -> None:
    """Let autograd know that the values change, so that it never takes them for what it kept.

    This is done before they do, since Ctrl-C may end a call at any time. Once too often does no harm.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        torch.autograd.graph.increment_version(array)


def name_of_dtype(dtype: Any) -> str:
    """The name of an index type as NumPy, torch or a text says it."""
    text = str(dtype)
    if text.startswith("torch."):
        return text.removeprefix("torch.")
    try:
        return str(np.dtype(dtype).name)
    except (TypeError, ValueError) as error:  # letters that NumPy can't write are a ValueError, too
        got = repr(dtype) if isinstance(dtype, str | int | float | list | tuple) else type(dtype).__name__
        raise TypeError(f"index_dtype must be a type such as numpy.int64 or 'int32', got {got}.") from error


def maker_of(like: Any, tensor: Tensor) -> Callable[[], Any]:
    """What makes uninitialised arrays of the kind of ``like``, as described; strides are those of ``dense_strides``."""
    if is_torch(like):
        steps = tuple(step // tensor.dtype.itemsize for step in tensor.strides)
        torch = sys.modules["torch"]
        dtype = getattr(torch, tensor.dtype.name)
        return partial(torch.empty_strided, tensor.shape, steps, dtype=dtype, device="cpu")
    kind = np.dtype(tensor.dtype.name)
    if tensor.strides == contiguous_strides(tensor.shape, tensor.dtype.itemsize):
        return partial(np.empty, tensor.shape, kind)
    order = sorted(range(tensor.rank), key=lambda axis: (-tensor.strides[axis], -tensor.shape[axis]))
    shape, axes = [tensor.shape[axis] for axis in order], np.argsort(order)
    return lambda: np.empty(shape, kind).transpose(axes)


def write(target: Any, values: Any) -> None:
    """Put the numbers of a NumPy array into an array or tensor of somebody else's."""
    if is_torch(target):
        target.copy_(like(target, values))
    else:
        target[...] = values


def like(kind: Any, array: Any) -> Any:
    """A NumPy array, as a torch tensor if ``kind`` is one."""
    if not is_torch(kind):
        return array
    torch = sys.modules["torch"]
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _describe_numpy(array: Any, name: str, format: str) -> Array:
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and the mask would be ignored. Pass {name}.filled(0).")
    array = np.asarray(array)  # of a subclass only the memory counts
    tensor = Tensor(_numpy_dtype(array.dtype), array.shape, array.strides, format, array.flags.writeable)
    return Array(tensor, array.__array_interface__["data"][0], array)


@cache
def _numpy_dtype(dtype: np.dtype[Any]) -> DType:
    name = dtype.name if dtype.isnative else f"{dtype.name} in swapped byte order"
    return dtype_named(name, 8 * dtype.itemsize)


@cache
def _torch_dtype(dtype: Any) -> DType:
    return dtype_named(str(dtype).removeprefix("torch."), 8 * dtype.itemsize)


def _describe_torch(value: Any, name: str, format: str, output: bool) -> Array:
    try:
        return _read_torch(value, name, format, output)
    except RuntimeError as error:  # what torch raises for tensors of its own special kinds
        raise TypeError(f"{name} must be an ordinary dense tensor on the CPU: {error}") from error


def _read_torch(value: Any, name: str, format: str, output: bool) -> Array:
    torch = sys.modules["torch"]
    differentiable = f"Use poolgrad.torch, whose functions take part in autograd, or pass {name}.detach()."
    if output:
        refusal = write_refusal(torch, value)
        if refusal:
            raise TypeError(f"{name} {refusal}")
    elif value.requires_grad:
        raise TypeError(f"{name} requires grad, and this function is not differentiable. {differentiable}")
    if torch.autograd.forward_ad.unpack_dual(value).tangent is not None:
        raise TypeError(f"{name} carries a tangent, and this function is not differentiable. {differentiable}")
    if value.device.type != "cpu" or value.layout is not torch.strided:
        raise TypeError(f"{name} must be a dense tensor on the CPU, got {value.layout} on {value.device}.")
    if value.is_conj() or value.is_neg():
        raise TypeError(f"{name} is a lazily negated view. Pass {name}.resolve_neg().")
    itemsize = value.element_size()
    tensor = Tensor(
        _torch_dtype(value.dtype), tuple(value.shape), tuple(step * itemsize for step in value.stride()), format
    )
    # Fake tensors, lazy zeros and tensors whose storage was taken away have a shape, but no memory behind it.
    end = value.storage_offset() * itemsize + tensor.byte_range[1]
    if tensor.count and (not value.data_ptr() or value.untyped_storage().nbytes() < end):
        raise TypeError(f"{name} has no memory behind its shape. Pass an ordinary tensor.")
    return Array(tensor, value.data_ptr(), value)


def _from_dlpack(value: Any, name: str, output: bool) -> Any:
    try:
        device = int(value.__dlpack_device__()[0])
    except Exception as error:
        raise TypeError(f"{name} has __dlpack__, but its __dlpack_device__ does not answer: {error!r}") from error
    if device != _DLPACK_CPU:
        raise TypeError(f"{name} must be on the CPU, its DLPack device type is {device}. Copy it there first.")
    try:
        return np.from_dlpack(value)
    except Exception as error:
        array = _without_numpy_dlpack(value, output)
        if array is None:
            raise TypeError(f"{name} can't be read through DLPack: {error}") from error
        return array


def _without_numpy_dlpack(value: Any, output: bool) -> Any:
    """NumPy's reader refused: bfloat16 we read ourselves, else the owner may know how to make a NumPy array.

    That array may be a copy, so it does not do for an output.
    """
    from .dlpack import read_bfloat16  # with ml_dtypes, which few calls need

    with contextlib.suppress(Exception):
        array = read_bfloat16(value)
        if array is not None:
            return array
    if output:
        return None
    with contextlib.suppress(Exception):
        array = np.asarray(value)
        if array.dtype != object:
            return array
    return None
