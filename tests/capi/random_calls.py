"""Random calls through C whose results must be the very bits of the Python function: what the soak's threads do."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import device
import ml_dtypes  # noqa: F401 - gives NumPy its bfloat16
import numpy as np
from capi.library import Library
from contract_cases import DOCUMENTS, SUPPORT

import poolgrad
from poolgrad.cases import CaseTensor
from poolgrad.cases.building import pooled_shape
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

SERVER_GONE = "server process has ended"  # in the message of a call
PRODUCT = "Atlas A2"
OPERATORS = [name for name, products in SUPPORT.items() if PRODUCT in products]
MOST = {2: 24, 3: 9}  # elements along an axis, by how many axes are pooled


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
            message = self.library.aclGetRecentErrMsg() or ""
            if SERVER_GONE in message:
                raise ServerLost(message)
            raise AssertionError(f"status {status}: {message}")
        return value

    def step(self) -> None:
        operators = [partial(self.call, name) for name in OPERATORS]
        self.random.choice([*operators, self.copies, self.misuse, self.events])()
        self.done += 1

    def sizes(self, count: int, most: int = 24) -> tuple[int, ...]:
        return tuple(self.random.randint(1, most) for _ in range(count))

    def call(self, name: str) -> None:
        """Both phases of an operator's call; its results must be the very bits of the Python function."""
        operator = REGISTRY[name]
        arrays, shape, numbers = self.arguments(operator)
        given = (arrays.get(p.name, shape) for p in operator.inputs)  # of what is not read, the shape
        named = {p.python_name: numbers[p.name] for p in operator.numbers}
        answer = getattr(poolgrad, operator.python_name)(*given, **named, product=PRODUCT)
        expected = dict(zip(operator.outputs, answer if isinstance(answer, tuple) else (answer,), strict=True))
        dtype = next(iter(expected.values())).dtype
        nothing = np.broadcast_to(np.zeros(1, dtype), shape)  # for what is only described, without memory
        handles, places, made = [], {}, []
        for p in operator.parameters:
            value = numbers[p.name] if p.kind != "tensor" else expected.get(p, arrays.get(p.name, nothing))
            if p.kind == "tensor":
                if value is not nothing:
                    places[p] = self.memory(value, filled=p.read)
                value = device.describe(value.shape, value.dtype.name, DOCUMENTS[name].format, places.get(p))
                made.append((self.library.aclDestroyTensor, value))
            elif p.kind == "ints":
                value = self.library.aclCreateIntArray(value)
                made.append((self.library.aclDestroyIntArray, value))
            handles.append(value)
        self.run(name, handles)
        for p, wanted in expected.items():
            result = np.empty_like(wanted)
            self.good(self.library.aclrtMemcpy(result, result.nbytes, places[p], result.nbytes, 2))
            assert result.tobytes() == wanted.tobytes(), f"{name} {shape} {numbers}: other bits than in Python"
        for destroy, handle in made:
            self.good(destroy(handle))
        for place in places.values():
            self.good(self.library.aclrtFree(place))

    def memory(self, array: Any, filled: bool) -> int:
        """Device memory of an array's size, which holds its elements if they matter."""
        address = self.good(self.library.aclrtMalloc(max(array.nbytes, 1), 0))
        if filled:
            self.good(self.library.aclrtMemcpy(address, array.nbytes, array, array.nbytes, 1))
        return int(address)

    def run(self, name: str, handles: list[Any]) -> None:
        size, executor, status = getattr(self.library, name + "GetWorkspaceSize")(*handles)
        self.good(status)
        workspace = self.good(self.library.aclrtMalloc(size, 0)) if size else None
        self.good(getattr(self.library, name)(workspace, size, executor, self.stream))
        self.good(self.library.aclrtSynchronizeStream(self.stream))
        if workspace:
            self.good(self.library.aclrtFree(workspace))

    def arguments(self, operator: Operator) -> tuple[dict[str, Any], tuple[int, ...], dict[str, Any]]:
        """Arrays of what is read, the shape of the forward pass's input, and numbers of a legal call."""
        document, axes = DOCUMENTS[operator.name], len(operator.axes)
        shape = self.sizes(2 + axes, MOST[axes])
        numbers = self.windows(operator, shape[2:])
        x = CaseTensor("float32", shape, document.format)
        pooled = pooled_shape(operator, x, numbers) or (*shape[:2], *self.sizes(axes, 9))
        dtypes = self.random.choice(document.forms_on(PRODUCT)).dtypes
        arrays = {}
        for p in (p for p in operator.inputs if p.read):
            dtype = np.dtype(dtypes[document.tensors[p.name].dtype])
            if p.role is Role.INDICES:
                arrays[p.name] = self.numbers.integers(0, math.prod(shape[2:]), pooled).astype(dtype)
            elif p.role is Role.MASK:
                named = {q.python_name: numbers[q.name] for q in operator.numbers}
                x = self.numbers.standard_normal(shape).astype(np.float32)
                arrays[p.name] = poolgrad.max_pool2d_with_mask(x, **named, product=PRODUCT)[1]
            else:
                size = shape if p.role is Role.INPUT else pooled
                arrays[p.name] = self.numbers.standard_normal(size).astype(np.float32).astype(dtype)
        return arrays, shape, numbers

    def windows(self, operator: Operator, sizes: tuple[int, ...]) -> dict[str, Any]:
        kernel = tuple(self.random.randint(1, size) for size in sizes)
        of_role = {
            Role.KERNEL: kernel,
            Role.STRIDE: self.sizes(len(sizes), 4),
            Role.PADDING: tuple(self.random.randint(0, k // 2) for k in kernel),
            Role.OUTPUT_SIZE: self.sizes(len(sizes), 9),
        }
        numbers = {p.name: of_role.get(p.role, p.default) for p in operator.numbers}
        return numbers | {p.name: self.random.random() < 0.5 for p in operator.numbers if p.kind == "bool"}

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
            (getattr(library, self.random.choice(OPERATORS))(None, 0, garbage, self.stream), 161002),
        ]
        for answer, expected in answers:
            if answer != expected:
                self.good(answer)
                raise AssertionError(f"{answer} for the garbage {garbage:#x} instead of {expected}")
        library.aclGetRecentErrMsg()

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
