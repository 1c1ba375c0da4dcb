"""Calls in a loop: what was judged before is not judged again in either phase, and whatever changed is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device import describe, download, phase_one, tensor_on

from poolgrad import acl
from poolgrad.acl import operators, state
from poolgrad.run.prepared import PREPARED

AVG = "aclnnAvgPool2dBackward"


class Loop:
    """2 x 2 windows over planes of 4 x 4: phase one, workspace, phase two, wait and free, again and again."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.grad_data = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
        self.grad, self.grad_at = tensor_on(self.grad_data, "NCHW")
        self.self = describe((1, 2, 4, 4), "float32", "NCHW")
        self.out, self.out_at = tensor_on(np.zeros((1, 2, 4, 4), np.float32), "NCHW")
        self.kernel, self.padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
        self.workspace: int | None = None
        self.size = 0

    def plan(self) -> int:
        arguments = (self.grad, self.self, self.kernel, None, self.padding, False, True, 0, 0, self.out)
        size, executor, ret = phase_one(AVG, *arguments)
        assert ret == 0
        assert size
        assert executor
        self.size, self.workspace = size, acl.aclrtMalloc(size, 0)[0]
        return executor

    def launch(self, executor: int) -> int:
        return acl.aclnnAvgPool2dBackward(self.workspace, self.size, executor, self.stream)

    def run(self) -> None:
        assert self.launch(self.plan()) == 0, acl.aclGetRecentErrMsg()
        assert acl.aclrtSynchronizeStream(self.stream) == 0
        assert acl.aclrtFree(self.workspace) == 0

    def result(self) -> Any:
        return download(self.out_at, (1, 2, 4, 4), np.float32)


@pytest.fixture
def loop(stream: int) -> Loop:
    made = Loop(stream)
    made.run()
    return made


