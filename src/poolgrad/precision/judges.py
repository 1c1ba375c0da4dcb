"""One class per standard: which elements pass, how bad an element is, and why a tensor fails.

A judge sees every block once, in order. ``reasons`` and ``mismatch_reasons`` are asked at the end; a tensor without
any passes. Here are the rules of the standards; ``ttk.py`` has what TTK's code makes of them.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from .errors import Bools, Errors, Floats, count
from .limits import COSINE_DISTANCE, CloseLimits, MixedLimits, StatLimits
from .sums import ProductSum, cosine_distance
from .tally import Tally

Number = float | int


class Judge(ABC):
    """A standard at work on one pair of tensors."""

    judges_elements = True  # whether it has a rule for single elements
    forgiven_nan = 0  # how many of the NaN that differ are not held against the tensor
    thresholds: Mapping[str, Number]  # the numbers that it applies

    @abstractmethod
    def passes(self, errors: Errors, relative: Floats) -> Bools:
        """The elements that are good enough by themselves, as far as NaN and Inf are at the same places."""

    def accepts(self, errors: Errors, relative: Floats) -> Bools:
        """The elements that pass."""
        return self.passes(errors, relative) & ~errors.mismatch

    def badness(self, errors: Errors, relative: Floats) -> Floats:
        """What the worst element has most of."""
        return relative

    def see(self, errors: Errors, third: Errors | None) -> None:  # noqa: B027 - most have nothing to note
        """Take note of a block, beyond what every tally has."""

    def figures(self) -> dict[str, Number]:
        """What only this standard reports."""
        return {}

    @abstractmethod
    def reasons(self, tally: Tally) -> list[str]:
        """Why the tensor fails."""

    def mismatch_reasons(self, tally: Tally) -> list[str]:
        """Why it fails for its NaN and Inf."""
        return [
            *none_may_be("NaN in just one of the tensors", tally.nan_mismatches - self.forgiven_nan, tally),
            *none_may_be("Inf, or its sign, in just one of the tensors", tally.inf_mismatches, tally),
        ]


def none_may_be(what: str, how_many: int, tally: Tally) -> list[str]:
    """A reason, if there are any."""
    return [f"{what}: {how_many} of {tally.count} elements, none may be"] if how_many else []


class _Tolerant(Judge):
    """An element passes if |a - g| is at most atol + rtol |g|."""

    def __init__(self, limits: MixedLimits | CloseLimits) -> None:
        self.limits = limits
        self.thresholds = {name: value for name, value in limits._asdict().items() if value is not None}

    def passes(self, errors: Errors, relative: Floats) -> Bools:
        within: Bools = errors.absolute <= self._tolerance(errors)
        return within

    def badness(self, errors: Errors, relative: Floats) -> Floats:
        if not self.limits.atol:  # integers: nothing is tolerated, so there is nothing to divide by
            return errors.absolute
        different = errors.absolute > 0  # what is equal is not bad, also where nothing is tolerated
        return np.divide(errors.absolute, self._tolerance(errors), out=np.zeros_like(errors.absolute), where=different)

    def _tolerance(self, errors: Errors) -> Floats:
        return self.limits.atol + self.limits.rtol * errors.golden_size


class Mixed(_Tolerant):
    """Nearly all elements within a tolerance, and none far off: more than the cap and more than a few ULP."""

    limits: MixedLimits
    outliers = 0

    def figures(self) -> dict[str, Number]:
        return {"outliers": self.outliers}

    def see(self, errors: Errors, third: Errors | None) -> None:
        far = errors.absolute > self.limits.cap
        if self.limits.max_ulp is not None:
            far &= errors.ulp > self.limits.max_ulp
        self.outliers += count(far)

    def reasons(self, tally: Tally) -> list[str]:
        found = []
        if 100 * tally.passing < self.limits.percent * tally.count:
            found.append(
                f"within the tolerance: {tally.passing} of {tally.count} elements, "
                f"at least {self.limits.percent} % must be"
            )
        unexcused = "" if self.limits.max_ulp is None else f" and more than {self.limits.max_ulp} ULP"
        return found + none_may_be(f"off by more than {self.limits.cap:g}{unexcused}", self.outliers, tally)


class StatRelErr(Judge):
    """Small relative errors, on average and at most."""

    def __init__(self, limits: StatLimits) -> None:
        self.limits, self.thresholds = limits, limits._asdict()

    def passes(self, errors: Errors, relative: Floats) -> Bools:
        small: Bools = relative < self.limits.mare
        return small

    def reasons(self, tally: Tally) -> list[str]:
        found = []
        if not tally.mean_relative < self.limits.mere:
            found.append(f"the mean relative error {tally.mean_relative:.4g} must be below {self.limits.mere:g}")
        if not tally.relative.value < self.limits.mare:
            found.append(f"the largest relative error {tally.relative.value:.4g} must be below {self.limits.mare:g}")
        return found


class Close(_Tolerant):
    """Few elements outside numpy.isclose."""

    limits: CloseLimits
    exceeds, allowed = staticmethod(operator.gt), "at most"

    def reasons(self, tally: Tally) -> list[str]:
        failing, most = tally.count - tally.passing, self.limits.ptol
        if failing and self.exceeds(failing / tally.count, most):
            return [f"not close: {failing} of {tally.count} elements, {self.allowed} {100 * most:g} % may be"]
        return []


class OfWholeTensors(Judge):
    """No element passes or fails by itself: those that equal their golden value are counted."""

    judges_elements = False

    def passes(self, errors: Errors, relative: Floats) -> Bools:
        equal: Bools = errors.absolute == 0
        return equal


class Cosine(OfWholeTensors):
    """The same direction."""

    thresholds = MappingProxyType({"cosine_distance": COSINE_DISTANCE})

    def __init__(self) -> None:
        self.products, self.squares, self.golden_squares = ProductSum(), ProductSum(), ProductSum()

    @property
    def distance(self) -> float:
        return cosine_distance(self.products, self.squares, self.golden_squares)

    def figures(self) -> dict[str, Number]:
        return {"cosine_distance": self.distance}

    def badness(self, errors: Errors, relative: Floats) -> Floats:
        return errors.absolute

    def see(self, errors: Errors, third: Errors | None) -> None:
        actual, golden = errors.actual, errors.golden
        if not errors.finite.all():
            actual, golden = (np.where(errors.finite, values, 0.0) for values in (actual, golden))
        self.products.add(actual, golden)
        self.squares.add(actual, actual)
        self.golden_squares.add(golden, golden)

    def reasons(self, tally: Tally) -> list[str]:
        if self.distance <= COSINE_DISTANCE:
            return []
        return [f"the cosine distance {self.distance:.4g} must be at most {COSINE_DISTANCE:g}"]


class Binary(Judge):
    """The same bits; NaN of any bits equals NaN."""

    thresholds = MappingProxyType({"different": 0})

    def passes(self, errors: Errors, relative: Floats) -> Bools:
        return errors.same_bits

    def badness(self, errors: Errors, relative: Floats) -> Floats:
        # The two zeros differ by 0 ULP and not by 0 bits.
        return np.maximum(errors.ulp.astype(np.float64), np.where(errors.same_bits, 0.0, 0.5))

    def reasons(self, tally: Tally) -> list[str]:
        if tally.passing == tally.count:
            return []
        return [f"other bits: {tally.count - tally.passing} of {tally.count} elements, none may have them"]
