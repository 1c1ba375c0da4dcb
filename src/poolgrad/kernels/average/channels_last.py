"""Averages where the channels of a pixel are neighbours in memory (channels last).

A pixel is a row of ``pixel`` numbers, one for each channel, and all channels share their windows. So the additions of
average.py, in the same order, are made pixel by pixel, and each is a handful of whole vectors. As in small_planes.py
there are two rows of sums along W for each row of gradients, A (of ``terms`` windows) and B (of one less), and every
column has its place in one of them or on a pixel that stays zero; along H and D such rows are added while the result is
written. The rows that were made last are kept in slots with tags.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.windows import ADAPTIVE
from ..geometry import COLUMNS, DEPTH, ROWS, count_of, fewest_windows, most_windows, run_of
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import as_unit, fence
from ..record import LANES, LONGEST_TABLE, NOTHING
from .quotients import divide_row
from .spreading import fill
from .sums import add_row, sum_rows, write_sum


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    divisors: int  # one pixel of them
    total: int  # a pixel of sums
    layer: int  # the same for one layer of D
    quotients: int  # of the row that is being made, if no column is one of them
    kept: int  # for each slot: quotients and A, or A and B, of one row
    counts: int  # one pixel of ones
    places: int  # for each column of the tile, the distance of its pixel from the beginning of a slot
    tags: int  # which row of gradients a slot keeps
    known: int  # which divisor stands in ``divisors``
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
    pixel = -(-plan.pixel // LANES) * LANES * plan.itemsize  # sums are made in whole vectors
    quotients = floats + 3 * pixel
    places = integers + 8 * plan.pixel
    tags = places + 8 * plan.tile
    known = tags + 8 * plan.depth_slots * plan.row_slots
    rows = known + 8
    scratch = Scratch(
        floats,
        floats + pixel,
        floats + 2 * pixel,
        quotients,
        quotients + plan.pitch * plan.pixel * plan.itemsize,
        integers,
        places,
        tags,
        known,
        rows,
        rows + 8 * LONGEST_TABLE,
    )
    for c in range(plan.pixel):
        write_i64(scratch.counts, 8 * c, 1)
    write_i64(known, 0, 0)
    fill(scratch.quotients, 0, plan.pitch * plan.pixel + plan.wide * plan.depth_slots * plan.row_slots, unit)
    return scratch


@piece
def tile_of(plan: Any, left: int, right: int) -> Tile:
    if plan.rule[COLUMNS] == ADAPTIVE:
        first = run_of(plan, COLUMNS, left)[0]
        number = run_of(plan, COLUMNS, right - 1)[1] - first
        return Tile(left, right, first, number, most_windows(plan, COLUMNS))
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
        if plan.rule[COLUMNS] == ADAPTIVE:
            first, stop = run_of(plan, COLUMNS, w)
            number = stop - first
        else:
            last, phase = (
                (w + plan.pad[COLUMNS]) // plan.stride[COLUMNS],
                (w + plan.pad[COLUMNS]) % plan.stride[COLUMNS],
            )
            number = tile.terms if phase < plan.ones else tile.terms - 1
            first = last - number + 1
        place = plan.pitch - 1  # the last of the quotients, which stays zero
        if number > 0:
            place = sums_from(number, tile.terms, plan.pitch) + first - tile.first
        write_i64(scratch.places, 8 * (w - tile.left), place * pixel)


@piece
def make_row(plan: Any, source: int, od: int, oh: int, at: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """Quotients, A and B of one row of gradients."""
    pixel = plan.pixel * plan.itemsize
    scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
    base = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
    quotients = at if tile.terms < 3 else scratch.quotients
    for o in range(max(tile.first, 0), min(tile.first + tile.number, plan.out[COLUMNS])):
        divisor = scale * count_of(plan, COLUMNS, o)
        if read_i64(scratch.known, 0) != divisor:
            write_i64(scratch.known, 0, divisor)
            fill(scratch.divisors, 0, plan.pixel, as_unit(divisor, unit))
        where, target = base + o * plan.grad_steps[4], quotients + (o - tile.first) * pixel
        divide_row(plan, target, where, plan.grad_steps[1], scratch.divisors, scratch.counts, divisor, plan.pixel, unit)
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
def answer(plan: Any, target: int, layers: int, count: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """One row of the result: ``layers`` times ``count`` rows, whose slots stand in a table."""
    for w in range(tile.right - tile.left):
        place, at = read_i64(scratch.places, 8 * w), target + w * plan.result_steps[4]
        for layer in range(layers):
            for i in range(count):
                write_i64(scratch.rows, 8 * i, read_i64(scratch.slots, 8 * (layer * count + i)) + place)
            if layers > 1:
                into = scratch.total if layer == 0 else scratch.layer
                sum_rows(into, scratch.rows, count, plan.pixel, unit)
                if layer > 0:
                    add_row(scratch.total, into, plan.pixel, unit)
        if layers > 1:
            write_i64(scratch.rows, 0, scratch.total)
        write_sum(plan, at, scratch.rows, 1 if layers > 1 else count, plan.pixel, unit)


@piece
def write_zeros(plan: Any, target: int, tile: Tile, scratch: Scratch, unit: Any) -> None:
    """A row of the result that no window holds."""
    fill(scratch.total, 0, plan.pixel, unit)
    write_i64(scratch.rows, 0, scratch.total)
    for w in range(tile.right - tile.left):
        write_sum(plan, target + w * plan.result_steps[4], scratch.rows, 1, plan.pixel, unit)


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
            if layers_from >= layers_to or first >= stop:
                write_zeros(plan, target, tile, scratch, unit)
                continue
            for od in range(layers_from, layers_to):
                for oh in range(first, stop):
                    place = (od - layers_from) * (stop - first) + oh - first
                    write_i64(scratch.slots, 8 * place, row_at(plan, source, od, oh, tile, scratch, unit))
            answer(plan, target, layers_to - layers_from, stop - first, tile, scratch, unit)


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
