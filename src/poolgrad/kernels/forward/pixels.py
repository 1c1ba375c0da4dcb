"""Windows over channels that lie side by side: all channels of one pixel of the result, then those of the next.

Every window is walked over pixel by pixel, and what it holds is summed or compared in registers, some vectors of
channels at once. So memory is read in the order in which it lies, from the caches where windows overlap, and nothing
goes through scratch. The order of additions is that of rows.py: along W, then H, then D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece_named
from ..jit.places import larger, splat_place, store_places_32, store_places_64
from ..jit.vectors import add, as_unit, divide, load, prefetch, splat, store
from ..record import INT32, LANES, LINE, NOTHING, READ_BFLOATS, READ_FLOATS
from .rows import places_in_window


class Box(NamedTuple):
    """What one window holds: where its first pixel lies, how many there are along each axis, and their steps."""

    first: int
    layers: int
    rows: int
    columns: int
    layer_step: int
    row_step: int
    column_step: int


@inlined_piece
def held(plan: Any, axis: int, o: int) -> tuple[int, int]:
    """The first element that window o of an axis holds, and how many there are."""
    first, stop = places_in_window(plan, axis, o)
    dilation = plan.dilation[axis]
    return first, stop - first if dilation == 1 else -(-(stop - first) // dilation)


@inlined_piece
def row_of_boxes(plan: Any, image: int, od: int, oh: int) -> Box:
    """A row of windows: all but what is along W."""
    steps, dilation = plan.grad_steps, plan.dilation
    d, layers = held(plan, DEPTH, od)
    h, rows = held(plan, ROWS, oh)
    first = image + d * steps[2] + h * steps[3]
    by = (dilation[DEPTH] * steps[2], dilation[ROWS] * steps[3], dilation[COLUMNS] * steps[4])
    return Box(first, layers, rows, layers - layers, by[0], by[1], by[2])


@inlined_piece
def box_in_row(plan: Any, row: Box, ow: int) -> Box:
    w, columns = held(plan, COLUMNS, ow)
    first = row.first + w * plan.grad_steps[4]
    return Box(first, row.layers, row.rows, columns, row.layer_step, row.row_step, row.column_step)


@inlined_piece
def ask_for_pixels(plan: Any, box: Box, unit: Any) -> None:
    """Those that windows to come hold and this one does not, in the rows that it is the first to hold."""
    if plan.soon:
        some = min(plan.stride[COLUMNS], box.columns) * plan.grad_steps[4]
        for h in range(max(box.rows - plan.stride[ROWS], 0), box.rows):
            at = box.first + h * box.row_step + plan.soon
            for line in range(0, some, LINE):
                prefetch(at + line, 0, unit)


# Vectors of channels at once.
FOUR, ONE = 4 * LANES, LANES


def _summer(name: str, take: Any, put: Any) -> Any:
    """What averages the channels of a row of windows, four vectors at a time, or one."""

    @inlined_piece
    def four_at(at: int, c: int, unit: Any) -> Any:
        one, two = take(at, c, unit), take(at, c + LANES, unit)
        return one, two, take(at, c + 2 * LANES, unit), take(at, c + 3 * LANES, unit)

    @inlined_piece
    def add_four(one: Any, other: Any) -> Any:
        return add(one[0], other[0]), add(one[1], other[1]), add(one[2], other[2]), add(one[3], other[3])

    @inlined_piece
    def four_of_row(at: int, columns: int, step: int, c: int, unit: Any) -> Any:
        total = four_at(at, c, unit)
        if columns == 3:  # the usual ones without a loop
            return add_four(add_four(total, four_at(at + step, c, unit)), four_at(at + 2 * step, c, unit))
        if columns == 2:
            return add_four(total, four_at(at + step, c, unit))
        for _ in range(1, columns):
            at += step
            total = add_four(total, four_at(at, c, unit))
        return total

    @inlined_piece
    def four_of_layer(at: int, box: Box, c: int, unit: Any) -> Any:
        total = four_of_row(at, box.columns, box.column_step, c, unit)
        for _ in range(1, box.rows):
            at += box.row_step
            total = add_four(total, four_of_row(at, box.columns, box.column_step, c, unit))
        return total

    @inlined_piece
    def one_of_row(at: int, columns: int, step: int, c: int, unit: Any) -> Any:
        total = take(at, c, unit)
        for _ in range(1, columns):
            at += step
            total = add(total, take(at, c, unit))
        return total

    @inlined_piece
    def one_of_layer(at: int, box: Box, c: int, unit: Any) -> Any:
        total = one_of_row(at, box.columns, box.column_step, c, unit)
        for _ in range(1, box.rows):
            at += box.row_step
            total = add(total, one_of_row(at, box.columns, box.column_step, c, unit))
        return total

    @piece_named(name)
    def average(plan: Any, boxes: Box, target: int, scale: int, unit: Any) -> None:
        zero, channels = splat(unit), plan.channels
        for ow in range(plan.out[COLUMNS]):
            box, c = box_in_row(plan, boxes, ow), ow - ow
            ask_for_pixels(plan, box, unit)
            by = splat(as_unit(scale * count_of(plan, COLUMNS, ow), unit))
            while c + FOUR <= channels:
                at = box.first
                total = four_of_layer(at, box, c, unit)
                for _ in range(1, box.layers):
                    at += box.layer_step
                    total = add_four(total, four_of_layer(at, box, c, unit))
                # Adding +0.0 makes sums begin there.
                put(target, c, divide(add(total[0], zero), by))
                put(target, c + LANES, divide(add(total[1], zero), by))
                put(target, c + 2 * LANES, divide(add(total[2], zero), by))
                put(target, c + 3 * LANES, divide(add(total[3], zero), by))
                c += FOUR
            while c < channels:
                c, at = min(c, channels - ONE), box.first  # the last vector is laid back
                one = one_of_layer(at, box, c, unit)
                for _ in range(1, box.layers):
                    at += box.layer_step
                    one = add(one, one_of_layer(at, box, c, unit))
                put(target, c, divide(add(one, zero), by))
                c += ONE
            target += plan.result_steps[4]

    return average


_average_floats = _summer("pixels_average_floats", load, store)
_average_halves = _summer("pixels_average_halves", load_halves, store_halves)
_average_bfloats = _summer("pixels_average_bfloats", load_bfloats, store_bfloats)


def pool_average_pixels(
    records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over images, layers and rows."""
    plan = records[0]
    steps, height = plan.result_steps, plan.out[ROWS]
    for row in range(begin, end):
        image, od, oh = row // (plan.out[DEPTH] * height), row // height % plan.out[DEPTH], row % height
        target = result + image * steps[0] + od * steps[2] + oh * steps[3]
        boxes = row_of_boxes(plan, x + image * plan.grad_steps[0], od, oh)
        scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
        if plan.reading == READ_FLOATS:
            _average_floats(plan, boxes, target, scale, unit)
        elif plan.reading == READ_BFLOATS:
            _average_bfloats(plan, boxes, target, scale, unit)
        else:
            _average_halves(plan, boxes, target, scale, unit)
    return NOTHING


