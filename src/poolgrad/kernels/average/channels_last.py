"""Averages where the channels of a pixel are neighbours in memory (channels last).

A pixel is a row of ``pixel`` numbers, one for each channel, and all channels share their windows. So the additions of
average.py, in the same order, are made pixel by pixel, and each is a handful of whole vectors, or one that is not full.
As in small_planes.py there are two rows of sums along W for each row of gradients, A (of ``terms`` windows) and B (of
one less), and every column has its place in one of them or on a pixel that stays zero; adaptive windows have one row,
with a sum for each column. Along H and D such rows are added while the result is written. The rows that were made last
are kept in slots with tags.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.windows import ADAPTIVE
from ..geometry import COLUMNS, DEPTH, ROWS, count_of, fewest_windows, run_of
from ..jit.few import load_few, load_few_bfloats, load_few_halves, store_few, store_few_bfloats, store_few_halves
from ..jit.halves import load_bfloats, load_halves, store_bfloats, store_halves
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.vectors import add, fence, load, prefetch, read, splat, store, stream, type_as, write
from ..record import BY_ELEMENTS, LANES, LONGEST_TABLE, NOTHING, READ_FLOATS, READ_HALVES, WRITE_FLOATS, WRITE_HALVES
from ..rows import load_row
from .quotients import quotient
from .spreading import fill
from .sums import sum_rows

# Vectors of channels at once.
FOUR = 4 * LANES


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    quotients: int  # of the row that is being made, if no column is one of them
    kept: int  # for each slot: quotients and A, or A and B, of one row
    places: int  # for each column of the tile, the distance of its pixel from the beginning of a slot
    runs: int  # and the windows that hold it, if they are adaptive: the first one and how many
    tags: int  # which row of gradients a slot keeps
    rows: int  # the rows whose sum is a pixel
    slots: int  # where the rows of a run lie


class Tile(NamedTuple):
    """Columns ``left`` to ``right``, and the windows that touch them; some of these may not exist."""

    left: int
    right: int
    first: int
    number: int
    terms: int


@piece
def carve(plan: Any, floats: int, integers: int, unit: Any) -> Scratch:
    kept = floats + plan.pitch * plan.pixel * plan.itemsize
    tags = integers + 24 * plan.tile
    rows = tags + 8 * plan.depth_slots * plan.row_slots
    fill(floats, 0, plan.pitch * plan.pixel + plan.wide * plan.depth_slots * plan.row_slots, unit)
    return Scratch(floats, kept, integers, integers + 8 * plan.tile, tags, rows, rows + 8 * LONGEST_TABLE)


@piece
def tile_of(plan: Any, left: int, right: int) -> Tile:
    if plan.rule[COLUMNS] == ADAPTIVE:
        first = run_of(plan, COLUMNS, left)[0]
        number = run_of(plan, COLUMNS, right - 1)[1] - first
        return Tile(left, right, first, number, 1)
    stride, pad = plan.stride[COLUMNS], plan.pad[COLUMNS]
    terms = (plan.kernel[COLUMNS] - 1) // stride + 1
    first, last = (left + pad) // stride - terms + 1, (right - 1 + pad) // stride
    return Tile(left, right, first, last - first + 1, terms)


@inlined_piece
def sums_from(number: int, terms: int, pitch: int) -> int:
    """Where in a slot the row of sums of so many windows begins: first that of the fewest, then that of ``terms``.

    Sums of three and more leave no column to the quotients themselves, which then lie outside the slots.
    """
    return 0 if number == 1 or number == terms > 2 else pitch


@piece
def tabulate_columns(plan: Any, tile: Tile, scratch: Scratch) -> None:
    """Where each column's sum lies in a slot."""
    pixel = plan.pixel * plan.itemsize
    for w in range(tile.left, tile.right):
        i = w - tile.left
        if plan.rule[COLUMNS] == ADAPTIVE:
            first, stop = run_of(plan, COLUMNS, w)
            write_i64(scratch.places, 8 * i, i * pixel)
            write_i64(scratch.runs, 16 * i, first - tile.first)
            write_i64(scratch.runs, 16 * i + 8, stop - first)
            continue
        phase = (w + plan.pad[COLUMNS]) % plan.stride[COLUMNS]
        number = tile.terms if phase < plan.ones else tile.terms - 1
        first = (w + plan.pad[COLUMNS]) // plan.stride[COLUMNS] - number + 1
        place = plan.pitch - 1  # the last of the quotients, which stays zero
        if number > 0:
            place = sums_from(number, tile.terms, plan.pitch) + first - tile.first
        write_i64(scratch.places, 8 * i, place * pixel)


