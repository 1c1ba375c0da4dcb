"""Windows over channels that lie side by side: all channels of one pixel of the result, then those of the next.

Every window is walked over pixel by pixel, and what it holds is summed or compared in registers, some vectors of
channels at once, or a vector that is not full. So memory is read in the order in which it lies, from the caches where
windows overlap, and nothing goes through scratch. The order is that of rows.py: along W, then H, then D. For maxima any
order of neighbours gives the same: the first of equal numbers stays, and of several NaN the last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.windows import FIXED
from ..geometry import COLUMNS, DEPTH, ROWS, count_of
from ..jit.few import (
    load_few,
    load_few_bfloats,
    load_few_halves,
    store_few,
    store_few_bfloats,
    store_few_halves,
    store_few_places_32,
    store_few_places_64,
)
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves, stream_bfloats, stream_halves
from ..jit.memory import inlined_piece, piece_named
from ..jit.places import (
    larger_number,
    splat_place,
    store_places_32,
    store_places_64,
    stream_places_32,
    stream_places_64,
)
from ..jit.vectors import add, as_unit, divide, fence, load, prefetch, splat, store, stream
from ..record import INT32, LANES, LINE, NOTHING, READ_BFLOATS, READ_FLOATS
from .maxima import larger_of_places
from .rows import join_fours, places_in_window

# Vectors of channels at once; and how many columns a window has that is walked over in four rows at once: sums that
# wait for each other would take four times as long.
FOUR, LONG_ROW = 4 * LANES, 12


class Box(NamedTuple):
    """What one window holds: where its first pixel lies and its place in the plane, how many there are along each axis,
    and how far neighbours are from each other, in bytes and in places."""

    first: int
    place: int
    columns: int
    layers: int
    rows: int
    layer_step: int
    row_step: int
    column_step: int
    layer_places: int
    row_places: int
    column_places: int
    stored: int  # bytes of a number
    soon: int  # so many bytes before channels are read, they may be asked for


@inlined_piece
def held(plan: Any, axis: int, o: int) -> tuple[int, int]:
    """The first element that window o of an axis holds, and how many there are."""
    first, stop = places_in_window(plan, axis, o)
    dilation = plan.dilation[axis]
    return first, stop - first if dilation == 1 else -(-(stop - first) // dilation)


@inlined_piece
def row_of_boxes(plan: Any, image: int, od: int, oh: int) -> Box:
    """A row of windows: all but what is along W."""
    steps, dilation, width = plan.grad_steps, plan.dilation, plan.size[COLUMNS]
    d, layers = held(plan, DEPTH, od)
    h, rows = held(plan, ROWS, oh)
    first, place = image + d * steps[2] + h * steps[3], (d * plan.size[ROWS] + h) * width
    by = (dilation[DEPTH] * steps[2], dilation[ROWS] * steps[3], dilation[COLUMNS] * steps[4])
    places = (dilation[DEPTH] * plan.size[ROWS] * width, dilation[ROWS] * width, dilation[COLUMNS])
    return Box(first, place, layers - layers, layers, rows, *by, *places, plan.stored, plan.soon)


@inlined_piece
def moved(box: Box, by: int, places: int) -> Box:
    """The same box elsewhere."""
    return Box(box.first + by, box.place + places, *box[2:])


@inlined_piece
def box_in_row(plan: Any, row: Box, ow: int) -> Box:
    w, columns = held(plan, COLUMNS, ow)
    return Box(row.first + w * plan.grad_steps[4], row.place + w, columns, *row[3:])


@inlined_piece
def windows_alike(plan: Any, ow: int) -> int:
    """How many windows from ow on lie inside the input as a whole, and so are alike; else one."""
    start, stride = ow * plan.stride[COLUMNS] - plan.pad[COLUMNS], plan.stride[COLUMNS]
    room = plan.size[COLUMNS] - plan.kernel[COLUMNS] - start
    if plan.rule[COLUMNS] != FIXED or start < 0 or room < 0:
        return 1
    return min(room // stride + 1, plan.out[COLUMNS] - ow)


def _along_row(first: Any, join: Any, usual: bool) -> Any:
    """What puts together a row of a window; the usual ones without a loop."""

    @inlined_piece
    def of_row(box: Box, at: int, place: int, c: int, unit: Any) -> Any:
        step, places = box.column_step, box.column_places
        total = first(box, at, place, c, unit)
        if usual and box.columns == 3:
            total = join(total, first(box, at + step, place + places, c, unit))
            return join(total, first(box, at + 2 * step, place + 2 * places, c, unit))
        if usual and box.columns == 2:
            return join(total, first(box, at + step, place + places, c, unit))
        for _ in range(1, box.columns):
            at += step
            place += places
            total = join(total, first(box, at, place, c, unit))
        return total

    return of_row


def _four_rows(first: Any) -> Any:
    @inlined_piece
    def read(box: Box, at: int, place: int, c: int, unit: Any) -> Any:
        """The same pixel of four rows."""
        step, places = box.row_step, box.row_places
        one, two = first(box, at, place, c, unit), first(box, at + step, place + places, c, unit)
        three = first(box, at + 2 * step, place + 2 * places, c, unit)
        return one, two, three, first(box, at + 3 * step, place + 3 * places, c, unit)

    return read


def _four_vectors(first: Any, asks: bool) -> Any:
    @inlined_piece
    def read(box: Box, at: int, place: int, c: int, unit: Any) -> Any:
        """Four vectors of channels of a pixel; others of it may be asked for, which will be read later."""
        if asks:
            prefetch(at + c * box.stored + box.soon, 0, unit)
            prefetch(at + c * box.stored + box.soon + LINE, 0, unit)
        one, two = first(box, at, place, c, unit), first(box, at, place, c + LANES, unit)
        return one, two, first(box, at, place, c + 2 * LANES, unit), first(box, at, place, c + 3 * LANES, unit)

    return read


def sums(first: Any, join: Any, several_rows: bool) -> Any:
    """What puts together all that a window holds, if ``first`` reads a pixel and ``join`` puts two together: along W,
    then H, then D."""
    of_row, of_rows = _along_row(first, join, True), _along_row(_four_rows(first), join_fours(join), False)

    @inlined_piece
    def of_box(box: Box, c: int, unit: Any) -> Any:
        layer = total = first(box, box.first, box.place, c, unit)
        for d in range(box.layers):
            at, h = box.first + d * box.layer_step, d - d
            while h < box.rows:
                if several_rows and box.columns >= LONG_ROW and box.rows - h >= 4:
                    one, two, three, four = of_rows(box, at, 0, c, unit)
                    one = one if h == 0 else join(layer, one)
                    layer, some = join(join(join(one, two), three), four), 4
                else:
                    one, some = of_row(box, at, 0, c, unit), 1
                    layer = one if h == 0 else join(layer, one)
                at, h = at + some * box.row_step, h + some
            total = layer if d == 0 else join(total, layer)
        return total

    return of_box


def maxima(first: Any, join: Any, several_rows: bool) -> Any:
    """The same where neighbours may be put together in any order. The first element is compared with itself, too."""
    of_rows = _along_row(_four_rows(first), join_fours(join), False)

    @inlined_piece
    def of_box(box: Box, c: int, unit: Any) -> Any:
        best = first(box, box.first, box.place, c, unit)
        for d in range(box.layers):
            at, place, h = box.first + d * box.layer_step, box.place + d * box.layer_places, d - d
            while several_rows and box.columns >= LONG_ROW and box.rows - h >= 4:
                one, two, three, four = of_rows(box, at, place, c, unit)
                best = join(join(join(join(best, one), two), three), four)
                at, place, h = at + 4 * box.row_step, place + 4 * box.row_places, h + 4
            for row in range(box.rows - h):
                pixel, where = at + row * box.row_step, place + row * box.row_places
                for _ in range(box.columns):
                    best = join(best, first(box, pixel, where, c, unit))
                    pixel += box.column_step
                    where += box.column_places
        return best

    return of_box


class Numbers(NamedTuple):
    """How channels come from memory and go there: eight of them by an index, also past the caches, or
    so many, fewer than eight."""

    load: Any
    store: Any
    stream: Any
    load_few: Any
    store_few: Any


def row_pooler(name: str, numbers: Numbers, walker: Any, reader: Any, join: Any, giver: Any) -> Any:
    """What pools a row of windows, four vectors of channels at a time, or one, or one that is not full."""
    first, few = reader(numbers.load), reader(numbers.load_few)
    give, give_few = giver(numbers)
    four_of_box, asking_of_box = (walker(_four_vectors(first, asks), join_fours(join), False) for asks in (False, True))
    one_of_box, few_of_box = walker(first, join, True), walker(few, join, True)

    @inlined_piece
    def pool_box(plan: Any, box: Box, target: int, indices: int, channels: int, by: Any, unit: Any) -> None:
        c = channels - channels
        if channels < LANES:
            give_few(plan, target, indices, channels, few_of_box(box, channels, unit), by, unit)
            return
        while c < channels:  # the last vectors are laid back
            if channels >= FOUR and channels - c > LANES:
                c = min(c, channels - FOUR)
                some = asking_of_box(box, c, unit) if plan.soon else four_of_box(box, c, unit)
                give(plan, target, indices, c, some[0], by, unit)
                give(plan, target, indices, c + LANES, some[1], by, unit)
                give(plan, target, indices, c + 2 * LANES, some[2], by, unit)
                give(plan, target, indices, c + 3 * LANES, some[3], by, unit)
                c += FOUR
            else:
                c = min(c, channels - LANES)
                give(plan, target, indices, c, one_of_box(box, c, unit), by, unit)
                c += LANES

    @piece_named(name)
    def pool(plan: Any, boxes: Box, target: int, indices: int, scale: int, unit: Any) -> None:
        ow, stride = boxes.rows - boxes.rows, plan.stride[COLUMNS]
        while ow < plan.out[COLUMNS]:
            box, number = box_in_row(plan, boxes, ow), windows_alike(plan, ow)
            by = splat(as_unit(scale * count_of(plan, COLUMNS, ow), unit))
            together = number if plan.side_by_side else 1
            for _ in range(0, number, together):
                pool_box(plan, box, target, indices, together * plan.channels, by, unit)
                box = moved(box, stride * plan.grad_steps[4], stride)
                target += together * plan.result_steps[4]
                indices += plan.index_steps[4]
            ow += number

    return pool


def kernel_of_rows(name: str, of_floats: Any, of_halves: Any, of_bfloats: Any) -> Any:
    """A kernel that pools row by row, whichever type it is told."""

    @piece_named(f"{name}_rows")
    def pool_rows(plan: Any, x: int, result: int, indices: int, begin: int, end: int, unit: Any) -> None:
        steps, index_steps, height = plan.result_steps, plan.index_steps, plan.out[ROWS]
        for row in range(begin, end):
            image, od, oh = row // (plan.out[DEPTH] * height), row // height % plan.out[DEPTH], row % height
            boxes = row_of_boxes(plan, x + image * plan.grad_steps[0], od, oh)
            target = result + image * steps[0] + od * steps[2] + oh * steps[3]
            where = indices + image * index_steps[0] + od * index_steps[2] + oh * index_steps[3]
            scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
            if plan.reading == READ_FLOATS:
                of_floats(plan, boxes, target, where, scale, unit)
            elif plan.reading == READ_BFLOATS:
                of_bfloats(plan, boxes, target, where, scale, unit)
            else:
                of_halves(plan, boxes, target, where, scale, unit)
        if plan.streaming:
            fence()

    def pool(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
        """Rows ``begin`` to ``end`` of the results, counted over images, layers and rows."""
        pool_rows(records[0], x, result, result, begin, end, unit)
        return NOTHING

    def pool_with_places(
        records: Any, x: int, result: int, indices: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """The same, with indices."""
        pool_rows(records[0], x, result, indices, begin, end, unit)
        return NOTHING

    return pool_with_places if name == "pool_max_pixels" else pool


def value_reader(take: Any) -> Any:
    @inlined_piece
    def first(box: Box, at: int, place: int, c: int, unit: Any) -> Any:
        return take(at, c, unit)

    return first


def value_giver(numbers: Numbers) -> Any:
    def giver(put: Any) -> Any:
        @inlined_piece
        def give(plan: Any, target: int, indices: int, c: int, best: Any, by: Any, unit: Any) -> None:
            put(target, c, best)

        return give

    return giver(numbers.store), giver(numbers.store_few)


def _average_giver(numbers: Numbers) -> Any:
    def giver(put: Any) -> Any:
        @inlined_piece
        def give(plan: Any, target: int, indices: int, c: int, total: Any, by: Any, unit: Any) -> None:
            put(target, c, divide(add(total, splat(unit)), by))  # adding +0.0 makes sums begin there

        return give

    return giver(numbers.store), giver(numbers.store_few)


def _place_reader(take: Any) -> Any:
    @inlined_piece
    def first(box: Box, at: int, place: int, c: int, unit: Any) -> Any:
        return take(at, c, unit), splat_place(place, unit)

    return first


def _place_giver(numbers: Numbers) -> Any:
    def giver(put: Any, put_32: Any, put_64: Any) -> Any:
        @inlined_piece
        def give(plan: Any, target: int, indices: int, c: int, best: Any, by: Any, unit: Any) -> None:
            put(target, c, best[0])
            if plan.index_code == INT32:
                put_32(indices, c, best[1])
            else:
                put_64(indices, c, best[1])

        return give

    into_caches = giver(numbers.store, store_places_32, store_places_64)
    past_caches = giver(numbers.stream, stream_places_32, stream_places_64)

    @inlined_piece
    def give(plan: Any, target: int, indices: int, c: int, best: Any, by: Any, unit: Any) -> None:
        if plan.streaming and (target | indices) % 16 == 0:
            past_caches(plan, target, indices, c, best, by, unit)
        else:
            into_caches(plan, target, indices, c, best, by, unit)

    return give, giver(numbers.store_few, store_few_places_32, store_few_places_64)


_TYPES = {
    "floats": Numbers(load, store, stream, load_few, store_few),
    "halves": Numbers(load_halves, store_halves, stream_halves, load_few_halves, store_few_halves),
    "bfloats": Numbers(load_bfloats, store_bfloats, stream_bfloats, load_few_bfloats, store_few_bfloats),
}
# How each kernel goes through a window, begins, goes on, and gives what it found.
_KINDS = {
    "pool_average_pixels": (sums, value_reader, add, _average_giver),
    "pool_max_values_pixels": (maxima, value_reader, larger_number, value_giver),
    "pool_max_pixels": (maxima, _place_reader, larger_of_places, _place_giver),
}


def make_kernel(name: str) -> Any:
    return kernel_of_rows(name, *(row_pooler(f"{name}_{key}", of, *_KINDS[name]) for key, of in _TYPES.items()))
