"""Device memory: blocks, limits, and copies that refuse whatever they could not do safely."""

from __future__ import annotations

import array
import bisect
import ctypes
import gc
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from acl_helpers import assert_prints, background, finish, malloc

from poolgrad.acl import constants as c
from poolgrad.acl import memory, messages
from poolgrad.acl.arena import Arena, Backing

H2H, H2D, D2H, D2D, DEFAULT = range(5)


def read(address: int, nbytes: int) -> bytes:
    target = bytearray(nbytes)
    assert memory.aclrtMemcpy(target, nbytes, address, nbytes, D2H) == 0
    return bytes(target)


def write(address: int, data: bytes) -> None:
    assert memory.aclrtMemcpy(address, len(data), data, len(data), H2D) == 0


# Blocks


def test_blocks_are_aligned_and_of_the_size_asked_for(runtime: None) -> None:
    for size in (1, 63, 64, 65, 1000003):
        address = malloc(size)
        block = memory.ARENA.find(address, size)
        assert block is not None
        assert (address % 64, block.address, block.size) == (0, address, size)
        assert memory.ARENA.find(address, size + 1) is None, "the alignment's slack is not part of the block"


def test_interior_addresses_are_found_and_gaps_are_not() -> None:
    arena = Arena(Backing(), 10**6)
    starts = [arena.alloc(100) for _ in range(20)]
    for start in starts:
        assert start is not None
        block = arena.find(start + 99, 1)
        assert block is not None
        assert block.address == start
        assert arena.find(start + 50, 51) is None
    low, high = min(s for s in starts if s), max(s for s in starts if s)
    assert arena.find(low - 1, 1) is None
    assert arena.find(high + 100, 1) is None
    assert arena.find(-5, 1) is None
    assert arena.find(low, -1) is None
    assert arena.find(2**70, 1) is None


def test_a_task_that_holds_a_block_keeps_its_memory_after_free(runtime: None) -> None:
    address = malloc(1 << 20)
    write(address, b"x" * (1 << 20))
    block = memory.ARENA.find(address, 1 << 20)
    assert memory.aclrtFree(address) == 0
    gc.collect()
    assert block is not None
    assert ctypes.string_at(address, 1 << 20) == b"x" * (1 << 20)


def test_the_capacity_is_a_limit_that_free_gives_back() -> None:
    arena = Arena(Backing(), 1000)
    first = arena.alloc(600)
    assert first is not None
    assert arena.alloc(401) is None
    assert arena.free(first)
    assert arena.alloc(1000) is not None
    assert arena.used == 1000


def test_a_backing_without_memory_leaves_the_arena_as_it_was() -> None:
    class Empty:
        def reserve(self, size: int) -> tuple[int, object]:
            raise MemoryError

        def touch(self, address: int, nbytes: int) -> None:
            pass

        def holds(self, address: int) -> bool:
            return False

    arena = Arena(Empty(), 1000)
    assert arena.alloc(10) is None
    assert arena.used == 0


def test_another_backing_takes_the_place_by_one_object() -> None:
    """The C interface puts one shared mapping there; owners give their part back when they end."""
    released = []

    class Part:
        def __init__(self, start: int) -> None:
            self.start = start

        def __del__(self) -> None:
            released.append(self.start)

    class Mapping:
        place = 1 << 30

        def reserve(self, size: int) -> tuple[int, object]:
            self.place += 4096
            return self.place, Part(self.place)

        def touch(self, address: int, nbytes: int) -> None:
            pass

        def holds(self, address: int) -> bool:
            return False

    arena = Arena(Mapping(), 1 << 20)
    address = arena.alloc(100)
    assert address == (1 << 30) + 4096
    block = arena.find(address, 100)
    arena.free(address)
    assert released == []
    del block
    assert released == [address]


