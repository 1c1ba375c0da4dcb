"""Integers in lanes, eight at a time.

A vector of them has the bits of integers as wide as the numbers that it would hold otherwise, 32 or 64, so that both
move and turn alike. Narrower ones are widened when they are loaded; when they are stored, what is below the least of
their type becomes this least: so padding may count as the least integer of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from ..record import LANES
from .instructions import instruction, loading, storing
from .memory import pointer_at
from .vectors import Vector, loading_eight, pointer_to, width


class Integers(NamedTuple):
    """How integers of one type come from memory and go there: eight neighbours by an index, or one by an offset in
    bytes."""

    load: Any
    store: Any
    read: Any
    write: Any


def _lanes(kind: ir.Type) -> ir.Type:
    """The integers whose bits a value or a vector of the compute type holds."""
    if isinstance(kind, ir.VectorType):
        return ir.VectorType(_lanes(kind.element), kind.count)
    return ir.IntType(width(kind))


def _constant(kind: ir.Type, number: int) -> ir.Constant:
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def integers(bits: int, signed: bool) -> Integers:
    """The integers of a type."""
    stored, least = ir.IntType(bits), -(2 ** (bits - 1)) if signed else 0

    def widened(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type) -> ir.Value:
        wide = _lanes(kind)
        if value.type != wide:
            value = builder.sext(value, wide) if signed else builder.zext(value, wide)
        return builder.bitcast(value, kind)

    def narrowed(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        wide = _lanes(value.type)
        value = builder.bitcast(value, wide)
        narrow = ir.VectorType(stored, LANES) if isinstance(wide, ir.VectorType) else stored
        if narrow == wide:
            return value
        low = _constant(wide, least)
        return builder.trunc(builder.select(builder.icmp_signed(">", value, low), value, low), narrow)

    @instruction(loading_eight)
    def load(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, unit: ir.Value) -> ir.Value:
        pointer = pointer_to(builder, base, index, stored, ir.VectorType(stored, LANES))
        return widened(builder, builder.load(pointer, align=1), ir.VectorType(unit.type, LANES))

    @instruction(storing)
    def store(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, vector: ir.Value) -> None:
        value = narrowed(builder, vector)
        builder.store(value, pointer_to(builder, base, index, stored, value.type), align=1)

    @instruction(loading)
    def read(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, unit: ir.Value) -> ir.Value:
        return widened(builder, builder.load(pointer_at(builder, base, offset, stored), align=1), unit.type)

    @instruction(storing)
    def write(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, value: ir.Value) -> None:
        builder.store(narrowed(builder, value), pointer_at(builder, base, offset, stored), align=1)

    return Integers(load, store, read, write)


@instruction(lambda best, value: best(best, value))
def larger_integers(builder: ir.IRBuilder, best: ir.Value, value: ir.Value) -> ir.Value:
    """The larger one in each lane."""
    wide = _lanes(best.type)
    takes = builder.icmp_signed(">", builder.bitcast(value, wide), builder.bitcast(best, wide))
    return builder.select(takes, value, best)


@instruction(lambda unit: Vector(unit)(unit))
def least_integers(builder: ir.IRBuilder, unit: ir.Value) -> ir.Value:
    """Eight times the least integer that a lane holds."""
    kind = ir.VectorType(unit.type, LANES)
    wide = _lanes(kind)
    return builder.bitcast(_constant(wide, -(2 ** (wide.element.width - 1))), kind)
