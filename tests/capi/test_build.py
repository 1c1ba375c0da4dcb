"""Headers and shim are complete and current, compile everywhere, and are built once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from contract_cases import DOCUMENTS

from poolgrad import acl
from poolgrad.acl import constants
from poolgrad.base import status
from poolgrad.capi import build as builder
from poolgrad.capi.calls import CALLS
from poolgrad.capi.functions import all_functions, protocol
from poolgrad.capi.headers import all_headers, enum_members
from poolgrad.capi.prototypes import LOCAL, PROTOTYPES, REMOTE

# The documents' signatures, written down a second time: return type, name, parameter types. Whoever changes the table
# changes this on purpose. Those of the operators are in the files of documents.
TENSOR_PARAMETERS = "const int64_t* uint64_t aclDataType const int64_t* int64_t aclFormat const int64_t* uint64_t void*"
RUNTIME = f"""
aclError aclInit: const char*
aclError aclFinalize:
aclError aclrtSetDevice: int32_t
aclError aclrtResetDevice: int32_t
aclError aclrtGetDevice: int32_t*
aclError aclrtGetDeviceCount: uint32_t*
aclError aclrtCreateContext: aclrtContext* int32_t
aclError aclrtDestroyContext: aclrtContext
aclError aclrtSetCurrentContext: aclrtContext
aclError aclrtGetCurrentContext: aclrtContext*
aclError aclrtCreateStream: aclrtStream*
aclError aclrtDestroyStream: aclrtStream
aclError aclrtSynchronizeStream: aclrtStream
aclError aclrtSynchronizeStreamWithTimeout: aclrtStream int32_t
aclError aclrtSynchronizeDevice:
aclError aclrtMalloc: void** size_t aclrtMemMallocPolicy
aclError aclrtFree: void*
aclError aclrtMallocHost: void** size_t
aclError aclrtFreeHost: void*
aclError aclrtMemcpy: void* size_t const void* size_t aclrtMemcpyKind
aclError aclrtMemcpyAsync: void* size_t const void* size_t aclrtMemcpyKind aclrtStream
aclError aclrtMemset: void* size_t int32_t size_t
aclError aclrtCreateEvent: aclrtEvent*
aclError aclrtRecordEvent: aclrtEvent aclrtStream
aclError aclrtResetEvent: aclrtEvent aclrtStream
aclError aclrtStreamWaitEvent: aclrtStream aclrtEvent
aclError aclrtSynchronizeEvent: aclrtEvent
aclError aclrtDestroyEvent: aclrtEvent
aclError aclrtQueryEventStatus: aclrtEvent aclrtEventRecordedStatus*
aclError aclrtEventElapsedTime: float* aclrtEvent aclrtEvent
aclError aclrtCtxSetSysParamOpt: aclSysParamOpt int64_t
aclError aclrtCtxGetSysParamOpt: aclSysParamOpt int64_t*
aclError aclrtSetSysParamOpt: aclSysParamOpt int64_t
aclError aclrtGetSysParamOpt: aclSysParamOpt int64_t*
aclError aclrtGetRunMode: aclrtRunMode*
const char* aclrtGetSocName:
const char* aclGetRecentErrMsg:
float aclFloat16ToFloat: aclFloat16
aclFloat16 aclFloatToFloat16: float
aclnnStatus aclnnInit: const char*
aclnnStatus aclnnFinalize:
aclTensor* aclCreateTensor: {TENSOR_PARAMETERS}
aclnnStatus aclInitTensor: aclTensor* {TENSOR_PARAMETERS}
aclnnStatus aclDestroyTensor: const aclTensor*
aclIntArray* aclCreateIntArray: const int64_t* uint64_t
aclnnStatus aclDestroyIntArray: const aclIntArray*
aclnnStatus aclGetIntArraySize: const aclIntArray* uint64_t*
aclnnStatus aclGetViewShape: const aclTensor* int64_t** uint64_t*
aclnnStatus aclGetStorageShape: const aclTensor* int64_t** uint64_t*
aclnnStatus aclGetViewStrides: const aclTensor* int64_t** uint64_t*
aclnnStatus aclGetViewOffset: const aclTensor* int64_t*
aclnnStatus aclGetFormat: const aclTensor* aclFormat*
aclnnStatus aclGetDataType: const aclTensor* aclDataType*
aclnnStatus aclSetRawTensorAddr: aclTensor* void*
aclnnStatus aclGetRawTensorAddr: const aclTensor* void**
aclnnStatus aclSetAclOpExecutorRepeatable: aclOpExecutor*
aclnnStatus aclDestroyAclOpExecutor: aclOpExecutor*
aclnnStatus aclSetTensorAddr: aclOpExecutor* const size_t aclTensor* void*
aclnnStatus aclSetInputTensorAddr: aclOpExecutor* const size_t aclTensor* void*
aclnnStatus aclSetOutputTensorAddr: aclOpExecutor* const size_t aclTensor* void*
"""

HEADERS = ["acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h", "aclnn/acl_meta.h", "aclnn/aclnn_base.h"]
HEADERS += sorted({f"aclnnop/{document.header}" for document in DOCUMENTS.values()})


PHASE_ONE = "{}, uint64_t* workspaceSize, aclOpExecutor** executor"
PHASE_TWO = "void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream"


def declared(text: str) -> dict[str, tuple[str, str]]:
    """What each function of a header returns and takes, as any tool would read it: one line each."""
    found = re.findall(r"^((?:const )?\w+\*?) (acl\w+)\((.*)\);$", text, re.MULTILINE)
    return {name: (returns, inside) for returns, name, inside in found}


def _types(inside: str) -> str:
    return "" if inside == "void" else " ".join(part.rsplit(" ", 1)[0] for part in inside.split(", "))


def test_signatures_of_the_runtime_are_the_documented_ones() -> None:
    wanted = {line.split(":")[0].split()[-1]: line for line in RUNTIME.strip().splitlines()}
    found = declared("\n".join(text for name, text in all_headers().items() if not name.startswith("aclnnop/")))
    assert {name: f"{r} {name}: {_types(inside)}".strip() for name, (r, inside) in found.items()} == wanted


@pytest.mark.parametrize("header", sorted({document.header for document in DOCUMENTS.values()}))
def test_signatures_of_the_operators_are_the_documented_ones(header: str) -> None:
    wanted = {}
    for document in (document for document in DOCUMENTS.values() if document.header == header):
        parameters = ", ".join(f"{type} {name}" for name, type in document.types.items())
        wanted[f"{document.name}GetWorkspaceSize"] = ("aclnnStatus", PHASE_ONE.format(parameters))
        wanted[document.name] = ("aclnnStatus", PHASE_TWO)
    assert declared(all_headers()[f"aclnnop/{header}"]) == wanted


def test_every_function_of_the_documented_layer_has_a_twin_in_c() -> None:
    functions = {name for name in dir(acl) if name.startswith("acl") and callable(getattr(acl, name))}
    assert functions == {prototype.name for prototype in PROTOTYPES}


def test_the_server_answers_what_the_shim_asks() -> None:
    assert [call.prototype for call in CALLS] == list(REMOTE)
    asked = re.findall(r'Call call\((\d+), "(\w+)",', all_functions())
    assert asked == [(str(number), prototype.name) for number, prototype in enumerate(REMOTE)]
    assert {prototype.name for prototype in PROTOTYPES} - {name for _, name in asked} == set(LOCAL)
    for call in CALLS:
        assert call.function.__name__ == call.prototype.name


def test_the_protocol_changes_with_the_prototypes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = protocol()
    monkeypatch.setattr("poolgrad.capi.functions.PROTOTYPES", PROTOTYPES[1:])
    assert protocol() != before


def test_all_headers_are_there() -> None:
    assert sorted(all_headers()) == HEADERS


@pytest.fixture(scope="module")
def prefix() -> Path:
    return builder.build()


LANGUAGES = ["c11", "c17", "c++11", "c++14", "c++17", "c++20"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_headers_compile_alone_and_together(language: str, prefix: Path, tmp_path: Path) -> None:
    sources = []
    for number, names in enumerate([*([name] for name in HEADERS), HEADERS, HEADERS[::-1]]):
        source = tmp_path / f"{number}.{'c' if language.startswith('c1') else 'cpp'}"
        source.write_text("".join(f'#include "{name}"\n' for name in names) + "int used;\n", "utf-8")
        sources.append(str(source))
    compile_strictly(language, prefix, *sources, cwd=tmp_path)


@pytest.mark.parametrize("language", ["c++11", "c++20"])
def test_the_shim_compiles_without_a_warning(language: str, prefix: Path, tmp_path: Path) -> None:
    compile_strictly(language, prefix, "-Wshadow", "-Wconversion", "-fPIC", str(prefix / "shim/shim.cpp"), cwd=tmp_path)


def compile_strictly(language: str, prefix: Path, *arguments: str, cwd: Path) -> None:
    compiler = "gcc" if language.startswith("c1") else "g++"
    strict = [f"-std={language}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{prefix / 'include'}", "-c"]
    done = subprocess.run([compiler, *strict, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_constant_has_its_number_in_c_too(prefix: Path, tmp_path: Path) -> None:
    numbers = {
        name: value
        for module in (constants, status)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int)
    }
    assert len(numbers) > 90
    source = tmp_path / "constants.c"
    includes = "".join(f'#include "{name}"\n' for name in HEADERS)
    checks = "".join(f'_Static_assert({name} == {value}, "{name}");\n' for name, value in numbers.items())
    source.write_text(includes + checks, "utf-8")
    compile_strictly("c11", prefix, str(source), cwd=tmp_path)


def test_enums_hold_their_own_constants() -> None:
    members = enum_members()
    assert list(members["aclrtMemcpyKind"].values()) == [0, 1, 2, 3, 4]
    assert [len(members[name]) for name in ("aclDataType", "aclFormat", "aclrtMemMallocPolicy")] == [20, 15, 6]
    assert list(members["aclSysParamOpt"]) == [
        "ACL_OPT_DETERMINISTIC",
        "ACL_OPT_ENABLE_DEBUG_KERNEL",
        "ACL_OPT_STRONG_CONSISTENCY",
    ]
    assert members["aclrtEventRecordedStatus"]["ACL_EVENT_RECORDED_STATUS_COMPLETE"] == 1
    assert members["aclrtEventStatus"]["ACL_EVENT_STATUS_COMPLETE"] == 0
    assert members["aclrtRunMode"] == {"ACL_DEVICE": 0, "ACL_HOST": 1}


def test_types_have_their_documented_sizes(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "sizes.c"
    sizes = {"aclError": 4, "aclnnStatus": 4, "aclFloat16": 2, "aclrtStream": 8, "aclrtEvent": 8, "aclrtContext": 8}
    sizes |= {"aclDataType": 4, "aclFormat": 4}
    checks = "".join(f'_Static_assert(sizeof({name}) == {size}, "{name}");\n' for name, size in sizes.items())
    source.write_text('#include "acl/acl.h"\n' + checks, "utf-8")
    compile_strictly("c11", prefix, str(source), cwd=tmp_path)


def test_the_library_shows_its_functions_and_nothing_else(prefix: Path) -> None:
    library = prefix / "lib64" / "libascendcl.so"
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in done.stdout.splitlines()} == {prototype.name for prototype in PROTOTYPES}


def test_all_names_are_one_library(prefix: Path) -> None:
    library = prefix / "lib64" / "libascendcl.so"
    names = ("libnnopbase.so", "libopapi.so", "libopapi_nn.so", "libopapi_math.so", "libacl_rt.so")
    assert all((prefix / "lib" / name).resolve() == library.resolve() for name in names)
    told = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    assert "Library soname: [libascendcl.so]" in told
    assert "NODELETE" in told


# ---- building --------------------------------------------------------------------------------------------------------


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("POOLGRAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_built_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = builder.build()
    assert first.parent == own_cache
    assert os.listdir(own_cache) == [first.name], "nothing else is left behind"
    monkeypatch.setattr(builder, "_make", None)
    assert builder.build() == first


def test_what_it_depends_on_is_built_anew(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = builder._sources()
    key = builder._key(["g++"], sources)
    assert builder._key(["g++", "-g"], sources) != key
    assert builder._key(["g++"], sources | {"shim/baked.h": ""}) != key
    monkeypatch.setattr(builder, "__version__", "0.0.0")
    assert builder._key(["g++"], sources) != key
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert '#define PYTHON "/another/python"' in builder._sources()["shim/baked.h"]


def test_where_one_starts_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = builder._sources()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert builder._sources() == before


def test_paths_of_any_bytes_become_c_strings(tmp_path: Path) -> None:
    path = 'a "quoted" ??/ back\\slash, 中文,\n'
    source = tmp_path / "string.c"
    source.write_text(
        f"#include <stdio.h>\nint main(void) {{ return puts({builder._c_string(path)}) < 0; }}\n", "utf-8"
    )
    subprocess.run(["gcc", "-std=c11", str(source), "-o", str(tmp_path / "string")], check=True)
    assert subprocess.run([tmp_path / "string"], capture_output=True, check=True).stdout == (path + "\n").encode()


def test_another_process_may_be_faster(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, first = builder._make, []

    def make_twice(prefix: Path, command: list[str], sources: dict[str, str]) -> None:
        made(prefix, command, sources)
        if not first:
            first.append(True)
            first.append(builder.build())  # while the other one was compiling

    monkeypatch.setattr(builder, "_make", make_twice)
    assert builder.build() == first[1]
    assert os.listdir(own_cache) == [first[1].name]


def test_what_killed_builds_left_is_removed(own_cache: Path) -> None:
    old, new = own_cache / "capi-new-old", own_cache / "capi-new-new"
    for directory in (old, new):
        (directory / "prefix").mkdir(parents=True)
    os.utime(old, (0, 0))
    prefix = builder.build()
    assert sorted(os.listdir(own_cache)) == sorted([new.name, prefix.name])


def test_no_compiler(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(builder.BuildError, match=r"^no compiler 'g\+\+' was found; install it .* or set CXX"):
        builder.build()


def test_a_compiler_that_fails(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ -no-such-option")
    with pytest.raises(builder.BuildError, match="no-such-option"):
        builder.build()
    assert os.listdir(own_cache) == []


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLGRAD_CACHE_DIR", "/proc/nowhere")
    with pytest.raises(builder.BuildError, match=r"can't build in /proc/nowhere: .*; set POOLGRAD_CACHE_DIR"):
        builder.build()
