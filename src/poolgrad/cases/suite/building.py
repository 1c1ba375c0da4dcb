"""The vocabulary of the suite: a line is a legal call with a few changes, a reason, and the status that it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...base.status import ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR, ACLNN_SUCCESS
from ...operators import REGISTRY
from ..building import pooled_shape
from ..model import Case, CaseTensor, Number

NULL, INVALID = ACLNN_ERR_PARAM_NULLPTR, ACLNN_ERR_PARAM_INVALID
BEYOND_INT64 = 2**63
# Whose shape a tensor has unless it is told otherwise.
_LEADERS = {"indices": "gradOutput", "gradInput": "self", "out": "self"}


@dataclass
class Suite:
    """The cases of one operator. Those that name no product mean the same on every product that has the operator."""

    operator_name: str
    tensors: Mapping[str, CaseTensor]
    numbers: Mapping[str, Number] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def add(self, name: str, why: str, /, **changes: Any) -> None:
        """A case that differs from the legal call in ``changes``: by parameter, a number, fields of a tensor, or None.

        ``every`` changes all tensors, ``floats`` all but the indices. What is not said follows: the output follows
        self, indices follow gradOutput. ``status`` is what the case expects, success if it does not say.
        """
        every, floats = changes.pop("every", {}), changes.pop("floats", {})
        tensors: dict[str, CaseTensor | None] = {}
        for parameter, tensor in self.tensors.items():
            own, led = changes.get(parameter, {}), changes.get(_LEADERS.get(parameter, "")) or {}
            if own is None:
                tensors[parameter] = None
                continue
            followed = {"shape": led["shape"]} if "shape" in led else {}
            of_group = every if parameter == "indices" else every | floats
            tensors[parameter] = replace(tensor, **(of_group | followed | own))
        numbers = {key: changes.get(key, value) for key, value in self.numbers.items()}
        self.cases.append(
            Case(
                f"{self.operator_name.removeprefix('aclnn')}-{name}",
                self.operator_name,
                tensors,
                numbers,
                product=changes.get("product"),
                status=changes.get("status", ACLNN_SUCCESS),
                why=why,
            )
        )

    def pooled(self, name: str, why: str, shape: tuple[int, ...], /, **changes: Any) -> None:
        """A case over an input of that shape, whose gradients have the shape that its windows give."""
        tensor = replace(self.tensors["self"], shape=shape, format=changes.get("every", {}).get("format", "NCHW"))
        numbers = {**self.numbers} | {k: v for k, v in changes.items() if k in self.numbers}
        out = pooled_shape(REGISTRY[self.operator_name], tensor, numbers)
        given = {"gradOutput": {"shape": out}, "self": {"shape": shape}}
        for parameter, fields in given.items():
            changes[parameter] = fields | changes.get(parameter, {})
        self.add(name, why, **changes)

    def refused(self, name: str, why: str, /, **changes: Any) -> None:
        self.add(name, why, **({"status": INVALID} | changes))

    def refused_planes(self) -> None:
        """What no operator with fixed windows takes, whatever it pools."""
        refused = self.refused
        refused("rank-2", "rank 2", every={"shape": (8, 8)})
        refused("rank-5", "rank 5", every={"shape": (1, 2, 3, 8, 8)})
        refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
        refused("not-pooled", "gradOutput has not the size that the windows give", gradOutput={"shape": (2, 3, 5, 4)})
        huge = {"gradOutput": {"shape": (2**30, 2**30, 4, 4)}, "self": {"shape": (2**30, 2**30, 8, 8)}}
        refused("huge", "more bytes than 64 bits count", **huge)
        overlapping = {"strides": (192, 64, 8, 0), "storage": (384,)}
        refused("output-overlaps", "elements of gradInput share memory", gradInput=overlapping)

    def nulls(self, *parameters: str) -> None:
        """Every required pointer as a null pointer."""
        for parameter in parameters:
            self.refused(f"null-{parameter}", f"{parameter} is a null pointer", status=NULL, **{parameter: None})
