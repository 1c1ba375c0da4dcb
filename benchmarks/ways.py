"""One call of poolgrad by every way that its plan may take: the choice among them is measured, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from poolgrad.kernels import module_of
from poolgrad.plans.plan import Plan
from poolgrad.run import prepared
from poolgrad.run.calls import forget_calls
from poolgrad.run.execute import Task, arrange

from .measure import caller, race

# A way that takes so many times as long as the one that is taken is out of the question.
TOO_SLOW = 3.0


def plans_of(call: Callable[[], Any]) -> tuple[str, dict[str, Plan]]:
    """The way that a call takes, and its plans by all ways that it may take."""
    forget_calls()
    call()
    (known,) = prepared.PREPARED.values()
    operator, asked, choice = known.plan.call.operator, known.plan.call, known.plan.choice
    assert choice is not None
    legal = [verdict.way for verdict in choice.verdicts() if not verdict.lacks]
    threads = choice.subject.threads
    return choice.taken.name, {way: operator.planner(asked, threads, None, way) for way in legal}


def times_of_ways(
    call: Callable[[], Any], addresses: Mapping[str, int], turns: int
) -> tuple[str, str, dict[str, float]]:
    """The way that a call takes on these tensors, where its kernel is, and the time of each way that it may take."""
    taken, plans = plans_of(call)
    module = module_of(plans[taken].kernel)
    runs = {way: _run(plan, addresses) for way, plan in plans.items()}
    if len(runs) < 2:
        return taken, module, {}
    alone = {way: min(_timed(run) for _ in range(3)) for way, run in runs.items()}
    near = {way: caller(run) for way, run in runs.items() if alone[way] <= TOO_SLOW * alone[taken]}
    return taken, module, alone | (race(near, turns=turns) if len(near) > 1 else {})


def _run(plan: Plan, addresses: Mapping[str, int]) -> Callable[[], None]:
    task, scratch = Task(plan), np.empty(plan.scratch_bytes, np.uint8)
    run = partial(task.execute, arrange(plan, addresses), scratch.ctypes.data)
    run.scratch = scratch  # type: ignore[attr-defined] # kept as long as the call
    run()
    return run


def _timed(run: Callable[[], None]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun
