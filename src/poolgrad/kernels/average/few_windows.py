"""Averages over few windows: every row of the result is woven from rows of quotients while it is written.

A column is held by up to three neighbouring windows along W, a row by up to three along H. The quotients of the last
rows of gradients are all that is kept. From them the sums of eight windows are made in registers and written
(few_windows_rows.py), of two rows at once where these share some. So memory takes numbers steadily while the next ones
are made: beyond the caches, rows that are made first and written later take both times one after the other.

There is one kernel for each kernel size, stride and phase of the first column along W (``FEW_WINDOWS`` in record.py):
all of that is constant in its loops.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..geometry import COLUMNS, DEPTH, ROWS, count_of, run_of, run_of_row, tabulate_runs
from ..jit.memory import inlined_piece, piece, read_i64, write_i64
from ..jit.vectors import as_unit, fence, store, stream, write
from ..record import FEW_WINDOWS, LANES, NOTHING, ROWS_IN_TABLE, WRITE_BFLOATS, WRITE_FLOATS, WRITE_HALVES
from .few_windows_rows import PAIRS, column_sums, pair_writer, rows_writer
from .quotients import divide_evenly, divide_row, scale_divisors
from .spreading import fill
from .sums import store_sum_as_bfloats, store_sum_as_halves


class Scratch(NamedTuple):
    """One thread's working memory, as addresses."""

    edge: int  # a vector of columns
    row: int  # one row of the result, if it is rounded to halves
    divisors: int  # of a row's quotients
    columns: int  # what each window along W counts, in the compute type
    zeros: int  # a row of them
    slots: int  # the last rows of quotients, with zeros around each
    counts: int  # what each window along W counts
    rows: int  # a table of one row
    row_counts: int  # what each window along H counts
    runs: int  # for each input row, first and one past the last window along H
    begin: int  # from the beginning of a slot, or of the zeros, to the first column's last window, in bytes


