"""The picture of a plane, with matplotlib. Small planes show every number; for large ones there is maps.py."""

from __future__ import annotations

import colorsys
import os
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Rectangle

from .maps import maps
from .plane import Plane, Side

# Up to so many cells along an axis, a cell has room for its numbers.
MOST_CELLS = 20
MOST_ARROWS = 36
MOST_LETTERS = 13
MOST_MARKS = 9  # of shares in a cell, and of windows over it
CELL = 0.8  # inches
GAP = 0.6  # cells between the layers of 3-D
Place = tuple[float, float]


def draw(plane: Plane, path: str | os.PathLike[str]) -> None:
    """Write the picture of a plane to a file; its suffix says which kind."""
    picture(plane).savefig(path, dpi=110, facecolor="white")


def picture(plane: Plane) -> Figure:
    figure = _numbers(plane) if is_small(plane) else maps(plane)
    _words(figure, plane)
    return figure


def is_small(plane: Plane) -> bool:
    lengths = [side.size + side.before + side.behind for side in (plane.rows, plane.columns)]
    windows = [len(plane.rows.windows) * len(plane.depths), len(plane.columns.windows)]
    return max(*lengths, *windows) <= MOST_CELLS


def colour_of(plane: Plane, row: int, column: int) -> tuple[float, float, float]:
    """A colour for a window; neighbours are far apart on the colour wheel."""
    number = row * len(plane.columns.windows) + column
    return colorsys.hsv_to_rgb(number * 0.381966 % 1, 0.75, (0.85, 0.65)[number // 5 % 2])


def paler(colour: Any, part: float) -> tuple[float, float, float]:
    red, green, blue = (1 - part * (1 - channel) for channel in to_rgb(colour))
    return red, green, blue


def _numbers(plane: Plane) -> Figure:
    rows, columns, layers = plane.rows, plane.columns, len(plane.depths)
    down = max(layers * (len(rows.windows) + GAP) - GAP, rows.size + rows.before + rows.behind)
    left, right = max(len(columns.windows), 2), max(columns.size + columns.before + columns.behind, 2)
    width, height = max((left + right + 1.6) * CELL + 0.6, 8.5), down * CELL + 2.35
    figure = Figure((width, height))
    margins = {"left": 0.3 / width, "right": 1 - 0.3 / width, "bottom": 1.05 / height, "top": 1 - 1.0 / height}
    space = margins | {"wspace": 1.6 / (left + right)}
    # What is given stands on the left.
    ratios = [right, left] if plane.pools else [left, right]
    windows, elements = figure.subplots(1, 2, width_ratios=ratios, gridspec_kw=space)[:: -1 if plane.pools else 1]
    _draw_windows(windows, plane)
    _draw_elements(elements, plane)
    if plane.indices is not None and plane.windows <= MOST_ARROWS:
        _draw_arrows(figure, windows, elements, plane)
    return figure


def _words(figure: Figure, plane: Plane) -> None:
    """Which call it is, above the picture, and what happens in it, below."""
    height = figure.get_figheight()
    figure.text(0.5, 1 - 0.2 / height, plane.title, ha="center", va="top", size=12, weight="bold")
    figure.text(0.5, 1 - 0.45 / height, plane.place, ha="center", va="top", size=9, color="#555555")
    story = _pooling_story(plane) if plane.pools else _gradient_story(plane)
    if max(plane.rows.before, plane.rows.behind, plane.columns.before, plane.columns.behind) and is_small(plane):
        story += " Hatched: padding."
    if max(side.windows[0].step for side in (plane.rows, plane.columns)) > 1:
        story += " Dashed: from the first to the last element of a dilated window."
    if _is_crowded(plane) and is_small(plane):
        story += "\nOnly some of the windows have frames."
    if not plane.given:
        name, taken = plane.names[plane.pools], "numbers are random" if plane.pools else "every gradient is taken as 1"
        story += f"\nNo {name} was given, so {taken}."
    figure.text(0.5, 0.15 / height, story, ha="center", va="bottom", size=9, color="#333333")


def _gradient_story(plane: Plane) -> str:
    if plane.divisors is not None:
        return (
            f"Each gradient is divided by {plane.factors},\n"
            "and its share goes to every element of its window; shares that meet add up."
        )
    story = f"Each gradient goes to the element that its index ({_index(plane)}) names; what meets there adds up."
    return story if plane.layer is None else f"{story} Pale ones go to other layers."


def _pooling_story(plane: Plane) -> str:
    if plane.divisors is not None:
        story = f"Elements of each window are added, and the sum is divided by {plane.factors}."
        return story if plane.layer is None else f"{story}\nOf windows that reach over several layers, one is shown."
    story = "Each window gives its largest element, the first of equals"
    if plane.indices is None:
        return f"{story}."
    story += f", and where that stands ({_index(plane)})."
    return story if plane.layer is None else f"{story} Pale ones stand in other layers."


def _index(plane: Plane) -> str:
    """What an index is made of."""
    return "h·W + w" if plane.layer is None else "(d·H + h)·W + w"


def _bare(axes: Axes, title: str, width: Iterable[float], height: Iterable[float]) -> None:
    axes.set_title(title, size=10)
    axes.set_xlim(*width)
    axes.set_ylim(*height)
    axes.set_aspect("equal")
    axes.axis("off")


def _window_place(plane: Plane, depth: int, row: int, column: int) -> Place:
    """The left upper corner of a window's number; the layers of 3-D stand below each other."""
    return column, row + depth * (len(plane.rows.windows) + GAP)


def _draw_windows(axes: Axes, plane: Plane) -> None:
    columns, rows, layers = len(plane.columns.windows), len(plane.rows.windows), len(plane.depths)
    number_is = "gradient" if not plane.pools else "mean" if plane.divisors is not None else "maximum"
    also = "divisor" if plane.divisors is not None else "index" if plane.indices is not None else ""
    what = f"{plane.names[0]}: {number_is}" + (f" and {also}" if also else "")
    top = -0.55 if layers == 1 else -0.75
    _bare(axes, what, (-0.55, columns + 0.05), (layers * (rows + GAP) - GAP + 0.05, top))
    for d, i, j in np.ndindex(layers, rows, columns):
        x, y = _window_place(plane, d, i, j)
        colour: Any = colour_of(plane, i, j)
        if plane.indices is not None and not plane.elements(d, i, j):
            colour = paler(colour, 0.35)
        face = paler(colour, 0.25)
        axes.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, facecolor=face, edgecolor=colour, lw=2))
        _write(axes, x, y + 0.3, number(plane.of_windows[d, i, j]), weight="bold")
        if plane.divisors is not None:
            _write(axes, x, y + 0.57, f"÷ {plane.divisors[d, i, j]}")
            _write(axes, x, y + 0.81, plane.made_of(d, i, j), size=7, color="#555555")
        elif plane.indices is not None:
            _write(axes, x, y + 0.57, f"{'←' if plane.pools else '→'} {plane.indices[d, i, j]}")
            _write(axes, x, y + 0.81, str(plane.target(d, i, j)), size=7, color="#555555")
    _rulers(axes, range(columns), range(rows))
    for d, o in enumerate(plane.depths if layers > 1 else ()):
        axes.text(0, d * (rows + GAP) - (0.55 if d == 0 else 0.2), f"window {o} along D", va="center", size=7.5)


