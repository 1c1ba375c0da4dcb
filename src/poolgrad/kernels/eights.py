"""Eight vectors at a time: at eight addresses, and as the rows or columns of a square.

One step of compiled code here stands for eight, which Numba would have to look at one by one.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .halves import load_bfloats_vector, load_halves_vector, store_bfloats_vector, store_halves_vector
from .record import LANES
from .vectors import Vector, _load, _store, _stream, pointer_to

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_ADDRESSES = types.UniTuple(types.int64, LANES)


@intrinsic
def eight_at(typing_context: Any, table: types.Type) -> Any:
    """Eight 64-bit integers, as a tuple."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        places = [pointer_to(builder, args[0], ir.Constant(_INT64, i), _INT64, _INT64) for i in range(LANES)]
        return context.make_tuple(builder, _ADDRESSES, [builder.load(place, align=1) for place in places])

    return _ADDRESSES(types.int64), generate


def _loader(load_one: Any) -> Any:
    @intrinsic
    def load_each(typing_context: Any, addresses: types.Type, index: types.Type, unit: types.Type) -> Any:
        """A vector from each of eight addresses, from an index on."""
        vector = Vector(unit)
        vectors = types.UniTuple(vector, LANES)

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            kind = context.get_value_type(vector)
            loaded = [load_one(builder, base, args[1], kind) for base in cgutils.unpack_tuple(builder, args[0])]
            return context.make_tuple(builder, vectors, loaded)

        return vectors(addresses, types.int64, unit), generate

    return load_each


def _storer(store_one: Any) -> Any:
    @intrinsic
    def store_each(typing_context: Any, addresses: types.Type, index: types.Type, vectors: types.Type) -> Any:
        """A vector to each of eight addresses, from an index on."""

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            pairs = zip(cgutils.unpack_tuple(builder, args[0]), cgutils.unpack_tuple(builder, args[2]), strict=True)
            for base, vector in pairs:
                store_one(builder, base, args[1], vector)
            return context.get_dummy_value()

        return types.void(addresses, types.int64, vectors), generate

    return store_each


load_each, store_each = _loader(_load), _storer(_store)
load_each_half, store_each_half = _loader(load_halves_vector), _storer(store_halves_vector)
load_each_bfloat, store_each_bfloat = _loader(load_bfloats_vector), _storer(store_bfloats_vector)


@intrinsic
def stream_each_pair(
    typing_context: Any, addresses: types.Type, index: types.Type, ones: types.Type, others: types.Type
) -> Any:
    """Two neighbouring vectors to each of eight addresses, past the caches; as ``stream`` in vectors.py."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        bases, ones, others = (cgutils.unpack_tuple(builder, args[i]) for i in (0, 2, 3))
        behind = builder.add(args[1], ir.Constant(_INT64, LANES))
        for base, one, other in zip(bases, ones, others, strict=True):
            _stream(builder, base, args[1], one)
            _stream(builder, base, behind, other)
        return context.get_dummy_value()

    return types.void(addresses, types.int64, ones, others), generate


@intrinsic
def divide_each(typing_context: Any, vectors: types.Type, divisors: types.Type) -> Any:
    """Eight vectors divided by the same one. +0.0 is added, so that sums of quotients begin at +0.0."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        zero = ir.Constant(args[1].type, [0.0] * LANES)
        quotients = [builder.fdiv(vector, args[1]) for vector in cgutils.unpack_tuple(builder, args[0])]
        return context.make_tuple(builder, vectors, [builder.fadd(quotient, zero) for quotient in quotients])

    return vectors(vectors, divisors), generate


@intrinsic
def transpose(typing_context: Any, vectors: types.Type) -> Any:
    """Eight vectors as the rows of a square: its columns."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        rows = cgutils.unpack_tuple(builder, args[0])

        def mixed(one: ir.Value, other: ir.Value, lanes: list[int]) -> ir.Value:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, LANES), lanes))

        def both(one: ir.Value, other: ir.Value, size: int, span: int) -> tuple[ir.Value, ir.Value]:
            """Pieces of both in turn, of ``size`` lanes each: from the lower and the upper half of every ``span``."""
            starts = [range(first, first + span // 2, size) for first in range(0, LANES, span)]
            lower = [piece for some in starts for start in some for piece in (start, start + LANES)]
            lanes = [start + lane for start in lower for lane in range(size)]
            return mixed(one, other, lanes), mixed(one, other, [lane + span // 2 for lane in lanes])

        pairs = [both(rows[i], rows[i + 1], 1, 4) for i in range(0, LANES, 2)]
        columns: list[Any] = [None] * LANES
        for half in (0, 1):
            upper, lower = both(pairs[0][half], pairs[1][half], 2, 4), both(pairs[2][half], pairs[3][half], 2, 4)
            for i in (0, 1):
                columns[2 * half + i], columns[2 * half + i + 4] = both(upper[i], lower[i], 4, 8)
        return context.make_tuple(builder, signature.return_type, columns)

    return vectors(vectors), generate
