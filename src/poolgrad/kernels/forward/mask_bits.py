"""Maxima of windows, and a mask of bits that says at which position of its window each stands.

A row of outputs is made at a time, channel by channel of a group that shares words: the elements at one position of
all windows are gathered and compared with the best so far, position after position. So the first of equal numbers wins
and the last NaN, as everywhere. Then each output's bit is set in the words of its position.
"""

from __future__ import annotations

import math
from typing import Any

from numba import types

from ..geometry import COLUMNS, ROWS
from ..jit.memory import clear_bytes, inlined_piece, piece, read_i64, read_u16, write_i64, write_u16
from ..jit.vectors import read, type_as, write
from ..record import GROUP, NOTHING
from ..rows import load_row, store_row
from ..runtime.stopping import shall_stop


@inlined_piece
def outputs_at(plan: Any, axis: int, k: int) -> tuple[int, int]:
    """First and one past the last output of an axis whose window's position k lies inside the input."""
    stride, ahead = plan.stride[axis], plan.pad[axis] - k
    return max(-(-ahead // stride), 0), min((plan.size[axis] - 1 + ahead) // stride + 1, plan.out[axis])


@piece
def set_words(plan: Any, words: int, oh: int) -> None:
    """The words of a row of outputs, before any bit of them is set; with the last row those behind it."""
    width, row = plan.out[COLUMNS], plan.mask_row
    first, positions = 2 * oh * width, plan.kernel[ROWS] * plan.kernel[COLUMNS]
    stop = row if oh == plan.out[ROWS] - 1 else first + 2 * width
    if positions > 1:
        for k in range(positions):
            clear_bytes(words + k * row + first, stop - first)
    else:  # whoever reads it knows where the maximum is
        for at in range(first, min(stop, row - 2 * GROUP), 2):
            write_u16(words, at, types.uint16(0xFFFF))
        if stop == row:
            clear_bytes(words + row - 2 * GROUP, 2 * GROUP)


@piece
def compare_positions(
    plan: Any, plane: int, oh: int, left: int, n: int, best: int, which: int, gathered: int, unit: Any
) -> None:
    """The maxima of n windows of a row, and their positions."""
    width, steps = plan.kernel[COLUMNS], plan.grad_steps
    top = oh * plan.stride[ROWS] - plan.pad[ROWS]
    first, stop = max(-top, 0), min(plan.kernel[ROWS], plan.size[ROWS] - top)
    for i in range(n):
        write(best, i, type_as(-math.inf, unit))
        before = plan.pad[COLUMNS] - (left + i) * plan.stride[COLUMNS]
        write_i64(which, 8 * i, first * width + max(before, 0))
    for kh in range(first, stop):
        for kw in range(width):
            begin, end = outputs_at(plan, COLUMNS, kw)
            begin, end = max(begin, left), min(end, left + n)
            if begin >= end:
                continue
            column, at, k = begin * plan.stride[COLUMNS] - plan.pad[COLUMNS] + kw, begin - left, kh * width + kw
            source, step = plane + (top + kh) * steps[3] + column * steps[4], plan.stride[COLUMNS] * steps[4]
            # Rows are widened by an addition, and -0.0 leaves zeros their signs.
            load_row(source, step, plan.code, plan.rounding, gathered, end - begin, -unit)
            for i in range(end - begin):
                value, so_far, place = read(gathered, i, unit), read(best, at + i, unit), read_i64(which, 8 * (at + i))
                wins = (value > so_far) | (value != value)
                write(best, at + i, value if wins else so_far)
                write_i64(which, 8 * (at + i), k if wins else place)


def pool_max_bits(
    records: Any, x: int, result: int, mask: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over images, groups of channels and rows."""
    plan = records[0]
    height, width, positions = plan.out[ROWS], plan.out[COLUMNS], plan.kernel[ROWS] * plan.kernel[COLUMNS]
    groups, gathered = -(-plan.channels // GROUP), floats + plan.tile * plan.itemsize
    for row in range(begin, end):
        group, oh = row // height, row % height
        image, first = group // groups, group % groups * GROUP
        words = mask + group * positions * plan.mask_row
        for left in range(0, width, plan.tile):
            if shall_stop(plan, plan.tile, width, 1):
                return NOTHING
            if left == 0:
                set_words(plan, words, oh)
            n = min(plan.tile, width - left)
            for c in range(first, min(first + GROUP, plan.channels)):
                plane = x + image * plan.grad_steps[0] + c * plan.grad_steps[1]
                compare_positions(plan, plane, oh, left, n, floats, integers, gathered, unit)
                steps = plan.result_steps
                target = result + image * steps[0] + c * steps[1] + oh * steps[3] + left * steps[4]
                store_row(target, steps[4], plan.code, floats, n, unit)
                if positions > 1:
                    bit, at = types.uint16(1 << (c - first)), words + 2 * (oh * width + left)
                    for i in range(n):
                        word = at + read_i64(integers, 8 * i) * plan.mask_row
                        write_u16(word, 2 * i, read_u16(word, 2 * i) | bit)
    return NOTHING
