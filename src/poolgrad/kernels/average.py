"""The gradient of every average: divide each gradient by its window's count, then let it flow into its window.

It separates. A row of gradients is divided and spread along W into an expanded row; the expanded rows of the windows
that hold an input row are added up, then such sums over the layers that hold it. So additions go upwards along W,
then H, then D, and their order depends on nothing but the element's place in its plane.

Columns are worked on in tiles and windows in chunks, so that scratch stays small for any size. Expanded rows are
kept in a few slots with tags, since neighbouring input rows need the same ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from .. import windows
from .memory import piece
from .rows import load_row, store_row

first_window, last_window = piece(windows.first_window), piece(windows.last_window)
window_start, window_stop = piece(windows.window_start), piece(windows.window_stop)
window_count = piece(windows.window_count)

DEPTH, ROWS, COLUMNS = 0, 1, 2
NOTHING = -1


class Tile(NamedTuple):
    """Columns ``left`` to ``right`` of every row, and the windows along W that touch them."""

    left: int
    right: int
    windows_from: int
    windows_to: int


class Scratch(NamedTuple):
    """One thread's working memory: arrays of the compute type, then arrays of int64."""

    total: Any  # the answer's row
    layer: Any  # the same for one layer of D
    quotients: Any  # a chunk of gradients, divided
    divisors: Any  # what each window along W counts, in the compute type
    kept: Any  # expanded rows, one per slot
    lows: Any  # first column of the tile that a window covers
    highs: Any  # and one past the last
    counts: Any  # what each window along W counts
    tags: Any  # which expanded row a slot keeps
    tabulated: Any  # for which tile and chunk the tables stand


@piece
def carve(plan: Any, floats: Any, integers: Any) -> Scratch:
    tile, chunk, slots = plan.tile, plan.chunk, plan.depth_slots * plan.row_slots
    scratch = Scratch(
        floats[:tile],
        floats[tile : 2 * tile],
        floats[2 * tile : 2 * tile + chunk],
        floats[2 * tile + chunk : 2 * tile + 2 * chunk],
        floats[2 * tile + 2 * chunk :],
        integers[:chunk],
        integers[chunk : 2 * chunk],
        integers[2 * chunk : 3 * chunk],
        integers[3 * chunk : 3 * chunk + slots],
        integers[3 * chunk + slots :],
    )
    scratch.tabulated[:] = NOTHING
    return scratch


@piece
def run_of(plan: Any, axis: int, i: int) -> tuple[int, int]:
    """First and one past the last window that hold element i of an axis."""
    rule, size, out = plan.rule[axis], plan.size[axis], plan.out[axis]
    kernel, stride, pad = plan.kernel[axis], plan.stride[axis], plan.pad[axis]
    first = first_window(i, rule, size, out, kernel, stride, pad)
    return first, last_window(i, rule, size, out, stride, pad) + 1


@piece
def bounds_of(plan: Any, axis: int, o: int) -> tuple[int, int]:
    """Start and stop of window o of an axis."""
    rule, size, out, stride, pad = plan.rule[axis], plan.size[axis], plan.out[axis], plan.stride[axis], plan.pad[axis]
    start = window_start(o, rule, size, out, stride, pad)
    return start, window_stop(o, rule, size, out, plan.kernel[axis], stride, pad)


@piece
def count_of(plan: Any, axis: int, o: int) -> int:
    """What window o of an axis contributes to the divisor."""
    start, stop = bounds_of(plan, axis, o)
    return window_count(start, stop, plan.size[axis], plan.counting[axis])


@piece
def tabulate(plan: Any, tile: Tile, windows_from: int, number: int, scratch: Scratch) -> None:
    """For a chunk of windows along W: the columns of the tile that each covers, and its count."""
    if scratch.tabulated[0] == tile.left and scratch.tabulated[1] == windows_from:
        return
    scratch.tabulated[0], scratch.tabulated[1] = tile.left, windows_from
    for i in range(number):
        start, stop = bounds_of(plan, COLUMNS, windows_from + i)
        scratch.lows[i] = max(start, tile.left) - tile.left
        scratch.highs[i] = min(stop, tile.right) - tile.left
        count = window_count(start, stop, plan.size[COLUMNS], plan.counting[COLUMNS])
        scratch.counts[i] = count
        scratch.divisors[i] = count


@piece
def divide(q: Any, scale: int, scratch: Scratch, wide: int) -> None:
    """Divide by the exact integer scale * count; beyond what the compute type can hold, in float64."""
    if wide:
        for i in range(q.shape[0]):
            q[i] = types.float64(q[i]) / types.float64(scale * scratch.counts[i])
    else:
        factor = q.dtype.type(scale)
        divisors = scratch.divisors[: q.shape[0]]
        for i in range(q.shape[0]):
            q[i] = q[i] / (factor * divisors[i])


@piece
def spread(q: Any, scratch: Scratch, expanded: Any) -> None:
    """Add each quotient to the columns of its window."""
    for i in range(q.shape[0]):
        value = q[i]
        for w in range(scratch.lows[i], scratch.highs[i]):
            expanded[w] += value


