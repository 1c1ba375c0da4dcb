"""Averages over few windows: rows of gradients roll through registers into rows of the result.

Up to three neighbouring windows hold a column along W, and up to three a row along H. A row of gradients is divided,
summed along W by shuffles and laid out for the columns of its strides, all in registers. There the sums meet those of
the rows before, which waited in the first-level cache, and then wait themselves for the rows that follow. So gradients
are read and results are written in one loop, at the pace that memory has. Rows of the result that need no new row of
gradients, as every second one with strides of 2, are sums of what waits, or copies of it.

There is one kernel for the windows along W and the storage type (``FewWindows`` in record.py): all of that is constant
in its loops. few_blocks.py makes a block, the columns of eight windows; few_steps.py knows what a row is made of. Rows
in scratch consist of such blocks. The last block of a row is laid back over its predecessor if it is not whole, and has
a place of its own.

Quotients of whole rows that are summed from memory, three rows of three for each row of the result, take 1.2 to 2.3
times as long.
"""

from __future__ import annotations

from typing import Any

from ..emitting import stream_run
from ..geometry import COLUMNS, DEPTH, ROWS, count_of, run_of
from ..jit.halves import (
    load_bfloats,
    load_halves,
    read_bfloat,
    read_half,
    store_bfloats,
    store_halves,
    stream_bfloats,
    stream_halves,
)
from ..jit.memory import inlined_piece, piece, piece_named, stay_apart
from ..jit.vectors import fence, load, prefetch, read, splat, store, stream
from ..record import (
    BFLOAT16,
    FIELDS_OF_STEP,
    FLOAT16,
    FLOAT32,
    LANES,
    MOST_FEW,
    NOTHING,
    ROWS_IN_TABLE,
    FewWindows,
)
from ..rows import fill_row
from .few_blocks import divider, joined, plain, repeater, sums_maker
from .few_steps import COPY, UNEVEN, Scratch, carve, is_staged, step_of, with_rows
from .quotients import divide_there, scale_divisors

# How rows are written: into the caches; past them; or made in scratch, and past the caches from there, since not every
# row begins with one of the 16 bytes that vectors are streamed to.
STORED, STREAMED, STREAMED_FROM_SCRATCH = range(3)


@inlined_piece
def way_past_caches(plan: Any, result: int) -> int:
    """How rows of this result can be written that should not stay in the caches."""
    to, row = plan.result_steps, plan.size[COLUMNS] * plan.stored
    places = result | to[0] | to[1] | to[2] | to[3]
    if (places | row) % 16 == 0:
        return STREAMED
    plain = plan.stored == plan.itemsize and places % plan.itemsize == 0 and to[3] == row
    return STREAMED_FROM_SCRATCH if plain else STORED


def _whole_blocks(windows: FewWindows) -> Any:
    """How many blocks of a row are whole, of gradients and of columns."""
    columns_end = windows.lack - (windows.over > 0)

    @inlined_piece
    def whole_blocks(out: int) -> int:
        return min(out, out + columns_end) // LANES

    return whole_blocks


def _roller(windows: FewWindows, take: Any, put: Any) -> Any:
    """What makes a row of sums along W from a row of gradients, and a row of the result with it."""
    even, stride, lack, offsets = windows.even, windows.stride, windows.lack, windows.offsets
    laid_back = [tuple(offset + lack for offset in some) for some in offsets]
    make = sums_maker(windows, put, offsets, laid_back=False)
    make_last = sums_maker(windows, put, laid_back, laid_back=True)
    quotients, quotient = divider(take[0], even=even), divider(take[1], even=even, alone=True)
    before, after, whole_blocks = min(map(min, laid_back)), max(map(max, offsets)), _whole_blocks(windows)

    @inlined_piece
    def roll(target: Any, source: int, soon: int, divisors: int, sums: Any, out: int, unit: Any) -> None:
        """The gradients at ``soon`` are read soon."""
        whole, zero, by = whole_blocks(out), splat(unit), load(divisors, 0, unit) if even else divisors
        behind, here, end = zero, quotients(source, by, 0, unit), (whole - 1) * LANES
        for o in range(0, end, LANES):
            prefetch(soon, o, unit)
            ahead = quotients(source, by, o + LANES, unit)
            make((*target, o * stride, o * stride), sums, (behind, here, ahead))
            behind, here = here, ahead
        prefetch(soon, end, unit)
        ahead = zero
        if after > 0 and end + LANES < out:
            ahead = quotient(source, by, end + LANES, unit)
        make((*target, end * stride, end * stride), sums, (behind, here, ahead))
        if end + LANES < out + lack:  # a last block is laid back
            behind, here, last = zero, quotients(source, by, out - LANES, unit), out + lack - LANES
            if before == -1 and out > LANES:
                behind = quotient(source, by, out - LANES - 1, unit)
            if before < -1:
                behind = quotients(source, by, out - 2 * LANES, unit)
            make_last((*target, last * stride, (end + LANES) * stride), sums, (behind, here, zero))

    return roll


