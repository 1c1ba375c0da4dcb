"""A real cluster: several processes, which may die."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from dask_arrays.suites import arrays_of, cases_of, chunked, in_memory, lazily
from distributed import Client, LocalCluster

import poolgrad
from poolgrad.base.status import ACLNN_SUCCESS
from poolgrad.contract.operator import Operator
from poolgrad.operators import REGISTRY

OPERATORS = pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.name)
WORKERS = 3


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0", "worker_dashboard_address": None}
    with LocalCluster(n_workers=WORKERS, **options) as cluster, Client(cluster) as made:
        yield made


@OPERATORS
def test_the_bits_of_the_call_in_memory(operator: Operator, client: Client, tmp_path: Path) -> None:
    cases = [case for case in cases_of(operator) if case.expected == ACLNN_SUCCESS]
    for case in cases[::6]:
        arrays = arrays_of(case, tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of planes that are put together
            lazy = lazily(case, chunked(arrays, 3))
        found = client.gather(client.compute(list(lazy)))
        for made, expected in zip(found, in_memory(case, arrays), strict=True):
            assert made.dtype == expected.dtype
            assert made.tobytes() == np.ascontiguousarray(expected).tobytes(), case.name


def test_blocks_are_made_in_several_processes(client: Client) -> None:
    x = da.ones((24, 2, 64, 64), chunks=(1, 2, 64, 64), dtype=np.float32)

    def who(block: Any) -> Any:
        time.sleep(0.05)
        return np.full((1, 1, 1, 1), os.getpid())

    pids = np.unique(poolgrad.avg_pool2d(x, 2).map_blocks(who, chunks=(1, 1, 1, 1), dtype=int).compute())
    assert len(pids) > 1
    assert os.getpid() not in pids


def test_a_killed_worker_loses_nothing(client: Client) -> None:
    """It dies with results that it alone had, and in the middle of its work."""
    x = np.random.default_rng(0).standard_normal((40, 3, 50, 60)).astype(np.float32)

    def slowly(block: Any) -> Any:
        time.sleep(0.1)
        return block

    source = da.from_array(x, chunks=(1, 3, 20, 60)).map_blocks(slowly, dtype=x.dtype)
    values, indices = poolgrad.max_pool2d_with_indices(source, 3, 2, 1)
    lazy = [values, indices, poolgrad.avg_pool2d_backward(values, x.shape, 3, 2, 1)]
    before = client.run(os.getpid)
    futures = client.compute(lazy)
    time.sleep(2)
    assert not all(future.done() for future in futures)
    os.kill(next(iter(before.values())), signal.SIGKILL)
    found = client.gather(futures)
    pooled = poolgrad.max_pool2d_with_indices(x, 3, 2, 1)
    for made, expected in zip(found, (*pooled, poolgrad.avg_pool2d_backward(pooled[0], x, 3, 2, 1)), strict=True):
        assert np.array_equal(made, expected)
    client.wait_for_workers(WORKERS)
    assert set(client.run(os.getpid).values()) != set(before.values()), "none was killed"


def test_a_bad_index_comes_back_as_it_was_raised(client: Client) -> None:
    x = np.random.default_rng(0).standard_normal((6, 2, 8, 8)).astype(np.float32)
    values, indices = poolgrad.max_pool2d_with_indices(x, 2)
    indices[4, 1, 3, 2] = -1
    lazy = [da.from_array(array, chunks=(2, 1, -1, -1)) for array in (values, indices)]
    with pytest.raises(poolgrad.IndexRangeError, match=r"indices\[4, 1, 3, 2\] = -1") as caught:
        client.compute(poolgrad.max_pool2d_with_indices_backward(lazy[0], x.shape, lazy[1], 2)).result()
    assert caught.value.status == 507015
    assert caught.value.parameter == "indices"
