"""Gradients, each divided by what its window counts: the first step of every average.

A divisor is the exact integer ``scale`` (of the row) times a count (of the column), as the compute type holds it; where
it can't hold them all the division is done in float64.
"""

from __future__ import annotations

from typing import Any

from ..jit.halves import load_bfloats, load_halves
from ..jit.memory import inlined_piece, piece, piece_named, read_i64
from ..jit.vectors import add, as_unit, divide, load, multiply, read, splat, store, type_as, write
from ..record import LANES, READ_BFLOATS, READ_FLOATS, READ_HALVES
from ..rows import load_row


@inlined_piece
def quotient(gradient: Any, divisor: int, unit: Any) -> Any:
    """Of a vector of gradients that share their divisor. Adding +0.0 makes sums begin at +0.0."""
    if divisor > 0 and divisor & (divisor - 1) == 0:  # a product is the same number, and takes less time
        return add(multiply(gradient, splat(type_as(1.0 / divisor, unit))), splat(unit))
    return add(divide(gradient, splat(as_unit(divisor, unit))), splat(unit))


def _divider(name: str, take: Any) -> Any:
    @piece_named(name)
    def divided(target: int, source: int, divisors: int, n: int, unit: Any) -> None:
        """n gradients that are neighbours in memory, at least a vector of them, read and written exactly."""
        last, zero = n - LANES, splat(unit)  # adding +0.0 makes sums begin at +0.0
        for i in range(0, last, LANES):
            store(target, i, add(divide(take(source, i, unit), load(divisors, i, unit)), zero))
        quotient = divide(take(source, last, unit), load(divisors, last, unit))
        store(target, last, add(quotient, zero))

    return divided


_divided_floats = _divider("divided_floats", load)
_divided_halves = _divider("divided_halves", load_halves)
_divided_bfloats = _divider("divided_bfloats", load_bfloats)


@piece
def scale_divisors(target: int, counts: int, scale: int, n: int, unit: Any) -> None:
    """n divisors and some overrun."""
    factor = splat(as_unit(scale, unit))
    for i in range(0, n, LANES):
        store(target, i, multiply(factor, load(counts, i, unit)))


@piece
def divide_there(
    plan: Any, target: int, source: int, step: int, divisors: int, counts: int, scale: int, n: int, unit: Any
) -> None:
    """The same for any types, steps and numbers, in scratch; the overrun divides what is there."""
    load_row(source, step, plan.code, plan.rounding, target, n, unit)
    if plan.large_divisors:
        for i in range(n):
            divisor = float(scale * read_i64(counts, 8 * i))
            write(target, i, unit + type_as(float(read(target, i, unit)) / divisor, unit))
    else:
        zero = splat(unit)
        for i in range(0, n, LANES):
            store(target, i, add(divide(load(target, i, unit), load(divisors, i, unit)), zero))


@inlined_piece
def divide_row(
    plan: Any, target: int, source: int, step: int, divisors: int, counts: int, scale: int, n: int, unit: Any
) -> None:
    """target[i] = source[i] / (scale * counts[i]) for n gradients; ``divisors`` are those products as floats."""
    if plan.reading == READ_FLOATS and n >= LANES:
        _divided_floats(target, source, divisors, n, unit)
    elif plan.reading == READ_HALVES and n >= LANES:
        _divided_halves(target, source, divisors, n, unit)
    elif plan.reading == READ_BFLOATS and n >= LANES:
        _divided_bfloats(target, source, divisors, n, unit)
    elif n > 0:
        divide_there(plan, target, source, step, divisors, counts, scale, n, unit)
