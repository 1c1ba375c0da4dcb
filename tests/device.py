"""A device for tests: arrays onto it, calls in two phases, results back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from poolgrad import acl
from poolgrad.base.dtypes import DTYPES, FORMATS
from poolgrad.operators import REGISTRY


@contextmanager
def device(product: str = "Atlas A2") -> Iterator[int]:
    """An initialised runtime with device 0 set; gives a stream."""
    acl.set_product(product)
    assert acl.aclInit(None) == 0
    try:
        assert acl.aclrtSetDevice(0) == 0
        stream, ret = acl.aclrtCreateStream()
        assert ret == 0
        yield stream
    finally:
        assert acl.aclFinalize() == 0
        acl.set_product("Atlas A2")


def upload(array: np.ndarray[Any, Any]) -> int:
    """Device memory with the array's bytes."""
    array = np.ascontiguousarray(array)
    address, ret = acl.aclrtMalloc(max(array.nbytes, 1), acl.ACL_MEM_MALLOC_HUGE_FIRST)
    assert ret == 0
    assert acl.aclrtMemcpy(address, array.nbytes, array, array.nbytes, acl.ACL_MEMCPY_HOST_TO_DEVICE) == 0
    return address


def download(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    array = np.empty(shape, dtype)
    assert acl.aclrtMemcpy(array, array.nbytes, address, array.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST) == 0
    return array


def tensor_on(array: np.ndarray[Any, Any], format: str = "ND") -> tuple[int, int]:
    """A contiguous tensor over a copy of the array: its handle, and its address."""
    address = upload(array)
    return describe(array.shape, array.dtype.name, format, address), address


def describe(
    shape: tuple[int, ...],
    dtype: str,
    format: str,
    address: int | None = None,
    strides: tuple[int, ...] | None = None,
) -> int:
    handle = acl.aclCreateTensor(shape, DTYPES[dtype].code, strides, 0, FORMATS[format], shape, address)
    assert handle is not None
    return handle


def phase_one(operator: str, *arguments: Any) -> tuple[int | None, int | None, int]:
    result: tuple[int | None, int | None, int] = getattr(acl, operator + "GetWorkspaceSize")(*arguments)
    return result


def run(operator: str, stream: int, *arguments: Any) -> int:
    """Both phases and a synchronise; the first status that is not 0."""
    size, executor, ret = phase_one(operator, *arguments)
    if ret:
        return ret
    workspace = acl.aclrtMalloc(size, 0)[0] if size else None
    ret = getattr(acl, operator)(workspace, size, executor, stream)
    ret = ret or acl.aclrtSynchronizeStream(stream)
    if workspace:
        assert acl.aclrtFree(workspace) == 0
    return int(ret)


def parameters(operator: str) -> list[str]:
    return [p.name for p in REGISTRY[operator].parameters]
