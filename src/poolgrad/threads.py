"""The worker threads that parts of a plan run on, and how many there are."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


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
    global _count, _pool
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, got {n}")
    with _lock:
        _count, old, _pool = n, _pool, None
    if old is not None:
        old.shutdown(wait=False)  # what it was given still runs


def run_parts(work: Callable[[int], Result], parts: int) -> list[Result]:
    """``[work(0), work(1), ...]``, the first in this thread and the others beside it."""
    if parts == 1:
        return [work(0)]
    others = [_submit(work, part) for part in range(1, parts)]
    try:
        first = work(0)
    finally:
        wait(others)  # even if our own part fails, no other may go on writing after we return
    return [first, *(other.result() for other in others)]


def _submit(work: Callable[[int], Result], part: int) -> Future[Result]:
    global _pool
    with _lock:  # so that the pool can't be retired between the look and the hand-over
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=_count, thread_name_prefix="poolgrad")
        return _pool.submit(work, part)


def _forget_pool() -> None:
    """A forked child has no threads; the next call starts its own."""
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
