"""What the contract and the plan see of a tensor: everything but its memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .dtypes import DType, dtype_named


@dataclass(frozen=True, slots=True)
class Tensor:
    """Type, shape, strides in bytes, and format. Addresses join only when a plan runs."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    format: str
    writable: bool = True

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def byte_range(self) -> tuple[int, int]:
        """First and one past the last byte that the view touches, relative to its first element."""
        if self.count == 0:
            return 0, 0
        reach = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + self.dtype.itemsize


def is_nested(tensor: Tensor) -> bool:
    """The usual layouts are nested: each step leaps over all that the smaller steps reach, so no elements overlap."""
    reach = tensor.dtype.itemsize
    for step, size in sorted((abs(step), size) for size, step in zip(tensor.shape, tensor.strides, strict=True)):
        if size > 1:
            if step < reach:
                return False
            reach += step * (size - 1)
    return True


def is_contiguous(tensor: Tensor) -> bool:
    """Whether its elements, in C order, follow each other in memory."""
    steps = contiguous_strides(tensor.shape, tensor.dtype.itemsize)
    pairs = zip(tensor.shape, tensor.strides, steps, strict=True)
    return not tensor.count or all(size == 1 or one == other for size, one, other in pairs)


def contiguous_strides(shape: Sequence[int], unit: int = 1) -> tuple[int, ...]:
    """Strides of a C-ordered tensor, in steps of ``unit``.

    >>> contiguous_strides((2, 3, 4), unit=4)
    (48, 16, 4)
    """
    strides = []
    for size in reversed(shape):
        strides.append(unit)
        unit *= size
    return tuple(reversed(strides))


def dense_strides(tensor: Tensor, itemsize: int) -> tuple[int, ...]:
    """Byte strides of a dense array whose axes lie in memory in the order of the tensor's."""
    # An axis with steps of 0 (broadcast) has no place of its own: it stays where it stands in the shape.
    moving = [axis for axis in range(tensor.rank) if tensor.strides[axis]]
    order = sorted(moving, key=lambda axis: (-abs(tensor.strides[axis]), tensor.shape[axis] == 1))
    for axis in range(tensor.rank):
        if not tensor.strides[axis]:
            order.insert(axis, axis)
    dense = contiguous_strides([tensor.shape[axis] for axis in order], itemsize)
    steps = tuple(dense[order.index(axis)] for axis in range(tensor.rank))
    # Where x is dense itself its strides are kept to the letter, also those of axes of size 1.
    kept = tuple(step // max(tensor.dtype.itemsize, 1) * itemsize for step in tensor.strides)
    is_dense = all(size <= 1 or one == other for size, one, other in zip(tensor.shape, steps, kept, strict=True))
    return kept if is_dense and min(kept, default=1) > 0 else steps


def retyped(tensor: Tensor, name: str) -> Tensor:
    """The same tensor with elements of another type."""
    dtype = dtype_named(name)
    return replace(tensor, dtype=dtype, strides=dense_strides(tensor, dtype.itemsize))


@dataclass(frozen=True, slots=True)
class Planes:
    """A tensor read as (N, C, D, H, W): sizes, and steps in bytes; an axis that it lacks has size 1."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def spatial(self) -> tuple[int, ...]:
        return self.shape[2:]

    def has_neighbours(self, itemsize: int) -> bool:
        """Whether the elements of a row follow each other in memory."""
        return self.shape[4] <= 1 or self.steps[4] == itemsize

    def is_dense(self, itemsize: int) -> bool:
        """Whether a plane's elements, layer by layer and row by row, follow each other in memory."""
        dense = contiguous_strides(self.spatial, itemsize)
        return all(
            size <= 1 or one == other for size, one, other in zip(self.spatial, self.steps[2:], dense, strict=True)
        )

    def is_stack(self) -> bool:
        """Whether all planes follow each other in the steps of the channels."""
        batch, channels = self.shape[:2]
        return channels > 1 and (batch <= 1 or self.steps[0] == channels * self.steps[1])

    @property
    def is_row_of_planes(self) -> bool:
        """The same, or whether there is one channel: then the images follow each other."""
        return self.shape[1] == 1 or self.is_stack()

    @property
    def step_of_planes(self) -> int:
        """From plane to plane of a row of them, or of an image."""
        return self.steps[0] if self.shape[1] == 1 else self.steps[1]


def as_planes(tensor: Tensor, layout: str) -> Planes:
    """Read a tensor by the letters of its axes; the batch axis, which comes first, may be missing.

    >>> from poolgrad.base.dtypes import FLOAT32
    >>> as_planes(Tensor(FLOAT32, (5, 6, 3), (72, 12, 4), "NHWC"), "NHWC")
    Planes(shape=(1, 3, 1, 5, 6), steps=(0, 4, 0, 72, 12))
    """
    letters = layout[-tensor.rank :]
    axes = [letters.find(letter) for letter in "NCDHW"]
    return Planes(
        tuple(1 if axis < 0 else tensor.shape[axis] for axis in axes),
        # An axis that is never stepped along may have any stride, even one that no kernel could hold.
        tuple(0 if axis < 0 or tensor.shape[axis] <= 1 else tensor.strides[axis] for axis in axes),
    )
