"""The gradient of maxima where channels lie side by side: each pixel asks the windows that hold it whether their index
names it, four pixels together (squares.py).

So every pixel is written once, halves rounded there, and past the caches if need be. If an index lies outside its
window, these channels of the image are done again by scattering.
"""

from __future__ import annotations

from typing import Any

from ...base.windows import FIXED
from ..emitting import can_stream
from ..geometry import COLUMNS, DEPTH, ROWS, bounds_of, run_of, windows_in
from ..jit.halves import OF_BFLOATS, OF_HALVES, store_bfloats, store_halves
from ..jit.matching import fit_32_bits, splat_int, splat_long, sum_of_lanes
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.vectors import fence, load, store, stream
from ..record import BFLOAT16, FLOAT16, FLOAT32, INT64, LANES, MOST_ASKED, NOTHING, PIXELS_ASK
from ..runtime.stopping import shall_stop_at
from .fallback import scatter_planes
from .planes import first_plane, plane_at, share_of
from .squares import SIDE, Square, Windows, held_by_windows, square_at, square_filler

# Bytes of a table of windows, or of rows of them.
TABLE = 16 * MOST_ASKED


@piece
def list_rows(plan: Any, layers: tuple[int, int], first: int, stop: int, inputs: tuple[int, int], rows: int) -> int:
    """Where these rows of windows begin, in all these layers: their indices and gradients; and how many there are."""
    at = rows
    for od in range(layers[0], layers[1]):
        for oh in range(first, stop):
            write_i64(at, 0, inputs[1] + od * plan.index_steps[2] + oh * plan.index_steps[3])
            write_i64(at, 8, inputs[0] + od * plan.grad_steps[2] + oh * plan.grad_steps[3])
            at += 16
    return (at - rows) // 16


@piece
def list_windows(plan: Any, rows: int, number: int, first: int, stop: int, table: int) -> int:
    """The windows from ``first`` to ``stop`` of so many rows; and how many there are."""
    at = table
    for row in range(number):
        indices, grads = read_i64(rows, 16 * row), read_i64(rows, 16 * row + 8)
        for ow in range(first, stop):
            write_i64(at, 0, indices + ow * plan.index_steps[4])
            write_i64(at, 8, grads + ow * plan.grad_steps[4])
            at += 16
    return (at - table) // 16


@inlined_piece
def move_windows(plan: Any, table: int, number: int, by: int) -> None:
    """The windows of a table become those that come so many later in their rows."""
    indices, grads = by * plan.index_steps[4], by * plan.grad_steps[4]
    for at in range(table, table + 16 * number, 16):
        write_i64(at, 0, read_i64(at, 0) + indices)
        write_i64(at, 8, read_i64(at, 8) + grads)


@inlined_piece
def rows_asked(plan: Any, h: int) -> tuple[int, int]:
    """The rows of windows that hold one of two rows of pixels."""
    last = plan.size[ROWS] - 1
    return run_of(plan, ROWS, min(max(h, 0), last))[0], run_of(plan, ROWS, min(h + 1, last))[1]


@inlined_piece
def first_corner(plan: Any, axis: int) -> int:
    """Where squares begin: with windows, if these begin at every second pixel."""
    return -(plan.pad[axis] % SIDE) if plan.rule[axis] == FIXED and plan.stride[axis] % SIDE == 0 else 0


@piece
def stream_square(square: Square, stand_in: int, sums: int, pixel: int, channels: int, unit: Any) -> None:
    """Sums to their pixels, one after the other: what goes past the caches must fill its lines at once."""
    for target in square.targets:
        if target != stand_in:
            for c in range(0, channels - LANES + 1, LANES):
                stream(target, c, load(sums, c, unit))
            if channels % LANES > 0:
                store(target, channels - LANES, load(sums, channels - LANES, unit))
        sums += pixel


# What widens gradients, and rounds and stores sums.
_OF_STORAGE = {
    FLOAT32: (None, store),
    FLOAT16: (OF_HALVES[0], store_halves),
    BFLOAT16: (OF_BFLOATS[0], store_bfloats),
}


