"""One plane of a call, as a picture shows it: windows, divisors, and what goes from windows to elements or back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.files import numpy_dtype
from ..base.windows import COUNT_PADDED, COUNT_VALID, Windows
from ..cases.data import compute
from ..cases.forward import forward_max
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import is_channels_last, spatial_sizes
from ..contract.support import where_maxima_stood
from ..masks import indices_to_mask, mask_to_indices
from .terminal import BadInput

if TYPE_CHECKING:
    from ..cases import Case

Array = NDArray[Any]
Sizes = tuple[int, ...]

# What is drawn has to be computed first, and every window along an axis is listed.
MOST_ELEMENTS, MOST_PLACES = 10**8, 10**6
# Random numbers that are pooled are integers from 0, which every type has and a cell has room for.
RANDOM_BELOW = 100


@dataclass(frozen=True)
class Side:
    """The windows along one axis: the positions that each takes, those in the padding too, and what each counts."""

    size: int
    windows: list[range]
    inside: list[range]  # of these positions, those that are no padding
    counts: list[int]

    @property
    def before(self) -> int:
        """Positions of padding that windows take before the input begins."""
        return max((-w.start for w in self.windows), default=0)

    @property
    def behind(self) -> int:
        return max((w[-1] + 1 - self.size for w in self.windows if w), default=0)

    def covered(self) -> Array:
        """How many windows hold each position."""
        times = np.zeros(self.size, np.int64)
        for inside in self.inside:
            times[inside.start : inside.stop : inside.step] += 1
        return times


@dataclass(frozen=True)
class Plane:
    """What there is to see. A gradient takes numbers of windows to elements, pooling those of elements to windows.

    Arrays of windows have an axis for the windows along D, of which 2-D has one.
    """

    title: str
    pools: bool  # whether it is pooling, or a gradient
    names: tuple[str, str]  # of the tensors of the windows' and of the elements' numbers
    place: str  # which plane of the tensor it is
    rows: Side
    columns: Side
    layer: int | None  # which layer of 3-D it is
    depths: list[int]  # the windows along D that hold the plane, or whose gradients reach it
    depth_counts: list[int]  # what each of these counts
    of_windows: Array  # gradients, or what pooling gives
    divisors: Array | None  # None: a maximum, which is about one element of each window
    factors: str  # what the divisors are made of
    divisor_given: bool
    indices: Array | None  # None: an average, or an operator that does not tell places
    of_elements: Array  # where gradients have arrived, or what is pooled
    given: bool  # whether the numbers come from a file; if not, gradients are 1, and what is pooled is random

    @property
    def windows(self) -> int:
        return len(self.rows.windows) * len(self.columns.windows)

    @property
    def first_place(self) -> int:
        """The index of the plane's first element."""
        return (self.layer or 0) * self.rows.size * self.columns.size

    def shares(self) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
        """For each element the windows (depth, row, column) that share numbers with it."""
        found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for d, i, j in np.ndindex(len(self.depths), len(self.rows.windows), len(self.columns.windows)):
            for element in self.elements(d, i, j):
                found.setdefault(element, []).append((d, i, j))
        return found

    def elements(self, depth: int, row: int, column: int) -> list[tuple[int, int]]:
        """The elements that share numbers with a window; none, if its maximum stands in another layer."""
        if self.indices is not None:
            place = int(self.indices[depth, row, column]) - self.first_place
            inside = 0 <= place < self.rows.size * self.columns.size
            return [divmod(place, self.columns.size)] if inside else []
        return [(h, w) for h in self.rows.inside[row] for w in self.columns.inside[column]]

    def target(self, depth: int, row: int, column: int) -> tuple[int, ...]:
        """The place that a window's index names, as a position in its plane or volume."""
        assert self.indices is not None
        place, w = divmod(int(self.indices[depth, row, column]), self.columns.size)
        return (place, w) if self.layer is None else (*divmod(place, self.rows.size), w)

    def arriving(self) -> Array:
        """How many windows' indices name each element."""
        assert self.indices is not None
        places = self.indices.ravel() - self.first_place
        size, shape = self.of_elements.size, self.of_elements.shape
        inside = places[(places >= 0) & (places < size)]
        return np.bincount(inside, minlength=size).reshape(shape)

    def made_of(self, depth: int, row: int, column: int) -> str:
        """The lengths whose product is the divisor."""
        if self.divisors is None or self.divisor_given:
            return ""
        deep = [self.depth_counts[depth]] if self.depth_counts else []
        return _times([*deep, self.rows.counts[row], self.columns.counts[column]])

    def exactly(self, shares: list[tuple[int, int, int]]) -> Fraction:
        """What gradients of 1 add up to."""
        if self.divisors is None:
            return Fraction(len(shares))
        return sum((Fraction(1, int(self.divisors[d, i, j])) for d, i, j in shares), Fraction(0))


