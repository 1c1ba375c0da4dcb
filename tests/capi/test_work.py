"""Streams and events with real work behind them: order, waiting, limits of time.

Nothing in C can hold a stream, so a test that asks in the middle of the work tries again when the machine was so busy
that the work was done before the question.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import device
import numpy as np
import pytest
from capi.library import Library

AVG = "aclnnAvgPool2dBackward"


class Load:
    """A repeatable call that moves 80 megabytes."""

    def __init__(self, library: Library) -> None:
        self.library = library
        small, large = (1, 64, 256, 256), (1, 64, 512, 512)
        grad, _ = device.tensor_on(np.full(small, 8, np.float32), "NCHW")
        out, self.out_at = device.tensor_on(np.zeros(large, np.float32), "NCHW")
        numbers = [library.aclCreateIntArray([n]) for n in (2, 2, 0)]
        arguments = (grad, device.describe(large, "float32", "NCHW"), *numbers, False, True, 0, 0, out)
        self.size, self.executor, ret = device.phase_one(AVG, *arguments)
        assert ret == 0
        assert library.aclSetAclOpExecutorRepeatable(self.executor) == 0
        self.workspace, ret = library.aclrtMalloc(max(self.size or 0, 1), 0)
        assert ret == 0

    def submit(self, stream: int | None, times: int) -> None:
        for _ in range(times):
            assert self.library.aclnnAvgPool2dBackward(self.workspace, self.size, self.executor, stream) == 0


@pytest.fixture
def load(library: Library, stream: int, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.setattr(device, "acl", library)
    return Load(library)


def some_time(attempt: Callable[[], bool]) -> None:
    assert any(attempt() for _ in range(20)), "never asked in time"


def test_waiting_has_a_limit(library: Library, stream: int, load: Load) -> None:
    def attempt() -> bool:
        load.submit(stream, 20)
        early = library.aclrtSynchronizeStreamWithTimeout(stream, 1)
        message = library.aclGetRecentErrMsg() or ""
        assert early == 0 or (early == 507014 and "1 ms" in message)
        assert library.aclrtSynchronizeStreamWithTimeout(stream, -1) == 0
        assert library.aclrtSynchronizeStreamWithTimeout(stream, 0) == 0
        return bool(early)

    some_time(attempt)


def test_an_event_waits_for_what_was_submitted_before_it(library: Library, stream: int, load: Load) -> None:
    start, end = (library.aclrtCreateEvent()[0] for _ in range(2))
    before, after = (library.ACL_EVENT_RECORDED_STATUS_NOT_READY, 0), (library.ACL_EVENT_RECORDED_STATUS_COMPLETE, 0)

    def attempt() -> bool:
        assert library.aclrtRecordEvent(start, stream) == 0
        load.submit(stream, 20)
        assert library.aclrtRecordEvent(end, stream) == 0
        early = library.aclrtQueryEventStatus(end)
        assert early in (before, after)
        assert library.aclrtSynchronizeEvent(end) == 0
        assert library.aclrtQueryEventStatus(end) == after
        elapsed, ret = library.aclrtEventElapsedTime(start, end)
        assert ret == 0
        assert elapsed > 0
        return bool(early == before)

    some_time(attempt)


def test_copies_of_a_stream_come_after_its_work_and_hold_up_nobody(library: Library, stream: int, load: Load) -> None:
    """Pinned host memory takes part in the stream's order, while the caller goes on."""
    pinned, ret = library.aclrtMallocHost(64)
    assert ret == 0

    def attempt() -> bool:
        assert library.aclrtMemset(load.out_at, 64, 0, 64) == 0
        load.submit(stream, 20)
        assert library.aclrtMemcpyAsync(pinned, 64, load.out_at, 64, 2, stream) == 0
        early = library.aclrtSynchronizeStreamWithTimeout(stream, 0)
        assert early in (0, 507014)
        assert library.aclrtSynchronizeStream(stream) == 0
        result = np.zeros(16, np.float32)
        assert library.aclrtMemcpy(result, 64, pinned, 64, 0) == 0
        assert (result == 2).all()
        return bool(early)

    some_time(attempt)
    assert library.aclrtFreeHost(pinned) == 0


def test_pinned_memory_is_the_programs_own(library: Library, stream: int) -> None:
    """The program writes to it without a call, and a stream's copy sees that."""
    pinned, ret = library.aclrtMallocHost(4096)
    assert ret == 0
    ctypes.memset(pinned, 0x5A, 4096)
    block, ret = library.aclrtMalloc(4096, 0)
    assert ret == 0
    assert library.aclrtMemcpyAsync(block, 4096, pinned, 4096, 1, stream) == 0
    assert library.aclrtSynchronizeStream(stream) == 0
    assert ctypes.string_at(block, 4096) == b"\x5a" * 4096, "device memory is mapped here, too"


def test_another_stream_waits_for_an_event(library: Library, stream: int, load: Load) -> None:
    other = library.aclrtCreateStream()[0]
    event, late = (library.aclrtCreateEvent()[0] for _ in range(2))
    before, after = (library.ACL_EVENT_RECORDED_STATUS_NOT_READY, 0), (library.ACL_EVENT_RECORDED_STATUS_COMPLETE, 0)

    def attempt() -> bool:
        load.submit(stream, 20)
        assert library.aclrtRecordEvent(event, stream) == 0
        assert library.aclrtStreamWaitEvent(other, event) == 0
        assert library.aclrtRecordEvent(late, other) == 0
        early = library.aclrtQueryEventStatus(late)
        assert library.aclrtSynchronizeStream(other) == 0
        assert library.aclrtQueryEventStatus(event) == after
        return bool(early == before)

    some_time(attempt)


def test_a_thread_that_waits_holds_up_nobody(library: Library, stream: int, load: Load) -> None:
    context, _ = library.aclrtGetCurrentContext()

    def attempt() -> bool:
        answers: list[int] = []

        def wait() -> None:
            assert library.aclrtSetCurrentContext(context) == 0
            answers.append(library.aclrtSynchronizeStream(stream))

        load.submit(stream, 20)
        thread = threading.Thread(target=wait)
        thread.start()
        calls = 0
        while thread.is_alive():
            assert library.aclrtGetDeviceCount() == (1, 0)
            calls += 1
        thread.join()
        assert answers == [0]
        return calls > 10

    some_time(attempt)


def test_freed_addresses_are_not_handed_out_at_once(library: Library, runtime: None) -> None:
    """Else a use after free would meet somebody else's block and go unseen."""
    freed, ret = library.aclrtMalloc(4096, 0)
    assert (ret, library.aclrtFree(freed)) == (0, 0)
    later = [library.aclrtMalloc(4096, 0)[0] for _ in range(4)]
    assert freed not in later
    assert library.aclrtMemset(freed, 1, 0, 1) == 107000


def test_freed_memory_can_be_had_again(library: Library, runtime: None) -> None:
    """Over and over; as much as there is, but no more."""
    _, ret = library.aclrtMalloc(2**50, 0)
    assert ret == 207001
    for _ in range(10):
        address, ret = library.aclrtMalloc(2**28, 0)
        assert ret == 0
        assert library.aclrtMemset(address, 2**28, 1, 4096) == 0
        assert library.aclrtFree(address) == 0
