"""Indices that are drawn: from their windows, or from whole planes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.windows import adaptive, fixed, places_of_adaptive, places_of_fixed

from poolgrad.cases.indices import astray_indices, drawn_indices


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("axes", [2, 3], ids=["planes", "volumes"])
def test_drawn_indices_lie_in_their_windows(axes: int, stride: int) -> None:
    numbers = [(4, 3, stride, 1, 1), (11, 3, stride, 1, 2), (9, 4, stride, 2, 1)][-axes:]
    windows = [fixed(*axis, True) for axis in numbers]
    outs, sizes = [w.out for w in windows], [w.size for w in windows]
    indices = np.full((20, *outs), -1)
    drawn_indices(np.random.default_rng(6), windows, indices)
    seen: set[tuple[int, ...]] = set()
    lists = [places_of_fixed(*axis, True) for axis in numbers]
    for plane, *window in np.ndindex(indices.shape):
        index = int(indices[(plane, *window)])
        for place, places, o in zip(np.unravel_index(index, sizes), lists, window, strict=True):
            assert int(place) in places[o]
        seen.add((*window, index))
    assert len(seen) > 3 * math.prod(outs), "every place has its turn"
    assert stride > 1 or len(np.unique(indices[0])) < indices[0].size, "overlapping windows draw duplicates"


def test_drawn_indices_of_adaptive_windows_reach_both_ends() -> None:
    indices = np.empty((200, 3, 8), np.int64)
    drawn_indices(np.random.default_rng(7), adaptive((7, 5), (3, 8)), indices)
    for i, j in np.ndindex(3, 8):
        expected = [r * 5 + c for r in places_of_adaptive(7, 3)[i] for c in places_of_adaptive(5, 8)[j]]
        assert sorted(set(indices[:, i, j].tolist())) == expected


@pytest.mark.parametrize("shape", [(4, 5, 6), (4, 2, 5, 6)], ids=["planes", "volumes"])
def test_indices_astray_are_drawn_from_all_places(shape: tuple[int, ...]) -> None:
    indices = np.full(shape, -1)
    astray_indices(np.random.default_rng(8), 10, indices)
    assert set(indices.ravel().tolist()) == set(range(10))
