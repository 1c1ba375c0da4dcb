"""Dask against a plain loop over the same chunks on the same cores: from memory to memory, and from store to store.

The loop is what somebody writes who has no Dask: one process, a chunk after the other, each on all threads. Dask has as
many threads, or worker processes of one thread, as there are cores. Sides take turns, and the best time of each counts.

Results in memory are kept by both sides, as by whoever wants them. If they are dropped at once, the loop's lie in the
cache, where each overwrites the last one; those of several tasks at once do not fit there. That is measured too.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import poolgrad

from . import machine

PLANE = (32, 128, 128)  # channels, rows and columns of float32: images of 2 MB
IMAGE = 4 * math.prod(PLANE)
CHUNKS_MB = (4, 16, 64)
MEMORY_MB, STORE_MB = 2048, 768
EMPTY_CHUNKS = 300
TURNS = 6
CALL: dict[str, Any] = {"kernel_size": 3, "stride": 2, "padding": 1}


def measure() -> dict[str, Any]:
    """Rows for each size of chunks, and what a task costs that computes nothing."""
    cores = len(os.sched_getaffinity(0))
    poolgrad.set_num_threads(cores)
    found = {**machine.describe(), "versions": {name: version(name) for name in ("dask", "distributed", "zarr")}}
    document: dict[str, Any] = {"machine": found, "workers": cores}
    for name, kept in (("memory", True), ("dropped", False)):
        document[name] = [_in_memory(megabytes, kept) for megabytes in CHUNKS_MB]
    with tempfile.TemporaryDirectory() as directory, _cluster(cores) as client:
        document["stores"] = [_between_stores(megabytes, Path(directory), client) for megabytes in CHUNKS_MB]
        document["seconds_per_task"] = _empty_task(client)
    return document


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    options = {"dashboard_address": ":0", "worker_dashboard_address": None}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster) as c,
    ):
        yield c


def _best(*sides: Callable[[], Any]) -> list[float]:
    """Seconds of each side; one turn before the first that counts compiles and connects."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(1 + TURNS):
        for side, own in zip(sides, times, strict=True):
            begun = time.perf_counter()
            result = side()
            own.append(time.perf_counter() - begun)
            del result
    return [min(own[1:]) for own in times]


def _row(megabytes: int, images: int, many: int, loop: float, by_dask: float) -> dict[str, float]:
    chunks = -(-images // many)
    row = {"chunk_mb": megabytes, "chunks": chunks, "loop_mb_s": images * IMAGE / loop / 1e6}
    row |= {"dask_mb_s": images * IMAGE / by_dask / 1e6, "overhead_ms": 1e3 * (by_dask - loop) / chunks}
    print({name: round(value, 2) for name, value in row.items()}, flush=True)
    return row


def _in_memory(megabytes: int, kept: bool) -> dict[str, float]:
    """With Dask's threads in this process; chunks of the result are kept, or dropped at once."""
    images, many = (MEMORY_MB << 20) // IMAGE, (megabytes << 20) // IMAGE
    x = np.ones((images, *PLANE), np.float32)

    def loop() -> Any:
        chunks = (poolgrad.avg_pool2d(x[i : i + many], **CALL) for i in range(0, images, many))
        return list(chunks) if kept else [_first(chunk) for chunk in chunks]

    pooled = poolgrad.avg_pool2d(da.from_array(x, chunks=(many, *PLANE), name="x"), **CALL)
    wanted = pooled if kept else pooled.map_blocks(_first, chunks=(1, 1, 1, 1), dtype=x.dtype)

    def by_dask() -> Any:
        return wanted.persist(scheduler="threads")

    return _row(megabytes, images, many, *_best(loop, by_dask))


def _first(block: Any) -> Any:
    return block[:1, :1, :1, :1].copy()


def _between_stores(megabytes: int, directory: Path, client: Client) -> dict[str, float]:
    """Between uncompressed stores, which the system has in memory, with a worker process for each core."""
    images, many = (STORE_MB << 20) // IMAGE, (megabytes << 20) // IMAGE
    chunks, paths = (many, *PLANE), [str(directory / f"{name}{megabytes}.zarr") for name in ("x", "loop", "dask")]
    pooled = (images, PLANE[0], PLANE[1] // 2, PLANE[2] // 2)
    source, by_loop, target = (
        zarr.create_array(store=path, shape=shape, chunks=(many, *shape[1:]), dtype="float32", compressors=None)
        for path, shape in zip(paths, ((images, *PLANE), pooled, pooled), strict=True)
    )
    for i in range(0, images, many):
        source[i : i + many] = np.ones((min(many, images - i), *PLANE), np.float32)

    def loop() -> None:
        for i in range(0, images, many):
            by_loop[i : i + many] = poolgrad.avg_pool2d(source[i : i + many], **CALL)

    def by_dask() -> None:
        lazy = da.from_zarr(paths[0], chunks=chunks)
        client.compute(da.store(poolgrad.avg_pool2d(lazy, **CALL), target, lock=False, compute=False)).result()

    row = _row(megabytes, images, many, *_best(loop, by_dask))
    assert np.array_equal(by_loop[...], target[...])
    return row


def _empty_task(client: Client) -> float:
    """Seconds that a chunk takes which is hardly there: what the scheduler and a worker need for it."""
    x = da.zeros((EMPTY_CHUNKS, 1, 4, 4), chunks=(1, 1, 4, 4), dtype=np.float32)

    def run() -> None:
        client.compute(poolgrad.avg_pool2d(x, 2).map_blocks(_first, chunks=(1, 1, 1, 1), dtype=x.dtype)).result()

    (seconds,) = _best(run)
    print(f"{1e3 * seconds / EMPTY_CHUNKS:.2f} ms for an empty chunk", flush=True)
    return seconds / EMPTY_CHUNKS