def _repeats(windows: FewWindows, put: Any, terms: int) -> Any:
    """What makes a row of the result of so many rows of sums that wait."""
    stride, lack, whole_blocks = windows.stride, windows.lack, _whole_blocks(windows)
    make, make_last = (repeater(windows, put, terms, laid_back=laid_back) for laid_back in (False, True))

    @inlined_piece
    def repeat(target: Any, sums: Any, out: int, unit: Any) -> None:
        whole = whole_blocks(out) * LANES
        for w in range(0, whole * stride, LANES):
            make((*target, w, w), sums, unit)
        if whole < out + lack:
            make_last((*target, (out + lack - LANES) * stride, whole * stride), sums, unit)

    return repeat


@piece
def _divide(plan: Any, source: int, scale: int, known: int, scratch: Scratch, unit: Any) -> None:
    """Make a row's divisors, if those at hand are of another scale, and its quotients, if they are made in scratch."""
    stay_apart()
    divisors, chunk, out = scratch.divisors, plan.chunk * plan.itemsize, plan.out[COLUMNS]
    if scale != known:
        scale_divisors(divisors, divisors + chunk, scale, out, unit)
    if is_staged(plan):
        counts = scratch.steps + 8 * (FIELDS_OF_STEP * (scratch.low - MOST_FEW) - plan.chunk)
        divide_there(plan, divisors + 3 * chunk, source, plan.grad_steps[4], divisors, counts, scale, out, unit)


@inlined_piece
def one_row(target: Any, steps: Any, h: int) -> Any:
    return (target[0] + h * steps[0],)


@inlined_piece
def four_rows(target: Any, steps: Any, h: int) -> Any:
    (layer, result, first, second), (step, result_step, mask) = target, steps
    ahead = h * step
    return layer + ahead, result + h * result_step, first + (ahead & mask), second + ahead


def _rows_maker(
    name: str, windows: FewWindows, take: Any, put: Any, rows_at: Any = one_row, in_scratch: bool = False
) -> Any:
    """What makes some rows of a plane. If it can do so ``in_scratch``, it is given where the result is, too, or 0: each
    row is written there when the next one is made, since what was just stored can't be loaded at once."""
    roll, copy = _roller(windows, take, put), _repeats(windows, put, 1)
    add_up = copy if windows.terms == 1 else _repeats(windows, put, windows.terms)

    @piece_named(name)
    def make_rows(
        plan: Any,
        source: int,
        target: Any,
        steps: Any,
        begin: int,
        low: int,
        high: int,
        scale: int,
        known: int,
        scratch: Scratch,
        unit: Any,
    ) -> int:
        """Rows ``low`` to ``high``, after those from ``begin`` on, which are of use for their sums only and are written
        over: ``target`` is where row 0 is, or several are, and ``steps`` from row to row. The divisors are those of the
        scale ``known``; returns whose they are now."""
        stay_apart()
        out, chunk, divisors, staged = plan.out[COLUMNS], plan.chunk * plan.itemsize, scratch.divisors, is_staged(plan)
        result, made = target[-1] if in_scratch else 0, scratch.spare
        if staged:
            divisors += 2 * chunk
        for h in range(begin, high):
            step, rows, before = step_of(scratch.steps, h), rows_at(target, steps, max(h, low)), made
            sums, is_new = (step.one, step.two, step.three), True
            if in_scratch and result != 0:  # two rows in turn; if they are alike the same one again
                is_new = h <= low or not step.same
                made = 2 * scratch.spare + plan.pitch * plan.itemsize - made if is_new else made
                rows = (made,)
            if step.kind <= UNEVEN:
                at = source + step.gradients
                if step.kind == UNEVEN:
                    _divide(plan, at, scale * step.counted, known, scratch, unit)
                    known = scale * step.counted
                    if staged:
                        at = scratch.divisors + 3 * chunk
                roll(rows, at, at + scratch.soon, divisors, sums, out, unit)
            elif is_new and step.kind == COPY:
                copy(rows, sums, out, unit)
            elif is_new:
                add_up(rows, sums, out, unit)
            if in_scratch and result != 0 and h > low:
                stream_run(result + (h - 1) * plan.row_step, before, plan.size[COLUMNS], unit)
        if in_scratch and result != 0:
            stream_run(result + (high - 1) * plan.row_step, made, plan.size[COLUMNS], unit)
        return known

    return make_rows


# How gradients are read, eight and single ones; and how results are written, into the caches and past them.
MOVES = {
    FLOAT32: ((load, read), (store, stream)),
    FLOAT16: ((load_halves, read_half), (store_halves, stream_halves)),
    BFLOAT16: ((load_bfloats, read_bfloat), (store_bfloats, stream_bfloats)),
}


@inlined_piece
def known_before(
    plan: Any, source: int, low: int, scale: int, known: int, scratch: Scratch, unit: Any
) -> tuple[int, int]:
    """The row to begin with that ``low`` is made, since it needs its gradients; divisors are made for that one."""
    begin = scratch.first
    if low > scratch.low:
        begin, first = low, step_of(scratch.steps, low).first
        while begin > scratch.first and step_of(scratch.steps, begin - 1).stop > first:
            begin -= 1
    count = scale * step_of(scratch.steps, begin).counted
    if count != known:
        _divide(plan, source, count, known, scratch, unit)
    return begin, count