def _divider(name: str, take: Any, take_few: Any) -> Any:
    @piece_named(name)
    def divided(target: int, source: int, ahead: int, divisor: int, n: int, unit: Any) -> None:
        """n gradients that are neighbours in memory; those that are ``ahead`` bytes away come next."""
        i = n - n
        if n < LANES:
            store_few(target, n, quotient(take_few(source, n, unit), divisor, unit))
            return
        while i < n:
            i = min(i, n - LANES)
            prefetch(source + ahead, i, unit)
            store(target, i, quotient(take(source, i, unit), divisor, unit))
            i += LANES

    return divided


_divided_floats = _divider("pixels_divided_floats", load, load_few)
_divided_halves = _divider("pixels_divided_halves", load_halves, load_few_halves)
_divided_bfloats = _divider("pixels_divided_bfloats", load_bfloats, load_few_bfloats)


@inlined_piece
def divide_pixel(plan: Any, target: int, source: int, divisor: int, unit: Any) -> None:
    ahead = plan.grad_steps[4]
    if plan.reading == READ_FLOATS:
        _divided_floats(target, source, ahead, divisor, plan.pixel, unit)
    elif plan.reading == READ_HALVES:
        _divided_halves(target, source, ahead, divisor, plan.pixel, unit)
    elif plan.reading != BY_ELEMENTS:
        _divided_bfloats(target, source, ahead, divisor, plan.pixel, unit)
    else:
        load_row(source, plan.stored, plan.code, plan.rounding, target, plan.pixel, unit)
        if not plan.large_divisors:
            _divided_floats(target, target, 0, divisor, plan.pixel, unit)
            return
        for i in range(plan.pixel):
            write(target, i, unit + type_as(float(read(target, i, unit)) / float(divisor), unit))


