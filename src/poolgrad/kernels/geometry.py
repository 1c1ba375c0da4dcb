"""Windows along one axis of a plan, as kernels ask for them; the formulas are those of ``poolgrad.base.windows``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import windows
from .jit.memory import inlined_piece, piece, read_i64, write_i64
from .record import ROWS_IN_TABLE

first_window, last_window = piece(windows.first_window), piece(windows.last_window)
window_start, window_stop = piece(windows.window_start), piece(windows.window_stop)
window_count = piece(windows.window_count)

# Not plain integers: Numba would compile everything that is given one once for each.
DEPTH, ROWS, COLUMNS = np.int64(0), np.int64(1), np.int64(2)


@piece
def run_of(plan: Any, axis: int, i: int) -> tuple[int, int]:
    """First and one past the last window that hold element i of an axis."""
    rule, size, out = plan.rule[axis], plan.size[axis], plan.out[axis]
    kernel, stride, pad = plan.kernel[axis], plan.stride[axis], plan.pad[axis]
    first = first_window(i, rule, size, out, kernel, stride, pad)
    return first, last_window(i, rule, size, out, stride, pad) + 1


@piece
def tabulate_runs(plan: Any, runs: int) -> None:
    """The runs of a plane's first rows."""
    for h in range(min(plan.size[ROWS], ROWS_IN_TABLE)):
        first, stop = run_of(plan, ROWS, h)
        write_i64(runs, 16 * h, first)
        write_i64(runs, 16 * h + 8, stop)


@inlined_piece
def run_of_row(plan: Any, runs: int, h: int) -> tuple[int, int]:
    """The run of a row, from the table if it is there."""
    if h < ROWS_IN_TABLE:
        return read_i64(runs, 16 * h), read_i64(runs, 16 * h + 8)
    return run_of(plan, ROWS, h)


@piece
def bounds_of(plan: Any, axis: int, o: int) -> tuple[int, int]:
    """Start and stop of window o of an axis."""
    rule, size, out, stride, pad = plan.rule[axis], plan.size[axis], plan.out[axis], plan.stride[axis], plan.pad[axis]
    start = window_start(o, rule, size, out, stride, pad)
    return start, window_stop(o, rule, size, out, plan.kernel[axis], stride, pad)


@piece
def count_of(plan: Any, axis: int, o: int) -> int:
    """What window o of an axis contributes to the divisor."""
    start, stop = bounds_of(plan, axis, o)
    return window_count(start, stop, plan.size[axis], plan.counting[axis])


@inlined_piece
def windows_in(plan: Any) -> int:
    """How many windows a plane has, over all its layers."""
    return plan.out[DEPTH] * plan.out[ROWS] * plan.out[COLUMNS]


@inlined_piece
def elements_in(plan: Any) -> int:
    return plan.size[DEPTH] * plan.size[ROWS] * plan.size[COLUMNS]


@piece
def most_windows(plan: Any, axis: int) -> int:
    """How many windows hold an element of an axis at most."""
    most = 1
    for i in range(plan.size[axis]):
        first, stop = run_of(plan, axis, i)
        most = max(most, stop - first)
    return most


@piece
def fewest_windows(plan: Any, axis: int, most: int) -> int:
    """How many windows hold an element at least, but for borders: as many as any other, or one less."""
    same = plan.rule[axis] != windows.ADAPTIVE and (plan.kernel[axis] - 1) % plan.stride[axis] + 1 == plan.stride[axis]
    return most if same else most - 1
