"""Averages over few windows along H and W, and several along D: layers of sums are made in scratch, and then added.

The sums of a layer of gradients along W and H are made once, as they are where there is no depth (few_windows.py,
k3s1.py, stride2.py), some rows at a time, and kept in a slot while windows hold layers of the result. A layer of the
result is a sum of such slots; k3s1.py can write it while the last of these is made. So additions go along W, then H,
then D, and what is added along D comes from the caches.
"""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, DEPTH, ROWS, run_of
from ..jit.memory import inlined_piece, read_i64, write_i64
from ..jit.vectors import fence
from ..record import LAYERS_IN_ONE_PASS, NOTHING, FewWindows
from ..rows import fill_row
from .few_windows import carve, row_maker
from .k3s1 import roll_joined_rows, roll_rows
from .one_pass import STORED, STREAMED, Cleared, Joined, cleared, divisor_of, way_past_caches, with_one_divisor
from .stride2 import row_doubler
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


def _layered_kernel(prepare: Any, make_rows: Any, join_layer: Any) -> Any:
    """A kernel; ``prepare`` and ``make_rows`` are those of a kernel without layers, and make rows in scratch here.
    ``join_layer`` does the same while it writes the result, or says that it can't."""

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, each of them in all its layers, counted over all planes and rows."""
        plan = records[0]
        scratch = prepare(plan, floats, integers, unit)
        to, height, slots = plan.result_steps, plan.size[ROWS], plan.depth_slots
        kept, size = floats + plan.longer * plan.itemsize, plan.tile * plan.row_step
        table = integers + 8 * plan.wide_row
        known, row = begin - begin, begin
        while row < end:
            plane, low = row // height, row % height
            high = min(height, low + min(end - row, plan.tile))
            n, c = plane // plan.channels, plane % plan.channels
            source, target = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1], result + n * to[0] + c * to[1]
            made = 0  # layers of gradients before this one are in their slots, or not needed
            above = kept - low * plan.row_step  # where row 0 of the first slot would be
            for d in range(plan.size[DEPTH]):
                first, stop = run_of(plan, DEPTH, d)
                at, joined = target + d * to[2], False
                for od in range(max(made, first), stop):
                    slot, layer = above + (od & slots - 1) * size, source + od * plan.grad_steps[2]
                    if od == stop - 1 and 2 <= stop - first <= MOST_JOINED:
                        two, three = above + (od - 2 & slots - 1) * size, above + (od - 1 & slots - 1) * size
                        rows = Joined(slot, at, two, three, plan.row_step if stop - first == MOST_JOINED else 0, unit)
                        joined = join_layer(plan, layer, od, rows, result, low, high, scratch, unit)
                    if not joined:
                        known = make_rows(plan, layer, od, slot, low, high, STORED, known, scratch, unit)
                made = max(made, stop)
                if not joined:
                    for i in range(stop - first):
                        write_i64(table, 8 * i, kept + (first + i & slots - 1) * size)
                    write_layer(plan, at, low, high, table, max(stop - first, 0), unit)
            row += high - low
        if plan.streaming:
            fence()
        return NOTHING

    return kernel


@inlined_piece
def _stay_apart(
    plan: Any, source: int, od: int, rows: Joined, result: int, low: int, high: int, scratch: Any, unit: Any
) -> bool:
    return False


@inlined_piece
def _join_k3s1(
    plan: Any, source: int, od: int, rows: Joined, result: int, low: int, high: int, scratch: Cleared, unit: Any
) -> bool:
    way = way_past_caches(plan, result) if plan.streaming else STORED
    if not plan.joined or (plan.streaming and way != STREAMED):
        return False
    first = rows.first if rows.first_step else scratch.floats  # where zeros are
    target = Joined(rows.made, rows.result, first, rows.second, rows.first_step, unit)
    by = divisor_of(plan, scratch.in_layer, od, unit)
    roll_joined_rows(plan, source, target, low, high, by, way, scratch.floats, unit)
    return True


def make_kernel(name: str) -> Any:
    if name == "average_layers_k3s1":
        return _layered_kernel(cleared, with_one_divisor(roll_rows), _join_k3s1)
    if name in LAYERS_IN_ONE_PASS:
        return _layered_kernel(cleared, with_one_divisor(row_doubler(name, odd=name.endswith("odd"))), _stay_apart)
    windows = FewWindows.of(name)
    return _layered_kernel(carve, row_maker(name, windows, in_scratch=True), _stay_apart)
