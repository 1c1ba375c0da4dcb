"""Every function on Dask arrays: the bits of the same call in memory in any chunks, and errors before anything runs."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask_arrays.suites import arrays_of, cases_of, chunked, in_memory, lazily, message_of

import poolgrad
import poolgrad.dask
from poolgrad.base.dtypes import DTYPES
from poolgrad.base.status import ACLNN_SUCCESS
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

OPERATORS = pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.name)


@pytest.fixture(autouse=True)
def _in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@OPERATORS
def test_the_bits_of_the_call_in_memory(operator: Operator, tmp_path: Path) -> None:
    """Its whole suite, with chunks along all axes; type, shape and chunks are those that were told before."""
    done = 0
    for seed, case in enumerate(cases_of(operator)):
        if case.expected != ACLNN_SUCCESS:
            continue
        arrays = arrays_of(case, tmp_path)
        expected = in_memory(case, arrays)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # planes that are put together are tested below
            results = lazily(case, chunked(arrays, seed))
        for lazy, whole in zip(results, expected, strict=True):
            assert (lazy.dtype, lazy.shape) == (whole.dtype, whole.shape)
            assert lazy._meta.dtype == whole.dtype
            for index in itertools.product(*map(range, lazy.numblocks)):
                block = lazy.blocks[index]
                assert block.shape == np.shape(dask.compute(block)[0])
            made = lazy.compute()
            assert made.tobytes() == np.ascontiguousarray(whole).tobytes(), case.name
        done += 1
    assert done > 10


@OPERATORS
def test_what_is_refused_is_refused_before_there_is_a_graph(operator: Operator) -> None:
    """With the words that arrays in memory get."""
    done = 0
    for case in cases_of(operator):
        kinds = {DTYPES[case.tensor(p.name).dtype].name for p in operator.inputs}
        sizes = [case.tensor(p.name).shape for p in operator.inputs]
        possible = all(min(shape, default=0) >= 0 and math.prod(shape) < 1 << 24 for shape in sizes)
        if case.expected == ACLNN_SUCCESS or not kinds <= {*np.sctypeDict, "bfloat16"} or not possible:
            continue
        shapes = {p.name: (case.tensor(p.name).shape, case.tensor(p.name).dtype) for p in operator.inputs}
        lazy = {name: da.zeros(shape, dtype=dtype) for name, (shape, dtype) in shapes.items()}
        dense = {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()}
        told = message_of(lambda case=case, lazy=lazy: lazily(case, lazy))
        expected = message_of(lambda case=case, dense=dense: lazily(case, dense))
        assert told == expected or expected.startswith("IndexRangeError")  # which is known when it runs
        done += told != "accepted"
    assert done > 5


@OPERATORS
def test_poolgrad_dask_has_it(operator: Operator, tmp_path: Path) -> None:
    case = cases_of(operator)[0]
    arrays = arrays_of(case, tmp_path)
    function = getattr(poolgrad.dask, operator.python_name)
    assert operator.python_name in poolgrad.dask.__all__
    assert operator.summary in function.__doc__
    whole = {name: da.from_array(array, chunks=-1) for name, array in arrays.items()}
    for lazy, expected in zip(lazily(case, whole, poolgrad.dask), in_memory(case, arrays), strict=True):
        assert isinstance(lazy, da.Array)
        assert np.array_equal(lazy.compute(), expected, equal_nan=True)
    with pytest.raises(
        TypeError, match=rf"must be a Dask array, got ndarray. Try .* or poolgrad.{operator.python_name}"
    ):
        lazily(case, arrays, poolgrad.dask)


@OPERATORS
def test_a_few_tasks_for_each_chunk(operator: Operator, tmp_path: Path) -> None:
    """Over N and C: one, and one more for each of several results; masks are put in order besides."""
    case = cases_of(operator)[0]
    arrays = {name: np.concatenate([array] * 32) for name, array in arrays_of(case, tmp_path).items()}
    lazy = {name: da.from_array(array, chunks=(2, *array.shape[1:])) for name, array in arrays.items()}
    chunks = len(arrays[operator.inputs[0].name]) // 2
    below = {key for array in lazy.values() for key in array.__dask_graph__()}
    for result in lazily(case, lazy):
        added = set(result.__dask_graph__()) - below
        most = 12 if Role.MASK in operator.by_role else 2
        assert len(added) <= most * chunks


def test_halos_are_a_few_tasks_too() -> None:
    x = da.zeros((8, 4, 4000, 4000), chunks=(2, 4, 500, 500), dtype=np.float32)
    result = poolgrad.avg_pool2d(x, 3, 2, 1)
    assert result.chunks == ((2,) * 4, (4,), (251, *[250] * 6, 249), (251, *[250] * 6, 249))
    added = set(result.__dask_graph__()) - set(x.__dask_graph__())
    assert len(added) <= 9 * x.npartitions


def test_names_are_the_same_for_the_same_call_only() -> None:
    x = da.zeros((2, 3, 8, 8), chunks=(1, 3, 8, 8), dtype=np.float32)
    names = [poolgrad.avg_pool2d(x, *kernel).name for kernel in ((2,), (2,), (3,), (2, 1))]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert names[0].startswith("avg_pool2d-")


def test_empty_chunks_are_left_out() -> None:
    """As selections leave them behind."""
    x = np.random.default_rng(0).standard_normal((6, 4, 9, 9)).astype(np.float32)
    lazy = da.from_array(x, chunks=((0, 2, 0, 3, 1), (0, 4), (9, 0), (4, 0, 5)))
    values, indices = poolgrad.max_pool2d_with_indices(lazy, 3, 2, 1)
    expected = poolgrad.max_pool2d_with_indices(x, 3, 2, 1)
    assert values.chunks[:2] == ((2, 3, 1), (4,))
    assert np.array_equal(values.compute(), expected[0])
    assert np.array_equal(indices.compute(), expected[1])
    gradient = poolgrad.avg_pool2d_backward(da.from_array(expected[0], chunks=((0, 6), 2, 5, (5, 0))), lazy, 3, 2, 1)
    assert np.array_equal(gradient.compute(), poolgrad.avg_pool2d_backward(expected[0], x, 3, 2, 1))


# ---- planes that are put together ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: poolgrad.adaptive_avg_pool2d(x, 3), "adaptive windows"),
        (lambda x: poolgrad.adaptive_max_pool2d(x, 3), "adaptive windows"),
        (lambda x: poolgrad.max_pool2d_with_mask(x, 2), "a mask holds all outputs"),
        (lambda x: poolgrad.avg_pool2d_backward(x, (2, 3, 19, 10), (10, 1), 1), "more than 8 windows hold an element"),
    ],
)
def test_who_puts_planes_together_says_so(call: Any, why: str) -> None:
    x = da.zeros((2, 3, 10, 10), chunks=(1, 3, 5, 10), dtype=np.float32)
    with pytest.warns(UserWarning, match=rf"is chunked along H \(chunks of 5\) and is put together .*{why}") as told:
        call(x)
    assert [Path(warning.filename) for warning in told] == [Path(__file__)]


def test_nobody_is_warned_of_whole_planes() -> None:
    x = da.zeros((4, 6, 10, 10), chunks=(1, 2, 10, 10), dtype=np.float32)
    results = poolgrad.adaptive_max_pool2d(x, 3)  # a warning is an error
    assert [result.chunks for result in results] == [((1,) * 4, (2,) * 3, (3,), (3,))] * 2


# ---- what is not taken -----------------------------------------------------------------------------------------------

X = da.zeros((2, 3, 8, 8), chunks=4, dtype=np.float32)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: poolgrad.avg_pool2d(X, 2, out=np.zeros((2, 3, 4, 4), np.float32)),
            TypeError,
            "out must be None .*lazy",
        ),
        (
            lambda: poolgrad.avg_pool2d(X[X[:, 0, 0, 0] > 0], 2),
            ValueError,
            "chunks of known sizes.*compute_chunk_sizes",
        ),
        (
            lambda: poolgrad.avg_pool2d(da.ma.masked_equal(X, 1), 2),
            TypeError,
            "has masked chunks.*ma.filled",
        ),
        (
            lambda: poolgrad.max_pool2d_with_indices_backward(X, (2, 3, 16, 16), np.zeros(X.shape, np.int64), 2),
            TypeError,
            r"indices must be a Dask array.*got ndarray. Try dask.array.from_array\(indices\)",
        ),
        (lambda: poolgrad.avg_pool2d(None, 2), poolgrad.AclnnError, "161001"),
        (lambda: poolgrad.avg_pool2d(X, 2.5), TypeError, "kernel_size must be an integer"),
    ],
)
def test_refused_kindly(call: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("spoil", "came"),
    [
        (lambda chunk: chunk[:, :1], "float32 of shape (2, 1, 8, 8)"),
        (lambda chunk: chunk.astype(np.float64), "float64 of shape (2, 2, 8, 8)"),
        (lambda chunk: chunk.astype(">f4"), ">f4 of shape (2, 2, 8, 8)"),
        (lambda chunk: chunk[0, 0, 0, 0], "float32 of shape ()"),
    ],
)
def test_chunks_that_are_not_as_told(spoil: Any, came: str) -> None:
    """Only tasks can find that out; they never compute on such a chunk."""
    x = da.ones((4, 2, 8, 8), chunks=(2, 2, 8, 8), dtype=np.float32).map_blocks(spoil, meta=np.empty((0,) * 4, "f4"))
    with pytest.raises(ValueError, match=r"x\[.*\] must be float32 of shape \(2, 2, 8, 8\)") as caught:
        poolgrad.avg_pool2d(x, 2).compute()
    assert f"what came is {came}. " in str(caught.value)


def test_a_bad_index_names_its_place_in_the_whole_array() -> None:
    x = np.random.default_rng(0).standard_normal((5, 6, 9, 9)).astype(np.float32)
    values, indices = poolgrad.max_pool2d_with_indices(x, 2)
    indices[3, 4, 2, 1] = 81
    lazy = [da.from_array(array, chunks=(2, 2, -1, -1)) for array in (values, indices)]
    graph = poolgrad.max_pool2d_with_indices_backward(lazy[0], x.shape, lazy[1], 2)
    with pytest.raises(poolgrad.IndexRangeError) as caught:
        graph.compute()
    told = message_of(lambda: poolgrad.max_pool2d_with_indices_backward(values, x, indices, 2))
    assert told == f"IndexRangeError: {caught.value}"
    assert "indices[3, 4, 2, 1] = 81" in told


@pytest.mark.parametrize("product", [None, "Ascend910"])
def test_a_bad_mask_names_its_place_in_the_whole_array(product: str | None) -> None:
    x = np.random.default_rng(0).standard_normal((5, 18, 9, 9)).astype(np.float16)
    values, mask = poolgrad.max_pool2d_with_mask(x, 2, product=product)
    stream = mask.reshape(-1)
    where = 4 * (3 * 18 * 16 + 17 * 16 + 5) if product is None else (3 * 2 + 1) * 4 * mask.shape[-1] + 10
    stream[where : where + 2] = (-1, -1)
    lazy = [da.from_array(array, chunks=(2, *array.shape[1:])) for array in (values, mask)]
    graph = poolgrad.max_pool2d_with_mask_backward(lazy[0], x.shape, lazy[1], 2, product=product)
    with pytest.raises(poolgrad.IndexRangeError) as caught:
        graph.compute()
    told = message_of(lambda: poolgrad.max_pool2d_with_mask_backward(values, x, mask, 2, product=product))
    assert told == f"IndexRangeError: {caught.value}"
    assert "[3, 1" in told


@pytest.mark.parametrize("product", [None, "Ascend910"])
@pytest.mark.parametrize(("lead", "chunks"), [((7, 18), (3, 5)), ((3,), (2,)), ((0, 3), (1, 3))], ids=str)
def test_masks_and_indices_from_each_other(product: str | None, lead: Any, chunks: Any) -> None:
    x = np.random.default_rng(0).standard_normal((*lead, 9, 9)).astype(np.float16)
    windows = {"kernel_size": (3, 2), "stride": 2, "padding": (1, 0), "product": product}
    mask = poolgrad.max_pool2d_with_mask(x, **windows)[1]
    indices = poolgrad.mask_to_indices(mask, x, **windows)
    found = poolgrad.mask_to_indices(da.from_array(mask, chunks=(*chunks, 2, 50)), x.shape, **windows)
    assert (found.dtype, found.shape) == (indices.dtype, indices.shape)
    assert np.array_equal(found.compute(), indices)
    made = poolgrad.indices_to_mask(da.from_array(indices, chunks=(*chunks, 2, 3)), da.from_array(x), **windows)
    assert (made.dtype, made.shape) == (mask.dtype, mask.shape)
    assert made.compute().tobytes() == mask.tobytes()
    if lead == (7, 18):
        assert found.numblocks == made.numblocks == (3, 1, 1, 1)


def test_what_masks_and_indices_are_refused_for() -> None:
    """At once where types and shapes tell; else by the task, which counts from its first image."""
    x = np.random.default_rng(0).standard_normal((5, 3, 8, 8)).astype(np.float32)
    mask = poolgrad.max_pool2d_with_mask(x, 2)[1]
    lazy = da.from_array(mask, chunks=(2, -1, -1, -1))
    for spoilt in (lazy.view(np.uint8), lazy[..., :32]):
        told = message_of(lambda spoilt=spoilt: poolgrad.mask_to_indices(spoilt.compute(), x, 2))
        assert message_of(lambda spoilt=spoilt: poolgrad.mask_to_indices(spoilt, x, 2)) == told
    with pytest.raises(TypeError, match="out must be None for Dask arrays"):
        poolgrad.mask_to_indices(lazy, x, 2, out=mask)
    mask.reshape(-1).view(np.int32)[3 * 48 + 5] = 64
    told = r"for output \[1, 0, 1, 1\], are the place 64.* Its chunk begins with image 2, which is 0 here."
    with pytest.raises(poolgrad.IndexRangeError, match=told):
        poolgrad.mask_to_indices(da.from_array(mask, chunks=(2, -1, -1, -1)), x, 2).compute()
    spoilt = da.where(da.arange(5, chunks=2)[:, None, None, None] == 4, -1, da.zeros((5, 3, 4, 4), dtype=int, chunks=2))
    with pytest.raises(poolgrad.IndexRangeError, match=r"indices\[0, 0, 0, 0\] = -1 .* Its chunk begins with image 4,"):
        poolgrad.indices_to_mask(spoilt, x, 2).compute()


def test_a_task_uses_one_thread() -> None:
    """As many as Dask gave the worker for it, whatever this process would use."""
    code = """
import threading, numpy as np, dask.array as da, poolgrad
poolgrad.set_num_threads(4)
x = da.ones((8, 16, 256, 256), chunks=(4, 16, 256, 256), dtype=np.float32)
poolgrad.avg_pool2d(x, 3, 1).compute(scheduler="synchronous")
assert not [t for t in threading.enumerate() if t.name == "poolgrad"]
poolgrad.avg_pool2d(np.ones((8, 16, 256, 256), np.float32), 3, 1)
assert [t for t in threading.enumerate() if t.name == "poolgrad"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_dask_is_not_imported_where_it_is_not_used() -> None:
    use = "poolgrad.avg_pool2d(numpy.ones((1, 2, 2), 'f4'), 2)"
    code = f"import sys, numpy, poolgrad; {use}; print({{'dask', 'zarr'}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=100)
    assert done.stdout == "set()\n"
