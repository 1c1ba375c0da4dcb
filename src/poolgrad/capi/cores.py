"""Staying on the core of the thread that calls.

The two threads of a connection take turns. On one core the other one runs after 6 microseconds; on two it takes 25: a
core with nothing to do falls asleep, and waking it is slow, above all in virtual machines. The system leaves threads
where they once were, so ours moves to where the program's is.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

# Not CDLL: letting other threads run meanwhile would take longer than the call.
_LIBC = ctypes.PyDLL(None)


def move_to(core: int) -> None:
    """Move this thread to a core, if it may run there. It is not bound: the system goes on moving it as it likes."""
    if core == current_core():
        return
    with contextlib.suppress(OSError):  # a sandbox may forbid it
        allowed = os.sched_getaffinity(0)
        if core in allowed:
            os.sched_setaffinity(0, {core})
            os.sched_setaffinity(0, allowed)


def current_core() -> int:
    return int(_LIBC.sched_getcpu())