def plane_of(case: Case, arrays: Mapping[str, Array], chosen: Sequence[int], seed: int) -> Plane:
    """The plane that was chosen, of a call that the contract accepts."""
    operator, call = case.operator, case.call
    x, axes, last = operator.by_role[Role.INPUT], len(operator.axes), is_channels_last(call)
    source, target = operator.by_role.get(Role.GRADIENT, x), operator.by_role[Role.RESULT]
    of_windows, of_elements = (source, target) if operator.is_gradient else (target, source)
    size, outs = (spatial_sizes(call, p) for p in (x, of_windows))
    lead = _channels_first(call.tensor(x).shape, axes, last)[:-axes]
    if 0 in (*lead, *size, *outs):
        shapes = [_channels_first(call.tensor(p).shape, axes, last) for p in (x, of_windows)]
        told = ", ".join(f"{p.python_name} {shape}" for p, shape in zip((x, of_windows), shapes, strict=True))
        raise BadInput(f"there is nothing to see in an empty tensor: {told}")
    if max(math.prod(size), math.prod(outs)) > MOST_ELEMENTS or max(*size, *outs) > MOST_PLACES:
        most = f"at most {MOST_ELEMENTS} elements, {MOST_PLACES} along an axis"
        raise BadInput(f"a plane of {_times(size)} with {_times(outs)} windows is too large to draw; {most}")
    *deep, rows, columns = (_side(w, call.value(Role.COUNT_INCLUDE_PAD)) for w in call.windows)
    where, layer = _chosen(chosen, lead, size[:-2])

    arrays = _with_indices(case, arrays)
    planes = {name: (np.moveaxis(array, -1, -axes - 1) if last else array)[where] for name, array in arrays.items()}
    # A plane alone gives the same bits as among others.
    found = _gradient(case, planes, size, outs, seed) if operator.is_gradient else _pooling(case, planes, size, seed)
    at_windows, indices, at_elements = found
    depths = [0] if layer is None else _depths(deep[0], layer, rows.size * columns.size, indices)
    way = " → ".join(f"{p.name} {_times(spatial_sizes(call, p))}" for p in (source, target))
    place = f"{way}, plane {where} of {lead}"
    return Plane(
        title=_title(case),
        pools=not operator.is_gradient,
        names=(of_windows.name, of_elements.name),
        place=place if layer is None else f"{place}, depth {layer} of {size[0]}",
        rows=rows,
        columns=columns,
        layer=layer,
        depths=depths,
        depth_counts=[side.counts[o] for side in deep for o in depths],
        of_windows=at_windows[None] if layer is None else at_windows[depths],
        divisors=_divisors(call, deep, depths, rows, columns) if operator.averages else None,
        factors=_factors(call),
        divisor_given=bool(call.value(Role.DIVISOR)),
        indices=None if indices is None else indices[None] if layer is None else indices[depths],
        of_elements=at_elements if layer is None else at_elements[layer],
        given=source.name in arrays,
    )


