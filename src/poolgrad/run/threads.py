"""How many threads a call may use, and the team of workers that help it.

What workers do is in kernels/runtime/team.py: they live in compiled code. Here they are started, as daemons: an exit
does not wait for them, and since they never come back to Python, it does not disturb them either.
"""

from __future__ import annotations

import contextlib
import ctypes
import operator
import os
import threading
import warnings
from typing import Any

import numpy as np

from ..kernels import load_run_together, load_worker
from .processors import available_processors

# With more threads the scratch memory of all of them together would pass its bound.
MOST_THREADS = 64


def _default_count() -> int:
    """POOLGRAD_NUM_THREADS, else OMP_NUM_THREADS, as other libraries have it, else what the system gives us."""
    text = os.environ.get("POOLGRAD_NUM_THREADS")
    wanted = _number(text)
    if text and wanted is None:
        warnings.warn(f"POOLGRAD_NUM_THREADS must be an integer of at least 1, got {text!r}; ignored", stacklevel=2)
    if wanted is None:
        wanted = _number(os.environ.get("OMP_NUM_THREADS", "").partition(",")[0])  # it may have more, for inner levels
    return min(wanted or available_processors(), MOST_THREADS)


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text[:9]) or None if text.isascii() and text.isdigit() else None


count = _default_count()
# Whether somebody set the number. Else it is torch's own for calls on torch tensors.
is_set = _number(os.environ.get("POOLGRAD_NUM_THREADS")) is not None


def count_beside(torch: Any) -> int:
    """How many threads a large call on tensors of ``torch`` uses: as many as torch would, if nobody set a number."""
    return count if is_set else min(torch.get_num_threads(), MOST_THREADS)


def get_num_threads() -> int:
    """How many threads a large call uses, if it is not on torch tensors or ``set_num_threads`` was called."""
    return count


def set_num_threads(n: int) -> None:
    """Use exactly ``n`` threads for large calls, also beyond the number of cores, but never more than 64.

    Calls on torch tensors use as many as ``torch.get_num_threads()`` says, until this function is called once.

    Results do not depend on it, bit for bit. Small calls use fewer, down to one; so do all calls on systems other than
    Linux and macOS. Before this is called, POOLGRAD_NUM_THREADS or OMP_NUM_THREADS count, else the processors that this
    process may use, by its affinity and the quota of its control group. A larger number than 64 is a warning, and 64.

    >>> import poolgrad
    >>> before = poolgrad.get_num_threads()
    >>> poolgrad.set_num_threads(3)
    >>> poolgrad.get_num_threads()
    3
    >>> poolgrad.set_num_threads(before)
    """
    global count, is_set
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"the number of threads must be an integer, got {n!r}") from None
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, got {n}")
    if n > MOST_THREADS:
        warnings.warn(f"a call uses at most {MOST_THREADS} threads; got {n}, and set to {MOST_THREADS}", stacklevel=2)
    count, is_set = min(n, MOST_THREADS), True


class _Team:
    """The memory that callers and workers share, and how many workers there are. ``address`` 0: every caller is alone.

    So it is on systems whose locks we do not know, and before the first call that asked for help.
    """

    def __init__(self) -> None:
        self.address = 0
        self.workers = 0
        # Reentrant: a signal handler may call us in the middle of a call.
        self._lock = threading.RLock()

    def hire(self, helpers: int) -> None:
        """Start workers until there are ``helpers``, or as many as the system allows."""
        with self._lock, contextlib.suppress(RuntimeError):  # "can't start new thread": then there are fewer
            self.address = self.address or _new_memory()
            while self.address and self.workers < helpers:
                serve, _ = load_worker()
                threading.Thread(target=serve, args=(self.address,), name="poolgrad", daemon=True).start()
                self.workers += 1


def _new_memory() -> int:
    """A team's memory with its locks made, which is never given back: workers look at it until the process ends."""
    from ..kernels.jit import machine  # with Numba, which a call has loaded by now
    from ..kernels.runtime import team  # with Numba, which a call has loaded by now

    if not machine.HAS_LOCKS:
        return 0
    memory = np.zeros(team.TEAM_BYTES + team.SPACE, np.uint8)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    address: int = -(-memory.ctypes.data // team.SPACE) * team.SPACE
    ctypes.c_int64.from_address(address + team.RUN_TOGETHER).value = load_run_together()
    libc = ctypes.CDLL(None)
    libc.pthread_mutex_init(ctypes.c_void_p(address + team.MUTEX), None)
    for condition in (team.WORK_CAME, team.WORK_DONE):
        libc.pthread_cond_init(ctypes.c_void_p(address + condition), None)
    return address


_TEAM = _Team()


def team_for(helpers: int) -> int:
    """The address of the team, with that many workers if the system allows it; 0 if there is none to help."""
    team = _TEAM
    if helpers > team.workers:
        team.hire(helpers)
    return team.address


def _found_a_new_team() -> None:
    """A forked child has no threads, and the parent's team may be in the middle of a job."""
    global _TEAM
    _TEAM = _Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_found_a_new_team)
