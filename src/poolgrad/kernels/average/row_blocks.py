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
from ..jit.vectors import add, load, store
from ..record import LANES, NOTHING
from .expanding import Scratch, Tile, expanded_row, row_kernel, write_answer
from .spreading import fill
from .sums import add_row, copy_row, sum_rows


@piece
def sum_to_the_end(low: int, high: int, size: int, columns: int, unit: Any) -> None:
    """Let each slot from the first to the last hold the sum of its row and all after it."""
    slot = high - 2 * size
    while slot >= low:
        add_row(slot, slot + size, columns, unit)
        slot -= size


@piece
def keep_row(slot: int, total: int, row: int, is_first: bool, columns: int, unit: Any) -> None:
    """Copy a row to its slot, and add it to the total of its block."""
    for i in range(0, columns, LANES):
        numbers = load(row, i, unit)
        store(slot, i, numbers)
        store(total, i, numbers if is_first else add(load(total, i, unit), numbers))


@piece
def layer_by_blocks(
    plan: Any, source: int, target: int, d: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one layer. A slot is not needed any more when the next block's row comes to it; behind those of a layer
    is one that holds what is added up of the block that is being expanded."""
    block, columns, size = plan.block, tile.right - tile.left, plan.wide * plan.itemsize
    layers_from, layers_to = run_of(plan, DEPTH, d)
    layers, of_layer = layers_to - layers_from, (block + 1) * size
    made, _ = run_of_row(plan, scratch.runs, begin)  # gradient rows expanded so far, up to here
    slot = made % block
    start, began, turned = made - slot, made, NOTHING  # of the block that is being expanded, of all, of the last sums
    for h in range(begin, end):
        first, stop = run_of_row(plan, scratch.runs, h)
        while made < stop:
            if slot == block:
                start, slot = made, 0
            slots = scratch.sums
            for od in range(layers_from, layers_to):
                total = slots + block * size
                if slot == 0 and made > began and turned != made - block:
                    sum_to_the_end(slots + max(began - (made - block), 0) * size, total, size, columns, unit)
                row = expanded_row(plan, source, od, made, tile, scratch, unit)
                if began <= start:
                    keep_row(slots + slot * size, total, row, slot == 0, columns, unit)
                else:  # this block was not begun here, and its end alone will be asked for
                    copy_row(slots + slot * size, row, columns, unit)
                slots += of_layer
            made, slot = made + 1, slot + 1
        number, slots = 0, scratch.sums
        turns = start < first < stop and turned != start
        for od in range(layers_from, layers_to if first < stop else layers_from):
            number = 0
            if turns:
                low, high = slots + max(began - start, 0) * size, slots + (stop - start) * size
                sum_to_the_end(low, high, size, columns, unit)
            if first != start:
                at = first - start if first > start else first - start + block  # in this block, or the one before
                write_i64(scratch.rows, 0, slots + at * size)
                number = 1
            if first <= start < stop:
                write_i64(scratch.rows, 8 * number, slots + block * size)
                number += 1
            if layers > 1:
                into = scratch.total if od == layers_from else scratch.layer
                sum_rows(into, scratch.rows, number, columns, unit)
                if od != layers_from:
                    add_row(scratch.total, into, columns, unit)
            slots += of_layer
        if turns:
            turned = start
        if number == 0:  # no window holds this row
            fill(scratch.total, 0, columns, unit)
        if number == 0 or layers > 1:
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


average_row_blocks = row_kernel(rows_by_blocks)
