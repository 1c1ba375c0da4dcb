"""The numbers of the standards, by element type. HF32 is float32 computed with shortened factors."""

from __future__ import annotations

from typing import NamedTuple

# Those with _ttk decide as TTK's code does, which differs from the rules; of stat_rel_err it does not.
STANDARDS = (
    *("mixed", "stat_rel_err", "close", "cosine", "binary", "cross_check"),
    *("mixed_ttk", "close_ttk", "cosine_ttk", "binary_ttk", "cross_check_ttk"),
)
WITH_THIRD_PARTY = ("cross_check", "cross_check_ttk")
ALIASES = {"mix_tolerance": "mixed"}
LEVELS = ("L0", "L1", "L2")
# Of these nothing is tolerated.
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")

# Added to the golden's size wherever a relative error is taken, so that a golden 0 divides too.
RELATIVE_FLOOR = 1e-7


class MixedLimits(NamedTuple):
    rtol: float
    atol: float
    cap: float
    max_ulp: int | None = 32  # None: nothing excuses an error above the cap
    percent: int = 99


class StatLimits(NamedTuple):
    """What the mean and the largest relative error must be below."""

    mere: float
    mare: float


class CloseLimits(NamedTuple):
    rtol: float
    ptol: float
    atol: float = 1e-8


class SmallLimits(NamedTuple):
    """Where a golden value is small, and which error counts there."""

    small: float
    atol: float


class RatioLimits(NamedTuple):
    """How many times as large as the third party's each figure may be."""

    max_relative: float
    mean_relative: float
    rmse: float
    small_errors: float = 2


_MIXED_FLOAT32 = MixedLimits(rtol=2**-10, atol=2**-16, cap=1e-2)
_EXACT = MixedLimits(rtol=0, atol=0, cap=0, max_ulp=0, percent=100)
MIXED = {
    "float16": MixedLimits(rtol=2**-9, atol=2**-9, cap=1e-1),
    "bfloat16": MixedLimits(rtol=2**-6, atol=2**-6, cap=1),
    "float32": _MIXED_FLOAT32,
    "HF32": MixedLimits(rtol=2**-9, atol=2**-10, cap=1e-1),
    "float64": _MIXED_FLOAT32,
    **dict.fromkeys(INTEGERS, _EXACT),
}
# TTK has one limit for all elements, the cap or 32 ULP of 1.0: in every type the cap is the larger one.
MIXED_TTK = {row: limits._replace(max_ulp=None) for row, limits in MIXED.items()}
_STAT = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13, "HF32": 2**-11, "float64": 2**-13}
STAT_REL_ERR = {row: StatLimits(threshold, 10 * threshold) for row, threshold in _STAT.items()}
CLOSE = {
    **dict.fromkeys(("float16", "bfloat16"), CloseLimits(1e-3, 1e-3)),
    **dict.fromkeys(("float32", "HF32", "float64"), CloseLimits(1e-4, 1e-4)),
    **dict.fromkeys(INTEGERS, CloseLimits(0, 0, 0)),
}
COSINE_DISTANCE = 0.01
CROSS_SMALL = {
    "float16": SmallLimits(2**-11, 2**-16),
    "bfloat16": SmallLimits(2**-8, 2**-16),
    "float32": SmallLimits(2**-14, 2**-30),
    "float64": SmallLimits(2**-14, 2**-30),
}
CROSS_RATIOS = {"L0": RatioLimits(10, 2, 2), "L1": RatioLimits(5, 1.5, 1.5), "L2": RatioLimits(2, 1.2, 1.2)}
