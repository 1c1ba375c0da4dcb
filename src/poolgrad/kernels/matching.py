"""Finding indices among positions, eight at a time: vectors of 32-bit integers, and masks.

A mask says for each lane whether an index named a position. It decides which gradients are added, and it is counted.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from .record import LANES
from .vectors import _store, _stream, pointer_to

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_INTS = ir.VectorType(_INT32, LANES)


class Integers(types.Type):
    """Numba's name for eight 32-bit integers."""

    def __init__(self) -> None:
        super().__init__(name="Integers")


class Mask(types.Type):
    """Numba's name for eight truth values."""

    def __init__(self) -> None:
        super().__init__(name="Mask")


@register_model(Integers)
class _IntegersModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Integers) -> None:
        super().__init__(manager, kind, _INTS)


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Mask) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), LANES))


integers, mask = Integers(), Mask()


def _spread(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The same number in every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_INTS, [0] * LANES))


@intrinsic
def splat_int(typing_context: Any, value: types.Type) -> Any:
    """Eight times the same integer, which must fit 32 bits."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return _spread(builder, builder.trunc(args[0], _INT32))

    return integers(types.int64), generate


@intrinsic
def load_ints(typing_context: Any, base: types.Type, index: types.Type) -> Any:
    """Eight 32-bit integers from an index on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.load(pointer_to(builder, args[0], args[1], _INT32, _INTS), align=1)

    return integers(types.int64, types.int64), generate


@intrinsic
def add_ints(typing_context: Any, one: types.Type, other: types.Type) -> Any:
    """Lane by lane, modulo 2**32."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.add(args[0], args[1])

    return integers(integers, integers), generate


@intrinsic
def or_ints(typing_context: Any, one: types.Type, other: types.Type) -> Any:
    """All bits of both."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.or_(args[0], args[1])

    return integers(integers, integers), generate


@intrinsic
def low_halves(typing_context: Any, base: types.Type, index: types.Type) -> Any:
    """The lower halves of eight 64-bit integers from an index on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        wide = builder.load(pointer_to(builder, args[0], args[1], _INT64, ir.VectorType(_INT64, LANES)), align=1)
        return builder.trunc(wide, _INTS)

    return integers(types.int64, types.int64), generate


@intrinsic
def high_halves(typing_context: Any, base: types.Type, index: types.Type) -> Any:
    """Their upper halves: not zero where a number is negative or beyond 32 bits."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = ir.VectorType(_INT64, LANES)
        wide = builder.load(pointer_to(builder, args[0], args[1], _INT64, kind), align=1)
        return builder.trunc(builder.lshr(wide, ir.Constant(kind, [32] * LANES)), _INTS)

    return integers(types.int64, types.int64), generate


@intrinsic
def sum_of_ints(typing_context: Any, value: types.Type) -> Any:
    """All lanes added up, as a 64-bit integer."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        total = ir.Constant(_INT64, 0)
        for lane in range(LANES):
            part = builder.extract_element(args[0], ir.Constant(_INT32, lane))
            total = builder.add(total, builder.sext(part, _INT64))
        return total

    return types.int64(integers), generate


@intrinsic
def any_bits(typing_context: Any, value: types.Type) -> Any:
    """Whether any lane is not zero."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        differs = builder.icmp_signed("!=", args[0], ir.Constant(_INTS, [0] * LANES))
        return builder.icmp_unsigned(
            "!=", builder.bitcast(differs, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0)
        )

    return types.boolean(integers), generate


@intrinsic
def equal(typing_context: Any, one: types.Type, other: types.Type) -> Any:
    """Where two vectors have the same numbers."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.icmp_unsigned("==", args[0], args[1])

    return mask(integers, integers), generate


@intrinsic
def add_where(typing_context: Any, where: types.Type, total: types.Type, more: types.Type) -> Any:
    """``total + more`` in the lanes of a mask, ``total`` in the others."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.select(args[0], builder.fadd(args[1], args[2]), args[1])

    return total(mask, total, more), generate


