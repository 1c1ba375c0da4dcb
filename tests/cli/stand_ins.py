"""Operators that CANN does not have: descriptions like the real ones, to test what these do not need (yet)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from poolgrad import functional
from poolgrad.base.products import PRODUCTS
from poolgrad.contract.checks import dtype_in, format_in, rank_in, same
from poolgrad.contract.operator import Operator, Sample
from poolgrad.contract.parameters import GRAD, INDICES, OUTPUT, Parameter, Role, X, result
from poolgrad.contract.pooling import EVERY_FLOAT, adaptive_windows, gradient_of_input
from poolgrad.operators import REGISTRY
from poolgrad.plans.maximum import plan_maximum

OUT = result("gradInput")

MAXIMUM_OF_VOLUMES = Operator(
    "aclnnMaximumOfVolumes",
    summary="the gradient of the adaptive maxima of volumes",
    header="aclnn_maximum_of_volumes.h",
    axes="DHW",
    parameters=(GRAD, X, INDICES, OUT),
    products=PRODUCTS,
    default_format="NCDHW",
    windows=adaptive_windows,
    rows=(
        dtype_in((GRAD, X, OUT), EVERY_FLOAT),
        dtype_in((INDICES,), ("int32", "int64")),
        format_in((X,), ("NCDHW",)),
        rank_in((X,), (4, 5)),
        same("shape", OUT, X),
        same("shape", INDICES, GRAD),
    ),
    planner=plan_maximum,
    suite=lambda cases: None,
    sample=Sample({}, {}, {}, {}),
)


def maximum_of_volumes(grad_output: Any, x: tuple[int, ...], indices: Any, **options: Any) -> Any:
    result = np.zeros(x, grad_output.dtype)
    for volume, gradients, places in zip(result, grad_output, indices, strict=True):
        np.add.at(volume.reshape(-1), places.ravel(), gradients.ravel())
    return result


def add_maximum_of_volumes(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(REGISTRY, MAXIMUM_OF_VOLUMES.name, MAXIMUM_OF_VOLUMES)
    patch.setattr(functional, "maximum_of_volumes", maximum_of_volumes, raising=False)


def add_second_output(patch: pytest.MonkeyPatch, name: str) -> None:
    """Let an operator have one more output, where nothing is computed."""
    places = Parameter("places", Role.PLACES, OUTPUT, "places", "The places.", read=False)
    operator = REGISTRY[name]
    parameters = (*operator.parameters, places)
    patch.setitem(REGISTRY, name, replace(operator, parameters=parameters, results=lambda c: gradient_of_input(c) * 2))
