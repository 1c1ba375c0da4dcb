"""Integers in lanes, eight at a time.

A vector of them has the bits of integers as wide as the numbers that it would hold otherwise, 32 or 64, so that both
move and turn alike. Narrower ones are widened when they are loaded; when they are stored, what is below the least of
their type becomes this least: so padding may count as the least integer of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..record import LANES
from .few import few_loader, few_storer
from .memory import pointer_at
from .vectors import Vector, pointer_to

_FLOAT = ir.FloatType()


class Integers(NamedTuple):
    """How integers of one type come from memory and go there: eight neighbours by an index, one by an offset in bytes,
    or so many, fewer than eight."""

    load: Any
    store: Any
    read: Any
    write: Any
    load_few: Any
    store_few: Any


def _lanes(kind: ir.Type) -> ir.Type:
    """The integers whose bits a value or a vector of the compute type holds."""
    if isinstance(kind, ir.VectorType):
        return ir.VectorType(_lanes(kind.element), kind.count)
    return ir.IntType(32 if kind == _FLOAT else 64)


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

    @intrinsic
    def load(typing_context: Any, base: types.Type, index: types.Type, unit: types.Type) -> Any:
        vector = Vector(unit)

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            pointer = pointer_to(builder, args[0], args[1], stored, ir.VectorType(stored, LANES))
            return widened(builder, builder.load(pointer, align=1), context.get_value_type(vector))

        return vector(types.int64, types.int64, unit), generate

    @intrinsic
    def store(typing_context: Any, base: types.Type, index: types.Type, vector: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            value = narrowed(builder, args[2])
            builder.store(value, pointer_to(builder, args[0], args[1], stored, value.type), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, vector), generate

    @intrinsic
    def read(typing_context: Any, base: types.Type, offset: types.Type, unit: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            value = builder.load(pointer_at(builder, args[0], args[1], stored), align=1)
            return widened(builder, value, context.get_value_type(unit))

        return unit(types.int64, types.int64, unit), generate

    @intrinsic
    def write(typing_context: Any, base: types.Type, offset: types.Type, value: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            builder.store(narrowed(builder, args[2]), pointer_at(builder, args[0], args[1], stored), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value), generate

    return Integers(load, store, read, write, few_loader(widened, stored), few_storer(narrowed))


@intrinsic
def larger_integers(typing_context: Any, best: types.Type, value: types.Type) -> Any:
    """The larger one in each lane."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        best, value = args
        wide = _lanes(best.type)
        takes = builder.icmp_signed(">", builder.bitcast(value, wide), builder.bitcast(best, wide))
        return builder.select(takes, value, best)

    return best(best, value), generate


@intrinsic
def least_integers(typing_context: Any, unit: types.Type) -> Any:
    """Eight times the least integer that a lane holds."""
    vector = Vector(unit)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = context.get_value_type(vector)
        wide = _lanes(kind)
        return builder.bitcast(_constant(wide, -(2 ** (wide.element.width - 1))), kind)

    return vector(unit), generate
