"""Six gigabytes on the disk through workers of one gigabyte, and through one process without Dask: the same bits."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import psutil
import pytest
import zarr
from distributed import Client, LocalCluster

import poolgrad

IMAGE = (64, 256, 256)  # 16 MB of float32
IMAGES = 384
GIGABYTE = 1 << 30
MOST = GIGABYTE  # of any process
NUMBERS = {"kernel_size": 3, "stride": 2, "padding": 1}
WORDS = ("--kernel-size", "3", "--stride", "2", "--padding", "1")


def image(number: int) -> np.ndarray[Any, Any]:
    """One that differs from the others at every place, without six gigabytes of random numbers."""
    base = np.random.default_rng(1).standard_normal(IMAGE, np.float32)
    return np.roll(base, number, axis=-1) + np.float32(number)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("large")
    path = directory / "x.zarr"
    options = {"chunks": (4, *IMAGE), "dtype": "float32", "compressors": None}
    x = zarr.create_array(store=str(path), shape=(IMAGES, *IMAGE), **options)
    assert x.nbytes >= 6 * GIGABYTE
    for i in range(0, IMAGES, 4):
        x[i : i + 4] = np.stack([image(i + n) for n in range(4)])
    yield path
    subprocess.run(["rm", "-rf", str(directory)], check=True)


def assert_pooled(path: Path) -> None:
    result = zarr.open_array(str(path), mode="r")
    for i in range(IMAGES):
        assert np.array_equal(result[i], poolgrad.avg_pool2d(image(i), **NUMBERS)), f"image {i}"


class Peaks:
    """The largest resident size of each process, looked at ten times a second."""

    def __init__(self, pids: list[int]) -> None:
        self.of = dict.fromkeys(pids, 0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._done.wait(0.1):
            for pid in self.of:
                self.of[pid] = max(self.of[pid], psutil.Process(pid).memory_info().rss)

    def __enter__(self) -> Peaks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def test_on_workers_of_a_gigabyte(store: Path) -> None:
    options = {"memory_limit": GIGABYTE, "dashboard_address": ":0", "worker_dashboard_address": None}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster) as client,
    ):
        workers = client.run(lambda: __import__("os").getpid())
        begun = time.monotonic()
        with Peaks(list(workers.values())) as peaks:
            result = poolgrad.avg_pool2d(da.from_zarr(str(store)), **NUMBERS)
            result.to_zarr(str(store.with_name("y.zarr")), compute=True)
        took = time.monotonic() - begun
        assert client.run(lambda: __import__("os").getpid()) == workers, "a worker was ended"
    told = [f"{peak / 1e6:.0f} MB" for peak in peaks.of.values()]
    print(f"\n{IMAGES * 16 / took:.0f} MB/s; peaks of the workers: {', '.join(told)}")
    assert all(0 < peak < MOST for peak in peaks.of.values()), told
    assert_pooled(store.with_name("y.zarr"))


def test_in_one_process(store: Path) -> None:
    target = store.with_name("z.zarr")
    command = [sys.executable, "-m", "poolgrad", "run", "AvgPool2d", "--x", str(store), *WORDS, "-o", str(target)]
    begun = time.monotonic()
    subprocess.run(command, check=True)
    took = time.monotonic() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"\n{IMAGES * 16 / took:.0f} MB/s; peak {peak / 1e6:.0f} MB")
    assert peak < MOST
    assert_pooled(target)
