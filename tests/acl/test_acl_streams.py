"""Streams: order, failures answered once, handles of every wrong kind, and leaving without a hang."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from acl_helpers import PATIENCE, Gate, assert_prints, background, finish, malloc, new_stream, run_program, stream_of

from poolgrad.acl import device, memory, messages, state, streams
from poolgrad.acl.handles import HANDLES, STREAM
from poolgrad.acl.worker import Stream
from poolgrad.base.errors import AclnnError, IndexRangeError

MakeGate = Callable[[], Gate]


def failing(text: str = "indices[0] = 6 is outside", status: int = 507015) -> Callable[[], None]:
    def task() -> None:
        raise IndexRangeError(text, status=status)

    return task


# Order


def test_tasks_run_in_order_on_another_thread(stream: int) -> None:
    ran: list[object] = []
    for number in range(100):
        stream_of(stream).submit(lambda number=number: ran.append((number, threading.get_ident())))
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert [number for number, _ in ran] == list(range(100))  # type: ignore[misc]
    threads = {ident for _, ident in ran}  # type: ignore[misc]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_submit_returns_before_the_work_is_done(stream: int, gate: MakeGate) -> None:
    held = gate()
    stream_of(stream).submit(held)
    assert held.reached.wait(PATIENCE)
    held.open()
    assert streams.aclrtSynchronizeStream(stream) == 0


def test_streams_run_at_the_same_time(stream: int) -> None:
    """Each of the two waits for the other to have begun: one after the other would hang."""
    barrier = threading.Barrier(2, timeout=PATIENCE)
    other = new_stream()
    for each in (stream, other):
        stream_of(each).submit(lambda: barrier.wait() and None)
    assert streams.aclrtSynchronizeStream(stream) == streams.aclrtSynchronizeStream(other) == 0


def test_synchronise_waits_for_what_was_submitted_before_only(stream: int, gate: MakeGate) -> None:
    first, second = gate(), gate()
    stream_of(stream).submit(first)
    context = state.require_context()
    waiting = threading.Event()
    done: list[int] = []

    def wait() -> None:
        device.make_current(context)  # type: ignore[arg-type]
        target = stream_of(stream)
        ticket = target.last_ticket
        waiting.set()
        done.append(target.wait(ticket, PATIENCE))

    thread = background(wait)
    assert waiting.wait(PATIENCE)
    stream_of(stream).submit(second)
    first.open()
    finish(thread)
    assert done == [True]
    assert not second.opened.is_set()


def test_a_stream_without_tasks_has_no_thread(stream: int) -> None:
    before = threading.active_count()
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert threading.active_count() == before


def test_null_is_the_default_stream_of_the_current_context(runtime: None) -> None:
    one = stream_of(None)
    assert stream_of(0) is one
    ran: list[int] = []
    one.submit(lambda: ran.append(1))
    assert streams.aclrtSynchronizeStream(None) == 0
    assert ran == [1]
    device.aclrtCreateContext(0)
    assert stream_of(None) is not one


# Failures


def test_a_failure_is_answered_once_and_later_tasks_run(stream: int) -> None:
    ran: list[int] = []
    stream_of(stream).submit(failing())
    stream_of(stream).submit(lambda: ran.append(1))
    assert streams.aclrtSynchronizeStream(stream) == 507015
    message = messages.aclGetRecentErrMsg() or ""
    assert "indices[0] = 6 is outside" in message
    assert "EZ9999" in message
    assert ran == [1]
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert messages.aclGetRecentErrMsg() is None


def test_the_oldest_of_many_failures_is_told_and_memory_does_not_grow(stream: int) -> None:
    for number in range(100):
        stream_of(stream).submit(failing(f"task {number}"))
    target = stream_of(stream)
    target.wait(target.last_ticket)
    assert len(target._failures) == 2
    assert streams.aclrtSynchronizeStream(stream) == 507015
    assert (messages.aclGetRecentErrMsg() or "").endswith("task 0")
    assert streams.aclrtSynchronizeStream(stream) == 0


@pytest.mark.parametrize("error", [ZeroDivisionError("boom"), SystemExit(3), KeyboardInterrupt()])
def test_an_unexpected_end_of_a_task_is_internal_and_the_worker_lives(stream: int, error: BaseException) -> None:
    def task() -> None:
        raise error

    stream_of(stream).submit(task)
    assert streams.aclrtSynchronizeStream(stream) == 507000
    assert type(error).__name__ in (messages.aclGetRecentErrMsg() or "")
    stream_of(stream).submit(failing(status=161002))
    assert streams.aclrtSynchronizeStream(stream) == 161002


def test_a_failed_task_keeps_nothing_alive(stream: int) -> None:
    """The exception's traceback would hold the blocks of its task."""

    class Thing:
        pass

    def task(thing: Thing) -> None:
        raise ValueError(id(thing))

    thing = Thing()
    alive = weakref.ref(thing)
    stream_of(stream).submit(lambda thing=thing: task(thing))
    del thing
    assert streams.aclrtSynchronizeStream(stream) == 507000
    assert alive() is None


