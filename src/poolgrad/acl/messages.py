"""The newest error text of each thread. Nothing escapes from public functions: exceptions become statuses."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from typing import ParamSpec, TypeVar

from ..base.errors import AclnnError
from ..base.status import ACL_SUCCESS, name_of

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


def aclGetRecentErrMsg() -> str | None:
    """This thread's newest message, which is then gone; None if there is none."""
    newest: str | None = getattr(_LOCAL, "newest", None)
    _LOCAL.newest = None
    return newest


def refusal(status: int, text: str) -> AclnnError:
    """What a public function raises in order to answer ``status`` with ``text``."""
    return AclnnError(text, status=status)


def explain(error: BaseException) -> str:
    """Type and text of an exception, even of one that cannot be printed."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return type(error).__name__


def returning_status(failure: int) -> Callable[[Callable[P, None]], Callable[P, int]]:
    """A public function that answers 0 if it returns, and else the status of what it raised."""

    def decorate(function: Callable[P, None]) -> Callable[P, int]:
        @_like(function, "int")
        def call(*args: P.args, **kwargs: P.kwargs) -> int:
            try:
                function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - it is answered
                return status_of(error, function.__name__, failure)
            return ACL_SUCCESS

        return call

    return decorate


def returning_value_and_status(failure: int) -> Callable[[Callable[P, R]], Callable[P, tuple[R | None, int]]]:
    """A public function that answers what it returns and 0, or None and the status of what it raised."""

    def decorate(function: Callable[P, R]) -> Callable[P, tuple[R | None, int]]:
        @_like(function, f"tuple[{function.__annotations__['return']} | None, int]")
        def call(*args: P.args, **kwargs: P.kwargs) -> tuple[R | None, int]:
            try:
                return function(*args, **kwargs), ACL_SUCCESS
            except Exception as error:  # noqa: BLE001 - it is answered
                return None, status_of(error, function.__name__, failure)

        return call

    return decorate


def returning_value(failure: int) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """A public function without a status: it answers what it returns, or None where it raised."""

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        @_like(function, f"{function.__annotations__['return']} | None")
        def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - it is answered
                status_of(error, function.__name__, failure)
                return None

        return call

    return decorate


def status_of(error: BaseException, name: str, failure: int) -> int:
    """Report what the function of that name raised: an ``AclnnError`` has its status, anything else is ``failure``."""
    if isinstance(error, AclnnError):
        # The contract's errors name their operator; the runtime's leave the caller's name to us.
        return report(error.status, f"{error}" if error.operator else f"{name}: {error}")
    if _is_wrong_call(error):
        raise error
    return report(failure, f"{name}: unexpected {explain(error)}; please report it as a defect of poolgrad")


def _like(function: Callable[P, object], returns: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Name, text and signature of a public function: those of what it calls, but for what comes back."""
    function.__annotations__["return"] = returns
    return functools.wraps(function)


def _is_wrong_call(error: BaseException) -> bool:
    """Whether the arguments did not fit the signature: then the function's own frame never came to be."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def _log(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # no usable stderr is no reason to fail: the message is kept anyway
