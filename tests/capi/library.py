"""The C library with the calling convention of ``poolgrad.acl``, so that one test can drive both.

Out-parameters come back as values, the status last; element counts are left out; None is a null pointer. What no C
program could pass (a text as a handle, a number of more than 64 bits) skips the test that tried.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_cases import DOCUMENTS

from poolgrad import acl

# Written from the documents, not from the table that generates the library: the two must agree by themselves.
# Parameters in C's order; "ints" are a pointer and a count, "strides" a pointer alone, "place" an address or a buffer;
# ">" marks an out-parameter.
TENSOR = "ints i32 strides i64 i32 ints ptr"
RUNTIME = f"""
    aclInit                            text
    aclFinalize
    aclnnInit                          text
    aclnnFinalize
    aclrtSetDevice                     i32
    aclrtResetDevice                   i32
    aclrtGetDevice                     >i32
    aclrtGetDeviceCount                >u32
    aclrtGetRunMode                    >i32
    aclrtCreateContext                 >ptr i32
    aclrtDestroyContext                ptr
    aclrtSetCurrentContext             ptr
    aclrtGetCurrentContext             >ptr
    aclrtCreateStream                  >ptr
    aclrtDestroyStream                 ptr
    aclrtSynchronizeStream             ptr
    aclrtSynchronizeStreamWithTimeout  ptr i32
    aclrtSynchronizeDevice
    aclrtMalloc                        >ptr u64 i32
    aclrtFree                          ptr
    aclrtMallocHost                    >ptr u64
    aclrtFreeHost                      ptr
    aclrtMemcpy                        place u64 place u64 i32
    aclrtMemcpyAsync                   place u64 place u64 i32 ptr
    aclrtMemset                        ptr u64 i32 u64
    aclrtCreateEvent                   >ptr
    aclrtDestroyEvent                  ptr
    aclrtRecordEvent                   ptr ptr
    aclrtResetEvent                    ptr ptr
    aclrtStreamWaitEvent               ptr ptr
    aclrtSynchronizeEvent              ptr
    aclrtQueryEventStatus              ptr >i32
    aclrtEventElapsedTime              >f32 ptr ptr
    aclrtCtxSetSysParamOpt             i32 i64
    aclrtSetSysParamOpt                i32 i64
    aclrtCtxGetSysParamOpt             i32 >i64
    aclrtGetSysParamOpt                i32 >i64
    aclInitTensor                      ptr {TENSOR}
    aclDestroyTensor                   ptr
    aclDestroyIntArray                 ptr
    aclGetIntArraySize                 ptr >u64
    aclGetViewShape                    ptr >ints
    aclGetStorageShape                 ptr >ints
    aclGetViewStrides                  ptr >ints
    aclGetViewOffset                   ptr >i64
    aclGetFormat                       ptr >i32
    aclGetDataType                     ptr >i32
    aclSetRawTensorAddr                ptr ptr
    aclGetRawTensorAddr                ptr >ptr
    aclSetAclOpExecutorRepeatable      ptr
    aclDestroyAclOpExecutor            ptr
    aclSetTensorAddr                   ptr u64 ptr ptr
    aclSetInputTensorAddr              ptr u64 ptr ptr
    aclSetOutputTensorAddr             ptr u64 ptr ptr
    aclCreateTensor                    {TENSOR} -> ptr
    aclCreateIntArray                  ints -> ptr
    aclGetRecentErrMsg                 -> text
    aclrtGetSocName                    -> text
    aclFloat16ToFloat                  u16 -> f32
    aclFloatToFloat16                  f32 -> u16
"""
TYPES: dict[str, Any] = {
    "i8": ctypes.c_int8,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "ptr": ctypes.c_void_p,
    "bool": ctypes.c_bool,
    "text": ctypes.c_char_p,
}
Ints = ctypes.POINTER(ctypes.c_int64)


def prototypes() -> dict[str, str]:
    """All functions: those of the runtime, and of the operators what their documents say."""
    lines = (line.strip().partition(" ") for line in RUNTIME.strip().splitlines())
    found = {name: parameters for name, _, parameters in lines}
    words = {"bool": "bool", "int8_t": "i8", "int64_t": "i64", "const int64_t": "i64"}
    for name, document in DOCUMENTS.items():
        given = " ".join("ptr" if type.endswith("*") else words[type] for type in document.types.values())
        found |= {f"{name}GetWorkspaceSize": f"{given} >u64 >ptr", name: "ptr u64 ptr ptr"}
    return found


class Function:
    """One C function under Python's convention."""

    def __init__(self, raw: Callable[..., Any], parameters: str) -> None:
        self.raw = raw
        words, _, returns = parameters.partition("->")
        self.parameters = words.split()
        self.returns = returns.strip()
        raw.restype = TYPES[self.returns] if self.returns else ctypes.c_int32  # type: ignore[attr-defined]

    def __call__(self, *given: Any) -> Any:
        rest, arguments, outputs = list(given), [], []
        for kind in self.parameters:
            if kind.startswith(">"):
                outputs.append(Output(kind[1:]))
                arguments += outputs[-1].arguments
            else:
                arguments += to_c(kind, rest.pop(0))
        assert not rest, "too many arguments"
        answer = self.raw(*(a.value if isinstance(a, Kept) else a for a in arguments))
        if self.returns:
            return answer.decode() if isinstance(answer, bytes) else answer
        values = [output.take() if answer == 0 else None for output in outputs]
        return (*values, answer) if outputs else answer


