"""Rows in and out: the only place where a kernel sees storage types and steps.

``step`` is the distance in bytes between neighbours. Each loop is written twice where it pays, for neighbours that
touch (which LLVM vectorises) and for any other step.
"""

from __future__ import annotations

from typing import Any

from numba import types

from .memory import (
    bfloat_to_float,
    float_to_bfloat,
    float_to_half,
    half_to_float,
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

FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT32, INT64 = range(6)
KEPT, TO_FLOAT16, TO_HF32, TO_HF32_950 = range(4)


@inlined_piece
def _rounded(value: float, rounding: int) -> float:
    if rounding == TO_FLOAT16:
        return half_to_float(float_to_half(value))
    if rounding == TO_HF32:
        return round_mantissa(value, 12)
    if rounding == TO_HF32_950:
        return round_mantissa(value, 13)
    return value


@piece
def load_row(base: int, step: int, code: int, rounding: int, row: Any) -> None:
    """Widen ``row.shape[0]`` elements into ``row``; float32 is first rounded as the plan says."""
    n = row.shape[0]
    if code == FLOAT32:
        if rounding != KEPT:
            for i in range(n):
                row[i] = _rounded(read_f32(base, i * step), rounding)
        elif step == 4:
            for i in range(n):
                row[i] = read_f32(base, i * 4)
        else:
            for i in range(n):
                row[i] = read_f32(base, i * step)
    elif code == FLOAT64:
        for i in range(n):
            row[i] = read_f64(base, i * step)
    elif code == FLOAT16:
        if step == 2:
            for i in range(n):
                row[i] = half_to_float(read_u16(base, i * 2))
        else:
            for i in range(n):
                row[i] = half_to_float(read_u16(base, i * step))
    elif step == 2:
        for i in range(n):
            row[i] = bfloat_to_float(read_u16(base, i * 2))
    else:
        for i in range(n):
            row[i] = bfloat_to_float(read_u16(base, i * step))


@piece
def store_row(base: int, step: int, code: int, row: Any) -> None:
    """Round each element once to the storage type and write it."""
    n = row.shape[0]
    if code == FLOAT32:
        if step == 4:
            for i in range(n):
                write_f32(base, i * 4, types.float32(row[i]))
        else:
            for i in range(n):
                write_f32(base, i * step, types.float32(row[i]))
    elif code == FLOAT64:
        if step == 8:
            for i in range(n):
                write_f64(base, i * 8, types.float64(row[i]))
        else:
            for i in range(n):
                write_f64(base, i * step, types.float64(row[i]))
    elif code == FLOAT16:
        if step == 2:
            for i in range(n):
                write_u16(base, i * 2, float_to_half(types.float32(row[i])))
        else:
            for i in range(n):
                write_u16(base, i * step, float_to_half(types.float32(row[i])))
    elif step == 2:
        for i in range(n):
            write_u16(base, i * 2, float_to_bfloat(types.float32(row[i])))
    else:
        for i in range(n):
            write_u16(base, i * step, float_to_bfloat(types.float32(row[i])))


@piece
def load_indices(base: int, step: int, code: int, row: Any) -> None:
    """Widen ``row.shape[0]`` indices to 64 bits."""
    n = row.shape[0]
    if code == INT32:
        for i in range(n):
            row[i] = read_i32(base, i * step)
    else:
        for i in range(n):
            row[i] = read_i64(base, i * step)


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
