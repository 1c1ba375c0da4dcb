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

__all__ = ["REGISTRY"]
