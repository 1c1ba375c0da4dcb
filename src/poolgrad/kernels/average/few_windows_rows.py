"""Rows of an average from rows of quotients, whole vectors at a time: sums along W, then H, interleaved and written.

Everything about the windows is a constant of these loops, so each is made by a function that is given it. A column is
the sum of up to three neighbouring quotients in each of up to three rows; the columns of a stride are of two kinds.
"""

from __future__ import annotations

from typing import Any

from ..jit.memory import inlined_piece
from ..jit.vectors import add, interleaved, load, read, store, write
from ..record import LANES


def _column(terms: int, ahead: int) -> Any:
    """The sum of so many neighbouring quotients, the last of them ``ahead`` of a window."""

    @inlined_piece
    def column(q: int, t: int, unit: Any) -> Any:
        last = load(q, t + ahead, unit)
        if terms == 1:
            return last
        before = load(q, t + ahead - 1, unit)
        if terms == 2:
            return add(before, last)
        return add(add(load(q, t + ahead - 2, unit), before), last)

    return column


def column_sums(kernel: int, stride: int, phase: int) -> tuple[Any, Any, int, int]:
    """The sums of a stride's first and other columns, and how many columns these are. ``phase`` is the first one's."""
    terms, ones = (kernel - 1) // stride + 1, (kernel - 1) % stride + 1
    if phase == 0:
        return _column(terms, 0), _column(max(terms - 1, 1), 0), ones, stride - ones
    return _column(terms if ones == stride else terms - 1, 0), _column(terms, 1), 1, 1


def _row_writer(rows: int, sums: tuple[Any, Any, int, int], put: Any) -> Any:
    first_sum, second_sum, times_first, times_second = sums
    stride = times_first + times_second
    windows = LANES if stride > 1 else 2 * LANES  # at once; single vectors would be too little for a turn of the loop
    thrice = stride == 3

    @inlined_piece
    def summed(column: Any, one: int, two: int, three: int, t: int, unit: Any) -> Any:
        total = column(one, t, unit)
        if rows > 1:
            total = add(total, column(two, t, unit))
        if rows > 2:
            total = add(total, column(three, t, unit))
        return total

    @inlined_piece
    def weave(one: int, two: int, three: int, t: int, unit: Any) -> Any:
        """The columns of some windows, as vectors."""
        first = summed(first_sum, one, two, three, t, unit)
        if stride == 1:
            return first, summed(first_sum, one, two, three, t + LANES, unit)
        return interleaved(first, summed(second_sum, one, two, three, t, unit), times_first, times_second)

    @inlined_piece
    def write_row(target: int, one: int, two: int, three: int, columns: int, edge: int, unit: Any) -> None:
        """All columns of a row; they are those of ``windows`` windows at least."""
        number = columns // stride
        for begin in range(0, number, windows):
            t = min(begin, number - windows)  # the last ones are laid back over their predecessors
            woven = weave(one, two, three, t, unit)
            put(target, t * stride, woven[0])
            put(target, t * stride + LANES, woven[1])
            if thrice:
                put(target, t * stride + 2 * LANES, woven[-1])
        if number * stride < columns:
            store(edge, 0, weave(one, two, three, number, unit)[0])
            for w in range(number * stride, columns):
                write(target, w, read(edge, w - number * stride, unit))

    return write_row


# Windows, kernel and stride, of which two rows of the result are made at once: of how many rows of gradients the first
# is the sum; the first of these that flows into the second row, too, and how many rows do.
PAIRS = {(2, 2): (1, 0, 1), (3, 2): (2, 1, 1), (3, 1): (3, 1, 3)}


def pair_writer(shared: tuple[int, int, int], sums: tuple[Any, Any, int, int], put: Any) -> Any:
    """For two rows that share sums along W."""
    first_sum, second_sum, times_first, times_second = sums
    stride = times_first + times_second
    touching, threefold = shared == PAIRS[2, 2], shared == PAIRS[3, 1]

    @inlined_piece
    def rows_of(column: Any, one: int, two: int, three: int, four: int, t: int, unit: Any) -> Any:
        """One column of both rows."""
        if touching:
            both = column(one, t, unit)
            return both, both
        second = column(two, t, unit)
        if threefold:
            third = column(three, t, unit)
            upper = add(add(column(one, t, unit), second), third)
            return upper, add(add(second, third), column(four, t, unit))
        return add(column(one, t, unit), second), second

    @inlined_piece
    def weave(one: int, two: int, three: int, four: int, t: int, unit: Any) -> Any:
        first = rows_of(first_sum, one, two, three, four, t, unit)
        second = rows_of(second_sum, one, two, three, four, t, unit)
        upper = interleaved(first[0], second[0], times_first, times_second)
        return upper, interleaved(first[1], second[1], times_first, times_second)

    @inlined_piece
    def write_pair(target: int, below: int, one: int, two: int, three: int, four: int, columns: int, unit: Any) -> None:
        """All columns of both rows, whole strides of them."""
        number = columns // stride
        for begin in range(0, number, LANES):
            t = min(begin, number - LANES)  # the last ones are laid back over their predecessors
            upper, lower = weave(one, two, three, four, t, unit)
            put(target, t * stride, upper[0])
            put(below, t * stride, lower[0])
            if stride > 1:
                put(target, t * stride + LANES, upper[-1])
                put(below, t * stride + LANES, lower[-1])

    return write_pair


def rows_writer(terms: int, sums: tuple[Any, Any, int, int], put: Any) -> Any:
    """For up to ``terms`` rows."""
    write_one = _row_writer(1, sums, put)
    write_two = _row_writer(2, sums, put) if terms > 1 else write_one
    write_three = _row_writer(3, sums, put) if terms > 2 else write_two

    @inlined_piece
    def write_rows(target: int, rows: int, one: int, two: int, three: int, columns: int, edge: int, unit: Any) -> None:
        if terms > 2 and rows == 3:
            write_three(target, one, two, three, columns, edge, unit)
        elif terms > 1 and rows == 2:
            write_two(target, one, two, three, columns, edge, unit)
        else:
            write_one(target, one, two, three, columns, edge, unit)

    return write_rows
