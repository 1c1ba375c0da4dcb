"""The gradient of the usual maxima where the channels of a pixel lie side by side: block by block of pixels.

Each element asks the windows that hold it whether their index names it, in ascending order; neighbours ask together
(pixel_blocks.py). So sums stay in registers, and halves are rounded there. An index outside its window is asked for in
vain; if there is one, these channels of the image are done again by scattering.
"""

from __future__ import annotations

from typing import Any

from ..emitting import can_stream
from ..jit.halves import OF_BFLOATS, OF_HALVES
from ..jit.matching import all_lanes, equal, splat_int
from ..jit.memory import inlined_piece, piece, piece_named, read_i64, write_i64
from ..jit.vectors import fence, load, store, stream
from ..record import BFLOAT16, BLOCK_SIDE, FLOAT16, INT64, LANES, LONGEST_BLOCK_TABLE, NOTHING, PIXEL_BLOCKS
from ..runtime.stopping import shall_stop_at
from .fallback import scatter_planes
from .pixel_blocks import Block, Conversions, block_for, gatherer
from .planes import first_plane, plane_at, share_of

# An index that no pixel has: planes are smaller.
NOWHERE = 2**31 - 1
# How pieces for halves are called, and what widens and narrows these.
_OF_STORAGE = {FLOAT16: ("_halves", OF_HALVES), BFLOAT16: ("_bfloats", OF_BFLOATS)}


@piece
def fill_stand_in(stand_in: int, code: int, channels: int) -> None:
    """The indices of a window that does not exist; numbers at the same addresses will do for its gradients."""
    for c in range(channels):
        write_i64(stand_in, 8 * c, NOWHERE if code == INT64 else NOWHERE << 32 | NOWHERE)


@inlined_piece
def is_window(plan: Any, oh: int, ow: int) -> bool:
    return 0 <= oh < plan.out[1] and 0 <= ow < plan.out[2]


@inlined_piece
def is_pixel(plan: Any, h: int, w: int) -> bool:
    return 0 <= h < plan.size[1] and 0 <= w < plan.size[2]


@inlined_piece
def corner_of(plan: Any, a: int, b: int) -> tuple[int, int]:
    """Where the windows a and b along H and W begin, and so does a block."""
    return a * plan.stride[1] - plan.pad[1], b * plan.stride[2] - plan.pad[2]


@inlined_piece
def address_of(plan: Any, target: int, h: int, w: int) -> int:
    return target + h * plan.result_steps[3] + w * plan.result_steps[4]


@piece
def list_corner(plan: Any, oh: int, ow: int, table: int) -> None:
    """Which places are inside a window; all of them if it does not exist."""
    top, left = corner_of(plan, oh, ow)
    bottom, right = min(top + plan.kernel[1], plan.size[1]), min(left + plan.kernel[2], plan.size[2])
    top, left = max(top, 0), max(left, 0)
    exists = is_window(plan, oh, ow)
    write_i64(table, 0, top * plan.size[2] + left if exists else 0)
    write_i64(table, 8, right - left if exists else -1)
    for row in range(1, plan.kernel[1]):  # a row that is cut off stands for the one before
        write_i64(table, 8 + 8 * row, plan.size[2] if top + row < bottom else 0)


@piece
def list_block(
    plan: Any, block: Block, a: int, b: int, inputs: tuple[int, int], target: int, room: tuple[int, int], table: int
) -> None:
    """The table of the block at windows a and b. Sums go to their pixels, or if there is no target to ``room``.

    ``room`` is where sums and a window stand that stand in for others.
    """
    sums, stand_in = room
    for oh in range(a - block.before, a + block.own):
        for ow in range(b - block.before, b + block.own):
            exists = is_window(plan, oh, ow)
            grads = inputs[0] + oh * plan.grad_steps[3] + ow * plan.grad_steps[4]
            indices = inputs[1] + oh * plan.index_steps[3] + ow * plan.index_steps[4]
            write_i64(table, 0, grads if exists else stand_in)
            write_i64(table, 8, indices if exists else stand_in)
            table += 16
    top, left = corner_of(plan, a, b)
    for h in range(top, top + BLOCK_SIDE):
        for w in range(left, left + BLOCK_SIDE):
            write_i64(table, 0, address_of(plan, target, h, w) if target != 0 and is_pixel(plan, h, w) else sums)
            write_i64(table, 8, h * plan.size[2] + w)
            sums += plan.together * plan.itemsize
            table += 16
    for i in range(block.checked, block.checked + block.own):
        for j in range(block.checked, block.checked + block.own):
            list_corner(plan, a - block.before + i, b - block.before + j, table)
            table += 8 * (block.kernel + 1)


@piece
def add_entries(table: int, others: int, sign: int, number: int) -> None:
    for at in range(0, 8 * number, 8):
        write_i64(table, at, read_i64(table, at) + sign * read_i64(others, at))


