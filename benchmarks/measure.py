"""Timing: contenders in turns, in blocks with pauses between them, and the minimum of what each took.

A pause keeps torch's worker, which goes on spinning for a while after a call, off the core of the next contender.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

PAUSE = 0.003
BLOCK = 0.02
FEWEST_TURNS = 3


@dataclass
class Contender:
    """Something that can be done ``n`` times in a row, its calls per lap, and its best time so far.

    A lap is timed as a whole: ``shortest`` is so long that the clock, or handing over to threads, does not matter.
    """

    repeat: Callable[[int], object]
    shortest: float = 50e-6
    calls: int = 1
    best: float = float("inf")

    def lap(self) -> float:
        start = time.perf_counter()
        self.repeat(self.calls)
        taken = time.perf_counter() - start
        self.best = min(self.best, taken / self.calls)
        return taken

    def warm_up(self) -> None:
        """Find out how many calls make a lap."""
        self.repeat(1)
        while self.lap() < self.shortest:
            self.calls *= 2

    def block(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        self.lap()
        while time.perf_counter() < end:
            self.lap()
        time.sleep(PAUSE)


def caller(call: Callable[[], object]) -> Contender:
    """A plain call as a contender."""

    def repeat(times: int) -> None:
        for _ in range(times):
            call()

    return Contender(repeat)


def race(runners: Mapping[str, Contender], seconds: float = 0.0, turns: int = FEWEST_TURNS) -> dict[str, float]:
    """The shortest time of one call of each, in seconds; all of it takes about ``seconds``, or so many turns."""
    for runner in runners.values():
        runner.warm_up()
        time.sleep(PAUSE)
    start = time.perf_counter()
    taken = 0
    while taken < turns or time.perf_counter() - start < seconds:
        for runner in runners.values():
            runner.block(BLOCK)
        taken += 1
    return {name: runner.best for name, runner in runners.items()}
