"""The shim's functions in C++, one for each prototype that the server answers. shim.cpp includes them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ..acl.handles import INT_ARRAY, TENSOR, first_of_program
from ..base.status import ACL_ERROR_INTERNAL_ERROR, ACLNN_ERR_INNER
from .prototypes import (
    ALLOCATIONS,
    ARRAY,
    COPIES,
    COUNT,
    ENDERS,
    FREES,
    MAKERS,
    NUMBER,
    OUT,
    OUT_ARRAY,
    OUT_COUNT,
    OUTPUTS,
    PROTOTYPES,
    REMOTE,
    Prototype,
)

# The first of the handles that the program gives out itself.
_FIRST_HANDLES = {"tensors": first_of_program(TENSOR), "int_arrays": first_of_program(INT_ARRAY)}

# What a function answers if the server can't be asked, by its type.
FAILURES = {"aclError": ACL_ERROR_INTERNAL_ERROR, "aclnnStatus": ACLNN_ERR_INNER}


@cache
def shim_sources() -> dict[str, str]:
    """The part of the shim that is written by hand, by the names of its files."""
    files = sorted((Path(__file__).parent / "shim").iterdir())
    return {file.name: file.read_text("utf-8") for file in files if file.suffix in (".h", ".cpp")}


def protocol() -> int:
    """A number that shim and server must agree on: it changes with everything that matters on the wire."""
    told = "\n".join([*shim_sources().values(), *(prototype.text for prototype in PROTOTYPES)])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:7], "little")


def all_functions() -> str:
    """The text of all functions."""
    headers = dict.fromkeys(prototype.header for prototype in PROTOTYPES)
    parts = ["\n".join(f'#include "{header}"' for header in headers)]
    parts.append("\n".join(f"Objects {name} = {{{hex(first)}ull, 0, {{}}}};" for name, first in _FIRST_HANDLES.items()))
    parts += [_function(number, prototype) for number, prototype in enumerate(REMOTE)]
    return "\n\n".join(parts) + "\n"


def _function(number: int, prototype: Prototype) -> str:
    failure = FAILURES.get(prototype.returns, 0)
    lines = [f'Call call({number}, "{prototype.name}", {failure});']
    lines += [line for line in (_give(prototype, place) for place in range(len(prototype.parameters))) if line]
    if prototype.name in COPIES:
        lines += ["call.memory(dst, count, POPULATE_WRITE);", "call.memory(src, count, POPULATE_READ);"]
    if prototype.name in FREES:
        lines.append("leave();")
    if prototype.name in MAKERS:
        made = f"call.make(&{MAKERS[prototype.name]})"
        lines.append(f"if (void* made = {made}) return static_cast<{prototype.returns}>(made);")
    if prototype.name in ENDERS:
        lines.append(
            f"if (call.destroy(&{ENDERS[prototype.name]}, {prototype.parameters[0].name})) return call.status();"
        )
    takes = _takes(prototype)
    lines += ["if (call.ask()) {", *(f"    {line}" for line in takes), "}"] if takes else ["call.ask();"]
    lines.append(f"return {_result(prototype)};")
    body = "\n".join(f"    {line}" for line in lines)
    return f"EXPORT {prototype.text} {{\n{body}\n}}"


def _give(prototype: Prototype, place: int) -> str:
    """The statement that puts a parameter into the message."""
    parameter = prototype.parameters[place]
    name = parameter.name
    if parameter.kind in OUTPUTS:
        return f"call.place({name}, {prototype.outputs.index(parameter) + 1});"
    if parameter.kind == ARRAY:
        has_count = place + 1 < len(prototype.parameters) and prototype.parameters[place + 1].kind == COUNT
        return f"call.{'array' if has_count else 'optional_array'}({name}, {_count_of(prototype, place)});"
    if parameter.kind == NUMBER:
        # A C enum may be unsigned and still carry any int.
        width = "int32_t" if parameter.type.startswith("acl") else "int64_t"
        return f"call.number(static_cast<{width}>({name}));"
    # The number behind an array went with it.
    return "" if parameter.kind == COUNT else f"call.{parameter.kind}({name});"


def _count_of(prototype: Prototype, place: int) -> str:
    """The number behind an array, or the one behind the array before it."""
    counts = [p.name for p in prototype.parameters[: place + 2] if p.kind == COUNT]
    return counts[-1]


def _takes(prototype: Prototype) -> list[str]:
    """The statements that take the values out of an answer that is no failure."""
    if prototype.name in COPIES:
        return ["call.copy(dst, src, count);"]
    names = {p.kind: p.name for p in prototype.outputs}
    lines = [f"call.take({p.name}, sizeof(*{p.name}));" for p in prototype.outputs if p.kind == OUT]
    if prototype.name in ALLOCATIONS:
        lines.append(f"reach(*{prototype.outputs[0].name}, size);")
    if OUT_ARRAY in names:
        lines.append(f"call.take_array({names[OUT_ARRAY]}, {names[OUT_COUNT]});")
    return lines


def _result(prototype: Prototype) -> str:
    if prototype.returns_status:
        return "call.status()"
    if prototype.returns == "const char*":
        return "call.lasting_text()"
    return f"static_cast<{prototype.returns}>(call.pointer())"
