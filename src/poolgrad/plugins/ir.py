"""Calls in the words of graph operators (IR), as the contract has them: their names, axes and numbers.

Which graph operators an aclnn operator has, and what they call its parameters, its own file says. They may have
channels last, a depth where C has none, a number for every axis, and padding that differs between the ends of an axis.
What the aclnn operator can't express is a ValueError.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.operator import GraphOperator, Operator
from ..contract.parameters import Role
from .calls import bound

Array = NDArray[Any]

SHAPE = "orig_input_shape"  # the input's shape, where others have the input itself
# What C has no parameter for. dtype is the type of indices, which they show themselves.
WORDS = ("padding_mode", "global_pooling", "exclusive", "data_format", "dtype")

CHANNELS_LAST = ("NHWC", "NDHWC")
_LAYOUTS = ("NCHW", "NHWC", "NCDHW", "NDHWC")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the axes of a call lie: ``all`` of its layout, and the tensors' ``own``, which may lack a batch."""

    operator: Operator
    all: str
    own: str

    @property
    def order(self) -> list[int]:
        """Where N, C, D, H and W are, as far as they are there."""
        return [self.own.index(letter) for letter in "NCDHW" if letter in self.own]

    @property
    def spatial(self) -> str:
        return "DHW" if "D" in self.all else "HW"

    @property
    def has_idle_depth(self) -> bool:
        """Whether there is a depth that the aclnn operator does not have."""
        return "D" in self.own and "D" not in self.operator.axes

    def shape(self, sizes: Sequence[int], name: str) -> tuple[int, ...]:
        """Sizes in C's order."""
        if len(sizes) != len(self.own):
            raise ValueError(f"{name}: expected {len(self.own)} sizes, of {self.own}; got {list(sizes)}.")
        moved = [int(sizes[axis]) for axis in self.order]
        if not self.has_idle_depth:
            return tuple(moved)
        if moved[-3] != 1:
            raise self.error(name, "a depth of 1", f"{moved[-3]} in shape {list(sizes)} of {self.own}")
        return (*moved[:-3], *moved[-2:])

    def array(self, array: Array, name: str) -> Array:
        """A view of a tensor whose axes have C's order."""
        self.shape(array.shape, name)
        moved = array.transpose(self.order)
        return moved[..., 0, :, :] if self.has_idle_depth else moved

    def back(self, result: Array) -> Array:
        """A result in the order of the call's own axes."""
        whole = result[..., None, :, :] if self.has_idle_depth else result
        return np.ascontiguousarray(whole.transpose(np.argsort(self.order)))

    def error(self, name: str, expected: str, got: str) -> ValueError:
        return ValueError(f"{name}: expected {expected}, got {got}; {self.operator.name} has nothing else.")


