"""Averages over windows that touch and do not overlap: every gradient fills a box of its own.

Some gradients of a row are divided, each quotient is repeated along W, and the piece is written to all rows of its
boxes at once. So little is kept, and memory is written piece by piece while the next one is made.
"""

from __future__ import annotations

from typing import Any

from .geometry import COLUMNS, DEPTH, ROWS
from .memory import inlined_piece, piece, write_i64
from .quotients import divide_row
from .record import NOTHING
from .rows import zero_row
from .spreading import fill, interleave
from .sums import write_sum
from .vectors import as_unit, fence, read, write


@piece
def repeat(q: int, n: int, stride: int, target: int, unit: Any) -> None:
    """Each of n quotients ``stride`` times."""
    if 2 <= stride <= 4:
        interleave(q, q, n, stride, stride, target, unit)
    else:
        for i in range(n):  # each overrun is written over by the next
            fill(target, i * stride, (i + 1) * stride, read(q, i, unit))


@inlined_piece
def zero_rest(plan: Any, target: int, od: int, oh: int, boxes: int) -> None:
    """What no window covers: columns behind the last, and, with the last rows of gradients, rows and layers."""
    height, width, layers = plan.size[ROWS], plan.size[COLUMNS], plan.size[DEPTH]
    deep, high = plan.stride[DEPTH], plan.stride[ROWS]
    layers_to = layers if od == plan.out[DEPTH] - 1 else (od + 1) * deep
    rows_to = height if oh == plan.out[ROWS] - 1 else (oh + 1) * high
    for d in range(od * deep, layers_to):
        for h in range(oh * high, rows_to):
            inside = d < (od + 1) * deep and h < (oh + 1) * high
            begin = boxes if inside else 0
            at = target + d * plan.result_steps[2] + h * plan.result_steps[3] + begin * plan.stored
            zero_row(at, plan.stored, plan.code, width - begin)


def average_disjoint(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the gradients, counted over all planes and layers."""
    plan = records[0]
    divisors, wide, rows = floats + plan.chunk * plan.itemsize, floats + 2 * plan.chunk * plan.itemsize, integers
    counts, out, stride = integers + 8, plan.out[COLUMNS], plan.stride[COLUMNS]
    for i in range(plan.chunk):
        write(divisors, i, as_unit(plan.divisor, unit))
        write_i64(counts, 8 * i, 1)
    write_i64(rows, 0, floats if stride == 1 else wide)
    rest = out * stride < plan.size[COLUMNS] or plan.rest
    for row in range(begin, end):
        plane, oh = row // plan.out[ROWS], row % plan.out[ROWS]
        plane, od = plane // plan.out[DEPTH], plane % plan.out[DEPTH]
        n, c = plane // plan.channels, plane % plan.channels
        source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1] + od * plan.grad_steps[2]
        source += oh * plan.grad_steps[3]
        target = result + n * plan.result_steps[0] + c * plan.result_steps[1]
        for start in range(0, out, plan.chunk):
            number = min(plan.chunk, out)
            first = min(start, out - number)  # the last piece is laid back over its predecessor
            where = source + first * plan.grad_steps[4]
            divide_row(plan, floats, where, plan.grad_steps[4], divisors, counts, plan.divisor, number, unit)
            if stride > 1:
                repeat(floats, number, stride, wide, unit)
            for d in range(od * plan.stride[DEPTH], (od + 1) * plan.stride[DEPTH]):
                for h in range(oh * plan.stride[ROWS], (oh + 1) * plan.stride[ROWS]):
                    at = target + d * plan.result_steps[2] + h * plan.result_steps[3]
                    write_sum(plan, at + first * stride * plan.stored, rows, 1, number * stride, unit)
        if rest:
            zero_rest(plan, target, od, oh, out * stride)
    if plan.streaming:
        fence()
    return NOTHING