def test_the_failure_of_any_stream_is_answered_by_the_device(runtime: None) -> None:
    one, two = new_stream(), new_stream()
    stream_of(one).submit(failing("first"))
    stream_of(two).submit(failing("second"))
    stream_of(None).submit(lambda: None)
    told = [
        streams.aclrtSynchronizeDevice(),
        messages.aclGetRecentErrMsg(),
        streams.aclrtSynchronizeDevice(),
        messages.aclGetRecentErrMsg(),
    ]
    assert told[0] == told[2] == 507015
    assert {str(told[1]).split()[-1], str(told[3]).split()[-1]} == {"first", "second"}
    assert streams.aclrtSynchronizeDevice() == streams.aclrtSynchronizeStream(one) == 0


def test_the_device_waits_for_all_contexts_of_its_own(runtime: None) -> None:
    ran: list[int] = []
    stream_of(new_stream()).submit(lambda: ran.append(1))
    device.aclrtCreateContext(0)
    stream_of(None).submit(lambda: ran.append(2))
    assert streams.aclrtSynchronizeDevice() == 0
    assert sorted(ran) == [1, 2]


# Timeouts


def test_timeouts(stream: int, gate: MakeGate) -> None:
    held = gate()
    stream_of(stream).submit(held)
    assert streams.aclrtSynchronizeStreamWithTimeout(stream, 0) == 507014
    assert streams.aclrtSynchronizeStreamWithTimeout(stream, 1) == 507014
    assert "1 ms" in (messages.aclGetRecentErrMsg() or "")
    held.open()
    assert streams.aclrtSynchronizeStreamWithTimeout(stream, -1) == 0
    stream_of(stream).submit(failing())
    assert streams.aclrtSynchronizeStreamWithTimeout(stream, PATIENCE * 1000) == 507015
    for wrong in (-2, 2**31, "1", None, 0.5):
        assert streams.aclrtSynchronizeStreamWithTimeout(stream, wrong) == 100000  # type: ignore[arg-type]


# Handles


def refused(handle: object) -> int:
    """The status with which no stream is found."""
    with pytest.raises(AclnnError) as caught:
        streams.find_stream(handle)
    return caught.value.status


def test_wrong_handles(stream: int) -> None:
    context, _ = device.aclrtGetCurrentContext()
    for wrong in (context, 12345, stream + 16, stream + 1, "stream", 1.0, object(), 2**90):
        assert refused(wrong) == 107017
        assert streams.aclrtSynchronizeStream(wrong) == 107017  # type: ignore[arg-type]
        assert streams.aclrtDestroyStream(wrong) == 107017  # type: ignore[arg-type]
    assert streams.aclrtSynchronizeStream(context) == 107017
    assert "a context, not a stream" in (messages.aclGetRecentErrMsg() or "")


def test_destroy_ends_a_stream_once(stream: int) -> None:
    assert streams.aclrtDestroyStream(None) == streams.aclrtDestroyStream(0) == 100000
    ran: list[int] = []
    target = stream_of(stream)
    target.submit(lambda: ran.append(1))
    assert streams.aclrtDestroyStream(stream) == 0
    assert ran == [1]
    assert target._worker is not None
    assert not target._worker.is_alive()
    assert streams.aclrtDestroyStream(stream) == 107017
    assert "a destroyed stream" in (messages.aclGetRecentErrMsg() or "")
    assert refused(stream) == 107017


