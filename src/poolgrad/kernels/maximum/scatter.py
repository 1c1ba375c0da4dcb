"""The gradient of every maximum: each gradient is added where its index points, into the output itself.

Planes whose elements lie side by side in memory, pixel by pixel, are filled together: some channels of an image, or one
plane. Gradients of a plane are added in ascending order of their windows, so duplicates add up to the same bits.

The output is cleared just ahead of the indices, which rise by and large: what is cleared is still in the first-level
cache when gradients arrive. One comparison tells whether an index is in what is clear; what is outside its plane never
is. Small planes that follow each other are cleared some at a time.

Sums of halves are float32 and rounded once. They grow in scratch, but nobody clears it or copies from it: a place in
the output that is still zero has no sum yet, or one that is zero. (A sum of halves that is not zero is no less than the
least half, so it is never rounded to zero.) Each gradient leaves its sum in scratch and, rounded, in the output. Where
windows do not overlap there is nothing to add up: a gradient is put where nothing is, or else these planes are done
again by the plain scatter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from ..emitting import stream_run
from ..geometry import elements_in, windows_in
from ..jit.halves import bfloat_to_float, float_to_bfloat, float_to_half, half_to_float
from ..jit.memory import (
    add_at,
    inlined_piece,
    piece,
    piece_named,
    read_f32,
    read_i32,
    read_i64,
    read_u16,
    stay_apart,
    unless_zero,
    write_f32,
    write_u16,
)
from ..jit.vectors import fence, itemsize, read
from ..record import INT32, LANES, NOTHING
from ..rows import copy_exactly, fill_row, index_at, zero_row
from ..runtime.stopping import MOST_AT_ONCE, is_stopped, shall_stop
from .aliasing import place_for
from .fallback import Sums, is_outside, place_of, row_of, scatter_planes, scatter_planes_of_numbers
from .planes import first_plane, plane_at, share_of

# Planes of so many bytes, a quarter of a first-level cache, are cleared before their gradients are added. With twice as
# many, 56 x 56 floats beyond the caches take 1.13 times as long.
CLEARED_AT_ONCE = 1 << 13


class Into(NamedTuple):
    """Planes that are filled together: where their pixels lie, and the sums of halves."""

    target: int
    planes: int
    step: int  # from pixel to pixel, in bytes
    flat: bool  # the pixels of all rows and layers follow each other in such steps
    first: int  # the place of the first pixel at the target
    sums: int  # those of all planes side by side


class Run(NamedTuple):
    """Windows in equal steps, each with a gradient and an index in every plane, side by side."""

    grads: int
    indices: int
    windows: int
    grad_step: int
    index_step: int


@inlined_piece
def add_number(into: Into, place: int, at: int, grads: int, i: int, unit: Any) -> None:
    add_at(into.target, place, read(grads, i, unit))


def _summed(widen: Any, narrow: Any) -> Any:
    @inlined_piece
    def add_half(into: Into, place: int, at: int, grads: int, i: int, unit: Any) -> None:
        before = unless_zero(read_u16(into.target, place), read_f32(into.sums, at))
        total = before + widen(read_u16(grads, i * 2))
        write_f32(into.sums, at, total)
        write_u16(into.target, place, narrow(total))

    return add_half


def _put(infinity: int, quiet: int) -> Any:
    @inlined_piece
    def put_half(into: Into, place: int, at: int, grads: int, i: int, unit: Any) -> bool:
        """As a sum would begin: zeros lose their sign, and NaN is quiet. False if there is something already."""
        if read_u16(into.target, place) != 0:
            return False
        bits = types.int64(read_u16(grads, i * 2))
        size = bits & 0x7FFF
        bits = bits | quiet if size > infinity else bits
        write_u16(into.target, place, types.uint16(bits if size > 0 else 0))
        return True

    return put_half


@inlined_piece
def size_of_half(unit: Any) -> int:
    return 2


def run_adder(name: str, add: Any, stored: Any, may_fail: bool = False, in_band: bool = False) -> Any:
    """What adds gradients to numbers of a size: those of a run, and of planes that follow each other.

    If nothing can fail, nobody asks whether it did: with a constant answer bands take 1.15 to 1.2 times as long.
    Only in a band the first place is not 0: to subtract it takes a tenth of the time.
    """

    @inlined_piece
    def add_in_steps(plan: Any, into: Into, run: Run, size: int, flat: bool, done: int, limit: int, unit: Any) -> int:
        window, c = done // into.planes, done % into.planes
        grads, indices = run.grads + window * run.grad_step, run.indices + window * run.index_step
        while window < run.windows:
            while c < into.planes:
                index = types.int64(read_i32(indices, c * 4)) if size == 4 else read_i64(indices, c * 8)
                if in_band:
                    index -= into.first
                if is_outside(index, limit):
                    return window * into.planes + c
                at = into.target + index * into.step
                if not flat:
                    at = place_of(plan, Sums(into.target, plan.result_steps[2], plan.result_steps[3], into.step), index)
                here, number = Into(at, *into[1:]), index * into.planes + c
                if may_fail:
                    if not add(here, c * stored(unit), number * 4, grads, c, unit):
                        return window * into.planes + c
                else:
                    add(here, c * stored(unit), number * 4, grads, c, unit)
                c += 1
            grads, indices, window, c = grads + run.grad_step, indices + run.index_step, window + 1, 0
        return run.windows * into.planes

    @inlined_piece
    def add_neighbours(into: Into, run: Run, size: int, done: int, limit: int, unit: Any) -> int:
        first, grads, indices = into.first, run.grads, run.indices
        i = done
        while i < run.windows:  # a range that does not begin at 0 has a second counter
            index = types.int64(read_i32(indices, i * 4)) if size == 4 else read_i64(indices, i * 8)
            if in_band:
                index -= first
            if is_outside(index, limit):
                break
            if may_fail:
                if not add(into, index * stored(unit), index * 4, grads, i, unit):
                    break
            else:
                add(into, index * stored(unit), index * 4, grads, i, unit)
            i += 1
        return i

    @piece_named(name)
    def add_run(plan: Any, into: Into, run: Run, done: int, limit: int, unit: Any) -> int:
        """Add gradients from number ``done`` on, to ``limit`` places; returns the number of the first one that has no
        place among these, or that can't be added, or how many there are.

        Nothing else is done here, so that loops have all registers for themselves.
        """
        stay_apart()
        size = 4 if plan.index_code == INT32 else 8
        if in_band and are_neighbours(into, run, stored(unit), size):
            if size == 4:
                return add_neighbours(into, run, 4, done, limit, unit)
            return add_neighbours(into, run, 8, done, limit, unit)
        if into.flat and size == 4:
            return add_in_steps(plan, into, run, 4, True, done, limit, unit)
        if into.flat:
            return add_in_steps(plan, into, run, 8, True, done, limit, unit)
        return add_in_steps(plan, into, run, size, False, done, limit, unit)

    @inlined_piece
    def fill_neighbours(plan: Any, into: Into, run: Run, size: int, cleared: int, unit: Any) -> int:
        done, elements = 0, elements_in(plan)
        while True:
            done = add_neighbours(into, run, size, done, cleared, unit)
            if done == run.windows:
                return cleared
            index = types.int64(read_i32(run.indices, done * 4)) if size == 4 else read_i64(run.indices, done * 8)
            if index < cleared or index >= elements:
                return NOTHING
            stop = min(index + plan.chunk, elements)
            fill_row(into.target + cleared * stored(unit), plan.code, stop - cleared, unit, False)
            cleared = stop

    @piece_named(f"{name}_of_plane")
    def fill_plane(plan: Any, into: Into, run: Run, cleared: int, unit: Any) -> int:
        """All gradients of a run, to a plane of neighbours that is cleared ahead of them: how far it is clear then, or
        NOTHING if one has no place. The loop goes on after clearing: to leave it takes a tenth of the time."""
        stay_apart()
        if plan.index_code == INT32:
            return fill_neighbours(plan, into, run, 4, cleared, unit)
        return fill_neighbours(plan, into, run, 8, cleared, unit)

    @piece_named(f"{name}_of_planes")
    def add_planes(plan: Any, into: Into, run: Run, planes: int, unit: Any) -> int:
        """The same for dense planes that follow each other, all of them clear; returns how many were filled."""
        stay_apart()
        target, grads, indices, limit = into.target, run.grads, run.indices, elements_in(plan)
        size = 4 if plan.index_code == INT32 else 8
        for p in range(planes):
            here, its_run = Into(target, 1, into.step, True, 0, into.sums), Run(grads, indices, run.windows, 0, 0)
            if size == 4:
                done = add_neighbours(here, its_run, 4, 0, limit, unit)
            else:
                done = add_neighbours(here, its_run, 8, 0, limit, unit)
            if done < run.windows:
                return p
            grads += run.windows * stored(unit)
            indices += run.windows * size
            target += limit * stored(unit)
        return planes

    return add_run, fill_plane, add_planes


@inlined_piece
def are_neighbours(into: Into, run: Run, stored: int, size: int) -> bool:
    """Whether numbers of so many bytes, gradients and indices follow each other in memory."""
    alone = into.planes == 1 and into.flat and into.step == stored
    return alone and run.grad_step == stored and run.index_step == size


@piece
def clear(plan: Any, into: Into, first: int, stop: int, unit: Any) -> None:
    """Some pixels of planes whose rows follow each other."""
    at = into.target + first * into.step
    if into.planes * plan.stored == into.step:
        fill_row(at, plan.code, (stop - first) * into.planes, unit, False)
    elif into.planes == 1:
        zero_row(at, into.step, plan.code, stop - first)
    else:
        for i in range(stop - first):
            fill_row(at + i * into.step, plan.code, into.planes, unit, False)


@piece
def clear_rows(plan: Any, target: int, planes: int, unit: Any) -> None:
    """All rows of planes that lie side by side, wherever each of them lies."""
    rows = Sums(target, plan.result_steps[2], plan.result_steps[3], plan.result_steps[4])
    for h in range(plan.size[0] * plan.size[1]):
        if is_stopped(plan):
            break
        clear(plan, Into(row_of(plan, rows, h), planes, rows.step, True, 0, 0), 0, plan.size[2], unit)


@inlined_piece
def in_equal_steps(plan: Any, steps: Any) -> bool:
    """Whether the windows of a plane follow each other over rows and layers."""
    columns = plan.out[2] * steps[4]
    return (plan.out[1] == 1 or steps[3] == columns) and (plan.out[0] == 1 or steps[2] == plan.out[1] * columns)


add_to_band, _, add_planes_to_band = run_adder("add_to_band", add_number, itemsize, in_band=True)
# How each kernel adds gradients to numbers, of what size these are, and whether it may fail.
_ADDING = {
    "scatter_numbers": (add_number, itemsize, False),
    "scatter_halves": (_summed(half_to_float, float_to_half), size_of_half, False),
    "scatter_bfloats": (_summed(bfloat_to_float, float_to_bfloat), size_of_half, False),
    "scatter_halves_apart": (_put(0x7C00, 0x0200), size_of_half, True),
    "scatter_bfloats_apart": (_put(0x7F80, 0x0040), size_of_half, True),
}


def make_kernel(name: str) -> Any:
    add_run, fill_plane, add_planes = run_adder(f"{name}_run", *_ADDING[name])
    scatter_again = scatter_planes_of_numbers if name == "scatter_numbers" else scatter_planes

    @inlined_piece
    def fill_run(plan: Any, into: Into, run: Run, cleared: int, unit: Any) -> int:
        """The gradients of a run; how many pixels are clear then, or NOTHING if one has no place."""
        number, done, size = run.windows * into.planes, 0, 4 if plan.index_code == INT32 else 8
        if are_neighbours(into, run, plan.stored, size):
            return fill_plane(plan, into, run, cleared, unit)
        while done < number:
            done = add_run(plan, into, run, done, cleared, unit)
            if done < number:
                at = done // into.planes * run.index_step + done % into.planes * size
                index = index_at(run.indices, at, plan.index_code)
                if index < cleared or index >= elements_in(plan):
                    return NOTHING
                stop = min(index + max(plan.chunk // into.planes, 1), elements_in(plan))
                clear(plan, into, cleared, stop, unit)
                cleared = stop
        return cleared

    @piece_named(f"{name}_group")
    def fill_group(plan: Any, into: Into, source: int, pointers: int, cleared: int, unit: Any) -> bool:
        """Planes that lie side by side, with so many clear pixels; False if a gradient has no place."""
        grads, indices = plan.grad_steps, plan.index_steps
        rows, columns = plan.out[0] * plan.out[1], plan.out[2]
        if in_equal_steps(plan, grads) and in_equal_steps(plan, indices):
            rows, columns = 1, rows * columns
        at_once = max(MOST_AT_ONCE // into.planes, 1)
        for row in range(rows):
            od, oh = row // plan.out[1], row % plan.out[1]
            for left in range(0, columns, at_once):
                here = min(at_once, columns - left)
                if shall_stop(plan, here, rows * columns * share_of(plan, into.planes), 1):
                    return True
                at = source + od * grads[2] + oh * grads[3] + left * grads[4]
                where = pointers + od * indices[2] + oh * indices[3] + left * indices[4]
                cleared = fill_run(plan, into, Run(at, where, here, grads[4], indices[4]), cleared, unit)
                if cleared == NOTHING:
                    return False
        while cleared < elements_in(plan) and not is_stopped(plan):
            stop = min(cleared + at_once, elements_in(plan))
            clear(plan, into, cleared, stop, unit)
            cleared = stop
        return True

    def kernel(
        records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Groups of planes ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
        plan = records[0]
        size, first, stop = elements_in(plan), first_plane(plan, begin), first_plane(plan, end)
        p = first
        while p < stop:
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            at = place_for(pointers, target, floats, plan.size[2]) if plan.sidestepping else target
            beside = 1 if plan.pieces == plan.channels else min(plan.channels - p % plan.channels, stop - p)
            planes, flat = min(beside, plan.together), plan.dense_results != 0
            into, cleared = Into(at, planes, plan.result_steps[4], flat, 0, floats), 0
            if not flat or plan.together < plan.channels > plan.pieces:  # rows of all that lie side by side at once
                if p == first or p % plan.channels == 0 or beside == 1:
                    clear_rows(plan, at, beside, unit)
                cleared = size
            elif plan.batch == 1 and planes * size * plan.stored <= CLEARED_AT_ONCE:
                clear(plan, into, 0, size, unit)
                cleared = size
            if plan.batch > 1:  # small planes that follow each other
                planes = min(plan.batch, stop - p)
                fill_row(at, plan.code, planes * size, unit, False)
                filled = add_planes(plan, into, Run(source, pointers, windows_in(plan), 0, 0), planes, unit)
                planes = min(planes, filled + 1)
            else:
                filled = planes if fill_group(plan, into, source, pointers, cleared, unit) else 0
            if at != target and plan.streaming and filled * size >= LANES:
                stream_run(target, at, filled * size, unit)
            elif at != target:
                copy_exactly(target, at, filled * size, unit)
            bad = scatter_again(plan, p + filled, p + planes, grad, indices, result, floats, unit)
            if bad != NOTHING:
                return bad
            p += planes
        if plan.streaming:
            fence()
        return NOTHING

    return kernel
