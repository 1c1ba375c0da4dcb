"""Small calls that come again and again: compiled code sees by itself that they are known.

A key (keys.py) takes about a microsecond to make and to find. Of a call that takes some microseconds in all, and has
been found often enough, a picture of its arrays is kept beside it, to which compiled code compares the next ones; it is
found by what is quick to ask. What does not look the same goes on to the keys. The kernel runs while Python's lock is
held, so only what is over in a moment is kept here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..kernels import load_run_again
from ..kernels.runtime import layout
from ..kernels.runtime.task import DONE, MOST_ARRAYS, MOST_AXES, SMALL_CALL
from .execute import KEPT_SCRATCH, Task, new_scratch
from .keys import Key, read

Makers = tuple[Callable[[], Any], ...]  # of results

# After so many runs, and ever rarer ones, if one more takes no longer than that many seconds.
OFTEN, MOMENT = 100, 30e-6
MOST_KEPT = 1024
# One call at a time has the lock, and nothing interrupts it.
_SCRATCH: list[tuple[int, object]] = []


class SmallCall:
    """What compiled code knows of a call: ``run`` takes the id() of all arrays, and of ``missing`` ones up to four.

    ``arrays`` are described as keys have them, by type, sizes and strides, since somebody might change an array by now.
    """

    __slots__ = ("_kept", "kind", "make_results", "missing", "number", "run")

    def __init__(self, task: Task, arrays: Sequence[Any], order: tuple[int, ...], make_results: Makers) -> None:
        if not _SCRATCH:
            _SCRATCH.append(new_scratch(KEPT_SCRATCH))
        self.number, self.make_results = len(arrays), make_results
        self.kind = np.ndarray if len(make_results) == 1 else tuple  # of what is written to
        self.missing = (0,) * (MOST_ARRAYS - len(arrays))
        memory = np.zeros(1, SMALL_CALL)
        fields = memory[0]
        fields["task"], fields["scratch"], fields["order"] = task.address, _SCRATCH[0][0], order
        inputs = len(arrays) - len(make_results)
        for place, array in enumerate(arrays):
            if type(array) is tuple:
                dtype, sizes, strides = array[:3]
                picture, axes = fields["pictures"][place], len(sizes)
                picture["kind"], picture["dtype"], picture["rank"] = id(np.ndarray), id(dtype), axes
                picture["flags"] = layout.WRITEABLE if place >= inputs else 0
                picture["sizes"][:axes], picture["strides"][:axes] = sizes, strides
        # What is known by its address has to live; of one type there may be several objects.
        self._kept = memory, task, arrays
        run, _ = load_run_again()
        self.run: Callable[..., int] = partial(run, memory.ctypes.data)


# By the number of threads, the operator, all that is said beside arrays, and the shape of the first one.
SMALL_CALLS: dict[tuple[Any, ...], SmallCall] = {}


def keep_if_small(key: Key, task: Task, arrays: tuple[Any, ...], order: tuple[int, ...], make_results: Makers) -> None:
    """Keep a call that was right just now, if it takes no longer than a moment: it runs once more to find out."""
    count, name, said, *seen = key
    inputs = len(arrays) - len(make_results)
    results = seen.pop() if len(seen) > inputs else tuple(map(read, arrays[inputs:]))  # which nobody else has yet
    seen += results if type(results[0]) is tuple else (results,)
    if task.helpers or task.large or any(len(array[1]) > MOST_AXES for array in seen if type(array) is tuple):
        return
    call = SmallCall(task, seen, order, make_results)
    begun = time.perf_counter()
    answer = call.run(*map(id, arrays), *call.missing)
    if answer == DONE and time.perf_counter() - begun < MOMENT:
        if len(SMALL_CALLS) >= MOST_KEPT:
            SMALL_CALLS.clear()
        SMALL_CALLS[count, name, said, seen[0][1]] = call