def _with_indices(case: Case, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The same arrays, with indices in the place of a mask."""
    mask = case.operator.by_role.get(Role.MASK)
    if mask is None or mask.name not in arrays:
        return dict(arrays)
    indices = mask_to_indices(arrays[mask.name], case.of(Role.INPUT).shape, **_windows(case))
    return {**arrays, mask.name: indices}


def _told(case: Case, indices: Array, shape: tuple[int, ...]) -> Array:
    """Indices as the operator takes them: of its type, or as a mask."""
    if Role.MASK in case.operator.by_role:
        return indices_to_mask(indices, shape, **_windows(case))  # type: ignore[no-any-return]
    return indices.astype(case.of(Role.INDICES).dtype)


def _windows(case: Case) -> dict[str, Any]:
    numbers = {p.python_name: case.numbers[p.name] for p in case.operator.numbers}
    return {**numbers, "product": case.product}


Found = tuple[Array, Array | None, Array]  # numbers of the windows, indices if there are any, numbers of the elements


def _gradient(case: Case, planes: Mapping[str, Array], size: Sizes, outs: Sizes, seed: int) -> Found:
    """Gradients of a plane, where they go, and what arrives; each gradient is 1 if nobody gave them."""
    by_role = case.operator.by_role
    x, grad = by_role[Role.INPUT].name, by_role[Role.GRADIENT].name
    gradients = planes.get(grad)
    if gradients is None:
        gradients = np.ones(outs, numpy_dtype(case.tensor(grad).dtype))
    inputs: dict[str, Any] = {grad: gradients[None], x: (1, *size)}
    indices = None
    if stood := where_maxima_stood(case.operator):
        indices = planes[stood.name] if stood.name in planes else _maxima(case, size, planes.get(x), seed)
        inputs[stood.name] = _told(case, indices[None], (1, *size))
    return gradients, indices, compute(case, inputs)[0]


def _pooling(case: Case, planes: Mapping[str, Array], size: Sizes, seed: int) -> Found:
    """What pooling makes of a plane, and where maxima stand; random numbers are pooled if nobody gave others."""
    x = case.operator.by_role[Role.INPUT].name
    numbers = planes.get(x)
    if numbers is None:
        random = np.random.default_rng(seed).integers(0, RANDOM_BELOW, size)
        numbers = random.astype(numpy_dtype(case.tensor(x).dtype))
    answer = compute(case, {x: numbers[None]})
    results = answer if isinstance(answer, tuple) else (answer,)
    found = dict(zip((p.role for p in case.operator.outputs), results, strict=True))
    if Role.MASK in found:
        found[Role.PLACES] = mask_to_indices(found[Role.MASK], (1, *size), **_windows(case))
    places = found[Role.PLACES][0] if Role.PLACES in found else None
    return found[Role.RESULT][0], places, numbers


def _channels_first(shape: tuple[int, ...], axes: int, channels_last: bool) -> tuple[int, ...]:
    return (*shape[: -axes - 1], shape[-1], *shape[-axes - 1 : -1]) if channels_last else shape


def _chosen(chosen: Sequence[int], lead: Sequence[int], depth: Sequence[int]) -> tuple[tuple[int, ...], int | None]:
    """Which of the planes, and which of its layers; the first ones, as far as nobody says otherwise."""
    limits = (*lead, *depth)
    if len(chosen) > len(limits) or any(not 0 <= n < most for n, most in zip(chosen, limits, strict=False)):
        raise BadInput(f"--plane: expected up to {len(limits)} numbers below {limits}, got {tuple(chosen)}")
    places = (*chosen, *[0] * len(limits))[: len(limits)]
    return tuple(places[: len(lead)]), places[-1] if depth else None


def _side(windows: Windows, count_include_pad: object) -> Side:
    axis = windows.axis(COUNT_VALID if count_include_pad is False else COUNT_PADDED)
    places = [range(axis.start(o), axis.stop(o), windows.dilation) for o in range(axis.out)]
    inside = [windows.places(o) for o in range(axis.out)]
    return Side(axis.size, places, inside, [axis.count(o) for o in range(axis.out)])


def _depths(deep: Side, layer: int, plane: int, indices: Array | None) -> list[int]:
    """The windows along D that hold a layer, and those whose indices point into it from outside."""
    holding = {o for o, window in enumerate(deep.windows) if layer in window}
    if indices is not None:
        holding |= {o for o in range(len(deep.windows)) if (indices[o] // plane == layer).any()}
    if not holding:
        raise BadInput(f"--plane: layer {layer} of {deep.size} is in no window; choose another one")
    return sorted(holding)


def _divisors(call: Call, deep: Sequence[Side], depths: list[int], rows: Side, columns: Side) -> Array:
    """The divisor of each window (depth, row, column)."""
    along = [np.array([side.counts[o] for o in depths]) for side in deep] or [np.ones(1, np.int64)]
    counted: Array = along[0][:, None, None] * np.array(rows.counts)[:, None] * np.array(columns.counts)
    given = call.value(Role.DIVISOR)
    return np.full_like(counted, given) if given else counted


def _factors(call: Call) -> str:
    by_role, include_pad = call.operator.by_role, call.value(Role.COUNT_INCLUDE_PAD)
    if call.value(Role.DIVISOR):
        return f"{by_role[Role.DIVISOR].name}, whatever the window holds"
    if include_pad is None:
        return "the number of elements in the window"
    name = by_role[Role.COUNT_INCLUDE_PAD].name
    if include_pad:
        return f"the window's size with its padding ({name})"
    return f"the number of elements inside the input (no {name})"


def _maxima(case: Case, size: Sizes, x: Array | None, seed: int) -> Array:
    """Where the maxima of x lie; without x, of random numbers."""
    numbers: Array = np.random.default_rng(seed).random(size) if x is None else x
    _, places = forward_max(case.call, numbers[None])
    if Role.MASK in case.operator.by_role:
        places = mask_to_indices(places, (1, *size), **_windows(case) | {"product": None})
    return places.reshape(places.shape[1:])


def _title(case: Case) -> str:
    words = []
    for p in case.operator.numbers:
        value = case.numbers[p.name]
        if value == p.default:
            continue
        if isinstance(value, bool):
            words.append(p.name if value else f"no {p.name}")
        else:
            words.append(f"{p.name} {_times(value) if isinstance(value, tuple) else value}")
    where = f" on {case.product}" if case.product else ""
    return ", ".join([f"{case.operator.name}{where}", *words])


def _times(numbers: Sequence[int]) -> str:
    return "×".join(map(str, numbers))
