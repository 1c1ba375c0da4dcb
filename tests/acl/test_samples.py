"""The documents' sample programs, carried over to Python, with the values that they print."""

from __future__ import annotations

import numpy as np
import pytest
from device import device, download, run, tensor_on

from poolgrad import acl


@pytest.mark.parametrize("product", ["Atlas A2", "Atlas A3", "Ascend 950", "Atlas inference series"])
def test_average_sample(product: str) -> None:
    with device(product) as stream:
        grad, _ = tensor_on(np.ones((1, 16, 1, 1), np.float32), "NCHW")
        self, _ = tensor_on(np.ones((1, 16, 4, 4), np.float32), "NCHW")
        out, address = tensor_on(np.ones((1, 16, 4, 4), np.float32), "NCHW")
        kernel, stride, padding = (acl.aclCreateIntArray(v) for v in ([4, 4], [1, 1], [0, 0]))
        arguments = (grad, self, kernel, stride, padding, False, True, 0, 1, out)
        assert run("aclnnAvgPool2dBackward", stream, *arguments) == 0
        assert (download(address, (256,), np.float32) == 0.0625).all()


def test_adaptive_average_sample() -> None:
    with device() as stream:
        grad, _ = tensor_on(np.arange(1, 9, dtype=np.float32).reshape(2, 2, 1, 1, 2))
        self, _ = tensor_on(np.ones((2, 2, 1, 1, 4), np.float32))
        out, address = tensor_on(np.zeros((2, 2, 1, 1, 4), np.float32))
        assert run("aclnnAdaptiveAvgPool3dBackward", stream, grad, self, out) == 0
        expected = [0.5, 0.5, 1, 1, 1.5, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3.5, 3.5, 4, 4]
        assert download(address, (16,), np.float32).tolist() == expected


def test_max_sample() -> None:
    with device() as stream:
        grad, _ = tensor_on(np.array([0.4757, 0.1726], np.float32).reshape(1, 1, 2, 1), "NCHW")
        self, _ = tensor_on(np.zeros((1, 1, 4, 3), np.float32), "NCHW")
        indices, _ = tensor_on(np.array([0, 6], np.int32).reshape(1, 1, 2, 1), "NCHW")
        out, address = tensor_on(np.zeros((1, 1, 4, 3), np.float32), "NCHW")
        kernel, stride, padding, dilation = (acl.aclCreateIntArray(v) for v in ([2, 2], [2, 2], [0, 0], [1, 1]))
        arguments = (grad, self, indices, kernel, stride, padding, dilation, False, out)
        assert run("aclnnMaxPool2dWithIndicesBackward", stream, *arguments) == 0
        expected = np.zeros(12, np.float32)
        expected[0], expected[6] = 0.4757, 0.1726
        assert np.array_equal(download(address, (12,), np.float32), expected)


def broken_adaptive_max_sample(stream: int, index_type: int) -> int:
    """int32 data with index 6 in a plane of 2 x 2."""
    grad, _ = tensor_on(np.array([0.4757], np.float32).reshape(1, 1, 1, 1))
    self, _ = tensor_on(np.zeros((1, 1, 2, 2), np.float32))
    _, address = tensor_on(np.array([6], np.int32))
    indices = acl.aclCreateTensor((1, 1, 1, 1), index_type, None, 0, acl.ACL_FORMAT_ND, (1, 1, 1, 1), address)
    out, _ = tensor_on(np.zeros((1, 1, 2, 2), np.float32))
    return run("aclnnAdaptiveMaxPool2dBackward", stream, grad, self, indices, out)


def test_adaptive_max_sample_reads_past_its_block() -> None:
    """As printed the sample declares its four bytes of indices as INT64: phase two must refuse to read eight."""
    with device() as stream:
        assert broken_adaptive_max_sample(stream, acl.ACL_INT64) == 161002
        message = acl.aclGetRecentErrMsg() or ""
        assert "indices" in message
        assert "bytes 0 to 8 of an allocation of 4 bytes" in message


def test_adaptive_max_sample_points_outside_its_plane() -> None:
    """With the right type the index itself is wrong, which shows when the stream is synchronised."""
    with device() as stream:
        assert broken_adaptive_max_sample(stream, acl.ACL_INT32) == 507015
        message = acl.aclGetRecentErrMsg() or ""
        assert "AclNN_Inner_Error(EZ9999)" in message
        assert "indices[0, 0, 0, 0] = 6" in message
        assert "2x2" in message
        assert acl.aclrtSynchronizeStream(stream) == 0, "a failure is answered once"
