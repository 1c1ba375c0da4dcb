"""Averages whose gradients are read and whose results are written in one loop: what such kernels have in common.

Each of them says how some rows of a plane are made. Those of k3s1.py and stride2.py are for floats that are neighbours
in memory and windows that all count the same; those of few_windows.py for any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..emitting import stream_run
from ..geometry import COLUMNS, DEPTH, ROWS, count_of, run_of
from ..jit.memory import inlined_piece, piece_named
from ..jit.vectors import add, as_unit, fence, load, splat, store, stream
from ..record import AHEAD, LANES, NOTHING, PAGE
from ..rows import fill_row
from .spreading import fill

# A processor takes a load for one of what a store has yet to write if their places in a page agree, and lets it wait.
# Of stores past the caches so many bytes may be waiting: what is loaded in the same loop should not lie there.
WAITING = 512

# How rows are written: into the caches; past them; or made in scratch, and past the caches from there, since not every
# row begins with one of the 16 bytes that vectors are streamed to.
STORED, STREAMED, STREAMED_FROM_SCRATCH = range(3)


@inlined_piece
def bytes_ahead(plan: Any) -> int:
    """From a row of gradients to one that is read soon after it, and should be asked for now."""
    step = plan.grad_steps[3]
    return -(-AHEAD * plan.stored // abs(step)) * step if step != 0 else step


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


class Joined(NamedTuple):
    """Where a layer of sums is made that is the last one of a layer of the result, which is written meanwhile: its
    first row, or any other; of the result; and of the sums of the two layers before it."""

    made: int
    result: int
    first: int
    second: int
    first_step: int  # from row to row; none if a row of zeros stands in for a layer
    unit: Any


@inlined_piece
def joined_row(rows: Joined, h: int, step: int, result_step: int) -> Joined:
    made, second = rows.made + h * step, rows.second + h * step
    first, result = rows.first + h * rows.first_step, rows.result + h * result_step
    return Joined(made, result, first, second, rows.first_step, rows.unit)


def _joiner(put: Any) -> Any:
    @inlined_piece
    def put_joined(rows: Joined, w: int, vector: Any) -> None:
        store(rows.made, w, vector)
        put(rows.result, w, add(add(load(rows.first, w, rows.unit), load(rows.second, w, rows.unit)), vector))

    return put_joined


store_joined, stream_joined = _joiner(store), _joiner(stream)
_copy_into_caches, _copy_past_caches = _copier("copied", store), _copier("copied_past_caches", stream)


@inlined_piece
def copy_row(target: int, source: int, columns: int, way: int, unit: Any) -> None:
    """A row of the result that is made already, of a vector at least."""
    if way == STORED:
        _copy_into_caches(target, source, columns, unit)
    elif way == STREAMED:
        _copy_past_caches(target, source, columns, unit)
    else:
        stream_run(target, source, columns, unit)


@inlined_piece
def way_past_caches(plan: Any, result: int) -> int:
    """How rows of this result can be written that should not stay in the caches."""
    to, row = plan.result_steps, plan.size[COLUMNS] * plan.stored
    places = result | to[0] | to[1] | to[2] | to[3]
    if (places | row) % 16 == 0:
        return STREAMED
    plain = plan.stored == plan.itemsize and places % plan.itemsize == 0 and to[3] == row
    return STREAMED_FROM_SCRATCH if plain else STORED


class Cleared(NamedTuple):
    """Scratch of zeros for rows of windows that all count the same, and what they count along H and W."""

    floats: int
    in_layer: int


@inlined_piece
def cleared(plan: Any, floats: int, integers: int, unit: Any) -> Cleared:
    fill(floats, 0, plan.chunk, unit)
    return Cleared(floats, plan.divisor * count_of(plan, ROWS, 0) * count_of(plan, COLUMNS, 0))


@inlined_piece
def divisor_of(plan: Any, in_layer: int, od: int, unit: Any) -> Any:
    """What all windows of a layer count, in every lane."""
    return splat(as_unit(in_layer * count_of(plan, DEPTH, od), unit))


def with_one_divisor(make_rows: Any) -> Any:
    """What makes rows of a plane if it is told by what all gradients of a layer are divided."""

    @inlined_piece
    def make(
        plan: Any,
        source: int,
        od: int,
        target: int,
        low: int,
        high: int,
        way: int,
        known: int,
        scratch: Cleared,
        unit: Any,
    ) -> int:
        by = divisor_of(plan, scratch.in_layer, od, unit)
        make_rows(plan, source, target, low, high, by, way, scratch.floats, unit)
        return known

    return make


def flowing_kernel(prepare: Any, make_rows: Any) -> Any:
    """A kernel of rows. ``make_rows`` makes some of a plane with a layer of gradients, in scratch that ``prepare`` made
    ready, and is given what it returned the last time."""

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
        plan = records[0]
        scratch = prepare(plan, floats, integers, unit)
        to, depth, height = plan.result_steps, plan.size[DEPTH], plan.size[ROWS]
        past = way_past_caches(plan, result) if plan.streaming else STORED
        kept = begin + plan.kept  # the first rows stay in the caches
        known, at, d, layer = begin - begin, begin, begin - begin, NOTHING
        od, stop = run_of(plan, DEPTH, d)
        while at < end:  # layer by layer
            plane, low = at // height, at % height
            high = min(height, low + (kept if at < kept < end else end) - at)
            if depth > 1:  # without depth windows are the same in all layers
                plane, layer = plane // depth, plane % depth
                if layer != d:
                    d, (od, stop) = layer, run_of(plan, DEPTH, layer)
            n, c = plane // plan.channels, plane % plan.channels
            source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1] + od * plan.grad_steps[2]
            target, way = result + n * to[0] + c * to[1] + d * to[2], STORED if at < kept else past
            if od < stop:
                known = make_rows(plan, source, od, target, low, high, way, known, scratch, unit)
            else:  # this layer lies behind the last window of D, or between two
                for h in range(low, high):
                    fill_row(target + h * to[3], plan.code, plan.size[COLUMNS], unit, way == STREAMED)
            at += high - low
        if past != STORED:
            fence()
        return NOTHING

    return kernel
