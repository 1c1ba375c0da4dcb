"""All operators under their documented names, in two phases."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..base.status import ACLNN_ERR_INNER
from ..contract.operator import Operator
from ..operators import REGISTRY
from .executors import phase_one, phase_two
from .messages import returning_status, status_of

Phases = dict[str, Callable[..., Any]]


def phases_of(operator: Operator) -> Phases:
    """The two functions of an operator by their names, with the parameters of C but for the two that come back."""
    names = [p.name for p in operator.parameters]
    signature = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])

    def first(*given: Any, **named: Any) -> Any:
        if named or len(given) != len(names):  # a wrong number is a mistake in Python, not one that C could make
            given = signature.bind(*given, **named).args
        try:
            return phase_one(operator, given)
        except Exception as error:  # noqa: BLE001 - it is answered
            return None, None, status_of(error, first.__name__, ACLNN_ERR_INNER)

    def second(workspace: int | None, workspaceSize: int, executor: int | None, stream: int | None) -> None:
        phase_two(operator, workspace, workspaceSize, executor, stream)

    first.__name__ = first.__qualname__ = f"{operator.name}GetWorkspaceSize"
    first.__doc__ = f"Check and plan {operator.summary}: workspace size, executor, status."
    first.__signature__ = signature  # type: ignore[attr-defined]
    second.__name__ = second.__qualname__ = operator.name
    second.__doc__ = f"Run {operator.summary}, as its executor has planned it, on a stream."
    return {first.__name__: first, second.__name__: returning_status(ACLNN_ERR_INNER)(second)}


PHASES: Phases = {}
for _operator in REGISTRY.values():
    PHASES |= phases_of(_operator)
