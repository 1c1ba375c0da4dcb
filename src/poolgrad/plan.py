"""Plans: what exactly a legal call computes, and the scratch memory that it will use.

A plan is made once, before any tensor memory is touched, and may run many times. Its ``record`` is all that a
kernel is told: sizes, windows, steps in bytes and type codes. Work is counted in units (rows for averages,
planes or groups of channels for maxima); threads take contiguous ranges of units, which never changes a result.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from . import threads
from .contract import Call
from .dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, DType
from .kernels import record as codes
from .kernels.record import LANES, MOST_DIRECT_TERMS, RECORD, ROOM, ROWS_IN_TABLE, WIDE_ROOM
from .tensor import Planes, Tensor, as_planes, is_nested
from .windows import FIXED, Axis

CODES = {
    FLOAT32: codes.FLOAT32,
    FLOAT64: codes.FLOAT64,
    FLOAT16: codes.FLOAT16,
    BFLOAT16: codes.BFLOAT16,
    INT32: codes.INT32,
    INT64: codes.INT64,
}
# What grad_output is rounded to before anything else ("computed in X").
ROUNDINGS = {
    "kept": codes.KEPT,
    "float16": codes.TO_FLOAT16,
    "hf32": codes.TO_HF32,
    "hf32 of Ascend 950": codes.TO_HF32_950,
}

# One part's scratch should stay in a core's second-level cache; all parts together stay well below 64 MB.
PART_BUDGET, TOTAL_BUDGET = 1 << 20, 32 << 20
MOST_PARTS = 64
WIDEST_TILE, NARROWEST_TILE = 4096, 64
MOST_WINDOWS_AT_ONCE = 4096
# Fixed windows: strides that constant shuffles can lay out, and the longest sums that fit scratch.
LARGEST_SHUFFLED_STRIDE, MOST_TERMS = 4, 4096
# Channels that are worked on together.
MOST_CHANNELS = 4096
# Outputs that no cache will hold are written past it.
STREAM_FROM = 32 << 20
ALIGNMENT = 64
# With less traffic than this per thread, handing work to another thread costs more than it saves.
BYTES_PER_PART = 1 << 19


@dataclass(frozen=True)
class Plan:
    """One computation, ready to run on addresses."""

    call: Call
    kernel: str  # a name in poolgrad.kernels, or "" if there is nothing to do
    compute: str  # the dtype of all arithmetic: "float32" or "float64"
    record: npt.NDArray[np.void]
    inputs: tuple[str, ...]  # the parameters whose memory is read, in the kernel's order
    output: str
    units: int
    parts: int
    floats: int  # scratch elements of the compute dtype, per part
    integers: int  # scratch int64 elements, per part

    @cached_property
    def nested_output(self) -> bool:
        """Whether the output's strides alone show that it does not overlap itself."""
        return is_nested(self.call.tensor(self.output))

    @cached_property
    def part_bytes(self) -> int:
        wanted = self.floats * np.dtype(self.compute).itemsize + self.integers * 8
        return -(-wanted // ALIGNMENT) * ALIGNMENT

    @cached_property
    def scratch_bytes(self) -> int:
        """Bytes of scratch that a run needs, wherever in memory they begin."""
        return self.part_bytes * self.parts + ALIGNMENT - 1 if self.part_bytes else 0


def plan_average(
    call: Call,
    *,
    grad: str,
    result: str,
    layout: str,
    axes: tuple[Axis, Axis, Axis],
    divisor: int = 1,
    rounding: str = "kept",
) -> Plan:
    """The average kernel over the windows of three axes (D, H, W); a plane without depth has one layer."""
    source, target = call.tensor(grad), call.tensor(result)
    compute = _compute_dtype(target.dtype)
    itemsize = np.dtype(compute).itemsize
    planes, gradients = as_planes(target, layout), as_planes(source, layout)
    record = _record(target.dtype, planes.shape[1], axes)
    record["grad_steps"], record["result_steps"] = gradients.steps, planes.steps
    record["divisor"], record["rounding"] = divisor, ROUNDINGS[rounding]
    # Beyond this integer the compute dtype can't hold every divisor.
    exact = 2**53 if compute == FLOAT64.name else 2**24
    record["wide"] = abs(divisor) * math.prod(axis.longest_count for axis in axes) > exact

    streams = _has_streams(axes[2])
    pixel = 1 if streams and axes[2].terms > MOST_DIRECT_TERMS else _pixel(gradients, planes, target.dtype)
    if pixel > 1:  # all channels of an image are one plane of pixels
        streams, record["channels"] = False, 1
    terms = axes[2].terms if streams else 0
    rows = target.count // (axes[2].size * pixel) if target.count else 0
    parts = _parts(rows, source, target)
    tile, depth_slots, row_slots = _tiling(axes, itemsize, parts, pixel)
    chunk = -(-tile // axes[2].stride) + 1 + ROOM if streams else min(axes[2].windows_over(tile), MOST_WINDOWS_AT_ONCE)
    longer = max(chunk + terms, pixel) + ROOM
    record["itemsize"], record["streams"], record["terms"] = itemsize, streams, terms
    record["ones"] = axes[2].phases_with_all_terms
    record["pixel"], record["row_step"] = pixel, target.dtype.itemsize if pixel > 1 else planes.steps[4]
    record["plain"] = target.dtype.name == compute and record["row_step"][0] == itemsize
    record["streaming"] = target.dtype.nbytes(target.count) >= STREAM_FROM
    record["tile"], record["chunk"], record["longer"] = tile, chunk, longer
    record["depth_slots"], record["row_slots"] = depth_slots, row_slots
    slots = depth_slots * row_slots
    return Plan(
        call=call,
        kernel="average" if rows else "",
        compute=compute,
        record=record,
        inputs=(grad,),
        output=result,
        units=rows,
        parts=parts,
        floats=(slots + 2) * (tile * pixel + WIDE_ROOM) + 3 * longer + 2 * chunk if rows else 0,
        integers=3 * longer + slots + 2 + 2 * min(axes[1].size, ROWS_IN_TABLE) if rows else 0,
    )


def _record(dtype: DType, channels: int, axes: tuple[Axis, ...]) -> npt.NDArray[np.void]:
    record = np.zeros(1, RECORD)
    for field in dataclasses.fields(Axis):
        record[field.name] = [getattr(axis, field.name) for axis in axes]
    record["channels"], record["code"] = channels, CODES[dtype]
    return record


def _compute_dtype(storage: DType) -> str:
    return FLOAT64.name if storage is FLOAT64 else FLOAT32.name


def _parts(units: int, *tensors: Tensor) -> int:
    traffic = sum(tensor.dtype.nbytes(tensor.count) for tensor in tensors)
    # Beyond MOST_PARTS the scratch of all threads together would pass its bound.
    return max(1, min(threads.get_num_threads(), units, traffic // BYTES_PER_PART, MOST_PARTS))


def _pixel(gradients: Planes, planes: Planes, dtype: DType) -> int:
    """How many channels to work on together: all, if they fill whole vectors side by side and rows of pixels touch.

    Not for long sums along W: these are put together by powers of two where columns are single numbers, and only
    there, and the layout must not change a bit.
    """
    channels = planes.shape[1]
    side_by_side = gradients.steps[1] == planes.steps[1] == dtype.itemsize
    dense = planes.shape[4] == 1 or planes.steps[4] == channels * dtype.itemsize
    fits = channels > 1 and channels % LANES == 0 and channels <= MOST_CHANNELS
    return channels if fits and side_by_side and dense else 1


def _tiling(axes: tuple[Axis, Axis, Axis], itemsize: int, parts: int, pixel: int) -> tuple[int, int, int]:
    """Columns per tile, and how many expanded rows to keep: as many as one element's windows, if they fit."""
    depth, rows, columns = axes
    budget = min(PART_BUDGET, TOTAL_BUDGET // parts)
    # Powers of two, so that a kernel finds a slot without a division.
    depth_slots, row_slots = _power_of_two(depth.longest_run), _power_of_two(rows.longest_run)
    tile = min(columns.size, max(WIDEST_TILE // pixel, 1))

    def fits() -> bool:
        return depth_slots * row_slots * (tile * pixel + WIDE_ROOM) * itemsize <= budget

    while not fits() and tile > max(NARROWEST_TILE // pixel, 1):
        tile //= 2
    # Rows that do not fit are expanded again whenever they are needed: slower, never wrong.
    while not fits() and depth_slots * row_slots > 1:
        depth_slots, row_slots = (depth_slots // 2, row_slots) if depth_slots > 1 else (1, row_slots // 2)
    return tile, depth_slots, row_slots


def _power_of_two(n: int) -> int:
    """The next power of two."""
    return 1 << (n - 1).bit_length()


def _has_streams(axis: Axis) -> bool:
    """Whether to sum all columns' windows at once: for fixed windows of small strides."""
    return axis.rule == FIXED and axis.stride <= LARGEST_SHUFFLED_STRIDE and axis.terms <= MOST_TERMS
