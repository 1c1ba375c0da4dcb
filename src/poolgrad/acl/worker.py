"""A stream: tasks that run one by one in the order in which they came, on a thread of its own or on one that waits."""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base.errors import AclnnError
from ..base.status import ACL_ERROR_RT_INTERNAL_ERROR, ACL_ERROR_RT_INVALID_HANDLE
from .messages import explain, refusal

Task = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Failure:
    ticket: int
    status: int
    text: str


class _Unwoken(threading.local):
    """The streams that this thread gave tasks and will wake later; None: it wakes them at once.

    The server of C programs is that late: most programs wait for a task next, and the thread that waits runs it.
    """

    streams: set[Stream] | None = None


UNWOKEN = _Unwoken()


def wake_streams() -> None:
    while UNWOKEN.streams:
        UNWOKEN.streams.pop().wake()


def finish_streams() -> None:
    """Run the tasks here that the streams were not woken for."""
    while UNWOKEN.streams:
        stream = UNWOKEN.streams.pop()
        stream.finish(stream.last_ticket)


class Stream:
    """Tasks are numbered from 1 in the order of submission: their tickets."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner  # the context
        self._tasks: deque[Task] = deque()
        self._submitted = 0
        self._finished = 0
        # The oldest failure that nobody was told of, and the newest: enough to answer each of them once, however
        # many tasks fail while nobody asks.
        self._failures: list[Failure] = []
        self._closed = False
        self._worker: threading.Thread | None = None
        self._runner: threading.Thread | None = None  # who runs a task at this moment
        self._lock = threading.RLock()
        self._work_came = threading.Condition(self._lock)
        self._work_done = threading.Condition(self._lock)
        self._waiting = 0  # for work that is done

    def submit(self, task: Task) -> int:
        """Queue a task and answer its ticket."""
        with self._lock:
            if self._closed or _EXIT.is_set():
                why = "was destroyed while it was being used" if self._closed else "ends with the interpreter"
                raise refusal(ACL_ERROR_RT_INVALID_HANDLE, f"the stream {why}; submit to a live stream")
            if self._worker is None:
                worker = threading.Thread(target=self._work, name="poolgrad stream", daemon=True)
                worker.start()  # which raises where the system has no more threads
                _WORKING.add(self)
                self._worker = worker
            self._tasks.append(task)
            self._submitted += 1
            if UNWOKEN.streams is None or self._runner is not None:
                self._work_came.notify()
            else:
                UNWOKEN.streams.add(self)
            return self._submitted

    def wake(self) -> None:
        """Have the stream's thread look for tasks."""
        with self._lock:
            self._work_came.notify()

    def run(self, task: Task) -> None:
        """Run a short task here and now if the stream has nothing to do, else queue it.

        Waking the stream's own thread would take longer than the task. Nobody can tell the difference: it has no ticket
        since it is done before anybody could wait for it. The lock keeps other tasks of the stream from running
        meanwhile. If it fails, it gets a ticket, and its failure is told like any other.
        """
        with self._lock:
            if self._finished == self._submitted and not self._closed and not _EXIT.is_set():
                try:
                    task()
                except Exception as error:  # noqa: BLE001 - Ctrl-C is the caller's own
                    self._submitted += 1
                    self._count_finished(_status_and_text(error))
                return
        self.submit(task)

    @property
    def is_quiet(self) -> bool:
        """Nothing to wait for and nothing to tell: what most who ask find."""
        return self._finished == self._submitted and not self._failures

    @property
    def last_ticket(self) -> int:
        return self._submitted

    def wait(self, ticket: int, timeout: float | None = None) -> bool:
        """Wait until the task of that ticket and all before it are done; False if time ran out."""
        if self._finished >= ticket:
            return True
        wake_streams()
        with self._lock:
            self._waiting += 1
            try:
                return self._work_done.wait_for(lambda: self._finished >= ticket, timeout)
            finally:
                self._waiting -= 1

    def finish(self, ticket: int) -> None:
        """As ``wait``, but tasks that nobody has begun run here: waking the stream's thread for them takes longer.

        The main thread leaves them to the stream's: it would not see Ctrl-C before a task is done.
        """
        if threading.current_thread() is not threading.main_thread():
            if UNWOKEN.streams:
                UNWOKEN.streams.discard(self)
            wake_streams()
            while self._finished < ticket and self._claim(ticket):
                self._run_claimed()
        self.wait(ticket)

    def raise_failure(self, ticket: int) -> None:
        """Raise the oldest failure up to that ticket that nobody was told of; the others up to it go with it."""
        if not self._failures:
            return
        with self._lock:
            taken = [failure for failure in self._failures if failure.ticket <= ticket]
            self._failures = self._failures[len(taken) :]
        if taken:
            raise refusal(taken[0].status, taken[0].text)

    def close(self) -> None:
        """Accept nothing more, and return when all that was submitted is done."""
        with self._lock:
            self._closed = True
            self._work_came.notify()
            worker = self._worker
        # A destructor that the garbage collector runs in the middle of a task may end up here.
        if worker is not None and threading.current_thread() not in (worker, self._runner):
            worker.join()

    def _work(self) -> None:
        while self._wait_for_work():
            self._run_claimed()
        _WORKING.discard(self)

    def _claim(self, ticket: int) -> bool:
        """Whether the next task is this thread's to run: there is one up to that ticket, and nobody runs another."""
        with self._lock:
            here = threading.current_thread()
            if _EXIT.is_set() or self._finished >= ticket or not self._tasks or self._runner is not None:
                return False
            self._runner = here
            return True

    def _run_claimed(self) -> None:
        # Nothing here may hold the task: what it holds must be free before anybody learns that it is done.
        failure = _run(self._tasks.popleft())
        with self._lock:
            self._count_finished(failure)
            self._runner = None
            if self._waiting:
                self._work_done.notify_all()
            if self._tasks or self._closed:
                self._work_came.notify()

    def _count_finished(self, failure: tuple[int, str] | None) -> None:
        if failure:  # known before its ticket is done, for those who look without the lock
            self._failures[1:] = [Failure(self._finished + 1, *failure)]
        self._finished += 1

    def _wait_for_work(self) -> bool:
        """For the stream's thread: whether there is a task, which it has claimed then; False is the end."""
        with self._lock:
            while not self._claim(self._submitted):
                if self._runner is None and (self._closed or _EXIT.is_set()):
                    self._end()
                    return False
                self._work_came.wait()
            return True

    def _end(self) -> None:
        if self._tasks:
            text = f"the interpreter ended before {len(self._tasks)} tasks of the stream ran"
            self._failures[1:] = [Failure(self._submitted, ACL_ERROR_RT_INTERNAL_ERROR, text)]
            self._tasks.clear()
        self._finished = self._submitted
        self._work_done.notify_all()


def _run(task: Task) -> tuple[int, str] | None:
    """Status and text of a failure. Not the exception itself: its traceback would keep memory alive."""
    try:
        task()
    except BaseException as error:  # noqa: BLE001 - the worker must outlive its tasks
        return _status_and_text(error)
    return None


def _status_and_text(error: BaseException) -> tuple[int, str]:
    if isinstance(error, AclnnError):
        return error.status, str(error)
    return ACL_ERROR_RT_INTERNAL_ERROR, f"a task of the stream ended with an unexpected {explain(error)}"


_WORKING: set[Stream] = set()
_EXIT = threading.Event()


def _leave() -> None:
    """At the interpreter's end let running tasks finish and drop the rest.

    The flag comes first: else a stream whose wait is over because another one dropped its tasks would go on.
    """
    _EXIT.set()
    for stream in list(_WORKING):
        stream.close()


def forget_all() -> None:
    """For the child of a fork: the threads stayed behind in the parent."""
    global _EXIT
    _WORKING.clear()
    _EXIT = threading.Event()


atexit.register(_leave)
