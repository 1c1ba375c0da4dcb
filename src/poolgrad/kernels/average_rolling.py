"""Averages over windows of 3 x 3 with a stride of 1: rows of gradients roll through registers.

Every element is the sum of three neighbouring quotients in each of three rows. A row's quotients are made and summed
along W in registers; what later rows need of it are two sums per column, that with the row before and its own. So
gradients are read and results are written in one loop, at the pace that memory has, and only the two rows of sums go
through the first-level cache.

All windows count the same and the padding along W is 1, so that column w lies in the windows w - 1 to w + 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .geometry import COLUMNS, ROWS, count_of
from .memory import inlined_piece, piece_named
from .record import AHEAD, LANES, NOTHING, PAGE
from .spreading import fill
from .vectors import add, as_unit, divide, fence, load, prefetch, read, splat, spliced, store, stream

# A processor takes a load for one of what a store has yet to write if their places in a page agree, and lets it wait.
# Of stores past the caches so many bytes may be waiting: a row of gradients that would be read at such places is rolled
# from its end.
WAITING = 512


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    sums: int  # along W, for vectors of columns in turn: of the last two rows of gradients, of the last row
    zeros: int  # gradients of windows that do not exist
    unused: int  # results that nobody wants


@inlined_piece
def _neighbour(source: int, w: int, columns: int, by: Any, unit: Any) -> Any:
    """The quotient of a column beside a vector, in all lanes."""
    return divide(splat(read(source, w, unit)), by) if 0 <= w < columns else splat(unit)


def _roller(name: str, put: Any, *, forward: bool) -> Any:
    @inlined_piece
    def write_sum(target: int, w: int, total: Any, sums: int, at: int, unit: Any) -> None:
        total = add(total, splat(unit))  # sums begin at +0.0
        put(target, w, add(load(sums, at, unit), total))
        store(sums, at, add(load(sums, at + LANES, unit), total))
        store(sums, at + LANES, total)

    @inlined_piece
    def sum_of_three(behind: Any, here: Any, ahead: Any) -> Any:
        """Each lane with its neighbours, from left to right."""
        left, right = (behind, ahead) if forward else (ahead, behind)
        return add(add(spliced(left, here, 7), here), spliced(here, right, 1))

    @inlined_piece
    def roll_rest(target: int, source: int, by: Any, sums: int, columns: int, unit: Any) -> None:
        """The last columns, if they are no whole vector: it is laid back; its sums have a place of their own."""
        w, at = columns - LANES, columns // LANES * LANES
        if at < columns:
            left, right = _neighbour(source, w - 1, columns, by, unit), splat(unit)
            behind, ahead = (left, right) if forward else (right, left)
            write_sum(target, w, sum_of_three(behind, divide(load(source, w, unit), by), ahead), sums, 2 * at, unit)

    @piece_named(name)
    def roll(target: int, source: int, soon: int, by: Any, sums: int, columns: int, unit: Any) -> None:
        """One row of the result, with the last row of gradients that flows into it; those at ``soon`` are next."""
        last = columns // LANES * LANES - LANES  # of the whole vectors
        begin, step = (0, LANES) if forward else (last, -LANES)
        if not forward:
            roll_rest(target, source, by, sums, columns, unit)
        behind = _neighbour(source, -1 if forward else last + LANES, columns, by, unit)
        here = divide(load(source, begin, unit), by)
        for i in range(0, last, LANES):
            w = i if forward else last - i
            prefetch(soon, w, unit)
            ahead = divide(load(source, w + step, unit), by)
            write_sum(target, w, sum_of_three(behind, here, ahead), sums, 2 * w, unit)
            behind, here = here, ahead
        w = last - begin
        prefetch(soon, w, unit)
        ahead = _neighbour(source, last + LANES if forward else -1, columns, by, unit)
        write_sum(target, w, sum_of_three(behind, here, ahead), sums, 2 * w, unit)
        if forward:
            roll_rest(target, source, by, sums, columns, unit)

    return roll


_roll = _roller("rolled", store, forward=True)
_stream_forward = _roller("streamed_forward", stream, forward=True)
_stream_backward = _roller("streamed_backward", stream, forward=False)


@inlined_piece
def _row_of(plan: Any, source: int, oh: int, scratch: Scratch) -> int:
    """Where a row of gradients lies: zeros, if there is no such window."""
    return source + oh * plan.grad_steps[3] if 0 <= oh < plan.out[ROWS] else scratch.zeros


@inlined_piece
def _roll_plane(
    plan: Any, source: int, target: int, low: int, high: int, by: Any, streaming: bool, scratch: Scratch, unit: Any
) -> None:
    """Rows ``low`` to ``high`` of a plane."""
    columns, step, pad = plan.size[COLUMNS], plan.result_steps[3], plan.pad[ROWS]
    between = plan.grad_steps[3]
    soon = -(-AHEAD * plan.itemsize // abs(between)) * between if between != 0 else between
    fill(scratch.sums, 0, 2 * plan.pitch, unit)
    for oh in range(max(0, low + pad - 2), low + pad):  # rows that flow into these, too
        row = _row_of(plan, source, oh, scratch)
        _roll(scratch.unused, row, row + soon, by, scratch.sums, columns, unit)
    for h in range(low, high):
        row, at = _row_of(plan, source, h + pad, scratch), target + h * step
        if not streaming:
            _roll(at, row, row + soon, by, scratch.sums, columns, unit)
        elif LANES * plan.itemsize < (at - row) % PAGE < WAITING:
            _stream_backward(at, row, row + soon, by, scratch.sums, columns, unit)
        else:
            _stream_forward(at, row, row + soon, by, scratch.sums, columns, unit)


def average_rolling(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the result, counted over all planes and rows."""
    plan = records[0]
    row = plan.pitch * plan.itemsize
    scratch = Scratch(floats, floats + 2 * row, floats + 3 * row)
    fill(scratch.zeros, 0, plan.pitch, unit)
    to, height = plan.result_steps, plan.size[ROWS]
    aligned = (result | to[0] | to[1] | to[3] | plan.size[COLUMNS] * plan.itemsize) % 16 == 0
    streaming = plan.streaming and aligned
    by = splat(as_unit(plan.divisor * count_of(plan, ROWS, 0) * count_of(plan, COLUMNS, 0), unit))
    at = begin
    while at < end:  # plane by plane
        plane, low = at // height, at % height
        high = min(height, low + end - at)
        n, c = plane // plan.channels, plane % plan.channels
        source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
        _roll_plane(plan, source, result + n * to[0] + c * to[1], low, high, by, streaming, scratch, unit)
        at += high - low
    if streaming:
        fence()
    return NOTHING
