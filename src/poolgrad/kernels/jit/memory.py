"""Reading and writing numbers at addresses, as LLVM sees them.

Every access is ``base + offset`` in bytes with the base loop-invariant, so that LLVM sees consecutive addresses and
vectorises. Nothing is assumed about alignment.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import piece_to_compile

# Nobody calls a piece of a kernel from Python or C, so it needs no wrappers, which take longer to compile than most
# pieces.
_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_NAMES: set[tuple[str, str]] = set()


def inlined_piece(function: Any) -> Any:
    """A piece that becomes part of its callers: LLVM shall not leave it a call, which would take as long as a few dozen
    numbers. Nothing remains of it but that, so kinds of it may share a name."""
    return piece_to_compile(function, forceinline=True, **_OPTIONS)


def piece(function: Any) -> Any:
    """A piece of a kernel. Its name must be its own, also if a function makes it in several kinds (``piece_named``).

    Kernels come from disk, compiled by different processes, and meet in one. There pieces are known by their names and
    a number that each process counts anew: two kinds of one name would be taken for each other.
    """
    name = (function.__module__, function.__qualname__)
    if name in _NAMES:
        raise ValueError(f"there is a piece {function.__qualname__} already: give each kind a name with piece_named")
    _NAMES.add(name)
    # Said aloud: an option that is not set is taken over from the caller that is being compiled.
    return piece_to_compile(function, forceinline=False, **_OPTIONS)


def piece_named(name: str) -> Any:
    """A piece that a function makes, under a name of its own."""

    def made(function: Any) -> Any:
        function.__name__ = function.__qualname__ = name
        return piece(function)

    return made


@intrinsic
def stay_apart(typing_context: Any) -> Any:
    """LLVM leaves a call of the piece in which this stands: its loop has all registers for itself."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def pointer_at(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, kind: ir.Type) -> ir.Value:
    byte = builder.gep(builder.inttoptr(base, cgutils.voidptr_t), [offset])
    return builder.bitcast(byte, kind.as_pointer())


def _reader(kind: types.Type) -> Any:
    @intrinsic
    def read(typing_context: Any, base: types.Type, offset: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return builder.load(pointer_at(builder, args[0], args[1], context.get_value_type(kind)), align=1)

        return kind(types.int64, types.int64), generate

    return read


def _writer(kind: types.Type) -> Any:
    @intrinsic
    def write(typing_context: Any, base: types.Type, offset: types.Type, value: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            builder.store(args[2], pointer_at(builder, args[0], args[1], args[2].type), align=1)
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
read_u8, write_u8 = _reader(types.uint8), _writer(types.uint8)
read_i32, read_i64 = _reader(types.int32), _reader(types.int64)
write_i32, write_i64 = _writer(types.int32), _writer(types.int64)
bits_of_float, float_of_bits = _bitcast(types.float32, types.uint32), _bitcast(types.uint32, types.float32)


@piece
def clear_bytes(at: int, n: int) -> None:
    for i in range(0, n - 7, 8):
        write_i64(at, i, 0)
    for i in range(n - n % 8, n):
        write_u8(at, i, types.uint8(0))


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
        return builder.load(pointer_at(builder, args[0], args[1], context.get_value_type(unit)), align=1)

    return unit(types.int64, types.int64, unit), generate


@intrinsic
def add_at(typing_context: Any, base: types.Type, offset: types.Type, value: types.Type) -> Any:
    """Add a value to a number in memory of the value's type."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        pointer = pointer_at(builder, args[0], args[1], args[2].type)
        there = builder.load(pointer, align=1)
        builder.store(builder.fadd(there, args[2]), pointer, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, value), generate