class Places(NamedTuple):
    """Where a window's first element stands in its plane, and how far its neighbours along each axis are from it."""

    first: int
    layer_step: int
    row_step: int
    column_step: int


def _comparer(name: str, take: Any, put: Any) -> Any:
    """What finds the maxima of a row of windows, four vectors of channels at a time, or one."""

    @inlined_piece
    def give(plan: Any, target: int, indices: int, c: int, best: Any, place: Any) -> None:
        put(target, c, best)
        if plan.index_code == INT32:
            store_places_32(indices, c, place)
        else:
            store_places_64(indices, c, place)

    @inlined_piece
    def best_of_four(box: Box, places: Places, c: int, unit: Any) -> Any:
        """The first element is compared with itself, too."""
        start = splat_place(places.first, unit)
        one, two, three, four = (
            (take(box.first, c, unit), start),
            (take(box.first, c + LANES, unit), start),
            (take(box.first, c + 2 * LANES, unit), start),
            (take(box.first, c + 3 * LANES, unit), start),
        )
        for d in range(box.layers):
            for h in range(box.rows):
                at = box.first + d * box.layer_step + h * box.row_step
                place = places.first + d * places.layer_step + h * places.row_step
                for _ in range(box.columns):
                    where = splat_place(place, unit)
                    one = larger(one[0], one[1], take(at, c, unit), where)
                    two = larger(two[0], two[1], take(at, c + LANES, unit), where)
                    three = larger(three[0], three[1], take(at, c + 2 * LANES, unit), where)
                    four = larger(four[0], four[1], take(at, c + 3 * LANES, unit), where)
                    at += box.column_step
                    place += places.column_step
        return one, two, three, four

    @inlined_piece
    def best_of_one(box: Box, places: Places, c: int, unit: Any) -> Any:
        best = take(box.first, c, unit), splat_place(places.first, unit)
        for d in range(box.layers):
            for h in range(box.rows):
                at = box.first + d * box.layer_step + h * box.row_step
                place = places.first + d * places.layer_step + h * places.row_step
                for _ in range(box.columns):
                    best = larger(best[0], best[1], take(at, c, unit), splat_place(place, unit))
                    at += box.column_step
                    place += places.column_step
        return best

    @piece_named(name)
    def compare(plan: Any, boxes: Box, places: Places, target: int, indices: int, unit: Any) -> None:
        channels = plan.channels
        for ow in range(plan.out[COLUMNS]):
            box, c = box_in_row(plan, boxes, ow), ow - ow
            ask_for_pixels(plan, box, unit)
            first = places.first + held(plan, COLUMNS, ow)[0]
            here = Places(first, places.layer_step, places.row_step, places.column_step)
            while c + FOUR <= channels:
                one, two, three, four = best_of_four(box, here, c, unit)
                give(plan, target, indices, c, one[0], one[1])
                give(plan, target, indices, c + LANES, two[0], two[1])
                give(plan, target, indices, c + 2 * LANES, three[0], three[1])
                give(plan, target, indices, c + 3 * LANES, four[0], four[1])
                c += FOUR
            while c < channels:
                c = min(c, channels - ONE)  # the last vector is laid back
                one = best_of_one(box, here, c, unit)
                give(plan, target, indices, c, one[0], one[1])
                c += ONE
            target += plan.result_steps[4]
            indices += plan.index_steps[4]

    return compare