class Output:
    """Room for one out-parameter (two in C, where it is an array)."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rooms = [Ints(), ctypes.c_uint64()] if kind == "ints" else [TYPES[kind]()]
        self.arguments = [ctypes.byref(room) for room in self.rooms]

    def take(self) -> Any:
        if self.kind == "ints":
            values = tuple(self.rooms[0][: self.rooms[1].value])
            delete_array(self.rooms[0])
            return values
        value = self.rooms[0].value
        return 0 if self.kind == "ptr" and value is None else value


class Kept:
    """A C value, and the Python object whose memory it points to."""

    def __init__(self, value: Any, owner: object) -> None:
        self.value, self.owner = value, owner


def to_c(kind: str, value: Any) -> list[Any]:
    if kind in ("ints", "strides"):
        if value is None:
            return [Ints(), ctypes.c_uint64(0)] if kind == "ints" else [Ints()]
        values = [number("i64", each) for each in value]
        array = (ctypes.c_int64 * len(values))(*values)
        return [array, ctypes.c_uint64(len(values))] if kind == "ints" else [array]
    if kind == "text":
        return [None if value is None else os.fsencode(value)]
    if kind == "place" and not isinstance(value, int | np.integer | None):
        array = value if isinstance(value, np.ndarray) else np.frombuffer(value, np.uint8)
        return [Kept(ctypes.c_void_p(array.ctypes.data), array)]
    if kind == "f32":
        return [ctypes.c_float(value)]
    if kind in ("ptr", "place"):
        return [ctypes.c_void_p(number("ptr", 0 if value is None else value))]
    return [TYPES[kind](number(kind, value))]


def number(kind: str, value: Any) -> int:
    bits = 8 * ctypes.sizeof(TYPES[kind])
    least = 0 if kind in ("u16", "u32", "u64") else -(2 ** (bits - 1))
    exact = int(value) if isinstance(value, int | np.integer | np.bool_) else None
    if exact is None or not least <= exact < (2 ** (bits - 1) if kind in ("i8", "i32", "i64") else 2**bits):
        pytest.skip("no C program can pass such an argument")
    return exact


# The getters' arrays come from new[], so delete[] ends them.
delete_array = ctypes.CDLL("libstdc++.so.6")._ZdaPv
delete_array.restype = None


class Library:
    """All functions and constants. Every further product is a copy of the library, with a server of its own."""

    def __init__(self, built: Path) -> None:
        self._built = built / "lib64" / "libascendcl.so"
        self._copies: list[Path] = []
        self._devices: dict[str, dict[str, Function]] = {}
        self.calls = 0  # a test that claims to drive the library can be asked whether it did
        self.set_product("Atlas A2")

    def set_product(self, name: str) -> None:
        if name not in self._devices:
            self._devices[name] = self._load(name)
        self._functions = self._devices[name]

    def _load(self, product: str) -> dict[str, Function]:
        path = self._copy() if self._devices else self._built
        raw = ctypes.CDLL(str(path))
        functions = {name: Function(getattr(raw, name), parameters) for name, parameters in prototypes().items()}
        before = os.environ.get("POOLGRAD_PRODUCT")
        os.environ["POOLGRAD_PRODUCT"] = product
        try:  # the first call starts the server, which reads the product
            functions["aclrtGetSocName"]()
        finally:
            del os.environ["POOLGRAD_PRODUCT"]
            if before is not None:
                os.environ["POOLGRAD_PRODUCT"] = before
        return functions

    def _copy(self) -> Path:
        handle, name = tempfile.mkstemp(".so")
        os.close(handle)
        self._copies.append(Path(name))
        return Path(shutil.copyfile(self._built, name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("ACL"):
            return getattr(acl, name)
        if name not in self._functions:
            raise AttributeError(name)
        self.calls += 1
        return self._functions[name]

    def close(self) -> None:
        for path in self._copies:
            path.unlink()
