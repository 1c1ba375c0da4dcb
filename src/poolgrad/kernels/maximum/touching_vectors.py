"""Windows that lie side by side, k = s, eight of them at once: each column of their output asks for its gradient.

Eight neighbouring windows are eight gradients and eight indices as they lie in memory. Both are repeated, once for each
column of a window, so that every element of a line has the gradient and the index of its window in its own lane. Where
the index names the element's place, the gradient stays; elsewhere there is a zero. That is done for all lines of the
windows with the same vectors, and nothing is shuffled after it.

Places are counted from the first element of the eight windows on, as distances: the same constants serve all windows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..jit.matching import (
    high_halves,
    load_ints,
    low_halves,
    smaller,
    splat_int,
    spread,
    subtract_ints,
)
from ..jit.memory import inlined_piece
from ..jit.vectors import _part, _store, add, lanes_streamed, load, splat, stream_vector
from ..record import INT64, LANES

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


@inlined_piece
def eight_distances(indices: int, code: int, i: int, start: int) -> tuple[Any, Any]:
    """How far the indices of eight windows are from the place ``start``, and what they have beyond 32 bits."""
    beyond = splat_int(0)
    if code == INT64:
        index = low_halves(indices, i)
        beyond = high_halves(indices, i)
    else:
        index = load_ints(indices, i)
    return subtract_ints(index, splat_int(start)), beyond


@inlined_piece
def eight_windows(grads: int, indices: int, code: int, i: int, start: int, unit: Any) -> tuple[Any, Any, Any]:
    """The same with their gradients in front."""
    distance, beyond = eight_distances(indices, code, i, start)
    return add(splat(unit), load(grads, i, unit)), distance, beyond  # as a sum would begin


@inlined_piece
def on_first_line(distance: Any, windows: Any, width: Any, stride: int) -> Any:
    """How far indices are from where their windows begin, less the lines in between. That is less than ``stride`` if an
    index names a place in its window, and no less if not."""
    inside = subtract_ints(distance, windows)
    for _ in range(stride - 1):
        inside = smaller(inside, subtract_ints(inside, width))  # as unsigned integers: never below the first line
    return inside


@intrinsic
def named(typing_context: Any, gradients: types.Type, distances: types.Type, line: types.Type) -> Any:
    """The elements of a line, as vectors: the gradients whose distance is the element's own, and zeros.

    ``line`` is the distance of the first of them."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        start, kept = spread(builder, builder.trunc(args[2], _INT32)), []
        pairs = zip(*(cgutils.unpack_tuple(builder, arg) for arg in args[:2]), strict=True)
        for i, (gradient, distance) in enumerate(pairs):
            lanes = ir.Constant(distance.type, list(range(i * LANES, (i + 1) * LANES)))
            here = builder.icmp_unsigned("==", distance, builder.add(start, lanes))
            kept.append(builder.select(here, gradient, ir.Constant(gradient.type, [0.0] * LANES)))
        return context.make_tuple(builder, gradients, kept)

    return gradients(gradients, distances, types.int64), generate


def _line_writer(write: Any) -> Any:
    @intrinsic
    def put_line(typing_context: Any, base: types.Type, index: types.Type, vectors: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            for i, vector in enumerate(cgutils.unpack_tuple(builder, args[2])):
                write(builder, args[0], builder.add(args[1], ir.Constant(_INT64, i * LANES)), vector)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, vectors), generate

    return put_line


# Vectors one behind the other, from an index on; streams need an address that is a multiple of 16 bytes.
store_line, stream_line = _line_writer(_store), _line_writer(stream_vector)


@intrinsic
def stream_part(
    typing_context: Any, base: types.Type, index: types.Type, vectors: types.Type, number: types.Type
) -> Any:
    """The first of their elements, whole multiples of 16 bytes."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        for i, vector in enumerate(cgutils.unpack_tuple(builder, args[2])):
            lanes = lanes_streamed(vector.type)
            for start in range(0, LANES, lanes):
                first = ir.Constant(_INT64, i * LANES + start)
                with builder.if_then(builder.icmp_signed(">", args[3], first)):
                    stream_vector(builder, args[0], builder.add(args[1], first), _part(builder, vector, start, lanes))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, vectors, types.int64), generate
