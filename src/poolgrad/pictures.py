"""Calls that are known by their pictures: the shortest way to a result.

Reading shapes and strides into Python's objects, and comparing those, takes longer than a small kernel. So compiled
code draws a picture of the call (kernels/objects.py). Its fingerprint finds the known call, and that is run if the
picture is the same to the last bit. A call that is equal but made of other objects, such as a tuple of large numbers
that was made anew, is not found here; its key (keys.py) finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from . import threads
from .execute import FREE_SCRATCH, Task, take_scratch
from .kernels import load_fingerprint, load_run, load_run_known
from .kernels.layout import PICTURE_BYTES
from .kernels.task import UNKNOWN

_types = np.array([id(tuple), id(np.ndarray)], np.int64)
_TYPES: int = _types.ctypes.data
# Where fingerprints draw. They keep the GIL, and nobody looks at it afterwards.
_paper = np.zeros(PICTURE_BYTES // 8, np.int64)
_PAPER: int = _paper.ctypes.data
# Both are compiled with the first call to remember.
_fingerprint: Callable[..., int] | None = None
_run_known: Callable[..., int]


class Known(NamedTuple):
    """A call that was judged good, as compiled code is told it."""

    address: int
    helpers: int
    alive: tuple[Any, ...]  # the memory at the address, and all that it points to


def repeat(known_calls: Mapping[Any, Any], call: tuple[Any, ...], grad: Any, x: Any, indices: Any, out: Any) -> int:
    """Run a call on NumPy arrays if it is known; the answers are those of kernels/task.py."""
    if _fingerprint is None:
        return UNKNOWN
    one, two, three, four, five = id(call), id(grad), id(x), id(indices), id(out)
    count = threads.count
    known = known_calls.get(_fingerprint(_PAPER, _TYPES, count, one, two, three, four, five))
    if known is None:
        return UNKNOWN
    address, helpers, _ = known
    team = threads.team_for(helpers) if helpers else 0
    scratch = take_scratch()
    try:
        return _run_known(address, scratch[0], team, count, one, two, three, four, five)
    finally:
        FREE_SCRATCH.append(scratch)


def remember(
    known_calls: MutableMapping[Any, Any], task: Task, call: tuple[Any, ...], grad: Any, x: Any, indices: Any, out: Any
) -> None:
    """Keep a call that was judged good. Its tuples hold nothing that can change: it has a key."""
    global _fingerprint, _run_known
    if task.large or not task.quick:
        return
    if _fingerprint is None:
        _run_known, _ = load_run_known()
        _fingerprint, _ = load_fingerprint()
    paper = np.zeros(PICTURE_BYTES // 8, np.int64)
    things = (call, grad, x, indices, out)
    mark = _fingerprint(paper.ctypes.data, _TYPES, threads.count, *map(id, things))
    length = int(paper[0])
    if not length:
        return
    memory = np.concatenate(([load_run()[1], task.address, _TYPES, length], paper[1 : 1 + length // 8]))
    # Of arrays the picture points to the type of their elements only.
    pointed_at = tuple(thing.dtype if isinstance(thing, np.ndarray) else thing for thing in things)
    known_calls[mark] = Known(memory.ctypes.data, task.helpers, (memory, task, pointed_at))
