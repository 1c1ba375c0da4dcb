"""The standard with a third party: the actual tensor's errors may be some times as large as another device's."""

from __future__ import annotations

import math

import numpy as np

from .errors import Errors, count
from .judges import Number, OfWholeTensors
from .limits import RatioLimits, SmallLimits
from .sums import ProductSum, root_of_mean_square, total
from .tally import Peak, Tally

_NAMES = {
    "max_relative": "largest relative error",
    "mean_relative": "mean relative error",
    "rmse": "root mean square error",
    "small_errors": "number of errors on small values",
}


class CrossCheck(OfWholeTensors):
    """Figures of two tensors against the same golden one, and their ratios."""

    def __init__(self, small: SmallLimits, ratios: RatioLimits) -> None:
        self.small, self.limits = small, ratios
        self.thresholds = small._asdict() | ratios._asdict()
        self.actual, self.third = _Side(small), _Side(small)

    def figures(self) -> dict[str, Number]:
        mine, theirs = self.actual.figures, self.third.figures
        return {
            **{f"actual_{name}": value for name, value in mine.items()},
            **{f"third_party_{name}": value for name, value in theirs.items()},
            **{f"ratio_{name}": ratio(mine[name], self.taken_as(name, theirs[name])) for name in mine},
            "third_party_mismatches": self.third.mismatches,
        }

    def taken_as(self, name: str, theirs: Number) -> Number:
        """What a figure of the third party's counts as."""
        return theirs

    def see(self, errors: Errors, third: Errors | None) -> None:
        assert third is not None
        self.actual.see(errors)
        self.third.see(third)

    def reasons(self, tally: Tally) -> list[str]:
        found, limits, theirs = [], self.limits._asdict(), self.third.figures
        for name, mine in self.actual.figures.items():
            divisor = self.taken_as(name, theirs[name])
            times = ratio(mine, divisor)
            if not times <= limits[name]:
                taken = "" if divisor == theirs[name] else f", taken as {divisor:.4g}"
                found.append(
                    f"the {_NAMES[name]} is {mine:.4g}, the third party's {theirs[name]:.4g}{taken}: "
                    f"{times:.4g} times as large, at most {limits[name]:g} is allowed"
                )
        return found


def ratio(mine: Number, theirs: Number) -> float:
    """No error is 0 times any; an error where the other has none is infinitely many times as large."""
    if not mine:
        return 0.0
    return mine / theirs if theirs else math.inf


class _Side:
    """One tensor's errors: relative and squared where the golden value is not small, counted where it is."""

    def __init__(self, limits: SmallLimits) -> None:
        self.limits = limits
        self.largest = Peak()
        self.relative_sums: list[float] = []
        self.squares = ProductSum()
        self.count = self.small_errors = self.mismatches = 0

    def see(self, errors: Errors) -> None:
        small = errors.golden_size < self.limits.small
        self.small_errors += count(small & errors.finite & (errors.absolute > self.limits.atol))
        self.mismatches += count(errors.mismatch)
        ordinary = errors.finite & ~small
        self.count += count(ordinary)
        relative = np.where(ordinary, errors.relative, 0.0)
        absolute = np.where(ordinary, errors.absolute, 0.0)
        self.largest.see(relative, 0)
        self.relative_sums.append(float(relative.sum()))
        self.squares.add(absolute, absolute)

    @property
    def figures(self) -> dict[str, Number]:
        return {
            "max_relative": float(self.largest.value),
            "mean_relative": total(self.relative_sums) / max(self.count, 1),
            "rmse": root_of_mean_square(self.squares, self.count),
            "small_errors": self.small_errors,
        }
