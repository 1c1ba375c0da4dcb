"""A call is shared out to threads if each has enough to do: by time, not by bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from planning import Planning

import poolgrad


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    before = poolgrad.get_num_threads()
    poolgrad.set_num_threads(4)
    yield
    poolgrad.set_num_threads(before)


def average(shape: tuple[int, ...], kernel: int) -> None:
    poolgrad.avg_pool2d(np.ones(shape, np.float32), kernel)


def average_gradient(shape: tuple[int, ...], kernel: int) -> None:
    pooled = (*shape[:2], shape[2] // kernel, shape[3] // kernel)
    poolgrad.avg_pool2d_backward(np.ones(pooled, np.float32), shape, kernel)


def maximum_gradient(shape: tuple[int, ...], kernel: int) -> None:
    values, indices = poolgrad.max_pool2d_with_indices(np.ones(shape, np.float32), kernel)
    poolgrad.max_pool2d_with_indices_backward(values, shape, indices, kernel)


@pytest.mark.parametrize("call", [average, average_gradient, maximum_gradient])
@pytest.mark.parametrize(
    ("shape", "kernel", "parts"),
    [
        ((2, 8, 4, 4), 2, 1),
        ((8, 64, 56, 56), 2, 4),
    ],
)
def test_threads_share_calls_that_take_long(
    planning: Planning, call: Callable[..., Any], shape: tuple[int, ...], kernel: int, parts: int
) -> None:
    plans = planning.recording()
    call(shape, kernel)
    assert plans[-1].parts == parts


@pytest.mark.parametrize("call", [average_gradient, maximum_gradient])
def test_a_fill_takes_little_time_for_its_bytes(planning: Planning, call: Callable[..., Any]) -> None:
    """One gradient for each plane: two threads would take longer for 150 KB, but not for 6 MB."""
    plans = planning.recording()
    call((2, 10, 44, 44), 44)
    assert plans[-1].parts == 1
    call((8, 64, 56, 56), 56)
    assert plans[-1].parts > 1
