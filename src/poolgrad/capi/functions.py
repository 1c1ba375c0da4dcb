"""The shim's functions in C++, one for each prototype that the server answers. shim.cpp includes them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ..acl.handles import INT_ARRAY, TENSOR, first_of_program
from ..base.status import ACL_ERROR_INTERNAL_ERROR, ACLNN_ERR_INNER
from .prototypes import ARRAY, COPIES, COUNT, NUMBER, OUT, OUT_ARRAY, OUT_COUNT, OUTPUTS, PROTOTYPES, REMOTE, Prototype

# The objects that the program makes by itself, and the first of the handles that it gives out for them.
_OBJECTS = {"tensors": first_of_program(TENSOR), "int_arrays": first_of_program(INT_ARRAY)}

# What the shim does before it asks. Objects it makes and destroys itself, where nothing can be wrong; memory that is
# freed may be another thread's next.
_DOUBTS = ("call.memory(dst, count, POPULATE_WRITE);", "call.memory(src, count, POPULATE_READ);")
_BEFORE = {
    **dict.fromkeys(COPIES, _DOUBTS),
    **dict.fromkeys(("aclrtFree", "aclrtFreeHost"), ("leave();",)),
    "aclCreateTensor": ("if (void* made = call.make(&tensors)) return static_cast<aclTensor*>(made);",),
    "aclCreateIntArray": ("if (void* made = call.make(&int_arrays)) return static_cast<aclIntArray*>(made);",),
    "aclDestroyTensor": ("if (call.destroy(&tensors, tensor)) return call.status();",),
    "aclDestroyIntArray": ("if (call.destroy(&int_arrays, array)) return call.status();",),
}
# And with an answer that is no failure: new memory becomes accessible.
_AFTER = {
    **dict.fromkeys(COPIES, ("call.copy(dst, src, count);",)),
    "aclrtMalloc": ("reach(*devPtr, size);",),
    "aclrtMallocHost": ("reach(*hostPtr, size);",),
}

# What a function answers if the server can't be asked, by its type.
FAILURES = {"aclError": ACL_ERROR_INTERNAL_ERROR, "aclnnStatus": ACLNN_ERR_INNER}


@cache
def shim_sources() -> dict[str, str]:
    """The part of the shim that is written by hand, by the names of its files."""
    files = sorted((Path(__file__).parent / "shim").iterdir())
    return {file.name: file.read_text("utf-8") for file in files if file.suffix in (".h", ".cpp")}


def protocol() -> int:
    """A number that shim and server must agree on: it changes with everything that matters on the wire."""
    text = "\n".join([*shim_sources().values(), *(prototype.text for prototype in PROTOTYPES)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")


def all_functions() -> str:
    """The text of all functions."""
    headers = dict.fromkeys(prototype.header for prototype in PROTOTYPES)
    parts = ["\n".join(f'#include "{header}"' for header in headers)]
    parts.append("\n".join(f"Objects {name} = {{{hex(first)}ull, 0, {{}}}};" for name, first in _OBJECTS.items()))
    parts += [_function(number, prototype) for number, prototype in enumerate(REMOTE)]
    return "\n\n".join(parts) + "\n"


def _function(number: int, prototype: Prototype) -> str:
    name, outputs = prototype.name, prototype.outputs
    lines = [f'Call call({number}, "{name}", {FAILURES.get(prototype.returns, 0)});']
    lines += [line for line in (_input(prototype, place) for place in range(len(prototype.parameters))) if line]
    lines += _BEFORE.get(name, ())
    results = [f"call.take({p.name}, sizeof(*{p.name}));" for p in outputs if p.kind == OUT]
    arrays, counts = ([p.name for p in outputs if p.kind == kind] for kind in (OUT_ARRAY, OUT_COUNT))
    results += [f"call.take_array({array}, {count});" for array, count in zip(arrays, counts, strict=True)]
    results += _AFTER.get(name, ())
    lines += ["if (call.ask()) {", *(f"    {line}" for line in results), "}"] if results else ["call.ask();"]
    lines.append(f"return {_result(prototype)};")
    body = "\n".join(f"    {line}" for line in lines)
    return f"EXPORT {prototype.text} {{\n{body}\n}}"


def _input(prototype: Prototype, place: int) -> str:
    """The statement that puts a parameter into the message."""
    parameter = prototype.parameters[place]
    name = parameter.name
    if parameter.kind in OUTPUTS:
        return f"call.place({name}, {prototype.outputs.index(parameter) + 1});"
    if parameter.kind == ARRAY:
        # The number behind an array, or the one behind the array before it.
        count = [p.name for p in prototype.parameters[: place + 2] if p.kind == COUNT][-1]
        function = "array" if prototype.parameters[place + 1].name == count else "optional_array"
        return f"call.{function}({name}, {count});"
    if parameter.kind == NUMBER:
        # A C enum may be unsigned and still carry any int.
        width = "int32_t" if parameter.type.startswith("acl") else "int64_t"
        return f"call.number(static_cast<{width}>({name}));"
    # The number behind an array went with it.
    return "" if parameter.kind == COUNT else f"call.{parameter.kind}({name});"


def _result(prototype: Prototype) -> str:
    if prototype.returns_status:
        return "call.status()"
    if prototype.returns == "const char*":
        return "call.lasting_text()"
    return f"static_cast<{prototype.returns}>(call.pointer())"
