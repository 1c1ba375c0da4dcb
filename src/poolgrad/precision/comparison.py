"""The answer of a comparison: a verdict, its reasons, and every figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .histogram import bounds_of

Number = float | int

# What the counted elements do, where a standard has a word of its own for it.
_DOES = {
    "cosine": "equal their golden values",
    "cross_check": "equal their golden values",
    "binary": "have the same bits",
}


@dataclass(frozen=True, slots=True)
class Position:
    """One element: where it is, what stands there, and how far apart that is."""

    coordinates: tuple[int, ...]
    actual: Number
    golden: Number
    absolute: float
    relative: float
    ulp: int | None  # None where NaN or Inf differ

    def as_data(self) -> dict[str, Any]:
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        apart = "" if self.ulp is None else f" ({self.absolute:.4g} or {self.ulp} ULP apart)"
        return f"{list(self.coordinates)}: actual {self.actual!r}, golden {self.golden!r}{apart}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a standard says about a tensor.

    ``share_passed`` counts the elements that are good enough by themselves; cosine and cross_check have no rule for
    single elements, there it counts those that equal their golden value. Means and maxima are over pairs of finite
    values. ``first`` is the first element in C order that does not pass, ``worst`` the worst by the standard's own
    measure, a differing NaN or Inf before all others; both are None if there is none.
    """

    passed: bool
    standard: str
    dtype: str
    golden_dtype: str
    hf32: bool
    shape: tuple[int, ...]
    thresholds: Mapping[str, Number]
    reasons: tuple[str, ...]
    count: int
    count_passed: int
    mere: float
    mare: float
    max_abs: float
    max_ulp: int
    nan_mismatches: int
    inf_mismatches: int
    cosine_distance: float | None
    figures: Mapping[str, Number]  # what only this standard reports
    first: Position | None
    worst: Position | None
    at_max_abs: Position | None
    at_max_ulp: Position | None
    ulp_histogram: tuple[int, ...]

    @property
    def share_passed(self) -> float:
        return self.count_passed / self.count if self.count else 1.0

    @property
    def what_counts(self) -> str:
        """What the counted elements do."""
        return _DOES.get(self.standard.removesuffix("_ttk"), "pass")

    @property
    def verdict(self) -> str:
        return "PASS" if self.passed else "FAIL"

    def summary(self) -> str:
        """One line for people."""
        kind = f"{self.dtype}, HF32" if self.hf32 else self.dtype
        share = percent(self.count_passed, self.count)
        text = (
            f"{self.verdict} {self.standard} ({kind}): {share} of {self.count} elements {self.what_counts}, "
            f"MERE {self.mere:.4g}, MARE {self.mare:.4g}, max abs {self.max_abs:.4g}, max ULP {self.max_ulp}"
        )
        if self.cosine_distance is not None:
            text += f", cosine distance {self.cosine_distance:.4g}"
        if self.passed:
            return text
        text += f"; {'; '.join(self.reasons)}"
        return f"{text}; worst at {self.worst}" if self.worst else text

    def as_data(self) -> dict[str, Any]:
        """The same for machines: JSON's types only, so that NaN and Inf are strings."""
        data = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        data["share_passed"] = self.share_passed
        data["ulp_histogram"] = [
            {"from": low, "to": high, "count": count}
            for (low, high), count in ((bounds_of(bucket), count) for bucket, count in enumerate(self.ulp_histogram))
            if count
        ]
        return data


def percent(part: int, whole: int) -> str:
    """A share in percent that says 100 or 0 only if it is.

    >>> percent(99999, 100000), percent(1, 3), percent(0, 0)
    ('99.99 %', '33.33 %', '100 %')
    """
    if part == whole:
        return "100 %"
    return f"{math.floor(1e4 * part / whole) / 100:.4g} %" if part else "0 %"


def _plain(value: Any) -> Any:
    if isinstance(value, Position):
        return value.as_data()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
