"""The gradient of every maximum where the channels of a pixel lie side by side: eight channels are a vector.

Each element asks the windows that hold it whether their index names it, in ascending order, and all channels of a pixel
ask the same windows. If fewer gradients were taken than there are, the image is done again by
scattering.
"""

from __future__ import annotations

from typing import Any

from ..emitting import can_stream, emit, fetch_row
from ..jit.matching import add_where, count_where, equal, equal_wide, load_ints, splat_int, sum_of_ints
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import fence, load, splat, store, stream
from ..record import INT64, LANES, NOTHING, ROOM
from ..rows import store_row
from ..runtime.stopping import shall_stop_at
from .fallback import scatter_channels
from .planes import plane_at


@inlined_piece
def put(target: int, i: int, vector: Any, streaming: bool) -> None:
    if streaming:
        stream(target, i, vector)
    else:
        store(target, i, vector)


@inlined_piece
def ask(where: int, wide: bool, c: int, place: int, grads: int, total: Any, count: Any, unit: Any) -> tuple[Any, Any]:
    """Eight channels ask one window: the sums with what they took, and the count with how many did."""
    found = equal_wide(where, c, place) if wide else equal(load_ints(where, c), splat_int(place))
    return add_where(found, total, load(grads, c, unit)), count_where(found, count)


@inlined_piece
def gather_channels(
    windows: int, wide: bool, place: int, channels: int, target: int, streaming: bool, count: Any, unit: Any
) -> Any:
    """Four vectors of channels at a time, so that their sums do not wait for each other; then the rest."""
    several = channels // (4 * LANES) * (4 * LANES)
    for c0 in range(0, several, 4 * LANES):
        c1, c2, c3 = c0 + LANES, c0 + 2 * LANES, c0 + 3 * LANES
        one = two = three = four = splat(unit)
        j, grads = 0, read_i64(windows, 0)
        while grads != 0:
            where = read_i64(windows, j + 8)
            one, count = ask(where, wide, c0, place, grads, one, count, unit)
            two, count = ask(where, wide, c1, place, grads, two, count, unit)
            three, count = ask(where, wide, c2, place, grads, three, count, unit)
            four, count = ask(where, wide, c3, place, grads, four, count, unit)
            j += 16
            grads = read_i64(windows, j)
        put(target, c0, one, streaming)
        put(target, c1, two, streaming)
        put(target, c2, three, streaming)
        put(target, c3, four, streaming)
    for c in range(several, channels, LANES):
        one = splat(unit)
        j, grads = 0, read_i64(windows, 0)
        while grads != 0:
            one, count = ask(read_i64(windows, j + 8), wide, c, place, grads, one, count, unit)
            j += 16
            grads = read_i64(windows, j)
        put(target, c, one, streaming)
    return count


@piece
def gather_pixel(
    windows: int, code: int, place: int, channels: int, target: int, streaming: bool, count: Any, unit: Any
) -> Any:
    """All channels of a pixel. ``windows`` lists the addresses of their gradients and indices, up to a zero."""
    if code == INT64:
        return gather_channels(windows, True, place, channels, target, streaming, count, unit)
    return gather_channels(windows, False, place, channels, target, streaming, count, unit)


@piece
def widen_rows(plan: Any, source: int, channels: int, first: int, stop: int, kept: int, unit: Any) -> None:
    """Some rows of 16-bit gradients into scratch."""
    for oh in range(first, stop):
        at = source + oh * plan.grad_steps[3]
        row = kept + (oh & plan.row_slots - 1) * plan.wide_row * plan.itemsize
        if channels * plan.stored == plan.grad_steps[4]:  # all channels: the row is one run of memory
            fetch_row(at, plan.stored, plan.code, plan.out[2] * channels, plan.out[2] * channels, row, unit)
        else:
            for ow in range(plan.out[2]):
                pixel = row + ow * channels * plan.itemsize
                fetch_row(at + ow * plan.grad_steps[4], plan.stored, plan.code, channels, channels, pixel, unit)


