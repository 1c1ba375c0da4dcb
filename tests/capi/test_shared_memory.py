"""The memory that program and server share: pieces that never overlap, and rest before they are used again."""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import random
from collections.abc import Iterator

import pytest
from device import describe, device, run

from poolgrad import acl
from poolgrad.acl.arena import ARENA, HOST_ARENA, Arena
from poolgrad.capi import memory
from poolgrad.capi.huge_pages import SPARE
from poolgrad.capi.memory import Piece, SharedMemory, map_shared, new_file

SIZE = 64 << 20
PAGE = mmap.PAGESIZE
HUGE = 2 << 20


class Memory(SharedMemory):
    """Real shared memory, which knows how much of it is there."""

    def __init__(self, address: int, size: int, descriptor: int) -> None:
        super().__init__(address, size)
        self._descriptor = descriptor

    @property
    def there(self) -> int:
        return os.fstat(self._descriptor).st_blocks * 512


def new_memory(size: int) -> Iterator[Memory]:
    """Where huge pages can begin."""
    with mmap.mmap(-1, size + HUGE) as room:
        start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    address = -(-start // HUGE) * HUGE
    descriptor = new_file(size)
    assert map_shared(descriptor, address, size) == 0
    yield Memory(address, size, descriptor)
    os.close(descriptor)
    memory._LIBC.munmap(address, size)


@pytest.fixture
def shared() -> Iterator[Memory]:
    yield from new_memory(SIZE)


@pytest.fixture
def wide() -> Iterator[Memory]:
    yield from new_memory(4 << 30)


def test_a_place_that_is_taken(shared: Memory) -> None:
    descriptor = new_file(SIZE)
    assert map_shared(descriptor, shared.address, SIZE) == errno.EEXIST
    os.close(descriptor)


@pytest.mark.parametrize("size", [1, 64, 100, 16 * PAGE, 5 << 20])
def test_blocks_are_aligned_and_apart(shared: Memory, size: int) -> None:
    blocks = [shared.reserve(size) for _ in range(3)]
    starts = sorted(start for start, _ in blocks)
    assert all(start % 64 == 0 for start in starts)
    assert all(second >= first + size + 1 for first, second in itertools.pairwise(starts))
    for start in starts:
        ctypes.memset(start, 255, size)


def test_all_of_it_can_be_had_again_and_again(shared: Memory) -> None:
    for _ in range(5):
        _, piece = shared.reserve(SIZE - PAGE)
        with pytest.raises(MemoryError):
            shared.reserve(PAGE)
        del piece


def test_a_freed_address_rests(shared: Memory) -> None:
    seen = []
    for _ in range(9):
        start, piece = shared.reserve(100)
        seen.append(start)
        del piece
    assert len(set(seen)) == 9
    for _ in range(10):
        start, piece = shared.reserve(100)
        del piece
    assert start in seen, "in the end they are used again: memory does not grow without end"


def test_large_blocks_rest_only_a_little(shared: Memory) -> None:
    """Else the part of the memory that was ever used would grow to all of it."""
    starts = set()
    for _ in range(20):
        start, piece = shared.reserve(SIZE // 16)
        starts.add(start)
        del piece
    assert len(starts) <= 2


def test_a_large_block_takes_no_memory_until_it_is_used(wide: Memory) -> None:
    start, piece = wide.reserve(1 << 30)
    assert wide.there == 0
    wide.touch(start + (100 << 20), 10 << 20)
    assert 0 < wide.there <= 10 << 20, "only what is used, in whole pages"
    before = wide.there
    wide.touch(start + (100 << 20), 10 << 20)
    assert wide.there == before
    del piece


def test_using_a_block_does_not_change_it(shared: Memory) -> None:
    start, piece = shared.reserve(16 << 20)
    pattern = bytes(range(1, 251)) * 1000
    ctypes.memmove(start + 7, pattern, len(pattern))
    shared.touch(start, 16 << 20)
    assert ctypes.string_at(start, len(pattern) + 8) == bytes(7) + pattern + b"\0"
    del piece


@pytest.mark.parametrize("size", [5 << 20, 200 << 20])
def test_a_program_that_allocates_with_every_step_finds_the_pages_of_its_last_ones(wide: Memory, size: int) -> None:
    def step() -> int:
        start, piece = wide.reserve(size)
        there = wide.there
        wide.touch(start, size)
        ctypes.memset(start, 255, size)
        filled = wide.there - there
        del piece
        return filled

    filled = [step() for _ in range(20)]
    assert filled[0] > 0
    assert not any(filled[10:]), "nothing is filled anew"
    assert wide.there <= size + HUGE + SPARE


def test_blocks_of_other_sizes_use_what_was_kept(wide: Memory) -> None:
    for size in (100 << 20, 90 << 20, 70 << 20, 99 << 20):
        start, piece = wide.reserve(size)
        there = wide.there
        ctypes.memset(start, 255, size)
        assert there in (0, wide.there), size
        del piece


def test_no_more_is_kept_than_blocks_took_at_their_peak(wide: Memory) -> None:
    """A container that has room for what a program uses at once has room for all that it ever frees."""
    for megabytes in (200, 100, 150, 40, 200):
        first, one = wide.reserve(megabytes << 20)
        ctypes.memset(first, 255, megabytes << 20)
        second, two = wide.reserve(20 << 20)
        ctypes.memset(second, 255, 20 << 20)
        del one
        third, three = wide.reserve((megabytes << 20) + HUGE)  # does not fit where the first was
        ctypes.memset(third, 255, megabytes << 20)
        assert wide.there <= (224 << 20) + 3 * HUGE + SPARE, megabytes
        del two, three


def test_a_great_part_of_the_memory_is_never_kept(shared: Memory) -> None:
    start, piece = shared.reserve(SIZE // 2)
    ctypes.memset(start, 255, SIZE // 2)
    del piece
    assert shared.there <= SIZE // 8


def test_small_blocks_do_not_lie_in_pages_that_are_kept(shared: Memory) -> None:
    start, large = shared.reserve(6 << 20)
    ctypes.memset(start, 255, 6 << 20)
    del large
    kept = shared.there
    blocks = [shared.reserve(100 << 10) for _ in range(10)]
    assert blocks[0][0] == start
    assert shared.there <= kept - HUGE, "the page went back to the system"
    assert ctypes.string_at(start, 100 << 10) == bytes(100 << 10)


def test_blocks_that_live_are_never_given_back(wide: Memory) -> None:
    """Each block is filled with a byte of its own, and has it still when it is freed, whatever happened meanwhile."""
    chance = random.Random(1)
    live: list[tuple[int, int, int, Piece]] = []
    peak = 0
    for step in range(200):
        if live and chance.random() < 0.5:
            start, size, value, piece = live.pop(chance.randrange(len(live)))
            assert ctypes.string_at(start, size) == bytes([value]) * size
            del piece
        else:
            size = chance.choice([100, 70_000, 3 << 20, (4 << 20) - 64, (4 << 20) - 63, 4 << 20, 9 << 20, 30 << 20])
            start, piece = wide.reserve(size)
            if chance.random() < 0.8:
                wide.touch(start, size)
            ctypes.memset(start, step % 255 + 1, size)
            live.append((start, size, step % 255 + 1, piece))
            del piece
        peak = max(peak, sum(size + 2 * HUGE for _, size, _, _ in live))
        assert wide.there <= peak + 2 * SPARE


def test_a_piece_that_ends_in_the_middle_of_another_call_is_not_lost(shared: Memory) -> None:
    """What the garbage collector does by chance, done on purpose."""
    start, piece = shared.reserve(5 << 20)
    pieces = [piece]
    del piece
    find = shared._find

    def find_while_a_piece_ends(length: int, unit: int) -> int | None:
        pieces.clear()
        return find(length, unit)

    shared._find = find_while_a_piece_ends  # type: ignore[method-assign]
    other, second = shared.reserve(5 << 20)
    assert other >= start + (5 << 20), "the piece had not been given back yet when the place was found"
    third, again = shared.reserve(5 << 20)
    assert third == start
    del second, again


def test_copies_fills_and_operators_use_memory_and_allocations_do_not(
    wide: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arena in (ARENA, HOST_ARENA):
        monkeypatch.setattr(arena, "backing", wide)
    used: list[int] = []
    monkeypatch.setattr(wide, "touch", lambda address, nbytes: used.append(address))
    with device() as stream:
        grad, out, _ = (acl.aclrtMalloc(64 << 20, 0)[0] for _ in range(3))
        assert used == []
        assert acl.aclrtMemset(grad, 64 << 20, 0, 64 << 20) == 0
        assert acl.aclrtMemcpy(out, 8, grad, 8, acl.ACL_MEMCPY_DEVICE_TO_DEVICE) == 0
        assert used == [grad, out]
        shapes = ((1, 16, 512, 512), (1, 16, 1024, 1024))
        tensors = [describe(shape, "float32", "NCHW", at) for shape, at in zip(shapes, (grad, out), strict=True)]
        two, zero = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
        arguments = (tensors[0], tensors[1], two, two, zero, False, True, 0, 0, tensors[1])
        for _ in range(2):
            used.clear()
            assert run("aclnnAvgPool2dBackward", stream, *arguments) == 0
            assert set(used) == {grad, out}


def test_many_blocks_of_all_sizes(shared: Memory) -> None:
    chance = random.Random(0)
    arena = Arena(shared, SIZE)
    live: dict[int, int] = {}
    for step in range(3000):
        if live and chance.random() < 0.5:
            address = chance.choice(list(live))
            assert arena.free(address)
            del live[address]
        else:
            size = chance.choice([1, 63, 64, 65, 1000, 5000, 100_000, 3_000_000])
            address = arena.alloc(size) or 0
            if address:
                assert shared.address <= address
                assert address + size <= shared.address + SIZE
                live[address] = size
        if step % 100 == 0:
            ends = sorted((start, start + size) for start, size in live.items())
            assert all(one[1] <= two[0] for one, two in itertools.pairwise(ends))
    arena.clear()
    shared._wake(0)
    assert shared._free == [(shared.address, shared.address + SIZE)]


def test_only_what_touches_it_overlaps(shared: Memory) -> None:
    start, stop = shared.address, shared.address + SIZE
    assert shared.overlaps(start - 1, 2)
    assert shared.overlaps(stop - 1, 1)
    assert not shared.overlaps(start - 1, 1)
    assert not shared.overlaps(stop, 1)


def test_no_file_is_smaller_than_useful() -> None:
    with pytest.raises(MemoryError, match="ulimit"):
        new_file(4096)
