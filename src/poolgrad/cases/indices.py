"""Legal indices for max pooling gradients, for every window geometry: places drawn out of windows, or of planes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.windows import Windows

Array = NDArray[Any]
Ints = NDArray[np.int64]

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
    first, last = (ends.reshape(upright) for ends in _ends_of(windows, begin, begin + count))
    return first + random.integers(0, np.broadcast_to((last - first) // step + 1, shape)) * step


def _ends_of(windows: Windows, begin: int, end: int) -> tuple[Ints, Ints]:
    """The first and the last place of the windows from ``begin`` to before ``end``; all lie inside the input.

    Between them are those that are a multiple of the dilation apart.
    """
    o, w = np.arange(begin, end, dtype=np.int64), windows
    if w.adaptive:
        return o * w.size // w.out, -(-(o + 1) * w.size // w.out) - 1
    start = o * w.stride - w.pad
    first = np.where(start < 0, start % w.dilation, start)
    taken = np.minimum(w.kernel - 1, (w.size - 1 - start) // w.dilation)
    return first, start + taken * w.dilation
