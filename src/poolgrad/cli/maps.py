"""The picture of a large plane, with matplotlib: maps of its numbers, and the windows where they begin and end."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .plane import Array, Plane, Side

MOST_PIXELS = 1024  # along an axis; of larger arrays, means are shown
MOST_BARS = 12


def maps(plane: Plane) -> Figure:
    """Whole arrays as maps, and below them the windows at both ends of each axis."""
    figure = Figure((15, 9.4))
    upper = figure.add_gridspec(1, 3, left=0.05, right=0.97, bottom=0.46, top=0.88, wspace=0.25)
    for place, (title, array) in enumerate(_arrays(plane).items()):
        _map(figure, figure.add_subplot(upper[0, place]), title, np.asarray(array, np.float64))
    lower = figure.add_gridspec(1, 4, left=0.05, right=0.97, bottom=0.14, top=0.38, wspace=0.25)
    for place, (name, side) in enumerate((("H", plane.rows), ("W", plane.columns))):
        left, right = 2 * place, 2 * place + 1
        windows = list(enumerate(side.windows))
        if len(windows) <= MOST_BARS:
            what = f"all {len(windows)} windows" if len(windows) > 1 else "the only window"
            _bars(figure.add_subplot(lower[0, left : right + 1]), f"{what} along {name}", side, windows)
            continue
        of = f"(of {len(windows)})"
        _bars(figure.add_subplot(lower[0, left]), f"first windows along {name} {of}", side, windows[:MOST_BARS])
        _bars(figure.add_subplot(lower[0, right]), f"last windows along {name} {of}", side, windows[-MOST_BARS:])
    return figure


def _arrays(plane: Plane) -> dict[str, Array]:
    """What the maps show, what is given first and what is computed last."""
    windows, elements = {plane.names[0]: plane.of_windows[0]}, {plane.names[1]: plane.of_elements}
    if plane.indices is not None:
        what = "windows whose maximum an element is" if plane.pools else "gradients that arrive at an element"
        between = {what: plane.arriving()}
    else:
        between = {"windows that hold an element": plane.rows.covered()[:, None] * plane.columns.covered()}
    if plane.pools:
        return elements | between | windows
    # Divisors tell more of an average than its gradients.
    given = windows if plane.divisors is None else {"divisor of each window": plane.divisors[0]}
    return given | between | elements


def _map(figure: Figure, axes: Axes, title: str, array: Array) -> None:
    height, width = array.shape
    steps = [-(-length // MOST_PIXELS) for length in (height, width)]
    shown = array
    for axis, step in enumerate(steps):
        if step > 1:
            starts = np.arange(0, shown.shape[axis], step)
            sizes = np.diff([*starts, shown.shape[axis]])
            shown = np.add.reduceat(shown, starts, axis) / (sizes[:, None] if axis == 0 else sizes)
    means = f"\nmeans of {steps[0]}×{steps[1]}" if max(steps) > 1 else ""
    drawn = axes.imshow(shown, extent=(0, width, height, 0), interpolation="nearest", aspect="auto", **_colours(shown))
    axes.set_title(f"{title}, {height}×{width}{means}", size=10)
    figure.colorbar(drawn, ax=axes, fraction=0.046, pad=0.03)


def _colours(array: Array) -> dict[str, Any]:
    """Of numbers with a sign zero is pale, and as strong colours are as far from it on both sides."""
    finite = array[np.isfinite(array)]
    if not (finite < 0).any():
        return {"cmap": "viridis"}
    farthest = np.abs(finite).max()
    return {"cmap": "RdBu_r", "vmin": -farthest, "vmax": farthest}


def _bars(axes: Axes, title: str, side: Side, numbered: list[tuple[int, range]]) -> None:
    """Windows as bars over the positions that they take, each with what it counts; lines where the input ends."""
    for o, window in numbered:
        positions = [(p, 1) for p in window] if window.step > 1 else [(window.start, len(window))]
        axes.broken_barh(positions, (o + 0.1, 0.8), color=colorsys.hsv_to_rgb(o * 0.381966 % 1, 0.5, 0.9))
        middle = (window.start + window[-1] + 1) / 2
        axes.text(middle, o + 0.5, str(side.counts[o]), ha="center", va="center", size=7)
    low, high = numbered[0][1].start, max(window[-1] + 1 for _, window in numbered)
    axes.set_xlim(low - 0.5, high + 0.5)
    axes.set_ylim(numbered[-1][0] + 1, numbered[0][0])
    for border in (0, side.size):
        if low <= border <= high:
            axes.axvline(border, color="#333333", lw=1)
    axes.set_title(title, size=9)
    axes.tick_params(labelsize=7)
    axes.locator_params(integer=True)
