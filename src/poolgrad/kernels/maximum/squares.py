"""Squares of four pixels that ask the same windows, in ascending order, whether an index names one of them.

An index is loaded once for all four, eight channels at a time, and sums stay in registers meanwhile. An index in its
window is found once, by the one pixel that it names: so what is found is counted, and if anything is missing, an index
lies elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from ..geometry import COLUMNS, ROWS
from ..jit.halves import Convert
from ..jit.instructions import instruction
from ..jit.memory import inlined_piece, piece_named, read_i64
from ..jit.vectors import pointer_to, prefetch_near, splat, spread
from ..record import LANES

# Pixels along each side.
SIDE = 2
PIXELS = [(h, w) for h in range(SIDE) for w in range(SIDE)]
_INT32 = ir.IntType(32)


class Square(NamedTuple):
    """Where four pixels lie, and their places in the plane. What is not in the plane is written to a stand-in; it has
    the place of a neighbour, so that whatever it finds was found anyway."""

    targets: tuple[int, int, int, int]
    places: tuple[int, int, int, int]


@inlined_piece
def square_at(plan: Any, corner: tuple[int, int], place: int, at: int, down: int, across: int, stand_in: int) -> Square:
    """The square with this corner in a layer that begins at a place; its pixels lie from an address on, in steps."""
    (h, w), height, width = corner, plan.size[ROWS], plan.size[COLUMNS]
    top, bottom, left, right = h >= 0, h + 1 < height, w >= 0, w + 1 < width
    upper, lower = place + (h if top else h + 1) * width, place + (h + 1 if bottom else h) * width
    former, latter = w if left else w + 1, w + 1 if right else w
    targets = (
        at if top and left else stand_in,
        at + across if top and right else stand_in,
        at + down if bottom and left else stand_in,
        at + down + across if bottom and right else stand_in,
    )
    return Square(targets, (upper + former, upper + latter, lower + former, lower + latter))


class Windows(NamedTuple):
    """Tables of the addresses of indices and gradients: of windows that hold one of four pixels, and of those that the
    next squares below ask first. Several rows of windows are read side by side, which is no pattern for processors."""

    table: int
    number: int
    soon: int
    coming: int
    stored: int  # bytes of a gradient


def held_by_windows(kernel: int, stride: int) -> list[list[bool]]:
    """Which pixels of a square are held by each window that holds any of them; away from the borders, where squares
    begin with windows, or would."""
    starts = range(-((kernel - 1) // stride) * stride, SIDE, stride)
    return [
        [top <= h < top + kernel and left <= w < left + kernel for h, w in PIXELS] for top in starts for left in starts
    ]


class _Writer:
    """Writes the instructions by which a square asks windows whose indices have so many bits."""

    def __init__(self, builder: ir.IRBuilder, bits: int, widen: Convert | None, c: ir.Value, places: Any) -> None:
        self.builder, self.widen, self.c = builder, widen, c
        self.indices = ir.VectorType(ir.IntType(bits), LANES)
        self.places = [spread(builder, builder.trunc(place, _INT32)) for place in places]

    def load(self, base: ir.Value, kind: ir.VectorType) -> ir.Value:
        return self.builder.load(pointer_to(self.builder, base, self.c, kind.element, kind), align=1)

    def ask(self, window: Any, held: list[bool], sums: Any, answers: Any) -> tuple[Any, Any]:
        """The sums of all pixels, with eight gradients of a window at those of ``held`` that its indices name. Answers
        are how many indices did, and all bits that any index has: beyond 32 of them it names no place."""
        builder, (indices, grads), (found, bits) = self.builder, window, answers
        stored = self.load(indices, self.indices)
        gradient = self.load(grads, ir.VectorType(ir.IntType(16), LANES) if self.widen else sums[0].type)
        gradient = self.widen(builder, gradient) if self.widen else gradient
        index, named, sums = builder.trunc(stored, self.places[0].type), None, list(sums)
        for p, place in enumerate(self.places):
            if held[p]:
                here = builder.icmp_unsigned("==", index, place)
                sums[p] = builder.select(here, builder.fadd(sums[p], gradient), sums[p])
                named = builder.or_(named, here) if named else here
        found = builder.add(found, builder.zext(named, found.type))
        return sums, (found, builder.or_(bits, stored) if stored.type == bits.type else bits)


def _rule(windows: types.Type, c: types.Type, places: types.Type, sums: types.Type, answers: types.Type) -> Any:
    return types.Tuple([*sums.types, *answers.types])(windows, types.int64, places, sums, answers)


def _window_asker(bits: int, widen: Convert | None) -> Any:
    def ask_window(
        builder: ir.IRBuilder, window: Any, c: ir.Value, places: Any, sums: Any, answers: Any
    ) -> list[ir.Value]:
        """Any window, for all pixels: for those that it does not hold, in vain."""
        sums, answers = _Writer(builder, bits, widen, c, places).ask(window, [True] * len(PIXELS), sums, answers)
        return [*sums, *answers]

    return instruction(_rule)(ask_window)


def _table_asker(bits: int, widen: Convert | None, held: list[list[bool]]) -> Any:
    def ask_table(
        builder: ir.IRBuilder, table: ir.Value, c: ir.Value, places: Any, sums: Any, answers: Any
    ) -> list[ir.Value]:
        """As many windows of a table as are known to hold these pixels."""
        writer = _Writer(builder, bits, widen, c, places)
        for i, pixels in enumerate(held):
            window = [read_i64.write(builder, table, ir.Constant(table.type, 16 * i + 8 * j)) for j in range(2)]
            sums, answers = writer.ask(window, pixels, sums, answers)
        return [*sums, *answers]

    return instruction(_rule)(ask_table)


def square_filler(name: str, bits: int, widen: Convert | None, put: Any, held: list[list[bool]]) -> Any:
    """What fills a square from windows of any kind; faster from those that are known to hold its pixels, if any are."""
    ask_window, ask_table, number = _window_asker(bits, widen), _table_asker(bits, widen, held), len(held)

    @piece_named(name)
    def fill(square: Square, windows: Windows, channels: int, answers: Any, unit: Any) -> Any:
        """All channels; the last vector of them is laid back over the one before."""
        (one_at, two_at, three_at, four_at), places = square.targets, square.places
        zero, c, (found, bits_of_all) = splat(unit), channels - channels, answers
        while c < channels:
            c = min(c, channels - LANES)
            sums, answers = (zero, zero, zero, zero), (found, bits_of_all)
            if windows.number == number:
                one, two, three, four, found, bits_of_all = ask_table(windows.table, c, places, sums, answers)
            else:
                one = two = three = four = zero
                for i in range(windows.number):
                    window = read_i64(windows.table, 16 * i), read_i64(windows.table, 16 * i + 8)
                    sums, answers = (one, two, three, four), (found, bits_of_all)
                    one, two, three, four, found, bits_of_all = ask_window(window, c, places, sums, answers)
            for i in range(windows.coming):
                prefetch_near(read_i64(windows.soon, 16 * i) + c * (bits // 8), 0, unit)
                prefetch_near(read_i64(windows.soon, 16 * i + 8) + c * windows.stored, 0, unit)
            put(one_at, c, one)
            put(two_at, c, two)
            put(three_at, c, three)
            put(four_at, c, four)
            c += LANES
        return found, bits_of_all

    return fill