_compare_floats = _comparer("pixels_compare_floats", load, store)
_compare_halves = _comparer("pixels_compare_halves", load_halves, store_halves)
_compare_bfloats = _comparer("pixels_compare_bfloats", load_bfloats, store_bfloats)


def pool_max_pixels(
    records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the results, counted over images, layers and rows."""
    plan = records[0]
    steps, index_steps, dilation, height = plan.result_steps, plan.index_steps, plan.dilation, plan.out[ROWS]
    width, plane = plan.size[COLUMNS], plan.size[ROWS] * plan.size[COLUMNS]
    for row in range(begin, end):
        image, od, oh = row // (plan.out[DEPTH] * height), row // height % plan.out[DEPTH], row % height
        boxes = row_of_boxes(plan, x + image * plan.grad_steps[0], od, oh)
        first = held(plan, DEPTH, od)[0] * plane + held(plan, ROWS, oh)[0] * width
        places = Places(first, dilation[DEPTH] * plane, dilation[ROWS] * width, dilation[COLUMNS])
        target = result + image * steps[0] + od * steps[2] + oh * steps[3]
        where = indices + image * index_steps[0] + od * index_steps[2] + oh * index_steps[3]
        if plan.reading == READ_FLOATS:
            _compare_floats(plan, boxes, places, target, where, unit)
        elif plan.reading == READ_BFLOATS:
            _compare_bfloats(plan, boxes, places, target, where, unit)
        else:
            _compare_halves(plan, boxes, places, target, where, unit)
    return NOTHING
