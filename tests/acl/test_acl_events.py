"""Events: what was submitted so far, across streams, without ever hanging."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from acl_helpers import PATIENCE, Gate, background, finish, new_stream, stream_of

from poolgrad.acl import constants as c
from poolgrad.acl import device, events, messages, streams
from poolgrad.base.errors import IndexRangeError

MakeGate = Callable[[], Gate]
NOT_READY = (c.ACL_EVENT_RECORDED_STATUS_NOT_READY, 0)
COMPLETE = (c.ACL_EVENT_RECORDED_STATUS_COMPLETE, 0)


def new_event() -> int:
    event, ret = events.aclrtCreateEvent()
    assert ret == 0
    assert event is not None
    return event


def fail() -> None:
    raise IndexRangeError("bad index", status=507015)


def test_an_event_captures_what_was_submitted_so_far(stream: int, gate: MakeGate) -> None:
    first, later, event = gate(), gate(), new_event()
    assert events.aclrtQueryEventStatus(event) == NOT_READY
    stream_of(stream).submit(first)
    assert events.aclrtRecordEvent(event, stream) == 0
    stream_of(stream).submit(later)
    assert events.aclrtQueryEventStatus(event) == NOT_READY
    first.open()
    assert events.aclrtSynchronizeEvent(event) == 0
    assert events.aclrtQueryEventStatus(event) == COMPLETE
    assert not later.opened.is_set(), "the later task was not waited for"


def test_a_waiting_stream_holds_later_tasks_only(stream: int, gate: MakeGate) -> None:
    held, event, other, ran = gate(), new_event(), new_stream(), list[str]()
    stream_of(stream).submit(held)
    stream_of(stream).submit(lambda: ran.append("recorded"))
    events.aclrtRecordEvent(event, stream)
    before = threading.Event()
    stream_of(other).submit(before.set)
    assert events.aclrtStreamWaitEvent(other, event) == 0
    stream_of(other).submit(lambda: ran.append("after the wait"))
    assert before.wait(PATIENCE), "what came before the wait runs"
    assert ran == []
    held.open()
    assert streams.aclrtSynchronizeStream(other) == 0
    assert ran == ["recorded", "after the wait"]


@pytest.mark.doors("Python", "C")
def test_an_event_never_recorded_holds_nobody(stream: int) -> None:
    event = new_event()
    assert events.aclrtStreamWaitEvent(stream, event) == 0
    assert events.aclrtSynchronizeEvent(event) == 0
    assert streams.aclrtSynchronizeStream(stream) == 0


def test_two_streams_wait_for_each_other_in_turns(runtime: None) -> None:
    one, two, ran = new_stream(), new_stream(), list[int]()
    for turn in range(50):
        here, there = (one, two) if turn % 2 == 0 else (two, one)
        event = new_event()
        stream_of(here).submit(lambda turn=turn: ran.append(turn))
        events.aclrtRecordEvent(event, here)
        events.aclrtStreamWaitEvent(there, event)
        events.aclrtDestroyEvent(event)
    assert streams.aclrtSynchronizeDevice() == 0
    assert ran == list(range(50))


def test_waits_of_many_threads_make_no_circle(runtime: None) -> None:
    """Records and waits on the same event from all sides at once: nobody may wait for something not yet queued."""
    handles = [new_stream() for _ in range(4)]
    event, (context, _) = new_event(), device.aclrtGetCurrentContext()

    def work(seed: int) -> None:
        device.aclrtSetCurrentContext(context)
        for step in range(200):
            stream = handles[(seed + step) % 4]
            assert events.aclrtRecordEvent(event, stream) == 0
            assert events.aclrtStreamWaitEvent(handles[(seed * 3 + step) % 4], event) == 0

    threads = [background(lambda seed=seed: work(seed)) for seed in range(4)]
    for thread in threads:
        finish(thread)
    for handle in handles:
        assert streams.aclrtSynchronizeStreamWithTimeout(handle, PATIENCE * 1000) == 0


def test_a_stream_may_wait_for_itself(stream: int) -> None:
    event = new_event()
    events.aclrtRecordEvent(event, stream)
    assert events.aclrtStreamWaitEvent(stream, event) == 0
    assert streams.aclrtSynchronizeStreamWithTimeout(stream, PATIENCE * 1000) == 0


def test_a_wait_keeps_to_the_record_it_saw(stream: int, gate: MakeGate) -> None:
    """Recording again, resetting or destroying the event changes nothing for those who wait already."""
    held, event, other, ran = gate(), new_event(), new_stream(), list[int]()
    stream_of(stream).submit(held)
    events.aclrtRecordEvent(event, stream)
    events.aclrtStreamWaitEvent(other, event)
    stream_of(other).submit(lambda: ran.append(1))
    assert events.aclrtResetEvent(event, other) == 0
    assert events.aclrtQueryEventStatus(event) == NOT_READY
    assert events.aclrtSynchronizeEvent(event) == 0, "as if it was never recorded"
    assert events.aclrtDestroyEvent(event) == 0
    assert ran == []
    held.open()
    assert streams.aclrtSynchronizeStream(other) == 0
    assert ran == [1]


def test_destroying_streams_around_a_wait(stream: int, gate: MakeGate) -> None:
    """The waiting stream is destroyed while it waits, the recorded one too: all tasks run, nobody hangs."""
    held, event, other, ran = gate(), new_event(), new_stream(), list[str]()
    stream_of(stream).submit(held)
    stream_of(stream).submit(lambda: ran.append("one"))
    events.aclrtRecordEvent(event, stream)
    events.aclrtStreamWaitEvent(other, event)
    stream_of(other).submit(lambda: ran.append("two"))
    context, _ = device.aclrtGetCurrentContext()
    answers: list[int] = []

    def destroy(handle: int) -> None:
        device.aclrtSetCurrentContext(context)
        answers.append(streams.aclrtDestroyStream(handle))

    threads = [background(lambda handle=handle: destroy(handle)) for handle in (other, stream)]
    assert held.reached.wait(PATIENCE)
    held.open()
    for thread in threads:
        finish(thread)
    assert answers == [0, 0]
    assert ran == ["one", "two"]
    assert events.aclrtQueryEventStatus(event) == COMPLETE
    assert events.aclrtSynchronizeEvent(event) == 0


def test_a_failure_before_the_event_is_answered_once(stream: int) -> None:
    event = new_event()
    stream_of(stream).submit(fail)
    events.aclrtRecordEvent(event, stream)
    assert events.aclrtSynchronizeEvent(event) == 507015
    assert "bad index" in (messages.aclGetRecentErrMsg() or "")
    assert events.aclrtSynchronizeEvent(event) == streams.aclrtSynchronizeStream(stream) == 0


def test_a_failure_behind_the_event_is_left_to_the_stream(stream: int) -> None:
    event = new_event()
    events.aclrtRecordEvent(event, stream)
    stream_of(stream).submit(fail)
    stream_of(stream).wait(stream_of(stream).last_ticket)
    assert events.aclrtSynchronizeEvent(event) == 0
    assert streams.aclrtSynchronizeStream(stream) == 507015


def test_failures_on_both_sides_of_the_event_are_both_answered(stream: int) -> None:
    event = new_event()
    stream_of(stream).submit(fail)
    events.aclrtRecordEvent(event, stream)
    stream_of(stream).submit(fail)
    stream_of(stream).wait(stream_of(stream).last_ticket)
    assert events.aclrtSynchronizeEvent(event) == 507015
    assert streams.aclrtSynchronizeStream(stream) == 507015
    assert streams.aclrtSynchronizeStream(stream) == 0


def test_elapsed_time(stream: int, gate: MakeGate) -> None:
    held, start, end = gate(), new_event(), new_event()
    events.aclrtRecordEvent(start, stream)
    assert events.aclrtSynchronizeEvent(start) == 0
    stream_of(stream).submit(held)
    assert events.aclrtEventElapsedTime(start, end) == (None, 107000)
    assert "never recorded" in (messages.aclGetRecentErrMsg() or "")
    events.aclrtRecordEvent(end, stream)
    assert events.aclrtEventElapsedTime(start, end) == (None, 107000)
    assert "not reached" in (messages.aclGetRecentErrMsg() or "")
    held.open()
    events.aclrtSynchronizeEvent(end)
    forwards, ret = events.aclrtEventElapsedTime(start, end)
    backwards, _ = events.aclrtEventElapsedTime(end, start)
    assert ret == 0
    assert forwards is not None
    assert isinstance(forwards, float)
    assert forwards > 0
    assert backwards == -forwards
    assert events.aclrtEventElapsedTime(start, start) == (0.0, 0)


def test_wrong_events(stream: int) -> None:
    event = new_event()
    calls: list[Callable[[object], object]] = [
        lambda e: events.aclrtRecordEvent(e, stream),  # type: ignore[arg-type]
        lambda e: events.aclrtResetEvent(e, stream),  # type: ignore[arg-type]
        lambda e: events.aclrtStreamWaitEvent(stream, e),  # type: ignore[arg-type]
        lambda e: events.aclrtSynchronizeEvent(e),  # type: ignore[arg-type]
        lambda e: events.aclrtDestroyEvent(e),  # type: ignore[arg-type]
        lambda e: events.aclrtQueryEventStatus(e)[1],  # type: ignore[arg-type]
        lambda e: events.aclrtEventElapsedTime(e, event)[1],  # type: ignore[arg-type]
    ]
    for call in calls:
        assert call(None) == call(0) == 100000
        for wrong in (stream, 5, "event", 2.0, event + 16, 2**99):
            assert call(wrong) == 107017
    events.aclrtQueryEventStatus(stream)
    assert "a stream, not an event" in (messages.aclGetRecentErrMsg() or "")
    assert events.aclrtDestroyEvent(event) == 0
    assert events.aclrtDestroyEvent(event) == 107017
    assert "a destroyed event" in (messages.aclGetRecentErrMsg() or "")


@pytest.mark.parametrize("call", [events.aclrtRecordEvent, events.aclrtResetEvent])
def test_wrong_streams(stream: int, call: Callable[[int, object], int]) -> None:
    event = new_event()
    assert call(event, 77) == 107017
    assert call(event, None) == 0, "null is the default stream"
    device.aclrtCreateContext(0)
    assert call(event, stream) == 107003
    assert events.aclrtStreamWaitEvent(stream, event) == 107003


@pytest.mark.doors("Python", "C")
def test_nothing_works_before_init_or_without_a_context() -> None:
    assert events.aclrtCreateEvent() == events.aclrtQueryEventStatus(None) == (None, 100001)
    assert events.aclrtEventElapsedTime(None, None) == (None, 100001)
    assert events.aclrtRecordEvent(None, None) == events.aclrtResetEvent(None, None) == 100001
    assert events.aclrtStreamWaitEvent(None, None) == events.aclrtSynchronizeEvent(None) == 100001
    assert events.aclrtDestroyEvent(None) == 100001
    device.aclInit(None)
    assert events.aclrtCreateEvent() == (None, 107002)
