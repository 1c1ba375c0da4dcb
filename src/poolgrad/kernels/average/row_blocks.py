"""Averages whose windows are long along H: every row of the result in three additions, however long they are.

Gradient rows are cut into blocks as long as the longest run of windows, from the plane's first on. A run is then the
end of one block and the beginning of the next, or one of these alone: a total grows with the block that is being
expanded, and when the block is whole its rows are turned into sums to its end. Nothing is subtracted, and blocks begin
at fixed rows, so that the order of additions depends on an element's place alone. Each layer of gradients has blocks of
its own; their sums are added last.
"""

from __future__ import annotations

from typing import Any

from ..geometry import DEPTH, ROWS, run_of, run_of_row
from ..jit.memory import inlined_piece, piece, write_i64
from ..record import NOTHING
from .expanding import Scratch, Tile, expanded_row, row_kernel, write_answer
from .spreading import fill
from .sums import add_row, copy_row, sum_rows


@piece
def sum_to_the_end(low: int, high: int, size: int, columns: int, unit: Any) -> None:
    """Let each slot from the first to the last hold the sum of its row and all after it."""
    for slot in range(high - 2 * size, low - 1, -size):
        add_row(slot, slot + size, columns, unit)


@piece
def layer_by_blocks(
    plan: Any, source: int, target: int, d: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one layer. A slot is not needed any more when the next block's row comes to it; behind those of a layer
    is one that holds what is added up of the block that is being expanded."""
    block, columns, size = plan.block, tile.right - tile.left, plan.wide * plan.itemsize
    layers_from, layers_to = run_of(plan, DEPTH, d)
    behind = scratch.sums + (layers_to - layers_from) * (block + 1) * size
    made, _ = run_of_row(plan, scratch.runs, begin)  # gradient rows expanded so far, up to here
    began, turned = made, NOTHING
    for h in range(begin, end):
        first, stop = run_of_row(plan, scratch.runs, h)
        while made < stop:
            slot, od = made % block, layers_from
            for slots in range(scratch.sums, behind, (block + 1) * size):
                total = slots + block * size
                if slot == 0 and made > began and turned != made - block:
                    sum_to_the_end(slots + max(began - (made - block), 0) * size, total, size, columns, unit)
                row = expanded_row(plan, source, od, made, tile, scratch, unit)
                copy_row(slots + slot * size, row, columns, unit)
                if slot == 0:
                    copy_row(total, row, columns, unit)
                elif began <= made - slot:  # else this block was not begun here, and its end alone will be asked for
                    add_row(total, row, columns, unit)
                od += 1
            made += 1
        start, number = (stop - 1) // block * block, 0
        turns = start < first < stop and turned != start
        for slots in range(scratch.sums, behind if first < stop else scratch.sums, (block + 1) * size):
            number = 0
            if turns:
                low, high = slots + max(began - start, 0) * size, slots + (stop - start) * size
                sum_to_the_end(low, high, size, columns, unit)
            if first != start:
                write_i64(scratch.rows, 0, slots + first % block * size)
                number = 1
            if first <= start < stop:
                write_i64(scratch.rows, 8 * number, slots + block * size)
                number += 1
            if layers_to - layers_from > 1:
                into = scratch.total if slots == scratch.sums else scratch.layer
                sum_rows(into, scratch.rows, number, columns, unit)
                if slots != scratch.sums:
                    add_row(scratch.total, into, columns, unit)
        if turns:
            turned = start
        if number == 0:  # no window holds this row
            fill(scratch.total, 0, columns, unit)
        if number == 0 or layers_to - layers_from > 1:
            write_i64(scratch.rows, 0, scratch.total)
            number = 1
        write_answer(plan, target + h * plan.result_steps[3], number, columns, scratch, unit)


@inlined_piece
def rows_by_blocks(
    plan: Any, source: int, target: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one plane, counted over its layers."""
    height = plan.size[ROWS]
    for d in range(begin // height, (end - 1) // height + 1):
        low, high, at = max(begin - d * height, 0), min(end - d * height, height), target + d * plan.result_steps[2]
        layer_by_blocks(plan, source, at, d, low, high, tile, scratch, unit)


average_row_blocks = row_kernel("average_row_blocks", rows_by_blocks)
