"""Events: a place in a stream that others can wait for, ask about and measure from."""

from __future__ import annotations

import time

from ..base.status import ACL_ERROR_INTERNAL_ERROR, ACL_ERROR_RT_PARAM_INVALID
from .constants import ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_RECORDED_STATUS_NOT_READY
from .handles import EVENT, HANDLES
from .messages import refusal, returning_status, returning_value_and_status
from .state import require_context, require_up
from .streams import find_stream
from .worker import Stream


class Recording:
    """One place in a stream. It outlives the event and the stream, so whoever waits for it never hangs.

    It stands behind tasks that are submitted already, so waiting for it can never be part of a circle.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.time_ns: int | None = None  # until it is reached
        self.ticket = stream.submit(self._stamp)

    def wait(self) -> None:
        self.stream.wait(self.ticket)

    def _stamp(self) -> None:
        self.time_ns = time.perf_counter_ns()


class Event:
    def __init__(self) -> None:
        self.recording: Recording | None = None


@returning_value_and_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtCreateEvent() -> int:
    require_context()
    return HANDLES.new(EVENT, Event())


@returning_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtRecordEvent(event: int | None, stream: int | None) -> None:
    """Capture what was submitted so far on the stream."""
    target = _find_event("event", event)
    # Published only when it stands in the queue: else another thread could make the stream wait for itself.
    target.recording = Recording(find_stream(stream))


@returning_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtResetEvent(event: int | None, stream: int | None) -> None:
    """Make the event as if it was never recorded; streams that wait for it already go on waiting."""
    target = _find_event("event", event)
    find_stream(stream)
    target.recording = None


@returning_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtStreamWaitEvent(stream: int | None, event: int | None) -> None:
    """Hold later tasks of the stream until the event, as recorded now, is reached."""
    recording = _find_event("event", event).recording
    waiting = find_stream(stream)
    if recording is not None:
        waiting.submit(recording.wait)


@returning_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeEvent(event: int | None) -> None:
    """Wait for the event; answers a failure of the tasks before it once."""
    recording = _find_event("event", event).recording
    if recording is not None:
        recording.wait()
        recording.stream.raise_failure(recording.ticket)


@returning_value_and_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtQueryEventStatus(event: int | None) -> int:
    """Whether the event is reached; one that was never recorded is not."""
    recording = _find_event("event", event).recording
    complete = recording is not None and recording.time_ns is not None
    return ACL_EVENT_RECORDED_STATUS_COMPLETE if complete else ACL_EVENT_RECORDED_STATUS_NOT_READY


@returning_value_and_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtEventElapsedTime(startEvent: int | None, endEvent: int | None) -> float:
    """The milliseconds from one event to the other, which must both be reached."""
    start, end = _time_of("startEvent", startEvent), _time_of("endEvent", endEvent)
    return (end - start) / 1e6


@returning_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtDestroyEvent(event: int | None) -> None:
    """Forget the event; streams that wait for it go on waiting for the place it marked."""
    require_up()
    if HANDLES.drop(event, EVENT) is None:
        raise HANDLES.no_object("event", event, EVENT)


def _find_event(name: str, handle: object) -> Event:
    require_up()
    return HANDLES.find(name, handle, EVENT)


def _time_of(name: str, handle: object) -> int:
    recording = _find_event(name, handle).recording
    if recording is None:
        raise refusal(ACL_ERROR_RT_PARAM_INVALID, f"{name} was never recorded; call aclrtRecordEvent first")
    if recording.time_ns is None:
        text = f"{name} is not reached yet; call aclrtSynchronizeEvent before asking for times"
        raise refusal(ACL_ERROR_RT_PARAM_INVALID, text)
    return recording.time_ns
