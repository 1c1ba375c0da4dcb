"""How a plan finds its kernel: from a list of ways, of which the first that is legal and pays is taken.

All legal ways of a call give the same bits. A way is one row: what it needs to be right, what it needs to be the
fastest, and what it books. Any legal way can be asked for by its name, which is how tests reach it and how benchmarks
compare them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Record = npt.NDArray[np.void]
Subject = TypeVar("Subject")


class Booking(NamedTuple):
    """A kernel, what it counts as units, and the scratch that each part needs."""

    kernel: str
    units: int
    floats: int = 0  # of the compute dtype
    integers: int = 0  # of 64 bits
    grain: int = 1  # units that are worked on together, or lie side by side in memory


class Need(NamedTuple, Generic[Subject]):
    """Something that must hold, in words, and whether it does."""

    says: str
    holds: Callable[[Subject], bool]


@dataclass(frozen=True)
class Way(Generic[Subject]):
    """One way to compute. ``book`` is asked only if all of ``legal`` holds, and fills in the kernel's record."""

    name: str
    legal: tuple[Need[Subject], ...]
    pays: tuple[Need[Subject], ...]
    book: Callable[[Subject, Record], Booking]

    def lacks(self, subject: Subject) -> str:
        """The first need that does not hold and without which results would be wrong; or nothing."""
        return next((need.says for need in self.legal if not need.holds(subject)), "")

    def costs(self, subject: Subject) -> str:
        """The first need that does not hold and without which another way is faster; or nothing."""
        return next((need.says for need in self.pays if not need.holds(subject)), "")


class Verdict(NamedTuple):
    """What is to be said of a way for one call: what it lacks, or what makes others faster."""

    way: str
    lacks: str
    costs: str


class Choice(NamedTuple, Generic[Subject]):
    """The way that a call takes, and all that it could have taken."""

    taken: Way[Subject]
    ways: Sequence[Way[Subject]]
    subject: Subject

    def verdicts(self) -> list[Verdict]:
        found = []
        for way in self.ways:
            lacks = way.lacks(self.subject)
            found.append(Verdict(way.name, lacks, "" if lacks else way.costs(self.subject)))
        return found


def choose(ways: Sequence[Way[Subject]], subject: Subject, name: str = "") -> Choice[Subject]:
    """The first way that is legal and pays, or the one of that name. The last one of a list must do for anything."""
    if not name:
        taken = next(way for way in ways if not way.lacks(subject) and not way.costs(subject))
        return Choice(taken, ways, subject)
    named = next((way for way in ways if way.name == name), None)
    if named is None:
        raise ValueError(f"way: expected one of {', '.join(way.name for way in ways)}; got {name!r}.")
    if lacks := named.lacks(subject):
        raise ValueError(f"way: {name!r} can't be taken by this call, since it needs {lacks}.")
    return Choice(named, ways, subject)
