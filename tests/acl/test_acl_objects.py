"""Tensors and int arrays: kept as described, checked only by the operators, destroyed once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from poolgrad.acl import constants as c
from poolgrad.acl import messages, objects
from poolgrad.acl.handles import HANDLES, INT_ARRAY, TENSOR


def create(**changes: object) -> int | None:
    arguments: dict[str, object] = {
        "viewDims": [2, 3],
        "dataType": c.ACL_FLOAT16,
        "stride": [6, 2],
        "offset": 1,
        "format": c.ACL_FORMAT_ND,
        "storageDims": (4, 6),
        "tensorData": 0x1000,
    }
    return objects.aclCreateTensor(**{**arguments, **changes})  # type: ignore[arg-type]


def found(handle: int | None) -> objects.AclTensor:
    tensor = HANDLES.get(handle, TENSOR)
    assert isinstance(tensor, objects.AclTensor)
    return tensor


def test_a_tensor_is_what_was_described() -> None:
    handle = create()
    tensor = found(handle)
    assert tensor.tensor.shape == (2, 3)
    assert tensor.tensor.strides == (12, 4), "bytes"
    assert (tensor.tensor.dtype.name, tensor.tensor.format) == ("float16", "ND")
    assert (tensor.strides, tensor.offset, tensor.storage_dims, tensor.address) == ((6, 2), 1, (4, 6), 0x1000)
    assert objects.aclGetViewShape(handle) == ((2, 3), 0)
    assert objects.aclGetStorageShape(handle) == ((4, 6), 0)
    assert objects.aclGetViewStrides(handle) == ((6, 2), 0)
    assert objects.aclGetViewOffset(handle) == (1, 0)
    assert objects.aclGetFormat(handle) == (c.ACL_FORMAT_ND, 0)
    assert objects.aclGetDataType(handle) == (c.ACL_FLOAT16, 0)
    assert objects.aclGetRawTensorAddr(handle) == (0x1000, 0)
    assert objects.aclDestroyTensor(handle) == 0


def test_strides_of_none_mean_contiguous() -> None:
    handle = create(stride=None, viewDims=[2, 3, 4])
    assert objects.aclGetViewStrides(handle) == ((12, 4, 1), 0)
    assert found(handle).tensor.strides == (24, 8, 2)


@pytest.mark.parametrize("address", [None, 0])
def test_null_memory_is_fine(address: object) -> None:
    assert found(create(tensorData=address)).address == 0


def test_codes_that_nobody_knows_are_kept() -> None:
    handle = create(dataType=99, format=-77)
    assert found(handle).tensor.dtype.name == "aclDataType 99"
    assert found(handle).tensor.format == "aclFormat -77"
    assert objects.aclGetDataType(handle) == (99, 0)
    assert objects.aclGetFormat(handle) == (-77, 0)


def test_nonsense_is_kept_for_the_operators_to_refuse() -> None:
    huge = 2**80
    handle = create(viewDims=[huge, -1], stride=[-huge, 0], offset=-huge, storageDims=[], tensorData=huge)
    assert objects.aclGetViewShape(handle) == ((huge, -1), 0)
    assert objects.aclGetViewStrides(handle) == ((-huge, 0), 0)
    assert objects.aclGetViewOffset(handle) == (-huge, 0)
    assert objects.aclGetStorageShape(handle) == ((), 0)
    assert objects.aclGetRawTensorAddr(handle) == (huge, 0)


def test_dims_may_be_arrays_and_are_copied() -> None:
    dims = np.array([2, 3])
    handle = create(viewDims=dims, stride=range(2))
    dims[:] = 9
    assert objects.aclGetViewShape(handle) == ((2, 3), 0)
    shape, _ = objects.aclGetViewShape(handle)
    assert shape is not None
    assert {type(size) for size in shape} == {int}


@pytest.mark.parametrize(
    "changes",
    [
        {"viewDims": None},
        {"viewDims": 0},
        {"storageDims": None},
        {"viewDims": 5},
        {"viewDims": "23"},
        {"viewDims": b"23"},
        {"viewDims": [2, 3.0]},
        {"viewDims": [2, None]},
        {"viewDims": {2: 1, 3: 1}},
        {"viewDims": {2, 3}},
        {"viewDims": np.ones((2, 2), int)},
        {"viewDims": itertools.count()},
        {"stride": [1]},
        {"stride": [1, 1, 1]},
        {"stride": []},
        {"stride": "ab"},
        {"storageDims": 1.5},
        {"offset": None},
        {"offset": "0"},
        {"dataType": "float16"},
        {"dataType": None},
        {"format": 1.0},
        {"tensorData": "0x1000"},
        {"tensorData": b"data"},
    ],
    ids=str,
)
def test_what_no_c_program_could_pass_answers_none_with_a_message(changes: dict[str, object]) -> None:
    live = len(HANDLES._objects)
    assert create(**changes) is None
    message = messages.aclGetRecentErrMsg() or ""
    assert "aclCreateTensor: " in message
    assert next(iter(changes)) in message
    assert len(HANDLES._objects) == live


def test_init_gives_the_same_handle_a_new_description() -> None:
    handle = create()
    tensor = found(handle)
    assert objects.aclInitTensor(handle, [5], c.ACL_INT32, None, 0, c.ACL_FORMAT_NCL, [5], None) == 0
    assert found(handle) is tensor, "whoever holds it sees the change"
    assert (tensor.tensor.shape, tensor.tensor.strides, tensor.address) == ((5,), (4,), 0)
    assert objects.aclInitTensor(None, [5], 0, None, 0, 0, [5], None) == 161001
    assert objects.aclInitTensor(handle, None, 0, None, 0, 0, [5], None) == 161001
    assert objects.aclInitTensor(handle, [5], 0, [1, 1], 0, 0, [5], None) == 161002
    assert objects.aclInitTensor(5, [5], 0, None, 0, 0, [5], None) == 161002
    assert tensor.tensor.shape == (5,), "a refused description changes nothing"


def test_addresses_can_be_changed() -> None:
    handle = create()
    assert objects.aclSetRawTensorAddr(handle, 0x2000) == 0
    assert objects.aclGetRawTensorAddr(handle) == (0x2000, 0)
    assert objects.aclSetRawTensorAddr(handle, "x") == 161002  # type: ignore[arg-type]
    assert objects.aclGetRawTensorAddr(handle) == (0x2000, 0)
    assert objects.aclSetRawTensorAddr(handle, None) == 0
    assert objects.aclGetRawTensorAddr(handle) == (0, 0)


GETTERS = [
    objects.aclGetViewShape,
    objects.aclGetStorageShape,
    objects.aclGetViewStrides,
    objects.aclGetViewOffset,
    objects.aclGetFormat,
    objects.aclGetDataType,
    objects.aclGetRawTensorAddr,
]


@pytest.mark.parametrize("getter", GETTERS, ids=lambda getter: getter.__name__)
def test_getters_refuse_wrong_handles(getter: object) -> None:
    assert callable(getter)
    array, gone = objects.aclCreateIntArray([1]), create()
    objects.aclDestroyTensor(gone)
    assert getter(None) == getter(0) == (None, 161001)
    assert getter(gone) == (None, 161002)
    assert "a destroyed tensor" in (messages.aclGetRecentErrMsg() or "")
    assert getter(array) == (None, 161002)
    assert "an int array, not a tensor" in (messages.aclGetRecentErrMsg() or "")
    assert getter("x") == getter(7) == getter(2**80) == (None, 161002)
    assert "not a handle" in (messages.aclGetRecentErrMsg() or "")


def test_int_arrays_copy_and_may_be_empty() -> None:
    values = [4, 2**70, -1]
    handle = objects.aclCreateIntArray(values)
    values.clear()
    array = HANDLES.get(handle, INT_ARRAY)
    assert isinstance(array, objects.AclIntArray)
    assert array.values == (4, 2**70, -1)
    assert objects.aclGetIntArraySize(handle) == (3, 0)
    empty = objects.aclCreateIntArray([])
    assert empty
    assert objects.aclGetIntArraySize(empty) == (0, 0)
    assert objects.aclGetIntArraySize(objects.aclCreateIntArray(np.array([0]))) == (1, 0)  # type: ignore[arg-type]


def test_an_array_of_one_element_is_no_integer() -> None:
    """torch's tensors of one element can be read as integers; [0] must not pass for null."""

    class OneElement(list[int]):
        ndim = 1

        def __index__(self) -> int:
            return self[0]

    assert objects.aclGetIntArraySize(objects.aclCreateIntArray(OneElement([0]))) == (1, 0)


