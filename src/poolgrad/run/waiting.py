"""Work that may take long: Ctrl-C ends it soon, and whoever waits for it may look how far it is.

Python runs handlers of signals in its main thread, between two steps of Python code, and a call of compiled code is one
step. So a run that may be long gets a thread of its own, and the caller waits for it in Python. If waiting ends with an
exception, the run is told to stop, which kernels notice soon (kernels/runtime/stopping.py), and the caller waits until
it has: nobody writes into an output after its call has ended.
"""

from __future__ import annotations

import contextlib
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import numpy as np

from ..kernels.runtime.task import CONTROL, PARTS_OF_A_UNIT

# Called now and then while work is done, with the share that is done; what it raises ends the work.
Look = Callable[[float], object]

BETWEEN_LOOKS = 0.1  # seconds

_LOOK: ContextVar[Look | None] = ContextVar("look", default=None)


@contextlib.contextmanager
def looking(look: Look) -> Iterator[None]:
    """Have ``look`` called while this thread waits for long runs."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def can_be_stopped() -> bool:
    """Whether anybody could end work of this thread: a signal, or someone who looks."""
    return _LOOK.get() is not None or threading.current_thread() is threading.main_thread()


class Control:
    """What a run shares with whoever waits for it."""

    def __init__(self, units: int) -> None:
        self.units = units
        self._memory = np.zeros(1, CONTROL)
        self.address: int = self._memory.ctypes.data

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1. Of large units kernels tell it, of small ones only the runner does."""
        now = self._memory[0]
        return min(max(int(now["units_done"]), int(now["done_within"]) / PARTS_OF_A_UNIT) / self.units, 1.0)

    def wait_for(self, run: Callable[[], int]) -> int:
        """What ``run`` returns. If anything is raised meanwhile, it is told to stop, and has done so at the end."""
        look = _LOOK.get()
        answers: list[int] = []
        failures: list[BaseException] = []
        done = allocate_lock()
        # Whoever is entered first decides whether the run begins: a signal may come before the thread does.
        decided: dict[str, str] = {}

        def begin() -> None:
            if decided.setdefault("by", "thread") == "thread":
                try:
                    answers.append(run())
                except BaseException as error:  # noqa: BLE001 - it is raised below
                    failures.append(error)
                done.release()

        done.acquire()
        try:
            try:
                start_new_thread(begin, ())
            except RuntimeError:  # the system has no more threads
                return run()
            while not done.acquire(timeout=BETWEEN_LOOKS):
                if look is not None:
                    look(self.share)
        except BaseException:
            self._memory["stop"] = 1
            raise
        finally:
            while True:
                try:
                    while not answers and not failures and decided.setdefault("by", "caller") == "thread":
                        time.sleep(0.001)
                    break
                except BaseException:  # noqa: BLE001 - who presses Ctrl-C again still has to wait
                    continue
        if failures:
            raise failures[0]
        return answers[0]