@piece
def stream_block(plan: Any, a: int, b: int, target: int, sums: int, channels: int, unit: Any) -> None:
    """The sums of a block to its pixels, one after the other: what goes past the caches must fill its lines at once."""
    top, left = corner_of(plan, a, b)
    for h in range(top, top + BLOCK_SIDE):
        for w in range(left, left + BLOCK_SIDE):
            if is_pixel(plan, h, w):
                at = address_of(plan, target, h, w)
                for c in range(0, channels - LANES + 1, LANES):
                    stream(at, c, load(sums, c, unit))
                if channels % LANES > 0:
                    store(at, channels - LANES, load(sums, channels - LANES, unit))
            sums += plan.together * plan.itemsize


def _for_windows(kernel: int, stride: int, conversions: Conversions, suffix: str) -> tuple[Block, Any]:
    """Blocks for one kind of windows, and the piece that makes one of them from its table."""
    block = block_for(kernel, stride)
    gather_short, gather_long = gatherer(block, conversions, is_long=False), gatherer(block, conversions, is_long=True)

    @piece_named(f"gather_block_{kernel}_{stride}{suffix}")
    def gather_block(table: int, code: int, channels: int, ahead: tuple[int, int], found: Any, unit: Any) -> Any:
        """Eight and more channels; the last vector of them is laid back over the one before."""
        if code == INT64:
            for c in range(0, channels, LANES):
                found = gather_long(table, min(c, channels - LANES), ahead, found, unit)
        else:
            for c in range(0, channels, LANES):
                found = gather_short(table, min(c, channels - LANES), ahead, found, unit)
        return found

    return block, gather_block


@inlined_piece
def gather_image(
    block: Block,
    gather_block: Any,
    plan: Any,
    inputs: tuple[int, int],
    target: int,
    channels: int,
    room: tuple[int, int],
    table: int,
    unit: Any,
) -> bool:
    """Some channels of an image; whether all indices are inside their windows.

    Between the borders a table differs from the one before by the same steps all along a row.
    """
    steps, past = table + 8 * LONGEST_BLOCK_TABLE, plan.plain and plan.streaming and can_stream(plan, target)
    direct = 0 if past else target
    ahead = (block.own * plan.grad_steps[3], block.own * plan.index_steps[3])
    found = equal(splat_int(0), splat_int(0))
    # From the first block that has pixels, or windows to check, to the last one.
    spare = block.before - block.checked
    a, line = min(spare, plan.pad[1] // block.stride), 0
    lines = (plan.size[1] // BLOCK_SIDE + 1) * share_of(plan, channels)
    while corner_of(plan, a, 0)[0] < plan.size[1] or a - spare < plan.out[1]:
        if shall_stop_at(plan, line, lines, 1):
            return True
        b, listed = min(spare, plan.pad[2] // block.stride), False
        while corner_of(plan, 0, b)[1] < plan.size[2] or b - spare < plan.out[2]:
            first, last = corner_of(plan, 0, b - block.before)[1], corner_of(plan, 0, b + block.own - 1)[1]
            between = first >= 0 and last + block.kernel <= plan.size[2]
            if between and listed:
                add_entries(table, steps, 1, block.entries)
            else:
                list_block(plan, block, a, b, inputs, direct, room, table)
            if between and not listed:
                list_block(plan, block, a, b + block.own, inputs, direct, room, steps)
                add_entries(steps, table, -1, block.entries)
                listed = True
            found = gather_block(table, plan.index_code, channels, ahead, found, unit)
            if past:
                stream_block(plan, a, b, target, room[0], channels, unit)
            b += block.own
        a, line = a + block.own, line + 1
    return all_lanes(found)


def make_kernel(name: str) -> Any:
    kernel_size, stride, code = PIXEL_BLOCKS[name]
    suffix, conversions = _OF_STORAGE.get(code, ("", None))
    block, gather_block = _for_windows(kernel_size, stride, conversions, suffix)

    def kernel(
        records: Any, grad: int, indices: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
    ) -> int:
        """Some channels of images, ``begin`` to ``end``. Returns the place of the first bad index, or NOTHING."""
        plan = records[0]
        table, stand_in = integers, integers + 16 * LONGEST_BLOCK_TABLE
        fill_stand_in(stand_in, plan.index_code, plan.together)
        p, stop = first_plane(plan, begin), first_plane(plan, end)
        while p < stop:
            beside = min(plan.channels - p % plan.channels, stop - p)
            planes = min(beside, plan.together)
            if 0 < beside - planes < LANES:  # no fewer are left
                planes -= LANES
            source, pointers, target = plane_at(plan, p, grad, indices, result)
            inputs, room = (source, pointers), (floats, stand_in)
            if not gather_image(block, gather_block, plan, inputs, target, planes, room, table, unit):
                bad = scatter_planes(plan, p, p + planes, grad, indices, result, floats, unit)
                if bad != NOTHING:
                    return bad
            p += planes
        if plan.streaming:
            fence()
        return NOTHING

    return kernel
