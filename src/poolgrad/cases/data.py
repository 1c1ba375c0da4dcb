"""A case's data: random numbers as its file asks for, indices, and the golden result. Seeded, in bounded memory.

Planes are worked on in pieces. Which pieces there are follows from the case alone, and each has random numbers of its
own: so neither the order of pieces nor the number of workers changes a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import functional
from ..arrays.files import numpy_dtype
from ..contract.parameters import Role
from ..run.calls import one_or_all
from .building import random_for
from .forward import forward_max, index_type
from .indices import astray_indices, drawn_indices
from .model import Case, Values

Array = NDArray[Any]
Piece = tuple[int, int]  # the first plane, and one past the last

# Elements of the largest tensor in a piece, if a plane has no more; random numbers that are made at once.
PIECE, BATCH = 1 << 22, 1 << 18
# Elements of a plane from which on 16-bit max gradients are not summed in memory.
LARGE_PLANE = 1 << 26


def pieces(case: Case) -> Iterator[Piece]:
    """The case's planes in portions; one that holds all of them if there is little to do."""
    count, largest = _lead(case), max(case.tensor(name).count for name in case.tensors)
    # Nor can a mask be divided: planes share its words, and its numbers do not begin with planes.
    if largest <= PIECE or not count or Role.MASK in case.operator.by_role:
        yield 0, count
        return
    many = max(1, PIECE * count // largest)
    for begin in range(0, count, many):
        yield begin, min(begin + many, count)


def _lead(case: Case) -> int:
    """How many planes there are to divide; channels that lie side by side stay together."""
    return math.prod(case.of(Role.INPUT).shape[: -_inner(case)])


def _inner(case: Case) -> int:
    """How many axes a plane has."""
    return len(case.operator.axes) + case.is_channels_last


def make_piece(case: Case, arrays: Mapping[str, Array], piece: Piece, scratch: Path, pause: Callable[[], None]) -> None:
    """Fill the inputs' planes of a piece. ``pause`` is called now and then; what it raises ends the work.

    ``scratch`` is a directory for what does not fit into memory.
    """
    for place, (name, tensor) in enumerate(case.inputs.items()):
        assert tensor is not None
        if tensor.values.kind in ("uniform", "normal", "constant"):
            random = partial(random_for, case.seed, case.name, place)
            _fill(_portion(case, arrays[name], piece).reshape(-1), tensor.values, random, piece, pause)
    if Role.INDICES in case.operator.by_role and all(array.size for array in arrays.values()):
        _make_indices(case, arrays, piece, scratch, pause)
    if any(p.role is Role.MASK for p in case.operator.inputs) and all(array.size for array in arrays.values()):
        _make_mask(case, arrays)


def golden_piece(case: Case, arrays: Mapping[str, Array], piece: Piece, scratch: Path) -> None:
    """The golden result for the planes of a piece. ``IndexRangeError`` if an index is bad, which may be anywhere."""
    if needs_files(case):
        for views in _groups(case, arrays, piece):
            for plane in range(len(next(iter(views.values())))):
                _run_wide(case, {name: view[plane : plane + 1] for name, view in views.items()}, scratch)
    elif piece == (0, _lead(case)):
        golden_whole(case, arrays)
    else:
        for views in _groups(case, arrays, piece):
            _run(case, views)


def needs_files(case: Case) -> bool:
    """16-bit max gradients are summed in a float32 plane; one so large is kept in a file."""
    halves = numpy_dtype(case.of(Role.INPUT).dtype).itemsize == 2
    return halves and Role.INDICES in case.operator.by_role and case.plane > LARGE_PLANE


def scratch_bytes(case: Case) -> int:
    """What a case takes on the disk besides its tensors: sums of halves, or before these what a forward pass finds."""
    if Role.INDICES not in case.operator.by_role:
        return 0
    windows = math.prod(w.out for w in case.call.windows)
    return max(8 * case.plane if needs_files(case) else 0, 16 * windows if windows > PIECE else 0)


def _run_wide(case: Case, plane: Mapping[str, Array], scratch: Path) -> None:
    """The same sums, in float32 from the beginning, in files that vanish; rounded once at the end."""
    source, target = (case.operator.by_role[role].name for role in (Role.GRADIENT, Role.RESULT))
    with ExitStack() as files:
        wide = dict(plane)
        for name in (source, target):
            wide[name] = _in_file(plane[name].shape, np.float32, scratch, files)
        _copy(plane[source], wide[source])
        _run(case, wide, product=None)
        _copy(wide[target], plane[target])


def _in_file(shape: tuple[int, ...], dtype: Any, scratch: Path, files: ExitStack) -> Array:
    """An array in a file that vanishes."""
    return np.memmap(files.enter_context(TemporaryFile(dir=scratch)), dtype, "w+", shape=shape)


def _copy(source: Array, target: Array) -> None:
    """Some rows of a plane at a time, so that little is converted at once."""
    rows = max(1, BATCH // source.shape[-1])
    for at in range(0, source.shape[-2], rows):
        target[..., at : at + rows, :] = source[..., at : at + rows, :]


def golden_whole(case: Case, arrays: Mapping[str, Array]) -> None:
    """The same for all planes at once: its ``IndexRangeError`` names the place."""
    _run(case, arrays, **({"data_format": case.of(Role.INPUT).format} if case.is_channels_last else {}))


def _run(case: Case, arrays: Mapping[str, Array], **options: Any) -> None:
    compute(case, arrays, out=one_or_all(tuple(arrays[name] for name in case.outputs)), **options)


def compute(case: Case, arrays: Mapping[str, Any], **options: Any) -> Any:
    """The results of the call on arrays by documented names; of those that are never read, shapes do."""
    operator = case.operator
    values = {p.python_name: arrays[p.name] for p in operator.inputs}
    values |= {p.python_name: getattr(arrays[p.name], "shape", arrays[p.name]) for p in operator.inputs if not p.read}
    values |= {p.python_name: case.numbers[p.name] for p in operator.numbers}
    return getattr(functional, operator.python_name)(**values, **({"product": case.product} | options))


def _portion(case: Case, array: Array, piece: Piece) -> Array:
    """The piece's planes of a tensor, which is contiguous."""
    return array.reshape(_lead(case), *array.shape[array.ndim - _inner(case) :])[slice(*piece)]


def _groups(case: Case, arrays: Mapping[str, Array], piece: Piece) -> Iterator[dict[str, Array]]:
    """The piece's planes, (P, H, W) or (P, D, H, W), as views: all at once, or one image's channels after the other."""
    portions = {name: _portion(case, array, piece) for name, array in arrays.items()}
    if case.is_channels_last:
        for image in range(piece[1] - piece[0]):
            yield {name: np.moveaxis(portion[image], -1, 0) for name, portion in portions.items()}
    else:
        yield portions


# Numbers.


def _fill(flat: Array, values: Values, random: Any, piece: Piece, pause: Callable[[], None]) -> None:
    low, high = _limits(flat.dtype)
    if values.kind == "constant":
        (value,) = values.numbers
        flat.fill(min(max(value, low), high) if math.isfinite(value) else value)
        return
    if values.kind == "normal":  # one mean and one deviation for the whole tensor
        lowest_mean, highest_mean, lowest_std, highest_std = values.numbers
        of_all = random("normal")
        mean, deviation = of_all.uniform(lowest_mean, highest_mean), of_all.uniform(lowest_std, highest_std)
    else:
        bottom, top = (min(max(number, low), high) for number in values.numbers)
    numbers = random("elements", piece[0])
    for at in range(0, flat.size, BATCH):
        pause()
        part = flat[at : at + BATCH]
        if values.kind == "normal":
            part[...] = np.clip(numbers.standard_normal(part.size) * deviation + mean, low, high)
        elif flat.dtype.kind in "iu":
            part[...] = numbers.integers(int(bottom), int(top), part.size, endpoint=True)
        else:
            share = numbers.random(part.size)
            part[...] = bottom * (1 - share) + top * share


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the greatest finite number; integers stay integers, which are exact."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(info.min), float(info.max)


# Indices.


def _make_indices(
    case: Case, arrays: Mapping[str, Array], piece: Piece, scratch: Path, pause: Callable[[], None]
) -> None:
    random = random_for(case.seed, case.name, "indices", piece[0])
    x, gradient, where = (case.operator.by_role[role].name for role in (Role.INPUT, Role.GRADIENT, Role.INDICES))
    kinds = {name: case.tensor(name).values.kind for name in (gradient, where)}
    windows = case.call.windows
    for views in _groups(case, arrays, piece):
        if "forward" in kinds.values():
            pause()
            wanted = [views[name] if kind == "forward" else None for name, kind in kinds.items()]
            _pool(case, views[x], views[gradient].shape, wanted, scratch)
        if kinds[where] == "windows":
            drawn_indices(random, windows, views[where], pause=pause)
        elif kinds[where] == "plane":
            astray_indices(random, case.plane, views[where], pause=pause)


def _pool(case: Case, x: Array, shape: tuple[int, ...], wanted: list[Array | None], scratch: Path) -> None:
    """The forward pass: its output and its indices, as far as these are wanted."""
    index = index_type(case.call, case.of(Role.INDICES).dtype)
    types = (x.dtype, np.dtype(index))
    with ExitStack() as files:

        def made(array: Array | None, dtype: np.dtype[Any]) -> Array:
            if array is not None and array.dtype == dtype:
                return array
            return np.empty(shape, dtype) if math.prod(shape) <= PIECE else _in_file(shape, dtype, scratch, files)

        values, indices = (made(array, dtype) for array, dtype in zip(wanted, types, strict=True))
        forward_max(case.call, x, out=(values, indices))
        for array, found in zip(wanted, (values, indices), strict=True):
            if array is not None and found is not array:  # of another type
                for target, source in zip(array, found, strict=True):
                    _copy(source, target)


def _make_mask(case: Case, arrays: Mapping[str, Array]) -> None:
    """The forward pass's mask, and its output as the gradient, as far as these are wanted."""
    operator = case.operator
    x, gradient, where = (operator.by_role[role].name for role in (Role.INPUT, Role.GRADIENT, Role.MASK))
    wanted = [name for name in (gradient, where) if case.tensor(name).values.kind == "forward"]
    if wanted:
        values, mask = (arrays[n] if n in wanted else np.empty_like(arrays[n]) for n in (gradient, where))
        forward_max(case.call, arrays[x], out=(values, mask), product=case.product)
