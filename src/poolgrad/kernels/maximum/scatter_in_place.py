"""Maxima that are scattered into the output itself: where channels lie side by side, and few gradients of 16 bits.

The output is cleared just ahead of the indices, which rise by and large, so that what is cleared is still in the caches
when gradients arrive. An index is compared with how far the output is clear: what is outside its plane is beyond that.

Sums of halves are float32 and rounded once. They grow in scratch, but nobody clears it or copies from it: a place in
the output that is still zero has no sum yet, or one that is zero. (A sum of halves that is not zero is no less than the
least half, so it is never rounded to zero.) Each gradient leaves its sum in scratch and, rounded, in the output.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

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
    write_f32,
    write_u16,
)
from ..jit.vectors import itemsize, read
from ..record import FLOAT16, INT32, NOTHING
from ..rows import fill_row, index_at
from ..runtime.stopping import MOST_AT_ONCE, is_stopped, shall_stop, shall_stop_at
from .fallback import is_outside, offset_of
from .planes import plane_at
from .scatter import first_outside, is_one_row, result_steps, row_at

# So many elements are cleared at a time.
CLEARED_AHEAD = 512
# Smaller planes with few gradients are cleared before these: they fit the first-level cache.
CLEARED_AT_ONCE = 1 << 13


class Into(NamedTuple):
    """Planes that are filled together: their first elements lie side by side."""

    target: int
    planes: int
    step: int  # from pixel to pixel, in bytes
    sums: int  # where sums of halves grow, those of all planes side by side


@piece
def clear(plan: Any, into: Into, first: int, stop: int, unit: Any) -> None:
    """Some pixels of planes whose rows follow each other."""
    at = into.target + first * into.step
    if into.planes * plan.stored == into.step:
        fill_row(at, plan.code, (stop - first) * into.planes, unit, False)
    else:
        for i in range(stop - first):
            fill_row(at + i * into.step, plan.code, into.planes, unit, False)


@piece
def clear_on(plan: Any, into: Into, cleared: int, index: int, unit: Any) -> int:
    """Clear some way beyond an index; returns how far it is clear now, or NOTHING if the index is outside its plane."""
    stay_apart()
    size = elements_in(plan)
    if is_outside(index, size):
        return NOTHING
    stop = min(index + max(CLEARED_AHEAD // into.planes, 1), size)
    clear(plan, into, cleared, stop, unit)
    return stop


@inlined_piece
def add_float(into: Into, grads: int, i: int, index: int, place: int, unit: Any) -> None:
    add_at(into.target, place + i * itemsize(unit), read(grads, i, unit))


def _summed(widen: Any, narrow: Any) -> Any:
    @inlined_piece
    def add_half(target: int, place: int, sums: int, at: int, gradient: Any, unit: Any) -> None:
        """Add a stored gradient to a place of the target, whose sum stands in scratch."""
        before = read_f32(sums, at)
        # Compared as a float: of a comparison of integers LLVM makes a wait for the result before, twice as long.
        if widen(read_u16(target, place)) == unit:
            before = unit
        total = before + widen(gradient)
        write_f32(sums, at, total)
        write_u16(target, place, narrow(total))

    return add_half


_sum_halves, _sum_bfloats = _summed(half_to_float, float_to_half), _summed(bfloat_to_float, float_to_bfloat)


def _half_adder(add_half: Any) -> Any:
    @inlined_piece
    def add(into: Into, grads: int, i: int, index: int, place: int, unit: Any) -> None:
        at = (index * into.planes + i) * 4
        add_half(into.target, place + i * 2, into.sums, at, read_u16(grads, i * 2), unit)

    return add


class Run(NamedTuple):
    """Windows in a row, each with a gradient and an index in so many planes: where they lie, and their steps."""

    grads: int
    indices: int
    windows: int
    grad_step: int
    index_step: int
    gradients: int  # of a window, which are neighbours, as their indices are


def _run_adder(name: str, add: Any) -> Any:
    @inlined_piece
    def add_while_clear(into: Into, run: Run, size: int, first: int, cleared: int, unit: Any) -> int:
        grads, indices, window, i = run.grads, run.indices, 0, first
        if first >= run.gradients:
            window, i = first // run.gradients, first % run.gradients
            grads, indices = grads + window * run.grad_step, indices + window * run.index_step
        while window < run.windows:
            while i < run.gradients:
                index = types.int64(read_i32(indices, i * 4)) if size == 4 else read_i64(indices, i * 8)
                if is_outside(index, cleared):
                    return window * run.gradients + i
                add(into, grads, i, index, index * into.step, unit)
                i += 1
            grads, indices, window, i = grads + run.grad_step, indices + run.index_step, window + 1, 0
        return run.windows * run.gradients

    @piece_named(f"{name}_clear")
    def add_clear(into: Into, run: Run, size: int, first: int, cleared: int, unit: Any) -> int:
        """Add gradients from the first on, to pixels that are clear; returns the first one whose place is not, or how
        many there are. ``size`` is that of an index.

        Nothing else is done here, so that the loop has all registers for itself.
        """
        stay_apart()
        if size == 4:
            return add_while_clear(into, run, 4, first, cleared, unit)
        return add_while_clear(into, run, 8, first, cleared, unit)

    @piece_named(name)
    def add_run(plan: Any, into: Into, run: Run, cleared: int, unit: Any) -> int:
        """Add the gradients of a run. So many pixels are clear; returns how many are then, or NOTHING if an index is
        outside its plane."""
        code, number = plan.index_code, run.windows * run.gradients
        size = 4 if code == INT32 else 8
        done = add_clear(into, run, size, 0, cleared, unit)
        while done < number:
            at = done // run.gradients * run.index_step + done % run.gradients * size
            cleared = clear_on(plan, into, cleared, index_at(run.indices, at, code), unit)
            if cleared == NOTHING:
                return NOTHING
            done = add_clear(into, run, size, done, cleared, unit)
        return cleared

    @piece_named(f"{name}_apart")
    def add_apart(plan: Any, into: Into, run: Run, unit: Any) -> int:
        """The same where rows do not follow each other, and all of them are clear."""
        plane, code, to = elements_in(plan), plan.index_code, plan.result_steps
        grads, indices, size = run.grads, run.indices, 4 if code == INT32 else 8
        for _ in range(run.windows):
            for i in range(run.gradients):
                index = index_at(indices, i * size, code)
                if is_outside(index, plane):
                    return NOTHING
                add(into, grads, i, index, offset_of(plan, index, to[2], to[3], to[4]), unit)
            grads, indices = grads + run.grad_step, indices + run.index_step
        return plane

    return add_run, add_apart


@piece
def clear_rest(plan: Any, into: Into, cleared: int, unit: Any) -> None:
    size, at_once = elements_in(plan), max(MOST_AT_ONCE // into.planes, 1)
    while cleared < size and not is_stopped(plan):
        stop = min(cleared + at_once, size)
        clear(plan, into, cleared, stop, unit)
        cleared = stop


@piece
def clear_rows(plan: Any, into: Into, unit: Any) -> None:
    """Planes whose rows do not follow each other."""
    for h in range(plan.size[0] * plan.size[1]):
        if is_stopped(plan):
            break
        row = Into(row_at(plan, into.target, h), into.planes, into.step, into.sums)
        clear(plan, row, 0, plan.size[2], unit)


_add_floats, _add_floats_apart = _run_adder("add_floats", add_float)
_add_halves, _add_halves_apart = _run_adder("add_halves", _half_adder(_sum_halves))
_add_bfloats, _add_bfloats_apart = _run_adder("add_bfloats", _half_adder(_sum_bfloats))


@inlined_piece
def _add_16_bits(plan: Any, into: Into, run: Run, cleared: int, unit: Any) -> int:
    if plan.code == FLOAT16:
        return _add_halves(plan, into, run, cleared, unit)
    return _add_bfloats(plan, into, run, cleared, unit)


@inlined_piece
def _add_16_bits_apart(plan: Any, into: Into, run: Run, unit: Any) -> int:
    if plan.code == FLOAT16:
        return _add_halves_apart(plan, into, run, unit)
    return _add_bfloats_apart(plan, into, run, unit)


def _channels_last_kernel(name: str, add_run: Any, add_apart: Any) -> Any:
    @inlined_piece
    def fill_channels(plan: Any, into: Into, source: int, pointers: int, flat: bool, unit: Any) -> bool:
        """Some neighbouring channels of an image, pixel by pixel; False if an index is outside its plane."""
        rows, cleared = plan.out[0] * plan.out[1], 0
        if not flat:
            clear_rows(plan, into, unit)
        for row in range(rows):
            if shall_stop_at(plan, row, rows, into.planes):
                return True
            od, oh = row // plan.out[1], row % plan.out[1]
            grads = source + od * plan.grad_steps[2] + oh * plan.grad_steps[3]
            where = pointers + od * plan.index_steps[2] + oh * plan.index_steps[3]
            run = Run(grads, where, plan.out[2], plan.grad_steps[4], plan.index_steps[4], into.planes)
            cleared = add_run(plan, into, run, cleared, unit) if flat else add_apart(plan, into, run, unit)
            if cleared == NOTHING:
                return False
        if flat:
            clear_rest(plan, into, cleared, unit)
        return True

    def kernel(
        records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Where the channels of a pixel are neighbours in memory: planes of an image at once, pixel by pixel.

        Plane by plane every cache line would be fetched once per channel. Within each plane the order is the same.
        """
        plan = records[0]
        flat, step, p = is_one_row(plan, result_steps(plan)), plan.result_steps[4], begin
        while p < end:
            number = min(plan.channels - p % plan.channels, end - p, plan.batch)
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            into = Into(target, number, step, floats)
            if not fill_channels(plan, into, source, pointers, flat, unit):
                return first_outside(plan, indices, begin, end)
            p += number
        return NOTHING

    kernel.__name__ = kernel.__qualname__ = name  # kernels are kept on disk by their names
    return kernel


