"""Averages with a stride of 2: every row of gradients doubles into two rows of the result.

Windows are 3 x 3 and padded by 1, and the result has two columns and two rows for each; the last column or row may be
missing. A row of quotients is made in registers and doubled along W: each column once alone and once with its right
neighbour. Of the two rows that follow, one is that doubled row; the other is its sum with the doubled row before, and
is written while the doubled row is made. So gradients are read and results are written in one loop, and the copy comes
from the first-level cache. Rows of few_windows.py take as long on 112 columns beyond the caches, and 1.15 to 1.3 times
as long otherwise.
"""

from __future__ import annotations

from typing import Any

from ..emitting import stream_run
from ..geometry import COLUMNS, ROWS
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import add, divide, interleaved, load, prefetch, read, splat, spliced, store, stream
from ..record import LANES
from .one_pass import (
    STORED,
    STREAMED_FROM_SCRATCH,
    aside_of,
    bytes_ahead,
    cleared,
    copy_row,
    flowing_kernel,
    with_one_divisor,
)


def _doubler(name: str, put: Any, *, odd: bool = False) -> Any:
    """What makes a doubled row; of an odd one the last column is missing in the result."""

    @inlined_piece
    def put_sum(target: int, w: int, columns: Any, before: int, unit: Any) -> None:
        put(target, w, add(load(before, w, unit), columns))

    @inlined_piece
    def write_doubled(
        target: int, w: int, here: Any, right: Any, before: int, doubled: int, first_half: bool, last: bool, unit: Any
    ) -> None:
        """The columns of eight windows, of which ``right`` has the right neighbours; or of the last four only."""
        first, second = interleaved(here, add(here, spliced(here, right, 1)), 1, 1)
        if first_half:
            store(doubled, 2 * w, first)
            put_sum(target, 2 * w, first, before, unit)
        store(doubled, 2 * w + LANES, second)
        if odd and last:  # laid back by a column
            put_sum(target, 2 * w + LANES - 1, spliced(first, second, 7), before, unit)
        else:
            put_sum(target, 2 * w + LANES, second, before, unit)

    @piece_named(name)
    def double(
        target: int, source: int, soon: int, by: Any, before: int, doubled: int, windows: int, unit: Any
    ) -> None:
        """Make a doubled row, and write a row of the result with it."""
        zero, last = splat(unit), windows // LANES * LANES - LANES  # of the whole vectors
        here = add(divide(load(source, 0, unit), by), zero)  # sums begin at +0.0
        for w in range(0, last, LANES):
            prefetch(soon, w, unit)
            right = add(divide(load(source, w + LANES, unit), by), zero)
            write_doubled(target, w, here, right, before, doubled, True, False, unit)
            here = right
        prefetch(soon, last, unit)
        if last + LANES == windows:
            write_doubled(target, last, here, zero, before, doubled, True, True, unit)
        else:  # one more vector is laid back over its predecessor
            right = divide(splat(read(source, last + LANES, unit)), by)
            write_doubled(target, last, here, right, before, doubled, True, False, unit)
            here = add(divide(load(source, windows - LANES, unit), by), zero)
            many = windows - last - LANES > LANES // 2
            write_doubled(target, windows - LANES, here, zero, before, doubled, many, True, unit)

    return double


def row_doubler(name: str, *, odd: bool = False) -> Any:
    """What makes rows of a plane."""
    double_and_store = _doubler(f"{name}_stored", store, odd=odd)
    # Rows of an odd number of columns are no multiples of 16 bytes.
    double_and_stream = double_and_store if odd else _doubler(f"{name}_streamed", stream)

    @inlined_piece
    def double_in_scratch(
        plan: Any, source: int, target: int, low: int, high: int, by: Any, scratch: Any, unit: Any
    ) -> None:
        """Every row is made in scratch. What was just stored could not be loaded at once: so a sum is made while the
        row above it waits to be written."""
        zeros, aside, before, doubled = scratch
        step, between = plan.row_step, plan.grad_steps[3]
        windows, columns = plan.out[COLUMNS], plan.size[COLUMNS]
        soon, row = bytes_ahead(plan), source + low // 2 * between
        double_and_store(aside, row, row + soon, by, before, doubled, windows, unit)
        for h in range(low, high):
            at, next_row = target + h * step, h // 2 + 1
            if h % 2 == 0 or h == low:
                before, doubled = doubled, before
                row = source + next_row * between if next_row < plan.out[ROWS] else zeros
                double_and_store(aside, row, row + soon, by, before, doubled, windows, unit)
            stream_run(at, aside if h % 2 == 1 else before, columns, unit)

    @inlined_piece
    def double_rows(
        plan: Any, source: int, target: int, low: int, high: int, by: Any, way: int, floats: int, unit: Any
    ) -> None:
        """Rows ``low`` to ``high`` of a plane."""
        step, between = plan.row_step, plan.grad_steps[3]
        windows, columns = plan.out[COLUMNS], plan.size[COLUMNS]
        soon, pitch = bytes_ahead(plan), plan.pitch * plan.itemsize
        zeros, unused = floats, floats + pitch
        before = floats + 2 * pitch + aside_of(floats, target)
        doubled = before + pitch
        if way == STREAMED_FROM_SCRATCH:
            double_in_scratch(plan, source, target, low, high, by, (zeros, unused, before, doubled), unit)
            return
        made = -1  # the row of gradients that is doubled
        for h in range(low, high):
            at, oh = target + h * step, h // 2
            mixed = h % 2 == 1  # a row that windows of two rows hold
            if oh != made and (mixed or h == low):  # what the row before would have left
                row = source + oh * between
                double_and_store(unused, row, row + soon, by, before, doubled, windows, unit)
                made = oh
            if mixed or oh != made:
                made = oh + 1 if mixed else oh
                before, doubled = doubled, before
                row = source + made * between if made < plan.out[ROWS] else zeros
                if way == STORED:
                    double_and_store(at, row, row + soon, by, before, doubled, windows, unit)
                else:
                    double_and_stream(at, row, row + soon, by, before, doubled, windows, unit)
            else:
                copy_row(at, doubled, columns, way, unit)

    return double_rows


def make_kernel(name: str) -> Any:
    return flowing_kernel(cleared, with_one_divisor(row_doubler(name, odd=name.endswith("odd"))))
