"""From scratch to a dense output: runs of finished numbers, rounded to the storage type, past the caches if need be.

Rows are appended to a buffer in scratch and leave it in long runs, so rows of any width are written in whole vectors.
Stores past the caches fill whole cache lines: what does not is kept for the next run.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .memory import (
    _target_has_half_conversion,
    float_to_half,
    half_to_float,
    inlined_piece,
    piece,
    read_f32,
    read_u16,
    write_f32,
    write_u16,
)
from .record import BFLOAT16, FLOAT16, LANES
from .rows import load_row, store_row
from .vectors import _pointer, itemsize, load, store, stream

LINE = 64  # bytes of a cache line

_INT16, _INT32, _INT64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_HALVES, _WORDS = ir.VectorType(_INT16, LANES), ir.VectorType(_INT32, LANES)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def _constant(kind: ir.VectorType, number: int) -> ir.Constant:
    return ir.Constant(kind, [number] * LANES)


def _widener(widen: Any) -> Any:
    @intrinsic
    def widen_lanes(typing_context: Any, target: types.Type, source: types.Type, index: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            halves = builder.load(_pointer(builder, args[1], args[2], _INT16, _HALVES), align=1)
            builder.store(widen(builder, halves), _pointer(builder, args[0], args[2], ir.FloatType(), _FLOATS), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return widen_lanes


def _narrower(narrow: Any, streaming: bool) -> Any:
    @intrinsic
    def narrow_lanes(typing_context: Any, target: types.Type, source: types.Type, index: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            floats = builder.load(_pointer(builder, args[1], args[2], ir.FloatType(), _FLOATS), align=1)
            at = _pointer(builder, args[0], args[2], _INT16, _HALVES)
            written = builder.store(narrow(builder, floats), at, align=16 if streaming else 1)
            if streaming:
                written.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_INT32, 1)]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return narrow_lanes


def _widen_half(builder: ir.IRBuilder, halves: ir.Value) -> ir.Value:
    return builder.fpext(builder.bitcast(halves, ir.VectorType(ir.HalfType(), LANES)), _FLOATS)


def _narrow_half(builder: ir.IRBuilder, floats: ir.Value) -> ir.Value:
    return builder.bitcast(builder.fptrunc(floats, ir.VectorType(ir.HalfType(), LANES)), _HALVES)


def _widen_bfloat(builder: ir.IRBuilder, halves: ir.Value) -> ir.Value:
    return builder.bitcast(builder.shl(builder.zext(halves, _WORDS), _constant(_WORDS, 16)), _FLOATS)


def _narrow_bfloat(builder: ir.IRBuilder, floats: ir.Value) -> ir.Value:
    """To nearest even; a NaN is made quiet, since adding could carry it into Inf."""
    bits = builder.bitcast(floats, _WORDS)
    upper = builder.lshr(bits, _constant(_WORDS, 16))
    odd = builder.and_(upper, _constant(_WORDS, 1))
    rounded = builder.lshr(builder.add(builder.add(bits, _constant(_WORDS, 0x7FFF)), odd), _constant(_WORDS, 16))
    is_nan = builder.fcmp_unordered("uno", floats, floats)
    return builder.trunc(builder.select(is_nan, builder.or_(upper, _constant(_WORDS, 0x40)), rounded), _HALVES)


# Eight numbers from a 16-bit type to float32 or back: target, source, index of the first.
widen_bfloats = _widener(_widen_bfloat)
narrow_bfloats, stream_bfloats = _narrower(_narrow_bfloat, False), _narrower(_narrow_bfloat, True)

if _target_has_half_conversion():
    widen_halves = _widener(_widen_half)
    narrow_halves, stream_halves = _narrower(_narrow_half, False), _narrower(_narrow_half, True)
else:

    @piece
    def widen_halves(target: int, source: int, index: int) -> None:
        for i in range(index, index + LANES):
            write_f32(target, i * 4, half_to_float(read_u16(source, i * 2)))

    @piece
    def narrow_halves(target: int, source: int, index: int) -> None:
        for i in range(index, index + LANES):
            write_u16(target, i * 2, float_to_half(read_f32(source, i * 4)))

    stream_halves = narrow_halves


@piece
def fetch_row(base: int, step: int, code: int, n: int, room: int, row: int, unit: Any) -> None:
    """Widen n elements of a tensor into scratch, and some overrun; ``room`` elements from the base on may be read."""
    whole = (n + LANES - 1) // LANES * LANES  # in whole vectors, or with the last one laid back
    if code == FLOAT16 and step == 2 and (room >= whole or n >= LANES):
        stop = whole if room >= whole else n - LANES + 1
        for i in range(0, stop, LANES):
            widen_halves(row, base, i)
        if room < whole:
            widen_halves(row, base, n - LANES)
    elif code == BFLOAT16 and step == 2 and (room >= whole or n >= LANES):
        stop = whole if room >= whole else n - LANES + 1
        for i in range(0, stop, LANES):
            widen_bfloats(row, base, i)
        if room < whole:
            widen_bfloats(row, base, n - LANES)
    elif code != FLOAT16 and code != BFLOAT16 and step == itemsize(unit) and room >= whole:
        for i in range(0, whole, LANES):
            store(row, i, load(base, i, unit))
    else:
        load_row(base, step, code, 0, row, n, unit)


@inlined_piece
def emit_plain(target: int, source: int, n: int, streaming: bool, unit: Any) -> None:
    if streaming:
        for i in range(0, n, LANES):
            stream(target, i, load(source, i, unit))
    else:
        for i in range(0, n, LANES):
            store(target, i, load(source, i, unit))


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
        if streaming:
            for i in range(0, whole, LANES):
                stream_halves(at, left, i)
        else:
            for i in range(0, whole, LANES):
                narrow_halves(at, left, i)
    elif code == BFLOAT16:
        if streaming:
            for i in range(0, whole, LANES):
                stream_bfloats(at, left, i)
        else:
            for i in range(0, whole, LANES):
                narrow_bfloats(at, left, i)
    else:
        emit_plain(at, left, whole, streaming, unit)
    done += whole
    if is_last and done < n:
        store_row(target + done * storage, storage, code, source + done * itemsize(unit), n - done, unit)
        done = n
    return done
