"""The forward pass of max pooling in NumPy, as data of cases were made by it before there were kernels.

It shares nothing with these, so the bits of data for a seed can be held against it. As torch does it: the first of
equal maxima counts, and of several NaN the last. Windows are looked at along W first, then along H, block by block, so
that memory stays bounded whatever the sizes are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poolgrad.base.windows import Windows

Array = NDArray[Any]
Ints = NDArray[np.int64]
Found = tuple[Array, Ints]  # maxima, and where they are
Targets = tuple[Array | None, Array | None]  # where to write them, as far as they are wanted
HEIGHT, WIDTH = 1, 2

# Elements of one block; a few arrays of this many numbers exist at a time.
BLOCK = 1 << 18
# Long windows that overlap much are made of runs where these are at most so many blocks.
MOST_RUNS = 16


def ends_of(windows: Windows, begin: int, end: int) -> tuple[Ints, Ints]:
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


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring windows of an axis."""

    of: Windows
    begin: int
    end: int

    @property
    def windows(self) -> int:
        return self.end - self.begin

    def ends(self) -> tuple[Ints, Ints]:
        return ends_of(self.of, self.begin, self.end)

    @property
    def bounds(self) -> tuple[int, int]:
        """The stretch of the axis that holds all their places: where it begins, and one past its end."""
        first, last = self.ends()
        return int(first.min()), int(last.max()) + 1

    @property
    def reach(self) -> int:
        first, end = self.bounds
        return end - first

    def halves(self) -> tuple[_Run, _Run]:
        middle = (self.begin + self.end) // 2
        return _Run(self.of, self.begin, middle), _Run(self.of, middle, self.end)


