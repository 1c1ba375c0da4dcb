"""The operators, one file each, which says everything about one. A new file here is a new operator everywhere."""

from __future__ import annotations

import difflib
import pkgutil
from importlib import import_module

from ..contract.operator import Operator

REGISTRY: dict[str, Operator] = {}
for _module in pkgutil.iter_modules(__path__):
    _operator: Operator = import_module(f".{_module.name}", __name__).OPERATOR
    REGISTRY[_operator.name] = _operator


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
