"""Maxima without places over channels that lie side by side, in the order of memory (pixels.py); of integers, too."""

from __future__ import annotations

from typing import Any

from ..geometry import COLUMNS, ROWS
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.integers import larger_integers
from ..jit.memory import inlined_piece, piece_named
from ..jit.places import larger_number
from ..jit.vectors import load, store
from ..record import INTEGER_MAXIMA, LANES, NOTHING, READ_BFLOATS, READ_FLOATS
from .integers import KINDS
from .pixels import FOUR, ONE, Box, box_in_row, row_of_boxes


def _comparer(name: str, take: Any, put: Any, larger_of: Any) -> Any:
    """What finds the maxima of a row of windows, four vectors of channels at a time, or one. The first element of a
    window is compared with itself, too."""

    @inlined_piece
    def best_of_four(box: Box, c: int, unit: Any) -> Any:
        one, two = take(box.first, c, unit), take(box.first, c + LANES, unit)
        three, four = take(box.first, c + 2 * LANES, unit), take(box.first, c + 3 * LANES, unit)
        for h in range(box.rows):
            at = box.first + h * box.row_step
            for _ in range(box.columns):
                one = larger_of(one, take(at, c, unit))
                two = larger_of(two, take(at, c + LANES, unit))
                three = larger_of(three, take(at, c + 2 * LANES, unit))
                four = larger_of(four, take(at, c + 3 * LANES, unit))
                at += box.column_step
        return one, two, three, four

    @inlined_piece
    def best_of_one(box: Box, c: int, unit: Any) -> Any:
        best = take(box.first, c, unit)
        for h in range(box.rows):
            at = box.first + h * box.row_step
            for _ in range(box.columns):
                best = larger_of(best, take(at, c, unit))
                at += box.column_step
        return best

    @piece_named(name)
    def compare(plan: Any, boxes: Box, target: int, unit: Any) -> None:
        channels = plan.channels
        for ow in range(plan.out[COLUMNS]):
            box, c = box_in_row(plan, boxes, ow), ow - ow
            while c + FOUR <= channels:
                one, two, three, four = best_of_four(box, c, unit)
                put(target, c, one)
                put(target, c + LANES, two)
                put(target, c + 2 * LANES, three)
                put(target, c + 3 * LANES, four)
                c += FOUR
            while c < channels:
                c = min(c, channels - ONE)  # the last vector is laid back
                put(target, c, best_of_one(box, c, unit))
                c += ONE
            target += plan.result_steps[4]

    return compare


@inlined_piece
def _row(plan: Any, x: int, result: int, row: int) -> tuple[Box, int]:
    """The windows of a row of the results, and where it begins."""
    steps, height = plan.result_steps, plan.out[ROWS]
    image, oh = row // height, row % height
    return row_of_boxes(plan, x + image * plan.grad_steps[0], image - image, oh), result + image * steps[
        0
    ] + oh * steps[3]


_compare_floats = _comparer("pixels_compare_values", load, store, larger_number)
_compare_halves = _comparer("pixels_compare_values_of_halves", load_halves, store_halves, larger_number)
_compare_bfloats = _comparer("pixels_compare_values_of_bfloats", load_bfloats, store_bfloats, larger_number)


def pool_max_values_pixels(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over images and rows."""
    plan = records[0]
    for row in range(begin, end):
        boxes, target = _row(plan, x, result, row)
        if plan.reading == READ_FLOATS:
            _compare_floats(plan, boxes, target, unit)
        elif plan.reading == READ_BFLOATS:
            _compare_bfloats(plan, boxes, target, unit)
        else:
            _compare_halves(plan, boxes, target, unit)
    return NOTHING


def _kernel(name: str, dtype: str) -> Any:
    compare = _comparer(f"{name}_compare", KINDS[dtype].load, KINDS[dtype].store, larger_integers)

    def pool(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
        """The same of integers."""
        plan = records[0]
        for row in range(begin, end):
            boxes, target = _row(plan, x, result, row)
            compare(plan, boxes, target, unit)
        return NOTHING

    pool.__name__ = pool.__qualname__ = name
    return pool


globals().update({f"{name}_pixels": _kernel(f"{name}_pixels", dtype) for dtype, name in INTEGER_MAXIMA.items()})
