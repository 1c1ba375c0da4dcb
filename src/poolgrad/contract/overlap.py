"""Which views share memory: exact answers for any strides, and the two rows of the contract that need them."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import numpy.typing as npt

from ..base.tensor import Tensor, is_nested
from .engine import SAFE, Broken, Call, Check

# Strange strides can make the exact answer expensive. Past this much work the answer is "they overlap": an error
# for a layout that nobody uses is better than a hang.
MOST_WORK = 200_000


def overlaps_itself(tensor: Tensor) -> bool:
    """Do two elements of a view share a byte?"""
    if tensor.count < 2:
        return False
    axes = sorted((abs(step), size) for size, step in zip(tensor.shape, tensor.strides, strict=True) if size > 1)
    return not is_nested(tensor) and _collide(axes, tensor.dtype.itemsize)


def _collide(axes: list[tuple[int, int]], itemsize: int) -> bool:
    """Is there a non-zero vector d, |d_i| < size_i, whose sum of d_i * step_i is nearer to zero than one element?"""
    steps = [step for step, _ in axes]
    limits = [size - 1 for _, size in axes]
    reaches = [sum(s * m for s, m in zip(steps[:i], limits[:i], strict=True)) for i in range(len(axes) + 1)]
    divisors = [math.gcd(*steps[:i]) for i in range(len(axes) + 1)]
    work = 0

    def search(axis: int, distance: int, moved: bool) -> bool:
        """Can the axes below ``axis`` bring ``distance`` to less than one element?"""
        nonlocal work
        work += 1
        if work > MOST_WORK:
            return True
        if axis == 0:
            return moved and abs(distance) < itemsize
        if abs(distance) - reaches[axis] >= itemsize:
            return False
        remainder = distance % divisors[axis] if divisors[axis] else distance
        if divisors[axis] and min(remainder, divisors[axis] - remainder) >= itemsize:
            return False
        step, limit = steps[axis - 1], limits[axis - 1]
        if step == 0:
            return True
        slack = reaches[axis - 1] + itemsize - 1
        # distance + d * step must come back into what the smaller steps can still reach.
        low = max(-limit, -((distance + slack) // step))
        high = min(limit, (slack - distance) // step)
        if not moved:
            low = max(low, 0)  # d and -d are the same collision
        return any(search(axis - 1, distance + d * step, moved or d != 0) for d in range(low, high + 1))

    return search(len(axes), 0, False)


def share_memory(one: Tensor, one_address: int, other: Tensor, other_address: int) -> bool:
    """Does an element of one view share a byte with an element of the other?"""
    (one_low, one_high), (other_low, other_high) = one.byte_range, other.byte_range
    if one_address + one_high <= other_address + other_low or other_address + other_high <= one_address + one_low:
        return False
    try:
        views = _phantom(one, one_address), _phantom(other, other_address)
        return bool(np.shares_memory(*views, max_work=MOST_WORK))  # type: ignore[arg-type] # NumPy takes any number
    except np.exceptions.TooHardError:
        return True


def _phantom(tensor: Tensor, address: int) -> npt.NDArray[np.void]:
    """An array of the view's bytes at its address; nobody reads it."""
    low, high = tensor.byte_range
    span = memoryview((ctypes.c_char * (high - low)).from_address(address + low))
    item = np.dtype((np.void, tensor.dtype.itemsize))
    return np.ndarray(tensor.shape, item, span, -low, tensor.strides)


def _test_itself(call: Call) -> Broken | None:
    for output in call.operator.outputs:
        if overlaps_itself(call.tensor(output)):
            got = f"byte strides {call.tensor(output).strides} that overlap"
            change = "Use an output whose elements are apart."
            return Broken(output.name, "elements that share no memory", got, change)
    return None


def _test_others(call: Call) -> Broken | None:
    outputs = [p.name for p in call.operator.outputs if p.name in call.addresses]
    for place, output in enumerate(outputs):
        for name, address in call.addresses.items():
            if name in outputs[: place + 1] or not call.tensor(name).count:
                continue
            if share_memory(call.tensor(output), call.addresses[output], call.tensor(name), address):
                used = "is written too" if name in outputs else "is read"
                expected = f"memory apart from {name}, which {used}"
                return Broken(output, expected, f"one that overlaps {name}", f"Use other memory for {output}.")
    return None


# Rows that need addresses; the addresses of a call are those of the memory that is read or written.
MEMORY_CHECKS = (
    Check("output-overlaps-itself", "no two elements of the output share memory", _test_itself, source=SAFE),
    Check("output-overlaps-input", "the output shares no memory with an input that is read", _test_others, source=SAFE),
)