@pytest.mark.parametrize(
    ("size", "policy", "status"),
    [
        (0, 0, 100000),
        (2**40, 0, 207001),
        (2**63, 0, 207001),
        (2**64 - 1, 0, 207001),
        (2**64, 0, 100000),
        (-1, 0, 100000),
        pytest.param(10**5000, 0, 100000, id="an integer that Python refuses to print"),
        ("8", 0, 100000),
        (8.0, 0, 100000),
        (None, 0, 100000),
        (8, 6, 100000),
        (8, -1, 100000),
        (8, "huge", 100000),
    ],
)
def test_allocations_that_are_refused(runtime: None, size: object, policy: object, status: int) -> None:
    used = memory.ARENA.used
    assert memory.aclrtMalloc(size, policy) == (None, status)  # type: ignore[arg-type]
    assert "aclrtMalloc" in (messages.aclGetRecentErrMsg() or "")
    assert memory.ARENA.used == used


def test_integers_of_numpy_are_integers(runtime: None) -> None:
    address, ret = memory.aclrtMalloc(np.int64(16), np.uint8(0))  # type: ignore[arg-type]
    assert ret == 0
    assert memory.aclrtFree(np.uint64(address)) == 0  # type: ignore[arg-type]


@pytest.mark.doors("Python", "C")
@pytest.mark.parametrize(
    ("place", "status"), [(None, 100000), (0, 100000), (64, 107017), (-64, 107017), (2**70, 107017), ("x", 107017)]
)
def test_frees_that_are_refused(runtime: None, place: int, status: int) -> None:
    assert memory.aclrtFree(place) == status
    assert memory.aclrtFreeHost(place) == status


@pytest.mark.doors("Python", "C")
def test_free_takes_the_start_of_a_live_block_once(runtime: None) -> None:
    address = malloc(100)
    assert memory.aclrtFree(address + 64) == 107017
    assert f"{address:#x}" in (messages.aclGetRecentErrMsg() or ""), "the message names the block's start"
    assert memory.aclrtFreeHost(address) == 107017
    assert memory.aclrtFree(address) == 0
    assert memory.aclrtFree(address) == 107017


def test_a_destructor_may_free_at_any_moment(runtime: None) -> None:
    """The garbage collector runs destructors inside of allocations too: no deadlock, no lost block."""

    class Buffer:
        def __init__(self) -> None:
            self.address = malloc(64)
            self.me = self  # only the collector can end it

        def __del__(self) -> None:
            memory.aclrtFree(self.address)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(500):
            Buffer()
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert memory.ARENA.used == 0


