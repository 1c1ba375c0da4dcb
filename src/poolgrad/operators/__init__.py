"""The operators, one file per family: contract rows and planner. A new operator is a line in REGISTRY."""

from __future__ import annotations

import difflib
import re

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


LEAST_LIKENESS = 0.6  # of a name that was meant; what difflib calls close

# The rest of CANN's pooling operators, which are not here. One that gets added leaves this list.
ABSENT = (
    "aclnnAvgPool2d",
    "aclnnAvgPool3d",
    "aclnnAvgPool3dBackward",
    "aclnnAdaptiveAvgPool2d",
    "aclnnAdaptiveAvgPool2dBackward",
    "aclnnAdaptiveAvgPool3d",
    "aclnnMaxPool",
    "aclnnMaxPool2dWithIndices",
    "aclnnMaxPool2dWithMask",
    "aclnnMaxPool2dWithMaskBackward",
    "aclnnMaxPool3dWithArgmax",
    "aclnnMaxPool3dWithArgmaxBackward",
    "aclnnAdaptiveMaxPool2d",
    "aclnnAdaptiveMaxPool3d",
    "aclnnAdaptiveMaxPool3dBackward",
)


def find_operator(name: object) -> Operator:
    """The operator of a name as C, Python, torch or a test tool writes it, with or without its prefix, in any case.

    ``ValueError`` for any other, with the one that was probably meant.

    >>> {find_operator(name).name for name in ("AvgPool2DBackward", "torch.ops.aten.avg_pool2d_backward")}
    {'aclnnAvgPool2dBackward'}
    """
    wanted = _plain(name) if isinstance(name, str) else ""
    found = {_plain(known): known for known in (*REGISTRY, *ABSENT)}.get(wanted)
    if found in REGISTRY:
        return REGISTRY[found]
    if found is not None:
        raise ValueError(told_absent(found))
    meant = _closest(wanted)
    text = "" if meant is None else f"did you mean {meant}? "
    if meant in ABSENT:
        text += "CANN has it, and poolgrad does not; "
    raise ValueError(f"unknown operator {name!r}; {text}the known ones are {', '.join(REGISTRY)}")


def told_absent(name: str) -> str:
    """What to say to somebody who asks for an operator of ``ABSENT``."""
    return f"CANN has {name}, and poolgrad does not; it has {', '.join(REGISTRY)}"


def _plain(name: str) -> str:
    return name.strip().rsplit(".", 1)[-1].casefold().removeprefix("aclnn").replace("_", "")


def _core(plain: str) -> str:
    """What tells the operators apart; the words that most of their names have would make strangers look alike."""
    return re.sub("withindices|withargmax|withmask|backward", "", plain)


def _closest(wanted: str) -> str | None:
    """The operator whose name is most alike, ours if several are; None if none is alike."""

    def likeness(name: str) -> tuple[float, bool, float]:
        plain = _plain(name)
        core = difflib.SequenceMatcher(None, _core(wanted), _core(plain)).ratio()
        return core, name in REGISTRY, difflib.SequenceMatcher(None, wanted, plain).ratio()

    best = max((*REGISTRY, *ABSENT), key=likeness)
    return best if likeness(best)[0] >= LEAST_LIKENESS else None


__all__ = ["ABSENT", "REGISTRY", "find_operator", "told_absent"]
