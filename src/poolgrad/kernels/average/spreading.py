"""Along W: from a row of quotients to an expanded row, in which every column holds the sum of its windows.

Windows of stride s and kernel k cover a column w with phase (w + pad) % s as follows: ``terms`` = (k-1)//s + 1 of them
if the phase is at most (k-1) % s, one less otherwise. So a row is made of two streams only, A (``terms`` neighbouring
quotients) and B (the same without the first), and for the small strides that networks use the streams are interleaved
by constant shuffles. Any other windows are laid down one after the other.

A stream is a sum of the row of quotients with itself, shifted. Up to MOST_DIRECT_TERMS shifts are added one by one;
more are put together from sums of 4, 16, 64, ... quotients. Nothing is ever subtracted, so a NaN stays in its window.
Zeros around the quotients stand in for the windows that are not there.
"""

from __future__ import annotations

from typing import Any

from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import add, load, read, splat, store, store_interleaved
from ..record import LANES, MOST_DIRECT_TERMS
from .sums import sum_rows


@piece
def shifts_for(table: int, q: int, levels: int, longer: int, terms: int, itemsize: int) -> int:
    """Write the rows whose sum is q[0] + ... of ``terms`` quotients, for each place in q; returns how many.

    ``levels`` holds rows of ``longer`` elements: the sums of 4 neighbouring quotients, of 16, of 64, and so on.
    """
    count, at, level, power = 0, 0, 0, 1
    if terms > MOST_DIRECT_TERMS:
        while power * 4 <= terms:
            level, power = level + 1, power * 4
    while at < terms:
        while at + power > terms:
            level, power = level - 1, power // 4
        row = levels + (level - 1) * longer * itemsize if level else q
        write_i64(table, 8 * count, row + at * itemsize)
        count, at = count + 1, at + power
    return count


@piece
def sum_fours(q: int, levels: int, longer: int, number: int, terms: int, table: int, itemsize: int, unit: Any) -> None:
    """Make the rows of sums of 4, 16, 64, ... quotients that ``terms`` of them need."""
    source, power = q, 1
    while power * 4 <= terms:
        count = 0
        while count < 4:
            write_i64(table, 8 * count, source + count * power * itemsize)
            count += 1
        power *= 4
        # What lies beyond the last whole sum is rubbish that nobody reads.
        sum_rows(levels, table, count, number + terms - power + 1, unit)
        source, levels = levels, levels + longer * itemsize


@inlined_piece
def _lay_nothing(one: int, other: int, number: int, strides: int, firsts: int, target: int, unit: Any) -> None:
    pass


def _interleaver(stride: int, ones: int, others: Any) -> Any:
    """What lays out streams of one kind, by shuffles that are constant, or has others do it."""
    rest = stride - ones

    @inlined_piece
    def interleave(one: int, other: int, number: int, strides: int, firsts: int, target: int, unit: Any) -> None:
        if strides == stride and firsts == ones:
            for i in range(0, number, LANES):
                store_interleaved(target, stride * i, load(one, i, unit), load(other, i, unit), ones, rest)
        else:
            others(one, other, number, strides, firsts, target, unit)

    return interleave


# For each stream element: ``firsts`` columns of the first stream, the rest of a stride of the second.
interleave = _lay_nothing
for _stride, _ones in ((4, 4), (4, 3), (4, 2), (4, 1), (3, 3), (3, 2), (3, 1), (2, 2), (2, 1)):
    interleave = _interleaver(_stride, _ones, interleave)


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
