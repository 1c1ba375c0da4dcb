"""Misuse through C: the contract's status, a message that says what is wrong, and a process that lives."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acl import test_acl_memory
from capi.library import Library
from capi.toolchain import PROGRAMS, compile_program, run


class Things:
    """One live object of every kind, and one destroyed."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.live = {kind: self.make(kind) for kind in self.kinds()}
        self.dead = {kind: self.make(kind) for kind in self.kinds()}
        for kind, handle in self.dead.items():
            assert getattr(library, DESTROY[kind])(handle) == 0

    @staticmethod
    def kinds() -> list[str]:
        return list(DESTROY)

    def make(self, kind: str) -> int:
        library = self.library
        if kind == "tensor":
            return int(library.aclCreateTensor([2], library.ACL_FLOAT, None, 0, library.ACL_FORMAT_ND, [2], None))
        if kind == "int array":
            return int(library.aclCreateIntArray([2]))
        if kind == "executor":
            _, executor, ret = library.aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(*self.empty_call())
            assert ret == 0
            return int(executor)
        if kind == "context":
            before, _ = library.aclrtGetCurrentContext()
            made, ret = library.aclrtCreateContext(0)
            assert (ret, library.aclrtSetCurrentContext(before)) == (0, 0)
        else:
            made, ret = library.aclrtCreateStream() if kind == "stream" else library.aclrtCreateEvent()
        assert ret == 0
        return int(made)

    def empty_call(self) -> list[int]:
        shapes = [((0, 1, 1), self.library.ACL_FLOAT)] * 4
        shapes[2] = ((0, 1, 1), self.library.ACL_INT32)
        return [
            self.library.aclCreateTensor(shape, dtype, None, 0, self.library.ACL_FORMAT_ND, shape, None)
            for shape, dtype in shapes
        ]


DESTROY = {
    "tensor": "aclDestroyTensor",
    "int array": "aclDestroyIntArray",
    "executor": "aclDestroyAclOpExecutor",
    "stream": "aclrtDestroyStream",
    "event": "aclrtDestroyEvent",
    "context": "aclrtDestroyContext",
}
# Every function that takes a handle: the kind it wants, and how it is called with one.
TAKERS: dict[str, tuple[str, Callable[[Library, Any], Any]]] = {
    **{name: (kind, lambda lib, h, name=name: getattr(lib, name)(h)) for kind, name in DESTROY.items()},
    "aclGetIntArraySize": ("int array", lambda lib, h: lib.aclGetIntArraySize(h)),
    "aclGetViewShape": ("tensor", lambda lib, h: lib.aclGetViewShape(h)),
    "aclGetStorageShape": ("tensor", lambda lib, h: lib.aclGetStorageShape(h)),
    "aclGetViewStrides": ("tensor", lambda lib, h: lib.aclGetViewStrides(h)),
    "aclGetViewOffset": ("tensor", lambda lib, h: lib.aclGetViewOffset(h)),
    "aclGetFormat": ("tensor", lambda lib, h: lib.aclGetFormat(h)),
    "aclGetDataType": ("tensor", lambda lib, h: lib.aclGetDataType(h)),
    "aclGetRawTensorAddr": ("tensor", lambda lib, h: lib.aclGetRawTensorAddr(h)),
    "aclSetRawTensorAddr": ("tensor", lambda lib, h: lib.aclSetRawTensorAddr(h, None)),
    "aclInitTensor": ("tensor", lambda lib, h: lib.aclInitTensor(h, [2], 0, None, 0, 2, [2], None)),
    "aclSetAclOpExecutorRepeatable": ("executor", lambda lib, h: lib.aclSetAclOpExecutorRepeatable(h)),
    "aclSetTensorAddr": ("executor", lambda lib, h: lib.aclSetTensorAddr(h, 0, 0x10, None)),
    "aclnnAvgPool2dBackward": ("executor", lambda lib, h: lib.aclnnAvgPool2dBackward(None, 0, h, None)),
    "aclrtSynchronizeStream": ("stream", lambda lib, h: lib.aclrtSynchronizeStream(h)),
    "aclrtSynchronizeStreamWithTimeout": ("stream", lambda lib, h: lib.aclrtSynchronizeStreamWithTimeout(h, 1)),
    "aclrtMemcpyAsync": ("stream", lambda lib, h: lib.aclrtMemcpyAsync(bytearray(1), 1, b"x", 1, 0, h)),
    "aclrtSynchronizeEvent": ("event", lambda lib, h: lib.aclrtSynchronizeEvent(h)),
    "aclrtQueryEventStatus": ("event", lambda lib, h: lib.aclrtQueryEventStatus(h)),
    "aclrtRecordEvent": ("event", lambda lib, h: lib.aclrtRecordEvent(h, None)),
    "aclrtResetEvent": ("event", lambda lib, h: lib.aclrtResetEvent(h, None)),
    "aclrtStreamWaitEvent": ("event", lambda lib, h: lib.aclrtStreamWaitEvent(None, h)),
    "aclrtEventElapsedTime": ("event", lambda lib, h: lib.aclrtEventElapsedTime(h, h)),
    "aclrtSetCurrentContext": ("context", lambda lib, h: lib.aclrtSetCurrentContext(h)),
}
NULL_STATUS = {"tensor": 161001, "int array": 161001, "executor": 561103, "event": 100000, "context": 100000}
NULL_IS_FINE = ("aclDestroyTensor", "aclDestroyIntArray", "aclDestroyAclOpExecutor", "aclrtSynchronizeStream")


