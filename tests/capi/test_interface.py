"""Small functions and objects: what C sees is what the documents and ``poolgrad.acl`` say."""

from __future__ import annotations

import ctypes
import inspect
import os
import re

import pytest
from capi.library import Library, prototypes

from poolgrad import acl


def test_no_function_is_missing_from_the_tests_own_table() -> None:
    public = {name for name, value in vars(acl).items() if inspect.isfunction(value) and name.startswith("acl")}
    assert public == prototypes().keys()


@pytest.mark.parametrize("count", [0, 1, 8, 100])
def test_arrays_of_any_length_come_back(count: int, library: Library) -> None:
    dims = [2**62 - i for i in range(count)]
    strides = [-i for i in range(count)]
    tensor = library.aclCreateTensor(dims, 99, strides, -(2**63), -77, dims[::-1], 2**63 + 5)
    assert library.aclGetViewShape(tensor) == (tuple(dims), 0)
    assert library.aclGetStorageShape(tensor) == (tuple(dims[::-1]), 0)
    assert library.aclGetViewStrides(tensor) == (tuple(strides), 0)
    assert library.aclGetViewOffset(tensor) == (-(2**63), 0)
    assert library.aclGetDataType(tensor) == (99, 0)
    assert library.aclGetFormat(tensor) == (-77, 0)
    assert library.aclGetRawTensorAddr(tensor) == (2**63 + 5, 0)
    assert library.aclDestroyTensor(tensor) == 0
    array = library.aclCreateIntArray(dims)
    assert library.aclGetIntArraySize(array) == (count, 0)
    assert library.aclDestroyIntArray(array) == 0


def test_contiguous_strides_are_worked_out(library: Library) -> None:
    tensor = library.aclCreateTensor([2, 3, 4], 0, None, 0, 2, [24], None)
    assert library.aclGetViewStrides(tensor) == ((12, 4, 1), 0)


@pytest.mark.parametrize("count", [10**6, 2**40, 2**63, 2**64 - 1])
def test_absurd_counts_are_refused_before_anything_is_read(count: int, library: Library) -> None:
    one = (ctypes.c_int64 * 1)(2)
    assert library.aclCreateIntArray.raw(one, ctypes.c_uint64(count)) is None
    assert "aclCreateIntArray" in (library.aclGetRecentErrMsg() or "")
    make = library.aclCreateTensor.raw
    rest = (ctypes.c_int32(0), None, ctypes.c_int64(0), ctypes.c_int32(2), one, ctypes.c_uint64(1), None)
    assert make(one, ctypes.c_uint64(count), *rest) is None
    assert "aclCreateTensor" in (library.aclGetRecentErrMsg() or "")


def test_null_dims_give_no_tensor(library: Library) -> None:
    for view, storage in ((None, [1]), ([1], None), (None, None)):
        rest = (ctypes.c_int32(0), None, ctypes.c_int64(0), ctypes.c_int32(2))
        one = (ctypes.c_int64 * 1)(1)
        arrays = [(one if dims else None, ctypes.c_uint64(1)) for dims in (view, storage)]
        assert library.aclCreateTensor.raw(*arrays[0], *rest, *arrays[1], None) is None
        assert "null" in (library.aclGetRecentErrMsg() or "")


def test_messages_name_the_program_and_not_its_server(library: Library) -> None:
    assert library.aclDestroyTensor(16) == 161002
    assert re.match(
        rf"\[PID:{os.getpid()}\] \d{{4}}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{{6}} ", library.aclGetRecentErrMsg() or ""
    )


def test_the_product_is_told(library: Library) -> None:
    for product, name in (("Atlas A2", "Ascend910B1"), ("Ascend 950", "Ascend950PR_9599"), ("910B3", "Ascend910B3")):
        library.set_product(product)
        assert library.aclrtGetSocName() == name


def test_the_name_of_the_soc_stays_where_it_is(library: Library) -> None:
    """A program may keep the pointer for as long as it runs."""
    get_name = library.aclrtGetSocName.raw
    get_name.restype = ctypes.c_void_p
    try:
        first = get_name()
        library.aclDestroyTensor(16)  # whose answer is a text as well
        assert get_name() == first
        assert ctypes.string_at(first) == b"Ascend910B1"
    finally:
        get_name.restype = ctypes.c_char_p