def test_freeing_in_the_middle_of_an_allocation_does_not_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the collector does there by chance, done on purpose."""
    arena = Arena(Backing(), 1000)
    first = arena.alloc(10)
    assert first is not None
    second: list[int | None] = []

    class Bisect:
        bisect_left = staticmethod(bisect.bisect_left)

        @staticmethod
        def insort(starts: list[int], address: int) -> None:
            arena.free(first)
            bisect.insort(starts, address)

    monkeypatch.setattr("poolgrad.acl.arena.bisect", Bisect)
    finish(background(lambda: second.append(arena.alloc(20))))
    assert second[0] is not None
    assert (arena.used, arena._starts) == (20, second)


def test_many_threads_allocate_and_free(runtime: None) -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        for step in range(300):
            address = malloc(1 + (seed * 31 + step) % 500)
            if memory.ARENA.find(address, 1) is None or memory.aclrtFree(address) != 0:
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert memory.ARENA.used == 0


# Copies


@pytest.mark.doors("Python", "C")
def test_there_and_back_through_every_kind(runtime: None) -> None:
    one, two = malloc(8), malloc(8)
    target = bytearray(8)
    assert memory.aclrtMemcpy(one, 8, b"12345678", 8, H2D) == 0
    assert memory.aclrtMemcpy(two, 8, one, 8, D2D) == 0
    assert memory.aclrtMemcpy(target, 8, two + 4, 4, D2H) == 0
    assert bytes(target) == b"5678\0\0\0\0"
    assert memory.aclrtMemcpy(target, 8, b"abcdefgh", 8, H2H) == 0
    assert memory.aclrtMemcpy(one, 8, target, 8, DEFAULT) == 0
    assert memory.aclrtMemcpy(two, 8, one, 8, DEFAULT) == 0
    assert read(two, 8) == b"abcdefgh"


@pytest.mark.doors("Python", "C")
@pytest.mark.parametrize(
    "source",
    [
        bytes(range(8)),
        bytearray(range(8)),
        memoryview(bytes(range(8))),
        array.array("B", range(8)),
        (ctypes.c_uint8 * 8)(*range(8)),
        np.arange(8, dtype=np.uint8).view(np.float32),
        np.arange(8, dtype=np.uint8).view(np.float16).reshape(2, 2),
        np.arange(8, dtype=np.uint8).view(ml_dtypes.bfloat16),  # has no buffer protocol
        np.arange(8, dtype=np.uint8).view(np.int64).reshape(()),  # an array, though it could pass for an integer
    ],
    ids=lambda source: type(source).__name__,
)
def test_all_sorts_of_buffers(runtime: None, source: object) -> None:
    address = malloc(8)
    assert memory.aclrtMemcpy(address, 8, source, 8, H2D) == 0  # type: ignore[arg-type]
    assert read(address, 8) == bytes(range(8))


@pytest.mark.doors("Python", "C")
def test_into_arrays_and_host_addresses(runtime: None) -> None:
    address = malloc(8)
    write(address, np.array([1, 2], np.float32).tobytes())
    result = np.zeros(2, np.float32)
    assert memory.aclrtMemcpy(result, 8, address, 8, D2H) == 0
    assert result.tolist() == [1, 2]
    result = np.zeros(4, ml_dtypes.bfloat16)
    assert memory.aclrtMemcpy(result.ctypes.data, 8, address, 8, D2H) == 0
    assert result.tobytes() == np.array([1, 2], np.float32).tobytes()


@pytest.mark.doors("Python", "C")
def test_overlapping_copies_move(runtime: None) -> None:
    address = malloc(10)
    write(address, b"0123456789")
    assert memory.aclrtMemcpy(address + 2, 8, address, 8, D2D) == 0
    assert read(address, 10) == b"0101234567"
    assert memory.aclrtMemcpy(address, 8, address + 2, 8, D2D) == 0
    assert read(address, 10) == b"0123456767"


# Each line: why, dst, destMax, src, count, kind, status; "dev" is a block of 16 bytes.
REFUSED = [
    ("null destination", None, 16, b"x" * 16, 16, H2D, 100000),
    ("null source", "dev", 16, 0, 16, H2D, 100000),
    ("null before the kind", None, 16, b"x", 1, 9, 100000),
    ("unknown kind", "dev", 16, b"x" * 16, 16, 5, 100000),
    ("kind of a wrong type", "dev", 16, b"x" * 16, 16, "H2D", 100000),
    ("destMax before an unknown kind", "dev", 1, b"x" * 16, 16, 5, 107000),
    ("count beyond destMax", "dev", 15, b"x" * 16, 16, H2D, 107000),
    ("count beyond the block", "dev", 17, b"x" * 17, 17, H2D, 107000),
    ("interior address beyond the block", "dev+1", 16, b"x" * 16, 16, H2D, 107000),
    ("device address that is none", 4096, 16, b"x" * 16, 16, H2D, 107000),
    ("device address beyond 64 bits", 2**64 + 64, 16, b"x" * 16, 16, H2D, 107000),
    ("buffer where kind says device", bytearray(16), 16, b"x" * 16, 16, H2D, 107000),
    ("device where kind says host", "dev", 16, b"x" * 16, 16, H2H, 107000),
    ("buffer shorter than count", "dev", 16, b"x" * 15, 16, H2D, 107000),
    ("empty buffer", "dev", 16, b"", 1, H2D, 107000),
    ("read-only destination", bytes(16), 16, "dev", 16, D2H, 107000),
    ("read-only array", np.frombuffer(bytes(16), np.uint8), 16, "dev", 16, D2H, 107000),
    ("array with gaps", "dev", 16, np.zeros(32, np.uint8)[::2], 16, H2D, 107000),
    ("view with gaps", "dev", 16, memoryview(bytes(32))[::2], 16, H2D, 107000),
    ("array of objects", "dev", 16, np.array([object(), object()]), 16, H2D, 100000),
    ("neither address nor buffer", "dev", 16, "a text", 1, H2D, 100000),
    ("a float is no address", "dev", 16, 4096.0, 1, H2D, 100000),
    ("count is no integer", "dev", 16, b"x" * 16, 1.0, H2D, 100000),
    ("count is negative", "dev", 16, b"x" * 16, -1, H2D, 100000),
    ("destMax is no integer", "dev", None, b"x" * 16, 1, H2D, 100000),
    ("count beyond 64 bits", "dev", 2**70, b"x" * 16, 2**65, H2D, 100000),
    ("range of DEFAULT beyond the block", "dev", 17, b"x" * 17, 17, DEFAULT, 107000),
]


@pytest.mark.parametrize(
    ("dst", "dest_max", "src", "count", "kind", "status"), [pytest.param(*line[1:], id=line[0]) for line in REFUSED]
)
def test_copies_that_are_refused(
    runtime: None, dst: object, dest_max: object, src: object, count: object, kind: object, status: int
) -> None:
    device_address = malloc(16)
    write(device_address, bytes(16))
    places = {"dev": device_address, "dev+1": device_address + 1}
    dst, src = (places.get(p, p) if isinstance(p, str) else p for p in (dst, src))
    assert memory.aclrtMemcpy(dst, dest_max, src, count, kind) == status  # type: ignore[arg-type]
    assert "aclrtMemcpy: " in (messages.aclGetRecentErrMsg() or "")
    assert read(device_address, 16) == bytes(16), "nothing was written"


def test_nothing_to_copy_succeeds_whatever_the_rest_is(runtime: None) -> None:
    assert memory.aclrtMemcpy(None, 0, None, 0, 99) == 0
    assert memory.aclrtMemcpy("x", "y", object(), 0, None) == 0  # type: ignore[arg-type]


@pytest.mark.doors("Python", "C")
def test_a_freed_block_is_no_place_any_more(runtime: None) -> None:
    address = malloc(1 << 20)
    assert memory.aclrtFree(address) == 0
    assert memory.aclrtMemcpy(address, 4, b"abcd", 4, H2D) == 107000
    assert memory.aclrtMemset(address, 4, 0, 4) == 107000


@pytest.mark.skipif("sys.platform != 'linux'", reason="elsewhere addresses are trusted")
def test_wild_host_pointers_are_a_status_and_no_crash() -> None:
    """In a process of its own, since a failure would kill the tests."""
    assert_prints(
        """
