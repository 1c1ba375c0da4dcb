"""Explicit vectors: eight numbers of the compute type in one LLVM value.

LLVM's own vectoriser needs alias checks before each loop and a scalar loop behind it, which costs more than the work on
rows of a few dozen elements. With explicit vectors a row is a handful of instructions. The rules that kernels follow:

- Every function takes a base address and an index in elements; ``unit`` is any scalar of the compute type and only
  says which it is. Nothing is assumed about alignment, but by ``stream``.
- Scratch memory is written in whole vectors. It is laid out with room for the overrun, so there are no tails; what is
  written beyond a row's end is written over by the next row, or never read.
- A tensor is read and written exactly: whole vectors, and the last one laid back over its predecessor, so that some
  elements are written twice with the same value (``copy_exactly`` in rows.py, the writers in sums.py). A row shorter
  than a vector goes element by element.
- ``stream`` writes past the caches, 16 bytes at a time. It pays where the output is larger than the caches, and only if
  whole cache lines are filled one after the other; a ``fence`` at the kernel's end makes it visible to other threads.
- ``interleaved``, ``spliced``, ``split`` and ``transpose`` shuffle with constant masks, which LLVM turns into
  permutations.

The code generated is plain LLVM (loads, stores, additions, shuffles with constant masks, no intrinsic of any one
target): LLVM maps eight lanes to whatever vector registers there are, two 128-bit ones on the x86-64 baseline and on
arm64, one of 256 bits with AVX. Half precision (halves.py) has a way without the target's conversions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from ..record import LANES

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


class Vector(types.Type):
    """Numba's name for eight numbers of one type."""

    def __init__(self, element: types.Type) -> None:
        self.element = element
        super().__init__(name=f"Vector({element})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        element = ir.FloatType() if vector.element is types.float32 else ir.DoubleType()
        super().__init__(manager, vector, ir.VectorType(element, LANES))


def pointer_to(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, element: ir.Type, target: ir.Type) -> ir.Value:
    start = builder.bitcast(builder.inttoptr(base, cgutils.voidptr_t), element.as_pointer())
    return builder.bitcast(builder.gep(start, [index]), target.as_pointer())


def ask_for(builder: ir.IRBuilder, pointer: ir.Value) -> None:
    """Have a cache line brought into the second-level cache. No address is a wrong one."""
    reading, level, data = 0, 2, 1
    kinds = ir.FunctionType(ir.VoidType(), [pointer.type, _INT32, _INT32, _INT32])
    function = cgutils.get_or_insert_function(builder.module, kinds, "llvm.prefetch.p0i8")
    builder.call(function, [pointer, *(ir.Constant(_INT32, option) for option in (reading, level, data))])


def _part(builder: ir.IRBuilder, vector: ir.Value, start: int, length: int) -> ir.Value:
    """Some neighbouring lanes of a vector."""
    mask = ir.Constant(ir.VectorType(_INT32, length), [start + i for i in range(length)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _store(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, vector: ir.Value) -> None:
    kind = vector.type
    builder.store(vector, pointer_to(builder, base, index, kind.element, kind), align=1)


def lanes_streamed(kind: ir.VectorType) -> int:
    """How many numbers are streamed at once."""
    return 16 // (4 if kind.element in (ir.FloatType(), _INT32) else 8)


def _store_past_caches(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, size: int) -> None:
    """A value whose address is a multiple of that size."""
    written = builder.store(value, pointer, align=size)
    written.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_INT32, 1)]))


def stream_parts(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, vector: ir.Value) -> None:
    """In parts of 16 bytes: large arrays begin at such addresses, hardly ever at larger ones."""
    kind, lanes = vector.type, lanes_streamed(vector.type)
    for start in range(0, kind.count, lanes):
        part = _part(builder, vector, start, lanes)
        at = builder.add(index, ir.Constant(_INT64, start))
        _store_past_caches(builder, part, pointer_to(builder, base, at, kind.element, part.type), 16)