@pytest.fixture
def asked(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The launches that went through all rows since the first."""
    launches: list[object] = []
    original = operators.enforce

    def enforce(launch: Any, rows: Any) -> None:
        launches.append(launch)
        original(launch, rows)

    monkeypatch.setattr(operators, "enforce", enforce)
    return launches


def test_a_loop_asks_all_rows_once(loop: Loop, asked: list[object]) -> None:
    for value in (5, 6, 7):
        data = np.full((1, 2, 2, 2), value, np.float32)
        assert acl.aclrtMemcpy(loop.grad_at, 32, data, 32, acl.ACL_MEMCPY_HOST_TO_DEVICE) == 0
        loop.run()
        assert (loop.result() == value / 4).all()
    assert not asked


def test_an_equal_call_on_other_tensors_asks_all_rows(loop: Loop, asked: list[object]) -> None:
    """And then it is the one that others are compared with."""
    other = Loop(loop.stream)
    for number, each in enumerate((other, loop, other), 1):
        each.run()
        each.run()
        assert len(asked) == number
        assert (each.result() == np.repeat(np.repeat(each.grad_data, 2, 2), 2, 3) / 4).all()


def describe_again(loop: Loop, **changes: Any) -> None:
    """New objects in place of those of the loop, which are destroyed; equal ones, but for what is changed."""
    for tensor in (loop.grad, loop.self, loop.out):
        assert acl.aclDestroyTensor(tensor) == 0
    for array in (loop.kernel, loop.padding):
        assert acl.aclDestroyIntArray(array) == 0
    facts = {"at": loop.grad_at, "offset": 0, "storage": (1, 2, 2, 2)} | changes
    loop.grad = acl.aclCreateTensor((1, 2, 2, 2), 0, None, facts["offset"], 0, facts["storage"], facts["at"]) or 0
    loop.self = describe((1, 2, 4, 4), "float32", "NCHW")
    loop.out = describe((1, 2, 4, 4), "float32", "NCHW", loop.out_at)
    loop.kernel, loop.padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])


def test_new_objects_that_are_equal_to_the_last_ones_ask_no_row_again(loop: Loop, asked: list[object]) -> None:
    """A program that makes its tensors and arrays for each call does the same all the time."""
    for _ in range(3):
        describe_again(loop)
        loop.run()
        loop.run()
    assert not asked
    assert (loop.result() == np.repeat(np.repeat(loop.grad_data, 2, 2), 2, 3) / 4).all()


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({"at": 16}, "storage-in-block"),
        ({"offset": 1}, "view-in-storage"),
        ({"storage": (9,)}, "storage-in-block"),
        ({"storage": (7,)}, "view-in-storage"),
    ],
    ids=str,
)
def test_new_objects_that_differ_are_noticed(
    loop: Loop, asked: list[object], changes: dict[str, object], row: str
) -> None:
    describe_again(loop, **changes)
    assert loop.launch(loop.plan()) == 161002
    assert f"; rule {row}:" in (acl.aclGetRecentErrMsg() or "")
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["grad", "self", "out", "kernel", "padding"])
def test_of_new_objects_that_are_equal_one_may_be_gone(loop: Loop, asked: list[object], name: str) -> None:
    describe_again(loop)
    executor = loop.plan()
    destroy = acl.aclDestroyIntArray if name in ("kernel", "padding") else acl.aclDestroyTensor
    assert destroy(getattr(loop, name)) == 0
    assert loop.launch(executor) == 161002
    assert "; rule objects-live:" in (acl.aclGetRecentErrMsg() or "")


def over(loop: Loop, address: int) -> None:
    loop.workspace = address


# What happens between phase one and two, the status and the row.
CHANGES: list[tuple[str, Callable[[Loop], object], int, str]] = [
    ("gradient freed", lambda c: acl.aclrtFree(c.grad_at), 161002, "storage-in-block"),
    ("output freed", lambda c: acl.aclrtFree(c.out_at), 161002, "storage-in-block"),
    ("workspace freed", lambda c: acl.aclrtFree(c.workspace), 161002, "workspace-live"),
    ("gradient destroyed", lambda c: acl.aclDestroyTensor(c.grad), 161002, "objects-live"),
    ("input destroyed", lambda c: acl.aclDestroyTensor(c.self), 161002, "objects-live"),
    ("array destroyed", lambda c: acl.aclDestroyIntArray(c.padding), 161002, "objects-live"),
    ("output moved outside", lambda c: acl.aclSetRawTensorAddr(c.out, c.out_at + 4), 161002, "storage-in-block"),
    ("input moved nowhere", lambda c: acl.aclSetRawTensorAddr(c.self, 16), 161002, "storage-in-block"),
    ("output over the gradient", lambda c: acl.aclSetRawTensorAddr(c.grad, c.out_at), 161002, "output-overlaps-input"),
    ("no workspace", lambda c: over(c, 0), 161001, "workspace-null"),
    ("workspace over the output", lambda c: over(c, c.out_at), 161002, "workspace-live"),
    ("workspace too small", lambda c: setattr(c, "size", c.size - 1), 161002, "workspace-size"),
]


@pytest.mark.parametrize("line", CHANGES, ids=lambda line: line[0])
def test_what_changed_is_noticed(
    loop: Loop, asked: list[object], line: tuple[str, Callable[[Loop], object], int, str]
) -> None:
    _, change, status, row = line
    executor = loop.plan()
    change(loop)
    assert loop.launch(executor) == status
    assert f"; rule {row}:" in (acl.aclGetRecentErrMsg() or "")
    assert len(asked) == 1


def test_a_workspace_inside_a_tensors_block_is_noticed(stream: int) -> None:
    """It is live and large enough, and the bytes behind a small output may be used, but not those of the output."""
    loop = Loop(stream)
    room, ret = acl.aclrtMalloc(1 << 20, 0)
    assert ret == 0
    assert room is not None
    assert acl.aclSetRawTensorAddr(loop.out, room) == 0
    loop.run()
    for distance, status in ((4096, 0), (64, 161002), (4096, 0)):
        executor = loop.plan()
        loop.workspace = room + distance
        assert loop.launch(executor) == status
        assert acl.aclrtSynchronizeStream(stream) == 0


def test_a_tensor_that_another_thread_moves_meanwhile_is_not_kept(
    loop: Loop, asked: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows have seen the old address; the new one, which nobody has seen, must go through them."""
    original = operators.enforce

    def enforce(launch: Any, rows: Any) -> None:
        original(launch, rows)
        assert acl.aclSetRawTensorAddr(loop.out, 16) == 0

    for prepared in PREPARED.values():
        prepared.last_launch = None
    with monkeypatch.context() as patch:
        patch.setattr(operators, "enforce", enforce)
        assert loop.launch(loop.plan()) == 0
    assert acl.aclrtSynchronizeStream(loop.stream) == 0
    assert loop.launch(loop.plan()) == 161002
    assert "; rule storage-in-block:" in (acl.aclGetRecentErrMsg() or "")


def phase_one_of(loop: Loop, divisor: Any = 2, include: Any = True) -> tuple[int | None, int | None, int]:
    return phase_one(AVG, loop.grad, loop.self, loop.kernel, None, loop.padding, False, include, divisor, 0, loop.out)


@pytest.fixture
def judged(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls of phase one that were judged after the first with a divisor of 2."""
    calls: list[object] = []
    original = operators._checked_call
    assert phase_one_of(loop)[2] == 0

    def checked_call(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(operators, "_checked_call", checked_call)
    return calls


def test_an_equal_call_is_judged_once(loop: Loop, judged: list[object]) -> None:
    executors_made = {phase_one_of(loop, include=include)[1] for include in (True, 1, True)}
    assert len(executors_made) == 3
    assert not judged
    assert phase_one_of(loop, divisor=3)[2] == 0
    assert len(judged) == 1


@pytest.mark.parametrize(("divisor", "status"), [(2.0, 161002), ("2", 161002), (np.int64(2), 0)])
def test_arguments_that_look_alike_are_judged(loop: Loop, judged: list[object], divisor: Any, status: int) -> None:
    assert phase_one_of(loop, divisor)[2] == status
    assert len(judged) == 1


def describe_anew(loop: Loop) -> int:
    shape = (1, 2, 2, 3)
    return acl.aclInitTensor(loop.grad, shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, shape, loop.grad_at)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: acl.aclDestroyTensor(c.self),
        lambda c: acl.aclDestroyIntArray(c.kernel),
        describe_anew,
        lambda _: acl.set_product("Ascend310B"),
    ],
    ids=["tensor destroyed", "array destroyed", "described anew", "another product"],
)
def test_a_call_whose_objects_changed_is_judged(
    loop: Loop, judged: list[object], change: Callable[[Loop], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_CHOSEN", list(state._CHOSEN))
    assert not change(loop)
    assert phase_one_of(loop)[2] == 161002
    assert len(judged) == 1


def test_refused_calls_are_not_known(loop: Loop, judged: list[object]) -> None:
    for number in (1, 2):
        assert phase_one_of(loop, divisor=2**70)[2] == 161002
        assert len(judged) == number
