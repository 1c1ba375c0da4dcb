"""Events: a place in a stream that others can wait for, ask about and measure from."""

from __future__ import annotations

import time

from ..base.errors import AclnnError
from ..base.status import (
    ACL_ERROR_INTERNAL_ERROR,
    ACL_ERROR_INVALID_PARAM,
    ACL_ERROR_RT_INVALID_HANDLE,
    ACL_ERROR_RT_PARAM_INVALID,
    ACL_SUCCESS,
)
from .arguments import is_null
from .constants import ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_RECORDED_STATUS_NOT_READY
from .handles import EVENT, HANDLES
from .messages import guarded, refusal
from .state import require_context, require_up
from .streams import answer_failure, find_stream
from .worker import Stream


class Recording:
    """One place in a stream. It outlives the event and the stream, so whoever waits for it never hangs.

    It stands behind tasks that are submitted already, so waiting for it can never be part of a circle.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.time_ns: int | None = None
        self.ticket = stream.submit(self._stamp)

    @property
    def complete(self) -> bool:
        return self.stream.is_done(self.ticket) and self.time_ns is not None

    def wait(self) -> None:
        self.stream.wait(self.ticket)

    def _stamp(self) -> None:
        self.time_ns = time.perf_counter_ns()


class Event:
    def __init__(self) -> None:
        self.recording: Recording | None = None


@guarded(ACL_ERROR_INTERNAL_ERROR, outputs=1)
def aclrtCreateEvent() -> tuple[int | None, int]:
    require_up()
    require_context()
    return HANDLES.new(EVENT, Event()), ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtRecordEvent(event: int | None, stream: int | None) -> int:
    """Capture what was submitted so far on the stream."""
    require_up()
    target = _find_event("event", event)
    # Published only when it stands in the queue: else another thread could make the stream wait for itself.
    target.recording = Recording(find_stream(stream))
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtResetEvent(event: int | None, stream: int | None) -> int:
    """Make the event as if it was never recorded; streams that wait for it already go on waiting."""
    require_up()
    target = _find_event("event", event)
    find_stream(stream)
    target.recording = None
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtStreamWaitEvent(stream: int | None, event: int | None) -> int:
    """Hold later tasks of the stream until the event, as recorded now, is reached."""
    require_up()
    recording = _find_event("event", event).recording
    waiting = find_stream(stream)
    if recording is not None:
        waiting.submit(recording.wait)
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeEvent(event: int | None) -> int:
    """Wait for the event; answers a failure of the tasks before it once."""
    require_up()
    recording = _find_event("event", event).recording
    if recording is not None:
        recording.wait()
        answer_failure(recording.stream, recording.ticket)
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR, outputs=1)
def aclrtQueryEventStatus(event: int | None) -> tuple[int | None, int]:
    """Whether the event is reached; one that was never recorded is not."""
    require_up()
    recording = _find_event("event", event).recording
    complete = recording is not None and recording.complete
    return ACL_EVENT_RECORDED_STATUS_COMPLETE if complete else ACL_EVENT_RECORDED_STATUS_NOT_READY, ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR, outputs=1)
def aclrtEventElapsedTime(startEvent: int | None, endEvent: int | None) -> tuple[float | None, int]:
    """The milliseconds from one event to the other, which must both be reached."""
    require_up()
    start, end = _time_of("startEvent", startEvent), _time_of("endEvent", endEvent)
    return (end - start) / 1e6, ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtDestroyEvent(event: int | None) -> int:
    """Forget the event; streams that wait for it go on waiting for the place it marked."""
    require_up()
    _find_event("event", event)
    if HANDLES.drop(event, EVENT) is None:  # another thread was faster
        raise _no_event("event", event)
    return ACL_SUCCESS


def _find_event(name: str, handle: object) -> Event:
    if is_null(handle):
        raise refusal(ACL_ERROR_INVALID_PARAM, f"{name} is null; pass a handle from aclrtCreateEvent")
    event = HANDLES.get(handle, EVENT)
    if not isinstance(event, Event):
        raise _no_event(name, handle)
    return event


def _no_event(name: str, handle: object) -> AclnnError:
    text = f"{name} is {HANDLES.describe(handle, EVENT)}; pass a live handle from aclrtCreateEvent"
    return refusal(ACL_ERROR_RT_INVALID_HANDLE, text)


def _time_of(name: str, handle: object) -> int:
    recording = _find_event(name, handle).recording
    if recording is None:
        raise refusal(ACL_ERROR_RT_PARAM_INVALID, f"{name} was never recorded; call aclrtRecordEvent first")
    if not recording.complete or recording.time_ns is None:
        text = f"{name} is not reached yet; call aclrtSynchronizeEvent before asking for times"
        raise refusal(ACL_ERROR_RT_PARAM_INVALID, text)
    return recording.time_ns