@intrinsic
def load(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """Eight elements from an index on."""
    vector = Vector(unit)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(vector)
        return builder.load(pointer_to(builder, args[0], args[1], kind.element, kind), align=1)

    return vector(types.int64, types.int64, unit), generate


@intrinsic
def store(typing_context: Any, base: types.Type, index: types.Type, vector: types.Type) -> Any:
    """All eight elements, wherever they lie."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        _store(builder, *args)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, vector), generate


@intrinsic
def stream(typing_context: Any, base: types.Type, index: types.Type, vector: types.Type) -> Any:
    """All eight elements past the caches; the address must be a multiple of 16 bytes."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stream_parts(builder, *args)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, vector), generate


def _copier_past_caches(type_of: Any) -> Any:
    """What copies one value of a type that is made for the type of an element."""

    @intrinsic
    def copy(typing_context: Any, target: types.Type, source: types.Type, index: types.Type, unit: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            element = context.get_value_type(unit)
            kind, size = type_of(element, unit.bitwidth)
            value = builder.load(pointer_to(builder, args[1], args[2], element, kind), align=1)
            _store_past_caches(builder, value, pointer_to(builder, args[0], args[2], element, kind), size)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, unit), generate

    return copy


# From one place in memory to another past the caches: an element (processors have such stores for integers only), and
# as many as fill some bytes. Where they go must be a multiple of that size.
stream_number = _copier_past_caches(lambda element, bits: (ir.IntType(bits), bits // 8))
stream_16_bytes = _copier_past_caches(lambda element, bits: (ir.VectorType(element, 128 // bits), 16))
stream_32_bytes = _copier_past_caches(lambda element, bits: (ir.VectorType(element, 256 // bits), 32))


@intrinsic(prefer_literal=True)
def copy_lanes(
    typing_context: Any, target: types.Type, source: types.Type, index: types.Type, unit: types.Type, lanes: types.Type
) -> Any:
    """A few neighbouring elements, as one short vector."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        element = context.get_value_type(signature.args[3])
        kind = ir.VectorType(element, lanes.literal_value)
        value = builder.load(pointer_to(builder, args[1], args[2], element, kind), align=1)
        builder.store(value, pointer_to(builder, args[0], args[2], element, kind), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.unliteral(unit), lanes), generate


@intrinsic
def prefetch(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """Ask for an element that will be read later; it may lie anywhere, also where nothing is."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        ask_for(builder, pointer_to(builder, args[0], args[1], context.get_value_type(unit), ir.IntType(8)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, unit), generate


@intrinsic
def fence(typing_context: Any) -> Any:
    """Streamed stores before it are seen by everybody before anything after it."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def read(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """One element."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(unit)
        return builder.load(pointer_to(builder, args[0], args[1], kind, kind), align=1)

    return unit(types.int64, types.int64, unit), generate


@intrinsic
def write(typing_context: Any, base: types.Type, index: types.Type, value: types.Type) -> Any:
    """One element."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = args[2].type
        builder.store(args[2], pointer_to(builder, args[0], args[1], kind, kind), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, value), generate


@intrinsic
def itemsize(typing_context: Any, unit: types.Type) -> Any:
    """Bytes of one element of the compute type."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return ir.Constant(_INT64, unit.bitwidth // 8)

    return types.int64(unit), generate


@intrinsic
def as_unit(typing_context: Any, number: types.Type, unit: types.Type) -> Any:
    """A 64-bit integer in the compute type."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.sitofp(args[0], context.get_value_type(unit))

    return unit(types.int64, unit), generate


@intrinsic
def type_as(typing_context: Any, number: types.Type, unit: types.Type) -> Any:
    """A float64 in the compute type, rounded to nearest even."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return args[0] if unit is types.float64 else builder.fptrunc(args[0], ir.FloatType())

    return unit(types.float64, unit), generate


@intrinsic
def splat(typing_context: Any, value: types.Type) -> Any:
    """Eight times the same number."""
    vector = Vector(value)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(vector)
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(_INT32, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES))

    return vector(value), generate


def _binary(operation: str) -> Any:
    @intrinsic
    def binary(typing_context: Any, one: types.Type, other: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return getattr(builder, operation)(args[0], args[1])

        return one(one, other), generate

    return binary


add, multiply, divide = _binary("fadd"), _binary("fmul"), _binary("fdiv")


def _interleave(builder: ir.IRBuilder, first: ir.Value, second: ir.Value, firsts: int, seconds: int) -> list[ir.Value]:
    mixed = []
    for start in range(0, (firsts + seconds) * LANES, LANES):
        places = [divmod(place, firsts + seconds) for place in range(start, start + LANES)]
        mask = [lane if phase < firsts else LANES + lane for lane, phase in places]
        mixed.append(builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT32, LANES), mask)))
    return mixed


@intrinsic(prefer_literal=True)
def interleaved(
    typing_context: Any, first: types.Type, second: types.Type, times_first: types.Type, times_second: types.Type
) -> Any:
    """For each lane in turn: so many times its first number, then so many times its second. A tuple of vectors."""
    if not (isinstance(times_first, types.IntegerLiteral) and isinstance(times_second, types.IntegerLiteral)):
        return None
    firsts, seconds = times_first.literal_value, times_second.literal_value
    result = types.UniTuple(first, firsts + seconds)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return context.make_tuple(builder, result, _interleave(builder, args[0], args[1], firsts, seconds))

    return result(first, second, times_first, times_second), generate


@intrinsic(prefer_literal=True)
def spliced(typing_context: Any, one: types.Type, other: types.Type, start: types.Type) -> Any:
    """Eight neighbouring lanes of two vectors, from lane ``start`` of the first on."""
    if not isinstance(start, types.IntegerLiteral):
        return None

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        lanes = [start.literal_value + lane for lane in range(LANES)]
        return builder.shuffle_vector(args[0], args[1], ir.Constant(ir.VectorType(_INT32, LANES), lanes))

    return one(one, other, start), generate


@intrinsic(prefer_literal=True)
def store_interleaved(
    typing_context: Any,
    base: types.Type,
    index: types.Type,
    first: types.Type,
    second: types.Type,
    times_first: types.Type,
    times_second: types.Type,
) -> Any:
    """The same into memory, from an index on."""
    if not (isinstance(times_first, types.IntegerLiteral) and isinstance(times_second, types.IntegerLiteral)):
        return None
    firsts, seconds = times_first.literal_value, times_second.literal_value

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        for i, mixed in enumerate(_interleave(builder, args[2], args[3], firsts, seconds)):
            _store(builder, args[0], builder.add(args[1], ir.Constant(_INT64, i * LANES)), mixed)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, first, second, times_first, times_second), generate


@intrinsic
def split(typing_context: Any, one: types.Type, other: types.Type) -> Any:
    """Of sixteen neighbours every second, from the first on and from the second on."""
    result = types.UniTuple(one, 2)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        lanes = ([first + 2 * lane for lane in range(LANES)] for first in (0, 1))
        masks = (ir.Constant(ir.VectorType(_INT32, LANES), some) for some in lanes)
        halves = [builder.shuffle_vector(args[0], args[1], mask) for mask in masks]
        return context.make_tuple(builder, result, halves)

    return result(one, other), generate


@intrinsic
def transpose(typing_context: Any, vectors: types.Type) -> Any:
    """Eight vectors as the rows of a square: its columns."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        rows = cgutils.unpack_tuple(builder, args[0])

        def mixed(one: ir.Value, other: ir.Value, lanes: list[int]) -> ir.Value:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, LANES), lanes))

        def both(one: ir.Value, other: ir.Value, size: int, span: int) -> tuple[ir.Value, ir.Value]:
            """Pieces of both in turn, of ``size`` lanes each: from the lower and the upper half of every ``span``."""
            starts = [range(first, first + span // 2, size) for first in range(0, LANES, span)]
            lower = [piece for some in starts for start in some for piece in (start, start + LANES)]
            lanes = [start + lane for start in lower for lane in range(size)]
            return mixed(one, other, lanes), mixed(one, other, [lane + span // 2 for lane in lanes])

        pairs = [both(rows[i], rows[i + 1], 1, 4) for i in range(0, LANES, 2)]
        columns: list[Any] = [None] * LANES
        for half in (0, 1):
            upper, lower = both(pairs[0][half], pairs[1][half], 2, 4), both(pairs[2][half], pairs[3][half], 2, 4)
            for i in (0, 1):
                columns[2 * half + i], columns[2 * half + i + 4] = both(upper[i], lower[i], 4, 8)
        return context.make_tuple(builder, signature.return_type, columns)

    return vectors(vectors), generate


def quads_loader(widen: Any = None, stored: ir.Type | None = None) -> Any:
    """What loads four neighbours of each of two rows, of one type in memory, one behind the other. Halves of vectors come
    together as they are loaded, so that squares of eight turn with two shuffles for each vector instead of three."""

    @intrinsic
    def load_quads(typing_context: Any, one: types.Type, other: types.Type, index: types.Type, unit: types.Type) -> Any:
        vector = Vector(unit)

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            kind = context.get_value_type(vector)
            element = stored or kind.element
            quad = ir.VectorType(element, LANES // 2)
            first, second = (
                builder.load(pointer_to(builder, base, args[2], element, quad), align=1) for base in args[:2]
            )
            lanes = ir.Constant(ir.VectorType(_INT32, LANES), list(range(LANES)))
            both = builder.shuffle_vector(first, second, lanes)
            return widen(builder, both, kind) if widen else both

        return vector(types.int64, types.int64, types.int64, unit), generate

    return load_quads


load_quads = quads_loader()


@intrinsic
def transpose_quads(typing_context: Any, vectors: types.Type) -> Any:
    """Four vectors as the rows of two squares of four, side by side: their columns."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        a, b, c, d = cgutils.unpack_tuple(builder, args[0])

        def mixed(one: ir.Value, other: ir.Value, lanes: list[int]) -> ir.Value:
            places = [start + lane for start in (0, LANES // 2) for lane in lanes]
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, LANES), places))

        columns = []
        for lanes in ([0, LANES, 1, LANES + 1], [2, LANES + 2, 3, LANES + 3]):
            upper, lower = mixed(a, b, lanes), mixed(c, d, lanes)
            columns += [mixed(upper, lower, [first, first + 1, first + LANES, first + LANES + 1]) for first in (0, 2)]
        return context.make_tuple(builder, signature.return_type, columns)

    return vectors(vectors), generate


@intrinsic
def load_pairs(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """Of sixteen neighbours from an index on every second, from the first on and from the second on."""
    vector = Vector(unit)
    result = types.UniTuple(vector, 2)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(vector)
        both = ir.VectorType(kind.element, 2 * LANES)
        value = builder.load(pointer_to(builder, args[0], args[1], kind.element, both), align=1)
        undefined = ir.Constant(both, ir.Undefined)
        masks = ([first + 2 * lane for lane in range(LANES)] for first in (0, 1))
        every = [ir.Constant(ir.VectorType(_INT32, LANES), mask) for mask in masks]
        return context.make_tuple(builder, result, [builder.shuffle_vector(value, undefined, mask) for mask in every])

    return result(types.int64, types.int64, unit), generate
