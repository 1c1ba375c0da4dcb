"""Streams by their handles: create, destroy, wait for their tasks, copy in their order."""

from __future__ import annotations

from ..base import status
from .arguments import INT32, integer, is_null
from .handles import HANDLES, STREAM
from .memory import Place
from .messages import refusal, returning_status, returning_value_and_status
from .spans import plan_copy
from .state import RUNTIME, require_context, require_up
from .worker import Stream


def find_stream(handle: object) -> Stream:
    """The stream of a handle, which is of the current context; null is its default stream."""
    stream = None if handle is None else HANDLES.get(handle, STREAM)
    if stream is None:
        if is_null(handle):
            return require_context().default_stream()
        raise HANDLES.no_object("stream", handle, STREAM)
    if stream.owner is not require_context():
        text = "the stream belongs to another context than the current one; call aclrtSetCurrentContext first"
        raise refusal(status.ACL_ERROR_RT_STREAM_CONTEXT, text)
    return stream


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtCreateStream() -> int:
    """A new stream of the current context."""
    return require_context().open_stream()


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtDestroyStream(stream: int | None) -> None:
    """End a stream when all that was submitted to it is done."""
    require_up()
    if is_null(stream):
        raise refusal(status.ACL_ERROR_INVALID_PARAM, "stream is null; the default stream ends with its context")
    target = find_stream(stream)
    if HANDLES.drop(stream, STREAM) is None:  # another thread was faster
        raise HANDLES.no_object("stream", stream, STREAM)
    target.owner.streams.pop(target, None)
    target.close()


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeStream(stream: int | None) -> None:
    """Wait for what was submitted so far; answers a failure of these tasks once."""
    require_up()
    target = find_stream(stream)
    if not target.is_quiet:
        ticket = target.last_ticket
        target.finish(ticket)
        target.raise_failure(ticket)


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeStreamWithTimeout(stream: int | None, timeout: int) -> None:
    """As aclrtSynchronizeStream, for at most ``timeout`` milliseconds; -1 waits for ever."""
    require_up()
    target = find_stream(stream)
    limit = integer("timeout", timeout, INT32)
    if limit < -1:
        text = f"timeout = {limit} is negative; pass milliseconds, or -1 for ever"
        raise refusal(status.ACL_ERROR_INVALID_PARAM, text)
    ticket = target.last_ticket
    if not target.wait(ticket, None if limit == -1 else limit / 1000):
        text = f"the stream still worked after {limit} ms; wait longer, or pass -1 to wait for ever"
        raise refusal(status.ACL_ERROR_RT_AICORE_TIMEOUT, text)
    target.raise_failure(ticket)


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeDevice() -> None:
    """Wait for all streams of the current device.

    If several streams failed, one failure is answered and the others are left to the next call.
    """
    device = require_context().device
    contexts = [context for context in list(RUNTIME.contexts) if context.device == device]
    streams = [stream for context in contexts for stream in list(context.streams)]
    tickets = [(stream, stream.last_ticket) for stream in streams]
    for stream, ticket in tickets:
        stream.wait(ticket)
    for stream, ticket in tickets:
        stream.raise_failure(ticket)


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtMemcpyAsync(dst: Place, destMax: int, src: Place, count: int, kind: int, stream: int | None) -> None:
    """Copy in the stream's order. The arguments are checked at once; blocks and buffers are held until it is done."""
    require_up()
    copy = plan_copy(dst, destMax, src, count, kind)
    target = find_stream(stream)
    if copy is not None:
        copy.check_pages()
        target.submit(copy.run)