@intrinsic
def count_where(typing_context: Any, where: types.Type, count: types.Type) -> Any:
    """One more in the lanes of a mask."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.sub(args[1], builder.sext(args[0], _INTS))

    return integers(mask, integers), generate


def _alternating(streaming: bool) -> Any:
    @intrinsic
    def put_alternating(typing_context: Any, base: types.Type, index: types.Type, vectors: types.Type) -> Any:
        number = len(vectors)

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            parts = [builder.extract_value(args[2], i) for i in range(number)]
            kind = parts[0].type
            parts += [ir.Constant(kind, ir.Undefined)] * (4 - number)
            joined = ir.Constant(ir.VectorType(_INT32, 2 * LANES), list(range(2 * LANES)))
            front = builder.shuffle_vector(parts[0], parts[1], joined)
            back = builder.shuffle_vector(parts[2], parts[3], joined)
            for start in range(0, number * LANES, LANES):
                lanes = [divmod(place, number) for place in range(start, start + LANES)]
                chosen = ir.Constant(_INTS, [phase * LANES + lane for lane, phase in lanes])
                mixed = builder.shuffle_vector(front, back, chosen)
                at = builder.add(args[1], ir.Constant(_INT64, start))
                (_stream if streaming else _store)(builder, args[0], at, mixed)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, vectors), generate

    return put_alternating


# The first number of each of up to four vectors in turn, then the second of each, and so on, from an index on.
store_alternating, stream_alternating = _alternating(False), _alternating(True)


@intrinsic(prefer_literal=True)
def at_places(
    typing_context: Any, index: types.Type, place: types.Type, gradient: types.Type, columns: types.Type
) -> Any:
    """For so many columns from each lane's place on: the gradients whose index names it, and zeros; and which of them
    were named in any."""
    if not isinstance(columns, types.IntegerLiteral):
        return None
    number = columns.literal_value
    laid = types.Tuple([types.UniTuple(gradient, number), mask])

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        zero = ir.Constant(args[2].type, [0.0] * LANES)
        found = [
            builder.icmp_unsigned("==", args[0], builder.add(args[1], ir.Constant(_INTS, [column] * LANES)))
            for column in range(number)
        ]
        vectors = [builder.select(here, args[2], zero) for here in found]
        named = found[0]
        for here in found[1:]:
            named = builder.or_(named, here)
        together = context.make_tuple(builder, laid.types[0], vectors)
        return context.make_tuple(builder, laid, [together, named])

    return laid(index, place, gradient, columns), generate


def _at_columns(streaming: bool) -> Any:
    @intrinsic
    def put_named(
        typing_context: Any,
        base: types.Type,
        index: types.Type,
        gradients: types.Type,
        distances: types.Type,
        line: types.Type,
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            start = _spread(builder, builder.trunc(args[4], _INT32))
            for i in range(len(gradients)):
                gradient, distance = builder.extract_value(args[2], i), builder.extract_value(args[3], i)
                first = i * LANES
                columns = ir.Constant(_INTS, list(range(first, first + LANES)))
                here = builder.icmp_unsigned("==", distance, builder.add(start, columns))
                kept = builder.select(here, gradient, ir.Constant(gradient.type, [0.0] * LANES))
                (_stream if streaming else _store)(builder, args[0], builder.add(args[1], ir.Constant(_INT64, first)), kept)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, gradients, distances, types.int64), generate

    return put_named


# Gradients from an index on, of neighbouring columns: where the distance of the index to the first of them is the
# column's place, ``line`` being the place of the first; elsewhere zeros.
store_named, stream_named = _at_columns(False), _at_columns(True)


def _of_ints(operation: Any) -> Any:
    @intrinsic
    def combined(typing_context: Any, one: types.Type, other: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return operation(builder, *args)

        return integers(integers, integers), generate

    return combined


subtract_ints = _of_ints(lambda builder, one, other: builder.sub(one, other))
# As unsigned integers.
smaller = _of_ints(lambda builder, one, other: builder.select(builder.icmp_unsigned("<", one, other), one, other))
larger = _of_ints(lambda builder, one, other: builder.select(builder.icmp_unsigned(">", one, other), one, other))


@intrinsic
def all_below(typing_context: Any, value: types.Type, limit: types.Type) -> Any:
    """Whether all lanes are less, as unsigned integers."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        below = builder.icmp_unsigned("<", args[0], _spread(builder, builder.trunc(args[1], _INT32)))
        bits = builder.bitcast(below, ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 2**LANES - 1))

    return types.boolean(integers, types.int64), generate


def _of_masks(operation: str) -> Any:
    @intrinsic
    def combined(typing_context: Any, one: types.Type, other: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return getattr(builder, operation)(args[0], args[1])

        return mask(mask, mask), generate

    return combined


both, either = _of_masks("and_"), _of_masks("or_")


@intrinsic
def all_lanes(typing_context: Any, where: types.Type) -> Any:
    """Whether a mask holds everywhere."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 2**LANES - 1))

    return types.boolean(mask), generate


@intrinsic
def lanes_outside(typing_context: Any, first: types.Type, stop: types.Type) -> Any:
    """All lanes but those from ``first`` up to ``stop``."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        first, stop = (_spread(builder, builder.trunc(arg, _INT32)) for arg in args)
        lanes = ir.Constant(_INTS, list(range(LANES)))
        return builder.or_(builder.icmp_signed("<", lanes, first), builder.icmp_signed(">=", lanes, stop))

    return mask(types.int64, types.int64), generate


@intrinsic
def rising(typing_context: Any, start: types.Type, step: types.Type) -> Any:
    """start, start + step, start + 2 step, ...: 32-bit integers."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        first, distance = (_spread(builder, builder.trunc(arg, _INT32)) for arg in args)
        return builder.add(first, builder.mul(distance, ir.Constant(_INTS, list(range(LANES)))))

    return integers(types.int64, types.int64), generate


@intrinsic
def equal_wide(typing_context: Any, base: types.Type, index: types.Type, place: types.Type) -> Any:
    """Which of eight 64-bit integers from an index on are a certain one."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        wide = builder.load(pointer_to(builder, args[0], args[1], _INT64, ir.VectorType(_INT64, LANES)), align=1)
        return builder.icmp_signed("==", wide, _spread(builder, args[2]))

    return mask(types.int64, types.int64, types.int64), generate
