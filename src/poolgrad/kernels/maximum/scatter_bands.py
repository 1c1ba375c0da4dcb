"""The gradient of a maximum in 16 bits: scattered in float32 in scratch, some rows of windows at a time, then rounded.

A band of some rows, or layers, stays in the caches. When no window to come reaches a row any more, it is written, and
the rows that the next windows share are moved to the front. Small planes that follow each other share a band. An index
outside its band is legal, or a mistake: then the planes are done again by the plain scatter, which knows.

Where gradients are many this takes 0.5 to 0.8 of the time that they take in the output itself (scatter.py).
"""

from __future__ import annotations

from typing import Any

from ..emitting import emit, fetch_row
from ..geometry import ROWS, bounds_of, elements_in, windows_in
from ..jit.memory import inlined_piece, piece
from ..jit.vectors import fence, load, splat, store
from ..record import LANES, NOTHING
from ..rows import store_row
from ..runtime.stopping import shall_stop
from .fallback import scatter_planes
from .planes import first_plane, plane_at, share_of
from .scatter import Into, Run, add_planes_to_band, add_to_band


@inlined_piece
def zero(at: int, n: int, unit: Any) -> None:
    """In scratch, with some overrun."""
    for i in range(0, n, LANES):
        store(at, i, splat(unit))


@piece
def fetch_windows(plan: Any, source: int, first: int, n: int, planes: int, floats: int, unit: Any) -> None:
    """The gradients of n windows of some planes, side by side in scratch."""
    step = plan.grad_steps[4]
    at = source + first * step
    if step == planes * plan.stored:
        fetch_row(at, plan.stored, plan.code, n * planes, n * planes, floats, unit)
    else:
        for i in range(n):
            fetch_row(at + i * step, plan.stored, plan.code, planes, planes, floats + i * planes * plan.itemsize, unit)


@piece
def write_pixels(plan: Any, target: int, band: int, pixels: int, planes: int, is_last: bool, unit: Any) -> int:
    """The first pixels of a band; returns how many: some may wait for the next ones, to fill a cache line."""
    step = plan.result_steps[4]
    if step == planes * plan.stored:
        is_last = is_last or planes > 1
        return emit(target, band, pixels * planes, plan.code, plan.streaming, is_last, unit) // planes
    for i in range(pixels):
        store_row(target + i * step, plan.stored, plan.code, band + i * planes * plan.itemsize, planes, unit)
    return pixels


@inlined_piece
def scatter_in_bands(
    plan: Any, source: int, pointers: int, target: int, planes: int, floats: int, band: int, unit: Any
) -> bool:
    """Planes that lie side by side; False if an index is outside its band."""
    width, columns, size, rows = plan.size[2], plan.out[2], elements_in(plan), plan.out[1]
    pixel, first, clear = planes * plan.itemsize, 0, 0  # the band's first place, and up to which it is clear or filled
    for top in range(0, rows, plan.tile):
        if shall_stop(plan, plan.tile, rows * share_of(plan, planes), 1):
            return True
        stop = min(top + plan.tile, rows)
        reached = settled = size
        if stop < rows:
            reached = min(bounds_of(plan, ROWS, stop - 1)[1] * width, size)
            settled = max(bounds_of(plan, ROWS, stop)[0], 0) * width
        n, at = (stop - top) * columns, top * columns
        zero(band + (clear - first) * pixel, (reached - clear) * planes, unit)
        fetch_windows(plan, source, at, n, planes, floats, unit)
        step = plan.index_steps[4]
        run = Run(floats, pointers + at * step, n, pixel, step)
        if add_to_band(plan, Into(band, planes, pixel, True, first, 0), run, 0, reached - first, unit) < n * planes:
            return False
        number = min(settled, reached) - first
        at = target + first * plan.result_steps[4]
        done = write_pixels(plan, at, band, number, planes, stop == rows, unit)
        for i in range(0, (reached - first - done) * planes, LANES):
            store(band, i, load(band + done * pixel, i, unit))
        first, clear = first + done, reached
    return True


def scatter_bands(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Groups of planes ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
    plan = records[0]
    number, size, band = windows_in(plan), elements_in(plan), floats + plan.chunk * plan.itemsize
    p, stop = first_plane(plan, begin), first_plane(plan, end)
    while p < stop:
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        planes = min(plan.together, plan.channels - p % plan.channels, stop - p)
        if plan.batch > 1:  # small planes that follow each other
            planes = min(plan.batch, stop - p)
            zero(band, planes * size, unit)
            fetch_row(source, plan.stored, plan.code, planes * number, planes * number, floats, unit)
            into = Into(band, 1, plan.itemsize, True, 0, 0)
            filled = add_planes_to_band(plan, into, Run(floats, pointers, number, 0, 0), planes, unit)
            emit(target, band, filled * size, plan.code, plan.streaming, True, unit)
            planes = min(planes, filled + 1)
        else:
            filled = planes
            if not scatter_in_bands(plan, source, pointers, target, planes, floats, band, unit):
                filled = 0
        bad = scatter_planes(plan, p + filled, p + planes, grad, indices, result, band, unit)
        if bad != NOTHING:
            return bad
        p += planes
    if plan.streaming:
        fence()
    return NOTHING