@pytest.mark.parametrize("values", [None, 0, 5, "12", [1.5], [[1]], [None], object()])
def test_what_is_no_int_array(values: object) -> None:
    assert objects.aclCreateIntArray(values) is None  # type: ignore[arg-type]
    assert "aclCreateIntArray" in (messages.aclGetRecentErrMsg() or "")


def test_int_array_handles_that_are_wrong() -> None:
    tensor = create()
    assert objects.aclGetIntArraySize(None) == (None, 161001)
    assert objects.aclGetIntArraySize(tensor) == objects.aclGetIntArraySize("x") == (None, 161002)  # type: ignore[arg-type]


def test_destroying_null_is_fine_and_twice_is_not() -> None:
    tensor, array = create(), objects.aclCreateIntArray([1])
    for destroy, handle in ((objects.aclDestroyTensor, tensor), (objects.aclDestroyIntArray, array)):
        assert destroy(None) == destroy(0) == 0
        assert messages.aclGetRecentErrMsg() is None
        assert destroy(handle) == 0
        assert destroy(handle) == 161002
        assert "destroyed" in (messages.aclGetRecentErrMsg() or "")
        assert destroy("x") == 161002  # type: ignore[arg-type]
        messages.aclGetRecentErrMsg()
    assert objects.aclDestroyTensor(objects.aclCreateIntArray([])) == 161002


def test_hostile_arguments_end_in_a_status() -> None:
    class Hostile:
        def __index__(self) -> int:
            raise RuntimeError

        def __repr__(self) -> str:
            raise RuntimeError

        def __len__(self) -> int:
            raise RuntimeError

        def __iter__(self) -> object:
            raise RuntimeError

    for name in ("viewDims", "stride", "offset", "format", "dataType", "storageDims", "tensorData"):
        assert create(**{name: Hostile()}) is None
        assert "Hostile" in (messages.aclGetRecentErrMsg() or "")
    assert objects.aclGetViewShape(Hostile()) == (None, 161002)  # type: ignore[arg-type]
