"""Maxima of large windows, one window after the other: neighbours of a row in the lanes of vectors.

Every lane finds the best of what it sees, of four rows at a time in vectors of their own, since a comparison waits for
the one before it. At the end lanes are compared with each other: of equal numbers the first of the plane wins, and of
several NaN the last, as if all elements had been looked at one by one. No sum could be made so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..geometry import COLUMNS, DEPTH, ROWS
from ..jit.few import load_few, load_few_bfloats, load_few_halves
from ..jit.halves import load_bfloats, load_halves
from ..jit.memory import inlined_piece, piece_named, write_i32, write_i64
from ..jit.places import lanes_apart, larger, moved, of_longer, place_at, splat_place, winner
from ..jit.vectors import itemsize, load, prefetch, spliced, store
from ..record import INT32, LANES, NOTHING, READ_BFLOATS, READ_FLOATS
from ..rows import store_row
from ..runtime.stopping import shall_stop
from .lanes import offset_of
from .maxima import lowest
from .pixels import Box, box_in_row, row_of_boxes

# Rows of a window that are looked at together.
FOUR = 4


@inlined_piece
def _both(one: Any, other: Any) -> Any:
    return winner(one[0], one[1], other[0], other[1])


@inlined_piece
def best_lane(best: Any) -> Any:
    """The best of all lanes, in each of them."""
    best = _both(best, (spliced(best[0], best[0], 4), spliced(best[1], best[1], 4)))
    best = _both(best, (spliced(best[0], best[0], 2), spliced(best[1], best[1], 2)))
    return _both(best, (spliced(best[0], best[0], 1), spliced(best[1], best[1], 1)))


def _finder(name: str, take: Any, take_few: Any) -> Any:
    """What finds the maximum of a window whose elements are of one type in memory."""

    @inlined_piece
    def look(best: Any, at: int, i: int, place: int, lanes: Any, unit: Any) -> Any:
        return larger(best[0], best[1], take(at, i, unit), moved(lanes, place + i))

    @inlined_piece
    def look_at_row(best: Any, at: int, place: int, columns: int, lanes: Any, unit: Any) -> Any:
        for i in range(0, columns - LANES, LANES):
            best = look(best, at, i, place, lanes, unit)
        return look(best, at, columns - LANES, place, lanes, unit)  # laid back

    @inlined_piece
    def look_at_four(best: Any, box: Box, at: int, place: int, lanes: Any, unit: Any) -> Any:
        """A row for each of four. Memory is asked for the next four."""
        one, two, three, four = best
        step, places, last = box.row_step, box.row_places, box.columns - LANES
        for start in range(0, box.columns, LANES):
            i = min(start, last)
            later = at + FOUR * step + i * box.stored
            prefetch(later, 0, unit)
            prefetch(later + step, 0, unit)
            prefetch(later + 2 * step, 0, unit)
            prefetch(later + 3 * step, 0, unit)
            one = look(one, at, i, place, lanes, unit)
            two = look(two, at + step, i, place + places, lanes, unit)
            three = look(three, at + 2 * step, i, place + 2 * places, lanes, unit)
            four = look(four, at + 3 * step, i, place + 3 * places, lanes, unit)
        return one, two, three, four

    @inlined_piece
    def find_in_long_rows(box: Box, unit: Any) -> Any:
        nothing, lanes = (lowest(unit), splat_place(box.place, unit)), lanes_apart(splat_place(0, unit), 0, 1)
        four = nothing, nothing, nothing, nothing
        for d in range(box.layers):
            at, place = box.first + d * box.layer_step, box.place + d * box.layer_places
            together = box.rows - box.rows % FOUR
            for h in range(0, together, FOUR):
                four = look_at_four(four, box, at + h * box.row_step, place + h * box.row_places, lanes, unit)
            for h in range(together, box.rows):
                here, there = at + h * box.row_step, place + h * box.row_places
                one = look_at_row(four[0], here, there, box.columns, lanes, unit)
                four = one, four[1], four[2], four[3]
        return best_lane(_both(_both(four[0], four[1]), _both(four[2], four[3])))

    @inlined_piece
    def find_in_short_rows(box: Box, unit: Any) -> Any:
        """Lanes that have no element of a row look at what never wins."""
        best, lanes = (lowest(unit), splat_place(box.place, unit)), lanes_apart(splat_place(0, unit), 0, 1)
        left = lanes_apart(splat_place(box.columns, unit), 0, -1)
        for d in range(box.layers):
            for h in range(box.rows):
                at = box.first + d * box.layer_step + h * box.row_step
                place = box.place + d * box.layer_places + h * box.row_places
                value = of_longer(left, 0, take_few(at, box.columns, unit), lowest(unit))
                best = larger(best[0], best[1], value, moved(lanes, place))
        return best_lane(best)

    @piece_named(name)
    def find(plan: Any, boxes: Box, values: int, places: int, unit: Any) -> None:
        """The maxima of a row of windows, into scratch. Eight are written for each; the next one writes over them."""
        for ow in range(plan.out[COLUMNS]):
            if shall_stop(plan, 1, plan.out[COLUMNS], 1):
                return
            box = box_in_row(plan, boxes, ow)
            best = find_in_long_rows(box, unit) if box.columns >= LANES else find_in_short_rows(box, unit)
            store(values, ow, best[0])
            store(places, ow, best[1])

    return find


_in_floats = _finder("large_windows_of_floats", load, load_few)
_in_halves = _finder("large_windows_of_halves", load_halves, load_few_halves)
_in_bfloats = _finder("large_windows_of_bfloats", load_bfloats, load_few_bfloats)


def pool_max_large_windows(
    records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over planes, layers and rows."""
    plan = records[0]
    windows, places = plan.out[COLUMNS], floats + plan.pitch * itemsize(unit)
    for row in range(begin, end):
        oh, rest = row % plan.out[ROWS], row // plan.out[ROWS]
        od, p = rest % plan.out[DEPTH], rest // plan.out[DEPTH]
        n, c = p // plan.channels, p % plan.channels
        boxes = row_of_boxes(plan, x + n * plan.grad_steps[0] + c * plan.grad_steps[1], od, oh)
        if plan.reading == READ_FLOATS:
            _in_floats(plan, boxes, floats, places, unit)
        elif plan.reading == READ_BFLOATS:
            _in_bfloats(plan, boxes, floats, places, unit)
        else:
            _in_halves(plan, boxes, floats, places, unit)
        steps = plan.result_steps
        at = result + n * steps[0] + c * steps[1] + offset_of(steps, (od, oh), 0)
        store_row(at, steps[4], plan.code, floats, windows, unit)
        steps = plan.index_steps
        at = indices + n * steps[0] + c * steps[1] + offset_of(steps, (od, oh), 0)
        for ow in range(windows):
            if plan.index_code == INT32:
                write_i32(at, ow * steps[4], np.int32(place_at(places, ow, unit)))
            else:
                write_i64(at, ow * steps[4], place_at(places, ow, unit))
    return NOTHING