@pytest.mark.doors("Python", "C")
def test_of_many_threads_that_destroy_one_wins(stream: int) -> None:
    context, _ = device.aclrtGetCurrentContext()
    answers: list[int] = []
    barrier = threading.Barrier(8)

    def destroy() -> None:
        device.aclrtSetCurrentContext(context)
        barrier.wait(PATIENCE)
        answers.append(streams.aclrtDestroyStream(stream))

    threads = [background(destroy) for _ in range(8)]
    for thread in threads:
        finish(thread)
    assert sorted(answers) == [0] + [107017] * 7


def test_a_stream_that_another_thread_destroys_in_between(stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = stream_of(stream)

    def find_and_lose(handle: object) -> Stream:
        HANDLES.drop(handle, STREAM)
        return target

    monkeypatch.setattr(streams, "find_stream", find_and_lose)
    assert streams.aclrtDestroyStream(stream) == 107017


def test_submitting_to_a_stream_that_was_just_destroyed_is_a_status(stream: int) -> None:
    target = stream_of(stream)
    streams.aclrtDestroyStream(stream)
    with pytest.raises(AclnnError, match="destroyed") as caught:
        target.submit(lambda: None)
    assert caught.value.status == 107017


def test_contexts_keep_their_streams_apart(stream: int) -> None:
    first, _ = device.aclrtGetCurrentContext()
    second, _ = device.aclrtCreateContext(0)
    assert refused(stream) == 107003
    assert streams.aclrtDestroyStream(stream) == 107003
    device.aclrtDestroyContext(second)
    assert refused(stream) == refused(None) == 107002
    assert refused("garbage") == 107017, "garbage is garbage without a context too"
    assert streams.aclrtCreateStream() == (None, 107002)
    assert streams.aclrtSynchronizeDevice() == 107002
    device.aclrtSetCurrentContext(first)
    assert streams.aclrtDestroyStream(stream) == 0


@pytest.mark.doors("Python", "C")
def test_streams_need_init() -> None:
    assert streams.aclrtCreateStream() == (None, 100001)
    assert streams.aclrtDestroyStream(None) == streams.aclrtSynchronizeStream(None) == 100001
    assert streams.aclrtSynchronizeStreamWithTimeout(None, 1) == streams.aclrtSynchronizeDevice() == 100001
    assert streams.aclrtMemcpyAsync(None, 0, None, 0, 0, None) == 100001


def test_many_threads_submit_to_one_stream(stream: int) -> None:
    target, ran = stream_of(stream), list[int]()

    def submit() -> None:
        for _ in range(500):
            target.submit(lambda: ran.append(1))

    threads = [background(submit) for _ in range(8)]
    for thread in threads:
        finish(thread)
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert len(ran) == 4000


def test_a_stream_closed_on_its_own_worker_does_not_wait_for_itself() -> None:
    """The garbage collector may run a destructor there."""
    target = Stream(None)
    ticket = target.submit(target.close)
    assert target.wait(ticket, PATIENCE)
    target.raise_failure(ticket)
    assert target._worker is not None
    finish(target._worker)


# Asynchronous copies


def test_asynchronous_copies_run_in_order_and_hold_their_memory(stream: int, gate: MakeGate) -> None:
    held, address = gate(), malloc(8)
    memory.aclrtMemcpy(address, 8, b"old data", 8, 1)
    source, target = np.frombuffer(b"new data", np.uint8).copy(), bytearray(8)
    stream_of(stream).submit(held)
    assert streams.aclrtMemcpyAsync(target, 8, address, 8, 2, stream) == 0
    assert streams.aclrtMemcpyAsync(address, 8, source, 8, 1, stream) == 0
    block = memory.ARENA.find(address, 8)
    assert block is not None
    alive = weakref.ref(block.owner)
    del block
    now = bytearray(8)
    assert memory.aclrtMemcpy(now, 8, address, 8, 2) == 0, "the synchronous copy waits for no stream"
    assert memory.aclrtFree(address) == 0, "copies in flight hold the block"
    del source
    assert alive() is not None
    held.open()
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert alive() is None, "and nobody else does"
    assert (now, target) == (b"old data", b"old data")


@pytest.mark.doors("Python", "C")
def test_asynchronous_copies_are_checked_at_once(stream: int) -> None:
    address = malloc(8)
    assert streams.aclrtMemcpyAsync(address, 8, b"x" * 9, 9, 1, stream) == 107000
    assert streams.aclrtMemcpyAsync(None, 8, b"x" * 8, 8, 1, stream) == 100000
    assert streams.aclrtMemcpyAsync(address, 8, b"x" * 8, 8, 1, 77) == 107017
    if sys.platform == "linux":
        assert streams.aclrtMemcpyAsync(address, 8, 4096, 8, 1, stream) == 107000
    assert streams.aclrtMemcpyAsync(None, 0, None, 0, 99, stream) == 0


@pytest.mark.skipif("sys.platform != 'linux'", reason="elsewhere addresses are trusted")
def test_host_memory_that_vanishes_before_an_asynchronous_copy_is_a_failure_and_no_crash() -> None:
    assert_prints(
        """
import ctypes, mmap, threading
import numpy as np
from poolgrad.acl import device, memory, streams
device.aclInit(None); device.aclrtSetDevice(0)
address, _ = memory.aclrtMalloc(1 << 20, 0)
pages = mmap.mmap(-1, 1 << 20)
place = np.frombuffer(pages, np.uint8).ctypes.data
gate = threading.Event()
streams.find_stream(None).submit(gate.wait)
print(streams.aclrtMemcpyAsync(place, 1 << 20, address, 1 << 20, 2, None), end=' ')
pages.close()
gate.set()
print(streams.aclrtSynchronizeStream(None), streams.aclrtSynchronizeStream(None))
""",
        "0 107000 0",
    )


# The interpreter's end


def test_leaving_with_work_queued_finishes_the_running_task_and_drops_the_rest() -> None:
    """Also when one stream waits for another, whose tasks are dropped."""
    assert_prints(
        """
import threading
from poolgrad.acl import device, events, streams
device.aclInit(None); device.aclrtSetDevice(0)
one, two = (streams.aclrtCreateStream()[0] for _ in range(2))
reached, leaving = threading.Event(), threading.Event()
import atexit
atexit.register(leaving.set)   # runs before the hook of the runtime, which was registered earlier
def running():
    reached.set()
    leaving.wait()
    print('finished')
submit = streams.find_stream(one).submit
submit(running)
for _ in range(1000):
    submit(lambda: print('dropped task ran'))
event = events.aclrtCreateEvent()[0]
events.aclrtRecordEvent(event, one)
events.aclrtStreamWaitEvent(two, event)
streams.find_stream(two).submit(lambda: print('dependent task ran'))
reached.wait()
""",
        "finished",
    )


def test_leaving_with_idle_streams_and_late_callers() -> None:
    """A callback that runs after the hook gets a status: no hang and no thread in a dying interpreter."""
    assert_prints(
        """
import atexit
late = []
atexit.register(lambda: [call() for call in late])   # registered first, runs last
from poolgrad.acl import device, streams
device.aclInit(None); device.aclrtSetDevice(0)
stream, _ = streams.aclrtCreateStream()
streams.find_stream(stream).submit(lambda: None)
streams.aclrtSynchronizeStream(stream)
late.append(lambda: print(streams.aclrtMemcpyAsync(bytearray(1), 1, b'x', 1, 0, stream)))
late.append(lambda: print(streams.aclrtSynchronizeStream(stream), device.aclFinalize()))
""",
        "107017\n0 0",
    )


def test_idle_workers_sleep() -> None:
    """CPU time of the process, not wall time: a polling worker would burn it."""
    result = run_program(
        """
import time
from poolgrad.acl import device, streams
device.aclInit(None); device.aclrtSetDevice(0)
for _ in range(20):
    stream, _ = streams.aclrtCreateStream()
    streams.find_stream(stream).submit(lambda: None)
streams.aclrtSynchronizeDevice()
before = time.process_time()
time.sleep(0.5)
print(time.process_time() - before)
"""
    )
    assert float(result.stdout) < 0.1
