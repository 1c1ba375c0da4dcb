"""A block of a row of few_windows.py, the columns of eight windows, as one instruction each.

What is done for a block is constant: the windows that hold each column of a stride, how many rows are added, how the
result is written. As pieces of a kernel all this would take several times as long to compile.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

from llvmlite import ir
from numba import types

from ..jit.instructions import instruction
from ..jit.vectors import Vector, add, divide, interleaved, load, read, splat, spliced, store
from ..record import LANES, MOST_FEW, FewWindows


def _sum_of(builder: ir.IRBuilder, offsets: tuple[int, ...], quotients: list[ir.Value]) -> ir.Value:
    """Of the quotients so many windows ahead of those at hand, which come between those behind and ahead."""
    behind, here, ahead = quotients

    def tap(offset: int) -> ir.Value:
        if offset == 0:
            return here
        pair = (here, ahead, offset) if offset > 0 else (behind, here, LANES + offset)
        return spliced.write(builder, *pair)

    return reduce(partial(add.write, builder), map(tap, offsets))


def _lay_out(builder: ir.IRBuilder, offsets: list[tuple[int, ...]], quotients: list[ir.Value]) -> list[ir.Value]:
    """The columns of eight windows: as many vectors as a stride has columns, which are of two kinds."""
    first, second = (_sum_of(builder, some, quotients) for some in (offsets[0], offsets[-1]))
    times = offsets.count(offsets[0])
    return interleaved.write(builder, first, second, times, len(offsets) - times)


def plain(put: Any) -> Any:
    """How a vector is written to one row: ``put`` as an instruction's code."""

    def write_vector(builder: ir.IRBuilder, rows: list[ir.Value], column: ir.Value, vector: ir.Value) -> None:
        put.write(builder, rows[0], column, vector)

    return write_vector


def joined(put: Any) -> Any:
    """How a vector of a layer in scratch is written that is the last of a layer of the result: with that one, the sum
    of two more layers and this. The rows are those of the layer, the result, and the others."""

    def write_vector(builder: ir.IRBuilder, rows: list[ir.Value], column: ir.Value, vector: ir.Value) -> None:
        layer, result, *others = rows
        store.write(builder, layer, column, vector)
        put.write(builder, result, column, _total(builder, others, column, vector))

    return write_vector


def _total(builder: ir.IRBuilder, rows: list[ir.Value], place: ir.Value, vector: ir.Value) -> ir.Value:
    """The sum of rows and a vector."""
    unit = ir.Constant(vector.type.element, 0.0)
    return reduce(partial(add.write, builder), [*(load.write(builder, row, place, unit) for row in rows), vector])


def _after(builder: ir.IRBuilder, place: ir.Value, number: int) -> ir.Value:
    return builder.add(place, ir.Constant(place.type, number))


def _write_block(
    builder: ir.IRBuilder,
    windows: FewWindows,
    put: Any,
    target: list[ir.Value],
    sums: list[ir.Value],
    vectors: list[ir.Value],
    *,
    fresh: bool,
    laid_back: bool,
) -> None:
    """Write vectors of sums along W, added to those that wait in all rows of ``sums`` but the last, which fresh ones
    are stored to. ``target`` is one row or several, a column, and the place in sums that it has. Of a block that is
    laid back the columns before that place are there already, and the last ones may lie beyond the row."""
    (*rows, w, at), (*waiting, new) = target, sums
    over, last, previous = windows.over, windows.stride - 1, None
    for number, vector in enumerate(vectors):
        place, column = _after(builder, at, number * LANES), _after(builder, w, number * LANES)
        if laid_back and number < last - (over > 0):
            with builder.if_then(builder.icmp_signed(">", _after(builder, column, LANES), at)):
                put(builder, rows, column, _total(builder, waiting, place, vector))
        elif laid_back and over and number == last:
            total = _total(builder, waiting, place, vector)
            put(builder, rows, _after(builder, column, -over), spliced.write(builder, previous, total, LANES - over))
        else:
            previous = _total(builder, waiting, place, vector)
            put(builder, rows, column, previous)
        if fresh:
            store.write(builder, new, place, vector)


def _making(write: Any) -> Any:
    """An instruction that writes a block: of a target, rows of sums, and what it is made of."""
    return instruction(lambda target, sums, given: types.void(target, sums, given))(write)


def sums_maker(windows: FewWindows, put: Any, offsets: list[tuple[int, ...]], *, laid_back: bool) -> Any:
    """What makes a block of sums along W, and of the result."""

    def make(builder: ir.IRBuilder, target: Any, sums: Any, quotients: Any) -> None:
        vectors = _lay_out(builder, offsets, quotients)
        rows = sums[MOST_FEW - windows.terms :]
        _write_block(builder, windows, put, target, rows, vectors, fresh=True, laid_back=laid_back)

    return _making(make)


def repeater(windows: FewWindows, put: Any, terms: int, *, laid_back: bool) -> Any:
    """What makes a vector of the result, or the last block, of so many rows of sums that wait. Of a whole block at once
    LLVM would store vectors in pairs, which takes longer where they lie across cache lines."""

    def make(builder: ir.IRBuilder, target: Any, sums: Any, unit: ir.Value) -> None:
        numbers = range(windows.stride if laid_back else 1)
        vectors = [
            load.write(builder, sums[-1], _after(builder, target[-1], number * LANES), unit) for number in numbers
        ]
        rows = sums[MOST_FEW - terms :]
        _write_block(builder, windows, put, target, rows, vectors, fresh=False, laid_back=laid_back)

    return _making(make)


def divider(take: Any, *, even: int, alone: bool = False) -> Any:
    """An instruction that divides eight gradients, or one for all lanes."""

    def divided(builder: ir.IRBuilder, source: ir.Value, by: ir.Value, o: ir.Value, unit: ir.Value) -> ir.Value:
        def lanes_of(read_or_load: Any, base: ir.Value) -> ir.Value:
            found = read_or_load.write(builder, base, o, unit)
            return splat.write(builder, found) if alone else found

        divisors = by if even else lanes_of(read if alone else load, by)
        quotients = divide.write(builder, lanes_of(take, source), divisors)
        return add.write(builder, quotients, splat.write(builder, unit))  # sums begin at +0.0

    return instruction(lambda source, by, o, unit: Vector(unit)(types.int64, by, types.int64, unit))(divided)
