"""A call that is computed block by block: its verdict, what each block reads, and a block's result.

``Whole`` is the call as a block knows it, in any process. ``Block`` says where a block lies. Nothing here knows where
arrays come from: Dask (``poolgrad.dask``) and stored arrays (``stored.py``) bring the parts that ``Block`` asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.adapters import describe_without_memory
from ..base.errors import IndexRangeError
from ..base.tensor import Tensor
from ..base.windows import Windows
from ..contract.engine import Call, Value, enforce
from ..contract.masks import holds_bits, mask_shape, positions
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..contract.pooling import layout_of, pooled_shape
from ..kernels.record import GROUP, MOST_DIRECT_TERMS
from ..operators import REGISTRY
from ..run.bad_indices import index_outside, mask_error
from ..run.calls import Options, call, described
from ..run.execute import position_of
from .parts import Part, part_over_elements, part_under_windows, whole_axis

Range = tuple[int, int]
Numbers = tuple[Value, ...]


@dataclass(frozen=True)
class Whole:
    """A legal call on arrays that nobody need have in memory."""

    operator_name: str
    numbers: Numbers  # as the contract sees them, in the order of the parameters
    options: Options
    inputs: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]  # types and shapes

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process, without what follows from it; that is found once there, for all blocks."""
        return _arrived, (self.operator_name, self.numbers, self.options, self.inputs)

    @cached_property
    def operator(self) -> Operator:
        return REGISTRY[self.operator_name]

    @cached_property
    def call(self) -> Call:
        arrays = tuple(np.broadcast_to(np.zeros((), dtype), shape) for dtype, shape in self.inputs)
        return described(self.operator, arrays, self.numbers, self.options, None, describe_without_memory)[0]

    @cached_property
    def windows(self) -> tuple[Windows, ...]:
        return self.call.windows

    @cached_property
    def layout(self) -> str:
        """The letters of the axes of its tensors, a mask apart."""
        return layout_of(self.call)[-self.call.tensor(Role.INPUT).rank :]

    @cached_property
    def results(self) -> tuple[Tensor, ...]:
        return tuple(self.call.tensor(p) for p in self.operator.outputs)

    @cached_property
    def has_mask(self) -> bool:
        return Role.MASK in self.operator.by_role

    @cached_property
    def whole_planes(self) -> str:
        """Why planes can't be divided; empty if they can."""
        if self.has_mask:
            return "a mask holds all outputs one behind the other"
        if Role.INDICES in self.operator.by_role:
            return "indices may point to any place of their plane"
        if any(w.adaptive for w in self.windows):
            return "adaptive windows follow from the size of the whole plane"
        # Sums of long runs are put together from sums of blocks, which begin at fixed places of the whole plane.
        if self.operator.is_gradient and any((w.kernel - 1) // w.stride >= MOST_DIRECT_TERMS for w in self.windows):
            return f"more than {MOST_DIRECT_TERMS} windows hold an element, and these are summed by blocks of the plane"
        return ""

    @cached_property
    def bytes_per_image(self) -> int:
        """How many bytes of a mask an image fills; those of all images stand at its beginning."""
        channels, *outs = pooled_shape(self.call)[-1 - len(self.windows) :]
        if not holds_bits(self.call):
            return 4 * channels * math.prod(outs)
        return -(-channels // GROUP) * positions(self.call) * mask_shape(self.call)[-1]


@lru_cache(maxsize=64)
def _arrived(*fields: Any) -> Whole:
    return Whole(*fields)


@dataclass(frozen=True)
class Block:
    """A block of the result: where it lies there, and what it needs."""

    whole: Whole
    ranges: tuple[Range, ...]  # of the result, along each axis

    def __reduce__(self) -> tuple[Any, ...]:
        return Block, (self.whole, self.ranges)

    @cached_property
    def _parts(self) -> tuple[Part | Range, ...]:
        """What it needs along each axis; of an axis that is not pooled, as much as it makes."""
        whole = self.whole
        windows = dict(zip(whole.operator.axes, whole.windows, strict=True))

        def part(letter: str, low: int, high: int) -> Part | Range:
            if letter not in windows:
                return low, high
            if whole.whole_planes:
                return whole_axis(windows[letter])
            return (part_over_elements if whole.operator.is_gradient else part_under_windows)(
                windows[letter], low, high
            )

        return tuple(part(letter, *r) for letter, r in zip(whole.layout, self.ranges, strict=True))

    @cached_property
    def input_ranges(self) -> tuple[Range, ...]:
        """The part of the forward pass's input."""
        return tuple(part[:2] for part in self._parts)

    @cached_property
    def output_ranges(self) -> tuple[Range, ...]:
        """The part of the forward pass's output."""
        return tuple(part[-2:] for part in self._parts)

    @property
    def reads(self) -> tuple[tuple[Range, ...] | None, ...]:
        """The part of each input that is read: None for those of which nothing is, and for a mask."""
        roles = [p.role if p.read else None for p in self.whole.operator.inputs]
        parts = {Role.INPUT: self.input_ranges, Role.GRADIENT: self.output_ranges, Role.INDICES: self.output_ranges}
        return tuple(None if role is None else parts.get(role) for role in roles)

    @property
    def mask_part(self) -> tuple[Range]:
        """Which bytes of a mask are this block's, which has all channels of its images."""
        low, high = self.ranges[0] if self.whole.layout[0] == "N" else (0, 1)
        return ((low * self.whole.bytes_per_image, high * self.whole.bytes_per_image),)

    @cached_property
    def has_whole_planes(self) -> bool:
        """Whether it makes whole planes: nothing of its results is too much, and places are those of the plane."""
        pooled = [letter in self.whole.operator.axes for letter in self.whole.layout]
        shape = self.whole.results[0].shape
        return all(r == (0, n) for r, n, p in zip(self.ranges, shape, pooled, strict=True) if p)

    def compute(self, *read: NDArray[Any] | None, threads: int, out: Any = None) -> tuple[NDArray[Any], ...]:
        """The results, from what ``reads`` says; a mask is the bytes that are this block's, as it is given and made.

        ``out`` are arrays for them, one or a tuple; only a block that ``has_whole_planes`` may be given any.
        """
        whole, operator = self.whole, self.whole.operator
        x_shape = tuple(high - low for low, high in self.input_ranges)
        arrays: list[Any] = []
        for p, array, part, (dtype, _) in zip(operator.inputs, read, self.reads, whole.inputs, strict=True):
            if array is not None:
                _look_at(p.python_name, array, dtype, self.mask_part if part is None else part)
            if p.role is Role.MASK:
                arrays.append(self.local_mask(array))
            elif array is None:  # of which nothing counts but what it is like
                arrays.append(np.broadcast_to(np.zeros((), dtype), x_shape))
            else:
                arrays.append(array)
        try:
            product, data_format, index_dtype = whole.options
            made = call(operator, tuple(arrays), whole.numbers, product, out, data_format, index_dtype, threads)
        except IndexRangeError as error:
            raise self._error_in_the_whole(error, arrays) from None
        made = made if isinstance(made, tuple) else (made,)
        return tuple(self._own(p.role, array) for p, array in zip(operator.outputs, made, strict=True))

    def _own(self, role: Role, array: NDArray[Any]) -> NDArray[Any]:
        """What is the block's of what was made."""
        if role is Role.MASK:
            ((begin, end),) = self.mask_part
            return array.reshape(-1)[: end - begin]
        around = self.input_ranges if self.whole.operator.is_gradient else self.output_ranges
        kept = tuple(
            slice(low - begin, high - begin) for (low, high), (begin, _) in zip(self.ranges, around, strict=True)
        )
        array = array[kept]
        return self._places(array) if role is Role.PLACES else array

    def _places(self, array: NDArray[Any]) -> NDArray[Any]:
        """Places in the part of the plane, as places in the whole one."""
        spatial = [i for i, letter in enumerate(self.whole.layout) if letter in self.whole.operator.axes]
        offsets = [self.input_ranges[i][0] for i in spatial]
        local = [self.input_ranges[i][1] - self.input_ranges[i][0] for i in spatial]
        full = [w.size for w in self.whole.windows]
        if local[1:] == full[1:]:
            shift = offsets[0] * math.prod(full[1:])
            return array + array.dtype.type(shift) if shift else array
        place, rest = np.zeros((), np.int64), array.astype(np.int64)
        steps = [math.prod(local[i + 1 :]) for i in range(len(local))]
        for size, offset, step in zip(full, offsets, steps, strict=True):
            index, rest = np.divmod(rest, step)
            place = place * size + index + offset
        return place.astype(array.dtype)

    def local_mask(self, given: NDArray[Any] | None) -> NDArray[Any]:
        """A mask of the block's images alone, from the bytes that are theirs."""
        assert given is not None
        *_, rows, length = mask_shape(self.whole.call)
        lead = [high - low for low, high in self.ranges[: -len(self.whole.windows)]]
        mask = np.zeros((*lead, rows, length), np.int8)
        mask.reshape(-1)[: given.size] = given
        return mask

    def _error_in_the_whole(self, error: IndexRangeError, arrays: Sequence[Any]) -> IndexRangeError:
        """The error of a block, with the place that the index has in the whole array."""
        call, place = self.whole.call, error.place
        assert place is not None
        names = [p.role for p in self.whole.operator.inputs]
        if self.whole.has_mask:
            mask, before = arrays[names.index(Role.MASK)], self.mask_part[0][0]
            images = before // self.whole.bytes_per_image
            outputs = math.prod(pooled_shape(call)[-1 - len(self.whole.windows) :])
            return mask_error(call, mask.ctypes.data - before, images * outputs + place)
        indices = arrays[names.index(Role.INDICES)]
        local, _ = described(
            self.whole.operator, tuple(arrays), self.whole.numbers, self.whole.options, None, describe_without_memory
        )
        position = position_of(local, place)
        value = int(indices[tuple(position)])
        moved = [i + low for i, (low, _) in zip(position, self.output_ranges, strict=True)]
        return index_outside(call, Role.INDICES, moved, value)


def _look_at(name: str, array: Any, dtype: np.dtype[Any], part: tuple[Range, ...]) -> None:
    """Refuse what is not like the array that it is said to be a part of."""
    shape = tuple(high - low for low, high in part)
    if array.dtype != dtype or array.shape != shape:
        where = ", ".join(f"{low}:{high}" for low, high in part)
        raise ValueError(
            f"{name}[{where}] must be {dtype} of shape {shape}, as {name} says of itself; "
            f"what came is {array.dtype} of shape {array.shape}. Correct what makes its chunks, or their description."
        )


def judged(
    operator: Operator, arrays: tuple[Any, ...], numbers: tuple[Any, ...], options: Options, out: Any = None
) -> Whole:
    """The call on arrays of which only types and shapes are looked at; ``AclnnError`` if the contract refuses it."""
    call, _ = described(operator, arrays, numbers, options, out, describe_without_memory)
    enforce(call, operator.checks)
    given = (call.tensor(p) for p in operator.inputs)
    inputs = tuple((np.dtype(tensor.dtype.name), tensor.shape) for tensor in given)
    return Whole(operator.name, tuple(call.values[p.name] for p in operator.numbers), options, inputs)
