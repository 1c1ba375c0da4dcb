"""The gradient of every maximum over windows that lie side by side, k = s: each window is its own small square.

Each element asks for its gradient, as in touching_vectors.py: every vector is written once, and nothing is scattered.
Rows of windows are laid straight into the output, past the caches if rows lie where vectors can be streamed to. Layers
that no window joins are like planes.

It takes 0.55 to 0.85 of the time of a scatter. Windows of 4 and more, and with depth, are scattered as fast: few
gradients meet many zeros.

A gradient whose index lies outside its window finds no place here. Then the plane is done again by scattering, which
also finds the first index that is outside its plane.
"""

from __future__ import annotations

from typing import Any

from ..jit.matching import all_below, any_bits, lanes_within, larger, or_ints, rising, splat_int
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import fence, interleaved, write
from ..record import LANES, NOTHING
from ..rows import fill_row
from ..runtime.stopping import shall_stop
from .fallback import scatter_planes
from .planes import plane_at
from .touching_vectors import (
    eight_distances,
    eight_windows,
    named,
    on_first_line,
    store_line,
    stream_line,
    stream_part,
)

# Rows of windows between two looks whether to stop: many at once, since to go into a loop and out of it for each row
# takes as long as three vectors of windows.
ROWS_AT_ONCE = 16


def _rows(stride: int) -> Any:
    @piece_named(f"lay_rows_{stride}")
    def lay_rows(plan: Any, grads: int, indices: int, rows: int, target: int, row: int, unit: Any) -> bool:
        """All lines of rows of n >= 8 windows; False if an index is not in its window.

        ``row`` is the place where the first of them begins. The last eight windows are laid back over the ones before.
        Many rows at once: to go in and out for each takes twice as long if they are short.
        """
        n, code, pitch, width = plan.out[2], plan.index_code, plan.result_steps[3], plan.size[2]
        windows, next_line = rising(0, stride), splat_int(width)
        beyond, worst = splat_int(0), splat_int(0)
        for _ in range(rows):
            i = 0
            while i < n:
                i = min(i, n - LANES)
                gradient, distance, more = eight_windows(grads, indices, code, i, row + stride * i, unit)
                beyond = or_ints(beyond, more)
                worst = larger(worst, on_first_line(distance, windows, next_line, stride))
                gradients = interleaved(gradient, gradient, stride, 0)
                distances = interleaved(distance, distance, stride, 0)
                for r in range(stride):
                    store_line(target + r * pitch, stride * i, named(gradients, distances, r * width))
                i += LANES
            for r in range(stride):
                for w in range(n * stride, width):
                    write(target + r * pitch, w, unit)
            grads, indices = grads + plan.grad_steps[3], indices + plan.index_steps[3]
            target, row = target + stride * pitch, row + stride * width
        return all_below(worst, stride) and not any_bits(beyond)

    @piece_named(f"stream_rows_{stride}")
    def stream_rows(plan: Any, grads: int, indices: int, rows: int, target: int, row: int, unit: Any) -> bool:
        """The same past the caches. Lines are whole multiples of 16 bytes.

        Up to eight windows behind the last one are read, and ignored.
        """
        n, code, pitch, width = plan.out[2], plan.index_code, plan.result_steps[3], plan.size[2]
        windows, next_line = rising(0, stride), splat_int(width)
        beyond, worst = splat_int(0), splat_int(0)
        for _ in range(rows):
            i = 0
            for w in range(0, width, stride * LANES):
                gradient, distance, more = eight_windows(grads, indices, code, i, row + w, unit)
                own, is_whole = distance, w + stride * LANES <= width
                if not is_whole:
                    last = n - LANES
                    own, more = eight_distances(indices, code, last, row + stride * last)
                    distance = or_ints(distance, lanes_within(n - i, LANES))  # no place is below zero
                beyond = or_ints(beyond, more)
                worst = larger(worst, on_first_line(own, windows, next_line, stride))
                gradients = interleaved(gradient, gradient, stride, 0)
                distances = interleaved(distance, distance, stride, 0)
                for r in range(stride):
                    columns = named(gradients, distances, r * width)
                    if is_whole:
                        stream_line(target + r * pitch, w, columns)
                    else:
                        stream_part(target + r * pitch, w, columns, width - w)
                i += LANES
            grads, indices = grads + plan.grad_steps[3], indices + plan.index_steps[3]
            target, row = target + stride * pitch, row + stride * width
        return all_below(worst, stride) and not any_bits(beyond)

    @inlined_piece
    def lay(plan: Any, grads: int, indices: int, rows: int, target: int, row: int, past: bool, unit: Any) -> bool:
        if past:
            return stream_rows(plan, grads, indices, rows, target, row, unit)
        return lay_rows(plan, grads, indices, rows, target, row, unit)

    return lay


def kernel_of(stride: int, lay: Any) -> Any:
    """The kernel for windows of this many rows and columns, some rows of which ``lay`` makes."""

    def kernel(
        records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Planes ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
        plan = records[0]
        height, width, rows, columns = plan.size[1], plan.size[2], plan.out[1], plan.out[2]
        pitch, layers = plan.result_steps[3], plan.size[0]
        overrun = columns % LANES > 0 or columns * stride < width
        aligned = pitch % 16 == 0 and width * plan.stored % 16 == 0
        past = plan.streaming and aligned and (plan.followed or not overrun)
        for p in range(begin, end):
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            found = True
            for d in range(layers):
                made = target + d * plan.result_steps[2]
                streamed = rows if past and made % 16 == 0 else 0
                if overrun and streamed > 0 and p == end - 1 and d == layers - 1:
                    streamed -= 1  # there may be nothing behind the last row
                oh = 0
                while oh < rows:
                    at_once = min((streamed if oh < streamed else rows) - oh, ROWS_AT_ONCE)
                    if shall_stop(plan, at_once, layers * rows, 1):
                        return NOTHING
                    grads = source + d * plan.grad_steps[2] + oh * plan.grad_steps[3]
                    where = pointers + d * plan.index_steps[2] + oh * plan.index_steps[3]
                    row, at = (d * height + oh * stride) * width, made + oh * stride * pitch
                    found &= lay(plan, grads, where, at_once, at, row, oh < streamed, unit)
                    oh += at_once
                for h in range(rows * stride, height):
                    fill_row(made + h * pitch, plan.code, width, unit, plan.streaming)
            if not found:
                bad = scatter_planes(plan, p, p + 1, grad, indices, result, floats, unit)
                if bad != NOTHING:
                    return bad
        if plan.streaming:
            fence()
        return NOTHING

    return kernel


max_touching_2, max_touching_3 = (kernel_of(stride, _rows(stride)) for stride in (2, 3))
