"""Averages whose gradients are read and whose results are written in one loop: what such kernels have in common.

Their windows all count the same, and their rows are floats that are neighbours in memory. Each of them says how some
rows of a plane are made.
"""

from __future__ import annotations

from typing import Any

from .geometry import COLUMNS, ROWS, count_of
from .memory import inlined_piece, piece_named
from .record import AHEAD, LANES, NOTHING, PAGE
from .spreading import fill
from .vectors import as_unit, fence, load, splat, store, stream

# A processor takes a load for one of what a store has yet to write if their places in a page agree, and lets it wait.
# Of stores past the caches so many bytes may be waiting: what is loaded in the same loop should not lie there.
WAITING = 512


@inlined_piece
def bytes_ahead(plan: Any) -> int:
    """From a row of gradients to one that is read soon after it, and should be asked for now."""
    step = plan.grad_steps[3]
    return -(-AHEAD * plan.itemsize // abs(step)) * step if step != 0 else step


@inlined_piece
def aside_of(floats: int, target: int) -> int:
    """How far behind the beginning of scratch rows should lie that are copied to ``target``, and to what lies whole
    pages behind it, or halves of them, as rows often do."""
    return PAGE // 4 if (target - floats) % (PAGE // 2) < WAITING else 0


def _copier(name: str, put: Any) -> Any:
    @piece_named(name)
    def copy(target: int, source: int, columns: int, unit: Any) -> None:
        """A row of the result that is made already."""
        for w in range(0, columns - LANES, LANES):
            put(target, w, load(source, w, unit))
        put(target, columns - LANES, load(source, columns - LANES, unit))

    return copy


copy_row, copy_row_past_caches = _copier("copied", store), _copier("copied_past_caches", stream)


def flowing_kernel(name: str, make_rows: Any) -> Any:
    """A kernel of rows; ``make_rows`` is given scratch of ``plan.chunk`` numbers that begin as zeros."""

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, counted over all planes and rows."""
        plan = records[0]
        fill(floats, 0, plan.chunk, unit)
        to, height = plan.result_steps, plan.size[ROWS]
        aligned = (result | to[0] | to[1] | to[3] | plan.size[COLUMNS] * plan.itemsize) % 16 == 0
        streaming = plan.streaming and aligned
        by = splat(as_unit(plan.divisor * count_of(plan, ROWS, 0) * count_of(plan, COLUMNS, 0), unit))
        at = begin
        while at < end:  # plane by plane
            plane, low = at // height, at % height
            high = min(height, low + end - at)
            n, c = plane // plan.channels, plane % plan.channels
            source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1]
            make_rows(plan, source, result + n * to[0] + c * to[1], low, high, by, streaming, floats, unit)
            at += high - low
        if streaming:
            fence()
        return NOTHING

    kernel.__name__ = kernel.__qualname__ = name  # kernels are kept on disk by their names
    return kernel
