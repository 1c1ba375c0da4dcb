"""Finding indices among positions, eight at a time: vectors of 32-bit integers, and masks.

A mask says for each lane whether an index named a position.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ..record import LANES
from .vectors import pointer_to

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


def spread(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The same number in every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_INTS, [0] * LANES))


@intrinsic
def splat_int(typing_context: Any, value: types.Type) -> Any:
    """Eight times the same integer, which must fit 32 bits."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return spread(builder, builder.trunc(args[0], _INT32))

    return integers(types.int64), generate


@intrinsic
def load_ints(typing_context: Any, base: types.Type, index: types.Type) -> Any:
    """Eight 32-bit integers from an index on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.load(pointer_to(builder, args[0], args[1], _INT32, _INTS), align=1)

    return integers(types.int64, types.int64), generate


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


def _of_ints(operation: Any) -> Any:
    @intrinsic
    def combined(typing_context: Any, one: types.Type, other: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return operation(builder, *args)

        return integers(integers, integers), generate

    return combined


def _chosen(comparison: str) -> Any:
    return lambda builder, one, other: builder.select(builder.icmp_unsigned(comparison, one, other), one, other)


add_ints = _of_ints(lambda builder, one, other: builder.add(one, other))
subtract_ints = _of_ints(lambda builder, one, other: builder.sub(one, other))
or_ints = _of_ints(lambda builder, one, other: builder.or_(one, other))
and_ints = _of_ints(lambda builder, one, other: builder.and_(one, other))
# Of two unsigned integers.
smaller, larger = _of_ints(_chosen("<")), _of_ints(_chosen(">"))


@intrinsic
def all_below(typing_context: Any, value: types.Type, limit: types.Type) -> Any:
    """Whether all lanes are less, as unsigned integers."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        below = builder.icmp_unsigned("<", args[0], spread(builder, builder.trunc(args[1], _INT32)))
        bits = builder.bitcast(below, ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 2**LANES - 1))

    return types.boolean(integers, types.int64), generate


@intrinsic
def all_lanes(typing_context: Any, where: types.Type) -> Any:
    """Whether a mask holds everywhere."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 2**LANES - 1))

    return types.boolean(mask), generate


@intrinsic
def lanes_within(typing_context: Any, first: types.Type, stop: types.Type) -> Any:
    """All bits in the lanes from ``first`` up to ``stop``, and none in the others."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        first, stop = (spread(builder, builder.trunc(arg, _INT32)) for arg in args)
        lanes = ir.Constant(_INTS, list(range(LANES)))
        inside = builder.and_(builder.icmp_signed(">=", lanes, first), builder.icmp_signed("<", lanes, stop))
        return builder.sext(inside, _INTS)

    return integers(types.int64, types.int64), generate


@intrinsic
def rising(typing_context: Any, start: types.Type, step: types.Type) -> Any:
    """start, start + step, start + 2 step, ...: 32-bit integers."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        first, distance = (spread(builder, builder.trunc(arg, _INT32)) for arg in args)
        return builder.add(first, builder.mul(distance, ir.Constant(_INTS, list(range(LANES)))))

    return integers(types.int64, types.int64), generate
