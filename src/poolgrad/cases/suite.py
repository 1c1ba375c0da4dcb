"""The suite: cases that CANN's own never has, each with its reason and the status that it expects.

A line of it is a legal call with a few changes. The lines stand in the files of their operators.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..base.status import ACL_ERROR_RT_AICORE_EXCEPTION, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR, ACLNN_SUCCESS
from ..base.tensor import contiguous_strides
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..operators import REGISTRY
from .building import pooled_shape
from .model import FORWARD, Case, CaseTensor, Number, Values

# Sizes of the legal call, and windows that make half of them.
SIZE, WINDOW = 8, 2
# Whose shape a tensor has unless it is told otherwise.
_LEADERS = {Role.INDICES: Role.GRADIENT, Role.RESULT: Role.INPUT}
_NUMBERS = {Role.KERNEL: WINDOW, Role.STRIDE: WINDOW, Role.PADDING: 0, Role.DILATION: 1}


def suite_of(operator_name: str) -> list[Case]:
    """The cases of an operator."""
    suite = Suite(REGISTRY[operator_name])
    suite.operator.suite(suite)
    return suite.cases


class Suite:
    """The cases of one operator. Those that name no product mean the same on every product that has the operator."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.cases: list[Case] = []
        axes = len(operator.axes)
        self.numbers: dict[str, Number] = {
            p.name: (_NUMBERS[p.role],) * axes if p.role in _NUMBERS else p.default for p in operator.numbers
        }
        self.base()

    def base(self, size: int = SIZE, format: str = "", **numbers: Number) -> None:
        """The legal call that all cases begin with."""
        axes, format = len(self.operator.axes), format or self.operator.default_format
        large = CaseTensor("float32", (2, 3, *[size] * axes), format)
        small = replace(large, shape=(2, 3, *[size // WINDOW] * axes))
        of_role = {Role.GRADIENT: small, Role.INDICES: replace(small, dtype="int32", values=FORWARD)}
        self.tensors = {p.name: of_role.get(p.role, large) for p in self.operator.tensors}
        self.numbers |= numbers

    def add(self, name: str, why: str, /, **changes: Any) -> None:
        """A case that differs from the legal call in ``changes``: by parameter, a number, fields of a tensor, or None.

        ``every`` changes all tensors, ``floats`` all but the indices. What is not said follows: the output follows
        the input, indices follow the gradient. ``values`` of a tensor may be a number, which all elements are then, or
        a kind of values. ``status`` is what the case expects, success if it does not say.
        """
        every, floats = changes.pop("every", {}), changes.pop("floats", {})
        tensors: dict[str, CaseTensor | None] = {}
        for parameter in self.operator.tensors:
            own = changes.get(parameter.name, {})
            if own is None:
                tensors[parameter.name] = None
                continue
            leader = _LEADERS.get(parameter.role)
            led = changes.get(self.operator.by_role[leader].name) or {} if leader else {}
            followed = {"shape": led["shape"]} if "shape" in led else {}
            of_group = every if parameter.role is Role.INDICES else every | floats
            fields = of_group | followed | own
            if "values" in fields:
                fields = fields | {"values": _values(fields["values"])}
            tensors[parameter.name] = replace(self.tensors[parameter.name], **fields)
        numbers = {key: changes.get(key, value) for key, value in self.numbers.items()}
        self.cases.append(
            Case(
                f"{self.operator.name.removeprefix('aclnn')}-{name}",
                self.operator.name,
                tensors,
                numbers,
                product=changes.get("product"),
                status=changes.get("status", ACLNN_SUCCESS),
                why=why,
            )
        )

    def pooled(self, name: str, why: str, shape: tuple[int, ...], /, **changes: Any) -> None:
        """A case over an input of that shape, whose gradients have the shape that its windows give."""
        x, gradient = (self.operator.by_role[role].name for role in (Role.INPUT, Role.GRADIENT))
        tensor = replace(self.tensors[x], shape=shape, **changes.get("every", {}))
        numbers = self.numbers | {key: value for key, value in changes.items() if key in self.numbers}
        given = {gradient: {"shape": pooled_shape(self.operator, tensor, numbers)}, x: {"shape": shape}}
        for parameter, fields in given.items():
            changes[parameter] = fields | changes.get(parameter, {})
        self.add(name, why, **changes)

    def refused(self, name: str, why: str, /, **changes: Any) -> None:
        self.add(name, why, **({"status": ACLNN_ERR_PARAM_INVALID} | changes))

    def refused_planes(self) -> None:
        """What no operator with fixed windows over planes takes, whatever it pools."""
        refused, x, gradient = self.refused, *(self.operator.by_role[r].name for r in (Role.INPUT, Role.GRADIENT))
        output = self.operator.outputs[0].name
        refused("rank-2", "rank 2", every={"shape": (8, 8)})
        refused("rank-5", "rank 5", every={"shape": (1, 2, 3, 8, 8)})
        refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
        why = f"{gradient} has not the size that the windows give"
        refused("not-pooled", why, **{gradient: {"shape": (2, 3, 5, 4)}})
        huge = {gradient: {"shape": (2**30, 2**30, 4, 4)}, x: {"shape": (2**30, 2**30, 8, 8)}}
        refused("huge", "more bytes than 64 bits count", **huge)
        overlapping = {"strides": (192, 64, 8, 0), "storage": (384,)}
        refused("output-overlaps", f"elements of {output} share memory", **{output: overlapping})

    def fixed_windows(self) -> None:
        """Windows of every kind, over as many axes as the operator pools."""
        pooled, axes = self.pooled, len(self.operator.axes)
        kernel, stride, pad, ceil = (
            self.operator.by_role[role].name for role in (Role.KERNEL, Role.STRIDE, Role.PADDING, Role.CEIL_MODE)
        )

        def numbers(k: int, s: int, p: int) -> dict[str, Any]:
            return {kernel: (k,) * axes, stride: (s,) * axes, pad: (p,) * axes}

        sizes = (7, 9, 8)[-axes:]
        pooled("overlap", "an element is in many windows", (1, 2, *sizes), **numbers(3, 1, 1))
        pooled("padding", "windows that reach into the padding", (1, 2, *sizes), **numbers(3, 2, 1))
        pooled("ceil", "ceil mode's last window is cut off", (2, 3, *[8] * axes), **numbers(3, 3, 0), **{ceil: True})
        why = "a ceil-mode window that would begin in the right padding is dropped"
        pooled("ceil-dropped", why, (2, 3, *[4] * axes), **numbers(2, 3, 1), **{ceil: True})
        why = "arrays of one value hold for all axes"
        pooled("lengths-1", why, (2, 3, *[9] * axes), **{kernel: (3,), stride: (2,), pad: (1,)})
        empty = {kernel: (3, 3, 2)[-axes:], stride: ()}
        pooled("stride-empty", f"an empty {stride} means {kernel}", (2, 3, *(9, 9, 6)[-axes:]), **empty)
        gaps = {stride: (4, 5, 4)[-axes:]}
        pooled("gaps", "a stride beyond the kernel leaves elements that get 0", (1, 2, *[11] * axes), **gaps)
        pooled("global", "one window over all of it", (2, 3, *(3, 5, 7)[-axes:]), **{kernel: (3, 5, 7)[-axes:]})
        pooled("one-element", "the smallest tensors there are", (1, 1, *[1] * axes), **numbers(1, 1, 0))

    def refused_windows(self) -> None:
        """Numbers that no fixed windows have."""
        refused, axes = self.refused, len(self.operator.axes)
        by_role = self.operator.by_role
        arrays = [by_role[r].name for r in (Role.KERNEL, Role.STRIDE, Role.PADDING, Role.DILATION) if r in by_role]
        kernel, stride, pad = arrays[:3]
        for name in arrays:
            refused(f"{name}-length", f"{name} has {axes + 1} values", **{name: (1,) * (axes + 1)})
        refused("int64-kernel", "a number beyond 64 bits", **{kernel: (2**63,) * axes})
        refused("kernel-zero", "a kernel of 0", **{kernel: (0,) * axes})
        refused("stride-negative", "a negative stride", **{stride: (-2,) * axes})
        refused("padding-negative", "negative padding", **{pad: (*[0] * (axes - 1), -1)})
        refused(
            "padding-beyond-half", "padding is more than half the kernel", **{kernel: (3,) * axes, pad: (2,) * axes}
        )
        refused("windows-do-not-fit", "the kernel is larger than the input", **{kernel: (SIZE + 1,) * axes})

    def layouts(self) -> None:
        """Strides of every kind, and views that can't be."""
        add, refused, by_role = self.add, self.refused, self.operator.by_role
        x, gradient, output = (by_role[role].name for role in (Role.INPUT, Role.GRADIENT, Role.RESULT))
        small, large = (self.tensors[name].shape for name in (gradient, output))
        count, all_small, all_large = len(small), math.prod(small), math.prod(large)
        dense = contiguous_strides(large)
        last = {"strides": (dense[0], 1, *(step * large[1] for step in contiguous_strides(large[2:])))}
        last["storage"] = (all_large,)
        add("channels-last", "views whose channels lie side by side", **{x: last, output: last})
        steps = contiguous_strides(small)
        twice = {"strides": tuple(2 * step for step in steps), "storage": (2 * all_small,), "offset": 1}
        led = [gradient, *(by_role[r].name for r in (Role.INDICES,) if r in by_role)]
        add("strided", f"{' and '.join(led)} are every second element of something", **dict.fromkeys(led, twice))
        backwards = {"strides": tuple(-step for step in steps), "storage": (all_small,), "offset": all_small - 1}
        add("backwards", f"{' and '.join(led)} are read from their ends", **dict.fromkeys(led, backwards))
        wide = {"strides": tuple(3 * step for step in dense), "storage": (3 * all_large,), "offset": 2}
        add("strided-output", "memory between the output's elements is not touched", **{output: wide})
        short = {"storage": (all_small - 1,)}
        refused("outside-storage", f"the view of {gradient} ends behind its storage", **{gradient: short})
        overlapping = {"strides": (*dense[:-1], 0), "storage": (all_large,)}
        refused("output-overlaps", f"elements of {output} share memory", **{output: overlapping})
        huge = {
            name: {"shape": (2**30, 2**30, *shape[-count + 2 :])} for name, shape in ((gradient, small), (x, large))
        }
        refused("huge", "more bytes than 64 bits count", **huge)

    def maxima(self) -> None:
        """Indices of every kind."""
        add, by_role = self.add, self.operator.by_role
        x, where = by_role[Role.INPUT].name, by_role[Role.INDICES].name
        places = math.prod(self.tensors[x].shape[2:])
        add("nan", "NaN is the maximum of its window", **{x: {"values": math.nan}})
        why = "where all is -Inf an index still points into its window"
        add("minus-inf", why, **{x: {"values": -math.inf}})
        add("equal", "all elements are equal: the first of each window is the maximum", **{x: {"values": 1.0}})
        add("indices-drawn", "legal indices that are no maxima", **{where: {"values": "windows"}})
        add("indices-astray", "indices outside their windows, inside the plane", **{where: {"values": "plane"}})
        add("indices-one-place", "every gradient goes to one element", **{where: {"values": places - 1}})
        bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
        add("index-beyond-plane", f"{places} is outside the plane", **{where: {"values": places}}, **bad)
        add("index-negative", "-1 is outside the plane", **{where: {"values": -1}}, **bad)

    def nulls(self) -> None:
        """Every pointer that must be there as a null pointer."""
        for p in self.operator.parameters:
            if p.kind in ("tensor", "ints") and not p.nullable:
                changes: dict[str, Any] = {p.name: None, "status": ACLNN_ERR_PARAM_NULLPTR}
                self.refused(f"null-{p.name}", f"{p.name} is a null pointer", **changes)


def _values(told: Any) -> Values:
    return Values(told) if isinstance(told, str) else Values("constant", (float(told),))
