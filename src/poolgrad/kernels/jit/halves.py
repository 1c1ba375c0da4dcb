"""Half precision: float16 and bfloat16 to float32 and back, for single numbers and for vectors alike.

Storage is 16-bit integers; arithmetic is float32. Every conversion here is one function that writes LLVM code for
whatever shape it is given. Rounding is to nearest even, NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import config

from ..record import LANES
from .instructions import instruction, loading, storing
from .matching import integers
from .vectors import Vector, loading_eight, pointer_to, quads_loader, store_past_caches

_FLOAT, _SHORT, _INT = ir.FloatType(), ir.IntType(16), ir.IntType(32)
Convert = Callable[[ir.IRBuilder, ir.Value], ir.Value]


def _as(kind: ir.Type, like: ir.Value) -> ir.Type:
    """The type, in the shape of a value: one, or a vector of them."""
    return ir.VectorType(kind, like.type.count) if isinstance(like.type, ir.VectorType) else kind


def _constant(number: float, like: ir.Value) -> ir.Constant:
    if isinstance(like.type, ir.VectorType):
        return ir.Constant(like.type, [ir.Constant(like.type.element, number)] * like.type.count)
    return ir.Constant(like.type, number)


def _binary(builder: ir.IRBuilder, operation: str, value: ir.Value, number: float) -> ir.Value:
    return getattr(builder, operation)(value, _constant(number, value))


def _test(builder: ir.IRBuilder, value: ir.Value, comparison: str, number: int) -> ir.Value:
    return builder.icmp_unsigned(comparison, value, _constant(number, value))


def widen_half(builder: ir.IRBuilder, half: ir.Value) -> ir.Value:
    return builder.fpext(builder.bitcast(half, _as(ir.HalfType(), half)), _as(_FLOAT, half))


def narrow_half(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.bitcast(builder.fptrunc(value, _as(ir.HalfType(), value)), _as(_SHORT, value))


def widen_half_by_integers(builder: ir.IRBuilder, half: ir.Value) -> ir.Value:
    wide = builder.zext(half, _as(_INT, half))
    sign = _binary(builder, "shl", _binary(builder, "and_", wide, 0x8000), 16)
    magnitude = _binary(builder, "shl", _binary(builder, "and_", wide, 0x7FFF), 13)
    # As float32 bits this is the value times 2^-112, denormals included; the product is exact.
    scaled = _binary(builder, "fmul", builder.bitcast(magnitude, _as(_FLOAT, half)), 2.0**112)
    finite = builder.bitcast(scaled, wide.type)
    # Inf and NaN have all exponent bits; NaN is made quiet, as hardware does.
    special = _binary(builder, "or_", magnitude, 0x70000000)
    quiet = _binary(builder, "or_", special, 0x00400000)
    special = builder.select(_test(builder, magnitude, ">", 0x0F800000), quiet, special)
    bits = builder.select(_test(builder, magnitude, ">=", 0x0F800000), special, finite)
    return builder.bitcast(builder.or_(bits, sign), _as(_FLOAT, half))


def narrow_half_by_integers(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    bits = builder.bitcast(value, _as(_INT, value))
    sign = _binary(builder, "and_", _binary(builder, "lshr", bits, 16), 0x8000)
    magnitude = _binary(builder, "and_", bits, 0x7FFFFFFF)
    upper = _binary(builder, "lshr", magnitude, 13)
    # Normal halves: rebase the exponent, round to nearest even.
    odd = _binary(builder, "and_", upper, 1)
    rebased = _binary(builder, "add", _binary(builder, "sub", magnitude, 0x38000000), 0xFFF)
    half = _binary(builder, "lshr", builder.add(rebased, odd), 13)
    # Below the smallest normal half: let an addition align and round the bits.
    aligned = _binary(builder, "fadd", builder.bitcast(magnitude, value.type), 0.5)
    small = _binary(builder, "sub", builder.bitcast(aligned, bits.type), 0x3F000000)
    half = builder.select(_test(builder, magnitude, "<", 0x38800000), small, half)
    # What rounds beyond the largest half, and NaN: quiet, upper payload kept.
    half = builder.select(_test(builder, magnitude, ">=", 0x477FF000), _constant(0x7C00, bits), half)
    nan = _binary(builder, "or_", _binary(builder, "and_", upper, 0x1FF), 0x7E00)
    half = builder.select(_test(builder, magnitude, ">", 0x7F800000), nan, half)
    return builder.trunc(builder.or_(half, sign), _as(_SHORT, value))


def _widen_bfloat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    wide = builder.zext(value, _as(_INT, value))
    return builder.bitcast(_binary(builder, "shl", wide, 16), _as(_FLOAT, value))


def _rounded_to_bfloat(builder: ir.IRBuilder, value: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Where a value is NaN, and as integers of 32 bits what it becomes there, and elsewhere."""
    bits = builder.bitcast(value, _as(_INT, value))
    upper = _binary(builder, "lshr", bits, 16)
    rounded = builder.add(_binary(builder, "add", bits, 0x7FFF), _binary(builder, "and_", upper, 1))
    # Adding could carry a NaN into Inf: keep it, quiet.
    is_nan = _test(builder, _binary(builder, "and_", bits, 0x7FFFFFFF), ">", 0x7F800000)
    return is_nan, _binary(builder, "or_", upper, 0x40), _binary(builder, "lshr", rounded, 16)


