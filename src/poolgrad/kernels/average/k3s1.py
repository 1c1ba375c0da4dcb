"""Averages over windows of 3 x 3 with a stride of 1: rows of gradients roll through registers.

Every element is the sum of three neighbouring quotients in each of three rows. A row's quotients are made and summed
along W in registers; there they meet the sums of the two rows before, and then wait for the two that follow. So
gradients are read and results are written in one loop, at the pace that memory has, and only three rows of sums go
through the first-level cache.

The padding along W is 1, so column w lies in the windows w - 1 to w + 1. Rows of few_windows.py, which look up what is
to be done for each of them, take 1.07 to 1.13 times as long, and layers that can't be written meanwhile 1.2.
"""

from __future__ import annotations

from typing import Any

from ..emitting import stream_run
from ..geometry import COLUMNS, ROWS
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import add, divide, load, prefetch, read, splat, spliced, store, stream
from ..record import LANES, PAGE
from .one_pass import (
    STORED,
    STREAMED_FROM_SCRATCH,
    WAITING,
    Joined,
    bytes_ahead,
    cleared,
    flowing_kernel,
    joined_row,
    store_joined,
    stream_joined,
    with_one_divisor,
)
from .spreading import fill

# Rows of sums along W: of the two rows of gradients before one, and its own.
Sums = tuple[int, int, int]


@inlined_piece
def _neighbour(source: int, w: int, columns: int, by: Any, unit: Any) -> Any:
    """The quotient of a column beside a vector, in all lanes."""
    return divide(splat(read(source, w, unit)), by) if 0 <= w < columns else splat(unit)


def _roller(name: str, put: Any, *, forward: bool) -> Any:
    @inlined_piece
    def write_sum(target: Any, w: int, total: Any, sums: Sums, at: int, unit: Any) -> None:
        first, second, third = sums
        total = add(total, splat(unit))  # sums begin at +0.0
        put(target, w, add(add(load(first, at, unit), load(second, at, unit)), total))
        store(third, at, total)

    @inlined_piece
    def sum_of_three(behind: Any, here: Any, ahead: Any) -> Any:
        """Each lane with its neighbours, from left to right."""
        left, right = (behind, ahead) if forward else (ahead, behind)
        return add(add(spliced(left, here, 7), here), spliced(here, right, 1))

    @inlined_piece
    def roll_rest(target: Any, source: int, by: Any, sums: Sums, columns: int, unit: Any) -> None:
        """The last columns, if they are no whole vector: it is laid back; its sums have a place of their own."""
        w, at = columns - LANES, columns // LANES * LANES
        if at < columns:
            left, right = _neighbour(source, w - 1, columns, by, unit), splat(unit)
            behind, ahead = (left, right) if forward else (right, left)
            write_sum(target, w, sum_of_three(behind, divide(load(source, w, unit), by), ahead), sums, at, unit)

    @piece_named(name)
    def roll(target: Any, source: int, soon: int, by: Any, sums: Sums, columns: int, unit: Any) -> None:
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
            write_sum(target, w, sum_of_three(behind, here, ahead), sums, w, unit)
            behind, here = here, ahead
        w = last - begin
        prefetch(soon, w, unit)
        ahead = _neighbour(source, last + LANES if forward else -1, columns, by, unit)
        write_sum(target, w, sum_of_three(behind, here, ahead), sums, w, unit)
        if forward:
            roll_rest(target, source, by, sums, columns, unit)

    return roll


_roll = _roller("rolled", store, forward=True)
_stream_forward = _roller("streamed_forward", stream, forward=True)
_stream_backward = _roller("streamed_backward", stream, forward=False)


_roll_joined = _roller("rolled_joined", store_joined, forward=True)
_stream_joined = _roller("streamed_joined", stream_joined, forward=True)


@inlined_piece
def _roll_in_plane(plan: Any, at: int, h: int, low: int, high: int, way: int, row: Any, spare: int) -> None:
    """A row of a plane."""
    if way == STORED:
        _roll(at, *row)
    elif way == STREAMED_FROM_SCRATCH:  # a row is written when the next one is made
        (columns, unit), pitch = row[-2:], plan.pitch * plan.itemsize
        _roll(spare + h % 2 * pitch, *row)
        if h > low:
            stream_run(at - plan.row_step, spare + (h - 1) % 2 * pitch, columns, unit)
        if h == high - 1:
            stream_run(at, spare + h % 2 * pitch, columns, unit)
    elif LANES * plan.itemsize < (at - row[0]) % PAGE < WAITING:  # its loads would wait for stores
        _stream_backward(at, *row)
    else:
        _stream_forward(at, *row)


@inlined_piece
def _roll_joined_row(plan: Any, at: Joined, h: int, low: int, high: int, way: int, row: Any, spare: int) -> None:
    """A row of a layer in scratch, and one of the result with it."""
    if way == STORED:
        _roll_joined(at, *row)
    else:
        _stream_joined(at, *row)


@inlined_piece
def _row_of_plane(target: int, h: int, step: int, between: int) -> int:
    return target + h * step


def _row_roller(row_at: Any, roll_row: Any) -> Any:
    @inlined_piece
    def roll_rows(
        plan: Any, source: int, target: Any, low: int, high: int, by: Any, way: int, floats: int, unit: Any
    ) -> None:
        """Rows ``low`` to ``high`` of a plane. What the plan says is looked up before: stores might change it."""
        columns, between, steps = plan.size[COLUMNS], plan.grad_steps[3], (plan.row_step, plan.result_steps[3])
        pad, soon, pitch, behind_last = plan.pad[ROWS], bytes_ahead(plan), plan.pitch * plan.itemsize, plan.out[ROWS]
        zeros, unused, first = floats, floats + pitch, floats + 2 * pitch
        sums = (first, first + pitch, first + 2 * pitch)
        fill(first, 0, 2 * plan.pitch, unit)
        for h in range(max(low - 2, -pad), high):
            at = source + (h + pad) * between if h + pad < behind_last else zeros
            row = (at, at + soon, by, sums, columns, unit)
            if h < low:  # a row that flows into these, too
                _roll(unused, *row)
            else:
                roll_row(plan, row_at(target, h, *steps), h, low, high, way, row, floats + 5 * pitch)
            sums = (sums[1], sums[2], sums[0])

    return roll_rows


roll_rows, roll_joined_rows = _row_roller(_row_of_plane, _roll_in_plane), _row_roller(joined_row, _roll_joined_row)
average_k3s1 = flowing_kernel(cleared, with_one_divisor(roll_rows))
