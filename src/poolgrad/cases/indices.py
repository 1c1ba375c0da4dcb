"""Legal indices for max pooling gradients, for every window geometry: where maxima lie, or places out of windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.windows import Windows
from .forward import Ints, ends_of, forward_max

Array = NDArray[Any]

# Indices that are drawn at once.
BATCH = 1 << 18


def drawn_indices(
    random: np.random.Generator,
    windows: Sequence[Windows],
    indices: Array,
    *,
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Places drawn from each window, into ``indices``: a plane or a volume for each element of the first axis.

    Neighbours that share places may draw the same.
    """
    *depth, rows, columns = windows
    if depth:
        layers = np.moveaxis(indices, 1, 0)
        for o, layer in enumerate(layers):
            drawn_indices(random, (rows, columns), layer, pause=pause)
            for plane in layer:
                plane += _draw(random, depth[0], o, 1, (1, *plane.shape), 0)[0] * (rows.size * columns.size)
        return
    for part, top, left in _tiles(indices, pause):
        row = _draw(random, rows, top, part.shape[0], part.shape, 0)
        part[...] = row * columns.size + _draw(random, columns, left, part.shape[1], part.shape, 1)


def astray_indices(
    random: np.random.Generator, places: int, indices: Array, *, pause: Callable[[], None] = lambda: None
) -> None:
    """Places drawn from whole planes or volumes."""
    for plane in indices:
        for part, _, _ in _tiles(plane if plane.ndim == 3 else plane[None], pause):
            part[...] = random.integers(0, places, part.shape)


def _tiles(indices: Array, pause: Callable[[], None]) -> Iterator[tuple[Array, int, int]]:
    """Parts of planes that are small enough to be drawn at once, and where each begins in its plane."""
    wide = max(1, min(indices.shape[-1], BATCH))
    for plane in indices:
        for top, left in product(range(0, plane.shape[0], BATCH // wide), range(0, plane.shape[1], wide)):
            pause()
            yield plane[top : top + BATCH // wide, left : left + wide], top, left


def _draw(
    random: np.random.Generator, windows: Windows, begin: int, count: int, shape: tuple[int, ...], axis: int
) -> Ints:
    """A place of each window along one axis of the shape."""
    step, upright = windows.dilation, [-1 if i == axis else 1 for i in range(len(shape))]
    first, last = (ends.reshape(upright) for ends in ends_of(windows, begin, begin + count))
    return first + random.integers(0, np.broadcast_to((last - first) // step + 1, shape)) * step


def forward_with_indices(x: Array, windows: Sequence[Windows], dtype: Any = np.int64) -> tuple[Array, Array]:
    """The forward pass of max pooling over the last axes, one for each of the windows: its output and its indices.

    >>> both = Windows(size=2, out=1, kernel=2)
    >>> forward_with_indices(np.array([[1.0, 4.0], [0.0, 3.0]]), (both, both))
    (array([[4.]]), array([[1]]))
    """
    axes = len(windows)
    lead, sizes, outs = x.shape[:-axes], x.shape[-axes:], tuple(w.out for w in windows)
    values, indices = np.empty((*lead, *outs), x.dtype), np.empty((*lead, *outs), dtype)
    planes = math.prod(lead)
    forward_max(
        x.reshape(planes, *sizes),
        windows,
        values=values.reshape(planes, *outs),
        indices=indices.reshape(planes, *outs),
    )
    return values, indices
