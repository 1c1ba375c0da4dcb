"""The sample calls of the operators' documents through the documented layer, and one call of the Pythonic layer.

Each line shows what came and what the document says; the exit code is 1 if they differ anywhere.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import poolgrad
from poolgrad import acl
from poolgrad.base.dtypes import DTYPES
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Parameter, Role
from poolgrad.operators import REGISTRY

Array = np.ndarray[Any, Any]


def check(ret: int) -> None:
    if ret != acl.ACL_SUCCESS:
        raise SystemExit(f"status {ret}: {acl.aclGetRecentErrMsg()}")


def to_device(array: Array, format: int, dtype: int) -> tuple[int | None, int | None]:
    """Copy an array into device memory and describe it as a tensor."""
    address, ret = acl.aclrtMalloc(array.nbytes, acl.ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret)
    check(acl.aclrtMemcpy(address, array.nbytes, array, array.nbytes, acl.ACL_MEMCPY_HOST_TO_DEVICE))
    return acl.aclCreateTensor(array.shape, dtype, None, 0, format, array.shape, address), address


def to_host(address: int | None, like: Array) -> Array:
    array = np.empty_like(like)
    check(acl.aclrtMemcpy(array, array.nbytes, address, array.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    return array


def run(phase_two: Any, planned: tuple[int | None, int | None, int], stream: int | None) -> int:
    """Phase two and its workspace; returns the first status that is not success."""
    size, executor, ret = planned
    check(ret)
    workspace, ret = acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST) if size else (None, 0)
    check(ret)
    return int(phase_two(workspace, size, executor, stream) or acl.aclrtSynchronizeStream(stream))


def both_phases(operator: Operator, arguments: list[Any], stream: int | None) -> int:
    planned = getattr(acl, f"{operator.name}GetWorkspaceSize")(*arguments)
    return run(getattr(acl, operator.name), planned, stream)


def array_of(operator: Operator, parameter: Parameter) -> Array:
    """What the sample program puts into a tensor; what is only described, or computed, holds zeros."""
    sample = operator.sample
    array = np.zeros(sample.shapes[parameter.name], parameter.dtype)
    array.ravel()[:] = sample.values.get(parameter.name, 0)
    return array


def documented(operator: Operator, stream: int | None) -> tuple[Array, Array]:
    """The sample program of an operator's document: what it computes, and what the document says."""
    format = getattr(acl, f"ACL_FORMAT_{operator.default_format}")
    arguments: list[Any] = []
    results: dict[str, tuple[int | None, Array]] = {}
    for parameter in operator.parameters:
        if parameter.kind == "tensor":
            array = array_of(operator, parameter)
            tensor, address = to_device(array, format, DTYPES[array.dtype.name].code)
            arguments.append(tensor)
            if parameter.output:
                results[parameter.name] = address, array
        else:
            value = operator.sample.numbers.get(parameter.name, parameter.default)
            arguments.append(acl.aclCreateIntArray(value) if parameter.kind == "ints" else value)
    check(both_phases(operator, arguments, stream))
    got = [to_host(address, array).ravel() for address, array in results.values()]
    expected = [np.array(operator.sample.results[name], array.dtype) for name, (_, array) in results.items()]
    return np.concatenate(got), np.concatenate(expected)


def broken(stream: int | None) -> tuple[Array, Array]:
    """One document's own sample declares 4 bytes of int32 data as INT64: the answer is an error, not a wild read."""
    operator = REGISTRY["aclnnAdaptiveMaxPool2dBackward"]
    arguments = []
    for parameter in operator.parameters:
        dtype = acl.ACL_INT64 if parameter.role is Role.INDICES else acl.ACL_FLOAT
        arguments.append(to_device(array_of(operator, parameter), acl.ACL_FORMAT_ND, dtype)[0])
    status = both_phases(operator, arguments, stream)
    print(f"   the library says: {acl.aclGetRecentErrMsg()}")
    return np.array([status]), np.array([acl.ACLNN_ERR_PARAM_INVALID])


def pythonic(stream: int | None) -> tuple[Array, Array]:
    grad = np.array([[[4.0, 8.0], [12.0, 16.0]]], np.float32)
    result = poolgrad.avg_pool2d_backward(grad, (1, 4, 4), kernel_size=2)
    return result.ravel(), np.repeat(np.repeat(grad / 4, 2, 1), 2, 2).ravel()


def show(got: Array, expected: Array) -> bool:
    same = np.array_equal(got, expected)
    for name, values in (("got", got), ("expected", expected)):
        shown = " ".join(f"{value:g}" for value in values[:16])
        print(f"   {name:<9}{shown}{f' ... ({len(values)} values)' if len(values) > 16 else ''}")
    print(f"   {'same' if same else 'DIFFERENT'}")
    return same


def main() -> int:
    check(acl.aclInit(None))
    check(acl.aclrtSetDevice(0))
    stream, ret = acl.aclrtCreateStream()
    check(ret)
    agree = True
    for operator in REGISTRY.values():
        print(f"== {operator.name}")
        agree &= show(*documented(operator, stream))
    for title, call in (
        ("aclnnAdaptiveMaxPool2dBackward as its document calls it (its sample is broken: status 161002)", broken),
        ("poolgrad.avg_pool2d_backward(grad, (1, 4, 4), kernel_size=2)", pythonic),
    ):
        print(f"== {title}")
        agree &= show(*call(stream))
    check(acl.aclrtDestroyStream(stream))
    check(acl.aclrtResetDevice(0))
    check(acl.aclFinalize())
    print(f"\npoolgrad {poolgrad.__version__}: {'all as documented' if agree else 'NOT as documented'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
