"""The operators, one file per family: contract rows and planner. A new operator is a line in REGISTRY."""

from __future__ import annotations

import difflib

from ..contract.engine import Operator
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
    """The operator of a name as C, Python, torch or a test tool writes it, with or without its prefix, in any case.

    ``ValueError`` for any other, with the one that was probably meant.

    >>> {find_operator(name).name for name in ("AvgPool2DBackward", "torch.ops.aten.avg_pool2d_backward")}
    {'aclnnAvgPool2dBackward'}
    """
    wanted = _plain(name) if isinstance(name, str) else ""
    by_name = {_plain(operator.name): operator for operator in REGISTRY.values()}
    if wanted in by_name:
        return by_name[wanted]
    by_core = {_core(plain): operator for plain, operator in by_name.items()}
    close = difflib.get_close_matches(_core(wanted), by_core, n=1)
    meant = f"did you mean {by_core[close[0]].name}? " if close else ""
    raise ValueError(f"unknown operator {name!r}; {meant}the known ones are {', '.join(REGISTRY)}")


def _plain(name: str) -> str:
    return name.strip().rsplit(".", 1)[-1].casefold().removeprefix("aclnn").replace("_", "")


def _core(plain: str) -> str:
    """What tells the operators apart; the words that all their names have would make strangers look alike."""
    return plain.replace("withindices", "").replace("backward", "")


__all__ = ["REGISTRY", "find_operator"]
