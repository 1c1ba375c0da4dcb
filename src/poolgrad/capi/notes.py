"""What the program did without asking: objects that it made and destroyed, told with its next message.

A note is a message like any other, with the object's handle in the place of the core. Notes are counted in words. Each
message, of any thread, brings all notes that the program does not know to have arrived. So some come more than once,
and are passed over then.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable

from ..acl.handles import INT_ARRAY, TENSOR
from ..acl.objects import adopt_int_array, adopt_tensor, forget_object

_WORD = struct.Struct("<q")
_HANDLE, _SIZE = 16, 24  # where these words stand in a note

_EFFECTS: dict[str, Callable[..., None]] = {
    "aclCreateTensor": adopt_tensor,
    "aclCreateIntArray": adopt_int_array,
    "aclDestroyTensor": lambda handle, _: forget_object(handle, TENSOR),
    "aclDestroyIntArray": lambda handle, _: forget_object(handle, INT_ARRAY),
}


class Notes:
    """Of one program. ``read`` tells the function and the arguments of a message."""

    def __init__(self, read: Callable[[bytes], tuple[str, list[object]]]) -> None:
        self._read = read
        self._taken = 0  # words
        self._lock = threading.Lock()

    def take(self, brought: bytes) -> None:
        """The number of words that have gone before, then notes."""
        (before,) = _WORD.unpack_from(brought)
        with self._lock:
            place = _WORD.size * (1 + max(0, self._taken - before))
            while place < len(brought):
                (size,) = _WORD.unpack_from(brought, place + _SIZE)
                note = brought[place : place + size]
                place += size
                self._taken = before + place // _WORD.size - 1
                try:
                    name, arguments = self._read(note)
                    _EFFECTS[name](_WORD.unpack_from(note, _HANDLE)[0], *arguments)
                except Exception:  # noqa: BLE001 - whoever uses the object is told that there is none
                    continue
