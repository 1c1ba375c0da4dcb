"""The C functions, one prototype each: headers, shim and server are made from this table and nothing else.

What a parameter is for is told by its type alone:

======================================  ============================================================================
``size_t``, ``bool``, an enum, ...      a number that goes in
``void*``, ``aclTensor*``, a stream     an address or a handle that goes in; the server tells which are good
``const char*``                         a text that goes in
``const int64_t*``                      an array that goes in; its length is the number behind it, which the Python
                                        function does not take, or that of the array before
``uint64_t*``, ``void**``, ...          a place for one value that comes out
``int64_t**`` and a number's place      a place for a new array that comes out, and for its length
======================================  ============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..contract.operator import Operator
from ..operators import REGISTRY

HEADERS: dict[str, str] = {
    "acl/acl_base.h": """
        const char* aclGetRecentErrMsg(void);
        float aclFloat16ToFloat(aclFloat16 value);
        aclFloat16 aclFloatToFloat16(float value);
    """,
    "acl/acl_rt.h": """
        aclError aclInit(const char* configPath);
        aclError aclFinalize(void);
        aclError aclrtSetDevice(int32_t deviceId);
        aclError aclrtResetDevice(int32_t deviceId);
        aclError aclrtGetDevice(int32_t* deviceId);
        aclError aclrtGetDeviceCount(uint32_t* count);
        aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
        aclError aclrtDestroyContext(aclrtContext context);
        aclError aclrtSetCurrentContext(aclrtContext context);
        aclError aclrtGetCurrentContext(aclrtContext* context);
        aclError aclrtCreateStream(aclrtStream* stream);
        aclError aclrtDestroyStream(aclrtStream stream);
        aclError aclrtSynchronizeStream(aclrtStream stream);
        aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
        aclError aclrtSynchronizeDevice(void);
        aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
        aclError aclrtFree(void* devPtr);
        aclError aclrtMallocHost(void** hostPtr, size_t size);
        aclError aclrtFreeHost(void* hostPtr);
        aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind);
        aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
            aclrtStream stream);
        aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);
        aclError aclrtCreateEvent(aclrtEvent* event);
        aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
        aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
        aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
        aclError aclrtSynchronizeEvent(aclrtEvent event);
        aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
        aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);
        aclError aclrtDestroyEvent(aclrtEvent event);
        aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
        aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);
        aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
        aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);
        aclError aclrtGetRunMode(aclrtRunMode* runMode);
        const char* aclrtGetSocName(void);
    """,
    "aclnn/acl_meta.h": """
        aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const
            int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
            void* tensorData);
        aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType
            dataType, const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t
            storageDimsNum, void* tensorData);
        aclnnStatus aclDestroyTensor(const aclTensor* tensor);
        aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size);
        aclnnStatus aclDestroyIntArray(const aclIntArray* array);
        aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size);
        aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum);
        aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum);
        aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum);
        aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset);
        aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format);
        aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);
        aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr);
        aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr);
        aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor);
        aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);
        aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr);
        aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void*
            addr);
        aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void*
            addr);
    """,
    "aclnn/aclnn_base.h": """
        aclnnStatus aclnnInit(const char* configPath);
        aclnnStatus aclnnFinalize(void);
    """,
}


def _of_operator(operator: Operator) -> str:
    parameters = ", ".join(f"{p.c_type} {p.name}" for p in operator.parameters)
    run = "void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream"
    return f"""
        aclnnStatus {operator.name}GetWorkspaceSize({parameters}, uint64_t* workspaceSize, aclOpExecutor** executor);
        aclnnStatus {operator.name}({run});
    """


for _operator in REGISTRY.values():
    _header = f"aclnnop/{_operator.header}"
    HEADERS[_header] = HEADERS.get(_header, "") + _of_operator(_operator)

# Types that are pointers: handles of objects, and those that stand for void*.
OBJECTS = ("aclTensor", "aclIntArray", "aclOpExecutor")
OPAQUE = ("aclrtStream", "aclrtEvent", "aclrtContext")

NUMBER, HANDLE, TEXT, ARRAY, COUNT = "number", "handle", "text", "array", "count"
OUT, OUT_ARRAY, OUT_COUNT = "out", "out array", "out count"
INPUTS = (NUMBER, HANDLE, TEXT, ARRAY)  # the shim's class Call has a function of each name
OUTPUTS = (OUT, OUT_ARRAY, OUT_COUNT)


@dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    name: str
    kind: str

    @property
    def value_type(self) -> str:
        """The type of the value itself; what an output's pointer points to."""
        plain = self.type.removeprefix("const ")
        return plain.removesuffix("*") if self.kind in OUTPUTS else plain


@dataclass(frozen=True, slots=True)
class Prototype:
    header: str
    returns: str
    name: str
    parameters: tuple[Parameter, ...]

    @property
    def text(self) -> str:
        inside = ", ".join(f"{p.type} {p.name}" for p in self.parameters)
        return f"{self.returns} {self.name}({inside or 'void'})"

    @property
    def inputs(self) -> list[Parameter]:
        return [p for p in self.parameters if p.kind in INPUTS]

    @property
    def outputs(self) -> list[Parameter]:
        return [p for p in self.parameters if p.kind in OUTPUTS]

    @property
    def returns_status(self) -> bool:
        return self.returns in ("aclError", "aclnnStatus")


_KINDS = {"const char*": TEXT, "const int64_t*": ARRAY, "int64_t**": OUT_ARRAY}
# What a number, or its place, means behind an array.
_LENGTHS = {(ARRAY, "uint64_t"): COUNT, (OUT_ARRAY, "uint64_t*"): OUT_COUNT}


def _kind(type: str) -> str:
    plain = type.removeprefix("const ")
    if plain in OPAQUE or plain == "void*" or plain.removesuffix("*") in OBJECTS:
        return HANDLE
    return _KINDS.get(type, OUT if plain.endswith("*") else NUMBER)


def _parameters(text: str) -> Iterable[Parameter]:
    kind = ""
    for part in [] if text == "void" else text.split(", "):
        type, name = part.rsplit(" ", 1)
        kind = _LENGTHS.get((kind, type)) or _kind(type)
        yield Parameter(type, name, kind)


def _read(header: str, text: str) -> Prototype:
    found = re.fullmatch(r"(.+?)(\w+)\((.*)\)", " ".join(text.split()))
    assert found, f"not a prototype: {text}"
    returns, name, inside = found.groups()
    return Prototype(header, returns.strip(), name, tuple(_parameters(inside)))


# Functions that the shim answers by itself: they need no device, and programs call the conversions for every element.
LOCAL = ("aclGetRecentErrMsg", "aclFloat16ToFloat", "aclFloatToFloat16")

# Functions whose last step the shim does itself, since the server can't see the program's memory. It tells of both ends
# whether they may be missing.
COPIES = ("aclrtMemcpy", "aclrtMemcpyAsync")

PROTOTYPES = tuple(_read(header, text) for header, all in HEADERS.items() for text in all.split(";") if text.strip())

# What the shim asks the server for; the place of a function in this list is its number on the wire.
REMOTE = tuple(prototype for prototype in PROTOTYPES if prototype.name not in LOCAL)
