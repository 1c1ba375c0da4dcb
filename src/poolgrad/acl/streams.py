"""Streams by their handles: create, destroy, wait for their tasks, copy in their order."""

from __future__ import annotations

from ..base.errors import AclnnError
from ..base.status import (
    ACL_ERROR_INTERNAL_ERROR,
    ACL_ERROR_INVALID_PARAM,
    ACL_ERROR_RT_AICORE_TIMEOUT,
    ACL_ERROR_RT_INVALID_HANDLE,
    ACL_ERROR_RT_STREAM_CONTEXT,
    ACL_SUCCESS,
)
from .arguments import INT32, integer, is_null
from .handles import HANDLES, STREAM
from .memory import Place
from .messages import guarded, refusal, report
from .spans import plan_copy
from .state import RUNTIME, Context, require_context, require_up
from .worker import Stream

__all__ = [
    "Stream",
    "aclrtCreateStream",
    "aclrtDestroyStream",
    "aclrtMemcpyAsync",
    "aclrtSynchronizeDevice",
    "aclrtSynchronizeStream",
    "aclrtSynchronizeStreamWithTimeout",
    "answer_failure",
    "find_stream",
    "resolve",
]


def resolve(handle: object) -> tuple[Stream | None, int]:
    """The stream of a handle and success, or None and the reported status; null is the default stream."""
    try:
        return find_stream(handle), ACL_SUCCESS
    except AclnnError as error:
        return None, report(error.status, str(error))


def find_stream(handle: object) -> Stream:
    """As ``resolve``, for guarded functions: raises what they answer."""
    stream = None if handle is None else HANDLES.get(handle, STREAM)
    if not isinstance(stream, Stream):
        if is_null(handle):
            return require_context().default_stream()
        raise _no_stream(handle)
    if stream.owner is not require_context():
        text = "the stream belongs to another context than the current one; call aclrtSetCurrentContext first"
        raise refusal(ACL_ERROR_RT_STREAM_CONTEXT, text)
    return stream


@guarded(ACL_ERROR_INTERNAL_ERROR, outputs=1)
def aclrtCreateStream() -> tuple[int | None, int]:
    """A new stream of the current context."""
    require_up()
    return require_context().open_stream(), ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtDestroyStream(stream: int | None) -> int:
    """End a stream when all that was submitted to it is done."""
    require_up()
    if is_null(stream):
        raise refusal(ACL_ERROR_INVALID_PARAM, "stream is null; the default stream ends with its context")
    target = find_stream(stream)
    if HANDLES.drop(stream, STREAM) is None:  # another thread was faster
        raise _no_stream(stream)
    if isinstance(target.owner, Context):
        target.owner.streams.pop(target, None)
    target.close()
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeStream(stream: int | None) -> int:
    """Wait for what was submitted so far; answers a failure of these tasks once."""
    require_up()
    _synchronize(find_stream(stream))
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeStreamWithTimeout(stream: int | None, timeout: int) -> int:
    """As aclrtSynchronizeStream, for at most ``timeout`` milliseconds; -1 waits for ever."""
    require_up()
    target = find_stream(stream)
    limit = integer("timeout", timeout, INT32)
    if limit < -1:
        raise refusal(ACL_ERROR_INVALID_PARAM, f"timeout = {limit} is negative; pass milliseconds, or -1 for ever")
    ticket = target.last_ticket
    if not target.wait(ticket, None if limit == -1 else limit / 1000):
        text = f"the stream still worked after {limit} ms; wait longer, or pass -1 to wait for ever"
        raise refusal(ACL_ERROR_RT_AICORE_TIMEOUT, text)
    answer_failure(target, ticket)
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtSynchronizeDevice() -> int:
    """Wait for all streams of the current device.

    If several streams failed, one failure is answered and the others are left to the next call.
    """
    require_up()
    device = require_context().device
    contexts = [context for context in list(RUNTIME.contexts) if context.device == device]
    streams = [stream for context in contexts for stream in list(context.streams)]
    tickets = [(stream, stream.last_ticket) for stream in streams]
    for stream, ticket in tickets:
        stream.wait(ticket)
    for stream, ticket in tickets:
        answer_failure(stream, ticket)
    return ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR)
def aclrtMemcpyAsync(dst: Place, destMax: int, src: Place, count: int, kind: int, stream: int | None) -> int:
    """Copy in the stream's order. The arguments are checked at once; blocks and buffers are held until it is done."""
    require_up()
    copy = plan_copy(dst, destMax, src, count, kind)
    target = find_stream(stream)
    if copy is not None:
        copy.check_pages()
        target.submit(copy.run)
    return ACL_SUCCESS


def answer_failure(stream: Stream, ticket: int) -> None:
    """Raise the failure of a task up to that ticket, if there is one that nobody was told of."""
    failure = stream.take_failure(ticket)
    if failure:
        raise refusal(failure.status, failure.text)


def _synchronize(stream: Stream) -> None:
    if stream.is_quiet:
        return
    ticket = stream.last_ticket
    stream.finish(ticket)
    answer_failure(stream, ticket)


def _no_stream(handle: object) -> AclnnError:
    text = f"stream is {HANDLES.describe(handle, STREAM)}; pass a live handle from aclrtCreateStream, or null"
    return refusal(ACL_ERROR_RT_INVALID_HANDLE, text)
