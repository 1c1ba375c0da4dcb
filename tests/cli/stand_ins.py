"""Operators that CANN does not have: descriptions like the real ones, to test what these do not need (yet)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolgrad.contract.parameters import OUTPUT, Parameter, Role
from poolgrad.contract.pooling import gradient_of_input
from poolgrad.operators import REGISTRY


def add_second_output(patch: pytest.MonkeyPatch, name: str) -> None:
    """Let an operator have one more output, where nothing is computed."""
    places = Parameter("places", Role.PLACES, OUTPUT, "places", "The places.", read=False)
    operator = REGISTRY[name]
    parameters = (*operator.parameters, places)
    patch.setitem(REGISTRY, name, replace(operator, parameters=parameters, results=lambda c: gradient_of_input(c) * 2))
