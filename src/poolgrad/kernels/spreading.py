"""Along W: from a row of quotients to an expanded row, in which every column holds the sum of its windows.

Windows of stride s and kernel k cover a column w with phase (w + pad) % s as follows: ``terms`` = (k-1)//s + 1 of them
if the phase is at most (k-1) % s, one less otherwise. So a row is made of two streams only, A (``terms`` neighbouring
quotients) and B (the same without the first), and for the small strides that networks use the streams are interleaved
by constant shuffles. Any other windows are laid down one after the other.

All sums run upwards through the windows; long ones are put together from sums of 1, 2, 4, ... windows. Nothing is ever
subtracted, so a NaN stays in its window. Zeros around the quotients stand in for the windows that are not there.
"""

from __future__ import annotations

from typing import Any

from .memory import piece, read_i64
from .record import LANES, MOST_DIRECT_TERMS
from .vectors import add, load, read, splat, store, store_interleaved


@piece
def window_sums(q: int, target: int, number: int, terms: int, spare: int, unit: Any) -> None:
    """target[i] = q[i] + q[i+1] + ... of ``terms`` quotients, for ``number`` of them and the overrun."""
    if terms <= 0:
        for i in range(0, number, LANES):
            store(target, i, splat(unit))
    elif terms <= MOST_DIRECT_TERMS:
        for i in range(0, number, LANES):
            total = load(q, i, unit)
            for j in range(1, terms):
                total = add(total, load(q, i + j, unit))
            store(target, i, total)
    else:
        _long_window_sums(q, target, number, terms, spare, unit)


@piece
def _long_window_sums(q: int, target: int, number: int, terms: int, spare: int, unit: Any) -> None:
    """The same in about 2 log2(terms) passes: ``spare`` holds sums of 1, 2, 4, ... quotients in turn."""
    for i in range(0, number + terms, LANES):
        store(spare, i, load(q, i, unit))
    done, power = 0, 1
    while done < terms:
        if terms & power:
            for i in range(0, number, LANES):
                more = load(spare, i + done, unit)
                store(target, i, more if done == 0 else add(load(target, i, unit), more))
            done += power
        # What lies beyond the last whole sum is rubbish that nobody reads.
        for i in range(0, number + terms - done, LANES):
            store(spare, i, add(load(spare, i, unit), load(spare, i + power, unit)))
        power *= 2


@piece
def interleave(one: int, other: int, number: int, stride: int, ones: int, target: int, unit: Any) -> None:
    """For each stream element: ``ones`` columns of the first stream, the rest of ``stride`` of the second."""
    if stride == 2:
        if ones == 2:
            for i in range(0, number, LANES):
                store_interleaved(target, 2 * i, load(one, i, unit), load(one, i, unit), 2, 0)
        else:
            for i in range(0, number, LANES):
                store_interleaved(target, 2 * i, load(one, i, unit), load(other, i, unit), 1, 1)
    elif stride == 3:
        if ones == 3:
            for i in range(0, number, LANES):
                store_interleaved(target, 3 * i, load(one, i, unit), load(one, i, unit), 3, 0)
        elif ones == 2:
            for i in range(0, number, LANES):
                store_interleaved(target, 3 * i, load(one, i, unit), load(other, i, unit), 2, 1)
        else:
            for i in range(0, number, LANES):
                store_interleaved(target, 3 * i, load(one, i, unit), load(other, i, unit), 1, 2)
    elif ones == 4:
        for i in range(0, number, LANES):
            store_interleaved(target, 4 * i, load(one, i, unit), load(one, i, unit), 4, 0)
    elif ones == 3:
        for i in range(0, number, LANES):
            store_interleaved(target, 4 * i, load(one, i, unit), load(other, i, unit), 3, 1)
    elif ones == 2:
        for i in range(0, number, LANES):
            store_interleaved(target, 4 * i, load(one, i, unit), load(other, i, unit), 2, 2)
    else:
        for i in range(0, number, LANES):
            store_interleaved(target, 4 * i, load(one, i, unit), load(other, i, unit), 1, 3)


@piece
def fill(target: int, begin: int, end: int, value: Any) -> None:
    """The value from begin to end, and some overrun."""
    vector = splat(value)
    for i in range(begin, end, LANES):
        store(target, i, vector)


@piece
def lay_windows(q: int, lows: int, highs: int, number: int, target: int, covered: int, unit: Any) -> int:
    """Lay windows down in order; columns below ``covered`` hold sums already. Returns how far they reach now.

    Where a window meets its predecessors it is added, beyond them it is laid; gaps become zero. An overrun beyond what
    is covered does no harm: it is laid over by the next.
    """
    for o in range(number):
        low, high, value = read_i64(lows, 8 * o), read_i64(highs, 8 * o), read(q, o, unit)
        if low > covered:
            fill(target, covered, low, unit)
            covered = low
        if low < covered:
            more = splat(value)
            for i in range(low, min(covered, high), LANES):
                store(target, i, add(load(target, i, unit), more))
        if high > covered:
            fill(target, covered, high, value)
            covered = high
    return covered
