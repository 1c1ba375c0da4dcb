"""The memory limit: what reading and writing the bytes of a call takes if nothing is computed.

The loop reads a piece and writes a piece in the proportion of the operator, with ordinary stores or with stores past
the caches; the faster of the two is the limit. Each thread walks over its own share as often as asked without waiting
for the others, so that handing over costs nothing that would count.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from numba import njit, types

from poolgrad.kernels.jit.memory import read_i64
from poolgrad.kernels.jit.vectors import fence, splat, store, stream

from . import memory
from .measure import Contender, race

WORD, VECTOR = 8, 32
# Vectors that are written between two pieces of reading: 2 KB.
CHUNK = 64
# Waking the threads takes a tenth of a millisecond, which is nothing next to this.
HAND_OVER = 5e-3


def _traffic(source: int, words: int, target: int, vectors: int, past_caches: bool, repeats: int) -> int:
    value = splat(types.float32(1.5))
    total = 0
    chunks = max(1, vectors // CHUNK)
    for _ in range(repeats):
        for chunk in range(chunks):
            for i in range(words * chunk // chunks, words * (chunk + 1) // chunks):
                total += read_i64(source, WORD * i)
            begin, end = vectors * chunk // chunks, vectors * (chunk + 1) // chunks
            if past_caches:
                for i in range(begin, end):
                    stream(target, 8 * i, value)
            else:
                for i in range(begin, end):
                    store(target, 8 * i, value)
    fence()
    return total


@cache
def _compiled() -> Callable[..., int]:
    integer = types.int64
    signature = integer(integer, integer, integer, integer, types.boolean, integer)
    compiled: Callable[..., int] = njit(signature, nogil=True, error_model="numpy")(_traffic)
    return compiled


def _address(kind: str, size: int) -> int:
    """Where at least so many bytes begin, with a cache line."""
    address = int(memory.whole(kind, size + memory.LINE).ctypes.data)
    return -(-address // memory.LINE) * memory.LINE


_POOLS: dict[int, ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _POOLS:
        _POOLS[threads] = ThreadPoolExecutor(threads)
    return _POOLS[threads]


def traffic(bytes_read: int, bytes_written: int, threads: int, *, past_caches: bool) -> Contender:
    """A contender that moves so many bytes."""
    run = _compiled()
    source, target = _address(memory.READ, bytes_read), _address(memory.WRITTEN, bytes_written)
    words, vectors = bytes_read // WORD, bytes_written // VECTOR
    shares = []
    for thread in range(threads):
        first_word, last_word = (words * t // threads for t in (thread, thread + 1))
        first, last = (vectors * t // threads for t in (thread, thread + 1))
        shares.append((source + WORD * first_word, last_word - first_word, target + VECTOR * first, last - first))

    def repeat(times: int) -> None:
        if threads == 1:
            run(*shares[0], past_caches, times)
            return
        running = [_pool(threads).submit(run, *share, past_caches, times) for share in shares]
        for one in running:
            one.result()

    return Contender(repeat, shortest=50e-6 if threads == 1 else HAND_OVER)


def contenders(bytes_read: int, bytes_written: int, threads: int) -> dict[str, Contender]:
    """Both kinds of stores, for a race."""
    return {
        "stores": traffic(bytes_read, bytes_written, threads, past_caches=False),
        "streams": traffic(bytes_read, bytes_written, threads, past_caches=True),
    }


BANDWIDTH_SIZES = (24_000_000, 48_000_000, 200_000_000)


def bandwidth(threads: int, seconds: float) -> list[dict[str, float]]:
    """GB/s, bytes read and written, of a copy and a fill, with ordinary stores and past the caches."""
    rows = []
    for size in BANDWIDTH_SIZES:
        row: dict[str, float] = {"bytes_written": size, "threads": threads}
        runs = {
            f"{name}{suffix}": traffic(read, size, threads, past_caches=past)
            for name, read in (("copy", size), ("fill", 0))
            for suffix, past in (("", False), ("_past_caches", True))
        }
        for name, taken in race(runs, seconds).items():
            row[name] = (2 if name.startswith("copy") else 1) * size / taken / 1e9
        rows.append(row)
    return rows
