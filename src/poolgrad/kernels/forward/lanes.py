"""Eight planes at a time, one in each lane of a vector: how their rows come into scratch, and go out of it.

A pixel is a vector, with one number of each plane. Planes whose rows are runs of memory are transposed on the way,
channels that lie side by side are pixels as they are, and everything else is gathered element by element. From then on
windows of any kind are plain sums or comparisons of pixels (rows.py): the geometry is looked up once for all eight
planes, and no row has tails.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..jit.halves import (
    load_bfloats,
    load_halves,
    load_quads_of_bfloats,
    load_quads_of_halves,
    store_bfloats,
    store_halves,
)
from ..jit.memory import inlined_piece, piece, piece_named, write_f32
from ..jit.vectors import itemsize, load, load_quads, read, store, transpose, transpose_quads, write
from ..record import BY_ELEMENTS, FLOAT64, LANES, READ_BFLOATS, READ_FLOATS
from ..rows import load_row, store_row

# Neighbours of a plane that become pixels at once.
QUAD = LANES // 2


@inlined_piece
def size_of_half(unit: Any) -> int:
    """Bytes of a float16 or bfloat16, as ``itemsize`` tells of the compute type."""
    return 2


@inlined_piece
def next_plane(plan: Any, steps: Any, at: int, channel: int, p: int) -> tuple[int, int]:
    """Where the plane after number p begins, and its channel. The last one of all stands in for those that are not
    there."""
    if p + 1 >= plan.planes:
        return at, channel
    if channel + 1 == plan.channels:
        return at + steps[0] - channel * steps[1], channel - channel
    return at + steps[1], channel + 1


@piece
def planes_of(plan: Any, base: int, steps: Any, number: int) -> Any:
    """Where the eight planes of a group begin. Of pixels the last channels of an image are laid back over their
    predecessors."""
    p, channels = number * LANES, plan.channels
    image, channel = p // channels, p % channels
    if plan.pixel:
        groups = -(-channels // LANES)
        image, channel = number // groups, min(number % groups * LANES, channels - LANES)
        p = image * channels + channel
    a = base + image * steps[0] + channel * steps[1]
    b, channel = next_plane(plan, steps, a, channel, p)
    c, channel = next_plane(plan, steps, b, channel, p + 1)
    d, channel = next_plane(plan, steps, c, channel, p + 2)
    e, channel = next_plane(plan, steps, d, channel, p + 3)
    f, channel = next_plane(plan, steps, e, channel, p + 4)
    g, channel = next_plane(plan, steps, f, channel, p + 5)
    h, channel = next_plane(plan, steps, g, channel, p + 6)
    return a, b, c, d, e, f, g, h


@inlined_piece
def offset_of(steps: Any, row: Any, left: int) -> int:
    """From the beginning of a plane to window ``left`` of one of its rows of windows."""
    return row[0] * steps[2] + row[1] * steps[3] + left * steps[4]


def lanes_taker(name: str, take: Any) -> Any:
    @piece_named(name)
    def take_in(planes: Any, offset: int, start: int, n: int, target: int, unit: Any) -> None:
        """n neighbours of each of eight planes, at least four of them, as pixels; the last four are laid back."""
        a, b, c, d, e, f, g, h = planes
        for begin in range(0, n, QUAD):
            i = min(begin, n - QUAD)
            at = start + i
            pixels = transpose_quads(
                (
                    take(a + offset, e + offset, at, unit),
                    take(b + offset, f + offset, at, unit),
                    take(c + offset, g + offset, at, unit),
                    take(d + offset, h + offset, at, unit),
                )
            )
            at = LANES * i
            store(target, at, pixels[0])
            store(target, at + LANES, pixels[1])
            store(target, at + 2 * LANES, pixels[2])
            store(target, at + 3 * LANES, pixels[3])

    return take_in


def pixels_taker(name: str, take: Any) -> Any:
    @piece_named(name)
    def take_in(source: int, step: int, n: int, target: int, unit: Any) -> None:
        """n pixels whose channels lie side by side."""
        for i in range(n):
            store(target, LANES * i, take(source + i * step, 0, unit))

    return take_in


@inlined_piece
def turned(source: int, at: int, step: int, unit: Any) -> Any:
    """Eight vectors from scratch, ``step`` numbers apart, as the rows of a square: its columns."""
    return transpose(
        (
            load(source, at, unit),
            load(source, at + step, unit),
            load(source, at + 2 * step, unit),
            load(source, at + 3 * step, unit),
            load(source, at + 4 * step, unit),
            load(source, at + 5 * step, unit),
            load(source, at + 6 * step, unit),
            load(source, at + 7 * step, unit),
        )
    )


def lanes_giver(name: str, put: Any) -> Any:
    @piece_named(name)
    def give_out(planes: Any, offset: int, source: int, step: int, n: int, unit: Any) -> None:
        """n pixels, at least a vector of them, as neighbours in each of eight planes."""
        a, b, c, d, e, f, g, h = planes
        for begin in range(0, n, LANES):
            i = min(begin, n - LANES)
            rows = turned(source, step * i, step, unit)
            put(a + offset, i, rows[0])
            put(b + offset, i, rows[1])
            put(c + offset, i, rows[2])
            put(d + offset, i, rows[3])
            put(e + offset, i, rows[4])
            put(f + offset, i, rows[5])
            put(g + offset, i, rows[6])
            put(h + offset, i, rows[7])

    return give_out


@inlined_piece
def _follow(planes: Any, apart: int) -> bool:
    """Whether eight planes follow each other in such steps. Where there are fewer, the last one stands for others."""
    one, two, three = planes[1] - planes[0], planes[2] - planes[1], planes[3] - planes[2]
    four, five, six, seven = planes[4] - planes[3], planes[5] - planes[4], planes[6] - planes[5], planes[7] - planes[6]
    return one == two == three == four == apart and five == six == seven == apart


def few_giver(name: str, put: Any, stored: Any) -> Any:
    """What gives out numbers of so many bytes."""

    @piece_named(name)
    def give_out(planes: Any, offset: int, source: int, step: int, n: int, edge: int, unit: Any) -> bool:
        """Fewer pixels than a vector has numbers, if they are one run of memory for all eight planes; else they are but
        one behind the other in scratch. What a plane's vector has too much, the next one's is written over."""
        rows = turned(source, 0, step, unit)
        store(edge, 0, rows[0])
        store(edge, n, rows[1])
        store(edge, 2 * n, rows[2])
        store(edge, 3 * n, rows[3])
        store(edge, 4 * n, rows[4])
        store(edge, 5 * n, rows[5])
        store(edge, 6 * n, rows[6])
        store(edge, 7 * n, rows[7])
        if not _follow(planes, n * stored(unit)):
            return False
        for i in range(0, LANES * n, LANES):
            put(planes[0] + offset, i, load(edge, i, unit))
        return True

    return give_out


def pixels_giver(name: str, put: Any) -> Any:
    @piece_named(name)
    def give_out(target: int, steps: int, source: int, step: int, n: int, unit: Any) -> None:
        for i in range(n):
            put(target + i * steps, 0, load(source, step * i, unit))

    return give_out


_take_floats, _take_pixels = lanes_taker("lanes_take_floats", load_quads), pixels_taker("lanes_take_pixels", load)
_take_halves = lanes_taker("lanes_take_halves", load_quads_of_halves)
_take_pixels_of_halves = pixels_taker("lanes_take_pixels_of_halves", load_halves)
_take_bfloats = lanes_taker("lanes_take_bfloats", load_quads_of_bfloats)
_take_pixels_of_bfloats = pixels_taker("lanes_take_pixels_of_bfloats", load_bfloats)
_give_floats, _give_pixels = lanes_giver("lanes_give_floats", store), pixels_giver("lanes_give_pixels", store)
_give_halves = lanes_giver("lanes_give_halves", store_halves)
_give_pixels_of_halves = pixels_giver("lanes_give_pixels_of_halves", store_halves)
_give_bfloats = lanes_giver("lanes_give_bfloats", store_bfloats)
_give_few = few_giver("lanes_give_few", store, itemsize)
_give_few_halves = few_giver("lanes_give_few_halves", store_halves, size_of_half)
_give_few_bfloats = few_giver("lanes_give_few_bfloats", store_bfloats, size_of_half)
_give_pixels_of_bfloats = pixels_giver("lanes_give_pixels_of_bfloats", store_bfloats)


@piece
def _gather(plan: Any, planes: Any, offset: int, start: int, n: int, target: int, edge: int, unit: Any) -> None:
    step, nothing = plan.grad_steps[4], -unit  # rows are widened by an addition, and -0.0 leaves zeros their signs
    for lane in range(LANES):
        load_row(planes[lane] + offset + start * step, step, plan.code, plan.rounding, edge, n, nothing)
        for i in range(n):
            write(target, LANES * i + lane, read(edge, i, unit))


@piece
def take_row(plan: Any, planes: Any, offset: int, start: int, n: int, target: int, edge: int, unit: Any) -> None:
    """Elements ``start`` to ``start + n`` of a row of each of eight planes, as pixels."""
    if plan.pixel:
        source, step = planes[0] + offset + start * plan.grad_steps[4], plan.grad_steps[4]
        if plan.reading == READ_FLOATS:
            _take_pixels(source, step, n, target, unit)
        elif plan.reading == READ_BFLOATS:
            _take_pixels_of_bfloats(source, step, n, target, unit)
        else:
            _take_pixels_of_halves(source, step, n, target, unit)
    elif plan.reading == BY_ELEMENTS or n < QUAD:
        _gather(plan, planes, offset, start, n, target, edge, unit)
    elif plan.reading == READ_FLOATS:
        _take_floats(planes, offset, start, n, target, unit)
    elif plan.reading == READ_BFLOATS:
        _take_bfloats(planes, offset, start, n, target, unit)
    else:
        _take_halves(planes, offset, start, n, target, unit)


@piece
def _scatter(plan: Any, planes: Any, offset: int, source: int, n: int, edge: int, unit: Any) -> None:
    step = LANES * plan.vectors
    for lane in range(LANES):
        for i in range(n):
            value = read(source, step * i + lane, unit)
            if plan.code == FLOAT64:
                write(edge, i, value)
            else:  # also of planes so large that places need the bits of float64
                write_f32(edge, 4 * i, types.float32(value))
        store_row(planes[lane] + offset, plan.result_steps[4], plan.code, edge, n, unit)


@piece
def give_row(plan: Any, planes: Any, offset: int, source: int, n: int, edge: int, unit: Any) -> None:
    """n pixels into the results of eight planes, each number rounded once."""
    step = LANES * plan.vectors
    if plan.pixel:
        target, steps = planes[0] + offset, plan.result_steps[4]
        if plan.writing == READ_FLOATS:
            _give_pixels(target, steps, source, step, n, unit)
        elif plan.writing == READ_BFLOATS:
            _give_pixels_of_bfloats(target, steps, source, step, n, unit)
        else:
            _give_pixels_of_halves(target, steps, source, step, n, unit)
    elif plan.writing == BY_ELEMENTS:
        _scatter(plan, planes, offset, source, n, edge, unit)
    elif n < LANES:
        if plan.writing == READ_FLOATS:
            done = _give_few(planes, offset, source, step, n, edge, unit)
        elif plan.writing == READ_BFLOATS:
            done = _give_few_bfloats(planes, offset, source, step, n, edge, unit)
        else:
            done = _give_few_halves(planes, offset, source, step, n, edge, unit)
        for lane in range(0 if done else LANES):
            row = edge + lane * n * itemsize(unit)
            store_row(planes[lane] + offset, plan.result_steps[4], plan.code, row, n, unit)
    elif plan.writing == READ_FLOATS:
        _give_floats(planes, offset, source, step, n, unit)
    elif plan.writing == READ_BFLOATS:
        _give_bfloats(planes, offset, source, step, n, unit)
    else:
        _give_halves(planes, offset, source, step, n, unit)
