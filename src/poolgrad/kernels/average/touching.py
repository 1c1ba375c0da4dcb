"""Averages of windows that touch: every quotient is repeated along W and along H.

Windows are as wide and as high as their stride, from the first column and row on. Some quotients of a row are made in
registers and laid down in scratch, each as often as its window has columns; from there they go to as many rows of the
result. So gradients are read and results are written almost at once, and the copies come from the first-level cache.
What lies behind the last window of a row, or below the last row of windows, is zero.
"""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, ROWS
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import add, divide, load, prefetch, splat, store, store_interleaved
from ..record import LANES, REPEATED_AT_ONCE
from .one_pass import aside_of, bytes_ahead, copy_row, flowing_kernel
from .spreading import fill


def _repeater(name: str, stride: int) -> Any:
    @inlined_piece
    def repeat_vector(source: int, soon: int, by: Any, repeated: int, w: int, unit: Any) -> None:
        prefetch(soon, w, unit)
        here = add(divide(load(source, w, unit), by), splat(unit))  # sums begin at +0.0
        store_interleaved(repeated, stride * w, here, here, stride, 0)

    @piece_named(name)
    def repeat(source: int, soon: int, by: Any, repeated: int, windows: int, unit: Any) -> None:
        """Some neighbouring quotients, each ``stride`` times, and zeros behind them."""
        store(repeated, stride * windows, splat(unit))
        for w in range(0, windows - LANES, LANES):
            repeat_vector(source, soon, by, repeated, w, unit)
        repeat_vector(source, soon, by, repeated, windows - LANES, unit)

    return repeat


def _kernel(name: str, stride: int) -> Any:
    repeat = _repeater(f"{name}_row", stride)

    @inlined_piece
    def repeat_rows(
        plan: Any, source: int, target: int, low: int, high: int, by: Any, way: int, floats: int, unit: Any
    ) -> None:
        """Rows ``low`` to ``high`` of a plane."""
        windows, columns, step = plan.out[COLUMNS], plan.size[COLUMNS], plan.row_step
        h, soon = low, bytes_ahead(plan)
        while h < high:
            oh = h // stride
            stop = min(high, oh * stride + stride)  # rows of one row of windows
            row, at, done = source + oh * plan.grad_steps[3], target + h * step, 0
            while done < windows:
                # The last ones are never fewer than fill a vector.
                some = windows - done if windows - done < 2 * REPEATED_AT_ONCE else REPEATED_AT_ONCE
                width = columns - done * stride if done + some == windows else some * stride
                repeated = floats + aside_of(floats, at)
                if oh < plan.out[ROWS]:
                    repeat(row, row + soon, by, repeated, some, unit)
                else:
                    fill(repeated, 0, width, unit)
                for i in range(stop - h):
                    copy_row(at + i * step, repeated, width, way, unit)
                row, at, done = row + some * plan.itemsize, at + width * plan.itemsize, done + some
            h = stop

    return flowing_kernel(name, repeat_rows)


average_touching_2 = _kernel("average_touching_2", 2)
average_touching_3 = _kernel("average_touching_3", 3)
average_touching_4 = _kernel("average_touching_4", 4)
