"""Headers, constants and small functions: what C sees is what the documents and ``poolgrad.acl`` say."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from capi.library import PROTOTYPES, Library
from capi.toolchain import compile_program, prefix, run

from poolgrad import acl

FUNCTIONS = {line.split()[0] for line in PROTOTYPES.strip().splitlines()}


def test_the_headers_declare_every_function_and_no_other() -> None:
    text = "\n".join(path.read_text() for path in (prefix() / "include").rglob("*.h"))
    assert set(re.findall(r"^[^#/\n]*?\b(acl\w+)\(", text, re.MULTILINE)) == FUNCTIONS


def test_the_library_exports_every_function_and_nothing_else() -> None:
    command = ["nm", "-D", "--defined-only", str(prefix() / "lib64" / "libascendcl.so")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in listed.splitlines()} == FUNCTIONS


def test_python_and_c_have_the_same_functions() -> None:
    public = {name for name, value in vars(acl).items() if inspect.isfunction(value) and name.startswith("acl")}
    assert public == FUNCTIONS


def test_constants_have_the_same_values_in_c(tmp_path: Path) -> None:
    constants = {name: value for name, value in vars(acl).items() if name.startswith("ACL") and type(value) is int}
    assert len(constants) > 80
    lines = [f'    printf("{name} %lld\\n", (long long){name});' for name in constants]
    headers = '#include "acl/acl.h"\n#include "aclnn/aclnn_base.h"\n#include "aclnn/acl_meta.h"\n'
    source = tmp_path / "constants.c"
    source.write_text(headers + "int main(void) {\n" + "\n".join(lines) + "\n    return 0;\n}\n")
    done = run(compile_program(source, tmp_path / "constants"))
    assert dict(line.split() for line in done.stdout.splitlines()) == {n: str(v) for n, v in constants.items()}


def test_types_have_the_documented_sizes(tmp_path: Path) -> None:
    sizes = {"aclError": 4, "aclnnStatus": 4, "aclFloat16": 2, "aclrtStream": 8, "aclrtEvent": 8, "aclrtContext": 8}
    enums = ("aclDataType", "aclFormat", "aclrtMemMallocPolicy", "aclrtMemcpyKind", "aclSysParamOpt", "aclrtRunMode")
    sizes |= dict.fromkeys((*enums, "aclrtEventRecordedStatus"), 4)
    lines = [f'static_assert(sizeof({name}) == {size}, "{name}");' for name, size in sizes.items()]
    source = tmp_path / "sizes.cpp"
    signs = 'static_assert(aclError(-1) < 0 && aclnnStatus(-1) < 0, "signed");'
    source.write_text(
        '#include "acl/acl.h"\n#include "aclnn/aclnn_base.h"\n' + "\n".join([*lines, signs, "int main() {}"])
    )
    compile_program(source, tmp_path / "sizes", "-std=c++11")


def test_every_half_becomes_its_float_and_back(library: Library) -> None:
    halves = np.arange(2**16, dtype=np.uint16)
    floats = np.array([library.aclFloat16ToFloat(int(half)) for half in halves], np.float32)
    assert np.array_equal(floats, halves.view(np.float16).astype(np.float32), equal_nan=True)
    finite = ~np.isnan(floats)
    back = np.array([library.aclFloatToFloat16(float(number)) for number in floats[finite]], np.uint16)
    assert np.array_equal(back, halves[finite])
    assert np.isnan(library.aclFloat16ToFloat(library.aclFloatToFloat16(float("nan"))))


def test_floats_are_rounded_to_the_nearest_half(library: Library) -> None:
    """Random bits of every magnitude, and the numbers half way between two halves with their neighbours."""
    bits = np.random.default_rng(1).integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float64)
    after = (np.arange(0, 0x7C00, 7, dtype=np.uint16) + 1).view(np.float16).astype(np.float64)
    middles = ((halves + np.where(np.isinf(after), 65536, after)) / 2).astype(np.float32)
    near = [middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))]
    numbers = np.concatenate([bits[~np.isnan(bits)], *near])
    numbers = np.concatenate([numbers, -numbers])
    with np.errstate(over="ignore"):
        expected = numbers.astype(np.float16).view(np.uint16)
    found = np.array([library.aclFloatToFloat16(float(number)) for number in numbers], np.uint16)
    assert np.array_equal(found, expected)


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
    assert "aclCreateIntArray" in (library.take() or "")
    make = library.aclCreateTensor.raw
    rest = (ctypes.c_int32(0), None, ctypes.c_int64(0), ctypes.c_int32(2), one, ctypes.c_uint64(1), None)
    assert make(one, ctypes.c_uint64(count), *rest) is None
    assert "aclCreateTensor" in (library.take() or "")


def test_null_dims_give_no_tensor(library: Library) -> None:
    for view, storage in ((None, [1]), ([1], None), (None, None)):
        rest = (ctypes.c_int32(0), None, ctypes.c_int64(0), ctypes.c_int32(2))
        one = (ctypes.c_int64 * 1)(1)
        arrays = [(one if dims else None, ctypes.c_uint64(1)) for dims in (view, storage)]
        assert library.aclCreateTensor.raw(*arrays[0], *rest, *arrays[1], None) is None
        assert "null" in (library.take() or "")


def test_messages_name_the_program_and_not_its_server(library: Library) -> None:
    assert library.aclDestroyTensor(16) == 161002
    assert re.match(rf"\[PID:{os.getpid()}\] \d{{4}}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{{6}} ", library.take() or "")


def test_the_product_is_told(library: Library) -> None:
    for product, name in (("Atlas A2", "Ascend910B"), ("Ascend 950", "Ascend950")):
        library.set_product(product)
        assert library.aclrtGetSocName() == name
