"""From scratch to a dense output: runs of finished numbers, rounded to the storage type, past the caches if need be.

Rows are appended to a buffer in scratch and leave it in long runs, so rows of any width are written in whole vectors.
Stores past the caches fill whole cache lines: what does not is kept for the next run.
"""

from __future__ import annotations

from typing import Any

from .jit.halves import load_bfloats, load_halves, store_bfloats, store_halves, stream_bfloats, stream_halves
from .jit.memory import inlined_piece, piece
from .jit.vectors import itemsize, load, store, stream, stream_16_bytes, stream_32_bytes, stream_number
from .record import BFLOAT16, FLOAT16, LANES, LINE
from .rows import load_row, store_row


@inlined_piece
def can_stream(plan: Any, target: int) -> bool:
    """Whether all pixels from an address on lie where vectors of channels can be streamed to."""
    return (target | plan.result_steps[3] | plan.result_steps[4]) % 16 == 0


@piece
def fetch_row(base: int, step: int, code: int, n: int, room: int, row: int, unit: Any) -> None:
    """Widen n elements of a tensor into scratch, and some overrun; ``room`` elements from the base on may be read."""
    whole = (n + LANES - 1) // LANES * LANES  # in whole vectors, or with the last one laid back
    if code == FLOAT16 and step == 2 and (room >= whole or n >= LANES):
        stop = whole if room >= whole else n - LANES + 1
        for i in range(0, stop, LANES):
            store(row, i, load_halves(base, i, unit))
        if room < whole:
            store(row, n - LANES, load_halves(base, n - LANES, unit))
    elif code == BFLOAT16 and step == 2 and (room >= whole or n >= LANES):
        stop = whole if room >= whole else n - LANES + 1
        for i in range(0, stop, LANES):
            store(row, i, load_bfloats(base, i, unit))
        if room < whole:
            store(row, n - LANES, load_bfloats(base, n - LANES, unit))
    elif code != FLOAT16 and code != BFLOAT16 and step == itemsize(unit) and room >= whole:
        for i in range(0, whole, LANES):
            store(row, i, load(base, i, unit))
    else:
        load_row(base, step, code, 0, row, n, unit)


def _emitter(put: Any, put_past: Any) -> Any:
    @inlined_piece
    def emit_vectors(target: int, source: int, n: int, streaming: bool, unit: Any) -> None:
        if streaming:
            for i in range(0, n, LANES):
                put_past(target, i, load(source, i, unit))
        else:
            for i in range(0, n, LANES):
                put(target, i, load(source, i, unit))

    return emit_vectors


emit_plain, emit_halves = _emitter(store, stream), _emitter(store_halves, stream_halves)
emit_bfloats = _emitter(store_bfloats, stream_bfloats)


@piece
def emit(target: int, source: int, n: int, code: int, streaming: bool, is_last: bool, unit: Any) -> int:
    """Write the first of n neighbouring numbers; returns how many: all of them if these are the last.

    Otherwise up to the end of the last whole cache line, so that the next run begins with one.
    """
    storage = 2 if code in (FLOAT16, BFLOAT16) else itemsize(unit)
    done = 0
    if streaming and target % LINE != 0:  # up to a cache line; numbers may lie across lines, and then none begins one
        done = min((LINE - target % LINE) // storage, n)
        store_row(target, storage, code, source, done, unit)
        streaming = (target + done * storage) % LINE == 0
    at, left = target + done * storage, source + done * itemsize(unit)
    per_line = LINE // storage
    whole = (n - done) // per_line * per_line
    if code == FLOAT16:
        emit_halves(at, left, whole, streaming, unit)
    elif code == BFLOAT16:
        emit_bfloats(at, left, whole, streaming, unit)
    else:
        emit_plain(at, left, whole, streaming, unit)
    done += whole
    if is_last and done < n:
        store_row(target + done * storage, storage, code, source + done * itemsize(unit), n - done, unit)
        done = n
    return done


@piece
def stream_run(target: int, source: int, columns: int, unit: Any) -> None:
    """A row of eight and more numbers of the compute type past the caches, to any multiples of their size.

    Those that do not fill 16 bytes go one by one. Where rows touch and follow each other at once, the processor puts
    the end of one and the beginning of the next together and writes a whole cache line. What was stored just before
    could be loaded only when all stores before it are done: better write a row after the next one is made.
    """
    size = itemsize(unit)
    few, many = 16 // size, 32 // size
    w = -target % 16 // size
    for i in range(w):
        stream_number(target, source, i, unit)
    if (target + w * size) % 32 != 0:
        stream_16_bytes(target, source, w, unit)
        w += few
    while w <= columns - many:
        stream_32_bytes(target, source, w, unit)
        w += many
    if w <= columns - few:
        stream_16_bytes(target, source, w, unit)
        w += few
    while w < columns:
        stream_number(target, source, w, unit)
        w += 1
