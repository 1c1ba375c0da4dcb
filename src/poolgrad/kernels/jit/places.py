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
from .vectors import Vector, pointer_to, stream_parts

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
def moved(typing_context: Any, places: types.Type, distance: types.Type) -> Any:
    """Places, all of them so much further on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bits = _bits(args[0].type)
        number = builder.trunc(args[1], bits) if bits is _INT32 else args[1]
        there = builder.add(builder.bitcast(args[0], ir.VectorType(bits, LANES)), spread(builder, number))
        return builder.bitcast(there, args[0].type)

    return places(places, types.int64), generate


@intrinsic
def lanes_apart(typing_context: Any, places: types.Type, first: types.Type, step: types.Type) -> Any:
    """Places that count from a place of each lane's own: ``first`` in the first lane, ``step`` further in each next."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bits = _bits(args[0].type)
        first, step = (builder.trunc(arg, bits) if bits is _INT32 else arg for arg in args[1:])
        lanes = ir.Constant(ir.VectorType(bits, LANES), list(range(LANES)))
        own = builder.add(spread(builder, first), builder.mul(lanes, spread(builder, step)))
        there = builder.add(builder.bitcast(args[0], own.type), own)
        return builder.bitcast(there, args[0].type)

    return places(places, types.int64, types.int64), generate


@intrinsic
def splat_place_after_edge(typing_context: Any, place: types.Type, unit: types.Type) -> Any:
    """Eight times the same place; in the first lane, which stands for padding, the one behind it."""
    vector = Vector(unit)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(vector)
        bits = _bits(kind)
        number = builder.trunc(args[0], bits) if bits is _INT32 else args[0]
        edge = ir.Constant(ir.VectorType(bits, LANES), [1] + [0] * (LANES - 1))
        return builder.bitcast(builder.add(spread(builder, number), edge), kind)

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


def _place_storer(width: ir.IntType, *, streaming: bool = False) -> Any:
    @intrinsic
    def store(typing_context: Any, base: types.Type, index: types.Type, places: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            bits, kind = _bits(args[2].type), ir.VectorType(width, LANES)
            value = builder.bitcast(args[2], ir.VectorType(bits, LANES))
            if bits.width != width.width:
                value = builder.sext(value, kind) if bits is _INT32 else builder.trunc(value, kind)
            if streaming:
                stream_parts(builder, args[0], args[1], value)
            else:
                builder.store(value, pointer_to(builder, args[0], args[1], width, kind), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, places), generate

    return store


store_places_32, store_places_64 = _place_storer(_INT32), _place_storer(_INT64)
stream_places_32, stream_places_64 = _place_storer(_INT32, streaming=True), _place_storer(_INT64, streaming=True)


@intrinsic
def place_at(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """One place of those that stand in scratch."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bits = _INT32 if unit is types.float32 else _INT64
        value = builder.load(pointer_to(builder, args[0], args[1], bits, bits), align=1)
        return builder.sext(value, _INT64) if bits is _INT32 else value

    return types.int64(types.int64, types.int64, unit), generate
