"""Reading and writing numbers at addresses, as LLVM sees them, and the conversions of 16-bit floats.

Every access is ``base + offset`` in bytes with the base loop-invariant, so that LLVM sees consecutive addresses and
vectorises. Nothing is assumed about alignment.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic

# A piece of a kernel. Dividing by zero is not an exception here: the check would keep loops from being vectorised.
piece = njit(error_model="numpy")
# One that is compiled only as part of its callers: small ones, for speed, and large ones with a single caller, since
# everything below a piece is optimised again with each piece above it.
inlined_piece = njit(error_model="numpy", inline="always")


def _pointer(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, kind: ir.Type) -> ir.Value:
    byte = builder.gep(builder.inttoptr(base, cgutils.voidptr_t), [offset])
    return builder.bitcast(byte, kind.as_pointer())


def _reader(kind: types.Type) -> Any:
    @intrinsic
    def read(typing_context: Any, base: types.Type, offset: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return builder.load(_pointer(builder, args[0], args[1], context.get_value_type(kind)), align=1)

        return kind(types.int64, types.int64), generate

    return read


def _writer(kind: types.Type) -> Any:
    @intrinsic
    def write(typing_context: Any, base: types.Type, offset: types.Type, value: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            builder.store(args[2], _pointer(builder, args[0], args[1], args[2].type), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), generate

    return write


def _bitcast(source: types.Type, target: types.Type) -> Any:
    @intrinsic
    def cast(typing_context: Any, value: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return builder.bitcast(args[0], context.get_value_type(target))

        return target(source), generate

    return cast


read_f32, write_f32 = _reader(types.float32), _writer(types.float32)
read_f64, write_f64 = _reader(types.float64), _writer(types.float64)
read_u16, write_u16 = _reader(types.uint16), _writer(types.uint16)
read_i32, read_i64 = _reader(types.int32), _reader(types.int64)
write_i32, write_i64 = _writer(types.int32), _writer(types.int64)
bits_of_float, float_of_bits = _bitcast(types.float32, types.uint32), _bitcast(types.uint32, types.float32)


@intrinsic
def _half_to_float_by_hardware(typing_context: Any, half: types.Type) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


@intrinsic
def _float_to_half_by_hardware(typing_context: Any, value: types.Type) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), generate


@inlined_piece
def _half_to_float_by_integers(half: int) -> float:
    magnitude = types.uint32(half & 0x7FFF) << types.uint32(13)
    if magnitude >= 0x0F800000:  # Inf and NaN: all exponent bits; NaN is made quiet, as hardware does
        wide = magnitude | types.uint32(0x70000000)
        if magnitude > 0x0F800000:
            wide = wide | types.uint32(0x00400000)
    else:
        # As float32 bits this is the value times 2^-112, denormals included; the product is exact.
        wide = bits_of_float(float_of_bits(magnitude) * types.float32(2.0**112))
    return float_of_bits(wide | (types.uint32(half & 0x8000) << types.uint32(16)))


@inlined_piece
def _float_to_half_by_integers(value: float) -> int:
    bits = bits_of_float(value)
    sign = types.uint16((bits >> types.uint32(16)) & types.uint32(0x8000))
    magnitude = bits & types.uint32(0x7FFFFFFF)
    if magnitude > 0x7F800000:  # NaN: quiet, upper payload kept
        half = types.uint32(0x7E00) | ((magnitude >> types.uint32(13)) & types.uint32(0x1FF))
    elif magnitude >= 0x477FF000:  # rounds beyond the largest half
        half = types.uint32(0x7C00)
    elif magnitude < 0x38800000:  # below the smallest normal half: let an addition align and round the bits
        half = bits_of_float(float_of_bits(magnitude) + types.float32(0.5)) - types.uint32(0x3F000000)
    else:
        odd = (magnitude >> types.uint32(13)) & types.uint32(1)
        half = (magnitude - types.uint32(0x38000000) + types.uint32(0xFFF) + odd) >> types.uint32(13)
    return types.uint16(half) | sign


def _target_has_half_conversion() -> bool:
    """Without it LLVM calls a helper that a JIT-compiled process does not have."""
    if not llvm.get_process_triple().startswith(("x86_64", "i686")):
        return True
    if config.CPU_NAME:  # chosen by the user: trust only the features that were named too
        return "+f16c" in (config.CPU_FEATURES or "")
    return bool(llvm.get_host_cpu_features().get("f16c"))


if _target_has_half_conversion():
    half_to_float, float_to_half = _half_to_float_by_hardware, _float_to_half_by_hardware
else:
    half_to_float, float_to_half = _half_to_float_by_integers, _float_to_half_by_integers


@inlined_piece
def bfloat_to_float(value: int) -> float:
    return float_of_bits(types.uint32(value) << types.uint32(16))


@inlined_piece
def float_to_bfloat(value: float) -> int:
    bits = bits_of_float(value)
    rounded = (bits + types.uint32(0x7FFF) + ((bits >> types.uint32(16)) & types.uint32(1))) >> types.uint32(16)
    if (bits & types.uint32(0x7FFFFFFF)) > 0x7F800000:  # adding could carry a NaN into Inf: keep it, quiet
        rounded = (bits >> types.uint32(16)) | types.uint32(0x40)
    return types.uint16(rounded)


@inlined_piece
def round_mantissa(value: float, dropped: int) -> float:
    """To nearest even with the low ``dropped`` bits zero; Inf and NaN stay."""
    bits = bits_of_float(value)
    if (bits & types.uint32(0x7F800000)) == 0x7F800000:
        return value
    odd = (bits >> types.uint32(dropped)) & types.uint32(1)
    half = (types.uint32(1) << types.uint32(dropped - 1)) - types.uint32(1)
    return float_of_bits((bits + half + odd) & ~((types.uint32(1) << types.uint32(dropped)) - types.uint32(1)))


@intrinsic
def read_at(typing_context: Any, base: types.Type, offset: types.Type, unit: types.Type) -> Any:
    """A number of the type of ``unit``."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.load(_pointer(builder, args[0], args[1], context.get_value_type(unit)), align=1)

    return unit(types.int64, types.int64, unit), generate


@intrinsic
def add_at(typing_context: Any, base: types.Type, offset: types.Type, value: types.Type) -> Any:
    """Add a value to a number in memory of the value's type."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        pointer = _pointer(builder, args[0], args[1], args[2].type)
        there = builder.load(pointer, align=1)
        builder.store(builder.fadd(there, args[2]), pointer, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, value), generate