def _write(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Words in the middle of the cell whose left side is at x."""
    axes.text(x + 0.5, y, text, ha="center", va="center", **{"size": 9 if len(text) < 8 else 7, **style})


def _rulers(axes: Axes, columns: Iterable[int], rows: Iterable[int], left: float = 0, top: float = 0) -> None:
    for column in columns:
        axes.text(column + 0.5, top - 0.22, str(column), ha="center", va="center", size=7, color="#888888")
    for row in rows:
        axes.text(left - 0.25, row + 0.5, str(row), ha="center", va="center", size=7, color="#888888")


def _draw_elements(axes: Axes, plane: Plane) -> None:
    rows, columns = plane.rows, plane.columns
    of_gradients = "where the gradients go" if plane.divisors is None else "shares and their sum"
    what = f"{plane.names[1]}: {'what is pooled' if plane.pools else of_gradients}"
    left, right = -columns.before, columns.size + columns.behind
    top, bottom = -rows.before, rows.size + rows.behind
    _bare(axes, what, (left - 0.55, right + 0.05), (bottom + 0.05, top - 0.55))
    shares = plane.shares()
    for h, w in product(range(top, bottom), range(left, right)):
        if 0 <= h < rows.size and 0 <= w < columns.size:
            _draw_element(axes, plane, h, w, shares.get((h, w), []))
        else:
            axes.add_patch(Rectangle((w, h), 1, 1, facecolor="#f2f2f2", edgecolor="#d0d0d0", hatch="///", lw=0.5))
    axes.add_patch(Rectangle((0, 0), columns.size, rows.size, fill=False, edgecolor="#333333", lw=1.5))
    _draw_outlines(axes, plane)
    _rulers(axes, range(columns.size), range(rows.size), left, top)


def _draw_element(axes: Axes, plane: Plane, h: int, w: int, shares: list[tuple[int, int, int]]) -> None:
    face: Any = "white"
    if plane.indices is not None and shares:
        face = paler(colour_of(plane, *shares[0][1:]), 0.3)
    axes.add_patch(Rectangle((w, h), 1, 1, facecolor=face, edgecolor="#bbbbbb", lw=0.6))
    exact = not plane.given and not plane.pools
    value = fraction(plane.exactly(shares)) if exact else number(plane.of_elements[h, w])
    reached = {"weight": "bold"} if shares else {"color": "#aaaaaa"}
    _write(axes, w, h + 0.42, value, **reached)
    if plane.divisors is None:
        index = str(plane.first_place + h * plane.columns.size + w)
        axes.text(w + 0.09, h + 0.1, index, ha="left", va="top", size=6, color="#888888")
    elif len(shares) > 1 and exact:
        terms = " + ".join(fraction(plane.exactly([share])) for share in shares)
        if len(terms) <= MOST_LETTERS:
            _write(axes, w, h + 0.66, terms, size=5.5, color="#555555")
    if len(shares) > MOST_MARKS:
        many = f"{len(shares)} {'windows' if plane.pools else 'shares'}"
        _write(axes, w, h + 0.78, many, size=6, color="#555555")
        return
    step = min(0.15, 0.8 / max(len(shares), 1))
    for place, (_, i, j) in enumerate(shares):  # a mark for each share, in the colour of its window
        x = w + 0.5 + (place - len(shares) / 2) * step
        axes.add_patch(Rectangle((x, h + 0.76), step * 0.85, 0.11, facecolor=colour_of(plane, i, j), lw=0))


def _draw_outlines(axes: Axes, plane: Plane) -> None:
    """A frame around each window; where windows overlap, frames lie inside each other."""
    overlapping = max(plane.rows.covered().max(), plane.columns.covered().max()) > 1
    for i, j in product(_framed(plane, plane.rows), _framed(plane, plane.columns)):
        rows, columns = plane.rows.windows[i], plane.columns.windows[j]
        inset = 0.04 + (0.035 * ((i % 3) + (j % 3)) if overlapping else 0)
        corner = (columns.start + inset, rows.start + inset)
        lengths = (columns[-1] + 1 - columns.start - 2 * inset, rows[-1] + 1 - rows.start - 2 * inset)
        style = "--" if rows.step > 1 or columns.step > 1 else "-"
        colour = colour_of(plane, i, j)
        axes.add_patch(Rectangle(corner, *lengths, fill=False, edgecolor=colour, lw=1.6, ls=style, alpha=0.85))


def _is_crowded(plane: Plane) -> bool:
    return int(plane.rows.covered().max() * plane.columns.covered().max()) > MOST_MARKS


def _framed(plane: Plane, side: Side) -> list[int]:
    """The windows of an axis that get a frame: all, or the first, the middle and the last one of a crowd."""
    last = len(side.windows) - 1
    return sorted({0, last // 2, last}) if _is_crowded(plane) else list(range(last + 1))


def _draw_arrows(figure: Figure, windows: Axes, elements: Axes, plane: Plane) -> None:
    """Between the side of each window's row and its element; dotted, if that lies outside the window."""
    columns = len(plane.columns.windows)
    style: dict[str, Any] = {"arrowstyle": "->", "connectionstyle": "arc3,rad=-0.06", "lw": 1.3, "alpha": 0.75}
    for d, i, j in np.ndindex(len(plane.depths), len(plane.rows.windows), columns):
        for h, w in plane.elements(d, i, j):
            _, y = _window_place(plane, d, i, j)
            outside = h not in plane.rows.windows[i] or w not in plane.columns.windows[j]
            beside = -0.04 if plane.pools else columns + 0.04
            window = (windows, (beside, y + 0.1 + 0.8 * (j + 0.5) / columns))
            element = (elements, (w + (0.86 if plane.pools else 0.14), h + 0.5))
            (start, one), (end, other) = (element, window) if plane.pools else (window, element)
            line: dict[str, Any] = {"color": colour_of(plane, i, j), "linestyle": ":" if outside else "-"}
            figure.add_artist(ConnectionPatch(one, other, "data", "data", axesA=start, axesB=end, **style, **line))


def number(value: Any) -> str:
    """A number in the room of a cell.

    >>> number(0.125), number(3.0), number(1 / 3), number(-1234567.0)
    ('0.125', '3', '0.3333', '-1.235e+06')
    """
    return f"{float(value):.4g}"


def fraction(value: Fraction) -> str:
    """An exact sum, as long as a cell has room for it.

    >>> fraction(Fraction(4, 9)), fraction(Fraction(12345, 98765))
    ('4/9', '0.125')
    """
    return str(value) if len(str(value)) <= 6 else number(value)
