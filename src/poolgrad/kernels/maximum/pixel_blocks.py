"""Blocks of four pixels and the windows that hold them, eight channels at a time.

A block begins where a window does, or would. Which of its pixels a window holds is the same in every block, so the
comparisons are written out one by one: each index and each gradient is loaded once for all pixels of the block, and
their sums stay in registers meanwhile.

Addresses and places come from a table of 64-bit integers, so a block at a border is like any other: where there is no
window or no pixel, the table names a stand-in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..jit.halves import Convert
from ..jit.matching import _INT32, _INT64, _INTS, mask, spread
from ..jit.vectors import Vector, _store, ask_for, pointer_to
from ..record import BLOCK_SIDE, LANES

_LONGS, _SHORTS = ir.VectorType(_INT64, LANES), ir.VectorType(ir.IntType(16), LANES)
# From the storage type to the compute type, and back; None if they are the same.
Conversions = tuple[Convert, Convert] | None


class Block(NamedTuple):
    """Squares of BLOCK_SIDE by BLOCK_SIDE pixels for one kind of windows. Everything counts along one axis."""

    kernel: int
    stride: int
    own: int  # windows that begin in a block
    before: int  # windows that begin earlier and reach into it
    checked: int  # from this one on, ``own`` windows have their indices checked with it: those in the middle
    entries: int  # of its table

    def holds(self, window: tuple[int, int], pixel: tuple[int, int]) -> bool:
        offsets = (p - (o - self.before) * self.stride for o, p in zip(window, pixel, strict=True))
        return all(0 <= offset < self.kernel for offset in offsets)

    def checks(self, window: tuple[int, int]) -> bool:
        return all(self.checked <= o < self.checked + self.own for o in window)

    def is_new(self, window: tuple[int, int]) -> bool:
        """Whether no block above or to the left has seen it."""
        return all(o >= self.before for o in window)


def block_for(kernel: int, stride: int) -> Block:
    own, before = BLOCK_SIDE // stride, (kernel - 1) // stride
    entries = 2 * (before + own) ** 2 + 2 * BLOCK_SIDE**2 + (kernel + 1) * own**2
    return Block(kernel, stride, own, before, (before + 1) // 2, entries)


PIXELS = [(h, w) for h in range(BLOCK_SIDE) for w in range(BLOCK_SIDE)]


class _Writer:
    """Writes the instructions for a block.

    Its table has two entries for each window, in ascending order: the addresses of its gradients and of its indices.
    Then two for each pixel: the address of its sums, and its place. Then some for each window that is checked: the
    place of its corner, the length of its rows, and the steps from row to row.
    """

    def __init__(self, block: Block, conversions: Conversions, builder: ir.IRBuilder, table: ir.Value) -> None:
        self.block, self.builder, self.table = block, builder, table
        self.widen: Convert | None = conversions[0] if conversions else None
        self.narrow: Convert | None = conversions[1] if conversions else None
        across = range(block.before + block.own)
        self.windows = [(i, j) for i in across for j in across]
        self.targets = 2 * len(self.windows)
        self.corners = self.targets + 2 * len(PIXELS)

    def entry(self, i: int) -> ir.Value:
        return self.builder.load(pointer_to(self.builder, self.table, ir.Constant(_INT64, i), _INT64, _INT64), align=8)

    def spread(self, i: int) -> ir.Value:
        return spread(self.builder, self.builder.trunc(self.entry(i), _INT32))

    def load(self, i: int, c: ir.Value, kind: ir.Type) -> ir.Value:
        return self.builder.load(pointer_to(self.builder, self.entry(i), c, kind.element, kind), align=1)

    def prefetch(self, i: int, c: ir.Value, distance: ir.Value, kind: ir.Type) -> None:
        """Ask for what lies so many bytes further."""
        further = self.builder.add(self.entry(i), distance)
        ask_for(self.builder, pointer_to(self.builder, further, c, kind.element, ir.IntType(8)))

    def is_inside(self, index: ir.Value, corner: int) -> ir.Value:
        """Where an index names a place in its window: the least distance from the beginning of any row decides."""
        least = distance = self.builder.sub(index, self.spread(corner))
        for row in range(1, self.block.kernel):
            distance = self.builder.sub(distance, self.spread(corner + 1 + row))
            least = self.builder.select(self.builder.icmp_unsigned("<", distance, least), distance, least)
        return self.builder.icmp_unsigned("<", least, self.spread(corner + 1))

    def gather(self, c: ir.Value, floats: ir.Type, is_long: bool, ahead: list[ir.Value], found: ir.Value) -> ir.Value:
        """The sums of all pixels to their targets; ``found`` where all indices that are checked are inside."""
        builder, storage = self.builder, floats if self.widen is None else _SHORTS
        places = [self.spread(self.targets + 2 * p + 1) for p in range(len(PIXELS))]
        sums = [ir.Constant(floats, [0.0] * LANES)] * len(PIXELS)
        corner = self.corners
        for i, window in enumerate(self.windows):
            gradient, stored = self.load(2 * i, c, storage), self.load(2 * i + 1, c, _LONGS if is_long else _INTS)
            if self.widen is not None:
                gradient = self.widen(builder, gradient)
            index = builder.trunc(stored, _INTS) if is_long else stored
            for p, pixel in enumerate(PIXELS):
                if self.block.holds(window, pixel):
                    named = builder.icmp_unsigned("==", index, places[p])
                    sums[p] = builder.select(named, builder.fadd(sums[p], gradient), sums[p])
            if self.block.checks(window):
                found = builder.and_(found, self.is_inside(index, corner))
                corner += self.block.kernel + 1
                if is_long:
                    fits = builder.icmp_unsigned("<", stored, ir.Constant(_LONGS, [2**32] * LANES))
                    found = builder.and_(found, fits)
            # Where windows overlap, several of their rows are read side by side, which is no pattern for the processor.
            if self.block.before and self.block.is_new(window):
                self.prefetch(2 * i, c, ahead[0], storage)
                self.prefetch(2 * i + 1, c, ahead[1], stored.type)
        for p in range(len(PIXELS)):
            total = sums[p] if self.narrow is None else self.narrow(builder, sums[p])
            _store(builder, self.entry(self.targets + 2 * p), c, total)
        return found


def gatherer(block: Block, conversions: Conversions, is_long: bool) -> Any:
    """An intrinsic for one kind of blocks, a storage type, and 64-bit indices or 32-bit ones."""

    @intrinsic
    def gather(
        typing_context: Any, table: types.Type, c: types.Type, ahead: types.Type, found: types.Type, unit: types.Type
    ) -> Any:
        """Channels c to c + 8 of a block; ``found`` where all indices were inside their windows so far.

        ``ahead`` is how many bytes the gradients and indices of the next row of blocks are away.
        """

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            table, c, distances, found, _ = args
            floats, distances = context.get_value_type(Vector(unit)), cgutils.unpack_tuple(builder, distances)
            return _Writer(block, conversions, builder, table).gather(c, floats, is_long, distances, found)

        return mask(types.int64, types.int64, ahead, mask, unit), generate

    return gather
