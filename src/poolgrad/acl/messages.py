"""The newest error text of each thread, and the guard that turns exceptions into statuses."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from typing import ParamSpec, TypeVar, cast

from ..base.errors import AclnnError
from ..base.status import name_of

P = ParamSpec("P")
R = TypeVar("R")

# By the first digit of the status.
_TITLES = {
    1: "AclNN_Parameter_Error(EZ1001)",
    2: "AclNN_Runtime_Error(EZ9903)",
    3: "AclNN_Runtime_Error(EZ9903)",
}
_INNER = "AclNN_Inner_Error(EZ9999)"

_LOCAL = threading.local()


def report(status: int, text: str) -> int:
    """Keep ``text`` as this thread's newest message and hand ``status`` back."""
    line = " ".join(text.split())
    when = datetime.now().strftime("%Y-%m-%d-%H:%M:%S.%f")
    _LOCAL.newest = f"[PID:{os.getpid()}] {when} {_TITLES.get(status // 100000, _INNER)}: {line}"
    if os.environ.get("POOLGRAD_LOG") == "1":
        _log(f"poolgrad: {status} {name_of(status)}: {line}\n")
    return status


def take() -> str | None:
    """This thread's newest message, which is then gone; None if there is none."""
    newest: str | None = getattr(_LOCAL, "newest", None)
    _LOCAL.newest = None
    return newest


def aclGetRecentErrMsg() -> str | None:
    """The newest message of this thread, then cleared; None if there is none."""
    return take()


def refusal(status: int, text: str) -> AclnnError:
    """What a guarded function raises in order to answer ``status`` with ``text``."""
    return AclnnError(text, status=status)


def explain(error: BaseException) -> str:
    """Type and text of an exception, even of one that cannot be printed."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return type(error).__name__


def guarded(
    failure_status: int, *, outputs: int = 0, returns_status: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let nothing escape from a public function: an exception becomes a reported status.

    An ``AclnnError`` answers its own status, anything else ``failure_status``. The answer is the status behind
    ``outputs`` times None, or None alone for functions that return no status (``returns_status=False``).
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except AclnnError as error:
                # The contract's errors name their operator; the runtime's leave the caller's name to the guard.
                prefix = "" if error.operator else f"{function.__name__}: "
                status = report(error.status, f"{prefix}{error}")
            except Exception as error:
                if _is_wrong_call(error):
                    raise
                text = f"{function.__name__}: unexpected {explain(error)}; please report it as a defect of poolgrad"
                status = report(failure_status, text)
            return cast(R, answer(status))

        return call

    def answer(status: int) -> object:
        if not returns_status:
            return None
        return (*[None] * outputs, status) if outputs else status

    return decorate


def _is_wrong_call(error: Exception) -> bool:
    """Whether the arguments did not fit the signature: then the function's own frame never came to be."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def _log(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # no usable stderr is no reason to fail: the message is kept anyway
