"""The gradient of every average: divide each gradient by its window's count, then let it flow into its window.

It separates. Rows of gradients are divided and expanded along W (expanding.py); the expanded rows of the windows that
hold an input row are added up (sums.py), then such sums over the layers that hold it. So additions go along W, then H,
then D, and their order depends on nothing but the element's place in its plane.
"""

from __future__ import annotations

from typing import Any

from ..geometry import DEPTH, ROWS, run_of, run_of_row
from ..jit.memory import inlined_piece, write_i64
from ..record import LONGEST_TABLE
from .expanding import Scratch, Tile, expanded_row, row_kernel, write_answer
from .spreading import fill
from .sums import add_row, copy_row, sum_rows


@inlined_piece
def sum_layers(
    plan: Any,
    source: int,
    layers_from: int,
    layers_to: int,
    first: int,
    stop: int,
    columns: int,
    tile: Tile,
    scratch: Scratch,
    unit: Any,
) -> None:
    """Any rows of any layers into ``total``, one after the other: they may share a slot."""
    for od in range(layers_from, layers_to):
        into = scratch.total if od == layers_from else scratch.layer
        for oh in range(first, stop):
            row = expanded_row(plan, source, od, oh, tile, scratch, unit)
            if oh == first:
                copy_row(into, row, columns, unit)
            else:
                add_row(into, row, columns, unit)
        if od != layers_from:
            add_row(scratch.total, scratch.layer, columns, unit)


@inlined_piece
def rows_by_slots(
    plan: Any, source: int, target: int, begin: int, end: int, tile: Tile, scratch: Scratch, unit: Any
) -> None:
    """Rows of one plane, counted over its layers: few windows hold a row, and their expanded rows are at hand."""
    height, columns = plan.size[ROWS], tile.right - tile.left
    d, h = begin // height, begin % height
    layers_from, layers_to = run_of(plan, DEPTH, d)
    first, stop = run_of_row(plan, scratch.runs, h)
    at_once = min((plan.row_slots - 1) * plan.batch + 1, LONGEST_TABLE)  # so many rows are in different slots
    number, again = 0, False  # rows in the table; whether they are those of the row before
    for r in range(begin, end):
        last_of_layer = h == height - 1
        next_first, next_stop = run_of_row(plan, scratch.runs, 0 if last_of_layer else h + 1)
        more = not last_of_layer and next_first == first and next_stop == stop  # the next row needs the same
        if not again:
            number = stop - first
            if layers_from >= layers_to or number <= 0:  # stride larger than kernel: no window here
                fill(scratch.total, 0, columns, unit)
                is_summed = True
            elif layers_to - layers_from == 1 and number <= at_once:
                for i in range(number):
                    row = expanded_row(plan, source, layers_from, first + i, tile, scratch, unit)
                    write_i64(scratch.rows, 8 * i, row)
                is_summed = more and number > 1
                if is_summed:
                    sum_rows(scratch.total, scratch.rows, number, columns, unit)
            else:
                sum_layers(plan, source, layers_from, layers_to, first, stop, columns, tile, scratch, unit)
                is_summed = True
            if is_summed:
                number = 1
                write_i64(scratch.rows, 0, scratch.total)
        at = target + d * plan.result_steps[2] + h * plan.result_steps[3]
        write_answer(plan, at, number, columns, scratch, unit)
        again, first, stop, h = more, next_first, next_stop, h + 1
        if last_of_layer and r + 1 < end:
            d, h = d + 1, 0
            layers_from, layers_to = run_of(plan, DEPTH, d)


average_rows = row_kernel(rows_by_slots)
