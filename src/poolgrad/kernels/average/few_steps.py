"""What kernels of few_windows.py look up from row to row: one thread's scratch, and a table of what is to be done.

Windows along H begin and end anywhere, so what a row is made of is found out once for all planes. Of planes with very
many rows some are in the table at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..geometry import COLUMNS, ROWS, bounds_of, count_of, run_of
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import as_unit, write
from ..record import AHEAD, BY_ELEMENTS, FIELDS_OF_STEP, MOST_FEW, ROWS_IN_TABLE
from .spreading import fill


class Scratch(NamedTuple):
    """One thread's working memory, as addresses, and what is known of the rows that it works on."""

    divisors: int  # of a row's quotients; behind them others, and a row of quotients (``_divide``)
    spare: int  # two rows that wait to be written past the caches, or are of no use
    zeros: int  # a row of them, before the last rows of sums along W
    steps: int  # what is to be done for each row of a plane (``Step``): for row 0, if that is in the table
    first: int  # of these: before the rows of the table those that it needs
    low: int  # the rows of the table
    high: int
    soon: int  # bytes from a row of gradients to one that is read soon


class Step(NamedTuple):
    """A row of the result: the rows of sums along W that it is the sum of; the gradients that are read for it, in bytes
    from the first; how it is made, and whether it is the same as the row above; the run of windows that hold it; and
    what gradients of the last one count along H."""

    one: int
    two: int
    three: int
    gradients: int
    kind: int
    same: int
    first: int
    stop: int
    counted: int


# A row is made of gradients whose divisors are those of the row above, or are not; is a sum of rows, or a copy of one.
NEW, UNEVEN, SUM, COPY = range(4)


@inlined_piece
def step_of(steps: int, h: int) -> Step:
    at = steps + 8 * FIELDS_OF_STEP * h
    rows = read_i64(at, 0), read_i64(at, 8), read_i64(at, 16), read_i64(at, 24), read_i64(at, 32)
    return Step(*rows, read_i64(at, 40), read_i64(at, 48), read_i64(at, 56), read_i64(at, 64))


@inlined_piece
def is_staged(plan: Any) -> bool:
    """Whether rows of quotients are made in scratch first, since gradients are no neighbours in memory."""
    return plan.reading == BY_ELEMENTS


@inlined_piece
def kind_of(windows: int, is_new: bool, is_uneven: bool) -> int:
    if is_new:
        return UNEVEN if is_uneven else NEW
    return SUM if windows > 1 else COPY


@inlined_piece
def write_step(at: int, rows: Any, zeros: int, first: int, stop: int) -> None:
    """What follows from the run of windows that holds a row."""
    one, two, three = rows
    write_i64(at, 0, one if stop > first + 2 else zeros)
    write_i64(at, 8, two if stop > first + 1 else zeros)
    write_i64(at, 16, three if stop > first else zeros)
    write_i64(at, 48, first)
    write_i64(at, 56, stop)


@piece
def tabulate_steps(plan: Any, steps: int, zeros: int, low: int, high: int) -> int:
    """Of some rows, and before them of one for each row of gradients that the first one needs beside its own; returns
    where these begin."""
    out = plan.out[ROWS]
    row, between, staged = plan.pitch * plan.itemsize, plan.grad_steps[3], is_staged(plan)
    one, two, three = zeros + row, zeros + 2 * row, zeros + 3 * row
    first, stop = run_of(plan, ROWS, low)
    begin = low - max((run_of(plan, ROWS, low - 1)[1] if low > 0 else stop - 1) - first, 0)
    stop, count = min(first, stop), first - first
    start, end = bounds_of(plan, ROWS, stop)[0], bounds_of(plan, ROWS, first)[1]
    for h in range(begin, high):
        at, above, known, before = steps + 8 * FIELDS_OF_STEP * h, first, stop, count
        while stop < out and start <= max(h, low) and (h >= low or stop == known):
            count, stop = count_of(plan, ROWS, stop), stop + 1
            start = bounds_of(plan, ROWS, stop)[0]
            one, two, three = two, three, one
        while first < stop and end <= h:
            first += 1
            end = bounds_of(plan, ROWS, first)[1]
        write_step(at, (one, two, three), zeros, first, stop)
        new, again = stop > max(known, first), stop == known and first == above and h > low
        write_i64(at, 24, (stop - 1) * between)
        write_i64(at, 32, kind_of(stop - first, new, staged or (count != before and h > begin)))
        write_i64(at, 40, again)
        write_i64(at, 64, count)
    return begin


@inlined_piece
def with_rows(plan: Any, scratch: Scratch, low: int, high: int) -> Scratch:
    """The same scratch with these rows in its table: all rows of a plane, or as many as it has room for."""
    if scratch.low <= low and high <= scratch.high:
        return scratch
    size = plan.size[ROWS]
    begin = low if size > ROWS_IN_TABLE else low - low
    end = min(begin + ROWS_IN_TABLE, size)
    steps = scratch.steps + 8 * FIELDS_OF_STEP * (scratch.low - begin)
    first = tabulate_steps(plan, steps, scratch.zeros, begin, end)
    return Scratch(scratch.divisors, scratch.spare, scratch.zeros, steps, first, begin, end, scratch.soon)


@inlined_piece
def bytes_ahead(plan: Any) -> int:
    """From a row of gradients to one that is read soon after it, and should be asked for now."""
    step = plan.grad_steps[3]
    return -(-AHEAD * plan.stored // abs(step)) * step if step != 0 else step


@piece
def carve(plan: Any, floats: int, integers: int, unit: Any) -> Scratch:
    pitch, chunk = plan.pitch * plan.itemsize, plan.chunk * plan.itemsize
    spare, steps = floats + 4 * chunk, integers + 8 * (plan.chunk + FIELDS_OF_STEP * MOST_FEW)
    zeros, none = spare + 2 * pitch, floats - floats
    fill(zeros, 0, plan.pitch, unit)
    fill(floats + 2 * chunk, 0, plan.chunk, as_unit(1, unit))
    count = count_of(plan, COLUMNS, 0)
    for o in range(plan.chunk):
        if not plan.even and o < plan.out[COLUMNS]:
            count = count_of(plan, COLUMNS, o)
        write(floats + chunk, o, as_unit(count, unit))
        write_i64(integers, 8 * o, count)
    return Scratch(floats, spare, zeros, steps, none, none, none, bytes_ahead(plan))