import mmap
import numpy as np
from poolgrad.acl import device, memory
device.aclInit(None)
address, _ = memory.aclrtMalloc(1 << 16, 0)
pages = np.frombuffer(mmap.mmap(-1, 8192, prot=mmap.PROT_READ), np.uint8)
readonly = pages.ctypes.data
def copies(place, count=16):
    there = memory.aclrtMemcpy(address, count, place, count, 1)
    return there, memory.aclrtMemcpy(place, count, address, count, 2)
wild = [1, 4096, 1 << 46, 2**63 + 4096, 2**64 - 8, 2**64 - 1, 2**64]
print({copies(place) for place in wild}, copies(readonly))
""",
        "{(107000, 107000)} (0, 107000)",
    )


@pytest.mark.skipif("sys.platform != 'linux'", reason="elsewhere addresses are trusted")
def test_mapped_files_end_where_their_file_does(tmp_path: Path) -> None:
    """Behind that end there is a mapping, and nothing in it. In a process of its own, for the same reason."""
    assert_prints(
        f"""
import mmap, os
import numpy as np
from poolgrad.acl import device, memory
device.aclInit(None)
address, _ = memory.aclrtMalloc(3 * mmap.PAGESIZE, 0)
file = os.open({str(tmp_path / "file")!r}, os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 3 * mmap.PAGESIZE)
pages = np.frombuffer(mmap.mmap(file, 3 * mmap.PAGESIZE), np.uint8)
place = pages.ctypes.data
os.ftruncate(file, mmap.PAGESIZE + 1)
def copies(start, count):
    there = memory.aclrtMemcpy(address, count, place + start, count, 1)
    return there, memory.aclrtMemcpy(place + start, count, address, count, 2)
