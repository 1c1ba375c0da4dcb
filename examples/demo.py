"""The sample calls of the four documents through the documented layer, and one call of the Pythonic layer.

Each line shows what came and what the document says; the exit code is 1 if they differ anywhere.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import poolgrad
from poolgrad import acl


def check(ret: int) -> None:
    if ret != acl.ACL_SUCCESS:
        raise SystemExit(f"status {ret}: {acl.aclGetRecentErrMsg()}")


def to_device(array: np.ndarray[Any, Any], format: int, dtype: int) -> tuple[int | None, int | None]:
    """Copy an array into device memory and describe it as a tensor."""
    address, ret = acl.aclrtMalloc(array.nbytes, acl.ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret)
    check(acl.aclrtMemcpy(address, array.nbytes, array, array.nbytes, acl.ACL_MEMCPY_HOST_TO_DEVICE))
    return acl.aclCreateTensor(array.shape, dtype, None, 0, format, array.shape, address), address


def to_host(address: int | None, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    array = np.empty(shape, np.float32)
    check(acl.aclrtMemcpy(array, array.nbytes, address, array.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    return array


def run(phase_two: Any, planned: tuple[int | None, int | None, int], stream: int | None) -> int:
    """Phase two and its workspace; returns the first status that is not success."""
    size, executor, ret = planned
    check(ret)
    workspace, ret = acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST) if size else (None, 0)
    check(ret)
    return int(phase_two(workspace, size, executor, stream) or acl.aclrtSynchronizeStream(stream))


def average(stream: int | None) -> tuple[Any, Any]:
    nchw, f32 = acl.ACL_FORMAT_NCHW, acl.ACL_FLOAT
    grad, _ = to_device(np.ones((1, 16, 1, 1), np.float32), nchw, f32)
    x, _ = to_device(np.ones((1, 16, 4, 4), np.float32), nchw, f32)
    out, address = to_device(np.ones((1, 16, 4, 4), np.float32), nchw, f32)
    kernel, stride, padding = (acl.aclCreateIntArray(v) for v in ([4, 4], [1, 1], [0, 0]))
    planned = acl.aclnnAvgPool2dBackwardGetWorkspaceSize(grad, x, kernel, stride, padding, False, True, 0, 1, out)
    check(run(acl.aclnnAvgPool2dBackward, planned, stream))
    return to_host(address, (256,)), np.full(256, 0.0625, np.float32)


def adaptive_average(stream: int | None) -> tuple[Any, Any]:
    nd, f32 = acl.ACL_FORMAT_ND, acl.ACL_FLOAT
    grad, _ = to_device(np.arange(1, 9, dtype=np.float32).reshape(2, 2, 1, 1, 2), nd, f32)
    x, _ = to_device(np.ones((2, 2, 1, 1, 4), np.float32), nd, f32)
    out, address = to_device(np.zeros((2, 2, 1, 1, 4), np.float32), nd, f32)
    check(
        run(
            acl.aclnnAdaptiveAvgPool3dBackward, acl.aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(grad, x, out), stream
        )
    )
    return to_host(address, (16,)), np.repeat(np.arange(1, 9, dtype=np.float32) / 2, 2)


def maximum(stream: int | None) -> tuple[Any, Any]:
    nchw, f32 = acl.ACL_FORMAT_NCHW, acl.ACL_FLOAT
    grad, _ = to_device(np.array([0.4757, 0.1726], np.float32).reshape(1, 1, 2, 1), nchw, f32)
    x, _ = to_device(np.zeros((1, 1, 4, 3), np.float32), nchw, f32)
    indices, _ = to_device(np.array([0, 6], np.int32).reshape(1, 1, 2, 1), nchw, acl.ACL_INT32)
    out, address = to_device(np.zeros((1, 1, 4, 3), np.float32), nchw, f32)
    kernel, stride, padding, dilation = (acl.aclCreateIntArray(v) for v in ([2, 2], [2, 2], [0, 0], [1, 1]))
    planned = acl.aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize(
        grad, x, indices, kernel, stride, padding, dilation, False, out
    )
    check(run(acl.aclnnMaxPool2dWithIndicesBackward, planned, stream))
    expected = np.zeros(12, np.float32)
    expected[[0, 6]] = 0.4757, 0.1726
    return to_host(address, (12,)), expected


def adaptive_maximum(stream: int | None) -> tuple[Any, Any]:
    """This document's sample declares 4 bytes of int32 data as INT64: the answer is an error, not a wild read."""
    nd, f32 = acl.ACL_FORMAT_ND, acl.ACL_FLOAT
    grad, _ = to_device(np.array([0.4757], np.float32).reshape(1, 1, 1, 1), nd, f32)
    x, _ = to_device(np.zeros((1, 1, 2, 2), np.float32), nd, f32)
    indices, _ = to_device(np.array([6], np.int32).reshape(1, 1, 1, 1), nd, acl.ACL_INT64)
    out, _ = to_device(np.zeros((1, 1, 2, 2), np.float32), nd, f32)
    planned = acl.aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(grad, x, indices, out)
    status = run(acl.aclnnAdaptiveMaxPool2dBackward, planned, stream)
    print(f"   the library says: {acl.aclGetRecentErrMsg()}")
    return np.array([status]), np.array([acl.ACLNN_ERR_PARAM_INVALID])


def pythonic(stream: int | None) -> tuple[Any, Any]:
    grad = np.array([[[4.0, 8.0], [12.0, 16.0]]], np.float32)
    result = poolgrad.avg_pool2d_backward(grad, (1, 4, 4), kernel_size=2)
    return result.ravel(), np.repeat(np.repeat(grad / 4, 2, 1), 2, 2).ravel()


CALLS = (
    ("aclnnAvgPool2dBackward (both documents)", average),
    ("aclnnAdaptiveAvgPool3dBackward", adaptive_average),
    ("aclnnMaxPool2dWithIndicesBackward", maximum),
    ("aclnnAdaptiveMaxPool2dBackward (its sample is broken: status 161002)", adaptive_maximum),
    ("poolgrad.avg_pool2d_backward(grad, (1, 4, 4), kernel_size=2)", pythonic),
)


def main() -> int:
    check(acl.aclInit(None))
    check(acl.aclrtSetDevice(0))
    stream, ret = acl.aclrtCreateStream()
    check(ret)
    agree = True
    for title, call in CALLS:
        print(f"== {title}")
        got, expected = call(stream)
        same = np.array_equal(got, expected)
        agree = agree and same
        for name, values in (("got", got), ("expected", expected)):
            shown = " ".join(f"{value:g}" for value in values[:16])
            print(f"   {name:<9}{shown}{f' ... ({len(values)} values)' if len(values) > 16 else ''}")
        print(f"   {'same' if same else 'DIFFERENT'}")
    check(acl.aclrtDestroyStream(stream))
    check(acl.aclrtResetDevice(0))
    check(acl.aclFinalize())
    print(f"\npoolgrad {poolgrad.__version__}: {'all as documented' if agree else 'NOT as documented'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