def _narrow_bfloat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.trunc(builder.select(*_rounded_to_bfloat(builder, value)), _as(_SHORT, value))


def _narrow_bfloat_to_stream(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The same, chosen last: where AVX-512 narrows and stores in one instruction, LLVM would take that one, which
    does not go past the caches."""
    is_nan, nan, rounded = _rounded_to_bfloat(builder, value)
    return builder.select(is_nan, *(builder.trunc(bits, _as(_SHORT, value)) for bits in (nan, rounded)))


def target_has_half_conversion() -> bool:
    """Without it LLVM calls a helper that a JIT-compiled process does not have."""
    if not llvm.get_process_triple().startswith(("x86_64", "i686")):
        return True
    if config.CPU_NAME:  # chosen by the user: trust only the features that were named too
        return "+f16c" in (config.CPU_FEATURES or "")
    return bool(llvm.get_host_cpu_features().get("f16c"))


if target_has_half_conversion():
    _widen, _narrow = widen_half, narrow_half
else:
    _widen, _narrow = widen_half_by_integers, narrow_half_by_integers


# Both ways of a type, for whoever writes LLVM code: to float32, and to storage.
OF_HALVES, OF_BFLOATS = (_widen, _narrow), (_widen_bfloat, _narrow_bfloat)


def number_instruction(convert: Convert, source: types.Type, target: types.Type) -> Any:
    return instruction(target(source))(convert)


half_to_float = number_instruction(_widen, types.uint16, types.float32)
float_to_half = number_instruction(_narrow, types.float32, types.uint16)
bfloat_to_float = number_instruction(_widen_bfloat, types.uint16, types.float32)
float_to_bfloat = number_instruction(_narrow_bfloat, types.float32, types.uint16)


def _widener(convert: Convert) -> Any:
    """What widens a vector to one of a kind, that of the compute type."""

    def widen(builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType) -> ir.Value:
        wide = convert(builder, value)
        return wide if wide.type == kind else builder.fpext(wide, kind)

    return widen


def _number_reader(convert: Convert) -> Any:
    def read(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
        return convert(builder, builder.load(pointer_to(builder, base, index, _SHORT, _SHORT), align=1))

    return instruction(loading)(read)


def _vector_loader(convert: Convert) -> Any:
    widen = _widener(convert)

    def load(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
        pointer = pointer_to(builder, base, index, _SHORT, ir.VectorType(_SHORT, LANES))
        return widen(builder, builder.load(pointer, align=1), ir.VectorType(unit.type, LANES))

    return instruction(loading_eight)(load)


def _pairs_loader(convert: Convert) -> Any:
    """Of sixteen neighbours every second, from the first on and from the second on: pairs are integers of 32 bits."""
    widen = _widener(convert)

    def load_pairs(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> list[ir.Value]:
        kind, shorts = ir.VectorType(unit.type, LANES), ir.VectorType(_SHORT, LANES)
        pairs = builder.load(pointer_to(builder, base, index, _SHORT, ir.VectorType(_INT, LANES)), align=1)
        halves = builder.trunc(pairs, shorts), builder.trunc(_binary(builder, "lshr", pairs, 16), shorts)
        return [widen(builder, some, kind) for some in halves]

    return instruction(lambda base, index, unit: types.UniTuple(Vector(unit), 2)(types.int64, types.int64, unit))(
        load_pairs
    )


def _vector_storer(convert: Convert, *, streaming: bool = False) -> Any:
    def store(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, vector: ir.Value) -> None:
        if vector.type.element != _FLOAT:
            vector = builder.fptrunc(vector, ir.VectorType(_FLOAT, LANES))
        stored = convert(builder, vector)
        pointer = pointer_to(builder, base, index, _SHORT, stored.type)
        if streaming:
            store_past_caches(builder, stored, pointer, 16)
        else:
            builder.store(stored, pointer, align=1)

    return instruction(storing)(store)


def _pair_maker(convert: Convert) -> Any:
    def make_pairs(builder: ir.IRBuilder, vector: ir.Value) -> ir.Value:
        bits = builder.zext(convert(builder, vector), ir.VectorType(_INT, LANES))
        return builder.or_(bits, _binary(builder, "shl", bits, 16))

    return instruction(lambda vector: integers(vector))(make_pairs)


# Each of eight float32 numbers rounded, twice, in one 32-bit integer.
pairs_of_halves, pairs_of_bfloats = _pair_maker(_narrow), _pair_maker(_narrow_bfloat)

# One number, and eight, at an address and an index, as in vectors.py; streams go to multiples of 16 bytes.
read_half, read_bfloat = _number_reader(_widen), _number_reader(_widen_bfloat)
load_halves, load_bfloats = _vector_loader(_widen), _vector_loader(_widen_bfloat)
load_pairs_of_halves, load_pairs_of_bfloats = _pairs_loader(_widen), _pairs_loader(_widen_bfloat)
load_quads_of_halves = quads_loader(_widener(_widen), _SHORT)
load_quads_of_bfloats = quads_loader(_widener(_widen_bfloat), _SHORT)
store_halves, stream_halves = _vector_storer(_narrow), _vector_storer(_narrow, streaming=True)
store_bfloats = _vector_storer(_narrow_bfloat)
stream_bfloats = _vector_storer(_narrow_bfloat_to_stream, streaming=True)
