"""Averages over windows of 3 x 3 with a stride of 2 and a padding of 1: every row of gradients doubles into two rows of
the result.

The result has two columns and two rows for each window. A row of quotients is made in registers and doubled along W:
each column once alone and once with its right neighbour. Of the two rows that follow, one is that doubled row; the
other is its sum with the doubled row before, and is written while the doubled row is made. So gradients are read and
results are written in one loop, and the copy comes from the first-level cache.
"""

from __future__ import annotations

from typing import Any

from .flowing import aside_of, bytes_ahead, copy_row, copy_row_past_caches, flowing_kernel
from .geometry import COLUMNS, ROWS
from .memory import inlined_piece, piece_named
from .record import LANES
from .vectors import add, divide, interleaved, load, prefetch, read, splat, spliced, store, stream


def _doubler(name: str, put: Any) -> Any:
    @inlined_piece
    def write_doubled(
        target: int, w: int, here: Any, right: Any, before: int, doubled: int, all_columns: bool, unit: Any
    ) -> None:
        """The columns of eight windows, of which ``right`` has the right neighbours; or of the last four only."""
        first, second = interleaved(here, add(here, spliced(here, right, 1)), 1, 1)
        if all_columns:
            store(doubled, 2 * w, first)
            put(target, 2 * w, add(load(before, 2 * w, unit), first))
        store(doubled, 2 * w + LANES, second)
        put(target, 2 * w + LANES, add(load(before, 2 * w + LANES, unit), second))

    @piece_named(name)
    def double(
        target: int, source: int, soon: int, by: Any, before: int, doubled: int, windows: int, unit: Any
    ) -> None:
        """Make a doubled row, and write its sum with the one before."""
        zero, last = splat(unit), windows // LANES * LANES - LANES  # of the whole vectors
        here = add(divide(load(source, 0, unit), by), zero)  # sums begin at +0.0
        for w in range(0, last, LANES):
            prefetch(soon, w, unit)
            right = add(divide(load(source, w + LANES, unit), by), zero)
            write_doubled(target, w, here, right, before, doubled, True, unit)
            here = right
        prefetch(soon, last, unit)
        rest = last + LANES < windows
        right = divide(splat(read(source, last + LANES, unit)), by) if rest else zero
        write_doubled(target, last, here, right, before, doubled, True, unit)
        if rest:  # one more vector is laid back over its predecessor
            here = add(divide(load(source, windows - LANES, unit), by), zero)
            many = windows - last - LANES > LANES // 2
            write_doubled(target, windows - LANES, here, zero, before, doubled, many, unit)

    return double


_double, _double_past_caches = _doubler("doubled", store), _doubler("doubled_past_caches", stream)


@inlined_piece
def double_rows(
    plan: Any, source: int, target: int, low: int, high: int, by: Any, streaming: bool, floats: int, unit: Any
) -> None:
    """Rows ``low`` to ``high`` of a plane."""
    step, between, windows = plan.result_steps[3], plan.grad_steps[3], plan.out[COLUMNS]
    soon, pitch = bytes_ahead(plan), plan.pitch * plan.itemsize
    zeros, unused = floats, floats + pitch
    before = floats + 2 * pitch + aside_of(floats, target)
    doubled = before + pitch
    row = source + low // 2 * between
    _double(unused, row, row + soon, by, before, doubled, windows, unit)  # what the row before would have left
    for h in range(low, high):
        at = target + h * step
        if h % 2 == 1:  # windows of two rows hold it
            oh = h // 2 + 1
            row = source + oh * between if oh < plan.out[ROWS] else zeros
            before, doubled = doubled, before
            if streaming:
                _double_past_caches(at, row, row + soon, by, before, doubled, windows, unit)
            else:
                _double(at, row, row + soon, by, before, doubled, windows, unit)
        elif streaming:
            copy_row_past_caches(at, doubled, 2 * windows, unit)
        else:
            copy_row(at, doubled, 2 * windows, unit)


average_doubling = flowing_kernel("average_doubling", double_rows)
