"""Averages over few windows: rows of gradients roll through registers into rows of the result.

Up to three neighbouring windows hold a column along W, and up to three a row along H. A row of gradients is divided,
summed along W by shuffles and laid out for the columns of its strides, all in registers. There the sums meet those of
the rows before, which waited in the first-level cache, and then wait themselves for the rows that follow. So gradients
are read and results are written in one loop, at the pace that memory has. Rows of the result that need no new row of
gradients, as every second one with strides of 2, are sums of what waits.

There is one kernel for the windows along W and the storage type (``FewWindows`` in record.py): all of that is constant
in its loops. Rows in scratch consist of blocks, the columns of eight windows each. The last block of a row is laid back
over its predecessor if it is not whole, and has a place of its own.

Quotients of whole rows that are summed from memory, three rows of three for each row of the result, take 1.2 to 2.3
times as long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..emitting import stream_run
from ..geometry import COLUMNS, DEPTH, ROWS, count_of, run_of
from ..jit.halves import (
    bfloat_to_float,
    half_to_float,
    load_bfloats,
    load_halves,
    store_bfloats,
    store_halves,
    stream_bfloats,
    stream_halves,
)
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, read_u16, write_i64
from ..jit.vectors import (
    add,
    as_unit,
    divide,
    interleaved,
    load,
    prefetch,
    read,
    splat,
    spliced,
    store,
    stream,
    write,
)
from ..record import BFLOAT16, BY_ELEMENTS, FLOAT16, FLOAT32, LANES, NOTHING, FewWindows
from .one_pass import STORED, STREAMED, bytes_ahead, flowing_kernel
from .quotients import divide_row, scale_divisors
from .spreading import fill


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    divisors: int  # of a row's quotients
    columns: int  # what each window along W counts, in the compute type
    ones: int  # divisors of quotients
    staged: int  # a row of quotients, if gradients are no neighbours in memory
    spare: int  # two rows that wait to be written past the caches, or are of no use
    sums: int  # a row of zeros, and the last rows of sums along W
    counts: int  # what each window along W counts
    steps: int  # what is to be done for each row of a plane (``Step``)


class Step(NamedTuple):
    """A row of the result: the rows of sums along W that it is the sum of, as distances from the first; the row of
    gradients that is the last of these, or ``NOTHING`` if it was made for the row above, or ``SAME`` if that row of the
    result is the same; and what that row of gradients counts."""

    one: int
    two: int
    three: int
    made: int
    counts: int


SIZE_OF_STEP, SAME = 8 * len(Step._fields), NOTHING - 1


@piece
def tabulate_steps(plan: Any, table: int) -> None:
    made, row = plan.size[ROWS] - plan.size[ROWS], plan.pitch * plan.itemsize
    above = made
    for h in range(plan.size[ROWS]):
        first, stop = run_of(plan, ROWS, h)
        at, last = table + SIZE_OF_STEP * h, stop - 1
        for i in range(3):
            o = stop - 3 + i
            write_i64(at, 8 * i, (1 + (o & plan.row_slots - 1)) * row if o >= first else 0)
        again = SAME if h > 0 and first == above else NOTHING
        write_i64(at, 24, last if last >= max(first, made) else again)
        write_i64(at, 32, count_of(plan, ROWS, max(last, 0)))
        made, above = max(made, stop), first


@inlined_piece
def step_of(table: int, h: int) -> Step:
    at = table + SIZE_OF_STEP * h
    return Step(read_i64(at, 0), read_i64(at, 8), read_i64(at, 16), read_i64(at, 24), read_i64(at, 32))


@piece
def carve(plan: Any, floats: int, integers: int, unit: Any) -> Scratch:
    pitch, chunk = plan.pitch * plan.itemsize, plan.chunk * plan.itemsize
    divisors = floats
    spare = divisors + 4 * chunk
    sums = spare + 2 * pitch
    columns, ones, staged, steps = (
        divisors + chunk,
        divisors + 2 * chunk,
        divisors + 3 * chunk,
        integers + 8 * plan.chunk,
    )
    fill(sums, 0, plan.pitch, unit)
    for o in range(plan.chunk):
        count = count_of(plan, COLUMNS, o) if o < plan.out[COLUMNS] else 1
        write(columns, o, as_unit(count, unit))
        write(ones, o, as_unit(1, unit))
        write_i64(integers, 8 * o, count)
    tabulate_steps(plan, steps)
    return Scratch(divisors, columns, ones, staged, spare, sums, integers, steps)


class Rows(NamedTuple):
    """Sums along W: of the two rows before one, and its own."""

    one: int
    two: int
    new: int


def _tap(offset: int) -> Any:
    """The quotients so many windows ahead of those at hand."""
    start = offset if offset > 0 else LANES + offset

    @inlined_piece
    def tap(behind: Any, here: Any, ahead: Any) -> Any:
        if offset == 0:
            return here
        return spliced(here, ahead, start) if offset > 0 else spliced(behind, here, start)

    return tap


def _sum_of(offsets: tuple[int, ...]) -> Any:
    """The sum of up to three of them."""
    taps, number = [_tap(offset) for offset in offsets], len(offsets)
    first, middle, last = taps[0], taps[number // 2], taps[-1]

    @inlined_piece
    def total(behind: Any, here: Any, ahead: Any) -> Any:
        if number == 1:
            return first(behind, here, ahead)
        if number == 2:
            return add(first(behind, here, ahead), last(behind, here, ahead))
        return add(add(first(behind, here, ahead), middle(behind, here, ahead)), last(behind, here, ahead))

    return total


def _layer_out(stride: int, offsets: list[tuple[int, ...]]) -> Any:
    """What lays out the columns of eight windows: as many vectors as a stride has columns, which are of two kinds."""
    first, second = _sum_of(offsets[0]), _sum_of(offsets[-1])
    times_first = offsets.count(offsets[0])
    times_second = stride - times_first

    @inlined_piece
    def lay_out(behind: Any, here: Any, ahead: Any) -> Any:
        if stride == 1:
            return (first(behind, here, ahead),)
        return interleaved(first(behind, here, ahead), second(behind, here, ahead), times_first, times_second)

    return lay_out


def _emitter(windows: FewWindows, put: Any, *, fresh: bool) -> Any:
    """What makes a block of a row of the result from sums along W, which are fresh or wait already. Of a block that is
    laid back, the last columns may lie beyond the row, and the first vectors among the columns that are done."""
    terms, stride, over = windows.terms, windows.stride, windows.over

    @inlined_piece
    def value_at(rows: Rows, at: int, vector: Any, unit: Any) -> Any:
        total = vector
        if fresh:
            store(rows.new, at, vector)
        else:
            total = load(rows.new, at, unit)
        if terms == 2:
            total = add(load(rows.two, at, unit), total)
        if terms == 3:
            total = add(add(load(rows.one, at, unit), load(rows.two, at, unit)), total)
        return total

    def with_vector(number: int, before: Any) -> Any:
        ahead, start = number * LANES, LANES - over
        laid_back = over > 0 and number == stride - 1

        @inlined_piece
        def emit(rows: Rows, target: int, at: int, w: int, vectors: Any, done: int, unit: Any) -> Any:
            if number == 0:
                value = value_at(rows, at, vectors[0], unit)
                if done == 0 or w + LANES > done:
                    put(target, w, value)
            else:
                previous = before(rows, target, at, w, vectors, done, unit)
                value = value_at(rows, at + ahead, vectors[number], unit)
                if laid_back and done > 0:
                    put(target, w + ahead - over, spliced(previous, value, start))
                elif done == 0 or w + ahead + LANES > done:
                    put(target, w + ahead, value)
            return value

        return emit

    emit = None
    for number in range(stride):
        emit = with_vector(number, emit)
    return emit


def _whole_blocks(windows: FewWindows) -> Any:
    """How many blocks of a row are whole, of gradients and of columns."""
    columns_end = windows.lack - (windows.over > 0)

    @inlined_piece
    def whole_blocks(out: int) -> int:
        return min(out, out + columns_end) // LANES

    return whole_blocks


def _roller(windows: FewWindows, takes: Any, emit: Any) -> Any:
    """What makes a row of sums along W from a row of gradients, and a row of the result with it."""
    even, stride, lack, offsets, whole_blocks = (
        windows.even,
        windows.stride,
        windows.lack,
        windows.offsets,
        _whole_blocks(windows),
    )
    laid_back = [tuple(offset + lack for offset in some) for some in offsets]
    lay_out, lay_out_last, width = _layer_out(stride, offsets), _layer_out(stride, laid_back), stride * LANES
    (take, take_one), before, after = takes, min(map(min, laid_back)), max(map(max, offsets))

    @inlined_piece
    def quotients(source: int, divisors: Any, o: int, unit: Any) -> Any:
        by = divisors if even else load(divisors, o, unit)
        return add(divide(take(source, o, unit), by), splat(unit))  # sums begin at +0.0

    @inlined_piece
    def quotient(source: int, divisors: Any, o: int, unit: Any) -> Any:
        """One of them in all lanes."""
        by = divisors if even else splat(read(divisors, o, unit))
        return add(divide(splat(take_one(source, o, unit)), by), splat(unit))

    @inlined_piece
    def roll(target: int, source: int, rows: Rows, soon: int, divisors: int, out: int, unit: Any) -> None:
        """The gradients at ``soon`` are read soon."""
        whole, zero, by = whole_blocks(out), splat(unit), load(divisors, 0, unit) if even else divisors
        behind, here, end = zero, quotients(source, by, 0, unit), (whole - 1) * LANES
        for w in range(0, end, LANES):
            prefetch(soon, w, unit)
            ahead = quotients(source, by, w + LANES, unit)
            emit(rows, target, w * stride, w * stride, lay_out(behind, here, ahead), 0, unit)
            behind, here = here, ahead
        prefetch(soon, end, unit)
        ahead = zero
        if after > 0 and end + LANES < out:
            ahead = quotient(source, by, end + LANES, unit)
        emit(rows, target, end * stride, end * stride, lay_out(behind, here, ahead), 0, unit)
        if end + LANES < out + lack:  # a last block is laid back
            behind, here = zero, quotients(source, by, out - LANES, unit)
            if before == -1 and out > LANES:
                behind = quotient(source, by, out - LANES - 1, unit)
            if before < -1:
                behind = quotients(source, by, out - 2 * LANES, unit)
            columns = lay_out_last(behind, here, zero)
            emit(rows, target, whole * width, (out + lack - LANES) * stride, columns, whole * width, unit)

    return roll


def _repeater(windows: FewWindows, emit: Any) -> Any:
    """What makes a row of the result from sums that wait."""
    stride, lack, whole_blocks = windows.stride, windows.lack, _whole_blocks(windows)
    width = stride * LANES

    @inlined_piece
    def repeat(target: int, rows: Rows, out: int, unit: Any) -> None:
        whole, zero = whole_blocks(out), splat(unit)
        nothing = (zero, zero, zero, zero)  # these are not looked at
        for j in range(whole):
            emit(rows, target, j * width, j * width, nothing, 0, unit)
        if whole * LANES < out + lack:
            emit(rows, target, whole * width, (out + lack - LANES) * stride, nothing, whole * width, unit)

    return repeat


@inlined_piece
def _divided(plan: Any, at: int, scale: int, known: int, scratch: Scratch, unit: Any) -> tuple[int, int]:
    """Where a row of gradients is, and its divisors; those at hand are of the scale ``known``."""
    divisors, out = scratch.divisors, plan.out[COLUMNS]
    if scale != known:
        scale_divisors(divisors, scratch.columns, scale, out, unit)
    if plan.reading == BY_ELEMENTS:
        divide_row(plan, scratch.staged, at, plan.grad_steps[4], divisors, scratch.counts, scale, out, unit)
        return scratch.staged, scratch.ones
    return at, divisors


def _early_rows_maker(name: str, windows: FewWindows, take: Any) -> Any:
    roll = _roller(windows, take, _emitter(windows, store, fresh=True))

    @piece_named(name)
    def make_early_rows(plan: Any, source: int, h: int, scale: int, known: int, scratch: Scratch, unit: Any) -> int:
        """The rows of gradients that a first row needs, but for one that is made with it."""
        made = step_of(scratch.steps, h).made
        first, stop = h - h, made
        if h > 0:
            first, stop = run_of(plan, ROWS, h)
            stop = stop if made < 0 else made
        for oh in range(first, stop):
            count, sums = scale * count_of(plan, ROWS, oh), scratch.sums
            rows = Rows(sums, sums, sums + (1 + (oh & plan.row_slots - 1)) * plan.pitch * plan.itemsize)
            at, divisors = _divided(plan, source + oh * plan.grad_steps[3], count, known, scratch, unit)
            known = count
            roll(scratch.spare, at, rows, at, divisors, plan.out[COLUMNS], unit)
        return known

    return make_early_rows


def _row_maker(name: str, windows: FewWindows, take: Any, put: Any) -> Any:
    """What makes some rows of a plane."""
    roll = _roller(windows, take, _emitter(windows, put, fresh=True))
    repeat = _repeater(windows, _emitter(windows, put, fresh=False))

    @piece_named(name)
    def make_rows(
        plan: Any, source: int, target: int, low: int, high: int, scale: int, known: int, scratch: Scratch, unit: Any
    ) -> int:
        """Rows ``low`` to ``high``. The divisors are those of the scale ``known``; returns whose they are now."""
        out, between, divisors, even = plan.out[COLUMNS], plan.grad_steps[3], scratch.divisors, plan.even
        sums, soon, count = scratch.sums, bytes_ahead(plan), scale * step_of(scratch.steps, 0).counts
        if even and count != known:
            known, _ = count, scale_divisors(divisors, scratch.columns, count, out, unit)
        for h in range(low, high):
            one, two, three, made, count = step_of(scratch.steps, h)
            rows, there = Rows(sums + one, sums + two, sums + three), target + h * plan.row_step
            if made < 0:
                repeat(there, rows, out, unit)
            else:
                at = source + made * between
                if not even:
                    at, divisors = _divided(plan, at, scale * count, known, scratch, unit)
                    known = scale * count
                roll(there, at, rows, at + soon, divisors, out, unit)
        return known

    return make_rows


@inlined_piece
def _read_half(base: int, o: int, unit: Any) -> Any:
    return unit + half_to_float(read_u16(base, 2 * o))


@inlined_piece
def _read_bfloat(base: int, o: int, unit: Any) -> Any:
    return unit + bfloat_to_float(read_u16(base, 2 * o))


# How gradients are read, eight and single ones; and how results are written, into the caches and past them.
_MOVES = {
    FLOAT32: ((load, read), (store, stream)),
    FLOAT16: ((load_halves, _read_half), (store_halves, stream_halves)),
    BFLOAT16: ((load_bfloats, _read_bfloat), (store_bfloats, stream_bfloats)),
}


def row_maker(name: str, windows: FewWindows, *, in_scratch: bool) -> Any:
    """What makes rows of a plane, of the result or in scratch."""
    take, (put, put_past) = _MOVES[windows.code]
    make_early_rows = _early_rows_maker(f"{name}_early", windows, take)
    store_rows = stream_rows = _row_maker(f"{name}_stored", windows, take, store if in_scratch else put)
    # Of rows of which a part of a stride is missing the last block begins at no multiple of 16 bytes.
    streams, floats = not in_scratch and windows.over == 0, windows.code == FLOAT32
    if streams:
        stream_rows = _row_maker(f"{name}_streamed", windows, take, put_past)

    @inlined_piece
    def stream_from_scratch(
        plan: Any, source: int, target: int, low: int, high: int, scale: int, known: int, scratch: Scratch, unit: Any
    ) -> int:
        """A row is written when the next one is made: what was just stored can't be loaded at once."""
        columns, step, pitch = plan.size[COLUMNS], plan.row_step, plan.pitch * plan.itemsize
        made, other = scratch.spare, scratch.spare + pitch
        for h in range(low, high):
            before = made
            if h == low or step_of(scratch.steps, h).made != SAME:
                made, other = other, made
                known = store_rows(plan, source, made - h * step, h, h + 1, scale, known, scratch, unit)
            if h > low:
                stream_run(target + (h - 1) * step, before, columns, unit)
        stream_run(target + (high - 1) * step, made, columns, unit)
        return known

    @inlined_piece
    def make_rows(
        plan: Any,
        source: int,
        od: int,
        target: int,
        low: int,
        high: int,
        way: int,
        known: int,
        scratch: Scratch,
        unit: Any,
    ) -> int:
        scale = plan.divisor * count_of(plan, DEPTH, od)
        known = make_early_rows(plan, source, low, scale, known, scratch, unit)
        if streams and way == STREAMED:
            return stream_rows(plan, source, target, low, high, scale, known, scratch, unit)
        if floats and not in_scratch and way != STORED:
            return stream_from_scratch(plan, source, target, low, high, scale, known, scratch, unit)
        return store_rows(plan, source, target, low, high, scale, known, scratch, unit)

    return make_rows


def make_kernel(name: str) -> Any:
    return flowing_kernel(carve, row_maker(name, FewWindows.of(name), in_scratch=False))
