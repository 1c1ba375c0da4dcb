"""Repeatable executors: runs that were checked before are not checked again, unless anything could have changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from acl_helpers import Gate, background, finish, stream_of
from device import describe, download, phase_one, tensor_on, upload

import poolgrad
from poolgrad import AclnnError, acl, run
from poolgrad.acl import known, operators
from poolgrad.acl.handles import EXECUTOR
from poolgrad.acl.worker import Stream
from poolgrad.run.prepared import PREPARED

MAX = "aclnnAdaptiveMaxPool2dBackward"
AVG = "aclnnAvgPool2dBackward"


class Call:
    """2 x 2 windows over a plane of 4 x 4, planned as repeatable, and run once."""

    def __init__(self, stream: int) -> None:
        self.grad_data = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
        self.grad, self.grad_at = tensor_on(self.grad_data, "NCHW")
        self.self = describe((1, 1, 4, 4), "float32", "NCHW")
        self.out, self.out_at = tensor_on(np.zeros((1, 1, 4, 4), np.float32), "NCHW")
        self.kernel, self.padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
        arguments = (self.grad, self.self, self.kernel, None, self.padding, False, True, 0, 0, self.out)
        size, executor, ret = phase_one(AVG, *arguments)
        assert ret == 0
        assert size
        assert acl.aclSetAclOpExecutorRepeatable(executor) == 0
        self.size, self.executor, self.stream = size, executor, stream
        self.workspace = acl.aclrtMalloc(size, 0)[0]
        assert self.run() == 0
        assert acl.aclrtSynchronizeStream(stream) == 0

    def run(self, **changes: Any) -> int:
        given = {"workspace": self.workspace, "size": self.size, "stream": self.stream} | changes
        return acl.aclnnAvgPool2dBackward(given["workspace"], given["size"], self.executor, given["stream"])

    @property
    def is_kept(self) -> bool:
        return any(run.executor is operators.HANDLES.get(self.executor, EXECUTOR) for run in known.runs.values())

    def result(self) -> Any:
        return download(self.out_at, (4, 4), np.float32)


def forbid(*arguments: Any) -> Any:
    raise AssertionError("this run should have been known")


def test_an_executor_that_is_destroyed_while_its_run_is_checked(stream: int, monkeypatch: Any) -> None:
    """The run was found alive and goes on; nobody may find it afterwards."""
    call = Call(stream)
    known.forget_runs()
    find = operators.find_executor

    def destroyed_behind(*arguments: Any) -> Any:
        monkeypatch.setattr(operators, "find_executor", find)
        found = find(*arguments)
        assert acl.aclDestroyAclOpExecutor(call.executor) == 0
        return found

    monkeypatch.setattr(operators, "find_executor", destroyed_behind)
    assert call.run() == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert call.run() == 161002


def test_known_runs_are_not_checked_again(stream: int, monkeypatch: Any) -> None:
    call = Call(stream)
    monkeypatch.setattr(operators, "enforce", forbid)
    for value in (5, 6):
        changed = np.full((1, 1, 2, 2), value, np.float32)
        assert acl.aclrtMemcpy(call.grad_at, 16, changed, 16, acl.ACL_MEMCPY_HOST_TO_DEVICE) == 0
        assert call.run() == 0
        assert acl.aclrtSynchronizeStream(stream) == 0
        assert (call.result() == value / 4).all()


def shrink(call: Call) -> None:
    shape = (1, 1, 1, 2)
    assert acl.aclInitTensor(call.grad, shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, shape, call.grad_at) == 0


# What happens between two runs, and the row that the second one breaks (or its status).
CHANGES: list[tuple[str, Callable[[Call], object], str]] = [
    ("gradient freed", lambda c: acl.aclrtFree(c.grad_at), "storage-in-block"),
    ("output freed", lambda c: acl.aclrtFree(c.out_at), "storage-in-block"),
    ("workspace freed", lambda c: acl.aclrtFree(c.workspace), "workspace-live"),
    ("gradient destroyed", lambda c: acl.aclDestroyTensor(c.grad), "objects-live"),
    ("input destroyed", lambda c: acl.aclDestroyTensor(c.self), "objects-live"),
    ("array destroyed", lambda c: acl.aclDestroyIntArray(c.kernel), "objects-live"),
    ("gradient described anew", shrink, "objects-unchanged"),
    ("output moved outside", lambda c: acl.aclSetRawTensorAddr(c.out, c.out_at + 4), "storage-in-block"),
    ("output moved to null", lambda c: acl.aclSetTensorAddr(c.executor, 2, c.out, None), "storage-in-block"),
    ("input moved nowhere", lambda c: acl.aclSetInputTensorAddr(c.executor, 1, c.self, 16), "storage-in-block"),
    ("output over the gradient", lambda c: acl.aclSetRawTensorAddr(c.grad, c.out_at), "output-overlaps-input"),
    ("gradient over the workspace", lambda c: acl.aclSetRawTensorAddr(c.grad, c.workspace), "workspace-apart"),
    ("executor destroyed", lambda c: acl.aclDestroyAclOpExecutor(c.executor), "destroyed executor"),
]


def test_only_so_many_runs_are_known(stream: int, monkeypatch: Any) -> None:
    """A program may give every run another workspace, and never free one."""
    known.forget_runs()
    monkeypatch.setattr(operators, "MOST_KNOWN", 1)
    call = Call(stream)
    assert call.is_kept
    assert call.run(workspace=acl.aclrtMalloc(call.size, 0)[0]) == 0
    assert len(known.runs) == 1


@pytest.mark.parametrize("line", CHANGES, ids=lambda line: line[0])
def test_what_changed_between_two_runs_is_noticed(stream: int, line: tuple[str, Callable[[Call], object], str]) -> None:
    _, change, row = line
    call = Call(stream)
    assert call.run() == 0
    assert call.is_kept
    change(call)
    assert not call.is_kept
    assert call.run() == 161002
    assert row in (acl.aclGetRecentErrMsg() or "")
    assert call.run() == 161002


# Another argument in the second run, and its answer; numbers of other types that mean the same are fine.
ARGUMENTS: list[tuple[str, Callable[[Call], dict[str, Any]], int]] = [
    ("too small", lambda c: {"size": c.size - 1}, 161002),
    ("larger than needed", lambda c: {"size": c.size + 1}, 0),
    ("another workspace", lambda c: {"workspace": acl.aclrtMalloc(c.size, 0)[0]}, 0),
    ("no workspace", lambda c: {"workspace": None}, 161001),
    ("a NumPy address", lambda c: {"workspace": np.int64(c.workspace)}, 0),
    ("a float address", lambda c: {"workspace": float(c.workspace)}, 161002),
    ("a float size", lambda c: {"size": float(c.size)}, 161002),
    ("a NumPy size", lambda c: {"size": np.uint64(c.size)}, 0),
    ("the default stream", lambda c: {"stream": None}, 0),
    ("no stream", lambda c: {"stream": 12345}, 107017),
    ("a float stream", lambda c: {"stream": float(c.stream)}, 107017),
]


@pytest.mark.doors("Python", "C")
@pytest.mark.parametrize("line", ARGUMENTS, ids=lambda line: line[0])
def test_other_arguments_are_judged_anew(stream: int, line: tuple[str, Callable[[Call], dict[str, Any]], int]) -> None:
    _, change, status = line
    call = Call(stream)
    assert call.run() == 0
    assert call.run(**change(call)) == status
    assert acl.aclrtSynchronizeDevice() == 0
    assert call.run() == (0 if status == 0 else 161002), "a failure uses the executor up"


@pytest.mark.doors("Python", "C")
def test_another_operator(stream: int) -> None:
    call = Call(stream)
    assert acl.aclnnAdaptiveAvgPool3dBackward(call.workspace, call.size, call.executor, stream) == 161002
    assert call.run() == 161002


@pytest.mark.doors("Python", "C")
def test_another_context(stream: int) -> None:
    call = Call(stream)
    assert acl.aclrtCreateContext(0)[1] == 0
    assert call.run() == 107003


@pytest.mark.doors("Python", "C")
def test_stream_destroyed_between_runs(stream: int) -> None:
    call = Call(stream)
    assert acl.aclrtDestroyStream(stream) == 0
    assert call.run() == 107017


def test_after_finalize(stream: int) -> None:
    call = Call(stream)
    assert acl.aclFinalize() == 0
    assert call.run() == 361001
    assert not known.runs


def test_freed_memory_is_not_held_by_what_is_kept(stream: int) -> None:
    call = Call(stream)
    assert call.run() == 0
    block = operators.ARENA.find(call.grad_at, 16)
    assert acl.aclrtFree(call.grad_at) == 0
    assert not [run for run in known.runs.values() if block in run.blocks]


@pytest.mark.parametrize("checks", ["_run_as_before", "enforce"])
def test_a_change_while_a_run_is_checked_is_not_missed(stream: int, checks: str, monkeypatch: Any) -> None:
    """Another thread frees the workspace when the checks are through: that run may go on, the next must not."""
    call = Call(stream)
    original = getattr(operators, checks)
    asked: list[str] = []

    def check(*arguments: Any) -> Any:
        found = original(*arguments)
        asked.append(checks)
        assert acl.aclrtFree(call.workspace) == 0
        return found

    known.forget_runs()
    if checks == "enforce":
        for prepared in PREPARED.values():
            prepared.last_launch = None
    monkeypatch.setattr(operators, checks, check)
    assert call.run() == 0
    monkeypatch.undo()
    assert asked == [checks]
    assert not call.is_kept
    assert call.run() == 161002


class Threads:
    """In which threads the runs of a test took place."""

    def __init__(self, monkeypatch: Any) -> None:
        self.seen: list[threading.Thread] = []
        original = operators.Run.__call__

        def watched(run: operators.Run) -> None:
            self.seen.append(threading.current_thread())
            original(run)

        monkeypatch.setattr(operators.Run, "__call__", watched)

    def take(self) -> list[bool]:
        """Whether each run took place in this thread."""
        found = [thread is threading.current_thread() for thread in self.seen]
        self.seen.clear()
        return found


def test_short_runs_of_an_idle_stream_take_place_at_once(
    stream: int, gate: Callable[[], Gate], monkeypatch: Any
) -> None:
    call, threads = Call(stream), Threads(monkeypatch)
    assert call.run() == 0
    assert threads.take() == [True]
    held = gate()
    stream_of(stream).submit(held)
    assert held.reached.wait(30)
    assert acl.aclrtMemset(call.out_at, 64, 0, 64) == 0
    assert call.run() == call.run() == 0
    assert threads.take() == [], "they stand in the queue"
    assert not call.result().any()
    held.open()
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert threads.take() == [False, False]
    assert call.result().any()
    monkeypatch.setattr(operators, "SMALL_TRAFFIC", 1)
    assert call.run() == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert threads.take() == [False]


def test_a_kernel_that_has_to_be_compiled_first_is_no_short_run(stream: int, monkeypatch: Any) -> None:
    call, threads = Call(stream), Threads(monkeypatch)
    found = operators.find_executor(call.executor, 0).prepared
    monkeypatch.setattr(run.prepared, "is_loaded", lambda name, compute: False)
    assert found.is_compiled, "this executor has its kernel already"
    found._task = None
    assert call.run() == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert threads.take() == [False]
    assert call.run() == 0
    assert threads.take() == [True]


def bad_index(stream: int, index: int) -> None:
    grad, self = tensor_on(np.ones((1, 1, 1), np.float32))[0], describe((1, 2, 2), "float32", "ND")
    indices, out = tensor_on(np.array([[[index]]], np.int64))[0], tensor_on(np.zeros((1, 2, 2), np.float32))[0]
    size, executor, _ = phase_one(MAX, grad, self, indices, out)
    assert acl.aclnnAdaptiveMaxPool2dBackward(None, size, executor, stream) == 0


@pytest.mark.doors("Python", "C")
def test_a_run_that_fails_at_once_is_reported_when_somebody_asks(stream: int) -> None:
    bad_index(stream, 0)
    assert acl.aclrtSynchronizeStream(stream) == 0
    before = acl.aclrtCreateEvent()[0]
    assert acl.aclrtRecordEvent(before, stream) == 0
    assert acl.aclrtSynchronizeEvent(before) == 0
    bad_index(stream, 7)
    bad_index(stream, 8)
    after = acl.aclrtCreateEvent()[0]
    assert acl.aclrtRecordEvent(after, stream) == 0
    assert acl.aclrtSynchronizeEvent(before) == 0, "it was reached before anything failed"
    assert acl.aclrtSynchronizeEvent(after) == 507015
    assert "= 7 is outside" in (acl.aclGetRecentErrMsg() or "")
    assert acl.aclrtSynchronizeStream(stream) == 0


def test_unexpected_failures_of_short_runs_are_told_too(stream: int, monkeypatch: Any) -> None:
    call = Call(stream)

    def broken(run: operators.Run) -> None:
        raise RuntimeError("no reason")

    monkeypatch.setattr(operators.Run, "__call__", broken)
    assert call.run() == 0
    assert acl.aclrtSynchronizeStream(stream) == acl.ACL_ERROR_RT_INTERNAL_ERROR
    assert "RuntimeError: no reason" in (acl.aclGetRecentErrMsg() or "")


def test_ctrl_c_in_a_short_run_is_the_callers(stream: int, monkeypatch: Any) -> None:
    call = Call(stream)

    def interrupted(run: operators.Run) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(operators.Run, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            call.run()
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert call.run() == 161002, "as after any failure"


def test_tasks_of_a_stream_never_run_side_by_side(stream: int, monkeypatch: Any) -> None:
    """Callers in several threads: some runs take place in theirs, some in the stream's, one at a time."""
    call = Call(stream)
    context = acl.aclrtGetCurrentContext()[0]
    inside, most, total = [0], [0], [0]
    original = operators.Run.__call__

    def watched(run: operators.Run) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        original(run)
        total[0] += 1
        inside[0] -= 1

    monkeypatch.setattr(operators.Run, "__call__", watched)

    def work() -> None:
        assert acl.aclrtSetCurrentContext(context) == 0
        for i in range(100):
            assert call.run() == 0
            if i % 10 == 0:
                stream_of(stream).submit(lambda: None)

    callers = [background(work) for _ in range(4)]
    for thread in callers:
        finish(thread)
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert (most[0], total[0]) == (1, 400)


