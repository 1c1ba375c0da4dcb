"""Maxima and where they stand, eight at a time.

A vector of places has the bits of integers as wide as the numbers beside it, so that both move and turn alike. A number
takes over if it is greater, or is NaN: so the first of equal ones stays, and of several NaN the last.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from ..record import LANES
from .instructions import instruction, storing
from .vectors import Vector, pointer_to, spread, stream_vector, width

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def _as_place(builder: ir.IRBuilder, number: ir.Value, kind: ir.Type) -> ir.Value:
    """A place, eight times, in as many bits as numbers of a type have."""
    return spread(builder, builder.trunc(number, _INT32) if width(kind) == 32 else number)


@instruction(lambda place, unit: Vector(unit)(types.int64, unit))
def splat_place(builder: ir.IRBuilder, place: ir.Value, unit: ir.Value) -> ir.Value:
    """Eight times the same place."""
    return builder.bitcast(_as_place(builder, place, unit.type), ir.VectorType(unit.type, LANES))


@instruction(lambda places, distance: places(places, types.int64))
def moved(builder: ir.IRBuilder, places: ir.Value, distance: ir.Value) -> ir.Value:
    """Places, all of them so much further on."""
    further = _as_place(builder, distance, places.type.element)
    return builder.bitcast(builder.add(builder.bitcast(places, further.type), further), places.type)


@instruction(lambda places, distances: places(places, places))
def moved_each(builder: ir.IRBuilder, places: ir.Value, distances: ir.Value) -> ir.Value:
    """Places, each of them further on by a distance of its own."""
    kind = ir.VectorType(ir.IntType(width(places.type.element)), LANES)
    return builder.bitcast(builder.add(*(builder.bitcast(of, kind) for of in (places, distances))), places.type)


@instruction(lambda lengths, number, value, other: value(lengths, types.int64, value, value))
def of_longer(builder: ir.IRBuilder, lengths: ir.Value, number: ir.Value, value: ir.Value, other: ir.Value) -> ir.Value:
    """A vector where lengths, which are places, are greater than a number; elsewhere another one."""
    least = _as_place(builder, number, lengths.type.element)
    return builder.select(builder.icmp_signed("<", least, builder.bitcast(lengths, least.type)), value, other)


@instruction(lambda places, first, step: places(places, types.int64, types.int64))
def lanes_apart(builder: ir.IRBuilder, places: ir.Value, first: ir.Value, step: ir.Value) -> ir.Value:
    """Places that count from a place of each lane's own: ``first`` in the first lane, ``step`` further in each next."""
    begin, apart = (_as_place(builder, number, places.type.element) for number in (first, step))
    own = builder.add(begin, builder.mul(ir.Constant(apart.type, list(range(LANES))), apart))
    return builder.bitcast(builder.add(builder.bitcast(places, own.type), own), places.type)


@instruction(lambda place, unit: Vector(unit)(types.int64, unit))
def splat_place_after_edge(builder: ir.IRBuilder, place: ir.Value, unit: ir.Value) -> ir.Value:
    """Eight times the same place; in the first lane, which stands for padding, the one behind it."""
    there = _as_place(builder, place, unit.type)
    edge = ir.Constant(there.type, [1] + [0] * (LANES - 1))
    return builder.bitcast(builder.add(there, edge), ir.VectorType(unit.type, LANES))


@instruction(lambda best, place, value, where: types.UniTuple(best, 2)(best, place, value, where))
def larger(builder: ir.IRBuilder, best: ir.Value, place: ir.Value, value: ir.Value, where: ir.Value) -> list[ir.Value]:
    """The best so far and its place, after another value was looked at."""
    # Unordered or greater: NaN takes over, and keeps its place against all that is no NaN.
    takes = builder.or_(builder.fcmp_ordered(">", value, best), builder.fcmp_unordered("uno", value, value))
    return [builder.select(takes, value, best), builder.select(takes, where, place)]


@instruction(lambda best, place, value, where: types.UniTuple(best, 2)(best, place, value, where))
def winner(builder: ir.IRBuilder, best: ir.Value, place: ir.Value, value: ir.Value, where: ir.Value) -> list[ir.Value]:
    """The same of two that may stand in either order: places decide between equal ones, and between NaN."""
    kind = ir.VectorType(ir.IntType(width(place.type.element)), LANES)
    before, after = (
        builder.icmp_signed(sign, builder.bitcast(where, kind), builder.bitcast(place, kind)) for sign in "<>"
    )
    numbers = builder.or_(
        builder.fcmp_ordered(">", value, best), builder.and_(builder.fcmp_ordered("==", value, best), before)
    )
    takes_nan = builder.or_(builder.fcmp_ordered("ord", best, best), after)
    takes = builder.or_(numbers, builder.and_(builder.fcmp_unordered("uno", value, value), takes_nan))
    return [builder.select(takes, value, best), builder.select(takes, where, place)]


@instruction(lambda best, value: best(best, value))
def larger_number(builder: ir.IRBuilder, best: ir.Value, value: ir.Value) -> ir.Value:
    """The best so far, after another value was looked at."""
    larger = builder.select(builder.fcmp_ordered(">", value, best), value, best)
    return builder.select(builder.fcmp_unordered("uno", value, value), value, larger)


def _places_as(stored: ir.IntType) -> Any:
    def convert(builder: ir.IRBuilder, places: ir.Value) -> ir.Value:
        """A vector of places as integers of that type."""
        bits, kind = width(places.type.element), ir.VectorType(stored, LANES)
        value = builder.bitcast(places, ir.VectorType(ir.IntType(bits), LANES))
        if bits == stored.width:
            return value
        return builder.sext(value, kind) if bits == 32 else builder.trunc(value, kind)

    return convert


as_32_bits, as_64_bits = _places_as(_INT32), _places_as(_INT64)


def _place_storer(convert: Any, *, streaming: bool = False) -> Any:
    def store(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, places: ir.Value) -> None:
        value = convert(builder, places)
        if streaming:
            stream_vector(builder, base, index, value)
        else:
            builder.store(value, pointer_to(builder, base, index, value.type.element, value.type), align=1)

    return instruction(storing)(store)


# Eight places from an index on; past the caches the address must be a multiple of 16 bytes.
store_places_32, store_places_64 = _place_storer(as_32_bits), _place_storer(as_64_bits)
stream_places_32, stream_places_64 = (_place_storer(as_type, streaming=True) for as_type in (as_32_bits, as_64_bits))


@instruction(lambda base, index, unit: types.int64(types.int64, types.int64, unit))
def place_at(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
    """One place of those that stand in scratch."""
    bits = ir.IntType(width(unit.type))
    value = builder.load(pointer_to(builder, base, index, bits, bits), align=1)
    return builder.sext(value, _INT64) if bits.width == 32 else value


@instruction(lambda base, index, place, unit: types.void(types.int64, types.int64, types.int64, unit))
def write_place(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, place: ir.Value, unit: ir.Value) -> None:
    """The same the other way."""
    bits = ir.IntType(width(unit.type))
    value = builder.trunc(place, bits) if bits.width == 32 else place
    builder.store(value, pointer_to(builder, base, index, bits, bits), align=1)
