"""What one call costs when there is next to nothing to compute, by every way into the library."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import torch

import poolgrad
from poolgrad import acl

from .cases import Case, parse
from .measure import caller, race
from .sides import Call, compare, prepare

CALLS = ("avg n1c16h4w4 k4", "avg n1c64h28w28 k3 s1 p1")
LAUNCHES = 2000


def latencies(threads: int, seconds: float) -> list[dict[str, Any]]:
    """Seconds per call: torch, ours on NumPy arrays and on torch tensors, and a repeatable executor's next run."""
    return [_latency(parse(line), threads, seconds) for line in CALLS]


def _latency(case: Case, threads: int, seconds: float) -> dict[str, Any]:
    sides = prepare(case)
    compare(sides, sides.calls)
    grad = torch.ones(case.grad_shape)
    kernel, stride, padding = case.parameters
    out = torch.empty(case.x_shape)
    tensors = partial(poolgrad.avg_pool2d_backward, grad, case.x_shape, kernel, stride, padding, out=out)
    with Executor(case) as executor:
        runners: dict[str, Call] = {
            "torch": sides.torch.call,
            "numpy": sides.poolgrad.call,
            "tensors": tensors,
            "executor": executor.run,
        }
        times = race({name: caller(call) for name, call in runners.items()}, seconds)
        times["launch"] = _shortest_launch(executor)
    return {"case": case.name, "threads": threads, **times}


class Executor:
    """An average gradient through the documented layer, planned once and made repeatable."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __enter__(self) -> Executor:
        _check(acl.aclInit(None))
        _check(acl.aclrtSetDevice(0))
        self.stream = _value(*acl.aclrtCreateStream())
        shapes = (self.case.grad_shape, self.case.x_shape, self.case.x_shape)
        grad, x, out = (self._tensor(shape) for shape in shapes)
        kernel, stride, padding = (acl.aclCreateIntArray(numbers) for numbers in self.case.parameters)
        size, self.executor, status = acl.aclnnAvgPool2dBackwardGetWorkspaceSize(
            grad, x, kernel, stride, padding, False, True, 0, 0, out
        )
        _check(status)
        self.size = size or 0
        _check(acl.aclSetAclOpExecutorRepeatable(self.executor))
        self.workspace = _value(*acl.aclrtMalloc(self.size, acl.ACL_MEM_MALLOC_HUGE_FIRST)) if self.size else None
        self.run()
        return self

    def __exit__(self, *_: object) -> None:
        _check(acl.aclDestroyAclOpExecutor(self.executor))
        _check(acl.aclFinalize())

    def _tensor(self, shape: tuple[int, ...]) -> Any:
        size = 4 * math.prod(shape)
        address = _value(*acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST))
        # What may be found there: denormal numbers, which take a processor many times as long as others.
        _check(acl.aclrtMemset(address, size, 0, size))
        return acl.aclCreateTensor(shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, shape, address)

    def launch(self) -> None:
        _check(acl.aclnnAvgPool2dBackward(self.workspace, self.size, self.executor, self.stream))

    def wait(self) -> None:
        _check(acl.aclrtSynchronizeStream(self.stream))

    def run(self) -> None:
        self.launch()
        self.wait()


def _shortest_launch(executor: Executor) -> float:
    """Phase two alone: it returns when the work is queued."""
    best = float("inf")
    for _ in range(LAUNCHES):
        start = time.perf_counter()
        executor.launch()
        best = min(best, time.perf_counter() - start)
        executor.wait()
    return best


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"status {status}: {acl.aclGetRecentErrMsg()}")


def _value(value: Any, status: int) -> Any:
    _check(status)
    return value
