"""The variables by which compilers, CMake files and loaders find CANN, and a program that tries the library."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from ..operators import REGISTRY
from .build import LIBRARY, MARK


def single_paths(prefix: Path) -> dict[str, str]:
    """Variables that name the installation."""
    names = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_CUSTOM_PATH", "DDK_PATH")
    return dict.fromkeys(names, str(prefix)) | {"NPU_HOST_LIB": str(prefix / "lib64")}


def search_paths(prefix: Path) -> dict[str, str]:
    """Lists of directories to put ours in front of."""
    include, library = prefix / "include", str(prefix / "lib64")
    libraries = dict.fromkeys(("LIBRARY_PATH", "LD_RUN_PATH", "LD_LIBRARY_PATH"), library)
    return {"CPATH": f"{include}:{include / 'aclnn'}"} | libraries


def true_cann(home: str) -> Path | None:
    """The directory if it holds a CANN that is not ours."""
    if not home:
        return None
    path = Path(home)
    ours = (path / MARK).exists()
    known = (f"lib64/{LIBRARY}", "include/acl/acl.h", "version.cfg", "compiler/version.info")
    return path if not ours and any((path / name).exists() for name in known) else None


_SELF_TEST = """
#include <cstdlib>
#include <vector>
#include "acl/acl.h"
#include "aclnnop/HEADER"

#define CHECK(call) do { int status = (call); if (status) { printf("%s: %d\\n", #call, status); exit(1); } } while (0)

void* allocate(size_t size) {
    void* memory = nullptr;
    if (size) CHECK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    return memory;
}

aclIntArray* ints(std::vector<int64_t> values) { return aclCreateIntArray(values.data(), values.size()); }

template <class T> struct Tensor {
    std::vector<T> values;
    size_t size;
    void* memory;
    aclTensor* handle;
    Tensor(size_t count, std::vector<int64_t> shape, aclDataType type, std::vector<T> given) : values(given) {
        values.resize(count);
        size = count * sizeof(T);
        memory = allocate(size);
        CHECK(aclrtMemcpy(memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
        const int64_t* sizes = shape.data();
        handle = aclCreateTensor(sizes, shape.size(), type, nullptr, 0, FORMAT, sizes, shape.size(), memory);
    }
    void print() {
        CHECK(aclrtMemcpy(values.data(), size, memory, size, ACL_MEMCPY_DEVICE_TO_HOST));
        for (T value : values) printf("%g ", static_cast<double>(value));
    }
};

int main() {
    aclrtStream stream = nullptr;
    aclOpExecutor* executor = nullptr;
    uint64_t size = 0;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    TENSORS
    CHECK(NAMEGetWorkspaceSize(ARGUMENTS, &size, &executor));
    CHECK(NAME(allocate(size), size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    PRINTS
    return aclFinalize();
}
"""


def self_test() -> tuple[str, str]:
    """A C++ program that makes a document's call, of the operator that most products have; and what it prints."""
    operator = max(REGISTRY.values(), key=lambda operator: len(operator.products))
    sample, tensors, arguments = operator.sample, [], []
    for p in operator.parameters:
        if p.kind == "tensor":
            shape, values = sample.shapes[p.name], sample.values.get(p.name, ())
            type, code = ("float", "ACL_FLOAT") if p.dtype == "float32" else (f"{p.dtype}_t", f"ACL_{p.dtype.upper()}")
            tensors.append(f"Tensor<{type}> {p.name}({math.prod(shape)}, {_braces(shape)}, {code}, {_braces(values)});")
            arguments.append(f"{p.name}.handle")
        else:
            value = sample.numbers.get(p.name, p.default)
            arguments.append(f"ints({_braces(value)})" if p.kind == "ints" else str(int(value)))
    text = _SELF_TEST.replace("TENSORS", "\n    ".join(tensors)).replace("ARGUMENTS", ", ".join(arguments))
    text = text.replace("PRINTS", " ".join(f"{p.name}.print();" for p in operator.outputs))
    text = text.replace("FORMAT", f"ACL_FORMAT_{operator.default_format}").replace("HEADER", operator.header)
    printed = (f"{number:g} " for p in operator.outputs for number in sample.results[p.name])
    return text.replace("NAME", operator.name), "".join(printed)


def _braces(values: Iterable[float]) -> str:
    return f"{{{', '.join(map(str, values))}}}"
