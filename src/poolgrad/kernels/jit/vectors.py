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
from numba.extending import models, register_model

from ..record import LANES
from .instructions import instruction, loading, storing

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


def loading_eight(base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """The rule of what loads a vector for the compute type."""
    return Vector(unit)(types.int64, types.int64, unit)


def pointer_to(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, element: ir.Type, target: ir.Type) -> ir.Value:
    start = builder.bitcast(builder.inttoptr(base, cgutils.voidptr_t), element.as_pointer())
    return builder.bitcast(builder.gep(start, [index]), target.as_pointer())


def ask_for(builder: ir.IRBuilder, pointer: ir.Value, level: int = 2) -> None:
    """Have a cache line brought into the cache of that level. No address is a wrong one."""
    reading, locality, data = 0, 4 - level, 1
    kinds = ir.FunctionType(ir.VoidType(), [pointer.type, _INT32, _INT32, _INT32])
    function = cgutils.get_or_insert_function(builder.module, kinds, "llvm.prefetch.p0i8")
    builder.call(function, [pointer, *(ir.Constant(_INT32, option) for option in (reading, locality, data))])


def shuffled(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, lanes: list[int]) -> ir.Value:
    """Some lanes of two vectors, counted through both."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes))


def spread(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The same number in every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return shuffled(builder, first, undefined, [0] * LANES)


def _part(builder: ir.IRBuilder, vector: ir.Value, start: int, length: int) -> ir.Value:
    """Some neighbouring lanes of a vector."""
    return shuffled(builder, vector, ir.Constant(vector.type, ir.Undefined), [start + i for i in range(length)])


def _store(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, vector: ir.Value) -> None:
    kind = vector.type
    builder.store(vector, pointer_to(builder, base, index, kind.element, kind), align=1)


def width(number: ir.Type) -> int:
    """Bits of a number of the compute type."""
    return 32 if isinstance(number, ir.FloatType) else 64


def lanes_streamed(kind: ir.VectorType) -> int:
    """How many numbers are streamed at once."""
    return 128 // (kind.element.width if isinstance(kind.element, ir.IntType) else width(kind.element))


def store_past_caches(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, size: int) -> None:
    """A value whose address is a multiple of that size."""
    written = builder.store(value, pointer, align=size)
    written.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_INT32, 1)]))


def stream_vector(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, vector: ir.Value) -> None:
    """In parts of 16 bytes: large arrays begin at such addresses, hardly ever at larger ones."""
    kind, lanes = vector.type, lanes_streamed(vector.type)
    for start in range(0, kind.count, lanes):
        part = _part(builder, vector, start, lanes)
        at = builder.add(index, ir.Constant(_INT64, start))
        store_past_caches(builder, part, pointer_to(builder, base, at, kind.element, part.type), 16)


@instruction(loading_eight)
def load(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
    """Eight elements from an index on."""
    return builder.load(pointer_to(builder, base, index, unit.type, ir.VectorType(unit.type, LANES)), align=1)


# All eight elements, wherever they lie; past the caches the address must be a multiple of 16 bytes.
store, stream = instruction(storing)(_store), instruction(storing)(stream_vector)


def _copier_past_caches(type_of: Any) -> Any:
    """What copies one value of a type that is made for the type of an element."""

    def copy(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, index: ir.Value, unit: ir.Value) -> None:
        kind, size = type_of(unit.type, width(unit.type))
        value = builder.load(pointer_to(builder, source, index, unit.type, kind), align=1)
        store_past_caches(builder, value, pointer_to(builder, target, index, unit.type, kind), size)

    return instruction(_copying)(copy)


def _copying(target: types.Type, source: types.Type, index: types.Type, unit: types.Type, *lanes: types.Type) -> Any:
    return types.void(types.int64, types.int64, types.int64, unit, *lanes)


# From one place in memory to another past the caches: an element (processors have such stores for integers only), and
# as many as fill some bytes. Where they go must be a multiple of that size.
stream_number = _copier_past_caches(lambda element, bits: (ir.IntType(bits), bits // 8))
stream_16_bytes = _copier_past_caches(lambda element, bits: (ir.VectorType(element, 128 // bits), 16))
stream_32_bytes = _copier_past_caches(lambda element, bits: (ir.VectorType(element, 256 // bits), 32))


@instruction(_copying, constants=1)
def copy_lanes(
    builder: ir.IRBuilder, target: ir.Value, source: ir.Value, index: ir.Value, unit: ir.Value, lanes: int
) -> None:
    """A few neighbouring elements, as one short vector."""
    kind = ir.VectorType(unit.type, lanes)
    value = builder.load(pointer_to(builder, source, index, unit.type, kind), align=1)
    builder.store(value, pointer_to(builder, target, index, unit.type, kind), align=1)


@instruction(storing)
def prefetch(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> None:
    """Ask for an element that will be read later; it may lie anywhere, also where nothing is."""
    ask_for(builder, pointer_to(builder, base, index, unit.type, ir.IntType(8)))


@instruction(storing)
def prefetch_near(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> None:
    """The same of what will be read soon: into the first-level cache."""
    ask_for(builder, pointer_to(builder, base, index, unit.type, ir.IntType(8)), level=1)


@instruction(types.void())
def fence(builder: ir.IRBuilder) -> None:
    """Streamed stores before it are seen by everybody before anything after it."""
    builder.fence("seq_cst")


@instruction(loading)
def read(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
    """One element."""
    return builder.load(pointer_to(builder, base, index, unit.type, unit.type), align=1)


@instruction(storing)
def write(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, value: ir.Value) -> None:
    """One element."""
    builder.store(value, pointer_to(builder, base, index, value.type, value.type), align=1)


@instruction(lambda unit: types.int64(unit))
def itemsize(builder: ir.IRBuilder, unit: ir.Value) -> ir.Value:
    """Bytes of one element of the compute type."""
    return ir.Constant(_INT64, width(unit.type) // 8)


@instruction(lambda number, unit: unit(types.int64, unit))
def as_unit(builder: ir.IRBuilder, number: ir.Value, unit: ir.Value) -> ir.Value:
    """A 64-bit integer in the compute type."""
    return builder.sitofp(number, unit.type)


@instruction(lambda number, unit: unit(types.float64, unit))
def type_as(builder: ir.IRBuilder, number: ir.Value, unit: ir.Value) -> ir.Value:
    """A float64 in the compute type, rounded to nearest even."""
    return number if number.type == unit.type else builder.fptrunc(number, unit.type)


# Eight times the same number.
splat = instruction(lambda value: Vector(value)(value))(spread)


def _binary(operation: str) -> Any:
    return instruction(lambda one, other: one(one, other))(
        lambda builder, one, other: getattr(builder, operation)(one, other)
    )


add, multiply, divide = _binary("fadd"), _binary("fmul"), _binary("fdiv")


def _interleave(builder: ir.IRBuilder, first: ir.Value, second: ir.Value, firsts: int, seconds: int) -> list[ir.Value]:
    """For each lane in turn: so many times its first number, then so many times its second."""
    mixed = []
    for start in range(0, (firsts + seconds) * LANES, LANES):
        places = [divmod(place, firsts + seconds) for place in range(start, start + LANES)]
        lanes = [lane if phase < firsts else LANES + lane for lane, phase in places]
        mixed.append(shuffled(builder, first, second, lanes))
    return mixed


def _interleaving(first: types.Type, second: types.Type, firsts: types.Type, seconds: types.Type) -> Any:
    result = types.UniTuple(first, firsts.literal_value + seconds.literal_value)
    return result(first, second, firsts, seconds)


interleaved = instruction(_interleaving, constants=2)(_interleave)


@instruction(
    lambda base, index, first, second, *times: types.void(types.int64, types.int64, first, second, *times), constants=2
)
def store_interleaved(
    builder: ir.IRBuilder, base: ir.Value, index: ir.Value, first: ir.Value, second: ir.Value, firsts: int, seconds: int
) -> None:
    """The same into memory, from an index on."""
    for i, mixed in enumerate(_interleave(builder, first, second, firsts, seconds)):
        _store(builder, base, builder.add(index, ir.Constant(_INT64, i * LANES)), mixed)


@instruction(lambda one, other, start: one(one, other, start), constants=1)
def spliced(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, start: int) -> ir.Value:
    """Eight neighbouring lanes of two vectors, from lane ``start`` of the first on."""
    return shuffled(builder, one, other, list(range(start, start + LANES)))


@instruction(lambda one, other: types.UniTuple(one, 2)(one, other))
def split(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> list[ir.Value]:
    """Of sixteen neighbours every second, from the first on and from the second on."""
    return [shuffled(builder, one, other, list(range(first, 2 * LANES, 2))) for first in (0, 1)]


@instruction(lambda vectors: vectors(vectors))
def transpose(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Eight vectors as the rows of a square: its columns."""

    def both(one: ir.Value, other: ir.Value, size: int, span: int) -> tuple[ir.Value, ir.Value]:
        """Pieces of both in turn, of ``size`` lanes each: from the lower and the upper half of every ``span``."""
        starts = [range(first, first + span // 2, size) for first in range(0, LANES, span)]
        lower = [piece for some in starts for start in some for piece in (start, start + LANES)]
        lanes = [start + lane for start in lower for lane in range(size)]
        upper = [lane + span // 2 for lane in lanes]
        return shuffled(builder, one, other, lanes), shuffled(builder, one, other, upper)

    pairs = [both(rows[i], rows[i + 1], 1, 4) for i in range(0, LANES, 2)]
    columns: list[Any] = [None] * LANES
    for half in (0, 1):
        upper, lower = both(pairs[0][half], pairs[1][half], 2, 4), both(pairs[2][half], pairs[3][half], 2, 4)
        for i in (0, 1):
            columns[2 * half + i], columns[2 * half + i + 4] = both(upper[i], lower[i], 4, 8)
    return columns


def quads_of(
    builder: ir.IRBuilder, one: ir.Value, other: ir.Value, index: ir.Value, unit: ir.Value, stored: Any = None
) -> ir.Value:
    """Four neighbours of each of two rows, of one type in memory, one behind the other. Halves of vectors come together
    as they are loaded, so that squares of eight turn with two shuffles for each vector, not three."""
    element = stored or unit.type
    quad = ir.VectorType(element, LANES // 2)
    upper, lower = (builder.load(pointer_to(builder, base, index, element, quad), align=1) for base in (one, other))
    return shuffled(builder, upper, lower, list(range(LANES)))


def quads_loader(widen: Any = None, stored: ir.Type | None = None) -> Any:
    """What loads such, widened if need be."""

    def load_quads(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
        both = quads_of(builder, one, other, index, unit, stored)
        return widen(builder, both, ir.VectorType(unit.type, LANES)) if widen else both

    return instruction(lambda *kinds: Vector(kinds[3])(types.int64, types.int64, types.int64, kinds[3]))(load_quads)


load_quads = quads_loader()


def columns_of_quads(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Four vectors as the rows of two squares of four, side by side: their columns."""

    def mixed(one: ir.Value, other: ir.Value, lanes: list[int]) -> ir.Value:
        return shuffled(builder, one, other, [start + lane for start in (0, LANES // 2) for lane in lanes])

    columns = []
    for lanes in ([0, LANES, 1, LANES + 1], [2, LANES + 2, 3, LANES + 3]):
        upper, lower = mixed(rows[0], rows[1], lanes), mixed(rows[2], rows[3], lanes)
        columns += [mixed(upper, lower, [first, first + 1, first + LANES, first + LANES + 1]) for first in (0, 2)]
    return columns


transpose_quads = instruction(lambda vectors: vectors(vectors))(columns_of_quads)