@piece
def carve(plan: Any, floats: int, integers: int, unit: Any) -> Scratch:
    row = floats + 2 * LANES * plan.itemsize
    divisors = row + plan.wide * plan.itemsize
    columns = divisors + plan.chunk * plan.itemsize
    zeros = columns + plan.chunk * plan.itemsize
    counts, rows = integers, integers + 8 * plan.chunk
    for o in range(plan.chunk):
        count = count_of(plan, COLUMNS, o) if o < plan.out[COLUMNS] else 1
        write(columns, o, as_unit(count, unit))
        write_i64(counts, 8 * o, count)
    fill(zeros, 0, (1 + plan.row_slots) * plan.pitch, unit)
    write_i64(rows, 0, row)
    row_counts, runs = rows + 8, rows + 8 + 8 * min(plan.out[ROWS], ROWS_IN_TABLE)
    for oh in range(min(plan.out[ROWS], ROWS_IN_TABLE)):
        write_i64(row_counts, 8 * oh, count_of(plan, ROWS, oh))
    tabulate_runs(plan, runs)
    slots = zeros + plan.pitch * plan.itemsize
    begin = (LANES + plan.pad[COLUMNS] // plan.stride[COLUMNS]) * plan.itemsize
    return Scratch(floats, row, divisors, columns, zeros, slots, counts, rows, row_counts, runs, begin)


@inlined_piece
def make_row(plan: Any, source: int, scale: int, row: int, known: int, scratch: Scratch, unit: Any) -> int:
    """Divide a row of gradients. The divisors are those of the scale ``known``; returns whose they are now."""
    if plan.even:
        divide_evenly(row, source, scale * read_i64(scratch.counts, 0), plan.out[COLUMNS], unit)
        return known
    if scale != known:
        scale_divisors(scratch.divisors, scratch.columns, scale, plan.out[COLUMNS], unit)
    step, out = plan.grad_steps[4], plan.out[COLUMNS]
    divide_row(plan, row, source, step, scratch.divisors, scratch.counts, scale, out, unit)
    return scale


@inlined_piece
def make_rows(plan: Any, source: int, scale: int, made: int, stop: int, known: int, scratch: Scratch, unit: Any) -> int:
    """The same for rows ``made`` to ``stop``, each into its slot."""
    for oh in range(made, stop):
        at = scratch.slots + ((oh & plan.row_slots - 1) * plan.pitch + LANES) * plan.itemsize
        rows = read_i64(scratch.row_counts, 8 * oh) if oh < ROWS_IN_TABLE else count_of(plan, ROWS, oh)
        known = make_row(plan, source + oh * plan.grad_steps[3], scale * rows, at, known, scratch, unit)
    return known


@inlined_piece
def slot_of(plan: Any, oh: int, scratch: Scratch) -> int:
    """Where a row's quotient of the first column's last window lies."""
    return scratch.slots + (oh & plan.row_slots - 1) * plan.pitch * plan.itemsize + scratch.begin


def layer_weaver(kernel_size: int, stride: int, phase: int, *, in_scratch: bool) -> Any:
    """What makes some rows of a layer, of the result or in scratch. Returns the scale that the divisors are of."""
    terms, sums = (kernel_size - 1) // stride + 1, column_sums(kernel_size, stride, phase)
    store_rows = rows_writer(terms, sums, store)
    stream_rows = rows_writer(terms, sums, stream)

    @inlined_piece
    def write_row(plan: Any, target: int, first: int, rows: int, streaming: bool, scratch: Scratch, unit: Any) -> None:
        """The sum of some rows of quotients, from gradient row ``first`` on."""
        columns, edge = plan.size[COLUMNS], scratch.edge
        one = slot_of(plan, first, scratch) if rows > 0 else scratch.zeros + scratch.begin
        two, three = slot_of(plan, first + 1, scratch), slot_of(plan, first + 2, scratch)
        if streaming:
            stream_rows(target, rows, one, two, three, columns, edge, unit)
        else:
            as_made = in_scratch or plan.writing == WRITE_FLOATS
            store_rows(target if as_made else scratch.row, rows, one, two, three, columns, edge, unit)
            if not as_made and plan.writing == WRITE_HALVES:
                store_sum_as_halves(target, scratch.rows, 1, columns, unit)
            elif not as_made and plan.writing == WRITE_BFLOATS:
                store_sum_as_bfloats(target, scratch.rows, 1, columns, unit)

    @inlined_piece
    def weave_rows(
        plan: Any,
        source: int,
        target: int,
        low: int,
        high: int,
        scale: int,
        streaming: bool,
        known: int,
        scratch: Scratch,
        unit: Any,
    ) -> int:
        made = run_of(plan, ROWS, low)[0]  # rows of gradients before this one are divided, or not needed
        for h in range(low, high):
            first, stop = run_of_row(plan, scratch.runs, h)
            if scale == 0:
                stop = first
            known = make_rows(plan, source, scale, made, stop, known, scratch, unit)
            made = max(made, stop)
            write_row(plan, target + h * plan.row_step, first, stop - first, streaming, scratch, unit)
        return known

    if (kernel_size, stride) not in PAIRS:
        return weave_rows
    rows, skipped, rows_below = shared = PAIRS[kernel_size, stride]
    more = skipped + rows_below - rows  # rows of gradients that only the second row needs
    store_pair = pair_writer(shared, sums, store)
    # Two rows that are written past the caches side by side take longer than one after the other, if there is little
    # to add: by a tenth with strides of 2.
    streams = stride == 1
    stream_pair = pair_writer(shared, sums, stream) if streams else store_pair

    @inlined_piece
    def weave_pairs(
        plan: Any,
        source: int,
        target: int,
        low: int,
        high: int,
        scale: int,
        streaming: bool,
        known: int,
        scratch: Scratch,
        unit: Any,
    ) -> int:
        """Two rows at a time wherever they share rows of gradients in the usual way."""
        made, h, columns = run_of(plan, ROWS, low)[0], low, plan.size[COLUMNS]
        as_made = in_scratch or plan.writing == WRITE_FLOATS
        simple = scale != 0 and as_made and columns % stride == 0 and (streams or not streaming)
        while h < high:
            first, stop = run_of_row(plan, scratch.runs, h)
            if scale == 0:
                stop = first
            at, below = target + h * plan.row_step, target + (h + 1) * plan.row_step
            pair = simple and stop - first == rows and h + 1 < high
            if pair:
                next_first, next_stop = run_of_row(plan, scratch.runs, h + 1)
                pair = next_first == first + skipped and next_stop == stop + more
            if pair:
                stop += more
            known = make_rows(plan, source, scale, made, stop, known, scratch, unit)
            made = max(made, stop)
            if pair:
                one, two = slot_of(plan, first, scratch), slot_of(plan, first + 1, scratch)
                three, four = slot_of(plan, first + 2, scratch), slot_of(plan, first + 3, scratch)
                if streams and streaming:
                    stream_pair(at, below, one, two, three, four, columns, unit)
                else:
                    store_pair(at, below, one, two, three, four, columns, unit)
            else:
                write_row(plan, at, first, stop - first, streaming, scratch, unit)
            h += 2 if pair else 1
        return known

    return weave_pairs


def woven_kernel(name: str, kernel_size: int, stride: int, phase: int) -> Any:
    """A kernel for windows of one size, stride and phase along W."""
    weave_layer = layer_weaver(kernel_size, stride, phase, in_scratch=False)

    def kernel(
        records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Rows ``begin`` to ``end`` of the result, counted over all planes, layers and rows."""
        plan = records[0]
        scratch = carve(plan, floats, integers, unit)
        to, depth, height = plan.result_steps, plan.size[DEPTH], plan.size[ROWS]
        whole = plan.size[COLUMNS] // stride * stride * plan.itemsize
        aligned = (result | to[0] | to[1] | to[2] | to[3] | whole) % 16 == 0
        streaming = plan.streaming and plan.writing == WRITE_FLOATS and aligned
        known, row = begin - begin, begin
        while row < end:  # layer by layer
            layer, low = row // height, row % height
            high = min(height, low + end - row)
            plane, d = layer // depth, layer % depth
            n, c = plane // plan.channels, plane % plan.channels
            od, layers_to = run_of(plan, DEPTH, d)
            source = grad + n * plan.grad_steps[0] + c * plan.grad_steps[1] + od * plan.grad_steps[2]
            target = result + n * to[0] + c * to[1] + d * to[2]
            # No scale, no gradients: this layer lies behind the last window of D.
            scale = plan.divisor * count_of(plan, DEPTH, od) if od < layers_to else 0
            known = weave_layer(plan, source, target, low, high, scale, streaming, known, scratch, unit)
            row += high - low
        if streaming:
            fence()
        return NOTHING

    kernel.__name__ = kernel.__qualname__ = name  # kernels are kept on disk by their names
    return kernel


@cache
def __getattr__(name: str) -> Any:
    """Kernels are made when they are asked for: nobody uses them all."""
    if name not in FEW_WINDOWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return woven_kernel(name, *FEW_WINDOWS[name])
