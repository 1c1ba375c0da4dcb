"""Pictures of calls: what arrays are made of, and which objects the other arguments are, as a sequence of integers.

Equal pictures mean equal calls, as long as the objects live that the first was drawn from. Drawing one takes a fraction
of the time in which Python reads shapes and strides.
"""

from __future__ import annotations

from ..jit.memory import inlined_piece, piece, read_i32, read_i64, write_i64
from .layout import DTYPE, FLAGS, ITEMS, LENGTH, MOST_ITEMS, RANK, SHAPE, STRIDES, TYPE, WRITEABLE

UNDRAWN = 0


@piece
def draw(target: int, at: int, thing: int, tuple_type: int, array_type: int) -> int:
    """Add an object to the picture, and return where the next begins; UNDRAWN if it can't be drawn."""
    kind = read_i64(thing, TYPE)
    write_i64(target, at, kind)
    if kind == tuple_type:
        length = read_i64(thing, LENGTH)
        if length > MOST_ITEMS:
            return UNDRAWN
        write_i64(target, at + 8, length)
        for i in range(length):
            write_i64(target, at + 16 + 8 * i, read_i64(thing, ITEMS + 8 * i))
        return at + 16 + 8 * length
    if kind == array_type:
        rank = read_i32(thing, RANK)
        if rank > MOST_ITEMS:
            return UNDRAWN
        shape, strides = read_i64(thing, SHAPE), read_i64(thing, STRIDES)
        write_i64(target, at + 8, rank + (read_i32(thing, FLAGS) & WRITEABLE))
        write_i64(target, at + 16, read_i64(thing, DTYPE))
        for i in range(rank):
            write_i64(target, at + 24 + 16 * i, read_i64(shape, 8 * i))
            write_i64(target, at + 32 + 16 * i, read_i64(strides, 8 * i))
        return at + 24 + 16 * rank
    write_i64(target, at + 8, thing)
    return at + 16


@piece
def draw_call(target: int, types: int, threads: int, call: int, grad: int, x: int, indices: int, out: int) -> int:
    """Draw the number of threads and five objects; the length in bytes, or UNDRAWN.

    ``types`` points to where the types of tuples and arrays are: they differ from process to process.
    """
    tuple_type, array_type = read_i64(types, 0), read_i64(types, 8)
    write_i64(target, 0, threads)
    at = 8
    for thing in (call, grad, x, indices, out):
        at = draw(target, at, thing, tuple_type, array_type)
        if at == UNDRAWN:
            break
    return at


def fingerprint(target: int, types: int, threads: int, call: int, grad: int, x: int, indices: int, out: int) -> int:
    """A number that equal pictures share, and others hardly ever. Length and picture are left at ``target``."""
    picture = target + 8
    length = draw_call(picture, types, threads, call, grad, x, indices, out)
    write_i64(target, 0, length)
    mixed = length
    for at in range(0, length, 8):
        mixed = (mixed ^ read_i64(picture, at)) * 0x9E3779B97F4A7C1
        mixed ^= mixed >> 29
    return mixed


@inlined_piece
def same_bytes(one: int, other: int, length: int) -> bool:
    at = 0
    while at < length and read_i64(one, at) == read_i64(other, at):
        at += 8
    return at >= length
