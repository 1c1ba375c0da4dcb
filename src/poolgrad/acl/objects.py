"""Tensors and int arrays as the documents know them: descriptions made before anything is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..base.dtypes import DTYPE_BY_CODE, FORMAT_BY_CODE, DType
from ..base.status import ACLNN_ERR_INNER, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR
from ..base.tensor import Tensor, contiguous_strides
from .arguments import as_int, as_ints, is_null, shown
from .handles import HANDLES, INT_ARRAY, TENSOR, Kind
from .known import forget_calls
from .messages import refusal, returning_status, returning_value, returning_value_and_status

T = TypeVar("T")
Ints = Sequence[int] | None


@dataclass(slots=True, eq=False)
class AclTensor:
    """A tensor over device memory. ``strides`` and ``offset`` count elements; the address 0 is null."""

    tensor: Tensor
    strides: tuple[int, ...]
    offset: int
    format_code: int
    storage_dims: tuple[int, ...]
    address: int

    def become(self, other: AclTensor) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))
        forget_calls()

    def move(self, address: int) -> None:
        self.address = address
        forget_calls()


@dataclass(frozen=True, slots=True, eq=False)
class AclIntArray:
    values: tuple[int, ...]


@returning_value(ACLNN_ERR_INNER)
def aclCreateTensor(
    viewDims: Ints, dataType: int, stride: Ints, offset: int, format: int, storageDims: Ints, tensorData: int | None
) -> int:
    """The handle of a new tensor. Strides of None mean contiguous; whether an operator takes it is checked there."""
    return HANDLES.new(TENSOR, _describe(viewDims, dataType, stride, offset, format, storageDims, tensorData))


@returning_status(ACLNN_ERR_INNER)
def aclInitTensor(
    tensor: int | None,
    viewDims: Ints,
    dataType: int,
    stride: Ints,
    offset: int,
    format: int,
    storageDims: Ints,
    tensorData: int | None,
) -> None:
    """Give a tensor a new description."""
    target = _find_tensor(tensor)
    target.become(_describe(viewDims, dataType, stride, offset, format, storageDims, tensorData))


@returning_status(ACLNN_ERR_INNER)
def aclDestroyTensor(tensor: int | None) -> None:
    """Forget the tensor, not its device memory."""
    _destroy("tensor", tensor, TENSOR)


@returning_value(ACLNN_ERR_INNER)
def aclCreateIntArray(value: Ints) -> int:
    """The handle of a new array, which may be empty; None for None."""
    if is_null(value):
        raise refusal(ACLNN_ERR_PARAM_NULLPTR, "value is null; pass a sequence of integers, which may be empty")
    return HANDLES.new(INT_ARRAY, AclIntArray(_ints("value", value)))


@returning_status(ACLNN_ERR_INNER)
def aclDestroyIntArray(array: int | None) -> None:
    _destroy("array", array, INT_ARRAY)


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetIntArraySize(array: int | None) -> int:
    return len(HANDLES.find("array", array, INT_ARRAY).values)


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetViewShape(tensor: int | None) -> tuple[int, ...]:
    return _find_tensor(tensor).tensor.shape


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetStorageShape(tensor: int | None) -> tuple[int, ...]:
    return _find_tensor(tensor).storage_dims


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetViewStrides(tensor: int | None) -> tuple[int, ...]:
    return _find_tensor(tensor).strides


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetViewOffset(tensor: int | None) -> int:
    return _find_tensor(tensor).offset


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetFormat(tensor: int | None) -> int:
    return _find_tensor(tensor).format_code


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetDataType(tensor: int | None) -> int:
    return _find_tensor(tensor).tensor.dtype.code


@returning_status(ACLNN_ERR_INNER)
def aclSetRawTensorAddr(tensor: int | None, addr: int | None) -> None:
    _find_tensor(tensor).move(_address("addr", addr))


@returning_value_and_status(ACLNN_ERR_INNER)
def aclGetRawTensorAddr(tensor: int | None) -> int:
    """The address of the tensor's memory, 0 for null."""
    return _find_tensor(tensor).address


def adopt_tensor(handle: int, *described: object) -> None:
    """As aclCreateTensor, under a handle that a program has given out itself."""
    HANDLES.adopt(handle, TENSOR, _describe(*described))


def adopt_int_array(handle: int, values: object) -> None:
    HANDLES.adopt(handle, INT_ARRAY, AclIntArray(_ints("value", values)))


def forget_object(handle: int, kind: Kind[Any]) -> None:
    """As the functions that destroy objects; of one that is not there nobody is told."""
    HANDLES.drop(handle, kind)
    forget_calls()


def _describe(
    view_dims: object, dtype: object, strides: object, offset: object, format: object, storage: object, address: object
) -> AclTensor:
    for name, dims in (("viewDims", view_dims), ("storageDims", storage)):
        if is_null(dims):
            raise refusal(ACLNN_ERR_PARAM_NULLPTR, f"{name} is null; pass a sequence of integers")
    shape = _ints("viewDims", view_dims)
    steps = contiguous_strides(shape) if is_null(strides) else _ints("stride", strides)
    if len(steps) != len(shape):
        text = f"stride has {len(steps)} values and viewDims {len(shape)}; pass one for each, or null for contiguous"
        raise refusal(ACLNN_ERR_PARAM_INVALID, text)
    kind, layout = _int("dataType", dtype), _int("format", format)
    element = DTYPE_BY_CODE.get(kind) or DType(f"aclDataType {kind}", f"aclDataType {kind}", kind, 0)
    itemsize = element.itemsize
    byte_strides = tuple([step * itemsize for step in steps])
    return AclTensor(
        tensor=Tensor(element, shape, byte_strides, FORMAT_BY_CODE.get(layout, f"aclFormat {layout}")),
        strides=steps,
        offset=_int("offset", offset),
        format_code=layout,
        storage_dims=_ints("storageDims", storage),
        address=_address("tensorData", address),
    )


def _find_tensor(handle: object) -> AclTensor:
    return HANDLES.find("tensor", handle, TENSOR)


def _destroy(name: str, handle: object, kind: Kind[Any]) -> None:
    if not is_null(handle) and HANDLES.drop(handle, kind) is None:
        raise HANDLES.no_object(name, handle, kind)
    forget_calls()


def _int(name: str, value: object) -> int:
    """Any integer, also beyond 64 bits: whether it makes sense is for the operators to say."""
    return _read(name, value, as_int, "an integer")


def _ints(name: str, values: object) -> tuple[int, ...]:
    return _read(name, values, as_ints, "a sequence of integers")


def _address(name: str, value: object) -> int:
    return 0 if value is None else _read(name, value, as_int, "an address or null")


def _read(name: str, value: object, reader: Callable[[object], T | None], expected: str) -> T:
    result = reader(value)
    if result is None:
        raise refusal(ACLNN_ERR_PARAM_INVALID, f"{name} must be {expected}, got {shown(value)}")
    return result