def article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def status_of(answer: Any) -> int:
    return int(answer[-1] if isinstance(answer, tuple) else answer)


@pytest.mark.parametrize("name", TAKERS)
def test_handles_of_another_kind_or_destroyed(name: str, library: Library, runtime: None) -> None:
    things = Things(library)
    wanted, call = TAKERS[name]
    expected = 107017 if wanted in ("stream", "event", "context") else 161002
    wrong = {article(f"{kind}, not {article(wanted)}"): h for kind, h in things.live.items() if kind != wanted}
    wrong |= {f"destroyed {wanted}": things.dead[wanted]}
    wrong |= dict.fromkeys(["not a handle"], things.live[wanted] + 16 * 10**6)
    for text, handle in wrong.items():
        library.aclGetRecentErrMsg()
        assert status_of(call(library, handle)) == expected, text
        message = library.aclGetRecentErrMsg() or ""
        assert text in message
        assert name in message
        assert library.aclGetRecentErrMsg() is None, "a message is told once"


@pytest.mark.parametrize("name", TAKERS)
def test_null_handles(name: str, library: Library, runtime: None) -> None:
    wanted, call = TAKERS[name]
    if name in NULL_IS_FINE or name in ("aclrtMemcpyAsync", "aclrtSynchronizeStreamWithTimeout"):
        expected = 0  # a null stream is the default stream
    elif name.startswith("aclnn"):
        expected = 161001
    else:
        expected = 100000 if wanted == "stream" else NULL_STATUS[wanted]
    assert status_of(call(library, None)) == expected
    assert (library.aclGetRecentErrMsg() is None) == (expected == 0)


def test_null_places_for_results(library: Library, runtime: None) -> None:
    """Out-parameters that are null, as only C can have them."""
    raw = {name: getattr(library, name).raw for name in ("aclrtMalloc", "aclrtCreateStream", "aclrtGetDevice")}
    assert raw["aclrtMalloc"](None, 64, 0) == 100000
    assert "aclrtMalloc" in (library.aclGetRecentErrMsg() or "")
    assert raw["aclrtCreateStream"](None) == 100000
    assert raw["aclrtGetDevice"](None) == 100000
    assert "aclrtGetDevice" in (library.aclGetRecentErrMsg() or "")


@pytest.mark.parametrize("missing", ["workspaceSize", "executor"])
def test_null_results_of_phase_one_come_before_every_other_check(missing: str, library: Library, runtime: None) -> None:
    size, executor = ctypes.c_uint64(7), ctypes.c_void_p(7)
    places = [None if missing == "workspaceSize" else ctypes.byref(size)]
    places.append(None if missing == "executor" else ctypes.byref(executor))
    garbage = [ctypes.c_void_p(0x1230)] * 3
    assert library.aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize.raw(*garbage, *places) == 161001
    assert missing in (library.aclGetRecentErrMsg() or "")
    assert (size.value, executor.value) == (7, 7), "nothing was written"


def test_a_failing_call_leaves_its_results_alone(library: Library, runtime: None) -> None:
    for name, arguments in (("aclrtMalloc", (0, 0)), ("aclrtCreateContext", (99,))):
        place = ctypes.c_void_p(0x5A5A)
        assert getattr(library, name).raw(ctypes.byref(place), *arguments) != 0
        assert place.value in (0x5A5A, None), name


def test_an_executor_is_used_once(library: Library, stream: int) -> None:
    executor = Things(library).live["executor"]
    run_it = library.aclnnAdaptiveMaxPool2dBackward
    assert run_it(None, 0, executor, stream) == 0
    assert run_it(None, 0, executor, stream) == 161002
    assert "repeatable" in (library.aclGetRecentErrMsg() or "")


def test_host_memory_is_no_device_memory(library: Library, stream: int) -> None:
    host = np.zeros(16, np.float32)
    block, ret = library.aclrtMalloc(64, 0)
    assert ret == 0
    for dst, src, kind in ((host, host, 1), (host, host, 2), (block, host, 3), (host, block, 3)):
        assert library.aclrtMemcpy(dst, 64, src, 64, kind) == 107000
        assert "aclrtMemcpy" in (library.aclGetRecentErrMsg() or "")
    assert library.aclrtMemset(host.ctypes.data, 64, 0, 64) == 107000
    assert library.aclrtFree(host.ctypes.data) == 107017