scatter_channels_last = _channels_last_kernel("scatter_channels_last", _add_floats, _add_floats_apart)
scatter_channels_last_16_bits = _channels_last_kernel("scatter_channels_last_16_bits", _add_16_bits, _add_16_bits_apart)


def _few_adder(name: str, add_half: Any) -> Any:
    @inlined_piece
    def add_while_clear(
        target: int, sums: int, grads: int, indices: int, size: int, first: int, n: int, cleared: int, unit: Any
    ) -> int:
        for i in range(first, n):
            index = types.int64(read_i32(indices, i * 4)) if size == 4 else read_i64(indices, i * 8)
            if is_outside(index, cleared):
                return i
            add_half(target, index * 2, sums, index * 4, read_u16(grads, i * 2), unit)
        return n

    @piece_named(name)
    def add_clear(
        target: int, sums: int, grads: int, indices: int, size: int, first: int, n: int, cleared: int, unit: Any
    ) -> int:
        """The same for gradients of one plane that is a run of memory."""
        stay_apart()
        if size == 4:
            return add_while_clear(target, sums, grads, indices, 4, first, n, cleared, unit)
        return add_while_clear(target, sums, grads, indices, 8, first, n, cleared, unit)

    return add_clear


_add_few_halves, _add_few_bfloats = _few_adder("few_halves", _sum_halves), _few_adder("few_bfloats", _sum_bfloats)


