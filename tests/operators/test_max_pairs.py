"""What a forward pass finds is what its gradient takes: every pair of operators that there is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad.base.products import ANY
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.support import support
from poolgrad.operators import REGISTRY

PAIRS = [
    (operator, REGISTRY[f"{name}Backward"])
    for name, operator in REGISTRY.items()
    if Role.PLACES in operator.by_role and f"{name}Backward" in REGISTRY
]
# The last numbers are those of the pooled axes; windows overlap, and reach into the padding.
SIZES, OUTS = (4, 7, 9), (3, 4, 5)
NUMBERS = {Role.KERNEL: 3, Role.STRIDE: 2, Role.PADDING: 1, Role.DILATION: 1, Role.CEIL_MODE: True}


def arguments(operator: Operator) -> dict[str, Any]:
    numbers = NUMBERS | {Role.OUTPUT_SIZE: OUTS[-len(operator.axes) :]}
    return {p.python_name: numbers[p.role] for p in operator.numbers}


def test_there_are_pairs() -> None:
    assert len(PAIRS) == 4


@pytest.mark.parametrize(("forward", "backward"), PAIRS, ids=lambda operator: operator.name)
@pytest.mark.parametrize("special", [None, np.nan, -np.inf, 0.0], ids=str)
def test_gradients_arrive_at_the_maxima(forward: Operator, backward: Operator, special: float | None) -> None:
    axes, random = len(forward.axes), np.random.default_rng(5)
    types = set(support(forward, ANY).index_dtypes) & set(support(backward, ANY).index_dtypes)
    for index in types:
        options = {"index_dtype": index} if len(support(forward, ANY).index_dtypes) > 1 else {}
        for lead in ((2, 3), (10,)):
            x = random.standard_normal((*lead, *SIZES[-axes:])).astype(np.float32)
            if special is not None:
                x[random.random(x.shape) < 0.4] = special
            values, indices = getattr(poolgrad, forward.python_name)(x, **arguments(forward), **options)
            assert indices.dtype == index
            flat, places = x.reshape(*lead, -1), indices.reshape(*lead, -1)
            assert np.array_equal(np.take_along_axis(flat, places, -1), values.reshape(places.shape), equal_nan=True), (
                "a place is where its value stands"
            )
            grad = random.integers(-9, 10, values.shape).astype(np.float32)
            numbers = arguments(backward) if Role.KERNEL in backward.by_role else {}
            got = getattr(poolgrad, backward.python_name)(grad, x, indices, **numbers)
            expected = np.zeros((math.prod(lead), flat.shape[-1]), np.float32)
            for plane, (where, some) in enumerate(
                zip(places.reshape(len(expected), -1), grad.reshape(len(expected), -1), strict=True)
            ):
                np.add.at(expected[plane], where, some)
            assert np.array_equal(got.reshape(expected.shape), expected)