@piece
def make_row(plan: Any, source: int, od: int, oh: int, at: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """Quotients, A and B of one row of gradients."""
    pixel = plan.pixel * plan.itemsize
    scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
    base = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
    adaptive = plan.rule[COLUMNS] == ADAPTIVE
    quotients = at if tile.terms < 3 and not adaptive else scratch.quotients
    for o in range(max(tile.first, 0), min(tile.first + tile.number, plan.out[COLUMNS])):
        target, divisor = quotients + (o - tile.first) * pixel, scale * count_of(plan, COLUMNS, o)
        divide_pixel(plan, target, base + o * plan.grad_steps[4], divisor, unit)
    for w in range(tile.right - tile.left if adaptive else 0):
        first, number = read_i64(scratch.runs, 16 * w), read_i64(scratch.runs, 16 * w + 8)
        for j in range(number):
            write_i64(scratch.rows, 8 * j, quotients + (first + j) * pixel)
        sum_rows(at + w * pixel, scratch.rows, number, plan.pixel, unit)
    for terms in range(max(fewest_windows(plan, COLUMNS, tile.terms), 2), tile.terms + 1):
        for j in range(terms):
            write_i64(scratch.rows, 8 * j, quotients + j * pixel)
        target = at + sums_from(terms, tile.terms, plan.pitch) * pixel
        sum_rows(target, scratch.rows, terms, (tile.number - terms + 1) * plan.pixel, unit)


@inlined_piece
def row_at(plan: Any, source: int, od: int, oh: int, tile: Tile, scratch: Scratch, unit: Any) -> int:
    """The slot of a row of gradients, which is made if no slot has it."""
    slot = (od & plan.depth_slots - 1) * plan.row_slots + (oh & plan.row_slots - 1)
    tag = od * plan.out[ROWS] + oh
    at = scratch.kept + slot * plan.wide * plan.itemsize
    if read_i64(scratch.tags, 8 * slot) != tag:
        write_i64(scratch.tags, 8 * slot, tag)
        make_row(plan, source, od, oh, at, tile, scratch, unit)
    return at


@inlined_piece
def _sum_at(slots: int, place: int, layers: int, count: int, i: int, unit: Any) -> Any:
    """Along H, then D: ``layers`` times ``count`` rows, whose slots stand in a table; none are 0."""
    total = splat(unit)
    for layer in range(layers):
        of_layer = splat(unit)
        for row in range(layer * count, layer * count + count):
            of_layer = add(of_layer, load(read_i64(slots, 8 * row) + place, i, unit))
        total = add(total, of_layer)
    return total


@inlined_piece
def _four_sums_at(slots: int, place: int, count: int, i: int, unit: Any) -> Any:
    """Four vectors of sums along H."""
    at = read_i64(slots, 0) + place
    one, two = load(at, i, unit), load(at, i + LANES, unit)
    three, four = load(at, i + 2 * LANES, unit), load(at, i + 3 * LANES, unit)
    for row in range(1, count):
        at = read_i64(slots, 8 * row) + place
        one, two = add(one, load(at, i, unit)), add(two, load(at, i + LANES, unit))
        three, four = add(three, load(at, i + 2 * LANES, unit)), add(four, load(at, i + 3 * LANES, unit))
    return one, two, three, four


def _answerer(name: str, put: Any, put_few: Any) -> Any:
    @piece_named(name)
    def answer(plan: Any, target: int, layers: int, count: int, columns: int, scratch: Scratch, unit: Any) -> None:
        """One row of the result."""
        n, slots = plan.pixel, scratch.slots
        for w in range(columns):
            place, at, i = read_i64(scratch.places, 8 * w), target + w * plan.result_steps[4], w - w
            if n < LANES:
                put_few(at, n, _sum_at(slots, place, layers, count, 0, unit))
                continue
            while i < n:  # the last vectors are laid back
                if layers == 1 and count > 0 and n >= FOUR and n - i > LANES:
                    i = min(i, n - FOUR)
                    one, two, three, four = _four_sums_at(slots, place, count, i, unit)
                    put(at, i, one)
                    put(at, i + LANES, two)
                    put(at, i + 2 * LANES, three)
                    put(at, i + 3 * LANES, four)
                    i += FOUR
                else:
                    i = min(i, n - LANES)
                    put(at, i, _sum_at(slots, place, layers, count, i, unit))
                    i += LANES

    return answer


_answer_floats, _answer_past_caches = (
    _answerer("pixels_answer_floats", store, store_few),
    _answerer("pixels_answer_past_caches", stream, store_few),
)
_answer_halves = _answerer("pixels_answer_halves", store_halves, store_few_halves)
_answer_bfloats = _answerer("pixels_answer_bfloats", store_bfloats, store_few_bfloats)


@inlined_piece
def answer_row(plan: Any, target: int, layers: int, count: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    columns = tile.right - tile.left
    if plan.writing == WRITE_FLOATS:
        if plan.streaming and (target | plan.result_steps[4] | plan.pixel * plan.itemsize) % 16 == 0:
            _answer_past_caches(plan, target, layers, count, columns, scratch, unit)
        else:
            _answer_floats(plan, target, layers, count, columns, scratch, unit)
    elif plan.writing == WRITE_HALVES:
        _answer_halves(plan, target, layers, count, columns, scratch, unit)
    else:
        _answer_bfloats(plan, target, layers, count, columns, scratch, unit)


@piece
def _average_channels(
    plan: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> None:
    height, width = plan.size[ROWS], plan.size[COLUMNS]
    rows_per_image = plan.size[DEPTH] * height
    for left in range(0, width, plan.tile):
        tile = tile_of(plan, left, min(left + plan.tile, width))
        scratch = carve(plan, floats, integers, unit)
        tabulate_columns(plan, tile, scratch)
        image = NOTHING
        for row in range(begin, end):
            if row // rows_per_image != image:
                image = row // rows_per_image
                for slot in range(plan.depth_slots * plan.row_slots):
                    write_i64(scratch.tags, 8 * slot, NOTHING)
            d, h = row % rows_per_image // height, row % height
            source = grad + image * plan.grad_steps[0]
            target = result + image * plan.result_steps[0] + left * plan.result_steps[4]
            target += d * plan.result_steps[2] + h * plan.result_steps[3]
            layers_from, layers_to = run_of(plan, DEPTH, d)
            first, stop = run_of(plan, ROWS, h)
            layers, count = max(layers_to - layers_from, 0), max(stop - first, 0)
            for od in range(layers_from, layers_from + layers):
                for oh in range(first, first + count):
                    place = (od - layers_from) * count + oh - first
                    write_i64(scratch.slots, 8 * place, row_at(plan, source, od, oh, tile, scratch, unit))
            answer_row(plan, target, layers, count, tile, scratch, unit)


def average_channels_last(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end`` of the result, counted over all images, layers and rows, some channels at a time."""
    plan = records[0]
    for channel in range(0, plan.channels, plan.pixel):
        some = min(channel, plan.channels - plan.pixel) * plan.stored  # the last ones are laid back
        _average_channels(plan, grad + some, result + some, floats, integers, begin, end, unit)
    if plan.streaming:
        fence()
    return NOTHING