@piece
def spread_sliding(q: Any, first_column: int, kernel: int, expanded: Any) -> None:
    """The same for stride 1, where window i covers ``kernel`` columns from ``first_column + i`` on.

    One pass per place in the window, the last place first: each column still adds its windows in ascending order.
    """
    for place in range(kernel - 1, -1, -1):
        shift = first_column + place
        begin, end = max(0, -shift), min(q.shape[0], expanded.shape[0] - shift)
        if begin < end:
            add(expanded[begin + shift : end + shift], q[begin:end])


@piece
def add(total: Any, row: Any) -> None:
    for i in range(total.shape[0]):
        total[i] += row[i]


@piece
def copy(target: Any, source: Any) -> None:
    for i in range(target.shape[0]):
        target[i] = source[i]


@piece
def fill_zero(target: Any) -> None:
    for i in range(target.shape[0]):
        target[i] = 0


@piece
def expand(plan: Any, base: int, scale: int, tile: Tile, scratch: Scratch, expanded: Any) -> None:
    """Load one row of gradients, divide, and spread it over the tile's columns."""
    sliding = plan.rule[COLUMNS] == windows.FIXED and plan.stride[COLUMNS] == 1
    step = plan.grad_steps[4]
    fill_zero(expanded)
    for windows_from in range(tile.windows_from, tile.windows_to, plan.chunk):
        number = min(plan.chunk, tile.windows_to - windows_from)
        q = scratch.quotients[:number]
        tabulate(plan, tile, windows_from, number, scratch)
        load_row(base + windows_from * step, step, plan.code, plan.rounding, q)
        divide(q, scale, scratch, plan.wide)
        if sliding:
            first_column = windows_from - plan.pad[COLUMNS] - tile.left
            spread_sliding(q, first_column, plan.kernel[COLUMNS], expanded)
        else:
            spread(q, scratch, expanded)


@piece
def expanded_row(plan: Any, source: int, od: int, oh: int, tile: Tile, scratch: Scratch) -> Any:
    """The expanded row of gradient row (od, oh), from its slot or made now."""
    slot = (od % plan.depth_slots) * plan.row_slots + oh % plan.row_slots
    expanded = scratch.kept[slot * plan.tile : slot * plan.tile + tile.right - tile.left]
    tag = od * plan.out[ROWS] + oh
    if scratch.tags[slot] != tag:
        scratch.tags[slot] = tag
        scale = plan.divisor * count_of(plan, DEPTH, od) * count_of(plan, ROWS, oh)
        base = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
        expand(plan, base, scale, tile, scratch, expanded)
    return expanded


@piece
def answer_row(plan: Any, source: int, d: int, h: int, tile: Tile, scratch: Scratch) -> Any:
    """The tile's part of result row (d, h): sums along H, then along D. A sum of one is the row itself."""
    layers_from, layers_to = run_of(plan, DEPTH, d)
    rows_from, rows_to = run_of(plan, ROWS, h)
    total, layer = scratch.total[: tile.right - tile.left], scratch.layer[: tile.right - tile.left]
    if layers_from >= layers_to or rows_from >= rows_to:  # stride larger than kernel: no window here
        fill_zero(total)
        return total
    if layers_to - layers_from == 1 and rows_to - rows_from == 1:
        return expanded_row(plan, source, layers_from, rows_from, tile, scratch)
    for od in range(layers_from, layers_to):
        target = total if od == layers_from else layer
        for oh in range(rows_from, rows_to):
            row = expanded_row(plan, source, od, oh, tile, scratch)
            if oh == rows_from:
                copy(target, row)
            else:
                add(target, row)
        if od != layers_from:
            add(total, layer)
    return total


def average(records: Any, grad: int, result: int, floats: Any, integers: Any, begin: int, end: int) -> int:
    """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
    plan = records[0]
    scratch = carve(plan, floats, integers)
    height, width = plan.size[ROWS], plan.size[COLUMNS]
    rows_per_plane = plan.size[DEPTH] * height
    row = begin
    while row < end:
        plane = row // rows_per_plane
        row_to = min(end, (plane + 1) * rows_per_plane)
        n, c = plane // plan.channels, plane % plan.channels
        source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
        target = result + n * plan.result_steps[0] + c * plan.result_steps[1]
        for left in range(0, width, plan.tile):
            right = min(left + plan.tile, width)
            tile = Tile(left, right, run_of(plan, COLUMNS, left)[0], run_of(plan, COLUMNS, right - 1)[1])
            scratch.tags[:] = NOTHING
            for r in range(row - plane * rows_per_plane, row_to - plane * rows_per_plane):
                d, h = r // height, r % height
                answer = answer_row(plan, source, d, h, tile, scratch)
                at = d * plan.result_steps[2] + h * plan.result_steps[3] + left * plan.result_steps[4]
                store_row(target + at, plan.result_steps[4], plan.code, answer)
        row = row_to
    return NOTHING
