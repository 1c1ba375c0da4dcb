"""Averages whose windows are long along H: every row of the result in three additions, however long they are.

Gradient rows are cut into blocks as long as the longest run of windows, from the plane's first on. A run is then the
end of one block and the beginning of the next, or one of these alone: ``total`` grows with the block that is being
expanded, and when the block is whole its rows are turned into sums to its end. Nothing is subtracted, and blocks begin
at fixed rows, so that the order of additions depends on an element's place alone.
"""

from __future__ import annotations

from typing import Any

from ..geometry import ROWS, run_of_row
from ..jit.memory import inlined_piece, piece, write_i64
from ..record import NOTHING
from .expanding import Scratch, Tile, expanded_row, row_kernel, write_answer
from .spreading import fill
from .sums import add_row, copy_row


@inlined_piece
def sum_at(plan: Any, scratch: Scratch, slot: int) -> int:
    return scratch.sums + slot * plan.wide * plan.itemsize


@piece
def sum_to_the_end(plan: Any, low: int, high: int, columns: int, scratch: Scratch, unit: Any) -> None:
    """Let each slot from low to high hold the sum of its row and all after it."""
    for slot in range(high - 2, low - 1, -1):
        add_row(sum_at(plan, scratch, slot), sum_at(plan, scratch, slot + 1), columns, unit)


@inlined_piece
def rows_by_blocks(
    plan: Any, source: int, target: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one plane. A slot is not needed any more when the next block's row comes to it."""
    block, columns, layer = plan.block, tile.right - tile.left, begin // plan.size[ROWS]
    made, _ = run_of_row(plan, scratch.runs, begin)  # gradient rows expanded so far, up to here
    began, turned = made, NOTHING
    for h in range(begin, end):
        first, stop = run_of_row(plan, scratch.runs, h)
        while made < stop:
            slot = made % block
            if slot == 0 and made > began and turned != made - block:
                sum_to_the_end(plan, max(began - (made - block), 0), block, columns, scratch, unit)
            row = expanded_row(plan, source, layer, made, tile, scratch, unit)
            copy_row(sum_at(plan, scratch, slot), row, columns, unit)
            if slot == 0:
                copy_row(scratch.total, row, columns, unit)
            elif began <= made - slot:  # else this block was not begun here, and its end alone will be asked for
                add_row(scratch.total, row, columns, unit)
            made += 1
        start, number = (stop - 1) // block * block, 0
        if start < first < stop and turned != start:
            sum_to_the_end(plan, max(began - start, 0), stop - start, columns, scratch, unit)
            turned = start
        if first >= stop:  # behind the last window
            fill(scratch.layer, 0, columns, unit)
            write_i64(scratch.rows, 0, scratch.layer)
            number = 1
        elif first != start:
            write_i64(scratch.rows, 0, sum_at(plan, scratch, first % block))
            number = 1
        if first <= start < stop:
            write_i64(scratch.rows, 8 * number, scratch.total)
            number += 1
        write_answer(plan, target + h * plan.result_steps[3], number, columns, scratch, unit)


average_row_blocks = row_kernel("average_row_blocks", rows_by_blocks)
