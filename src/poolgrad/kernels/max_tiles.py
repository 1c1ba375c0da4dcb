"""The gradient of every maximum over windows that lie side by side, k = s: each window is its own small square.

Eight neighbouring windows are eight gradients and eight indices as they lie in memory. Each index is compared with the
positions of its window, row by row; where it names one, the gradient stands, elsewhere zero. The columns of the
windows alternate in the output, so every vector is written once, and nothing is scattered.

A gradient whose index lies outside its window finds no place here. Then the plane is done again by scattering, which
also finds the first index that is outside its plane.
"""

from __future__ import annotations

from typing import Any

from .astray import scatter_astray
from .emitting import emit, fetch_row
from .matching import (
    all_below,
    any_bits,
    high_halves,
    larger,
    load_ints,
    low_halves,
    or_ints,
    rising,
    smaller,
    splat_int,
    store_named,
    stream_named,
    subtract_ints,
)
from .memory import inlined_piece, piece_named
from .record import GATHERED, INT64, LANES, NOTHING, ROOM
from .rows import zero_row
from .vectors import add, fence, interleaved, itemsize, load, splat, store, write


def _row_layer(stride: int) -> Any:
    @piece_named(f"lay_row_{stride}")
    def lay_row(
        grads: int,
        indices: int,
        code: int,
        n: int,
        target: int,
        pitch: int,
        width: int,
        row: int,
        streaming: bool,
        unit: Any,
    ) -> bool:
        """All rows of n >= 8 windows, ``pitch`` bytes apart; False if an index names no place in its window.

        ``row`` is the position where the first of them begins. The last eight windows are laid back over the ones
        before.
        """
        zero, beyond, worst, next_row = splat(unit), splat_int(0), splat_int(0), splat_int(width)
        windows = rising(0, stride)
        i = 0
        while i < n:
            i = min(i, n - LANES)
            if code == INT64:
                index = low_halves(indices, i)
                beyond = or_ints(beyond, high_halves(indices, i))
            else:
                index = load_ints(indices, i)
            gradient = add(zero, load(grads, i, unit))  # as a sum would begin
            distance = subtract_ints(index, splat_int(row + stride * i))
            inside = subtract_ints(distance, windows)
            for _ in range(stride - 1):  # to the window's first line, if it is in the window
                inside = smaller(inside, subtract_ints(inside, next_row))
            worst = larger(worst, inside)
            gradients, distances = interleaved(gradient, gradient, stride, 0), interleaved(distance, distance, stride, 0)
            past = streaming and stride * i * itemsize(unit) % 16 == 0  # the last eight may lie anywhere
            if past:
                for r in range(stride):
                    stream_named(target + r * pitch, stride * i, gradients, distances, r * width)
            else:
                for r in range(stride):
                    store_named(target + r * pitch, stride * i, gradients, distances, r * width)
            i += LANES
        return all_below(worst, stride) and not any_bits(beyond)

    return lay_row


lay_row_2, lay_row_3, lay_row_4 = _row_layer(2), _row_layer(3), _row_layer(4)


@inlined_piece
def by_tiles(
    lay_row: Any,
    records: Any,
    grad: int,
    indices: int,
    result: int,
    floats: int,
    integers: int,
    begin: int,
    end: int,
    unit: Any,
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    size, height, width, rows, columns = plan.itemsize, plan.size[1], plan.size[2], plan.out[1], plan.out[2]
    stride, storage, row_step = plan.stride[1], plan.stored, plan.result_steps[3]
    covered = columns * stride
    spare, aligned = width - covered, row_step % 16 == 0
    # Rows go straight to the output, unless they must be rounded, or would miss the addresses that can be streamed to.
    direct = plan.plain and not (plan.streaming and plan.dense and (spare > 0 or not aligned))
    widened = floats + (GATHERED + stride * width + ROOM) * size
    scratch = widened + (columns + ROOM) * size
    for p in range(begin, end):
        n, c = p // plan.channels, p % plan.channels
        source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
        pointers = indices + n * plan.index_steps[0] + c * plan.index_steps[1]
        target = result + n * plan.result_steps[0] + c * plan.result_steps[1]
        streaming = plan.streaming and aligned and target % 16 == 0
        found, cursor, pending = True, target, 0
        for oh in range(rows):
            grads, where = source + oh * plan.grad_steps[3], pointers + oh * plan.index_steps[3]
            if not plan.plain:
                fetch_row(grads, storage, plan.code, columns, columns, widened, unit)
                grads = widened
            row, code = oh * stride * width, plan.index_code
            if direct:
                at = target + oh * stride * row_step
                found &= lay_row(grads, where, code, columns, at, row_step, width, row, streaming, unit)
                for r in range(stride):
                    for w in range(covered, width):
                        write(at + r * row_step, w, unit)
            else:
                at = floats + pending * size
                found &= lay_row(grads, where, code, columns, at, width * size, width, row, False, unit)
                for r in range(stride):
                    for w in range(covered, width):
                        write(at, r * width + w, unit)
                pending += stride * width
                if pending >= GATHERED:
                    done = emit(cursor, floats, pending, plan.code, plan.streaming, False, unit)
                    cursor += done * storage
                    pending -= done
                    for i in range(0, pending, LANES):
                        store(floats, i, load(floats, done + i, unit))
        if not found:
            bad = scatter_astray(plan, source, pointers, target, scratch, unit)
            if bad != NOTHING:
                return p * rows * columns + bad
        else:
            emit(cursor, floats, pending, plan.code, plan.streaming, True, unit)
            for h in range(rows * stride, height):
                zero_row(target + h * row_step, storage, plan.code, width)
    if plan.streaming:
        fence()
    return NOTHING


def max_tiles_2(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    return by_tiles(lay_row_2, records, grad, indices, result, floats, integers, begin, end, unit)


def max_tiles_3(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    return by_tiles(lay_row_3, records, grad, indices, result, floats, integers, begin, end, unit)


def max_tiles_4(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    return by_tiles(lay_row_4, records, grad, indices, result, floats, integers, begin, end, unit)
