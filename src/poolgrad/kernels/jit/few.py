"""Fewer than eight neighbours in memory as one vector: nothing beside them is read or written.

Loads and stores with a mask, which LLVM turns into such instructions where there are any, else into single numbers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..record import LANES
from .halves import OF_BFLOATS, OF_HALVES
from .instructions import call_named, instruction, storing
from .places import as_32_bits, as_64_bits
from .vectors import loading_eight, pointer_to, spread

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def _first_lanes(builder: ir.IRBuilder, count: ir.Value) -> ir.Value:
    """A mask of so many lanes."""
    lanes = ir.Constant(ir.VectorType(_INT32, LANES), list(range(LANES)))
    return builder.icmp_signed("<", lanes, spread(builder, builder.trunc(count, _INT32)))


def _name(operation: str, element: ir.Type) -> str:
    letter = {"float": "f32", "double": "f64"}.get(str(element), str(element))
    return f"llvm.masked.{operation}.v{LANES}{letter}.p0v{LANES}{letter}"


def few_loader(widen: Any, element: ir.Type | None = None) -> Any:
    """What loads the first ``count`` numbers from an address on, and 0 for the others; ``widen`` makes a vector of
    elements one of a type."""

    def load(builder: ir.IRBuilder, base: ir.Value, count: ir.Value, unit: ir.Value) -> ir.Value:
        kind = ir.VectorType(element or unit.type, LANES)
        pointer = pointer_to(builder, base, ir.Constant(_INT64, 0), kind.element, kind)
        options = pointer, ir.Constant(_INT32, 1), _first_lanes(builder, count), ir.Constant(kind, None)
        return widen(builder, call_named(builder, kind, _name("load", kind.element), *options), unit.type)

    return instruction(loading_eight)(load)


def few_storer(narrow: Any) -> Any:
    """What stores the first ``count`` numbers of a vector as ``narrow`` makes them."""

    def store(builder: ir.IRBuilder, base: ir.Value, count: ir.Value, vector: ir.Value) -> None:
        value = narrow(builder, vector)
        kind = value.type
        pointer = pointer_to(builder, base, ir.Constant(_INT64, 0), kind.element, kind)
        options = value, pointer, ir.Constant(_INT32, 1), _first_lanes(builder, count)
        call_named(builder, ir.VoidType(), _name("store", kind.element), *options)

    return instruction(storing)(store)


def _of_halves(widen: Any, narrow: Any) -> tuple[Any, Any]:
    def widened(builder: ir.IRBuilder, value: ir.Value, number: ir.Type) -> ir.Value:
        kind, wide = ir.VectorType(number, LANES), widen(builder, value)
        return wide if kind == _FLOATS else builder.fpext(wide, kind)

    def narrowed(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return narrow(builder, value if value.type == _FLOATS else builder.fptrunc(value, _FLOATS))

    return few_loader(widened, ir.IntType(16)), few_storer(narrowed)


load_few, store_few = few_loader(lambda builder, value, number: value), few_storer(lambda builder, value: value)
load_few_halves, store_few_halves = _of_halves(*OF_HALVES)
load_few_bfloats, store_few_bfloats = _of_halves(*OF_BFLOATS)
store_few_places_32, store_few_places_64 = few_storer(as_32_bits), few_storer(as_64_bits)