def test_a_run_in_the_middle_of_a_run(stream: int) -> None:
    """A signal handler may use the very stream, and wait for it."""
    target = stream_of(stream)
    order: list[str] = []

    def handler() -> None:
        target.run(lambda: order.append("short"))
        target.submit(lambda: order.append("queued"))
        assert acl.aclrtSynchronizeStream(stream) == 0
        order.append("handled")

    target.run(handler)
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert order == ["short", "queued", "handled"]


def test_no_short_runs_on_a_closed_stream() -> None:
    stream = Stream(None)
    stream.close()
    with pytest.raises(AclnnError, match="destroyed"):
        stream.run(forbid)


@pytest.mark.doors("Python", "C")
def test_uploads_are_seen_by_known_runs(stream: int) -> None:
    call = Call(stream)
    other = upload(np.full((1, 1, 2, 2), 8, np.float32))
    assert acl.aclSetTensorAddr(call.executor, 0, call.grad, other) == 0
    for _ in range(2):
        assert call.run() == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert (call.result() == 2).all()


# ---- equal calls -----------------------------------------------------------------------------------------------------


def planned(*changes: Any) -> Any:
    """What phase one prepares for a call of 2 x 2 windows; the changes are ceilMode and later parameters."""
    grad, whole = (describe(shape, "float32", "NCHW") for shape in ((1, 1, 2, 2), (1, 1, 4, 4)))
    kernel, padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
    parameters = (False, True, 0, 1)
    given = (*changes, *parameters[len(changes) :])
    _, executor, ret = phase_one(AVG, grad, whole, kernel, None, padding, *given, whole)
    return operators.find_executor(executor, 0).prepared if ret == 0 else ret


def test_equal_calls_are_planned_once(stream: int, monkeypatch: Any) -> None:
    first = planned()
    monkeypatch.setattr(run.prepared, "prepare", forbid)
    assert planned() is first


def test_what_a_plan_depends_on_is_planned_anew(stream: int) -> None:
    first = planned()
    assert planned(True) is not first
    assert planned(False, False) is not first
    threads = poolgrad.get_num_threads()
    poolgrad.set_num_threads(threads + 1)
    try:
        assert planned() is not first
    finally:
        poolgrad.set_num_threads(threads)
    acl.set_product("Atlas training series")
    try:
        assert planned() is not first, "on this product the same call is computed in float16"
        assert planned(False, True, 0, 0) == 161002
    finally:
        acl.set_product("Atlas A2")
    assert planned(False, True, 0, 0) is not first


def test_only_so_many_plans_are_kept(stream: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(run.prepared, "MOST_PREPARED", 2)
    for divisor in (3, 4, 5, 6):
        planned(False, True, divisor)
        assert len(PREPARED) <= 2
