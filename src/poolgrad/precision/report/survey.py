"""Which planes are worst: one pass over both tensors, in memory that does not grow with the number of planes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..comparing import Tensors, measured
from ..judges import Judge
from .codes import CODES, Codes, codes_of

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Planes:
    """A tensor as planes over its last two axes; with fewer axes it is one plane with one row."""

    lead: tuple[int, ...]
    rows: int
    columns: int

    @property
    def count(self) -> int:
        return math.prod(self.lead)

    @property
    def area(self) -> int:
        return self.rows * self.columns

    def lead_of(self, number: int) -> tuple[int, ...]:
        """The leading coordinates of a plane."""
        return tuple(int(index) for index in np.unravel_index(number, self.lead)) if self.lead else ()


def planes_of(shape: tuple[int, ...]) -> Planes:
    *lead, rows, columns = (1,) * (2 - len(shape)) + shape
    return Planes(tuple(lead), rows, columns)


class PlaneFound(NamedTuple):
    """A plane, how many of its elements do not pass, and the largest code in it."""

    number: int
    failing: int
    worst: int


def survey(
    tensors: Tensors, judge: Judge, planes: Planes, keep: int, advance: Callable[[int], object]
) -> tuple[Integers, list[PlaneFound]]:
    """How many elements have each code, and the ``keep`` worst planes, worst first.

    The more elements that do not pass, the worse.
    """
    counts, ranking, start = np.zeros(CODES, np.int64), _Ranking(keep), 0
    for errors, _ in measured(tensors):
        codes, passes = codes_of(judge, errors)
        counts += np.bincount(codes, minlength=CODES)
        ranking.add(start, planes.area, codes, ~passes)
        start += len(codes)
        advance(len(codes))
    return counts, ranking.best()


class _Ranking:
    """Planes by how bad they are. Blocks come in order, so just the last plane of a block may go on in the next."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.table = np.zeros((3, 0), np.int64)  # numbers, failing, worst

    def add(self, start: int, area: int, codes: Codes, failing: npt.NDArray[np.bool_]) -> None:
        first, last = start // area, (start + len(codes) - 1) // area
        numbers = np.arange(first, last + 1)
        begins = np.maximum(numbers * area - start, 0)
        new = np.stack([numbers, np.add.reduceat(failing, begins, dtype=np.int64), np.maximum.reduceat(codes, begins)])
        if self.table.size and self.table[0, -1] == first:  # it began in the block before
            new[1, 0] += self.table[1, -1]
            new[2, 0] = max(new[2, 0], self.table[2, -1])
            self.table = self.table[:, :-1]
        self.table = np.concatenate([self.table, new], axis=1)
        if self.table.shape[1] > 4 * self.keep:
            open_plane = self.table[:, -1:]
            self.table = np.concatenate([_sorted(self.table[:, :-1])[:, : self.keep], open_plane], axis=1)

    def best(self) -> list[PlaneFound]:
        return [PlaneFound(*row) for row in _sorted(self.table)[:, : self.keep].T.tolist()]


def _sorted(table: Integers) -> Integers:
    """Most failing elements first, then the worst single one, then the first plane."""
    return table[:, np.lexsort((table[0], -table[2], -table[1]))]
