"""Runs that passed all checks of phase two, kept for the next time that their executor runs.

What the checks look at changes rarely: descriptions and addresses of tensors, which objects and blocks are alive, and
whether the executor is.
Whoever changes any of it forgets all runs, after the change. A run that is being checked at that moment goes into the
dictionary that was current when its checks began, where nobody will find it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .executors import Run

# By the handles of their executors.
runs: dict[int, Run] = {}


def forget_runs() -> None:
    global runs
    runs = {}
