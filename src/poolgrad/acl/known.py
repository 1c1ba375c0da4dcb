"""What passed all checks, known for the next time: runs of repeatable executors, and calls of phase one.

What the checks look at changes rarely: descriptions and addresses of tensors, which objects and blocks are alive, and
whether the executor is.
Whoever changes any of it forgets all runs, after the change. A run that is being checked at that moment goes into the
dictionary that was current when its checks began, where nobody will find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run.prepared import Prepared
    from .operators import Run

# By operator and arguments, without the stream.
runs: dict[tuple[object, ...], Run] = {}

# What phase one made of calls, and the handles it was given: by operator, product, number of threads and arguments. It
# depends on objects alone, not on memory. As long as this is the same dictionary, no object was destroyed, described
# anew or moved.
calls: dict[tuple[object, ...], tuple[Prepared, Mapping[str, int]]] = {}


def forget_runs() -> None:
    global runs
    runs = {}


def forget_calls() -> None:
    """And runs, which depend on objects too."""
    global calls
    calls = {}
    forget_runs()
