"""Legal indices for max pooling gradients, for every window geometry: where maxima lie, or places out of windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..operators.pooling import Windows
from .forward import forward_max
from .places import Ints, Places, adaptive_places, fixed_places

Array = NDArray[Any]

# Indices that are drawn at once.
BATCH = 1 << 18


def drawn_indices(
    random: np.random.Generator,
    rows: Places,
    columns: Places,
    indices: Array,
    *,
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Places drawn from each window, into ``indices`` (P, Ho, Wo); neighbours that share places may draw the same."""
    for part, top, left in _tiles(indices, pause):
        row = _draw(random, rows, top, part.shape[0], part.shape, 0)
        part[...] = row * columns.size + _draw(random, columns, left, part.shape[1], part.shape, 1)


def astray_indices(
    random: np.random.Generator, places: int, indices: Array, *, pause: Callable[[], None] = lambda: None
) -> None:
    """Places drawn from whole planes, into ``indices`` (P, Ho, Wo)."""
    for part, _, _ in _tiles(indices, pause):
        part[...] = random.integers(0, places, part.shape)


def _tiles(indices: Array, pause: Callable[[], None]) -> Iterator[tuple[Array, int, int]]:
    """Parts of planes that are small enough to be drawn at once, and where each begins in its plane."""
    wide = max(1, min(indices.shape[-1], BATCH))
    for plane in indices:
        for top, left in product(range(0, plane.shape[0], BATCH // wide), range(0, plane.shape[1], wide)):
            pause()
            yield plane[top : top + BATCH // wide, left : left + wide], top, left


def _draw(
    random: np.random.Generator, places: Places, begin: int, count: int, shape: tuple[int, ...], axis: int
) -> Ints:
    first, last = (np.expand_dims(ends, 1 - axis) for ends in places.ends(begin, begin + count))
    return first + random.integers(0, np.broadcast_to((last - first) // places.step + 1, shape)) * places.step


def max_pool2d_indices(x: Array, windows: tuple[Windows, Windows], dtype: Any = np.int64) -> tuple[Array, Array]:
    """The forward pass of max pooling over (..., H, W), with windows along H and W: its output and its indices.

    >>> both = Windows(size=2, kernel=2, stride=1, pad=0, dilation=1, ceil_mode=False)
    >>> max_pool2d_indices(np.array([[1.0, 4.0], [0.0, 3.0]]), (both, both))
    (array([[4.]]), array([[1]]))
    """
    return _forward(x, fixed_places(windows[0]), fixed_places(windows[1]), dtype)


def adaptive_max_pool2d_indices(x: Array, output_size: tuple[int, int], dtype: Any = np.int64) -> tuple[Array, Array]:
    """The forward pass of adaptive max pooling over (..., H, W): its output and its indices.

    >>> adaptive_max_pool2d_indices(np.array([[1.0, 4.0, 2.0], [0.0, 3.0, 5.0]]), (1, 2))
    (array([[4., 5.]]), array([[1, 5]]))
    """
    rows, columns = (adaptive_places(*axis) for axis in zip(x.shape[-2:], output_size, strict=True))
    return _forward(x, rows, columns, dtype)


def _forward(x: Array, rows: Places, columns: Places, dtype: Any) -> tuple[Array, Array]:
    shape = (*x.shape[:-2], rows.out, columns.out)
    values, indices = np.empty(shape, x.dtype), np.empty(shape, dtype)
    planes = math.prod(x.shape[:-2])
    forward_max(
        x.reshape(planes, *x.shape[-2:]),
        rows,
        columns,
        values=values.reshape(planes, *shape[-2:]),
        indices=indices.reshape(planes, *shape[-2:]),
    )
    return values, indices
