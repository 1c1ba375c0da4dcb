"""Fewer than eight neighbours in memory as one vector: nothing beside them is read or written.

Loads and stores with a mask, which LLVM turns into such instructions where there are any, else into single numbers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..record import LANES
from .halves import OF_BFLOATS, OF_HALVES
from .places import as_32_bits, as_64_bits
from .vectors import Vector, pointer_to

_INT32, _INT64, _MASK = ir.IntType(32), ir.IntType(64), ir.VectorType(ir.IntType(1), LANES)
_LETTERS = {ir.FloatType(): "f32", ir.DoubleType(): "f64"}


def _first_lanes(builder: ir.IRBuilder, count: ir.Value) -> ir.Value:
    """A mask of so many lanes."""
    kind = ir.VectorType(_INT32, LANES)
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, builder.trunc(count, _INT32), ir.Constant(_INT32, 0))
    counts = builder.shuffle_vector(first, undefined, ir.Constant(kind, [0] * LANES))
    return builder.icmp_signed("<", ir.Constant(kind, list(range(LANES))), counts)


def _masked(builder: ir.IRBuilder, name: str, result: ir.Type, kinds: list[ir.Type], stored: ir.VectorType) -> Any:
    letter = _LETTERS.get(stored.element) or f"i{stored.element.width}"
    name = f"llvm.masked.{name}.v{LANES}{letter}.p0v{LANES}{letter}"
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, kinds), name)


def load_lanes(builder: ir.IRBuilder, base: ir.Value, count: ir.Value, element: ir.Type) -> ir.Value:
    """The first lanes of a vector; the others are 0."""
    stored = ir.VectorType(element, LANES)
    pointer = pointer_to(builder, base, ir.Constant(_INT64, 0), element, stored)
    load = _masked(builder, "load", stored, [pointer.type, _INT32, _MASK, stored], stored)
    rest = ir.Constant(stored, None)
    return builder.call(load, [pointer, ir.Constant(_INT32, 1), _first_lanes(builder, count), rest])


def store_lanes(builder: ir.IRBuilder, base: ir.Value, count: ir.Value, value: ir.Value) -> None:
    pointer = pointer_to(builder, base, ir.Constant(_INT64, 0), value.type.element, value.type)
    store = _masked(builder, "store", ir.VoidType(), [value.type, pointer.type, _INT32, _MASK], value.type)
    builder.call(store, [value, pointer, ir.Constant(_INT32, 1), _first_lanes(builder, count)])


def few_loader(widen: Any, element: ir.Type | None = None) -> Any:
    """What loads the first ``count`` numbers from an address on; ``widen`` makes a vector of elements one of a type."""

    @intrinsic
    def load(typing_context: Any, base: types.Type, count: types.Type, unit: types.Type) -> Any:
        vector = Vector(unit)

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            kind = context.get_value_type(vector)
            return widen(builder, load_lanes(builder, args[0], args[1], element or kind.element), kind)

        return vector(types.int64, types.int64, unit), generate

    return load


def few_storer(narrow: Any) -> Any:
    """What stores the first ``count`` numbers of a vector as ``narrow`` makes them."""

    @intrinsic
    def store(typing_context: Any, base: types.Type, count: types.Type, vector: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            store_lanes(builder, args[0], args[1], narrow(builder, args[2]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, vector), generate

    return store


def _of_halves(widen: Any, narrow: Any) -> tuple[Any, Any]:
    def widened(builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType) -> ir.Value:
        wide = widen(builder, value)
        return wide if wide.type == kind else builder.fpext(wide, kind)

    def narrowed(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        floats = ir.VectorType(ir.FloatType(), LANES)
        return narrow(builder, value if value.type == floats else builder.fptrunc(value, floats))

    return few_loader(widened, ir.IntType(16)), few_storer(narrowed)


load_few, store_few = few_loader(lambda builder, value, kind: value), few_storer(lambda builder, value: value)
load_few_halves, store_few_halves = _of_halves(*OF_HALVES)
load_few_bfloats, store_few_bfloats = _of_halves(*OF_BFLOATS)
store_few_places_32, store_few_places_64 = few_storer(as_32_bits), few_storer(as_64_bits)
