"""Sums of rows: element by element, in the order in which a table names them.

A table is a list of addresses in scratch. The same row may stand in it several times, each time a little further on:
that is how neighbours within one row are added. Rows in scratch may be overrun by less than a vector; results are
written exactly, the last vector laid back over its predecessor.
"""

from __future__ import annotations

from typing import Any

from ..jit.halves import store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece, piece_named, read_i64
from ..jit.vectors import add, load, store, stream
from ..record import LANES, WRITE_FLOATS, WRITE_HALVES


@inlined_piece
def _sum_at(i: int, one: int, two: int, three: int, rows: int, count: int, unit: Any) -> Any:
    total = add(add(load(one, i, unit), load(two, i, unit)), load(three, i, unit))
    for j in range(3, count):
        total = add(total, load(read_i64(rows, 8 * j), i, unit))
    return total


def _writer(name: str, put: Any) -> Any:
    @piece_named(name)
    def write(target: int, rows: int, count: int, n: int, unit: Any) -> None:
        """n elements, at least a vector of them."""
        last = n - LANES
        one = read_i64(rows, 0)
        if count == 1:
            for i in range(0, last, LANES):
                put(target, i, load(one, i, unit))
            put(target, last, load(one, last, unit))
            return
        two = read_i64(rows, 8)
        if count == 2:
            for i in range(0, last, LANES):
                put(target, i, add(load(one, i, unit), load(two, i, unit)))
            put(target, last, add(load(one, last, unit), load(two, last, unit)))
            return
        three, i = read_i64(rows, 16), 0
        while i + LANES < last:  # two vectors for each address that is read
            left = add(add(load(one, i, unit), load(two, i, unit)), load(three, i, unit))
            right = add(add(load(one, i + LANES, unit), load(two, i + LANES, unit)), load(three, i + LANES, unit))
            for j in range(3, count):
                row = read_i64(rows, 8 * j)
                left, right = add(left, load(row, i, unit)), add(right, load(row, i + LANES, unit))
            put(target, i, left)
            put(target, i + LANES, right)
            i += 2 * LANES
        if i < last:
            put(target, i, _sum_at(i, one, two, three, rows, count, unit))
        put(target, last, _sum_at(last, one, two, three, rows, count, unit))

    return write


store_sum, stream_sum = _writer("store_sum", store), _writer("stream_sum", stream)
store_sum_as_halves = _writer("store_sum_as_halves", store_halves)
store_sum_as_bfloats = _writer("store_sum_as_bfloats", store_bfloats)


@inlined_piece
def write_sum(plan: Any, target: int, rows: int, count: int, n: int, unit: Any) -> None:
    """The sum of the rows of a table, rounded once, into neighbours in a tensor: n elements, at least a vector."""
    if plan.writing == WRITE_FLOATS:
        if plan.streaming and target % 16 == 0 and n * plan.itemsize % 16 == 0:
            stream_sum(target, rows, count, n, unit)
        else:
            store_sum(target, rows, count, n, unit)
    elif plan.writing == WRITE_HALVES:
        store_sum_as_halves(target, rows, count, n, unit)
    else:
        store_sum_as_bfloats(target, rows, count, n, unit)


@inlined_piece
def sum_rows(target: int, rows: int, count: int, n: int, unit: Any) -> None:
    """Into scratch, in whole vectors."""
    if n > 0:
        store_sum(target, rows, count, n + -n % LANES, unit)


@piece
def add_row(target: int, row: int, n: int, unit: Any) -> None:
    """Add a row to a sum in scratch."""
    for i in range(0, n, LANES):
        store(target, i, add(load(target, i, unit), load(row, i, unit)))


@piece
def copy_row(target: int, row: int, n: int, unit: Any) -> None:
    for i in range(0, n, LANES):
        store(target, i, load(row, i, unit))
