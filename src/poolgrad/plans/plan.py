"""Plans: what exactly a legal call computes, and the scratch memory that it will use.

A plan is made once, before any tensor memory is touched, and may run many times. Its ``record`` is all that a
kernel is told: sizes, windows, steps in bytes and type codes. Work is counted in units (rows, planes); threads take
contiguous ranges of units, which never changes a result. plans/average.py and plans/maximum.py make plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, DType
from ..base.tensor import Tensor, is_nested
from ..contract.engine import Call
from ..kernels import record as codes
from ..kernels.runtime.task import ALIGNMENT
from .limits import Limits
from .ways import Choice, Record

# What kernels read and write in the caches, about; some take a fifth of that time.
BYTES_IN_A_NANOSECOND = 26

CODES = {
    FLOAT32: codes.FLOAT32,
    FLOAT64: codes.FLOAT64,
    FLOAT16: codes.FLOAT16,
    BFLOAT16: codes.BFLOAT16,
    INT32: codes.INT32,
    INT64: codes.INT64,
}


@dataclass(frozen=True)
class Plan:
    """One computation, ready to run on addresses."""

    call: Call
    kernel: str  # a name in poolgrad.kernels, or "" if there is nothing to do
    compute: str  # the dtype of all arithmetic: "float32" or "float64"
    record: Record
    tensors: tuple[str, ...]  # the parameters whose memory is read or written, in the kernel's order, outputs last
    units: int
    parts: int
    floats: int  # scratch elements of the compute dtype, per part
    integers: int  # scratch int64 elements, per part
    grain: int = 1  # units that are worked on together: a run in steps takes so many at once, or multiples
    rest: tuple[int, int] = (0, 0)  # bytes of the third tensor, from and to, that the kernel leaves, to become 0
    choice: Choice[Any] | None = None  # the way that was taken, among all; None if there was nothing to choose

    @cached_property
    def nested_outputs(self) -> bool:
        """Whether the strides of all outputs alone show that they do not overlap themselves."""
        return all(is_nested(self.call.tensor(p)) for p in self.call.operator.outputs)

    @cached_property
    def traffic(self) -> int:
        """Bytes that a run reads and writes, if it touches everything once."""
        tensors = [self.call.tensor(name) for name in self.tensors]
        return sum(tensor.dtype.nbytes(tensor.count) for tensor in tensors)

    @cached_property
    def part_bytes(self) -> int:
        wanted = self.floats * np.dtype(self.compute).itemsize + self.integers * 8
        return -(-wanted // ALIGNMENT) * ALIGNMENT

    @cached_property
    def scratch_bytes(self) -> int:
        """Bytes of scratch that a run needs, wherever in memory they begin."""
        return self.part_bytes * self.parts + ALIGNMENT - 1 if self.part_bytes else 0


def compute_dtype(storage: DType) -> str:
    """Halves are computed in float32. Integers are compared as they are, in lanes as wide as floats."""
    return FLOAT64.name if storage in (FLOAT64, INT64) else FLOAT32.name


def parts_for(threads: int, units: int, limits: Limits, time: float) -> int:
    """How many parts are worth a thread each; ``time`` is what all of it takes one thread, in nanoseconds."""
    return max(1, min(threads, units, int(time) // limits.time_of_part))


def time_of_traffic(*tensors: Tensor) -> float:
    """About how many nanoseconds a kernel takes one thread of which no more is known than what it reads and writes."""
    return sum(tensor.dtype.nbytes(tensor.count) for tensor in tensors) / BYTES_IN_A_NANOSECOND


def power_of_two(n: int) -> int:
    """The next power of two."""
    return 1 << (n - 1).bit_length()
