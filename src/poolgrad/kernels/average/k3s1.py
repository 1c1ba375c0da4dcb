"""Averages over windows of 3 x 3 with a stride of 1: rows of gradients roll through registers.

Every element is the sum of three neighbouring quotients in each of three rows. A row's quotients are made and summed
along W in registers; what later rows need of it are two sums per column, that with the row before and its own. So
gradients are read and results are written in one loop, at the pace that memory has, and only the two rows of sums go
through the first-level cache.

The padding along W is 1, so column w lies in the windows w - 1 to w + 1. For each vector of columns ``sums`` holds the
sum of the last two rows of gradients, then that of the last one.
"""

from __future__ import annotations

from typing import Any

from ..emitting import stream_run
from ..geometry import COLUMNS, ROWS
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import add, divide, load, prefetch, read, splat, spliced, store, stream
from ..record import LANES, PAGE
from .one_pass import STORED, STREAMED_FROM_SCRATCH, WAITING, bytes_ahead, flowing_kernel
from .spreading import fill


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
def roll_rows(
    plan: Any, source: int, target: int, low: int, high: int, by: Any, way: int, floats: int, unit: Any
) -> None:
    """Rows ``low`` to ``high`` of a plane."""
    columns, step, between = plan.size[COLUMNS], plan.row_step, plan.grad_steps[3]
    pad, soon, pitch = plan.pad[ROWS], bytes_ahead(plan), plan.pitch * plan.itemsize
    sums, zeros, unused = floats, floats + 2 * pitch, floats + 3 * pitch
    even, odd = floats + 4 * pitch, floats + 5 * pitch  # rows that are written when the next one is made
    fill(sums, 0, 2 * plan.pitch, unit)
    for h in range(max(low - 2, -pad), high):
        at, oh = target + h * step, h + pad
        row = source + oh * between if oh < plan.out[ROWS] else zeros
        if h < low:  # a row that flows into these, too
            _roll(unused, row, row + soon, by, sums, columns, unit)
        elif way == STORED:
            _roll(at, row, row + soon, by, sums, columns, unit)
        elif way == STREAMED_FROM_SCRATCH:
            _roll(odd if h % 2 else even, row, row + soon, by, sums, columns, unit)
            if h > low:
                stream_run(at - step, even if h % 2 else odd, columns, unit)
        elif LANES * plan.itemsize < (at - row) % PAGE < WAITING:  # its loads would wait for stores
            _stream_backward(at, row, row + soon, by, sums, columns, unit)
        else:
            _stream_forward(at, row, row + soon, by, sums, columns, unit)
    if way == STREAMED_FROM_SCRATCH:
        stream_run(target + (high - 1) * step, even if high % 2 else odd, columns, unit)


average_k3s1 = flowing_kernel("average_k3s1", roll_rows)
