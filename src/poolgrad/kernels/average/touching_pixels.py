"""Averages of windows that do not overlap, where the channels of a pixel are neighbours in memory.

A gradient is divided in registers, some vectors of channels at once, and written to all pixels of a row that its window
holds; for each row of a window that is done anew. So nothing goes through scratch, and what no window holds becomes 0.
"""

from __future__ import annotations

from typing import Any

from ..emitting import can_stream
from ..geometry import COLUMNS, DEPTH, ROWS, bounds_of, count_of, run_of
from ..jit.few import load_few, load_few_bfloats, load_few_halves, store_few, store_few_bfloats, store_few_halves
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import fence, load, splat, store, stream
from ..record import LANES, NOTHING, WRITE_FLOATS, WRITE_HALVES
from .quotients import quotient

# Vectors of channels at once.
FOUR = 4 * LANES


def _spreader(name: str, take: Any, put: Any, take_few: Any, put_few: Any) -> Any:
    @inlined_piece
    def fill(plan: Any, target: int, source: int, divisor: int, columns: int, unit: Any) -> None:
        """The pixels of a row that a window holds."""
        step, n, c = plan.result_steps[4], plan.channels, columns - columns
        if n < LANES:
            one = quotient(take_few(source, n, unit), divisor, unit)
            for w in range(columns):
                put_few(target + w * step, n, one)
            return
        while c < n:  # the last vectors are laid back
            if n >= FOUR and n - c > LANES:
                c = min(c, n - FOUR)
                one, two = take(source, c, unit), take(source, c + LANES, unit)
                three, four = take(source, c + 2 * LANES, unit), take(source, c + 3 * LANES, unit)
                one, two = quotient(one, divisor, unit), quotient(two, divisor, unit)
                three, four = quotient(three, divisor, unit), quotient(four, divisor, unit)
                for w in range(columns):
                    put(target + w * step, c, one)
                    put(target + w * step, c + LANES, two)
                    put(target + w * step, c + 2 * LANES, three)
                    put(target + w * step, c + 3 * LANES, four)
                c += FOUR
            else:
                c = min(c, n - LANES)
                one = quotient(take(source, c, unit), divisor, unit)
                for w in range(columns):
                    put(target + w * step, c, one)
                c += LANES

    @inlined_piece
    def clear(plan: Any, target: int, columns: int, unit: Any) -> None:
        for w in range(columns):
            at, c = target + w * plan.result_steps[4], w - w
            if plan.channels < LANES:
                put_few(at, plan.channels, splat(unit))
                continue
            while c < plan.channels:
                put(at, min(c, plan.channels - LANES), splat(unit))
                c += LANES

    @piece_named(name)
    def spread(plan: Any, target: int, source: int, scale: int, windows: int, unit: Any) -> None:
        """A row of the result, over which so many windows lie."""
        step, done = plan.result_steps[4], windows - windows
        for o in range(windows):
            start, stop = bounds_of(plan, COLUMNS, o)
            start, stop = max(start, done), min(stop, plan.size[COLUMNS])
            clear(plan, target + done * step, min(start, plan.size[COLUMNS]) - done, unit)
            gradient, divisor = source + o * plan.grad_steps[4], scale * count_of(plan, COLUMNS, o)
            fill(plan, target + start * step, gradient, divisor, stop - start, unit)
            done = max(done, stop)
        clear(plan, target + done * step, plan.size[COLUMNS] - done, unit)

    return spread


_spread_floats = _spreader("pixels_spread_floats", load, store, load_few, store_few)
_spread_past_caches = _spreader("pixels_spread_past_caches", load, stream, load_few, store_few)
_spread_halves = _spreader("pixels_spread_halves", load_halves, store_halves, load_few_halves, store_few_halves)
_spread_bfloats = _spreader("pixels_spread_bfloats", load_bfloats, store_bfloats, load_few_bfloats, store_few_bfloats)


def average_touching_pixels(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the result, counted over all images, layers and rows."""
    plan = records[0]
    height, depth = plan.size[ROWS], plan.size[DEPTH]
    for row in range(begin, end):
        image, d, h = row // (depth * height), row // height % depth, row % height
        (od, layers), (oh, rows) = run_of(plan, DEPTH, d), run_of(plan, ROWS, h)
        windows, scale = plan.out[COLUMNS], plan.divisor
        if od < layers and oh < rows:
            scale *= count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
        else:
            windows = od - od
        source = grad + image * plan.grad_steps[0] + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
        target = result + image * plan.result_steps[0] + d * plan.result_steps[2] + h * plan.result_steps[3]
        if plan.writing == WRITE_FLOATS:
            if plan.streaming and can_stream(plan, target | plan.channels * plan.itemsize):
                _spread_past_caches(plan, target, source, scale, windows, unit)
            else:
                _spread_floats(plan, target, source, scale, windows, unit)
        elif plan.writing == WRITE_HALVES:
            _spread_halves(plan, target, source, scale, windows, unit)
        else:
            _spread_bfloats(plan, target, source, scale, windows, unit)
    if plan.streaming:
        fence()
    return NOTHING