def row_maker(name: str, windows: FewWindows) -> Any:
    """What makes rows of a plane of the result."""
    take, (put, put_past) = MOVES[windows.code]
    # Of rows of which a part of a stride is missing the last block begins at no multiple of 16 bytes.
    streams, floats = windows.over == 0, windows.code == FLOAT32
    store_rows = stream_rows = _rows_maker(f"{name}_stored", windows, take, plain(put), in_scratch=floats)
    if streams:
        stream_rows = _rows_maker(f"{name}_streamed", windows, take, plain(put_past))

    @inlined_piece
    def make_rows(
        plan: Any,
        source: int,
        scale: int,
        target: int,
        low: int,
        high: int,
        way: int,
        known: int,
        scratch: Scratch,
        unit: Any,
    ) -> int:
        begin, known = known_before(plan, source, low, scale, known, scratch, unit)
        steps, nowhere = (plan.row_step,), target - target
        if way == STORED or not (streams or floats):
            return store_rows(plan, source, (target, nowhere), steps, begin, low, high, scale, known, scratch, unit)
        if streams and way == STREAMED:
            spare, no_steps = (scratch.spare, nowhere), (nowhere,)
            known = store_rows(plan, source, spare, no_steps, begin, low, low, scale, known, scratch, unit)
            return stream_rows(plan, source, (target,), steps, low, low, high, scale, known, scratch, unit)
        return store_rows(plan, source, (nowhere, target), steps, begin, low, high, scale, known, scratch, unit)

    return make_rows


def layer_maker(name: str, windows: FewWindows) -> tuple[Any, Any]:
    """What makes rows of a layer in scratch; and what does while it writes the result, if layers of that are the sum of
    three of these, of which this is the last."""
    take, (put, put_past) = MOVES[windows.code]
    store_rows = _rows_maker(f"{name}_stored", windows, take, plain(store))
    join_rows = join_past = _rows_maker(f"{name}_joined", windows, take, joined(put), four_rows)
    streams = windows.over == 0
    if streams:
        join_past = _rows_maker(f"{name}_joined_past_caches", windows, take, joined(put_past), four_rows)

    @inlined_piece
    def make_rows(
        plan: Any, source: int, target: int, low: int, high: int, scale: int, known: int, scratch: Scratch, unit: Any
    ) -> int:
        begin, known = known_before(plan, source, low, scale, known, scratch, unit)
        steps = (plan.row_step,)
        return store_rows(plan, source, (target,), steps, begin, low, high, scale, known, scratch, unit)

    @inlined_piece
    def join(
        plan: Any,
        source: int,
        rows: Any,
        steps: Any,
        low: int,
        high: int,
        way: int,
        scale: int,
        known: int,
        scratch: Scratch,
        unit: Any,
    ) -> int:
        begin, known = known_before(plan, source, low, scale, known, scratch, unit)
        if streams and way == STREAMED:
            return join_past(plan, source, rows, steps, begin, low, high, scale, known, scratch, unit)
        return join_rows(plan, source, rows, steps, begin, low, high, scale, known, scratch, unit)

    return make_rows, join


def make_kernel(name: str) -> Any:
    make_rows = row_maker(name, FewWindows.of(name))

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
        plan = records[0]
        scratch = carve(plan, floats, integers, unit)
        to, depth, height = plan.result_steps, plan.size[DEPTH], plan.size[ROWS]
        past = way_past_caches(plan, result) if plan.streaming else STORED
        kept = begin + plan.kept  # the first rows stay in the caches
        known, at, d, layer = begin - begin, begin, begin - begin, NOTHING
        od, stop = run_of(plan, DEPTH, d)
        scale = plan.divisor * count_of(plan, DEPTH, od)
        while at < end:  # layer by layer
            plane, low = at // height, at % height
            high = min(height, low + min((kept if at < kept < end else end) - at, ROWS_IN_TABLE))
            scratch = with_rows(plan, scratch, low, high)
            if depth > 1:  # without depth windows are the same in all layers
                plane, layer = plane // depth, plane % depth
                if layer != d:
                    d, (od, stop) = layer, run_of(plan, DEPTH, layer)
                    scale = plan.divisor * count_of(plan, DEPTH, od)
            n, c = plane // plan.channels, plane % plan.channels
            source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1] + od * plan.grad_steps[2]
            target, way = result + n * to[0] + c * to[1] + d * to[2], STORED if at < kept else past
            if od < stop:
                known = make_rows(plan, source, scale, target, low, high, way, known, scratch, unit)
            else:  # this layer lies behind the last window of D, or between two
                for h in range(low, high):
                    fill_row(target + h * to[3], plan.code, plan.size[COLUMNS], unit, way == STREAMED)
            at += high - low
        if past != STORED:
            fence()
        return NOTHING

    return kernel