@piece
def store_pixels(plan: Any, target: int, channels: int, row: int, unit: Any) -> None:
    """One row of the result from scratch."""
    step = plan.result_steps[4]
    if channels * plan.stored == step:
        emit(target, row, plan.size[2] * channels, plan.code, plan.streaming, True, unit)
    else:
        for w in range(plan.size[2]):
            pixel = row + w * channels * plan.itemsize
            store_row(target + w * step, plan.stored, plan.code, pixel, channels, unit)


def max_channels_last(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Groups of eight channels ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
    plan = records[0]
    height, width, rows, columns, itemsize = plan.size[1], plan.size[2], plan.out[1], plan.out[2], plan.itemsize
    row_step, step, plain = plan.result_steps[3], plan.result_steps[4], plan.plain
    groups, slots = plan.channels // LANES, plan.row_slots
    # Rows of the result that share windows are made together, while these are in the first-level cache.
    together = plan.tile
    runs, windows = integers, integers + 16 * together
    kept = floats + together * plan.longer * itemsize  # behind rows of the result: rows of gradients, widened
    scratch = kept + (slots * plan.wide_row + ROOM) * itemsize
    group = begin
    while group < end:
        channels = min(plan.channels - group % groups * LANES, (end - group) * LANES)
        source, pointers, target = plane_at(plan, group * LANES, grad, indices, result)
        streaming = plain and plan.streaming and can_stream(plan, target)
        count, first, stop = splat_int(0), 0, 0
        for top in range(0, height, together):
            if shall_stop_at(plan, top // together, (height + together - 1) // together, channels // LANES):
                return NOTHING
            bottom = min(top + together, height)
            for h in range(top, bottom):
                while stop < rows and stop * plan.stride[1] - plan.pad[1] <= h:
                    stop += 1
                while first < stop and first * plan.stride[1] - plan.pad[1] + plan.kernel[1] <= h:
                    first += 1
                write_i64(runs, 16 * (h - top), first)
                write_i64(runs, 16 * (h - top) + 8, stop)
            if not plain:
                widen_rows(plan, source, channels, read_i64(runs, 0), stop, kept, unit)
            left, right = 0, 0
            for w in range(width):
                while right < columns and right * plan.stride[2] - plan.pad[2] <= w:
                    right += 1
                while left < right and left * plan.stride[2] - plan.pad[2] + plan.kernel[2] <= w:
                    left += 1
                for h in range(top, bottom):
                    j = 0
                    for oh in range(read_i64(runs, 16 * (h - top)), read_i64(runs, 16 * (h - top) + 8)):
                        at, here = source + oh * plan.grad_steps[3], plan.grad_steps[4]
                        if not plain:
                            at, here = kept + (oh & slots - 1) * plan.wide_row * itemsize, channels * itemsize
                        where = pointers + oh * plan.index_steps[3]
                        for ow in range(left, right):
                            write_i64(windows, j, at + ow * here)
                            write_i64(windows, j + 8, where + ow * plan.index_steps[4])
                            j += 16
                    write_i64(windows, j, 0)
                    at = target + h * row_step + w * step
                    if not plain:
                        at = floats + ((h - top) * plan.longer + w * channels) * itemsize
                    place = h * width + w
                    count = gather_pixel(windows, plan.index_code, place, channels, at, streaming, count, unit)
            if not plain:
                for h in range(top, bottom):
                    row = floats + (h - top) * plan.longer * itemsize
                    store_pixels(plan, target + h * row_step, channels, row, unit)
        if sum_of_ints(count) != rows * columns * channels:
            bad = scatter_channels(plan, source, pointers, target, channels, scratch, unit)
            if bad != NOTHING:
                return group * LANES * rows * columns + bad
        group += channels // LANES
    if plan.streaming:
        fence()
    return NOTHING
