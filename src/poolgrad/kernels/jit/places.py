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
from .vectors import Vector, pointer_to, spread, width

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


@instruction(lambda place, unit: Vector(unit)(types.int64, unit))
def splat_place(builder: ir.IRBuilder, place: ir.Value, unit: ir.Value) -> ir.Value:
    """Eight times the same place."""
    number = builder.trunc(place, _INT32) if width(unit.type) == 32 else place
    return builder.bitcast(spread(builder, number), ir.VectorType(unit.type, LANES))


@instruction(lambda best, place, value, where: types.UniTuple(best, 2)(best, place, value, where))
def larger(builder: ir.IRBuilder, best: ir.Value, place: ir.Value, value: ir.Value, where: ir.Value) -> list[ir.Value]:
    """The best so far and its place, after another value was looked at."""
    # Unordered or greater: NaN takes over, and keeps its place against all that is no NaN.
    takes = builder.or_(builder.fcmp_ordered(">", value, best), builder.fcmp_unordered("uno", value, value))
    return [builder.select(takes, value, best), builder.select(takes, where, place)]


@instruction(lambda best, value: best(best, value))
def larger_number(builder: ir.IRBuilder, best: ir.Value, value: ir.Value) -> ir.Value:
    """The best so far, after another value was looked at."""
    larger = builder.select(builder.fcmp_ordered(">", value, best), value, best)
    return builder.select(builder.fcmp_unordered("uno", value, value), value, larger)


def _place_storer(stored: ir.IntType) -> Any:
    def store(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, places: ir.Value) -> None:
        bits, kind = width(places.type.element), ir.VectorType(stored, LANES)
        value = builder.bitcast(places, ir.VectorType(ir.IntType(bits), LANES))
        if bits != stored.width:
            value = builder.sext(value, kind) if bits == 32 else builder.trunc(value, kind)
        builder.store(value, pointer_to(builder, base, index, stored, kind), align=1)

    return instruction(storing)(store)


store_places_32, store_places_64 = _place_storer(_INT32), _place_storer(_INT64)


@instruction(lambda base, index, unit: types.int64(types.int64, types.int64, unit))
def place_at(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
    """One place of those that stand in scratch."""
    bits = ir.IntType(width(unit.type))
    value = builder.load(pointer_to(builder, base, index, bits, bits), align=1)
    return builder.sext(value, _INT64) if bits.width == 32 else value
