"""What threads need below Python: atomic integers in memory, a clock, and the C library's locks, found by name.

Every atomic operation is sequentially consistent. Sleepers and wakers each write one number and then read the other's,
and weaker orders would let both read the old one.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_ORDER, _ALIGN = "seq_cst", 8
_i64, _i32 = ir.IntType(64), ir.IntType(32)


def _place(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.inttoptr(address, _i64.as_pointer())


@intrinsic
def atomic_read(typing_context: Any, address: types.Type) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.load_atomic(_place(builder, args[0]), _ORDER, _ALIGN)

    return types.int64(types.int64), generate


@intrinsic
def atomic_write(typing_context: Any, address: types.Type, value: types.Type) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        builder.store_atomic(args[1], _place(builder, args[0]), _ORDER, _ALIGN)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _updater(operation: str) -> Any:
    @intrinsic
    def update(typing_context: Any, address: types.Type, value: types.Type) -> Any:
        """Returns what was there before."""

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return builder.atomic_rmw(operation, _place(builder, args[0]), args[1], _ORDER)

        return types.int64(types.int64, types.int64), generate

    return update


atomic_add = _updater("add")
atomic_unsigned_min = _updater("umin")


@intrinsic
def atomic_replace(typing_context: Any, address: types.Type, expected: types.Type, value: types.Type) -> Any:
    """Write ``value`` where ``expected`` stands; returns what stood there."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        pair = builder.cmpxchg(_place(builder, args[0]), args[1], args[2], _ORDER, _ORDER)
        return builder.extract_value(pair, 0)

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """Tell the core that this is a loop that waits, where it has an instruction for that."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        target = llvm.get_process_triple()
        if target.startswith("x86_64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        elif target.startswith(("aarch64", "arm64")):
            kind = ir.FunctionType(ir.VoidType(), [_i32])
            hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.hint")
            builder.call(hint, [ir.Constant(_i32, 1)])
        return context.get_dummy_value()

    return types.void(), generate


# Systems number their clocks differently.
_CLOCK = getattr(time, "CLOCK_MONOTONIC", 0)


@intrinsic
def nanoseconds(typing_context: Any) -> Any:
    """A clock that only goes forward."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        pair = ir.ArrayType(_i64, 2)  # seconds, nanoseconds
        kind = ir.FunctionType(_i32, [_i32, pair.as_pointer()])
        clock = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        time_now = cgutils.alloca_once(builder, pair)
        builder.call(clock, [ir.Constant(_i32, _CLOCK), time_now])
        seconds, rest = (builder.extract_value(builder.load(time_now), i) for i in range(2))
        return builder.add(builder.mul(seconds, ir.Constant(_i64, 1_000_000_000)), rest)

    return types.int64(), generate


HAS_LOCKS = sys.platform in ("linux", "darwin")
# Room for any system's mutex or condition, which only the C library looks into.
LOCK_BYTES = 128

lock = types.ExternalFunction("pthread_mutex_lock", types.int32(types.intp))
unlock = types.ExternalFunction("pthread_mutex_unlock", types.int32(types.intp))
sleep = types.ExternalFunction("pthread_cond_wait", types.int32(types.intp, types.intp))
wake_one = types.ExternalFunction("pthread_cond_signal", types.int32(types.intp))
