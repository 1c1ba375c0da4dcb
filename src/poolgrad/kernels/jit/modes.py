"""The floating-point mode of a thread: how the CPU rounds, and whether it takes tiny numbers for zero.

Programs and libraries change it for their own threads. Results must not depend on whose thread a part meets, so kernels
run in the mode that every thread begins with, and leave the caller's as it was. A processor that is not listed keeps
whatever it has.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_i64, _i32 = ir.IntType(64), ir.IntType(32)
_x86 = llvm.get_process_triple().startswith("x86_64")
_arm = llvm.get_process_triple().startswith(("aarch64", "arm64"))

# The mode that threads begin with: nearest even, tiny numbers kept, no traps; and the bits that say so.
NORMAL, MODE_BITS = (0x1F80, 0xFFC0) if _x86 else (0, 0x07C8_9F00 if _arm else 0)


def _call(builder: ir.IRBuilder, result: ir.Type, name: str, *arguments: ir.Value) -> ir.Value:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


@intrinsic
def floating_mode(typing_context: Any) -> Any:
    """The thread's register for it, as an integer."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        if _x86:
            place = cgutils.alloca_once(builder, _i32)
            _call(builder, ir.VoidType(), "llvm.x86.sse.stmxcsr", builder.bitcast(place, cgutils.voidptr_t))
            return builder.zext(builder.load(place), _i64)
        return _call(builder, _i64, "llvm.aarch64.get.fpcr") if _arm else ir.Constant(_i64, 0)

    return types.int64(), generate


@intrinsic
def set_floating_mode(typing_context: Any, mode: types.Type) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        if _x86:
            place = cgutils.alloca_once(builder, _i32)
            builder.store(builder.trunc(args[0], _i32), place)
            _call(builder, ir.VoidType(), "llvm.x86.sse.ldmxcsr", builder.bitcast(place, cgutils.voidptr_t))
        elif _arm:
            _call(builder, ir.VoidType(), "llvm.aarch64.set.fpcr", args[0])
        return context.get_dummy_value()

    return types.void(types.int64), generate
