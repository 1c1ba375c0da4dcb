"""Handles: integers that stand for objects, never reused and never usable as an address."""

from __future__ import annotations

import threading

from .arguments import as_int, is_null, shown

TENSOR = "tensor"
INT_ARRAY = "int array"
EXECUTOR = "executor"
STREAM = "stream"
EVENT = "event"
CONTEXT = "context"
KINDS = (TENSOR, INT_ARRAY, EXECUTOR, STREAM, EVENT, CONTEXT)

# Bit 56 makes the number non-canonical on x86-64, bit 55 puts it into the kernel's half on arm64: no page of a
# program can ever lie there. Bits 48 to 51 hold the kind, the bits below a serial number in steps of 16. So a
# token tells what it once was, and destroyed handles need no memory. Serial numbers of the upper half are for programs
# that make objects in another process, and tell us later.
_BASE = 1 << 60 | 1 << 56 | 1 << 55
_KIND_SHIFT = 48
STEP = 16
_OF_PROGRAM = 1 << 43
_PREFIXES = {kind: _BASE >> _KIND_SHIFT | index for index, kind in enumerate(KINDS)}


class Handles:
    """All live handles.

    Looking up and dropping take no lock: each is one step on a dict, which is atomic, so of two threads that drop
    the same handle exactly one gets the object. Counting takes one, reentrant since the garbage collector may run
    a destructor that makes a handle at any moment.
    """

    def __init__(self) -> None:
        self._objects: dict[int, object] = {}
        self._made = dict.fromkeys(KINDS, 0)
        self._adopted = dict.fromkeys(KINDS, _OF_PROGRAM)
        self._counting = threading.RLock()

    def new(self, kind: str, obj: object) -> int:
        with self._counting:
            serial = self._made[kind]
            self._made[kind] += 1
        token = _PREFIXES[kind] << _KIND_SHIFT | serial * STEP
        self._objects[token] = obj
        return token

    def adopt(self, token: int, kind: str, obj: object) -> None:
        """An object whose handle a program has given out; it does so in ascending order."""
        self._adopted[kind] = _serial_of(token) + 1
        self._objects[token] = obj

    def get(self, handle: object, kind: str) -> object | None:
        token = as_int(handle)
        return self._objects.get(token) if token is not None and token >> _KIND_SHIFT == _PREFIXES[kind] else None

    def drop(self, handle: object, kind: str) -> object | None:
        token = as_int(handle)
        return self._objects.pop(token, None) if token is not None and token >> _KIND_SHIFT == _PREFIXES[kind] else None

    def drop_all(self, kind: str) -> None:
        for token in list(self._objects):
            self.drop(token, kind)

    def describe(self, handle: object, wanted: str = "") -> str:
        """What a handle is, for messages: "a destroyed tensor", "a stream, not a tensor", "a list, not a handle"."""
        if is_null(handle):
            return "null"
        token = as_int(handle)
        kind = None if token is None else _kind_of(token)
        if token is None or kind is None or not self._was_made(token, kind):
            return f"{_shown(handle, token)}, not a handle"
        what = _with_article(kind if token in self._objects else f"destroyed {kind}")
        return f"{what}, not {_with_article(wanted)}" if wanted and wanted != kind else what

    def _was_made(self, token: int, kind: str) -> bool:
        serial = _serial_of(token)
        return serial < (self._made if serial < _OF_PROGRAM else self._adopted)[kind]

    def renew_lock(self) -> None:
        """For the child of a fork, where the thread that held the lock does not exist."""
        self._counting = threading.RLock()


def first_of_program(kind: str) -> int:
    """The first handle of a kind that a program may give out."""
    return _PREFIXES[kind] << _KIND_SHIFT | _OF_PROGRAM * STEP


def _kind_of(token: int) -> str | None:
    if token % STEP or token >> 52 != _BASE >> 52:
        return None
    index = token >> _KIND_SHIFT & 15
    return KINDS[index] if index < len(KINDS) else None


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
