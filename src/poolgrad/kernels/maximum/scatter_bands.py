"""The gradient of a maximum in 16 bits, over windows whose rows are known: a scatter, one band of a plane at a time.

Sums grow in float32, in scratch. A whole plane would be cleared, filled and rounded in the second-level cache; a band
of some rows stays in the first. When no window to come reaches a row any more, it is rounded and written, and the rows
that the next windows share are moved to the front. An index outside its band is legal, or a mistake: then the plane is
done again by the plain scatter, which knows.
"""

from __future__ import annotations

from typing import Any

from ..emitting import emit, fetch_row
from ..geometry import ROWS, bounds_of
from ..jit.memory import inlined_piece, piece
from ..jit.vectors import fence, load, store
from ..record import INT32, LANES, NOTHING
from ..runtime.stopping import shall_stop
from .fallback import scatter_astray
from .planes import plane_at
from .scatter import add_clear, zero_plane


@piece
def add_band(grads: int, indices: int, code: int, n: int, target: int, first: int, size: int, unit: Any) -> bool:
    """Add n gradients to a band: ``size`` places from ``first`` on; False if an index is outside it."""
    return add_clear(grads, indices, code, n, target, first, size, unit)


@inlined_piece
def scatter_plane_in_bands(
    plan: Any, source: int, pointers: int, target: int, floats: int, band: int, unit: Any
) -> bool:
    """One plane; False if an index is outside its band."""
    width, columns, size = plan.size[2], plan.out[2], plan.size[1] * plan.size[2]
    pointer, rows = 4 if plan.index_code == INT32 else 8, plan.out[1]
    first, clear = 0, 0  # places of the band's first element, and up to which it is clear or filled
    for top in range(0, rows, plan.batch):
        if shall_stop(plan, plan.batch, rows, 1):
            return True
        stop = min(top + plan.batch, rows)
        reached = settled = size
        if stop < rows:
            reached = min(bounds_of(plan, ROWS, stop - 1)[1] * width, size)
            settled = max(bounds_of(plan, ROWS, stop)[0], 0) * width
        n, at = (stop - top) * columns, top * columns
        zero_plane(band + (clear - first) * plan.itemsize, reached - clear, unit)
        fetch_row(source + at * plan.stored, plan.stored, plan.code, n, n, floats, unit)
        if not add_band(floats, pointers + at * pointer, plan.index_code, n, band, first, reached - first, unit):
            return False
        number = min(settled, reached) - first
        done = emit(target + first * plan.stored, band, number, plan.code, plan.streaming, stop == rows, unit)
        for i in range(0, reached - first - done, LANES):
            store(band, i, load(band, done + i, unit))
        first, clear = first + done, reached
    return True


def scatter_bands(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Planes ``begin`` to ``end``. Returns the place of the first bad index, counted over all planes, or NOTHING."""
    plan = records[0]
    band = floats + plan.chunk * plan.itemsize
    for p in range(begin, end):
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        if not scatter_plane_in_bands(plan, source, pointers, target, floats, band, unit):
            plane = band + plan.longer * plan.itemsize
            bad = scatter_astray(plan, source, pointers, target, plane, unit)
            if bad != NOTHING:
                return p * plan.out[1] * plan.out[2] + bad
    if plan.streaming:
        fence()
    return NOTHING
