"""One plane of a call, as a picture shows it: windows, divisors, gradients, and where each of them goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.files import numpy_dtype
from ..base.products import ANY, Product
from ..base.windows import COUNT_PADDED, COUNT_VALID, adaptive, fixed
from ..contract.engine import Call
from ..operators.pooling import windows_of
from .terminal import BadInput

if TYPE_CHECKING:
    from ..cases import Case

Array = NDArray[Any]

# What is drawn has to be computed first, and every window along an axis is listed.
MOST_ELEMENTS, MOST_PLACES = 10**8, 10**6


@dataclass(frozen=True)
class Side:
    """The windows along one axis: the positions that each takes, those in the padding too, and what each counts."""

    size: int
    windows: list[range]
    counts: list[int]

    @property
    def before(self) -> int:
        """Positions of padding that windows take before the input begins."""
        return max((-w.start for w in self.windows), default=0)

    @property
    def behind(self) -> int:
        return max((w[-1] + 1 - self.size for w in self.windows if w), default=0)

    def inside(self, window: int) -> range:
        """The positions that are no padding."""
        taken = self.windows[window]
        first = taken.start % taken.step if taken.start < 0 else taken.start
        return range(first, min(taken.stop, self.size), taken.step)

    def covered(self) -> Array:
        """How many windows hold each position."""
        times = np.zeros(self.size, np.int64)
        for window in range(len(self.windows)):
            inside = self.inside(window)
            times[inside.start : inside.stop : inside.step] += 1
        return times


@dataclass(frozen=True)
class Plane:
    """What there is to see. Arrays of windows have an axis for the windows along D, of which 2-D has one."""

    title: str
    place: str  # which plane of the tensor it is
    rows: Side
    columns: Side
    depths: list[int]  # the windows along D that hold the plane
    depth_counts: list[int]  # what each of these counts
    gradients: Array
    divisors: Array | None  # None: a maximum, whose gradients go to one element each
    factors: str  # what the divisors are made of
    indices: Array | None
    result: Array
    given: bool  # whether the gradients come from a file; if not, each is 1

    @property
    def windows(self) -> int:
        return len(self.rows.windows) * len(self.columns.windows)

    def shares(self) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
        """For each element the windows (depth, row, column) whose gradients reach it."""
        found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for d in range(len(self.depths)):
            for i in range(len(self.rows.windows)):
                for j in range(len(self.columns.windows)):
                    for element in self.elements(d, i, j):
                        found.setdefault(element, []).append((d, i, j))
        return found

    def elements(self, depth: int, row: int, column: int) -> list[tuple[int, int]]:
        """Where one gradient goes."""
        if self.indices is not None:
            place = int(self.indices[depth, row, column])
            return [(place // self.columns.size, place % self.columns.size)]
        return [(h, w) for h in self.rows.inside(row) for w in self.columns.inside(column)]

    def made_of(self, depth: int, row: int, column: int) -> str:
        """The lengths whose product is the divisor."""
        if self.divisors is None or "divisorOverride" in self.factors:
            return ""
        deep = [self.depth_counts[depth]] if self.depth_counts else []
        return _times([*deep, self.rows.counts[row], self.columns.counts[column]])

    def exactly(self, shares: list[tuple[int, int, int]]) -> Fraction:
        """What gradients of 1 add up to."""
        if self.divisors is None:
            return Fraction(len(shares))
        return sum((Fraction(1, int(self.divisors[d, i, j])) for d, i, j in shares), Fraction(0))


def plane_of(case: Case, product: Product, arrays: Mapping[str, Array], chosen: Sequence[int], seed: int) -> Plane:
    """The plane that was chosen, of a call that the contract accepts."""
    call = Call(case.operator, product, case.arguments)
    spatial = 3 if "3d" in case.operator.python_name else 2
    channels_last = call.tensor("self").format == "NHWC"
    x_shape, grad_shape = (_planes_first(call.tensor(name).shape, channels_last) for name in ("self", "gradOutput"))
    if 0 in x_shape or 0 in grad_shape:
        raise BadInput(f"there is nothing to see in an empty tensor: x {x_shape}, grad_output {grad_shape}")
    size, out = x_shape[-spatial:], grad_shape[-spatial:]
    if max(math.prod(size), math.prod(out)) > MOST_ELEMENTS or max(*size, *out) > MOST_PLACES:
        most = f"at most {MOST_ELEMENTS} elements, {MOST_PLACES} along an axis"
        raise BadInput(f"a plane of {_times(size)} with {_times(out)} windows is too large to draw; {most}")
    where, depth = _chosen(chosen, x_shape[:-spatial], size[0] if spatial == 3 else 1)
    sides = _sides(call, size, out)
    depths = [o for o, window in enumerate(sides[0].windows) if depth in window] if spatial == 3 else [0]

    planes = {name: (np.moveaxis(array, -1, -3) if channels_last else array)[where] for name, array in arrays.items()}
    gradients = planes.get("gradOutput")
    if gradients is None:
        gradients = np.ones(out, numpy_dtype(case.tensor("gradOutput").dtype))
    indices = planes.get("indices")
    if indices is None and "indices" in case.tensors:
        indices = _maxima(call, size, out, planes.get("self"), seed)
    result = _result(case, product, gradients, indices, size)
    return Plane(
        title=_title(case, product),
        place=f"gradOutput {_times(out)} → gradInput {_times(size)}, plane {where} of {x_shape[:-spatial]}"
        + (f", depth {depth} of {size[0]}" if spatial == 3 else ""),
        rows=sides[-2],
        columns=sides[-1],
        depths=depths,
        depth_counts=[sides[0].counts[o] for o in depths] if spatial == 3 else [],
        gradients=gradients[depths] if spatial == 3 else gradients[None],
        divisors=None if indices is not None else _divisors(call, sides, depths),
        factors=_factors(call),
        indices=None if indices is None else indices[None],
        result=result[depth] if spatial == 3 else result,
        given="gradOutput" in arrays,
    )


def _planes_first(shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
    return (*shape[:-3], shape[-1], *shape[-3:-1]) if channels_last else shape


def _chosen(chosen: Sequence[int], leading: tuple[int, ...], depth: int) -> tuple[tuple[int, ...], int]:
    """Which of the planes, and which of its layers; the first ones, as far as nobody says otherwise."""
    limits = (*leading, depth) if depth > 1 else leading
    if len(chosen) > len(limits) or any(not 0 <= n < most for n, most in zip(chosen, limits, strict=False)):
        raise BadInput(f"--plane: expected up to {len(limits)} numbers below {limits}, got {tuple(chosen)}")
    places = (*chosen, *[0] * len(limits))[: len(limits)]
    return tuple(places[: len(leading)]), places[-1] if depth > 1 else 0


def _sides(call: Call, size: tuple[int, ...], out: tuple[int, ...]) -> list[Side]:
    """The windows along each axis."""
    if "kernelSize" not in call.values:
        axes = [adaptive(*numbers) for numbers in zip(size, out, strict=True)]
    elif "dilation" in call.values:
        sides = []
        for w in windows_of(call):
            starts = (o * w.stride - w.pad for o in range(w.out))
            windows = [range(start, start + w.dilation * (w.kernel - 1) + 1, w.dilation) for start in starts]
            sides.append(Side(w.size, windows, [w.kernel] * w.out))
        return sides
    else:
        counting = COUNT_PADDED if call.values["countIncludePad"] else COUNT_VALID
        axes = [
            fixed(w.size, w.out, kernel=w.kernel, stride=w.stride, pad=w.pad, counting=counting)
            for w in windows_of(call)
        ]
    return [
        Side(a.size, [range(a.start(o), a.stop(o)) for o in range(a.out)], [a.count(o) for o in range(a.out)])
        for a in axes
    ]


def _divisors(call: Call, sides: list[Side], depths: list[int]) -> Array:
    """The divisor of each window (depth, row, column)."""
    rows, columns = (np.array(side.counts) for side in sides[-2:])
    deep = np.array([sides[0].counts[o] for o in depths]) if len(sides) == 3 else np.ones(1, np.int64)
    given = call.values.get("divisorOverride")
    counted = deep[:, None, None] * rows[:, None] * columns
    return np.full_like(counted, given) if given else counted


def _factors(call: Call) -> str:
    if call.values.get("divisorOverride"):
        return "divisorOverride, whatever the window holds"
    if "countIncludePad" not in call.values:
        return "the number of elements in the window"
    if call.values["countIncludePad"]:
        return "the window's size with its padding (countIncludePad)"
    return "the number of elements inside the input (no countIncludePad)"


def _maxima(call: Call, size: tuple[int, ...], out: tuple[int, ...], x: Array | None, seed: int) -> Array:
    """Where the maxima of x lie; without x, of random numbers."""
    from ..cases.indices import adaptive_max_pool2d_indices, max_pool2d_indices

    numbers = np.random.default_rng(seed).random(size) if x is None else x
    if "kernelSize" in call.values:
        return max_pool2d_indices(numbers, windows_of(call))[1]
    return adaptive_max_pool2d_indices(numbers, (out[0], out[1]))[1]


def _result(case: Case, product: Product, gradients: Array, indices: Array | None, size: tuple[int, ...]) -> Array:
    """What the operator makes of the plane; a plane alone gives the same bits as among others."""
    import poolgrad

    values: dict[str, Any] = {
        p.python_name: case.numbers[p.name] for p in case.operator.parameters if p.name in case.numbers
    }
    if indices is not None:
        values["indices"] = indices[None].astype(case.tensor("indices").dtype)
    values["product"] = None if product is ANY else product.name
    result: Array = getattr(poolgrad, case.operator.python_name)(gradients[None], (1, *size), **values)
    plane: Array = result[0]
    return plane


def _title(case: Case, product: Product) -> str:
    from ..cases.model import DEFAULT_NUMBERS

    words = []
    for name, value in case.numbers.items():
        if value == DEFAULT_NUMBERS.get(name):
            continue
        if isinstance(value, bool):
            words.append(name if value else f"no {name}")
        else:
            words.append(f"{name} {_times(value) if isinstance(value, tuple) else value}")
    where = "" if product is ANY else f" on {product.name}"
    return ", ".join([f"{case.operator.name}{where}", *words])


def _times(numbers: Sequence[int]) -> str:
    return "×".join(map(str, numbers))
