"""The graph operators (IR) behind the four aclnn operators: their names, axes and numbers, as the contract has them.

| aclnn operator | graph operators |
| --- | --- |
| AvgPool2dBackward | AvgPoolV2Grad; AvgPool3DGrad with depth 1 |
| AdaptiveAvgPool3dBackward | AdaptiveAvgPool3dGrad |
| MaxPool2dWithIndicesBackward | MaxPoolGradWithArgmaxV3 |
| AdaptiveMaxPool2dBackward | AdaptiveMaxPool3DGrad with depth 1 |

These may have channels last, a depth where C has none, a number for every axis, and padding that differs between the
ends of an axis. What the aclnn operator can't express is a ValueError.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.operator import Operator

Array = NDArray[Any]

SHAPE = "orig_input_shape"  # a tensor that holds the shape of self
_NAMES = {
    **dict.fromkeys(("input_grad", "grads", "y_grad", "grad"), "gradOutput"),
    "argmax": "indices",
    SHAPE: "self",
    "ksize": "kernelSize",
    "strides": "stride",
    "pads": "padding",
}
# What C has no parameter for. dtype is the type of argmax, which argmax itself shows.
WORDS = ("padding_mode", "global_pooling", "exclusive", "data_format", "dtype")
# Names that only the IR has: one of them shows that a call is written in its names.
NAMES = frozenset((*_NAMES, *WORDS))

_LAYOUTS = ("NCHW", "NHWC", "NCDHW", "NDHWC")
_OF_VOLUMES = "aclnnAdaptiveAvgPool3dBackward"


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
        return "D" in self.own and self.operator.name != _OF_VOLUMES

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


def renamed(named: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors and numbers by the names of C, without what only the IR has."""
    return {_NAMES.get(name, name): value for name, value in named.items() if name not in WORDS}


def layout_of(operator: Operator, rank: int, named: Mapping[str, Any], formats: Collection[str]) -> Layout:
    """What ``data_format`` and the formats of tensors say; ND says nothing, and a plane's layout is NCHW then."""
    said = {"NCHW" if word == "NCL" else word for word in (*formats, named.get("data_format")) if word} - {"ND"}
    if not said:
        if "grads" in named or "y_grad" in named:
            raise ValueError("data_format: expected NCDHW or NDHWC, got neither that nor a tensor of such a format.")
        said = {"NCDHW" if rank == 5 else "NCHW"}
    layout, *others = sorted(said)
    if others or layout not in _LAYOUTS:
        expected = f"one of {', '.join(_LAYOUTS)} for data_format and every tensor that is not ND"
        raise ValueError(f"data_format: expected {expected}, got {', '.join(sorted(said))}.")
    if operator.name == _OF_VOLUMES and "D" not in layout:
        raise ValueError(f"data_format: expected NCDHW or NDHWC, got {layout}; {operator.name} pools volumes.")
    if not len(layout) - 1 <= rank <= len(layout):
        raise ValueError(f"gradOutput: expected the axes of {layout}, with or without N; got {rank} axes.")
    return Layout(operator, layout, layout[-rank:])


def documented(layout: Layout, renamed: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """A call in C's axes and numbers, from its arguments by the names of C and by those that it came with."""
    arguments = dict(renamed)
    for name in ("gradOutput", "self", "indices"):
        if name == "self" and SHAPE in named:
            arguments[name] = layout.shape(_ints(SHAPE, named[SHAPE]), SHAPE)
        elif name in arguments:
            arguments[name] = layout.array(arguments[name], name)
    for said, name in (("ksize", "kernelSize"), ("strides", "stride"), ("dilation", "dilation"), ("pads", "padding")):
        if numbers := _ints(said, arguments.get(name, ())):
            along = _along(layout, said, numbers)
            arguments[name] = [along["H"], along["W"]]
    if "exclusive" in named or "input_grad" in named:  # AvgPoolV2Grad, which leaves padding out unless it is told
        arguments.setdefault("countIncludePad", not named.get("exclusive", True))
    if named.get("global_pooling"):
        arguments |= {"kernelSize": _plane(arguments), "stride": (), "padding": 0}
    else:
        _apply_padding_mode(layout, named.get("padding_mode", "CALCULATED"), arguments)
    return arguments


def _ints(name: str, value: Any) -> list[int]:
    try:
        return [operators.index(number) for number in np.ravel(value).tolist()]
    except TypeError:
        raise TypeError(f"{name} must be integers, got {value!r}.") from None


def _plane(arguments: Mapping[str, Any]) -> list[int]:
    """H and W of self."""
    self = arguments["self"]
    return list((self if isinstance(self, tuple) else self.shape)[-2:])


def _along(layout: Layout, name: str, numbers: list[int]) -> dict[str, int]:
    """One number for all of D, H and W, one for each, one for every axis, or, of padding, one for either end."""
    letters = layout.spatial
    if len(numbers) == 1:
        found = dict.fromkeys(letters, numbers[0])
    elif len(numbers) == len(letters):
        found = dict(zip(letters, numbers, strict=True))
    elif name == "pads" and len(numbers) == 2 * len(letters):
        if numbers[::2] != numbers[1::2]:
            raise layout.error(name, "the same padding at both ends of an axis", str(numbers))
        found = dict(zip(letters, numbers[::2], strict=True))
    elif name != "pads" and len(numbers) == len(layout.all):
        found = dict(zip(layout.all, numbers, strict=True))
        if found["N"] != 1 or found["C"] != 1:
            raise layout.error(name, f"1 for N and C of {layout.all}", str(numbers))
    else:
        most = 2 * len(letters) if name == "pads" else len(layout.all)
        raise ValueError(f"{name}: expected 1, {len(letters)} or {most} numbers for {layout.all}, got {numbers}.")
    idle = {"ksize": 1, "pads": 0}.get(name)  # strides and dilations mean nothing to windows of one element
    if layout.has_idle_depth and idle is not None and found["D"] != idle:
        raise layout.error(name, f"{idle} along the depth", str(numbers))
    return found


def _apply_padding_mode(layout: Layout, mode: str, arguments: dict[str, Any]) -> None:
    if mode == "VALID":
        arguments["padding"] = 0
    elif mode == "SAME":
        kernel = arguments.get("kernelSize")
        stride = arguments.get("stride") or kernel
        if kernel and stride and min(*kernel, *stride) > 0:  # else the contract has an answer
            axes = zip(_plane(arguments), kernel, stride, strict=True)
            arguments |= {"padding": [_same(layout, *axis) for axis in axes], "ceilMode": False}
    elif mode != "CALCULATED":
        raise ValueError(f"padding_mode: expected CALCULATED, SAME or VALID, got {mode!r}.")


def _same(layout: Layout, size: int, kernel: int, stride: int) -> int:
    """The padding at either end that gives an output for every ``stride`` elements, the last begun included."""
    both = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    if both % 2:
        got = f"SAME, which pads {size} elements by {both // 2} and {both // 2 + 1}"
        raise layout.error("padding_mode", "the same padding at both ends of an axis", got)
    return both // 2
