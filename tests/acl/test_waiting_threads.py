"""Threads that wait for a stream run its tasks; those that wake streams late still wake all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from acl_helpers import PATIENCE, Gate, background, finish, new_stream, put_to_sleep, stream_of

from poolgrad.acl import messages, state, streams
from poolgrad.acl.worker import UNWOKEN, Stream, wake_streams
from poolgrad.base.errors import IndexRangeError

MakeGate = Callable[[], Gate]


@pytest.fixture
def sleeping(stream: int) -> Stream:
    """The stream, whose thread sleeps."""
    put_to_sleep(stream_of(stream))
    return stream_of(stream)


def late(work: Callable[[], object]) -> threading.Thread:
    """Runs on a thread of the same context that does not wake streams by itself."""
    context = state.require_context()

    def run() -> None:
        state.make_current(context)
        UNWOKEN.streams = set()
        work()

    return background(run)


def test_a_thread_that_waits_runs_what_nobody_has_begun(stream: int, sleeping: Stream) -> None:
    ran, answers = list[tuple[int, int]](), list[int]()

    def work() -> None:
        for number in range(100):
            sleeping.submit(lambda number=number: ran.append((number, threading.get_ident())))
        answers.append(streams.aclrtSynchronizeStream(stream))

    thread = late(work)
    finish(thread)
    assert answers == [0]
    assert ran == [(number, thread.ident) for number in range(100)]


def test_a_thread_that_wakes_streams_at_once_is_answered_too(stream: int) -> None:
    """Whoever comes first runs a task: each runs once, and in order."""
    target, ran = stream_of(stream), list[int]()
    context = state.require_context()

    def work() -> None:
        state.make_current(context)
        for number in range(2000):
            target.submit(lambda number=number: ran.append(number))
            if number % 3 == 0:
                assert streams.aclrtSynchronizeStream(stream) == 0
                assert len(ran) == number + 1

    finish(background(work))
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert ran == list(range(2000))


def test_many_threads_wait_for_one_stream(stream: int) -> None:
    target, ran, context, running = stream_of(stream), list[int](), state.require_context(), threading.Lock()

    def task() -> None:
        assert running.acquire(blocking=False), "two tasks of a stream run at once"
        time.sleep(1e-5)  # others come
        ran.append(1)
        running.release()

    def work() -> None:
        state.make_current(context)
        for _ in range(100):
            target.submit(task)
            assert streams.aclrtSynchronizeStream(stream) == 0

    threads = [background(work) for _ in range(4)] + [late(work) for _ in range(4)]
    for thread in threads:
        finish(thread)
    assert len(ran) == 8 * 100


def test_the_main_thread_leaves_tasks_to_the_stream(stream: int, sleeping: Stream) -> None:
    ran: list[int] = []
    sleeping.submit(lambda: ran.append(threading.get_ident()))
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert ran != [threading.get_ident()]


def test_a_thread_that_waits_runs_nothing_that_came_later(stream: int, sleeping: Stream, gate: MakeGate) -> None:
    held, ran, waited = gate(), list[int](), threading.Event()

    def work() -> None:
        sleeping.submit(held)
        assert streams.aclrtSynchronizeStream(stream) == 0
        ran.append(threading.get_ident())
        waited.set()

    thread = late(work)
    assert held.reached.wait(PATIENCE)
    sleeping.submit(lambda: ran.append(threading.get_ident()) if waited.wait(PATIENCE) else None)
    held.open()
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert ran[0] == thread.ident
    assert len(set(ran)) == 2


def test_a_failure_in_a_thread_that_waits_is_answered_there_once(stream: int, sleeping: Stream) -> None:
    answers: list[object] = []

    def fail() -> None:
        raise IndexRangeError(f"in {threading.get_ident()}", status=507015)

    def work() -> None:
        sleeping.submit(fail)
        answers.append(streams.aclrtSynchronizeStream(stream))
        answers.append(f"in {threading.get_ident()}" in (messages.aclGetRecentErrMsg() or ""))
        answers.append(streams.aclrtSynchronizeStream(stream))

    finish(late(work))
    assert answers == [507015, True, 0]


def test_a_stream_ends_after_the_task_that_a_waiting_thread_runs(stream: int, sleeping: Stream, gate: MakeGate) -> None:
    held, order, context = gate(), list[str](), state.require_context()

    def task() -> None:
        held()
        order.append("task")

    def work() -> None:
        sleeping.submit(task)
        streams.aclrtSynchronizeStream(stream)

    def destroy() -> None:
        state.make_current(context)
        assert streams.aclrtDestroyStream(stream) == 0
        order.append("destroyed")

    waiting = late(work)
    assert held.reached.wait(PATIENCE)
    destroying = background(destroy)
    destroying.join(0.05)  # it would be done by now if it did not wait
    assert destroying.is_alive()
    held.open()
    finish(destroying)
    finish(waiting)
    assert order == ["task", "destroyed"]


def test_a_stream_closed_by_its_own_task_does_not_wait_for_itself(sleeping: Stream) -> None:
    """The garbage collector may run a destructor there."""

    def work() -> None:
        sleeping.finish(sleeping.submit(sleeping.close))

    finish(late(work))
    assert sleeping._worker is not None
    finish(sleeping._worker)


def test_late_streams_are_woken_on_request(sleeping: Stream) -> None:
    ran, told, asleep = threading.Event(), list[bool](), threading.Event()

    def work() -> None:
        sleeping.submit(ran.set)
        told.append(bool(sleeping._work_came._waiters))  # type: ignore[attr-defined]
        asleep.wait(PATIENCE)
        wake_streams()

    thread = late(work)
    assert not ran.wait(0.05)
    asleep.set()
    assert ran.wait(PATIENCE)
    finish(thread)
    assert told == [True], "the stream's thread was not asleep"


def test_late_streams_are_woken_before_their_thread_waits(stream: int, sleeping: Stream) -> None:
    """For a limited time, for another stream, or for all of them."""
    other = new_stream()
    put_to_sleep(stream_of(other))

    def work() -> None:
        assert sleeping.wait(sleeping.submit(lambda: None), PATIENCE)
        sleeping.submit(lambda: None)
        assert streams.aclrtSynchronizeStreamWithTimeout(stream, 1000 * PATIENCE) == 0
        sleeping.submit(lambda: None)
        assert streams.aclrtSynchronizeDevice() == 0
        ran = threading.Event()
        sleeping.submit(ran.set)
        stream_of(other).submit(lambda: None if ran.wait(PATIENCE) else pytest.fail("not woken"))
        assert streams.aclrtSynchronizeStream(other) == 0
        done.append(1)

    done: list[int] = []
    finish(late(work))
    assert done == [1]


def test_a_busy_stream_needs_no_waking(sleeping: Stream, gate: MakeGate) -> None:
    held, ran = gate(), threading.Event()
    sleeping.submit(held)
    assert held.reached.wait(PATIENCE)
    unwoken: list[object] = []

    def work() -> None:
        sleeping.submit(ran.set)
        unwoken.append(UNWOKEN.streams)

    finish(late(work))
    assert unwoken == [set()]
    held.open()
    assert ran.wait(PATIENCE)
