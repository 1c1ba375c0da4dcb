"""Finding indices among positions, eight at a time: vectors of 32-bit integers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from ..record import LANES
from .instructions import call_named, instruction
from .vectors import pointer_to
from .vectors import spread as spread  # those who write code with these integers find it here

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_INTS, _LONGS = ir.VectorType(_INT32, LANES), ir.VectorType(_INT64, LANES)
_COUNT = ir.Constant(_INTS, list(range(LANES)))


class Lanes(types.Type):
    """Numba's name for eight integers."""

    def __init__(self, name: str, kind: ir.Type) -> None:
        self.kind = kind
        super().__init__(name=name)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, lanes.kind)


# Of 32 bits, and of 64.
integers, longs = Lanes("Integers", _INTS), Lanes("Longs", _LONGS)
_two_integers, _two_numbers = integers(integers, integers), integers(types.int64, types.int64)


def _spread_low(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    return spread(builder, builder.trunc(number, _INT32))


# Eight times the same integer, which must fit 32 bits.
splat_int = instruction(integers(types.int64))(_spread_low)


splat_long = instruction(longs(types.int64))(spread)


@instruction(_two_numbers)
def load_ints(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    """Eight 32-bit integers from an index on."""
    return builder.load(pointer_to(builder, base, index, _INT32, _INTS), align=1)


def _load_longs(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    return builder.load(pointer_to(builder, base, index, _INT64, _LONGS), align=1)


@instruction(_two_numbers)
def low_halves(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    """The lower halves of eight 64-bit integers from an index on."""
    return builder.trunc(_load_longs(builder, base, index), _INTS)


@instruction(_two_numbers)
def high_halves(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    """Their upper halves: not zero where a number is negative or beyond 32 bits."""
    upper = builder.lshr(_load_longs(builder, base, index), ir.Constant(_LONGS, [32] * LANES))
    return builder.trunc(upper, _INTS)


def _of_ints(operation: str) -> Any:
    return instruction(_two_integers)(lambda builder, one, other: getattr(builder, operation)(one, other))


subtract_ints, or_ints, and_ints = map(_of_ints, ("sub", "or_", "and_"))


def _chosen(comparison: str) -> Any:
    """Of two unsigned integers."""
    return instruction(_two_integers)(
        lambda builder, one, other: builder.select(builder.icmp_unsigned(comparison, one, other), one, other)
    )


smaller, larger = _chosen("<"), _chosen(">")


def _compare_all(builder: ir.IRBuilder, comparison: str, where: ir.Value, bits: int) -> ir.Value:
    """The lanes of a mask, as one integer, with another."""
    lanes = builder.bitcast(where, ir.IntType(LANES))
    return builder.icmp_unsigned(comparison, lanes, ir.Constant(lanes.type, bits))


@instruction(types.boolean(integers))
def any_bits(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Whether any lane is not zero."""
    return _compare_all(builder, "!=", builder.icmp_signed("!=", value, ir.Constant(_INTS, [0] * LANES)), 0)


@instruction(types.boolean(integers, types.int64))
def all_below(builder: ir.IRBuilder, value: ir.Value, limit: ir.Value) -> ir.Value:
    """Whether all lanes are less, as unsigned integers."""
    return _compare_all(builder, "==", builder.icmp_unsigned("<", value, _spread_low(builder, limit)), 2**LANES - 1)


@instruction(types.boolean(longs))
def fit_32_bits(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Whether no lane has any of its upper 32 bits."""
    return _compare_all(
        builder, "==", builder.icmp_unsigned("<", value, ir.Constant(_LONGS, [2**32] * LANES)), 2**LANES - 1
    )


@instruction(types.int64(integers))
def sum_of_lanes(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """All lanes together, which must fit 32 bits."""
    return builder.sext(call_named(builder, _INT32, f"llvm.vector.reduce.add.v{LANES}i32", value), _INT64)


@instruction(_two_numbers)
def lanes_within(builder: ir.IRBuilder, first: ir.Value, stop: ir.Value) -> ir.Value:
    """All bits in the lanes from ``first`` up to ``stop``, and none in the others."""
    first, stop = _spread_low(builder, first), _spread_low(builder, stop)
    inside = builder.and_(builder.icmp_signed(">=", _COUNT, first), builder.icmp_signed("<", _COUNT, stop))
    return builder.sext(inside, _INTS)


@instruction(_two_numbers)
def rising(builder: ir.IRBuilder, start: ir.Value, step: ir.Value) -> ir.Value:
    """start, start + step, start + 2 step, ...: 32-bit integers."""
    return builder.add(_spread_low(builder, start), builder.mul(_spread_low(builder, step), _COUNT))
