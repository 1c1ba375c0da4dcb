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


def find_operator(name: object) -> Operator:
    """The operator of a name as C, Python, torch or a test tool writes it, with or without its prefix, in any case.

    ``ValueError`` for any other, with the one that was probably meant.

    >>> {find_operator(name).name for name in ("AvgPool2DBackward", "torch.ops.aten.avg_pool2d_backward")}
    {'aclnnAvgPool2dBackward'}
    """
    wanted = _plain(name) if isinstance(name, str) else ""
    found = {_plain(known): known for known in REGISTRY}.get(wanted)
    if found is not None:
        return REGISTRY[found]
    meant = _closest(wanted)
    text = "" if meant is None else f"did you mean {meant}? "
    raise ValueError(f"unknown operator {name!r}; {text}the known ones are {', '.join(REGISTRY)}")


def forward_of(gradient: Operator) -> Operator | None:
    """The operator whose gradient it is, if poolgrad has it.

    >>> forward_of(find_operator("MaxPool2dWithIndicesBackward")).name
    'aclnnMaxPool2dWithIndices'
    """
    return REGISTRY.get(gradient.name.removesuffix("Backward")) if gradient.is_gradient else None


def _plain(name: str) -> str:
    return name.strip().rsplit(".", 1)[-1].casefold().removeprefix("aclnn").replace("_", "")


def _core(plain: str) -> str:
    """What tells the operators apart; the words that most of their names have would make strangers look alike."""
    return re.sub("withindices|withargmax|withmask|backward", "", plain)


def _closest(wanted: str) -> str | None:
    """The operator whose name is most alike; None if none is alike."""

    def likeness(name: str) -> tuple[float, bool, float]:
        plain = _plain(name)
        core = difflib.SequenceMatcher(None, _core(wanted), _core(plain)).ratio()
        usual = "mask" in wanted or "mask" not in plain  # indices are meant, unless somebody says otherwise
        return core, usual, difflib.SequenceMatcher(None, wanted, plain).ratio()

    best = max(REGISTRY, key=likeness)
    return best if likeness(best)[0] >= LEAST_LIKENESS else None
