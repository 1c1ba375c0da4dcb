"""Averages of large windows over channels that lie side by side: all channels of a row of a window, then the next row.

pixels.py walks over a window for every four vectors of channels. With thousands of channels each step is another page,
and 64x2048x7x7 takes two to three times as long. Here the pixels of a row are read side by side, each from its first
channel to its last, and sums wait in scratch. The order is the same: along W, then H, then D.
"""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import add, as_unit, divide, itemsize, load, prefetch_near, splat, store
from ..record import LANES, LINE, NOTHING, READ_BFLOATS, READ_FLOATS
from .pixels import FOUR, Box, box_in_row, row_of_boxes


def _window_pooler(name: str, take: Any, put: Any) -> Any:
    @inlined_piece
    def add_row(box: Box, at: int, sums: int, c: int, afresh: bool, unit: Any) -> None:
        """One vector of channels of a row to what its layer has so far."""
        total = take(at, c, unit)
        for _ in range(1, box.columns):
            at += box.column_step
            total = add(total, take(at, c, unit))
        store(sums, c, total if afresh else add(load(sums, c, unit), total))

    @inlined_piece
    def add_fours(box: Box, at: int, sums: int, c: int, afresh: bool, unit: Any) -> None:
        """Four vectors: additions of one need not wait for those of another. Pixels that are read side by side are no
        pattern for processors, so each is asked for a little before."""
        one, two = take(at, c, unit), take(at, c + LANES, unit)
        three, four = take(at, c + 2 * LANES, unit), take(at, c + 3 * LANES, unit)
        for _ in range(1, box.columns):
            at += box.column_step
            prefetch_near(at + c * box.stored + box.soon, 0, unit)
            prefetch_near(at + c * box.stored + box.soon + LINE, 0, unit)
            one, two = add(one, take(at, c, unit)), add(two, take(at, c + LANES, unit))
            three, four = add(three, take(at, c + 2 * LANES, unit)), add(four, take(at, c + 3 * LANES, unit))
        if not afresh:
            one, two = add(load(sums, c, unit), one), add(load(sums, c + LANES, unit), two)
            three, four = add(load(sums, c + 2 * LANES, unit), three), add(load(sums, c + 3 * LANES, unit), four)
        store(sums, c, one)
        store(sums, c + LANES, two)
        store(sums, c + 2 * LANES, three)
        store(sums, c + 3 * LANES, four)

    @piece_named(name)
    def pool(box: Box, offset: int, channels: int, target: int, sums: int, by: Any, unit: Any) -> None:
        """So many channels of a window, from some bytes behind its first ones on."""
        in_fours, in_vectors = channels - channels % FOUR, channels - channels % LANES
        left, last = in_vectors < channels, channels - LANES  # the last vector is laid back, but not its sums
        for d in range(box.layers):
            layer = sums if d == 0 else sums + (channels + LANES) * itemsize(unit)
            for h in range(box.rows):
                at = box.first + offset + d * box.layer_step + h * box.row_step
                for c in range(0, in_fours, FOUR):
                    add_fours(box, at, layer, c, h == 0, unit)
                for c in range(in_fours, in_vectors, LANES):
                    add_row(box, at, layer, c, h == 0, unit)
                if left:
                    add_row(box, at + (last - in_vectors) * box.stored, layer, in_vectors, h == 0, unit)
            if d > 0:
                for c in range(0, channels, LANES):
                    store(sums, c, add(load(sums, c, unit), load(layer, c, unit)))
        for c in range(0, channels, LANES):  # adding +0.0 makes sums begin there
            put(target, min(c, last), divide(add(load(sums, c, unit), splat(unit)), by))

    return pool


_floats = _window_pooler("pixel_rows_of_floats", load, store)
_halves = _window_pooler("pixel_rows_of_halves", load_halves, store_halves)
_bfloats = _window_pooler("pixel_rows_of_bfloats", load_bfloats, store_bfloats)


@inlined_piece
def _first_of(plan: Any, piece: int) -> int:
    """The first channel of a piece; all but the last are whole vectors."""
    return plan.channels if piece == plan.pieces else plan.channels * piece // plan.pieces // LANES * LANES


def pool_average_pixel_rows(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Units ``begin`` to ``end``: rows of the results, counted over images, layers and rows, and pieces of their
    channels."""
    plan = records[0]
    steps, height, pieces = plan.result_steps, plan.out[ROWS], plan.pieces
    for i in range(begin, end):
        row, first, stop = i // pieces, _first_of(plan, i % pieces), _first_of(plan, i % pieces + 1)
        image, od, oh = row // (plan.out[DEPTH] * height), row // height % plan.out[DEPTH], row % height
        boxes = row_of_boxes(plan, x + image * plan.grad_steps[0], od, oh)
        target = result + image * steps[0] + od * steps[2] + oh * steps[3] + first * plan.stored
        scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
        for ow in range(plan.out[COLUMNS]):
            box, by = box_in_row(plan, boxes, ow), splat(as_unit(scale * count_of(plan, COLUMNS, ow), unit))
            offset, channels = first * plan.stored, stop - first
            if plan.reading == READ_FLOATS:
                _floats(box, offset, channels, target, floats, by, unit)
            elif plan.reading == READ_BFLOATS:
                _bfloats(box, offset, channels, target, floats, by, unit)
            else:
                _halves(box, offset, channels, target, floats, by, unit)
            target += steps[4]
    return NOTHING
