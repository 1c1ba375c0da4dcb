"""The floating-point mode of a thread: how the CPU rounds, and whether it takes tiny numbers for zero.

Programs and libraries change it for their own threads. Results must not depend on whose thread a part meets, so kernels
run in the mode that every thread begins with, and leave the caller's as it was. A processor that is not listed keeps
whatever it has.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .instructions import IS_ARM, IS_X86, call_named, instruction

_i64, _i32 = ir.IntType(64), ir.IntType(32)

# The mode that threads begin with: nearest even, tiny numbers kept, no traps; and the bits that say so.
NORMAL, MODE_BITS = (0x1F80, 0xFFC0) if IS_X86 else (0, 0x07C8_9F00 if IS_ARM else 0)


@instruction(types.int64())
def floating_mode(builder: ir.IRBuilder) -> ir.Value:
    """The thread's register for it, as an integer."""
    if IS_X86:
        place = cgutils.alloca_once(builder, _i32)
        call_named(builder, ir.VoidType(), "llvm.x86.sse.stmxcsr", builder.bitcast(place, cgutils.voidptr_t))
        return builder.zext(builder.load(place), _i64)
    return call_named(builder, _i64, "llvm.aarch64.get.fpcr") if IS_ARM else ir.Constant(_i64, 0)


@instruction(types.void(types.int64))
def set_floating_mode(builder: ir.IRBuilder, mode: ir.Value) -> None:
    if IS_X86:
        place = cgutils.alloca_once(builder, _i32)
        builder.store(builder.trunc(mode, _i32), place)
        call_named(builder, ir.VoidType(), "llvm.x86.sse.ldmxcsr", builder.bitcast(place, cgutils.voidptr_t))
    elif IS_ARM:
        call_named(builder, ir.VoidType(), "llvm.aarch64.set.fpcr", mode)