def make_kernel(name: str) -> Any:
    windows_size, stride, code = PIXELS_ASK[name]
    held = held_by_windows(windows_size, stride) if windows_size else []
    fill_long = square_filler(f"{name}_from_longs", 64, *_OF_STORAGE[code], held)
    fill_short = square_filler(f"{name}_from_ints", 32, *_OF_STORAGE[code], held)

    @piece_named(f"{name}_rows")
    def fill_rows(
        plan: Any,
        number: int,
        coming: int,
        h: int,
        layer: tuple[int, int],
        channels: int,
        room: tuple[int, int],
        unit: Any,
    ) -> int:
        """Two rows of pixels of a layer, which begins at a place and a target, from so many rows of windows; how many
        indices named one of them, or NOTHING if some name no place at all."""
        (place, target), (sums, rows) = layer, room
        next_rows, table, soon = rows + TABLE, rows + 2 * TABLE, rows + 3 * TABLE
        down, across, pixel = plan.result_steps[3], plan.result_steps[4], plan.together * plan.itemsize
        past, stand_in = plan.plain and plan.streaming and can_stream(plan, target), sums + SIDE * SIDE * pixel
        first = stop = listed = number - number
        (begins, ends), answers = bounds_of(plan, COLUMNS, 0), (splat_int(0), splat_long(0))
        for w in range(first_corner(plan, COLUMNS), plan.size[COLUMNS], SIDE):
            former, before = first, stop
            while stop < plan.out[COLUMNS] and begins < w + SIDE:
                stop += 1
                begins = bounds_of(plan, COLUMNS, stop)[0]
            while first < stop and ends <= w:
                first += 1
                ends = bounds_of(plan, COLUMNS, first)[1]
            if stop - first == before - former:
                move_windows(plan, table, listed, first - former)
            else:
                listed = list_windows(plan, rows, number, first, stop, table)
            below = list_windows(plan, next_rows, coming, before, stop, soon) if coming > 0 else 0
            windows = Windows(table, listed, soon, below, plan.stored)
            square = square_at(plan, (h, w), place, target + h * down + w * across, down, across, stand_in)
            to = square_at(plan, (h, w), place, sums, SIDE * pixel, pixel, stand_in) if past else square
            if plan.index_code == INT64:
                answers = fill_long(to, windows, channels, answers, unit)
            else:
                answers = fill_short(to, windows, channels, answers, unit)
            if past:
                stream_square(square, stand_in, sums, pixel, channels, unit)
        return sum_of_lanes(answers[0]) if fit_32_bits(answers[1]) else NOTHING

    @piece_named(f"{name}_image")
    def fill_image(
        plan: Any, inputs: tuple[int, int], target: int, channels: int, room: tuple[int, int], unit: Any
    ) -> bool:
        """Some channels of an image; whether all indices are in their windows."""
        depth, height, found = plan.size[DEPTH], plan.size[ROWS], channels - channels
        top, rows = first_corner(plan, ROWS), room[1]
        squares = (height - top + 1) // SIDE
        for row in range(depth * squares):
            if shall_stop_at(plan, row, depth * squares * share_of(plan, channels), 1):
                return True
            d, h = row // squares, top + SIDE * (row % squares)
            layers, (first, stop), below = run_of(plan, DEPTH, d), rows_asked(plan, h), rows_asked(plan, h + SIDE)
            number = list_rows(plan, layers, first, stop, inputs, rows)
            coming = list_rows(plan, layers, stop, below[1] if plan.soon else stop, inputs, rows + TABLE)
            layer = d * height * plan.size[COLUMNS], target + d * plan.result_steps[2]
            named = fill_rows(plan, number, coming, h, layer, channels, room, unit)
            if named == NOTHING:
                return False
            found += named
        return found == windows_in(plan) * ((channels + LANES - 1) // LANES * LANES)

    def kernel(
        records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Some channels of images, ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
        plan = records[0]
        p, stop = first_plane(plan, begin), first_plane(plan, end)
        while p < stop:
            beside = min(plan.channels - p % plan.channels, stop - p)
            planes = min(beside, plan.together)
            if 0 < beside - planes < LANES:  # no fewer are left
                planes -= LANES
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            if not fill_image(plan, (source, pointers), target, planes, (floats, integers), unit):
                bad = scatter_planes(plan, p, p + planes, grad, indices, result, floats, unit)
                if bad != NOTHING:
                    return bad
            p += planes
        if plan.streaming:
            fence()
        return NOTHING

    return kernel
