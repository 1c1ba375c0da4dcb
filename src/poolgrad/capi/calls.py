"""From messages to calls of ``poolgrad.acl`` and back: what goes over the wire, for every prototype.

A message is a row of 64-bit words: the function's number, the order of the first null pointer to a place for a result
(0: none is null), the core that the program's thread runs on, the size of the message in bytes, and that of the notes
(notes.py) at its end, then one word for each input. For arrays and texts that is their length (-1: null), and their
content stands behind the words. An answer is its size in bytes, the status, or a handle (0: none), then the results, or
why there are none.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import cast

from .. import acl
from ..acl.messages import refusal, status_of
from ..base.status import ACL_ERROR_INVALID_PARAM, ACLNN_ERR_INNER, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR
from . import copies
from .functions import FAILURES
from .notes import Notes
from .prototypes import ARRAY, COPIES, HANDLE, OUT, OUT_ARRAY, REMOTE, TEXT, Parameter, Prototype

MOST_VALUES = 1024  # in an array, as in shim.cpp
LONGEST_TEXT = 2000  # bytes of a message that fit into its place in shim.cpp

_HEAD = "<5q"
_WORD = struct.Struct("<q")
_CORE, _SIZE, _NOTES = 16, 24, 32  # where these words stand
_ANSWER = struct.Struct("<2q")
_SUCCESS = _ANSWER.pack(_ANSWER.size, 0)
_NULLS = {"aclError": ACL_ERROR_INVALID_PARAM, "aclnnStatus": ACLNN_ERR_PARAM_NULLPTR}

_client = os.getpid()


def answer_for(client: int) -> None:
    """Say which process asks: messages name it, and paths are as it sees them."""
    global _client
    _client = client


def answer(message: bytes) -> bytes:
    """The answer to a message. Nothing escapes: an exception becomes a status."""
    call: RemoteCall = CALLS[message[0]]
    try:
        (noted,) = _WORD.unpack_from(message, _NOTES)
        if noted:
            NOTES.take(message[-noted:])
        return call.answer(message)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the program gets a status and goes on
        failure = FAILURES.get(call.prototype.returns, ACLNN_ERR_INNER)
        return call.failed(status_of(error, call.prototype.name, failure))


def is_wait(message: bytes) -> bool:
    """Whether a message calls aclrtSynchronizeStream."""
    return message[0] == _WAIT


def core_of(message: bytes) -> int:
    """The core that the program's thread ran on when it called."""
    return int(_WORD.unpack_from(message, _CORE)[0])


def size_of(message: bytes) -> int:
    """The size of a message, of which this may be the beginning."""
    return int(_WORD.unpack_from(message, _SIZE)[0])


class RemoteCall:
    """One function: how its message is read, and its answer written."""

    def __init__(self, prototype: Prototype, function: Callable[..., object]) -> None:
        self.prototype = prototype
        self.function = function
        self.returns_status = prototype.returns_status
        doubts = "qq" if prototype.name in COPIES else ""
        self._words = struct.Struct(_HEAD + "".join(_input_code(p) for p in prototype.inputs) + doubts)
        self._data = [(place, p) for place, p in enumerate(prototype.inputs) if p.kind in (ARRAY, TEXT)]
        outputs = "".join(_output_code(p) for p in prototype.outputs if p.kind == OUT)
        self._results = struct.Struct("<2q" + ("q" if prototype.name in COPIES else outputs))
        self._gives_array = any(p.kind == OUT_ARRAY for p in prototype.outputs)

    def answer(self, message: bytes) -> bytes:
        result = self.function(*self.arguments(message))
        if not self.returns_status:
            if isinstance(result, str):
                return _whole(1, result.encode())
            return self.failed(0) if result is None else _whole(cast(int, result))
        if type(result) is int:
            return self.failed(result) if result else _SUCCESS
        *outputs, status = cast(tuple[object, ...], result)
        if status:
            return self.failed(cast(int, status))
        if self._gives_array:
            values = cast(tuple[int, ...], outputs[0])
            return _whole(0, struct.pack(f"<q{len(values)}q", len(values), *values))
        return self._results.pack(self._results.size, 0, *outputs)

    def arguments(self, message: bytes) -> list[object]:
        _, null_place, _, _, _, *arguments = self._words.unpack_from(message)
        if null_place:
            place = self.prototype.outputs[null_place - 1]
            text = f"{place.name} is null; pass the address of a variable of type {place.type[:-1]}"
            raise refusal(_NULLS[self.prototype.returns], text)
        if self._data:
            self._read_data(message, arguments)
        return arguments

    def _read_data(self, message: bytes, arguments: list[object]) -> None:
        """Put arrays and texts in the place of their lengths."""
        start = self._words.size
        for place, parameter in self._data:
            count = cast(int, arguments[place])
            if count < 0:
                arguments[place] = None
            elif parameter.kind == TEXT:
                arguments[place] = _path(message[start : start + count])
                start += count
            elif count > MOST_VALUES:
                text = f"{parameter.name} has more than {MOST_VALUES} values; pass fewer"
                raise refusal(ACLNN_ERR_PARAM_INVALID, text)
            else:
                arguments[place] = struct.unpack_from(f"<{count}q", message, start)
                start += 8 * count

    def failed(self, status: int) -> bytes:
        """The status and the text that was reported with it, in the name of the program."""
        text = (acl.aclGetRecentErrMsg() or "").replace(f"[PID:{os.getpid()}]", f"[PID:{_client}]", 1)
        return _whole(status if self.returns_status else 0, text.encode()[:LONGEST_TEXT])


def _whole(result: int, more: bytes = b"") -> bytes:
    return _ANSWER.pack(_ANSWER.size + len(more), result) + more


def _input_code(parameter: Parameter) -> str:
    return "Q" if parameter.kind == HANDLE or parameter.value_type in ("size_t", "uint64_t") else "q"


def _output_code(parameter: Parameter) -> str:
    if parameter.value_type == "float":
        return "f4x"
    return "Q" if parameter.value_type.endswith("*") or parameter.value_type == "uint64_t" else "q"


def _path(text: bytes) -> str:
    """A path of the program's as this process sees it."""
    try:
        here = os.readlink(f"/proc/{_client}/cwd")
    except OSError:
        here = ""
    return os.path.join(here, os.fsdecode(text)) if text else ""


CALLS: list[RemoteCall] = [
    RemoteCall(prototype, getattr(copies if prototype.name in COPIES else acl, prototype.name)) for prototype in REMOTE
]


def _read_note(note: bytes) -> tuple[str, list[object]]:
    call = CALLS[note[0]]
    return call.prototype.name, call.arguments(note)


NOTES = Notes(_read_note)
_WAIT = [prototype.name for prototype in REMOTE].index("aclrtSynchronizeStream")
