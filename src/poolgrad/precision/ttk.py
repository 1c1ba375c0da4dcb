"""Standards as TTK's code decides them, where that is not what the rules say; docs/compare.md tells how they differ.

Each class changes just what differs. ``mixed_ttk`` has other limits and no class, ``binary_ttk`` other types.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from .cross import CrossCheck
from .errors import Errors, Floats, count
from .judges import Close, Cosine, Number, none_may_be
from .limits import CloseLimits
from .tally import Tally


class CloseTtk(Close):
    """NaN and Inf that differ are misses like others, the share itself is too much, float16 is compared in float16."""

    exceeds, allowed = staticmethod(operator.ge), "less than"

    def __init__(self, limits: CloseLimits, *, in_float16: bool) -> None:
        super().__init__(limits)
        self.in_float16 = in_float16

    def _tolerance(self, errors: Errors) -> Floats:
        if not self.in_float16:
            return super()._tolerance(errors)
        rtol, atol = np.float16(self.limits.rtol), np.float16(self.limits.atol)
        tolerance = atol + rtol * errors.golden_size.astype(np.float16)
        return tolerance.astype(np.float64)

    def mismatch_reasons(self, tally: Tally) -> list[str]:
        return []  # they are counted among those that are not close


class CosineTtk(Cosine):
    """NaN, which is no distance, where a formula without precautions gives NaN: for NaN and Inf, and for zeros."""

    seen, finite = False, True

    def see(self, errors: Errors, third: Errors | None) -> None:
        super().see(errors, third)
        self.seen = True
        self.finite &= bool(errors.finite.all())

    @property
    def distance(self) -> float:
        zeros = not all(squares.value[0] for squares in (self.squares, self.golden_squares))
        return math.nan if self.seen and (zeros or not self.finite) else super().distance

    def reasons(self, tally: Tally) -> list[str]:
        if math.isnan(self.distance):
            return ["the cosine distance is NaN: NaN or Inf in one of the tensors, or nothing but zeros"]
        return super().reasons(tally)


class CrossCheckTtk(CrossCheck):
    """A third party is never taken for exact; its NaN excuse NaN at the same places, and no others may be there."""

    third_partys_nan = 0

    def taken_as(self, name: str, theirs: Number) -> Number:
        return max(theirs, 1 if name == "small_errors" else self.small.small)

    def see(self, errors: Errors, third: Errors | None) -> None:
        super().see(errors, third)
        assert third is not None
        theirs = third.nan_mismatch & np.isnan(third.actual)  # and not the golden tensor's
        mine = np.isnan(errors.actual)
        self.forgiven_nan += count(theirs & mine)
        self.third_partys_nan += count(theirs & ~mine)

    def mismatch_reasons(self, tally: Tally) -> list[str]:
        third = none_may_be("NaN in the third party's tensor alone", self.third_partys_nan, tally)
        return super().mismatch_reasons(tally) + third
