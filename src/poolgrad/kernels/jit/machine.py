"""What threads need below Python: atomic integers in memory, a clock, and the C library's locks, found by name.

Every atomic operation is sequentially consistent. Sleepers and wakers each write one number and then read the other's,
and weaker orders would let both read the old one.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .instructions import IS_ARM, IS_X86, call_named, instruction

_ORDER, _ALIGN = "seq_cst", 8
_i64, _i32 = ir.IntType(64), ir.IntType(32)


def _place(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.inttoptr(address, _i64.as_pointer())


@instruction(types.int64(types.int64))
def atomic_read(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.load_atomic(_place(builder, address), _ORDER, _ALIGN)


@instruction(types.void(types.int64, types.int64))
def atomic_write(builder: ir.IRBuilder, address: ir.Value, value: ir.Value) -> None:
    builder.store_atomic(value, _place(builder, address), _ORDER, _ALIGN)


def _updater(operation: str) -> Any:
    """What returns what was there before."""
    return instruction(types.int64(types.int64, types.int64))(
        lambda builder, address, value: builder.atomic_rmw(operation, _place(builder, address), value, _ORDER)
    )


atomic_add, atomic_unsigned_min = _updater("add"), _updater("umin")


@instruction(types.int64(types.int64, types.int64, types.int64))
def atomic_replace(builder: ir.IRBuilder, address: ir.Value, expected: ir.Value, value: ir.Value) -> ir.Value:
    """Write ``value`` where ``expected`` stands; returns what stood there."""
    return builder.extract_value(builder.cmpxchg(_place(builder, address), expected, value, _ORDER, _ORDER), 0)


@instruction(types.void())
def pause(builder: ir.IRBuilder) -> None:
    """Tell the core that this is a loop that waits, where it has an instruction for that."""
    if IS_X86:
        call_named(builder, ir.VoidType(), "llvm.x86.sse2.pause")
    elif IS_ARM:
        call_named(builder, ir.VoidType(), "llvm.aarch64.hint", ir.Constant(_i32, 1))


# Systems number their clocks differently.
_CLOCK = getattr(time, "CLOCK_MONOTONIC", 0)


@instruction(types.int64())
def nanoseconds(builder: ir.IRBuilder) -> ir.Value:
    """A clock that only goes forward."""
    time_now = cgutils.alloca_once(builder, ir.ArrayType(_i64, 2))  # seconds, nanoseconds
    call_named(builder, _i32, "clock_gettime", ir.Constant(_i32, _CLOCK), time_now)
    seconds, rest = (builder.extract_value(builder.load(time_now), i) for i in range(2))
    return builder.add(builder.mul(seconds, ir.Constant(_i64, 1_000_000_000)), rest)


HAS_LOCKS = sys.platform in ("linux", "darwin")
# Room for any system's mutex or condition, which only the C library looks into.
LOCK_BYTES = 128

lock = types.ExternalFunction("pthread_mutex_lock", types.int32(types.intp))
unlock = types.ExternalFunction("pthread_mutex_unlock", types.int32(types.intp))
sleep = types.ExternalFunction("pthread_cond_wait", types.int32(types.intp, types.intp))
wake_one = types.ExternalFunction("pthread_cond_signal", types.int32(types.intp))