# Of the copies that Python refuses, those that a C program can ask for.
REFUSED_IN_C = """
    null destination, null source, null before the kind, unknown kind, destMax before an unknown kind,
    count beyond destMax, count beyond the block, interior address beyond the block, device address that is none,
    buffer where kind says device, device where kind says host, range of DEFAULT beyond the block
"""
NAMES = [name.strip() for name in REFUSED_IN_C.replace("\n", " ").split(",")]


@pytest.mark.parametrize(
    "line", [line for line in test_acl_memory.REFUSED if line[0] in NAMES], ids=lambda line: line[0]
)
def test_refused_copies(line: tuple[Any, ...], library: Library, stream: int) -> None:
    _, dst, dest_max, src, count, kind, status = line
    block, ret = library.aclrtMalloc(16, 0)
    assert ret == 0
    assert library.aclrtMemset(block, 16, 7, 16) == 0
    places = {"dev": block, "dev+1": block + 1}
    dst, src = (places.get(place, place) if isinstance(place, str) else place for place in (dst, src))
    assert library.aclrtMemcpy(dst, dest_max, src, count, kind) == status
    assert library.aclrtMemcpyAsync(dst, dest_max, src, count, kind, stream) == status
    assert "aclrtMemcpyAsync" in (library.aclGetRecentErrMsg() or "")
    assert library.aclrtSynchronizeStream(stream) == 0
    back = bytearray(16)
    assert library.aclrtMemcpy(back, 16, block, 16, 2) == 0
    assert back == b"\7" * 16, "nothing was written"


@pytest.mark.parametrize(("offset", "count"), [(0, 65), (1, 64), (64, 1), (0, 2**63), (0, 2**64 - 1), (-1, 1)])
def test_copies_over_the_end_of_a_block(offset: int, count: int, library: Library, stream: int) -> None:
    block, ret = library.aclrtMalloc(64, 0)
    assert ret == 0
    host = np.zeros(128, np.uint8)
    assert library.aclrtMemcpy(block + offset, count, host, count, 1) == 107000
    assert library.aclrtMemcpy(host, count, block + offset, count, 2) == 107000
    assert library.aclrtMemset(block + offset, count, 1, count) == 107000
    assert library.aclrtMemcpyAsync(block + offset, count, host, count, 1, stream) == 107000
    assert library.aclrtMemcpy(block, 64, host, 64, 1) == 0
    assert not host.any()


def test_wild_pointers(tmp_path: Path) -> None:
    """In a program of its own, since a failure would kill the tests."""
    program = compile_program(PROGRAMS / "wild_pointers.cpp", tmp_path / "program")
    done = run(program, env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    *lines, last = done.stdout.splitlines()
    assert last == "alive"
    assert len(lines) == 19 * 10 + 5 * 2 + 4 * 2
    for line in lines:
        call, _, status, has_message = line.split(",")
        if call in ("workspace", "aclnnAvgPool2dBackward") or call.startswith(("aclDestroy", "aclSet", "aclGet")):
            expected = 161002
        elif call.startswith(("aclrtMem", "from", "to")):
            expected = 107000
        else:
            expected = 107017
        assert (int(status), has_message) == (expected, "1"), line


def test_every_failing_call_says_so_on_stderr_unless_silenced(tmp_path: Path) -> None:
    program = compile_program(PROGRAMS / "wild_pointers.cpp", tmp_path / "program")
    told = run(program).stderr.splitlines()
    assert len(told) >= 200
    assert any("aclDestroyTensor" in line and "161002" in line and "not a handle" in line for line in told)
    assert any("aclrtFree" in line and "107017" in line for line in told)


def test_arrays_of_many_pages_come_and_go(library: Library, runtime: None) -> None:
    """Messages and answers beyond what a pipe takes at once."""
    shape = tuple(range(1, 1025))
    tensor = library.aclCreateTensor(shape, 0, shape[::-1], 0, 2, shape, None)
    assert library.aclGetViewShape(tensor) == (shape, 0)
    assert library.aclGetViewStrides(tensor) == (shape[::-1], 0)
    assert library.aclDestroyTensor(tensor) == 0


@pytest.mark.parametrize(("count", "readable"), [(2, 0), (1024, 0), (600, 4096 - 8), (1024, 4096 + 8)])
def test_an_array_that_is_not_all_there(count: int, readable: int, library: Library, runtime: None) -> None:
    """What fits into a page is not sent at all. Of more a part may be: then the thread begins anew, with no context."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + 2 * page), page, 0) == 0
    values = ctypes.c_void_p(start + 2 * page - readable)
    assert library.aclCreateIntArray.raw(values, count) is None
    assert "outside of the program's memory" in (library.aclGetRecentErrMsg() or "")
    begins_anew = 40 + 8 + readable > page
    assert library.aclrtGetCurrentContext()[1] == (107002 if begins_anew else 0)
    assert library.aclrtSetDevice(0) == 0
    stream, ret = library.aclrtCreateStream()
    assert ret == 0
    assert library.aclrtDestroyStream(stream) == 0
    assert library.aclrtResetDevice(0) == 0
