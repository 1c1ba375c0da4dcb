"""A call as a line of text: so the benchmark's cases are written, and the tests' too.

    avg n2c3h7w9 k3,2 s2 p1 ceil nopad

Operators are ``avg2`` and ``max2``, ``aavg2`` and ``amax2`` (adaptive ones), and the same with 3 where D is pooled too;
without a number those of 2, but ``aavg`` of 3. Sizes are written planes first, whatever the data format. ``k``, ``s``,
``p``, ``dil`` are kernel, stride, padding, dilation: ``k3`` an int, ``k3,`` a sequence of one, ``k3,2`` of two, ``s-``
an empty one. ``o2,3`` is the output size of an adaptive operator, ``div=`` the divisor, ``nopad`` stands for
count_include_pad=False, ``nhwc`` for the data format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY
from poolgrad.selftest import reference

OPERATORS = {
    f"{'' if Role.KERNEL in op.by_role else 'a'}{'avg' if op.averages else 'max'}{len(op.axes)}": op
    for op in REGISTRY.values()
    if op.is_gradient and Role.MASK not in op.by_role
}
OPERATORS |= {name.rstrip("23"): OPERATORS[name] for name in ("avg2", "aavg3", "max2", "amax2")}

_NUMBERS = {"k": "kernel_size", "s": "stride", "p": "padding", "dil": "dilation"}
_WORDS: dict[str, dict[str, object]] = {
    "ceil": {"ceil_mode": True},
    "nopad": {"count_include_pad": False},
    "nhwc": {"data_format": "NHWC"},
    "ndhwc": {"data_format": "NDHWC"},
}


@dataclass(frozen=True)
class Line:
    text: str
    operator: str
    x_shape: tuple[int, ...]  # planes first, whatever the data format
    arguments: dict[str, Any] = field(hash=False)  # as the user spells them
    output_size: tuple[int, ...]

    @property
    def described(self) -> Operator:
        return OPERATORS[self.operator]

    @property
    def axes(self) -> int:
        return len(self.described.axes)

    @property
    def averages(self) -> bool:
        return self.described.averages

    @property
    def adaptive(self) -> bool:
        return Role.KERNEL not in self.described.by_role

    def each(self, name: str, missing: int = 1) -> tuple[int, ...]:
        """The number of each axis."""
        value = self.arguments.get(name, missing)
        values = [value] if isinstance(value, int) else list(value)
        return tuple(values * self.axes if len(values) == 1 else values)

    @cached_property
    def kernel(self) -> tuple[int, ...]:
        return self.each("kernel_size")

    @cached_property
    def stride(self) -> tuple[int, ...]:
        return self.each("stride") if self.arguments.get("stride") else self.kernel

    @cached_property
    def padding(self) -> tuple[int, ...]:
        return self.each("padding", 0)

    @cached_property
    def dilation(self) -> tuple[int, ...]:
        return self.each("dilation")

    @property
    def ceil(self) -> bool:
        return bool(self.arguments.get("ceil_mode"))

    @property
    def spatial(self) -> tuple[int, ...]:
        return self.x_shape[-self.axes :]

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        if self.output_size:
            return self.output_size
        axes = zip(self.spatial, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(reference.pooled_size(*axis, self.ceil) for axis in axes)

    @cached_property
    def grad_shape(self) -> tuple[int, ...]:
        return (*self.x_shape[: -self.axes], *self.outputs)


def read(text: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a ``Line``, and the words that say nothing about the call."""
    operator, shape, *words = text.split()
    letters, sizes = re.findall("[a-z]", shape), re.findall(r"\d+", shape)
    if operator not in OPERATORS or "".join(letters) not in ("chw", "nchw", "cdhw", "ncdhw"):
        raise ValueError(f"no such case: {text!r}")
    arguments: dict[str, object] = {}
    output_size: tuple[int, ...] = ()
    others = []
    for word in words:
        name = word.rstrip("0123456789,-")
        if word.startswith("div="):
            arguments["divisor_override"] = int(word[4:])
        elif name in _NUMBERS:
            arguments[_NUMBERS[name]] = _numbers(word[len(name) :])
        elif name == "o":
            output_size = tuple(map(int, word[1:].split(",")))
        elif word in _WORDS:
            arguments |= _WORDS[word]
        else:
            others.append(word)
    fields = {"operator": operator, "x_shape": tuple(map(int, sizes)), "arguments": arguments}
    return fields | {"text": text, "output_size": output_size}, others


def _numbers(text: str) -> int | Sequence[int]:
    if text == "-":
        return ()
    numbers = [int(number) for number in text.split(",") if number]
    return numbers[0] if "," not in text else numbers if len(numbers) > 1 else tuple(numbers)
