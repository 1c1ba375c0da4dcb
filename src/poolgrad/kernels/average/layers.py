"""Averages over few windows along H and W, and several along D: layers of sums are made in scratch, and then added.

The sums of a layer of gradients along W and H are made once, as they are where there is no depth (few_windows.py), some
rows at a time, and kept in a slot while windows hold layers of the result. A layer of the result is a sum of such
slots; up to three are added while the last of them is made. So additions go along W, then H, then D, and what is added
along D comes from the caches.
"""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, DEPTH, ROWS, count_of, run_of
from ..jit.memory import inlined_piece, read_i64, write_i64
from ..jit.vectors import fence
from ..record import NOTHING, FewWindows
from ..rows import fill_row
from .few_steps import carve, with_rows
from .few_windows import STORED, STREAMED_FROM_SCRATCH, layer_maker, way_past_caches
from .sums import write_sum


@inlined_piece
def write_layer(plan: Any, target: int, low: int, high: int, table: int, count: int, unit: Any) -> None:
    """Some rows of a layer of the result: the sum of so many slots, whose addresses stand in a table."""
    columns, step = plan.size[COLUMNS], plan.result_steps[3]
    rows, width = (1, (high - low) * columns) if step == columns * plan.stored else (high - low, columns)
    at = target + low * step
    for r in range(rows):
        if count == 0:
            fill_row(at + r * step, plan.code, width, unit, plan.streaming)
        else:
            write_sum(plan, at + r * step, table, count, width, unit)
            for i in range(count):
                write_i64(table, 8 * i, read_i64(table, 8 * i) + plan.row_step)


# Layers that are added up while the last of them is made.
MOST_JOINED = 3


def make_kernel(name: str) -> Any:
    make_rows, join = layer_maker(name, FewWindows.of(name))

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, each of them in all its layers, counted over all planes and rows."""
        plan = records[0]
        scratch = carve(plan, floats, integers, unit)
        to, height, slots = plan.result_steps, plan.size[ROWS], plan.depth_slots
        kept, size = floats + plan.longer * plan.itemsize, plan.tile * plan.row_step
        way = way_past_caches(plan, result) if plan.streaming else STORED
        joins = plan.joined != 0 and way != STREAMED_FROM_SCRATCH
        table = integers + 8 * plan.wide_row
        known, row = begin - begin, begin
        while row < end:
            plane, low = row // height, row % height
            high = min(height, low + min(end - row, plan.tile))
            scratch = with_rows(plan, scratch, low, high)
            n, c = plane // plan.channels, plane % plan.channels
            source, target = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1], result + n * to[0] + c * to[1]
            made = 0  # layers of gradients before this one are in their slots, or not needed
            above = kept - low * plan.row_step  # where row 0 of the first slot would be
            for d in range(plan.size[DEPTH]):
                first, stop = run_of(plan, DEPTH, d)
                at, is_written = target + d * to[2], False
                for od in range(max(made, first), stop):
                    slot, layer = above + (od & slots - 1) * size, source + od * plan.grad_steps[2]
                    scale = plan.divisor * count_of(plan, DEPTH, od)
                    is_written = joins and od == stop - 1 and 2 <= stop - first <= MOST_JOINED
                    if is_written:
                        two, three = above + (od - 2 & slots - 1) * size, above + (od - 1 & slots - 1) * size
                        mask = slot - slot - 1
                        if stop - first < MOST_JOINED:  # a row of zeros stands in for a layer
                            two, mask = scratch.zeros, slot - slot
                        rows, steps = (slot, at, two, three), (plan.row_step, to[3], mask)
                        known = join(plan, layer, rows, steps, low, high, way, scale, known, scratch, unit)
                    else:
                        known = make_rows(plan, layer, slot, low, high, scale, known, scratch, unit)
                made = max(made, stop)
                if not is_written:
                    for i in range(stop - first):
                        write_i64(table, 8 * i, kept + (first + i & slots - 1) * size)
                    write_layer(plan, at, low, high, table, max(stop - first, 0), unit)
            row += high - low
        if plan.streaming:
            fence()
        return NOTHING

    return kernel