def forward_max(
    x: Array,
    windows: Sequence[Windows],
    *,
    values: Array | None = None,
    indices: Array | None = None,
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Max pooling of planes (P, H, W) or (P, D, H, W) of any strides, written into ``values`` and ``indices``, which
    have as many elements along each axis as there are windows.

    ``pause`` is called between blocks; what it raises ends the work.
    """
    if not x.size or min(w.out for w in windows) <= 0:
        return
    *depth, rows, columns = windows
    if depth:
        _fill_layers(x, depth[0], (rows, columns), (values, indices), pause)
    else:
        _fill(x, _Run(rows, 0, rows.out), _Run(columns, 0, columns.out), (values, indices), pause)


def _write(into: Targets, where: Any, found: Found) -> None:
    for target, numbers in zip(into, found, strict=True):
        if target is not None:
            target[where] = numbers


def _fill_layers(x: Array, depth: Windows, plane: Sequence[Windows], into: Targets, pause: Any) -> None:
    """Some volumes at a time: the maxima of each layer, and of these the best."""
    outs, area = [w.out for w in plane], math.prod(x.shape[2:])
    many = max(1, BLOCK // math.prod(outs))

    def of_layer(some: slice, d: int) -> Found:
        best, place = np.empty((len(x[some]), *outs), x.dtype), np.empty((len(x[some]), *outs), np.int64)
        forward_max(x[some, d], plane, values=best, indices=place, pause=pause)
        return _wide(best), place + d * area

    for at in range(0, len(x), many):
        some = slice(at, at + many)
        for o in range(depth.out):
            _write(into, (some, o), _best(of_layer(some, d) for d in depth.places(o)))


def _fill(x: Array, rows: _Run, columns: _Run, into: Targets, pause: Any) -> None:
    """Divide the work until a block of it fits."""

    def part(index: Any) -> Targets:
        values, indices = (None if array is None else array[index] for array in into)
        return values, indices

    def across(run: _Run, whole: _Run) -> slice:
        return slice(run.begin - whole.begin, run.end - whole.begin)

    planes, area = len(x), rows.reach * max(columns.windows, columns.reach // columns.windows)
    splits = rows.windows > 1 and (4 * rows.halves()[0].reach <= 3 * rows.reach or columns.windows == 1)
    if planes > 1 and planes * area > BLOCK:
        many = max(1, BLOCK // area)
        for some in (slice(at, at + many) for at in range(0, planes, many)):
            _fill(x[some], rows, columns, part(some), pause)
    elif area > BLOCK and splits:
        for half in rows.halves():
            _fill(x, half, columns, part((slice(None), across(half, rows))), pause)
    elif area > BLOCK and columns.windows > 1:
        for half in columns.halves():
            _fill(x, rows, half, part((..., across(half, columns))), pause)
    else:
        pause()
        _write(into, ..., _maxima(x, rows, columns))


def _maxima(x: Array, rows: _Run, columns: _Run) -> Found:
    """Maxima of a block, and their indices."""
    (top, bottom), (left, right) = rows.bounds, columns.bounds
    (first_row, last_row), (first, last) = rows.ends(), columns.ends()
    patch, step = x[:, top:bottom, left:right], rows.of.dilation

    def search(band: Array, first_row: Ints, last_row: Ints, row_step: int) -> tuple[Array, Ints, Ints]:
        best, column = _scan(band, first - left, last - left, columns.of.dilation, WIDTH)
        best, row = _scan(best, first_row, last_row, row_step, HEIGHT)
        return best, row, np.take_along_axis(column, row, axis=HEIGHT) + left

    if rows.windows > 1 or patch.size <= 4 * BLOCK:
        best, row, column = search(patch, first_row - top, last_row - top, step)
        return best, (row + top) * x.shape[-1] + column
    # One row of windows that are too high for a block: some of their rows at a time.
    some = max(1, BLOCK // max(patch.shape[-1], 1)) * step

    def of_band(at: int) -> Found:
        band = patch[:, at : at + some : step]
        best, row, column = search(band, np.zeros(1, np.int64), np.full(1, band.shape[1] - 1), 1)
        return best, (row * step + at + top) * x.shape[-1] + column

    return _best(map(of_band, range(0, bottom - top, some)))


def _best(found: Iterable[Found]) -> Found:
    """The best of candidates that lie one behind the other."""
    return reduce(lambda one, other: _better(*one, *other), found)


def _better(best: Array, place: Ints, other: Array, other_place: Ints) -> Found:
    """Of two candidates the larger one, the first of equals, the last of NaN; ``other`` lies behind ``best``."""
    wins = (other > best) | (other != other)
    return np.where(wins, other, best), np.where(wins, other_place, place)


def _wide(numbers: Array) -> Array:
    """Halves are compared in float32, which NumPy does faster."""
    return numbers.astype(np.float32) if numbers.dtype.itemsize == 2 else numbers


def _scan(source: Array, first: Ints, last: Ints, step: int, axis: int) -> Found:
    """Maxima along an axis of (P, H, W): of each window from ``first`` to ``last``, with their places on that axis."""
    taps = int(((last - first) // step).max()) + 1
    if taps > 4 * len(first):  # few long windows, one by one
        found = [_scan_one(source, int(one), int(other), step, axis) for one, other in zip(first, last, strict=True)]
        return np.concatenate([best for best, _ in found], axis), np.concatenate([place for _, place in found], axis)
    at: Ints | None = None
    length = 1
    if step == 1 and len(first) * taps > 4 * source.shape[axis] and source.size <= MOST_RUNS * BLOCK:
        source, at, length = _runs(_wide(source), int((last - first).min()) + 1, axis)
    stop = np.maximum(last - (length - 1) * step, first)
    best: Array | None = None
    for tap in range(-(-taps // length)):
        # A place beyond its window is the window's last again, which changes nothing.
        where = np.minimum(first + tap * length * step, stop)
        other = _wide(source.take(where, axis))
        there = _upright(where, axis) if at is None else at.take(where, axis)
        if best is None:
            best, place = other, np.broadcast_to(there, other.shape).copy()
        else:
            wins = other > best
            wins |= other != other
            np.copyto(best, other, where=wins)
            np.copyto(place, there, where=wins)
    assert best is not None
    return best, place


def _upright(numbers: Ints, axis: int) -> Ints:
    """Numbers along one axis of three."""
    return numbers.reshape([-1 if i == axis else 1 for i in range(3)])


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part)


def _runs(source: Array, shortest: int, axis: int) -> tuple[Array, Ints, int]:
    """Maxima of all runs of a length, a power of two that fits the shortest window: long windows are made of few."""
    at = _upright(np.arange(source.shape[axis]), axis)
    best, place, length = source, np.broadcast_to(at, source.shape), 1
    while 2 * length <= shortest:
        here, behind = _along(axis, slice(None, -length)), _along(axis, slice(length, None))
        best, place = _better(best[here], place[here], best[behind], place[behind])
        length *= 2
    return best, place, length


def _scan_one(source: Array, first: int, last: int, step: int, axis: int) -> Found:
    """The same for one window, in parts."""
    some = max(1, BLOCK // max(source.size // source.shape[axis], 1)) * step

    def of_part(at: int) -> Found:
        part = _wide(source[_along(axis, slice(at, min(at + some, last + 1), step))])
        place = part.argmax(axis, keepdims=True)
        best = np.take_along_axis(part, place, axis)
        if np.isnan(best).any():  # argmax finds the first
            back = part.shape[axis] - 1 - np.isnan(np.flip(part, axis)).argmax(axis, keepdims=True)
            place = np.where(np.isnan(best), back, place)
        return best, place * step + at

    return _best(map(of_part, range(first, last + 1, some)))


def forward_with_indices(x: Array, windows: Sequence[Windows], dtype: Any = np.int64) -> tuple[Array, Array]:
    """The forward pass over the last axes, one for each of the windows: its output and its indices."""
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