end = 2 * mmap.PAGESIZE
print(copies(0, end), copies(0, end + 1), copies(end - 1, 2), copies(end, 1))
""",
        "(0, 0) (107000, 107000) (107000, 107000) (107000, 107000)",
    )


# Host memory, fill


@pytest.mark.doors("Python", "C")
def test_host_memory_is_host_memory(runtime: None) -> None:
    host, ret = memory.aclrtMallocHost(16)
    assert ret == 0
    assert host is not None
    address = malloc(32)
    assert memory.aclrtMemset(host, 16, 7, 16) == 0
    assert memory.aclrtMemcpy(address, 16, host, 16, H2D) == 0
    assert read(address, 16) == b"\7" * 16
    assert memory.aclrtMemcpy(host, 32, address, 32, D2H) == 107000, "beyond its block"
    assert memory.aclrtMemset(host, 17, 7, 17) == 107000
    assert memory.aclrtMemcpy(address, 16, host, 16, D2D) == 107000, "it is not device memory"
    assert memory.aclrtFree(host) == 107017
    assert memory.aclrtFreeHost(host) == 0
    assert memory.aclrtFreeHost(host) == 107017
    assert memory.aclrtMallocHost(0) == (None, 100000)
    assert memory.aclrtMallocHost(2**45) == (None, 207001)


@pytest.mark.doors("Python", "C")
def test_fill_takes_the_low_byte_and_keeps_to_the_range(runtime: None) -> None:
    address = malloc(8)
    write(address, bytes(8))
    assert memory.aclrtMemset(address + 2, 6, 0x1FF, 4) == 0
    assert memory.aclrtMemset(address + 6, 2, -1, 1) == 0
    assert memory.aclrtMemset(address, 8, 5, 0) == 0
    assert read(address, 8) == b"\0\0\xff\xff\xff\xff\xff\0"


@pytest.mark.doors("Python", "C")
@pytest.mark.parametrize(
    ("place", "room", "value", "count", "status"),
    [
        (None, 8, 0, 8, 100000),
        (None, 8, 0, 0, 100000),
        ("dev", 7, 0, 8, 107000),
        ("dev", 9, 0, 9, 107000),
        ("elsewhere", 8, 0, 8, 107000),
        ("dev", 8, 2**31, 8, 100000),
        ("dev", 8, 0.5, 8, 100000),
        ("dev", 8, 0, "8", 100000),
        ("text", 8, 0, 8, 100000),
    ],
)
def test_fills_that_are_refused(
    runtime: None, place: object, room: object, value: object, count: object, status: int
) -> None:
    places = {"dev": malloc(8), "elsewhere": np.zeros(8, np.uint8).ctypes.data}
    assert memory.aclrtMemset(places.get(place, place), room, value, count) == status  # type: ignore[arg-type, call-overload]
    assert "aclrtMemset" in (messages.aclGetRecentErrMsg() or "")


@pytest.mark.doors("Python", "C")
def test_memory_needs_init() -> None:
    assert memory.aclrtMalloc(8, c.ACL_MEM_MALLOC_HUGE_FIRST) == (None, 100001)
    assert memory.aclrtMallocHost(8) == (None, 100001)
    assert memory.aclrtFree(64) == memory.aclrtFreeHost(64) == 100001
    assert memory.aclrtMemcpy(None, 0, None, 0, 0) == memory.aclrtMemset(None, 0, 0, 0) == 100001