def renamed(operator: Operator, named: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors and numbers by the names of C, without what no parameter stands for."""
    return bound(operator, (), {_documented_name(operator, name): value for name, value in named.items()})


def _documented_name(operator: Operator, name: str) -> str:
    roles = (role for graph in operator.ir for role, own in graph.names.items() if own == name)
    return next((operator.by_role[role].name for role in roles), name)


def is_spoken(operator: Operator, named: Mapping[str, Any]) -> bool:
    """Whether a call has a name that C does not have."""
    own = {*WORDS, *(name for graph in operator.ir for name in graph.names.values())}
    return any(name in own and not bound(operator, (), {name: 0}) for name in named)


def _graph_operator(operator: Operator, named: Mapping[str, Any]) -> GraphOperator | None:
    """The one whose word for the first tensor the call has."""
    return next((graph for graph in operator.ir if graph.names.get(operator.inputs[0].role) in named), None)


def layout_of(operator: Operator, rank: int, named: Mapping[str, Any], formats: Collection[str]) -> Layout:
    """What ``data_format`` and the formats of tensors say; ND says nothing, and channels come first then."""
    has_depth, graph = "D" in operator.axes, _graph_operator(operator, named)
    said = {"NCHW" if word == "NCL" else word for word in (*formats, named.get("data_format")) if word} - {"ND"}
    if not said:
        if graph is not None and graph.needs_data_format:
            raise ValueError("data_format: expected NCDHW or NDHWC, got neither that nor a tensor of such a format.")
        said = {"NCDHW" if has_depth or rank == 5 else "NCHW"}
    layout, *others = sorted(said)
    if others or layout not in _LAYOUTS:
        expected = f"one of {', '.join(_LAYOUTS)} for data_format and every tensor that is not ND"
        raise ValueError(f"data_format: expected {expected}, got {', '.join(sorted(said))}.")
    if has_depth and "D" not in layout:
        raise ValueError(f"data_format: expected NCDHW or NDHWC, got {layout}; {operator.name} pools volumes.")
    if not len(layout) - 1 <= rank <= len(layout):
        name = operator.inputs[0].name
        raise ValueError(f"{name}: expected the axes of {layout}, with or without N; got {rank} axes.")
    return Layout(operator, layout, layout[-rank:])


def documented(layout: Layout, renamed: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """A call in C's axes and numbers, from its arguments by the names of C and by those that it came with."""
    operator, arguments = layout.operator, dict(renamed)
    said = {_documented_name(operator, name): name for name in named}
    # The axes of a mask are no planes, and lie in the same order always.
    for name in (p.name for p in operator.inputs if p.name in arguments and p.role is not Role.MASK):
        if said.get(name) == SHAPE:
            arguments[name] = layout.shape(_ints(SHAPE, named[SHAPE]), SHAPE)
        else:
            arguments[name] = layout.array(arguments[name], name)
    for role in (Role.KERNEL, Role.STRIDE, Role.DILATION, Role.PADDING):
        name = operator.by_role[role].name if role in operator.by_role else ""
        own = said.get(name, name)
        if numbers := _ints(own, arguments.get(name, ())):
            along = _along(layout, own, role, numbers)
            arguments[name] = [along[letter] for letter in operator.axes]
    graph = _graph_operator(operator, named)
    if "exclusive" in named or (graph is not None and "exclusive" in graph.words):  # padding is left out unless told
        arguments = _by_name(operator, {Role.COUNT_INCLUDE_PAD: not named.get("exclusive", True)}) | arguments
    if named.get("global_pooling"):
        whole = {Role.KERNEL: _sizes(operator, arguments), Role.STRIDE: (), Role.PADDING: (0,)}
        return arguments | _by_name(operator, whole)
    return arguments | _by_name(operator, _padded(layout, named.get("padding_mode", "CALCULATED"), arguments))


def _by_name(operator: Operator, numbers: Mapping[Role, Any]) -> dict[str, Any]:
    """By the names of C, as far as it has them."""
    return {operator.by_role[role].name: value for role, value in numbers.items() if role in operator.by_role}


def _ints(name: str, value: Any) -> list[int]:
    try:
        return [operators.index(number) for number in np.ravel(value).tolist()]
    except TypeError:
        raise TypeError(f"{name} must be integers, got {value!r}.") from None


def _sizes(operator: Operator, arguments: Mapping[str, Any]) -> list[int]:
    """The input's sizes along the pooled axes."""
    x = arguments[operator.by_role[Role.INPUT].name]
    return list((x if isinstance(x, tuple) else x.shape)[-len(operator.axes) :])


def _along(layout: Layout, name: str, role: Role, numbers: list[int]) -> dict[str, int]:
    """One number for all of D, H and W, one for each, one for every axis, or, of padding, one for either end."""
    letters = layout.spatial
    if len(numbers) == 1:
        found = dict.fromkeys(letters, numbers[0])
    elif len(numbers) == len(letters):
        found = dict(zip(letters, numbers, strict=True))
    elif role is Role.PADDING and len(numbers) == 2 * len(letters):
        if numbers[::2] != numbers[1::2]:
            raise layout.error(name, "the same padding at both ends of an axis", str(numbers))
        found = dict(zip(letters, numbers[::2], strict=True))
    elif role is not Role.PADDING and len(numbers) == len(layout.all):
        found = dict(zip(layout.all, numbers, strict=True))
        if found["N"] != 1 or found["C"] != 1:
            raise layout.error(name, f"1 for N and C of {layout.all}", str(numbers))
    else:
        most = 2 * len(letters) if role is Role.PADDING else len(layout.all)
        raise ValueError(f"{name}: expected 1, {len(letters)} or {most} numbers for {layout.all}, got {numbers}.")
    idle = {Role.KERNEL: 1, Role.PADDING: 0}.get(role)  # strides and dilations mean nothing to windows of one element
    if layout.has_idle_depth and idle is not None and found["D"] != idle:
        raise layout.error(name, f"{idle} along the depth", str(numbers))
    return found


def _padded(layout: Layout, mode: str, arguments: Mapping[str, Any]) -> dict[Role, Any]:
    """What a padding mode changes."""
    if mode == "CALCULATED":
        return {}
    if mode == "VALID":
        return {Role.PADDING: (0,)}
    if mode != "SAME":
        raise ValueError(f"padding_mode: expected CALCULATED, SAME or VALID, got {mode!r}.")
    by_role = layout.operator.by_role
    kernel, stride = (arguments.get(by_role[r].name) if r in by_role else None for r in (Role.KERNEL, Role.STRIDE))
    stride = stride or kernel
    if not kernel or not stride or min(*kernel, *stride) <= 0:  # which the contract has an answer to
        return {}
    axes = zip(_sizes(layout.operator, arguments), kernel, stride, strict=True)
    return {Role.PADDING: [_same(layout, *axis) for axis in axes], Role.CEIL_MODE: False}


def _same(layout: Layout, size: int, kernel: int, stride: int) -> int:
    """The padding at either end that gives an output for every ``stride`` elements, the last begun included."""
    both = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    if both % 2:
        got = f"SAME, which pads {size} elements by {both // 2} and {both // 2 + 1}"
        raise layout.error("padding_mode", "the same padding at both ends of an axis", got)
    return both // 2
