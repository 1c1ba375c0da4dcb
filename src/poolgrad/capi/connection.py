"""A connection: two pipes between a thread of the program and one of ours, and whole messages through them.

Pipes take two thirds of a socket's time. The end that the program writes to can be read, too: since a reader is left,
writing to a server that has ended raises no signal there, and the program finds out when it reads the answer.
"""

from __future__ import annotations

import os
import select

from .calls import size_of

_PAGE = 4096  # bytes that a pipe takes whole or not at all; hardly any message is longer
_MOST_SELECTED = 1024


class Connection:
    def __init__(self) -> None:
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            ends.append(os.open(f"/proc/self/fd/{ends[1]}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            _close(ends)
            raise
        self._asks, written, answers, self._answers, both = ends
        os.close(written)
        self.of_program = [both, answers]

    def give_away(self) -> None:
        """Close the program's ends, which it has by now."""
        _close(self.of_program)

    def close(self) -> None:
        _close([self._asks, self._answers])

    def receive(self) -> bytes:
        """The next message; nothing if there will be none."""
        message = os.read(self._asks, _PAGE)
        while message and len(message) < size_of(message):
            more = os.read(self._asks, _PAGE)
            message = message + more if more else b""
        return message

    def send(self, answer: bytes) -> None:
        while answer:
            answer = answer[os.write(self._answers, answer) :]

    def has_message(self, seconds: float) -> bool:
        """Whether a message comes within this time. ``select`` knows no descriptor beyond the first thousand."""
        return self._asks < _MOST_SELECTED and bool(select.select((self._asks,), (), (), seconds)[0])


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
