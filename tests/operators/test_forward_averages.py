"""Average pooling against the reference, and against its own gradient: each is the other's transpose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from operators.test_average import ADAPTIVE, DIVISORS, FIXED, WIDE
from operators.test_properties import EVERY_TIME_THE_SAME, averages
from oracle import DTYPES, FLOAT32, FLOAT64, FORMATS, HALVES, Case, assert_same_bits, cases, gamma, parse

from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

VOLUMES = """
aavg2 n2c3h6w8 o3,4                  | disjoint                   | adaptive planes, even
aavg2 c3h7w11 o5,4                   | overlap uneven unbatched   | adaptive planes, uneven
aavg2 n2c9h3w4 o7,9                  | larger overlap             | adaptive planes, more windows than elements
avg3 n2c3d4h6w8 k2                   | disjoint deep              | volumes, side by side
avg3 c3d5h7w20 k3 s1 p1              | overlap padded deep unbatched | volumes, overlapping
avg3 n2c2d5h7w9 k3 s2 p1 ceil nopad  | overlap padded deep        | volumes, divisors that vary
avg3 n2c9d7h8w6 k4,3,2 s3,2,1 p2,1,0 ceil | clipped overlap deep  | volumes, cut off
avg3 n1c2d5h20w6 k2,11,1 s1 p0,5,0   | overlap padded deep        | volumes, long windows
avg3 n1c2d5h6w9 k2 s3 div=-5         | gap negative-divisor deep  | volumes, gaps and a negative divisor
"""
EVERY = FIXED + DIVISORS + WIDE + ADAPTIVE + VOLUMES


def numbers(case: Case, dtype: np.dtype) -> np.ndarray:
    random = case.random()
    values = random.standard_normal(case.x_shape) * 2.0 ** random.integers(-6, 7, case.x_shape)
    return values.astype(dtype)


def assert_pooled(case: Case, x: np.ndarray, result: np.ndarray) -> None:
    """Within a rounding for each addition along each axis, and for the division; the reference has its own in float64,
    and a divisor beyond 2**53 is rounded first."""
    assert result.dtype == x.dtype
    assert result.shape == case.grad_shape
    value, magnitude = case.pooled_by_reference(x), np.abs(case.pooled_by_reference(np.abs(x)))
    target = FORMATS[x.dtype]
    held = math.prod(max(w.stop - w.start for w in axis) for axis in case.windows)
    bound = gamma(case.additions_of_pooling() + 2, 2.0**-target.precision) + gamma(held + 2, 2.0**-53)
    assert (np.abs(result - value) <= bound * magnitude + 2.0**target.smallest).all()


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32], ids=str)
@pytest.mark.parametrize("case", cases(EVERY))
def test_averages(case: Case, dtype: np.dtype) -> None:
    x = numbers(case, dtype)
    assert_pooled(case, x, case.pool(x))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("case", cases(EVERY))
def test_halves_are_float32_rounded_once(case: Case, dtype: np.dtype) -> None:
    x = numbers(case, dtype)
    assert_same_bits(case.pool(x), case.pool(x.astype(np.float32)).astype(dtype))


@EVERY_TIME_THE_SAME
@given(averages)
def test_averages_of_random_parameters(case: Case) -> None:
    x = numbers(case, FLOAT32)
    assert_pooled(case, x, case.pool(x))


def assert_adjoint(case: Case) -> None:
    """<pooled x, g> = <x, gradient of g>, but for rounding."""
    x, gradients = numbers(case, FLOAT64), case.gradients(FLOAT64)
    onwards, back = np.sum(case.pool(x) * gradients), np.sum(x * case.run(gradients))
    magnitude = np.sum(np.abs(case.pool(np.abs(x))) * np.abs(gradients))
    held = math.prod(max(w.stop - w.start for w in axis) for axis in case.windows)
    roundings = x.size + gradients.size + held + math.prod(max(axis) for axis in case.covered) + 4
    assert abs(onwards - back) <= 2 * gamma(roundings, 2.0**-53) * magnitude


@EVERY_TIME_THE_SAME
@given(averages)
def test_gradients_are_the_transpose_for_random_parameters(case: Case) -> None:
    assert_adjoint(case)


@pytest.mark.parametrize("case", cases(EVERY))
def test_gradients_are_the_transpose(case: Case) -> None:
    assert_adjoint(case)


def test_every_linear_pair_is_tried() -> None:
    """All that is neither a maximum nor the gradient of one."""
    linear = {name for name, op in REGISTRY.items() if not {Role.INDICES, Role.PLACES, Role.MASK} & set(op.by_role)}
    pairs = {name for name in linear if f"{name}Backward" in linear}
    lines = [line for line in EVERY.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert pairs == {parse(line).described.name.removesuffix("Backward") for line in lines}
    assert {f"{name}Backward" for name in pairs} == {name for name in linear if name.endswith("Backward")}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_window_of_one_element_gives_it_back(dtype: np.dtype) -> None:
    case = parse("avg n2c3h5w9 k1 | disjoint | each element its own window")
    x = numbers(case, dtype)
    assert_same_bits(case.pool(x), x + dtype.type(0))
