"""The worker threads that parts of a plan run on, and how many there are."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

Result = TypeVar("Result")


def _default_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


_count = _default_count()


def get_num_threads() -> int:
    """How many threads a large call uses."""
    return _count


def set_num_threads(n: int) -> None:
    """Use exactly ``n`` threads for large calls, also beyond the number of cores.

    Results do not depend on it, bit for bit. Small calls use fewer, down to one.

    >>> import poolgrad
    >>> before = poolgrad.get_num_threads()
    >>> poolgrad.set_num_threads(3)
    >>> poolgrad.get_num_threads()
    3
    >>> poolgrad.set_num_threads(before)
    """
    global _count
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, got {n}")
    _count = n


class _Job(Generic[Result]):
    """One call's parts. Whoever is free claims the next: the caller itself, and the workers that were told of it.

    So a call never waits for a worker to come: without any (none could be started, or the interpreter is shutting
    down) the caller does all parts.
    """

    def __init__(self, work: Callable[[int], Result], parts: int) -> None:
        self.work = work
        self.parts = parts
        self.results: dict[int, Result] = {}
        self.errors: list[BaseException] = []
        self._claims = itertools.count()  # next() on it is atomic
        self._finished = threading.Semaphore(0)

    def take_part(self) -> None:
        while (part := next(self._claims)) < self.parts:
            try:
                self.results[part] = self.work(part)
            except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread
                self.errors.append(error)
            self._finished.release()

    def wait(self) -> None:
        """Until every part is done, whatever happens: nobody may go on writing after the call has returned."""
        for _ in range(self.parts):
            while True:
                try:
                    self._finished.acquire()
                    break
                except BaseException as error:  # noqa: BLE001 - Ctrl-C, which has to wait like everybody else
                    self.errors.append(error)


def run_parts(work: Callable[[int], Result], parts: int) -> list[Result]:
    """``[work(0), work(1), ...]``, side by side."""
    if parts == 1:
        return [work(0)]
    job = _Job(work, parts)
    _WORKERS.tell(job, parts - 1)
    job.take_part()
    job.wait()
    if job.errors:
        raise job.errors[0]
    return [job.results[part] for part in range(parts)]


class _Workers:
    """Threads that sleep until they are told of a job. They are daemons: an exit does not wait for them."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[object]] = SimpleQueue()
        self._lock = threading.Lock()
        self._number = 0

    def tell(self, job: _Job[Result], helpers: int) -> None:
        with self._lock, contextlib.suppress(RuntimeError):  # "can't start new thread": then there are fewer
            while self._number < helpers:
                threading.Thread(target=self._serve, name="poolgrad", daemon=True).start()
                self._number += 1
        for _ in range(min(helpers, self._number)):
            self._jobs.put(job)  # type: ignore[arg-type] # a worker does not look at results

    def _serve(self) -> None:
        while True:
            self._jobs.get().take_part()


_WORKERS = _Workers()


def _forget_workers() -> None:
    """A forked child has no threads; its next call starts its own."""
    global _WORKERS
    _WORKERS = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
