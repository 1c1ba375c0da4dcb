"""The standards once more, in plain loops over Python's numbers; nothing here knows the package.

Bits are decoded by hand, errors are Python floats, sums are exact fractions, limits are written out again.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

# significant bits, smallest and largest exponent of normal numbers, letters of struct (float, integer)
FLOATS = {
    "float16": (11, -14, 15, "e", "H"),
    "bfloat16": (8, -126, 127, "", "H"),
    "float32": (24, -126, 127, "f", "I"),
    "float64": (53, -1022, 1023, "d", "Q"),
}
WIDTH = {
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
    "int64": 64,
}

MIXED = {  # rtol, atol, cap
    "float16": (2**-9, 2**-9, 1e-1),
    "bfloat16": (2**-6, 2**-6, 1.0),
    "float32": (2**-10, 2**-16, 1e-2),
    "HF32": (2**-9, 2**-10, 1e-1),
    "float64": (2**-10, 2**-16, 1e-2),
}
STAT = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13, "HF32": 2**-11, "float64": 2**-13}
CLOSE = {"float16": 1e-3, "bfloat16": 1e-3, "float32": 1e-4, "HF32": 1e-4, "float64": 1e-4}
SMALL = {  # small value, atol
    "float16": (2**-11, 2**-16),
    "bfloat16": (2**-8, 2**-16),
    "float32": (2**-14, 2**-30),
    "float64": (2**-14, 2**-30),
}
LEVELS = {"L0": (10, 2, 2), "L1": (5, 1.5, 1.5), "L2": (2, 1.2, 1.2)}


def number(bits: int, dtype: str) -> float | int:
    """The number that bits stand for."""
    if "int" in dtype:
        negative = bits >> (WIDTH[dtype] - 1) and not dtype.startswith("u")
        return bits - (1 << WIDTH[dtype]) if negative else bits
    if dtype == "bfloat16":
        return number(bits << 16, "float32")
    _, _, _, letter, integer = FLOATS[dtype]
    value: float = struct.unpack(f"<{letter}", struct.pack(f"<{integer}", bits))[0]
    return value


def rank(bits: int, dtype: str) -> int:
    """Neighbours among the numbers of a type have neighbouring ranks; both zeros have 0."""
    if "int" in dtype:
        return int(number(bits, dtype))
    sign, size = bits >> (WIDTH[dtype] - 1), bits & ((1 << (WIDTH[dtype] - 1)) - 1)
    return -size if sign else size


def rounded_bits(value: float, dtype: str) -> int:
    """The bits of the nearest number of a type, ties to even; NaN is some NaN."""
    digits, lowest, highest, _, _ = FLOATS[dtype]
    sign = int(math.copysign(1, value) < 0) << (WIDTH[dtype] - 1)
    infinity = (highest + highest + 1) << (digits - 1)
    if math.isnan(value):
        return sign | infinity | 1
    if math.isinf(value):
        return sign | infinity
    exact = abs(Fraction(value))
    exponent = max(lowest, math.frexp(value)[1] - 1) if value else lowest
    quantum = Fraction(2) ** (exponent - digits + 1)
    units = round(exact / quantum)  # to even in ties
    bits = ((exponent - lowest) << (digits - 1)) + units  # the hidden bit and a carry both move the exponent on
    return sign | min(bits, infinity)


@dataclass
class Element:
    """One pair of numbers."""

    actual: float | int
    golden: float | int
    absolute: float = 0.0
    relative: float = 0.0
    ulp: int = 0
    same_bits: bool = True
    finite: bool = True
    mismatch: str = ""


def elements(actual: list[int], golden: list[int], dtype: str, golden_dtype: str) -> list[Element]:
    return [_element(a, g, dtype, golden_dtype) for a, g in zip(actual, golden, strict=True)]


def _element(actual_bits: int, golden_bits: int, dtype: str, golden_dtype: str) -> Element:
    a, g = number(actual_bits, dtype), number(golden_bits, golden_dtype)
    if "int" in dtype:
        apart = abs(a - g)
        return Element(a, g, float(apart), float(apart) / (abs(float(g)) + 1e-7), int(apart), apart == 0)
    stored = golden_bits if dtype == golden_dtype else rounded_bits(float(g), dtype)
    held = number(stored, dtype)
    meant = held if math.isinf(held) else g
    found = Element(a, g, same_bits=actual_bits == stored or (math.isnan(a) and math.isnan(g)))
    if math.isfinite(a) and math.isfinite(meant):
        found.absolute = abs(a - meant)
        found.relative = found.absolute / (abs(meant) + 1e-7)
        found.ulp = abs(rank(actual_bits, dtype) - rank(stored, dtype))
        return found
    found.finite = False
    if math.isnan(a) != math.isnan(meant):
        found.mismatch = "nan"
    elif not math.isnan(a) and a != meant:
        found.mismatch = "inf"
    return found


@dataclass
class Verdict:
    """What a standard says."""

    passed: bool
    passing: list[bool]
    figures: dict[str, Any] = field(default_factory=dict)


def mixed(found: list[Element], row: str) -> Verdict:
    if "int" in row:
        passing = [e.absolute == 0 for e in found]
        return Verdict(all(passing), passing)
    rtol, atol, cap = MIXED[row]
    passing = [_good(e) and e.absolute <= atol + rtol * _size(e) for e in found]
    outliers = sum(e.absolute > cap and e.ulp > 32 for e in found)
    enough = Fraction(sum(passing), max(len(found), 1)) >= Fraction(99, 100) or not found
    return Verdict(enough and not outliers and all(map(_good, found)), passing, {"outliers": outliers})


def stat_rel_err(found: list[Element], row: str) -> Verdict:
    limit = STAT[row]
    largest = max((e.relative for e in found), default=0.0)
    good = mean_relative(found) < limit and largest < 10 * limit and all(map(_good, found))
    return Verdict(good, [_good(e) and e.relative < 10 * limit for e in found])


def close(found: list[Element], row: str) -> Verdict:
    if "int" in row:
        return mixed(found, row)
    rtol = ptol = CLOSE[row]
    passing = [_good(e) and e.absolute <= 1e-8 + rtol * _size(e) for e in found]
    failing = len(found) - sum(passing)
    return Verdict(failing <= ptol * len(found) and all(map(_good, found)), passing)


def cosine(found: list[Element], row: str) -> Verdict:
    pairs = [(Fraction(e.actual), Fraction(e.golden)) for e in found if e.finite]
    dot, one, other = (sum((x * y for x, y in group), Fraction(0)) for group in _products(pairs))
    if not one or not other:
        distance = 0.0 if one == other else 1.0
    else:
        squared = dot * dot / (one * other)
        distance = 1 - (root(squared) if dot > 0 else -root(squared))
    passing = [_good(e) and e.absolute == 0 for e in found]
    return Verdict(distance <= 0.01 and all(map(_good, found)), passing, {"cosine_distance": distance})


def binary(found: list[Element], row: str) -> Verdict:
    passing = [_good(e) and e.same_bits for e in found]
    return Verdict(all(passing), passing)


def cross_check(found: list[Element], third: list[Element], row: str, level: str) -> Verdict:
    figures = [_cross_figures(side, row) for side in (found, third)]
    ratios = [
        0.0 if not mine else math.inf if not theirs else mine / theirs for mine, theirs in zip(*figures, strict=True)
    ]
    within = all(ratio <= limit for ratio, limit in zip(ratios, (*LEVELS[level], 2), strict=True))
    passing = [_good(e) and e.absolute == 0 for e in found]
    return Verdict(within and all(map(_good, found)), passing, {"ratios": ratios})


def _cross_figures(found: list[Element], row: str) -> list[float]:
    small, atol = SMALL[row]
    large = [e for e in found if e.finite and abs(e.golden) >= small]
    squares = sum((Fraction(e.absolute) ** 2 for e in large), Fraction(0)) / max(len(large), 1)
    return [
        max((e.relative for e in large), default=0.0),
        float(sum((Fraction(e.relative) for e in large), Fraction(0)) / max(len(large), 1)),
        root(squares),
        sum(e.finite and abs(e.golden) < small and e.absolute > atol for e in found),
    ]


# The same as TTK's code decides, where that differs from the rules.


def mixed_ttk(found: list[Element], row: str) -> Verdict:
    """No element is asked for its own ULP: there is one limit for all."""
    if "int" in row:
        return mixed(found, row)
    digits = 11 if row == "HF32" else FLOATS[row][0]
    limit = max(MIXED[row][2], 32 * 2.0 ** (1 - digits))
    outliers = sum(e.absolute > limit for e in found)
    passing = mixed(found, row).passing
    enough = 100 * sum(passing) >= 99 * len(found)
    return Verdict(enough and not outliers and all(map(_good, found)), passing, {"outliers": outliers})


def close_ttk(found: list[Element], row: str) -> Verdict:
    """NaN and Inf that differ are misses like others; the share must stay below its limit."""
    if "int" in row:
        return mixed(found, row)
    in_a_million = round(CLOSE[row] * 10**6)
    passing = [_good(e) and e.absolute <= _close_tolerance(e, row) for e in found]
    failing = len(found) - sum(passing)
    return Verdict(not failing or 10**6 * failing < in_a_million * len(found), passing)


def _close_tolerance(element: Element, row: str) -> float:
    if row != "float16":
        return 1e-8 + CLOSE[row] * _size(element)

    def half(value: float) -> float:
        return float(number(rounded_bits(value, "float16"), "float16"))

    # Products of two float16 numbers are exact in float64, so each operation is rounded once.
    return half(half(1e-8) + half(half(CLOSE[row]) * half(_size(element))))


def cosine_ttk(found: list[Element], row: str) -> Verdict:
    """NaN, if anything is not finite, or one of the vectors is zero."""
    verdict = cosine(found, row)
    zero = any(all(value == 0 for value in side) for side in zip(*((e.actual, e.golden) for e in found), strict=True))
    if zero or not all(e.finite for e in found):
        return Verdict(False, verdict.passing, {"cosine_distance": math.nan})
    return verdict


def binary_ttk(found: list[Element], row: str) -> Verdict:
    return binary(found, row)


def cross_check_ttk(found: list[Element], third: list[Element], row: str, level: str) -> Verdict:
    """The third party's figures have lower limits; its NaN excuse NaN, and are themselves held against the tensor."""
    mine, theirs = (_cross_figures(side, row) for side in (found, third))
    lowest = [SMALL[row][0]] * 3 + [1]
    ratios = [m / max(t, low) for m, t, low in zip(mine, theirs, lowest, strict=True)]
    within = all(ratio <= limit for ratio, limit in zip(ratios, (*LEVELS[level], 2), strict=True))
    pairs = [(math.isnan(a.actual), math.isnan(b.actual), a) for a, b in zip(found, third, strict=True)]
    excused = all(_good(e) or (nan and their_nan) for nan, their_nan, e in pairs)
    alone = any(their_nan and not nan and not math.isnan(e.golden) for nan, their_nan, e in pairs)
    passing = [_good(e) and e.absolute == 0 for e in found]
    return Verdict(within and excused and not alone, passing, {"ratios": ratios})


def mean_relative(found: list[Element]) -> float:
    finite = [e for e in found if e.finite]
    if any(math.isinf(e.relative) for e in finite):
        return math.inf
    return float(sum((Fraction(e.relative) for e in finite), Fraction(0)) / max(len(finite), 1))


def root(square: Fraction) -> float:
    """The square root of a number whose size float64 can't hold."""
    return float(Fraction(math.isqrt((square.numerator << 2400) // square.denominator), 1 << 1200))


def _good(element: Element) -> bool:
    return not element.mismatch


def _size(element: Element) -> float:
    return abs(float(element.golden)) if element.finite else 0.0


def _products(pairs: list[tuple[Fraction, Fraction]]) -> list[list[tuple[Fraction, Fraction]]]:
    return [pairs, [(x, x) for x, _ in pairs], [(y, y) for _, y in pairs]]
