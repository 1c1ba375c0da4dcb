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

from poolgrad.acl.arena import Arena
from poolgrad.capi import memory
from poolgrad.capi.memory import SharedMemory, map_shared, new_file

SIZE = 64 << 20
PAGE = mmap.PAGESIZE


@pytest.fixture
def shared() -> Iterator[SharedMemory]:
    """Real shared memory, where huge pages can begin."""
    with mmap.mmap(-1, SIZE + (2 << 20)) as room:
        start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    address = -(-start // (2 << 20)) * (2 << 20)
    descriptor = new_file(SIZE)
    assert map_shared(descriptor, address, SIZE) == 0
    os.close(descriptor)
    yield SharedMemory(address, SIZE)
    memory._LIBC.munmap(address, SIZE)


def test_a_place_that_is_taken(shared: SharedMemory) -> None:
    descriptor = new_file(SIZE)
    assert map_shared(descriptor, shared.address, SIZE) == errno.EEXIST
    os.close(descriptor)


@pytest.mark.parametrize("size", [1, 64, 100, 16 * PAGE, 5 << 20])
def test_blocks_are_aligned_and_apart(shared: SharedMemory, size: int) -> None:
    blocks = [shared.reserve(size) for _ in range(3)]
    starts = sorted(start for start, _ in blocks)
    assert all(start % 64 == 0 for start in starts)
    assert all(second >= first + size + 1 for first, second in itertools.pairwise(starts))
    for start in starts:
        ctypes.memset(start, 255, size)


def test_all_of_it_can_be_had_again_and_again(shared: SharedMemory) -> None:
    for _ in range(5):
        _, piece = shared.reserve(SIZE - PAGE)
        with pytest.raises(MemoryError):
            shared.reserve(PAGE)
        del piece


def test_a_freed_address_rests(shared: SharedMemory) -> None:
    seen = []
    for _ in range(64):
        start, piece = shared.reserve(100)
        seen.append(start)
        del piece
    assert len(set(seen)) == 64
    for _ in range(10):
        start, piece = shared.reserve(100)
        del piece
    assert start in seen, "in the end they are used again: memory does not grow without end"


def test_large_blocks_rest_only_a_little(shared: SharedMemory) -> None:
    """Else the part of the memory that was ever used would grow to all of it."""
    starts = set()
    for _ in range(20):
        start, piece = shared.reserve(SIZE // 16)
        starts.add(start)
        del piece
    assert len(starts) <= 2


def test_freed_pages_go_back_to_the_system(shared: SharedMemory) -> None:
    start, piece = shared.reserve(32 * PAGE)
    ctypes.memset(start, 255, 32 * PAGE)
    del piece
    assert ctypes.string_at(start, 32 * PAGE) == bytes(32 * PAGE)


def test_many_blocks_of_all_sizes(shared: SharedMemory) -> None:
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


def test_only_what_touches_it_overlaps(shared: SharedMemory) -> None:
    start, stop = shared.address, shared.address + SIZE
    assert shared.overlaps(start - 1, 2)
    assert shared.overlaps(stop - 1, 1)
    assert not shared.overlaps(start - 1, 1)
    assert not shared.overlaps(stop, 1)


def test_no_file_is_smaller_than_useful() -> None:
    with pytest.raises(MemoryError, match="ulimit"):
        new_file(4096)
