"""Handles: integers that stand for objects, never reused and never usable as an address."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..base import status
from ..base.errors import AclnnError
from .arguments import as_int, is_null, shown
from .messages import refusal

if TYPE_CHECKING:
    from .events import Event
    from .executors import Executor
    from .objects import AclIntArray, AclTensor
    from .state import Context
    from .worker import Stream

T = TypeVar("T")

# Bit 56 makes the number non-canonical on x86-64, bit 55 puts it into the kernel's half on arm64: no page of a
# program can ever lie there. Bits 48 to 51 hold the kind, the bits below a serial number in steps of 16. So a
# token tells what it once was, and destroyed handles need no memory. Serial numbers of the upper half are for programs
# that make objects in another process, and tell us later.
_BASE = 1 << 60 | 1 << 56 | 1 << 55
_KIND_SHIFT = 48
STEP = 16
_OF_PROGRAM = 1 << 43


class Kind(Generic[T]):
    """A kind of objects, and where a caller gets them from: a function of the runtime, or one of aclnn."""

    def __init__(self, number: int, name: str, source: str) -> None:
        self.prefix = _BASE >> _KIND_SHIFT | number
        self.name = self.called = name
        self.source = source
        self.null_status, self.bad_status = status.ACLNN_ERR_PARAM_NULLPTR, status.ACLNN_ERR_PARAM_INVALID
        if source.startswith("aclrt"):
            self.called = "handle"
            self.null_status, self.bad_status = status.ACL_ERROR_INVALID_PARAM, status.ACL_ERROR_RT_INVALID_HANDLE


TENSOR: Kind[AclTensor] = Kind(0, "tensor", "aclCreateTensor")
INT_ARRAY: Kind[AclIntArray] = Kind(1, "int array", "aclCreateIntArray")
EXECUTOR: Kind[Executor] = Kind(2, "executor", "phase one")
STREAM: Kind[Stream] = Kind(3, "stream", "aclrtCreateStream, or null")
EVENT: Kind[Event] = Kind(4, "event", "aclrtCreateEvent")
CONTEXT: Kind[Context] = Kind(5, "context", "aclrtCreateContext")
KINDS: tuple[Kind[Any], ...] = (TENSOR, INT_ARRAY, EXECUTOR, STREAM, EVENT, CONTEXT)


class Handles:
    """All live handles.

    Looking up and dropping take no lock: each is one step on a dict, which is atomic, so of two threads that drop
    the same handle exactly one gets the object. Counting takes one, reentrant since the garbage collector may run
    a destructor that makes a handle at any moment.
    """

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._made = dict.fromkeys(KINDS, 0)
        self._adopted = dict.fromkeys(KINDS, _OF_PROGRAM)
        self._counting = threading.RLock()

    def new(self, kind: Kind[T], obj: T) -> int:
        with self._counting:
            serial = self._made[kind]
            self._made[kind] += 1
        token = kind.prefix << _KIND_SHIFT | serial * STEP
        self._objects[token] = obj
        return token

    def adopt(self, token: int, kind: Kind[T], obj: T) -> None:
        """An object whose handle a program has given out; it does so in ascending order."""
        self._adopted[kind] = _serial_of(token) + 1
        self._objects[token] = obj

    def get(self, handle: object, kind: Kind[T]) -> T | None:
        token = as_int(handle)
        return self._objects.get(token) if token is not None and token >> _KIND_SHIFT == kind.prefix else None

    def find(self, name: str, handle: object, kind: Kind[T]) -> T:
        """The live object that a parameter of that name stands for."""
        found = self.get(handle, kind)
        if found is None:
            raise self.no_object(name, handle, kind)
        return found

    def drop(self, handle: object, kind: Kind[T]) -> T | None:
        token = as_int(handle)
        return self._objects.pop(token, None) if token is not None and token >> _KIND_SHIFT == kind.prefix else None

    def drop_all(self, kind: Kind[Any]) -> None:
        for token in list(self._objects):
            self.drop(token, kind)

    def no_object(self, name: str, handle: object, kind: Kind[Any]) -> AclnnError:
        """The refusal of what is no live handle of that kind."""
        if is_null(handle):
            return refusal(kind.null_status, f"{name} is null; pass a handle from {kind.source}")
        text = f"{name} is {self.describe(handle, kind)}; pass a live {kind.called} from {kind.source}"
        return refusal(kind.bad_status, text)

    def describe(self, handle: object, wanted: Kind[Any]) -> str:
        """What a handle is, for messages: "a destroyed tensor", "a stream, not a tensor", "a list, not a handle"."""
        if is_null(handle):
            return "null"
        token = as_int(handle)
        kind = None if token is None else _kind_of(token)
        if token is None or kind is None or not self._was_made(token, kind):
            return f"{_shown(handle, token)}, not a handle"
        what = _with_article(kind.name if token in self._objects else f"destroyed {kind.name}")
        return what if wanted is kind else f"{what}, not {_with_article(wanted.name)}"

    def _was_made(self, token: int, kind: Kind[Any]) -> bool:
        serial = _serial_of(token)
        return serial < (self._made if serial < _OF_PROGRAM else self._adopted)[kind]

    def renew_lock(self) -> None:
        """For the child of a fork, where the thread that held the lock does not exist."""
        self._counting = threading.RLock()


def first_of_program(kind: Kind[Any]) -> int:
    """The first handle of a kind that a program may give out."""
    return kind.prefix << _KIND_SHIFT | _OF_PROGRAM * STEP


def _kind_of(token: int) -> Kind[Any] | None:
    return next((kind for kind in KINDS if token >> _KIND_SHIFT == kind.prefix and token % STEP == 0), None)


def _serial_of(token: int) -> int:
    return token % (1 << _KIND_SHIFT) // STEP


def _shown(handle: object, token: int | None) -> str:
    """What came in the place of a handle: numbers are mostly addresses, of other things their type tells most."""
    if token is not None:
        return f"{token:#x}" if 0 <= token < 2**64 else shown(token)
    kind = type(handle)
    return _with_article(kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}")


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


HANDLES = Handles()
