"""Reading and writing numbers at addresses, as LLVM sees them.

Every access is ``base + offset`` in bytes with the base loop-invariant, so that LLVM sees consecutive addresses and
vectorises. Nothing is assumed about alignment.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .compiling import piece_to_compile
from .instructions import instruction, loading, storing

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


@instruction(types.void())
def stay_apart(builder: ir.IRBuilder) -> None:
    """LLVM leaves a call of the piece in which this stands: its loop has all registers for itself."""
    builder.function.attributes.add("noinline")


def pointer_at(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, kind: ir.Type) -> ir.Value:
    byte = builder.gep(builder.inttoptr(base, cgutils.voidptr_t), [offset])
    return builder.bitcast(byte, kind.as_pointer())


def _read_as(kind: ir.Type) -> Any:
    return lambda builder, base, offset: builder.load(pointer_at(builder, base, offset, kind), align=1)


def _write(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    builder.store(value, pointer_at(builder, base, offset, value.type), align=1)


def _access(kind: types.Type, stored: ir.Type) -> tuple[Any, Any]:
    """What reads a number of a type, and what writes one."""
    reads, writes = kind(types.int64, types.int64), types.void(types.int64, types.int64, kind)
    return instruction(reads)(_read_as(stored)), instruction(writes)(_write)


def _bitcast(source: types.Type, target: types.Type, kind: ir.Type) -> Any:
    return instruction(target(source))(lambda builder, value: builder.bitcast(value, kind))


read_f32, write_f32 = _access(types.float32, ir.FloatType())
read_f64, write_f64 = _access(types.float64, ir.DoubleType())
read_u8, write_u8 = _access(types.uint8, ir.IntType(8))
read_u16, write_u16 = _access(types.uint16, ir.IntType(16))
read_i32, write_i32 = _access(types.int32, ir.IntType(32))
read_i64, write_i64 = _access(types.int64, ir.IntType(64))
bits_of_float = _bitcast(types.float32, types.uint32, ir.IntType(32))
float_of_bits = _bitcast(types.uint32, types.float32, ir.FloatType())


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


@instruction(loading)
def read_at(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, unit: ir.Value) -> ir.Value:
    """A number of the type of ``unit``."""
    return builder.load(pointer_at(builder, base, offset, unit.type), align=1)


@instruction(storing)
def add_at(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    """Add a value to a number in memory of the value's type."""
    pointer = pointer_at(builder, base, offset, value.type)
    builder.store(builder.fadd(builder.load(pointer, align=1), value), pointer, align=1)


@instruction(types.float32(types.uint16, types.float32))
def unless_zero(builder: ir.IRBuilder, word: ir.Value, value: ir.Value) -> ir.Value:
    """The value, or zero if the word is zero. Chosen by the lanes of a vector: LLVM would make a branch of it."""

    def lane(number: ir.Value) -> ir.Value:
        vector = ir.Constant(ir.VectorType(number.type, 4), ir.Undefined)
        return builder.insert_element(vector, number, ir.Constant(ir.IntType(32), 0))

    words, zero = lane(builder.zext(word, ir.IntType(32))), ir.Constant(ir.IntType(32), 0)
    is_set = builder.icmp_unsigned("!=", words, ir.Constant(words.type, None))
    values = lane(value)
    return builder.extract_element(builder.select(is_set, values, ir.Constant(values.type, None)), zero)
