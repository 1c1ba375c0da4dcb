"""The gradient of a maximum whose place a mask tells, in any view of its bytes.

Some outputs of a plane at a time: their places are read from the mask, then their gradients are added there in
ascending order, as by any scatter. So only these places are ever copied.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..geometry import COLUMNS, ROWS, elements_in, windows_in
from ..jit.memory import add_at, inlined_piece, piece, read_i32, read_i64, read_u8, read_u16, write_i64
from ..jit.vectors import read, write
from ..record import GROUP, KEPT, NOTHING
from ..rows import load_row, rounded, store_row
from ..runtime.stopping import is_stopped, shall_stop
from .fallback import Sums, clear_sums, is_outside, place_of, row_of, sums_of
from .planes import plane_at


@inlined_piece
def row_of_mask(plan: Any, mask: int, row: int) -> int:
    """Where a row of the mask begins, counted over images, channels and positions."""
    positions, steps = plan.kernel[ROWS] * plan.kernel[COLUMNS], plan.index_steps
    channel = row // positions
    image, channel = channel // plan.channels, channel % plan.channels
    return mask + image * steps[0] + channel * steps[1] + row % positions * steps[3]


@piece
def read_places(plan: Any, mask: int, first: int, n: int, places: int) -> None:
    """n numbers of the stream of places, from the number ``first`` on; rows hold whole numbers of them."""
    step, per_row = plan.index_steps[4], plan.mask_row // 4
    for i in range(n):
        at = row_of_mask(plan, mask, (first + i) // per_row) + (first + i) % per_row * 4 * step
        if step == 1:
            place = types.int64(read_i32(at, 0))
        else:
            low = types.int64(read_u8(at, 0)) | types.int64(read_u8(at, step)) << 8
            high = types.int64(read_u8(at, 2 * step)) | types.int64(read_u8(at, 3 * step)) << 8
            place = types.int64(types.int32(low | high << 16))
        write_i64(places, 8 * i, place)


@piece
def count_bits(plan: Any, mask: int, p: int, first: int, n: int, places: int, counts: int) -> None:
    """At how many positions the words of n outputs, from ``first`` on, have the bit of plane p set; and the sum of
    these positions, which is the right one if there is but one."""
    image, channel, step = p // plan.channels, p % plan.channels, plan.index_steps[4]
    groups, positions = -(-plan.channels // GROUP), plan.kernel[ROWS] * plan.kernel[COLUMNS]
    row, bit = (image * groups + channel // GROUP) * positions, channel % GROUP
    for i in range(n):
        write_i64(places, 8 * i, 0)
        write_i64(counts, 8 * i, 0)
    for k in range(positions):
        at = row_of_mask(plan, mask, row + k) + 2 * first * step
        for i in range(n):
            if step == 1:
                word = types.int64(read_u16(at, 2 * i))
            else:
                word = types.int64(read_u8(at, 2 * i * step)) | types.int64(read_u8(at, (2 * i + 1) * step)) << 8
            is_set = word >> bit & 1
            write_i64(places, 8 * i, read_i64(places, 8 * i) + is_set * k)
            write_i64(counts, 8 * i, read_i64(counts, 8 * i) + is_set)


@piece
def place_bits(plan: Any, first: int, n: int, places: int, counts: int) -> None:
    """Window positions as places in the plane; NOTHING for outputs without one position inside the input."""
    only_one = plan.kernel[ROWS] * plan.kernel[COLUMNS] == 1
    oh, ow = first // plan.out[COLUMNS], first % plan.out[COLUMNS] - 1
    for i in range(n):
        ow += 1
        if ow == plan.out[COLUMNS]:
            oh, ow = oh + 1, ow - ow
        h, w = oh * plan.stride[ROWS] - plan.pad[ROWS], ow * plan.stride[COLUMNS] - plan.pad[COLUMNS]
        place = h * plan.size[COLUMNS] + w
        if not only_one:
            k = read_i64(places, 8 * i)
            h, w = h + k // plan.kernel[COLUMNS], w + k % plan.kernel[COLUMNS]
            place = h * plan.size[COLUMNS] + w
            if read_i64(counts, 8 * i) != 1 or is_outside(h, plan.size[ROWS]) or is_outside(w, plan.size[COLUMNS]):
                place = NOTHING
        write_i64(places, 8 * i, place)


@piece
def load_gradients(plan: Any, source: int, first: int, n: int, into: int, unit: Any) -> None:
    """n gradients of a plane, row by row."""
    width, done, steps = plan.out[COLUMNS], first - first, plan.grad_steps
    while done < n:
        oh, ow = (first + done) // width, (first + done) % width
        here, at = min(n - done, width - ow), source + oh * steps[3] + ow * steps[4]
        load_row(at, steps[4], plan.code, plan.rounding, into + done * plan.itemsize, here, unit)
        done += here


@piece
def store_sums(plan: Any, sums: Sums, target: int, unit: Any) -> None:
    """From scratch to the output, which may be of floats: those whose sums are rounded to fewer bits."""
    to = Sums(target, plan.result_steps[2], plan.result_steps[3], plan.result_steps[4])
    for h in range(plan.size[ROWS]):
        if is_stopped(plan):
            break
        store_row(row_of(plan, to, h), to.step, plan.code, row_of(plan, sums, h), plan.size[COLUMNS], unit)


def scatter_mask(
    records: Any, grad: int, mask: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first output whose maximum is nowhere, or NOTHING."""
    plan = records[0]
    number, size = windows_in(plan), elements_in(plan)
    plane, counts = floats + plan.chunk * plan.itemsize, integers + 8 * plan.chunk
    for p in range(begin, end):
        source, _, target = plane_at(plan, p, grad, mask, result)
        sums = sums_of(plan, target, plane)
        clear_sums(plan, sums, unit)
        for first in range(0, number, plan.chunk):
            if shall_stop(plan, plan.chunk, number, 1):
                return NOTHING
            n = min(plan.chunk, number - first)
            if not plan.bits:
                read_places(plan, mask, p * number + first, n, integers)
            else:
                if plan.kernel[ROWS] * plan.kernel[COLUMNS] > 1:
                    count_bits(plan, mask, p, first, n, integers, counts)
                place_bits(plan, first, n, integers, counts)
            load_gradients(plan, source, first, n, floats, unit)
            for i in range(n):
                place = read_i64(integers, 8 * i)
                if is_outside(place, size):
                    return p * number + first + i
                add_at(place_of(plan, sums, place), 0, read(floats, i, unit))
        if not plan.direct:
            if plan.rounding != KEPT:  # adding -0.0 changes nothing but the type
                for i in range(size):
                    write(plane, i, rounded(types.float32(read(plane, i, unit)), plan.rounding) + -unit)
            store_sums(plan, sums, target, unit)
    return NOTHING
