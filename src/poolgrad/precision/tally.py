"""What all standards report, added up block by block."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import Bools, Errors, Floats, count
from .histogram import BUCKETS, bucket_of
from .sums import total


class Peak:
    """The largest of many numbers above 0, and the first place where it was seen."""

    def __init__(self) -> None:
        self.value: Any = 0
        self.place: int | None = None

    def see(self, values: npt.NDArray[Any], start: int) -> None:
        where = int(values.argmax())
        if values[where] > self.value:
            self.value, self.place = values[where].item(), start + where


class Tally:
    """The figures so far."""

    def __init__(self) -> None:
        self.count = self.passing = self.finite = self.nan_mismatches = self.inf_mismatches = 0
        self.absolute, self.relative, self.ulp, self.badness = Peak(), Peak(), Peak(), Peak()
        self.first: int | None = None
        self.histogram = np.zeros(BUCKETS, np.int64)  # of pairs that are finite
        self._relative_sums: list[float] = []

    def add(self, errors: Errors, relative: Floats, passes: Bools, badness: Floats) -> None:
        """Add the next block in order; ``passes`` and ``badness`` are the standard's opinion of its elements."""
        start = self.count
        self.count += len(passes)
        self.passing += count(passes)
        self.finite += count(errors.finite)
        self.nan_mismatches += count(errors.nan_mismatch)
        self.inf_mismatches += count(errors.inf_mismatch)
        self.absolute.see(errors.absolute, start)
        self.relative.see(relative, start)
        self.ulp.see(errors.ulp, start)
        # A measure that overflowed is still better than NaN or Inf that differ.
        self.badness.see(np.where(errors.mismatch, math.inf, np.minimum(badness, sys.float_info.max)), start)
        if self.first is None and not passes.all():
            self.first = start + int(passes.argmin())
        self.histogram += np.bincount(bucket_of(errors.ulp[errors.finite]), minlength=BUCKETS)
        self._relative_sums.append(float(relative.sum()))

    @property
    def mean_relative(self) -> float:
        """Over the pairs that are finite; 0 without any."""
        return total(self._relative_sums) / max(self.finite, 1)
