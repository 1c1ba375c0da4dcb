"""Maxima and where they stand, eight at a time.

A vector of places has the bits of integers as wide as the numbers beside it, so that both move and turn alike. A number
takes over if it is greater, or is NaN: so the first of equal ones stays, and of several NaN the last.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..record import LANES
from .matching import spread
from .vectors import Vector, pointer_to

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def _bits(kind: ir.VectorType) -> ir.IntType:
    return _INT32 if isinstance(kind.element, ir.FloatType) else _INT64


@intrinsic
def splat_place(typing_context: Any, place: types.Type, unit: types.Type) -> Any:
    """Eight times the same place."""
    vector = Vector(unit)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(vector)
        bits = _bits(kind)
        number = builder.trunc(args[0], bits) if bits is _INT32 else args[0]
        return builder.bitcast(spread(builder, number), kind)

    return vector(types.int64, unit), generate


@intrinsic
def larger(typing_context: Any, best: types.Type, place: types.Type, value: types.Type, where: types.Type) -> Any:
    """The best so far and its place, after another value was looked at."""
    result = types.UniTuple(best, 2)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kept, at, value, where = args
        # Unordered or greater: NaN takes over, and keeps its place against all that is no NaN.
        takes = builder.or_(builder.fcmp_ordered(">", value, kept), builder.fcmp_unordered("uno", value, value))
        both = [builder.select(takes, value, kept), builder.select(takes, where, at)]
        return context.make_tuple(builder, result, both)

    return result(best, place, value, where), generate


@intrinsic
def larger_number(typing_context: Any, best: types.Type, value: types.Type) -> Any:
    """The best so far, after another value was looked at."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        best, value = args
        larger = builder.select(builder.fcmp_ordered(">", value, best), value, best)
        return builder.select(builder.fcmp_unordered("uno", value, value), value, larger)

    return best(best, value), generate


def _places_as(width: ir.IntType) -> Any:
    def convert(builder: ir.IRBuilder, places: ir.Value) -> ir.Value:
        """A vector of places as integers of that width."""
        bits, kind = _bits(places.type), ir.VectorType(width, LANES)
        value = builder.bitcast(places, ir.VectorType(bits, LANES))
        if bits.width == width.width:
            return value
        return builder.sext(value, kind) if bits is _INT32 else builder.trunc(value, kind)

    return convert


as_32_bits, as_64_bits = _places_as(_INT32), _places_as(_INT64)


def _place_storer(convert: Any) -> Any:
    @intrinsic
    def store(typing_context: Any, base: types.Type, index: types.Type, places: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            value = convert(builder, args[2])
            builder.store(value, pointer_to(builder, args[0], args[1], value.type.element, value.type), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, places), generate

    return store


store_places_32, store_places_64 = _place_storer(as_32_bits), _place_storer(as_64_bits)


@intrinsic
def place_at(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """One place of those that stand in scratch."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bits = _INT32 if unit is types.float32 else _INT64
        value = builder.load(pointer_to(builder, args[0], args[1], bits, bits), align=1)
        return builder.sext(value, _INT64) if bits is _INT32 else value

    return types.int64(types.int64, types.int64, unit), generate
