"""The operators, one file per family: contract rows and planner. A new operator is a line in REGISTRY."""

from __future__ import annotations

from ..contract import Operator
from .average import ADAPTIVE_AVG_POOL3D_BACKWARD, AVG_POOL2D_BACKWARD
from .maximum import ADAPTIVE_MAX_POOL2D_BACKWARD, MAX_POOL2D_WITH_INDICES_BACKWARD

REGISTRY: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        AVG_POOL2D_BACKWARD,
        ADAPTIVE_AVG_POOL3D_BACKWARD,
        MAX_POOL2D_WITH_INDICES_BACKWARD,
        ADAPTIVE_MAX_POOL2D_BACKWARD,
    )
}


def find_operator(name: object) -> Operator:
    """The operator of a name as C, Python, torch or a test tool writes it; ``ValueError`` with the list for any other.

    >>> {find_operator(name).name for name in ("AvgPool2dBackward", "torch.ops.aten.avg_pool2d_backward")}
    {'aclnnAvgPool2dBackward'}
    """
    short = name.strip().rsplit(".", 1)[-1].replace("_", "").casefold() if isinstance(name, str) else None
    for operator in REGISTRY.values():
        full = operator.name.casefold()
        if short in (full, full.removeprefix("aclnn")):
            return operator
    known = ", ".join(operator.name.removeprefix("aclnn") for operator in REGISTRY.values())
    raise ValueError(f"unknown operator {name!r}; the known ones are {known}")


__all__ = ["REGISTRY", "find_operator"]
