"""The operators, one file each, which says everything about one. A new file here is a new operator everywhere."""

from __future__ import annotations

import difflib
import pkgutil
import re
from importlib import import_module

from ..contract.operator import Operator

REGISTRY: dict[str, Operator] = {}
for _module in pkgutil.iter_modules(__path__):
    _operator: Operator = import_module(f".{_module.name}", __name__).OPERATOR
    REGISTRY[_operator.name] = _operator

LEAST_LIKENESS = 0.6  # of a name that was meant; what difflib calls close

# CANN's pooling operators that have no file here. All but one have a gradient.
_FORWARD = (
    *("AvgPool2d", "AvgPool3d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"),
    *("MaxPool2dWithIndices", "MaxPool3dWithArgmax", "MaxPool2dWithMask"),
)
_FAMILY = ("aclnnMaxPool", *(f"aclnn{name}{way}" for name in _FORWARD for way in ("", "Backward")))
ABSENT = tuple(name for name in _FAMILY if name not in REGISTRY)


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


def forward_of(gradient: Operator) -> Operator | None:
    """The operator whose gradient it is, if poolgrad has it.

    >>> forward_of(find_operator("MaxPool2dWithIndicesBackward")).name
    'aclnnMaxPool2dWithIndices'
    """
    return REGISTRY.get(gradient.name.removesuffix("Backward")) if gradient.is_gradient else None


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

    def likeness(name: str) -> tuple[float, bool, bool, float]:
        plain = _plain(name)
        core = difflib.SequenceMatcher(None, _core(wanted), _core(plain)).ratio()
        usual = "mask" in wanted or "mask" not in plain  # indices are meant, unless somebody says otherwise
        return core, name in REGISTRY, usual, difflib.SequenceMatcher(None, wanted, plain).ratio()

    best = max((*REGISTRY, *ABSENT), key=likeness)
    return best if likeness(best)[0] >= LEAST_LIKENESS else None
