"""Rows between tensors and scratch: the only place where a kernel sees storage types and steps.

A row in scratch is so many elements of the compute type from an address on; ``unit`` says which type that is. ``step``
is the distance in bytes between neighbours in the tensor. Tensors are read and written exactly, never beside the row.
"""

from __future__ import annotations

from typing import Any

from numba import types

from .jit.halves import bfloat_to_float, float_to_bfloat, float_to_half, half_to_float
from .jit.memory import (
    float_of_bits,
    inlined_piece,
    piece,
    read_f32,
    read_f64,
    read_i32,
    read_i64,
    read_u16,
    round_mantissa,
    write_f32,
    write_f64,
    write_u16,
)
from .jit.vectors import copy_lanes, itemsize, load, read, splat, store, stream, write
from .record import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, KEPT, LANES, TO_FLOAT16, TO_HF32, TO_HF32_950


@inlined_piece
def rounded(value: float, rounding: int) -> float:
    if rounding == TO_FLOAT16:
        return half_to_float(float_to_half(value))
    if rounding == TO_HF32:
        return round_mantissa(value, 12)
    if rounding == TO_HF32_950:
        return round_mantissa(value, 13)
    return value


@piece
def copy_exactly(target: int, source: int, n: int, unit: Any) -> None:
    """n elements, no more: whole vectors, the last one laid back over its predecessor."""
    if n >= LANES:
        for i in range(0, n - LANES + 1, LANES):
            store(target, i, load(source, i, unit))
        store(target, n - LANES, load(source, n - LANES, unit))
    elif n >= 4:
        copy_lanes(target, source, 0, unit, 4)
        copy_lanes(target, source, n - 4, unit, 4)
    elif n >= 2:
        copy_lanes(target, source, 0, unit, 2)
        copy_lanes(target, source, n - 2, unit, 2)
    elif n == 1:
        write(target, 0, read(source, 0, unit))


@piece
def load_row(base: int, step: int, code: int, rounding: int, row: int, n: int, unit: Any) -> None:
    """Widen n elements into scratch; float32 is first rounded as the plan says. Adding the zero ``unit`` widens."""
    if code == FLOAT32:
        if rounding != KEPT:
            for i in range(n):
                write(row, i, unit + rounded(read_f32(base, i * step), rounding))
        elif step == itemsize(unit):
            copy_exactly(row, base, n, unit)
        else:
            for i in range(n):
                write(row, i, unit + read_f32(base, i * step))
    elif code == FLOAT16:
        if step == 2:
            for i in range(n):
                write(row, i, unit + half_to_float(read_u16(base, i * 2)))
        else:
            for i in range(n):
                write(row, i, unit + half_to_float(read_u16(base, i * step)))
    elif code == BFLOAT16:
        if step == 2:
            for i in range(n):
                write(row, i, unit + bfloat_to_float(read_u16(base, i * 2)))
        else:
            for i in range(n):
                write(row, i, unit + bfloat_to_float(read_u16(base, i * step)))
    elif step == itemsize(unit):
        copy_exactly(row, base, n, unit)
    else:
        for i in range(n):
            write_f64(row, i * 8, read_f64(base, i * step))


@piece
def store_row(base: int, step: int, code: int, row: int, n: int, unit: Any) -> None:
    """Round each element once to the storage type and write it."""
    if code == FLOAT32:
        if step == 4:
            copy_exactly(base, row, n, types.float32(unit))
        else:
            for i in range(n):
                write_f32(base, i * step, read_f32(row, i * 4))
    elif code == FLOAT64:
        if step == 8:
            copy_exactly(base, row, n, types.float64(unit))
        else:
            for i in range(n):
                write_f64(base, i * step, read_f64(row, i * 8))
    elif code == FLOAT16:
        if step == 2:
            for i in range(n):
                write_u16(base, i * 2, float_to_half(read_f32(row, i * 4)))
        else:
            for i in range(n):
                write_u16(base, i * step, float_to_half(read_f32(row, i * 4)))
    elif step == 2:
        for i in range(n):
            write_u16(base, i * 2, float_to_bfloat(read_f32(row, i * 4)))
    else:
        for i in range(n):
            write_u16(base, i * step, float_to_bfloat(read_f32(row, i * 4)))


@piece
def zero_row(base: int, step: int, code: int, n: int) -> None:
    """Write n zeros; a zero has the same bits in every type of one size."""
    if code == FLOAT32:
        if step == 4:
            for i in range(n):
                write_f32(base, i * 4, types.float32(0))
        else:
            for i in range(n):
                write_f32(base, i * step, types.float32(0))
    elif code == FLOAT64:
        for i in range(n):
            write_f64(base, i * step, 0.0)
    else:
        for i in range(n):
            write_u16(base, i * step, types.uint16(0))


@piece
def fill_exactly(target: int, n: int, value: Any, streaming: bool) -> None:
    """n times the value, no more: the last vector is laid back over its predecessor.

    The others but the first lie at multiples of their size, so that none of them is written into two cache lines.
    """
    vector = splat(value)
    if streaming and target % 16 == 0:
        for i in range(0, n - LANES + 1, LANES):
            stream(target, i, vector)
        for i in range(n - n % LANES, n):
            write(target, i, value)
    elif n >= LANES:
        size = LANES * itemsize(value)
        store(target, 0, vector)
        for i in range((size - target % size) // itemsize(value), n - LANES, LANES):
            store(target, i, vector)
        store(target, n - LANES, vector)
    else:
        for i in range(n):
            write(target, i, value)


@inlined_piece
def fill_row(base: int, code: int, n: int, value: Any, streaming: bool) -> None:
    """n neighbours, each the value rounded once; halves in pairs."""
    if code in (FLOAT16, BFLOAT16):
        narrow = float_to_half(types.float32(value)) if code == FLOAT16 else float_to_bfloat(types.float32(value))
        pair = float_of_bits(types.uint32(narrow) << types.uint32(16) | types.uint32(narrow))
        fill_exactly(base, n // 2, pair, streaming)
        if n % 2:
            write_u16(base, 2 * n - 2, narrow)
    else:
        fill_exactly(base, n, value, streaming)


@inlined_piece
def index_at(base: int, offset: int, code: int) -> int:
    """An index of either type."""
    return types.int64(read_i32(base, offset)) if code == INT32 else read_i64(base, offset)
