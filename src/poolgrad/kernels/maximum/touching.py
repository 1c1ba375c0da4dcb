"""The gradient of every maximum over windows that lie side by side, k = s: each window is its own small square or box.

Each element asks for its gradient, as in touching_vectors.py: every vector is written once, and nothing is scattered.
Rows of windows are laid straight into the output, past the caches if rows lie where vectors can be streamed to. Numbers
that must be rounded are gathered in scratch first.

With depth a layer of gradients is asked once for each layer of its windows: layers of the result are written one after
the other, as they lie in memory.

A gradient whose index lies outside its window finds no place here. Then the plane is done again by scattering, which
also finds the first index that is outside its plane.
"""

from __future__ import annotations

from typing import Any

from ..emitting import emit, fetch_row
from ..geometry import windows_in
from ..jit.matching import all_below, any_bits, lanes_within, larger, or_ints, rising, splat_int
from ..jit.memory import piece_named
from ..jit.vectors import fence, interleaved, load, store, write
from ..record import GATHERED, LANES, NOTHING, ROOM
from ..rows import fill_row
from ..runtime.stopping import shall_stop_at
from .fallback import scatter_astray
from .planes import plane_at
from .touching_vectors import (
    are_inside,
    eight_distances,
    eight_windows,
    named,
    on_first_line,
    store_line,
    stream_line,
    stream_part,
)

# Lines of 4 x 4 windows that are streamed side by side. With all four of them a call takes three times as long: memory
# gathers whole cache lines for few places at a time. The three lines of smaller windows are faster together.
STREAMED_OF_FOUR = 2


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
        checks: bool,
        unit: Any,
    ) -> bool:
        """All lines of n >= 8 windows, ``pitch`` bytes apart; False if it checks and an index is not in its window.

        ``row`` is the place where the first of them begins. The last eight windows are laid back over the ones before.
        """
        windows, next_line = rising(0, stride), splat_int(width)
        beyond, worst = splat_int(0), splat_int(0)
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
        return not checks or (all_below(worst, stride) and not any_bits(beyond))

    return lay_row


def _row_streamer(stride: int) -> Any:
    together = STREAMED_OF_FOUR if stride == 4 else stride

    @piece_named(f"stream_row_{stride}")
    def stream_row(
        grads: int,
        indices: int,
        code: int,
        n: int,
        target: int,
        pitch: int,
        width: int,
        row: int,
        checks: bool,
        unit: Any,
    ) -> bool:
        """The same past the caches, and the columns behind the last window, too. Lines are whole multiples of 16 bytes.

        Up to eight windows behind the last one are read, and ignored.
        """
        windows, next_line = rising(0, stride), splat_int(width)
        beyond, worst = splat_int(0), splat_int(0)
        for first in range(0, stride, together):
            i = 0
            for w in range(0, width, stride * LANES):
                gradient, distance, more = eight_windows(grads, indices, code, i, row + w, unit)
                own, is_whole = distance, w + stride * LANES <= width
                if not is_whole:
                    last = n - LANES
                    own, more = eight_distances(indices, code, last, row + stride * last)
                    distance = or_ints(distance, lanes_within(n - i, LANES))  # no place is below zero
                if checks and first == 0:
                    beyond = or_ints(beyond, more)
                    worst = larger(worst, on_first_line(own, windows, next_line, stride))
                gradients = interleaved(gradient, gradient, stride, 0)
                distances = interleaved(distance, distance, stride, 0)
                for r in range(first, first + together):
                    columns = named(gradients, distances, r * width)
                    if is_whole:
                        stream_line(target + r * pitch, w, columns)
                    else:
                        stream_part(target + r * pitch, w, columns, width - w)
                i += LANES
        return all_below(worst, stride) and not any_bits(beyond)

    return stream_row


def _kernel(stride: int) -> Any:
    """The kernel for windows of this many rows and columns."""
    lay_row, stream_row = _row_layer(stride), _row_streamer(stride)

    def kernel(
        records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Planes ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
        plan = records[0]
        size, height, width, rows, columns = plan.itemsize, plan.size[1], plan.size[2], plan.out[1], plan.out[2]
        storage, row_step, layers = plan.stored, plan.result_steps[3], plan.stride[0]
        covered = columns * stride
        overrun = columns % LANES > 0 or covered < width
        aligned = row_step % 16 == 0 and width * size % 16 == 0
        past = plan.streaming and plan.plain and aligned and (plan.followed or not overrun)
        widened = floats + (GATHERED + stride * width + ROOM) * size
        scratch = widened + (columns + ROOM) * size
        for p in range(begin, end):
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            found = True
            for d in range(plan.size[0]):
                od, made = d // layers, target + d * plan.result_steps[2]
                windows = rows if od < plan.out[0] else 0  # behind the last ones there is nothing
                streamed = windows if past and made % 16 == 0 else 0
                if overrun and streamed > 0 and p == end - 1 and od == plan.out[0] - 1:
                    streamed -= 1  # there may be nothing behind the last row
                pending = 0
                cursor = made  # up to which rounded numbers are written
                for oh in range(windows):
                    if shall_stop_at(plan, d * rows + oh, plan.size[0] * rows, 1):
                        return NOTHING
                    grads = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
                    where = pointers + od * plan.index_steps[2] + oh * plan.index_steps[3]
                    if not plan.plain:
                        fetch_row(grads, storage, plan.code, columns, columns, widened, unit)
                        grads = widened
                    row, code = (d * height + oh * stride) * width, plan.index_code
                    at = made + oh * stride * row_step
                    if layers > 1 and d % layers == 0:
                        found &= are_inside(where, code, columns, row, stride, width, height * width, layers)
                    if oh < streamed:
                        found &= stream_row(grads, where, code, columns, at, row_step, width, row, layers == 1, unit)
                    elif plan.plain:
                        found &= lay_row(grads, where, code, columns, at, row_step, width, row, layers == 1, unit)
                        for r in range(stride):
                            for w in range(covered, width):
                                write(at + r * row_step, w, unit)
                    else:
                        at = floats + pending * size
                        found &= lay_row(grads, where, code, columns, at, width * size, width, row, layers == 1, unit)
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
                if not plan.plain:
                    emit(cursor, floats, pending, plan.code, plan.streaming, True, unit)
                for h in range(windows * stride, height):
                    fill_row(made + h * row_step, plan.code, width, unit, plan.streaming)
            if not found:
                bad = scatter_astray(plan, source, pointers, target, scratch, unit)
                if bad != NOTHING:
                    return p * windows_in(plan) + bad
        if plan.streaming:
            fence()
        return NOTHING

    kernel.__name__ = kernel.__qualname__ = f"max_touching_{stride}"  # kernels are kept on disk by their names
    return kernel


max_touching_2, max_touching_3, max_touching_4 = _kernel(2), _kernel(3), _kernel(4)
