"""Random calls through C whose results must be the very bits of the Python function: what the soak's threads do."""

from __future__ import annotations

import random
from typing import Any

import device
import ml_dtypes
import numpy as np
from capi.library import Library

import poolgrad

SERVER_GONE = "server process has ended"  # in the message of a call
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


class ServerLost(Exception):
    """A call failed because its server is gone."""


class Worker:
    """One thread of a program: its own context and stream, and calls drawn from a seed."""

    def __init__(self, library: Library, seed: int) -> None:
        self.library = library
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.context = self.good(library.aclrtCreateContext(0))
        self.stream = self.good(library.aclrtCreateStream())
        self.done = 0

    def good(self, answer: Any) -> Any:
        """The value of an answer whose status must be 0."""
        value, status = answer if isinstance(answer, tuple) else (None, answer)
        if status:
            message = self.library.take() or ""
            if SERVER_GONE in message:
                raise ServerLost(message)
            raise AssertionError(f"status {status}: {message}")
        return value

    def step(self) -> None:
        self.random.choice([self.average, self.adaptive_average, self.maximum, self.adaptive_maximum, self.copies,
                            self.misuse, self.events])()  # fmt: skip
        self.done += 1

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self.numbers.standard_normal(shape).astype(np.float32).astype(dtype)

    def sizes(self, count: int, most: int = 24) -> tuple[int, ...]:
        return tuple(self.random.randint(1, most) for _ in range(count))

    def run(self, operator: str, tensors: list[Any], numbers: list[Any], shape: tuple[int, ...], expected: Any) -> None:
        """Both phases of a call whose last argument is the output; its result must be these very bits."""
        library, made = self.library, []
        for array, format in tensors:
            address = self.good(library.aclrtMalloc(max(array.nbytes, 1), 0))
            self.good(library.aclrtMemcpy(address, array.nbytes, array, array.nbytes, 1))
            made.append((device.describe(array.shape, array.dtype.name, format, address), address))
        format = tensors[0][1]
        address = self.good(library.aclrtMalloc(max(expected.nbytes, 1), 0))
        out = device.describe(shape, expected.dtype.name, format, address)
        self_tensor = device.describe(shape, expected.dtype.name, format)
        arrays = [library.aclCreateIntArray(n) if isinstance(n, tuple) else n for n in numbers]
        handles = [made[0][0], self_tensor, *(handle for handle, _ in made[1:]), *arrays, out]
        size, executor, status = getattr(library, operator + "GetWorkspaceSize")(*handles)
        self.good(status)
        workspace = self.good(library.aclrtMalloc(size, 0)) if size else None
        self.good(getattr(library, operator)(workspace, size, executor, self.stream))
        self.good(library.aclrtSynchronizeStream(self.stream))
        result = np.empty(shape, expected.dtype)
        self.good(library.aclrtMemcpy(result, result.nbytes, address, result.nbytes, 2))
        assert result.tobytes() == expected.tobytes(), f"{operator} {shape} {numbers}: other bits than in Python"
        for handle in (*(handle for handle, _ in made), self_tensor, out):
            self.good(library.aclDestroyTensor(handle))
        for handle in (a for a, n in zip(arrays, numbers, strict=True) if isinstance(n, tuple)):
            self.good(library.aclDestroyIntArray(handle))
        for place in (*(place for _, place in made), address, workspace):
            if place:
                self.good(library.aclrtFree(place))

    def average(self) -> None:
        dtype, shape = self.random.choice(FLOATS), self.sizes(4)
        kernel = tuple(self.random.randint(1, size) for size in shape[2:])
        stride = self.sizes(2, 4)
        padding = tuple(self.random.randint(0, k // 2) for k in kernel)
        pooled = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(shape[2:], kernel, stride, padding, strict=True)]
        grad = self.array((*shape[:2], *pooled), dtype)
        include = self.random.random() < 0.5
        expected = poolgrad.avg_pool2d_backward(
            grad, shape, kernel, stride, padding, count_include_pad=include, product="Atlas A2"
        )
        numbers = [kernel, stride, padding, False, include, 0, 0]
        self.run("aclnnAvgPool2dBackward", [(grad, "NCHW")], numbers, shape, expected)

    def adaptive_average(self) -> None:
        shape = self.sizes(5, 9)
        grad = self.array((*shape[:2], *self.sizes(3, 9)), self.random.choice(FLOATS))
        expected = poolgrad.adaptive_avg_pool3d_backward(grad, shape, product="Atlas A2")
        self.run("aclnnAdaptiveAvgPool3dBackward", [(grad, "NCDHW")], [], shape, expected)

    def indices(self, shape: tuple[int, ...], plane: int, dtype: Any) -> Any:
        return self.numbers.integers(0, plane, shape).astype(dtype)

    def maximum(self) -> None:
        shape = self.sizes(4)
        kernel = tuple(self.random.randint(1, size) for size in shape[2:])
        stride = self.sizes(2, 4)
        pooled = tuple((n - k) // s + 1 for n, k, s in zip(shape[2:], kernel, stride, strict=True))
        grad = self.array((*shape[:2], *pooled), FLOATS[0])
        indices = self.indices(grad.shape, shape[2] * shape[3], np.int32)
        expected = poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel, stride, product="Atlas A2")
        tensors = [(grad, "NCHW"), (indices, "NCHW")]
        self.run("aclnnMaxPool2dWithIndicesBackward", tensors, [kernel, stride, (0,), (1,), False], shape, expected)

    def adaptive_maximum(self) -> None:
        shape = self.sizes(4)
        grad = self.array((*shape[:2], *self.sizes(2, 9)), self.random.choice(FLOATS))
        indices = self.indices(grad.shape, shape[2] * shape[3], self.random.choice([np.int32, np.int64]))
        expected = poolgrad.adaptive_max_pool2d_backward(grad, shape, indices, product="Atlas A2")
        self.run("aclnnAdaptiveMaxPool2dBackward", [(grad, "ND"), (indices, "ND")], [], shape, expected)

    def copies(self) -> None:
        """Through device memory of up to a megabyte, by interior addresses and by the stream."""
        data = self.numbers.integers(0, 256, self.random.randint(1, 2**20)).astype(np.uint8)
        start = self.random.randint(0, 100)
        one, two = (self.good(self.library.aclrtMalloc(data.nbytes + start, 0)) for _ in range(2))
        back = np.empty_like(data)
        self.good(self.library.aclrtMemcpy(one + start, data.nbytes, data, data.nbytes, 1))
        self.good(self.library.aclrtMemcpyAsync(two, data.nbytes, one + start, data.nbytes, 3, self.stream))
        self.good(self.library.aclrtMemcpyAsync(back, data.nbytes, two, data.nbytes, 2, self.stream))
        self.good(self.library.aclrtSynchronizeStream(self.stream))
        assert np.array_equal(data, back), "a copy changed its bytes"
        for address in (one, two):
            self.good(self.library.aclrtFree(address))

    def misuse(self) -> None:
        library, garbage = self.library, self.random.getrandbits(64)
        answers = [
            (library.aclDestroyTensor(garbage), 161002),
            (library.aclrtSynchronizeEvent(garbage), 107017),
            (library.aclrtFree(garbage), 107017),
            (library.aclnnAvgPool2dBackward(None, 0, garbage, self.stream), 161002),
        ]
        for answer, expected in answers:
            if answer != expected:
                self.good(answer)
                raise AssertionError(f"{answer} for the garbage {garbage:#x} instead of {expected}")
        library.take()

    def events(self) -> None:
        library = self.library
        start, end = (self.good(library.aclrtCreateEvent()) for _ in range(2))
        self.good(library.aclrtRecordEvent(start, self.stream))
        self.good(library.aclrtStreamWaitEvent(self.stream, start))
        self.good(library.aclrtRecordEvent(end, self.stream))
        self.good(library.aclrtSynchronizeEvent(end))
        assert self.good(library.aclrtEventElapsedTime(start, end)) >= 0
        for event in (start, end):
            self.good(library.aclrtDestroyEvent(event))