@inlined_piece
def fill_sparsely(plan: Any, into: Into, source: int, pointers: int, unit: Any) -> bool:
    """One plane; False if an index is outside it."""
    elements, number, size, cleared = elements_in(plan), windows_in(plan), 4 if plan.index_code == INT32 else 8, 0
    if elements <= CLEARED_AT_ONCE:
        clear(plan, into, 0, elements, unit)
        cleared = elements
    done = 0
    while done < number:
        if shall_stop(plan, MOST_AT_ONCE, number, 1):
            return True
        stop = min(done + MOST_AT_ONCE, number)
        if plan.code == FLOAT16:
            done = _add_few_halves(into.target, into.sums, source, pointers, size, done, stop, cleared, unit)
        else:
            done = _add_few_bfloats(into.target, into.sums, source, pointers, size, done, stop, cleared, unit)
        if done < stop:
            cleared = clear_on(plan, into, cleared, index_at(pointers, done * size, plan.index_code), unit)
            if cleared == NOTHING:
                return False
    clear_rest(plan, into, cleared, unit)
    return True


def scatter_sparse(
    records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Few gradients of 16 bits over planes that are runs of memory, as gradients and indices are."""
    plan = records[0]
    for p in range(begin, end):
        source, pointers, target = plane_at(plan, p, grad, indices, result)
        if not fill_sparsely(plan, Into(target, 1, plan.stored, floats), source, pointers, unit):
            return first_outside(plan, indices, p, end)
    return NOTHING
