"""Averages with a stride of 2: every row of gradients doubles into two rows of the result.

Windows are 2 x 2, or 3 x 3 and padded by 1, and the result has two columns and two rows for each. A row of quotients is
made in registers and doubled along W: each column twice, or once alone and once with its right neighbour. Of the two
rows that follow, one is that doubled row; the other is the same (windows of 2) or its sum with the doubled row before
(windows of 3), and is written while the doubled row is made. So gradients are read and results are written in one
loop, and the copy comes from the first-level cache.
"""

from __future__ import annotations

from typing import Any

from .flowing import aside_of, bytes_ahead, copy_row, copy_row_past_caches, flowing_kernel
from .geometry import COLUMNS, ROWS
from .memory import inlined_piece, piece_named
from .record import LANES
from .vectors import add, divide, interleaved, load, prefetch, read, splat, spliced, store, stream


def _doubler(name: str, put: Any, *, overlapping: bool) -> Any:
    @inlined_piece
    def write_doubled(
        target: int, w: int, here: Any, right: Any, before: int, doubled: int, all_columns: bool, unit: Any
    ) -> None:
        """The columns of eight windows, of which ``right`` has the right neighbours; or of the last four only."""
        first, second = interleaved(here, add(here, spliced(here, right, 1)) if overlapping else here, 1, 1)
        if all_columns:
            store(doubled, 2 * w, first)
            put(target, 2 * w, add(load(before, 2 * w, unit), first) if overlapping else first)
        store(doubled, 2 * w + LANES, second)
        put(target, 2 * w + LANES, add(load(before, 2 * w + LANES, unit), second) if overlapping else second)

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


def _kernel(name: str, *, overlapping: bool) -> Any:
    double_and_store = _doubler(f"{name}_stored", store, overlapping=overlapping)
    double_and_stream = _doubler(f"{name}_streamed", stream, overlapping=overlapping)

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
        made = -1  # the row of gradients that is doubled
        for h in range(low, high):
            at, oh = target + h * step, h // 2
            mixed = overlapping and h % 2 == 1  # a row that windows of two rows hold
            if oh != made and (mixed or h == low):  # what the row before would have left
                row = source + oh * between
                double_and_store(unused, row, row + soon, by, before, doubled, windows, unit)
                made = oh
            if mixed or oh != made:
                made = oh + 1 if mixed else oh
                before, doubled = doubled, before
                row = source + made * between if made < plan.out[ROWS] else zeros
                if streaming:
                    double_and_stream(at, row, row + soon, by, before, doubled, windows, unit)
                else:
                    double_and_store(at, row, row + soon, by, before, doubled, windows, unit)
            elif streaming:
                copy_row_past_caches(at, doubled, 2 * windows, unit)
            else:
                copy_row(at, doubled, 2 * windows, unit)

    return flowing_kernel(name, double_rows)


average_doubling_2 = _kernel("average_doubling_2", overlapping=False)
average_doubling_3 = _kernel("average_doubling_3", overlapping=True)
