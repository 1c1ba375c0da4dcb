"""The C headers, made from the prototypes, the constants and the status codes."""

from __future__ import annotations

from types import ModuleType

from ..acl import constants
from ..base import status
from .prototypes import OBJECTS, OPAQUE, PROTOTYPES

_BASE, _RUNTIME, _META = "acl/acl_base.h", "acl/acl_rt.h", "aclnn/acl_meta.h"

# The enums of each header, each with its first constant in constants.py, where the constants of one stand together.
_ENUMS = {
    _BASE: {"aclDataType": "ACL_DT_UNDEFINED", "aclFormat": "ACL_FORMAT_UNDEFINED"},
    _RUNTIME: {
        "aclrtMemMallocPolicy": "ACL_MEM_MALLOC_HUGE_FIRST",
        "aclrtMemcpyKind": "ACL_MEMCPY_HOST_TO_HOST",
        "aclSysParamOpt": "ACL_OPT_DETERMINISTIC",
        "aclrtEventRecordedStatus": "ACL_EVENT_RECORDED_STATUS_NOT_READY",
        "aclrtEventStatus": "ACL_EVENT_STATUS_COMPLETE",
        "aclrtRunMode": "ACL_DEVICE",
    },
    _META: {"aclCubeMathType": "KEEP_DTYPE"},
}

# What a header includes. Programs use printf and the integer types without including their headers: acl.h brings them.
_STANDARD = ("<stdbool.h>", "<stddef.h>", "<stdint.h>", "<stdio.h>")
_OPERATOR = ('"aclnn/aclnn_base.h"',)
_INCLUDES = {
    _BASE: _STANDARD,
    _RUNTIME: ('"acl/acl_base.h"',),
    _META: ('"acl/acl_rt.h"',),
    "aclnn/aclnn_base.h": ('"aclnn/acl_meta.h"',),
}


def enum_members() -> dict[str, dict[str, int]]:
    """The constants of each enum with their numbers."""
    enum_of = {first: enum for enums in _ENUMS.values() for enum, first in enums.items()}
    members: dict[str, dict[str, int]] = {}
    for name, value in _integers(constants).items():
        if name in enum_of:
            current = members.setdefault(enum_of[name], {})
        current[name] = value
    return members


def all_headers() -> dict[str, str]:
    """The text of every header by its path below ``include``."""
    texts = {"acl/acl.h": _header("acl/acl.h", ['#include "acl/acl_base.h"', '#include "acl/acl_rt.h"'])}
    for path in dict.fromkeys(prototype.header for prototype in PROTOTYPES):
        texts[path] = _header(path, _body(path))
    return texts


def _body(path: str) -> list[str]:
    lines = [f"#include {name}" for name in _INCLUDES.get(path, _OPERATOR)]
    lines.append("")
    if path == _BASE:
        lines += [f"#define {name} {value}" for name, value in _integers(status).items()]
        lines += ["", "typedef int32_t aclError;", "typedef int32_t aclnnStatus;", "typedef uint16_t aclFloat16;"]
        lines += [f"typedef void* {name};" for name in OPAQUE]
    if path == _META:
        lines += [f"typedef struct {name} {name};" for name in OBJECTS]
    for enum in _ENUMS.get(path, ()):
        members = ",\n".join(f"    {name} = {value}" for name, value in enum_members()[enum].items())
        lines += ["", f"typedef enum {enum} {{\n{members}\n}} {enum};"]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [f"{prototype.text};" for prototype in PROTOTYPES if prototype.header == path]
    return [*lines, "", "#ifdef __cplusplus", "}", "#endif"]


def _header(path: str, lines: list[str]) -> str:
    guard = "POOLGRAD_" + path.upper().replace("/", "_").replace(".", "_")
    about = f"/* {path}: made by poolgrad, which answers these calls on the CPU. */"
    return "\n".join([about, f"#ifndef {guard}", f"#define {guard}", "", *lines, "", f"#endif /* {guard} */"]) + "\n"


def _integers(module: ModuleType) -> dict[str, int]:
    return {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, int)}
