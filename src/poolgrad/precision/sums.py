"""Sums of float64 numbers over blocks that neither overflow nor depend on who adds them when."""

from __future__ import annotations

import math

import numpy as np

from .errors import Floats


def total(parts: list[float]) -> float:
    """The sum of numbers that are not negative, rounded once."""
    try:
        return math.fsum(parts)
    except OverflowError:
        return math.inf


class ProductSum:
    """The sum of products of two series, as a number and a power of two: squares may be beyond float64."""

    def __init__(self) -> None:
        self._parts: list[tuple[float, int]] = []

    def add(self, one: Floats, other: Floats) -> None:
        """Add a block's products. Blocks are the same in every run, so the sum is."""
        exponents = [int(np.frexp(np.abs(values).max(initial=0.0))[1]) for values in (one, other)]
        scaled = [np.ldexp(values, -exponent) for values, exponent in zip((one, other), exponents, strict=True)]
        self._parts.append((float((scaled[0] * scaled[1]).sum()), sum(exponents)))

    @property
    def value(self) -> tuple[float, int]:
        """A number and the power of two that it is to be multiplied with."""
        largest = max((exponent for part, exponent in self._parts if part), default=0)
        return math.fsum(math.ldexp(part, exponent - largest) for part, exponent in self._parts), largest


def root_of_mean_square(squares: ProductSum, count: int) -> float:
    """The root of a sum of squares over their number; 0 if there are none."""
    total, exponent = squares.value
    if exponent % 2:
        total, exponent = 2 * total, exponent - 1
    try:
        return math.ldexp(math.sqrt(total / max(count, 1)), exponent // 2)
    except OverflowError:
        return math.inf


def cosine_distance(products: ProductSum, squares: ProductSum, other_squares: ProductSum) -> float:
    """1 - a·b / (|a| |b|). Two vectors of zeros are the same; a vector of zeros has nothing of another."""
    (dot, exponent), (one, first), (other, second) = products.value, squares.value, other_squares.value
    if not one or not other:
        return 0.0 if one == other else 1.0
    if (first + second) % 2:
        one, first = 2 * one, first - 1
    return 1.0 - math.ldexp(dot / math.sqrt(one * other), exponent - (first + second) // 2)
