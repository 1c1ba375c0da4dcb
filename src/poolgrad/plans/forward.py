"""The plan of pooling itself: eight planes at a time, whatever their windows are."""

from __future__ import annotations

import math

import numpy as np

from ..base.dtypes import FLOAT64
from ..base.tensor import Planes, as_planes, contiguous_strides
from ..base.windows import COUNT_ONE, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import record as codes
from ..kernels.record import INTEGER_MAXIMA, LANES, READ_FLOATS, RECORD
from . import plan as plans
from .average import MOVES, ROUNDINGS, Axes, axes_of, divisor_of, has_large_divisors
from .plan import CODES, Plan, Record, compute_dtype, parts_for, power_of_two

# Places of larger planes need 64 bits, as float64 has them.
LARGEST_PLANE = 2**31 - 1
# Columns of the input and of the result that are worked on at once, and rows of windows that are kept at most: with
# more of them each is made, added and forgotten.
CHUNK, TILE, RESULTS, MOST_ROWS_KEPT = 512, 1024, 256, 32
# Kernels for channels that lie side by side, by those for anything.
BY_PIXELS = {
    kernel: f"{kernel}_pixels" for kernel in ("pool_average", "pool_max", "pool_max_values", *INTEGER_MAXIMA.values())
}

# Processors foresee pixels of few channels. Longer ones, of inputs that no cache of a core holds, are asked for so many
# bytes ahead: windows of 2 over 256 channels take 0.75 of the time.
ASK_FROM, LONG_PIXEL, SOON = 4 << 20, 512, 4096
# Windows along W (kernel, stride, padding) that are summed without scratch.
USUAL = {(3, 1, 1): codes.K3S1, (2, 2, 0): codes.K2S2, (3, 2, 0): codes.K3S2, (3, 2, 1): codes.K3S2_PADDED}
# Rows of the input from this width on are averaged one plane after the other, with neighbours along W in vectors.
# Measured against eight planes at a time: as fast on 40 columns, 0.7 to 0.9 of the time on 56, half of it on 112, and
# longer on 28. With four planes 0.8 to 1.0 of it on 28 columns and 0.3 to 0.4 on 112; one plane 0.1 to 0.2 of it there.
NARROWEST_ALONG_ROWS, NARROWEST_OF_FEW_PLANES, FEW_PLANES = 48, 24, LANES - 1
# Their tiles, and the strides, kernels along W and rows of sums that they take.
TILE_ALONG_ROWS, LARGEST_STRIDE_ALONG_ROWS, LONGEST_KERNEL_ALONG_ROWS, MOST_ROWS_ALONG = 4096, 2, 1024, 64


def plan_maximum(call: Call, threads: int) -> Plan:
    """Maxima of the windows of one to three axes, and where they stand."""
    windows, record = call.operator.windows(call), np.zeros(1, RECORD)
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *(w.axis(COUNT_ONE) for w in windows))
    places = call.operator.by_role.get(Role.PLACES)
    record["vectors"], record["index_code"] = 2 if places else 1, CODES[call.tensor(places).dtype] if places else 0
    record["dilation"] = [*[1] * (3 - len(windows)), *(w.dilation for w in windows)]
    dtype, axes = call.tensor(Role.RESULT).dtype, (depth, rows, columns)
    if places is None:
        kernel = INTEGER_MAXIMA.get(dtype.name, "pool_max_values")
        return _plan(call, threads, kernel, compute_dtype(dtype), record, axes, in_vectors=True)
    wide = depth.size * rows.size * columns.size > LARGEST_PLANE
    compute = FLOAT64.name if wide else compute_dtype(dtype)
    return _plan(call, threads, "pool_max", compute, record, axes, not wide)


def plan_average(call: Call, threads: int) -> Plan:
    """Averages of the windows of one to three axes."""
    record, axes, divisor = np.zeros(1, RECORD), axes_of(call), divisor_of(call)
    rounding, compute = call.operator.rounding(call) or "kept", compute_dtype(call.tensor(Role.RESULT).dtype)
    record["vectors"], record["dilation"] = 1, 1
    record["divisor"], record["rounding"] = divisor, ROUNDINGS[rounding]
    record["large_divisors"] = has_large_divisors(divisor, axes, compute)
    return _plan(call, threads, "pool_average", compute, record, axes, rounding == "kept")


def _plan(call: Call, threads: int, kernel: str, compute: str, record: Record, axes: Axes, in_vectors: bool) -> Plan:
    """What all forward passes share. Rows move as vectors, unless their numbers have to be changed on the way."""
    x, outputs = call.operator.by_role[Role.INPUT], call.operator.outputs
    depth, rows, columns = axes
    source, target, layout = call.tensor(x), call.tensor(Role.RESULT), layout_of(call)
    names = (x.name, *(p.name for p in outputs))
    if not source.count:  # outputs may have any shape then
        return Plan(call, "", compute, record, names, 0, 1, 0, 0)
    tensors = [source, *(call.tensor(p) for p in outputs)]
    planes, sizes = [as_planes(tensor, layout) for tensor in tensors], [tensor.dtype.itemsize for tensor in tensors]
    record["code"], record["itemsize"] = CODES.get(target.dtype, 0), np.dtype(compute).itemsize
    record["empty"] = columns.rule == FIXED and (columns.stop(0) <= 0 or columns.start(columns.out - 1) >= columns.size)
    for name in ("rule", "size", "out", "kernel", "stride", "pad", "counting"):
        record[name] = [getattr(axis, name) for axis in axes]
    for name, of in zip(("grad_steps", "result_steps", "index_steps"), planes, strict=False):
        record[name] = of.steps
    batch, channels = planes[0].shape[:2]
    record["planes"], record["channels"] = batch * channels, channels
    groups, moves = -(-batch * channels // LANES), MOVES.get(target.dtype, READ_FLOATS)
    side_by_side = in_vectors and all(of.steps[1] == size for of, size in zip(planes, sizes, strict=True))
    if side_by_side and channels >= LANES:
        record["pixel"], record["reading"], record["writing"] = LANES, moves, moves
        groups = batch * -(-channels // LANES)
    elif in_vectors:  # else element by element
        _move_rows(record, planes, sizes, moves)
    by_pixels = side_by_side and channels > 1 and kernel in BY_PIXELS and not record["large_divisors"]
    if by_pixels and not any(w.has_empty for w in call.operator.windows(call)):
        kernel, groups = BY_PIXELS[kernel], batch
        record["reading"] = record["writing"] = moves
        dense = all(of.steps[4] == channels * size for of, size in zip(planes, sizes, strict=True))
        record["side_by_side"] = dense and columns.stride == 1 and record["vectors"] == 1
        if source.dtype.nbytes(source.count) >= ASK_FROM and planes[0].steps[4] >= LONG_PIXEL:
            record["soon"] = SOON
    elif kernel == "pool_average" and all(a.is_one_window for a in axes) and planes[0].is_dense(sizes[0]):
        few = record["planes"] <= FEW_PLANES and columns.size >= LANES
        kernel = "pool_average_few_whole_planes" if few else "pool_average_whole_planes"
        groups = batch * channels if few else groups
    elif kernel == "pool_average" and _goes_along_rows(record, axes):
        kernel, groups = "pool_average_along_rows", batch * channels
    units = groups * depth.out * rows.out if target.count else 0
    parts = parts_for(threads, max(units, 1), *tensors)
    floats = integers = 0
    if kernel == "pool_average_along_rows":
        floats, integers = _scratch_along_rows(record, axes, target.dtype.nbytes(target.count) >= plans.STREAM_FROM)
    elif "whole_planes" in kernel:
        floats = _set_whole_planes(record, planes, sizes)
    elif kernel not in BY_PIXELS.values():
        floats, integers = _scratch(record, axes, min(plans.PART_BUDGET, plans.TOTAL_BUDGET // parts))
    return Plan(call, kernel if units else "", compute, record, names, units, parts, floats, integers)


def _move_rows(record: Record, planes: list[Planes], sizes: list[int], moves: int) -> None:
    """How rows of planes go in and out: as runs of memory, several at a time, or element by element."""
    (source, *results), (size, *result_sizes) = planes, sizes
    if source.has_neighbours(size):
        record["reading"] = moves
    if results[0].has_neighbours(result_sizes[0]):
        record["writing"] = moves
    record["dense"] = source.is_dense(size) and source.shape[4] <= CHUNK
    record["dense_results"] = all(of.is_dense(size) for of, size in zip(results, result_sizes, strict=True))
    # Several rows are moved as one, so an axis of one element has steps, too.
    if record["dense"]:
        record["grad_steps"][0, 2:] = contiguous_strides(source.spatial, size)
    if record["dense_results"]:
        for name, of, size in zip(("result_steps", "index_steps"), results, result_sizes, strict=False):
            record[name][0, 2:] = contiguous_strides(of.spatial, size)


def _longest_window(axis: Axis, dilation: int) -> int:
    """How many elements a window holds at most."""
    if axis.rule == FIXED:
        return min(-(-axis.kernel // dilation), axis.size)
    return min(axis.size // max(axis.out, 1) + 2, axis.size)


def _scratch(record: Record, axes: tuple[Axis, ...], budget: int) -> tuple[int, int]:
    """Tiles and slots, and the floats and integers that they take."""
    depth, rows, columns = axes
    layers, count = (_longest_window(a, int(record["dilation"][0][i])) for i, a in enumerate(axes[:2]))
    tile, chunk = min(columns.out, TILE), min(columns.size, CHUNK)
    if record["dense"]:
        chunk = max(chunk, min(CHUNK // columns.size, depth.size * rows.size) * columns.size)
    kept = layers * count if layers * count <= MOST_ROWS_KEPT else 0
    # A slot is found by the last bits of its row: as many follow each other as windows reach, from first to last.
    reach = [axis.kernel if axis.rule == FIXED else n for axis, n in zip(axes[:2], (layers, count), strict=True)]
    depth_slots, row_slots = (power_of_two(max(n, 1)) if kept else 1 for n in reach)
    itemsize, vectors = int(record["itemsize"][0]), int(record["vectors"][0])

    def longer() -> int:
        """Pixels of results that are given out at once."""
        whole = record["dense_results"] and tile == columns.out
        return tile * max(RESULTS // tile, 1) if whole else tile

    def floats() -> int:
        pixels = chunk + vectors * (longer() + (1 + depth_slots * row_slots) * tile)
        return LANES * pixels + max(chunk, longer())

    while floats() * itemsize > budget and tile > LANES:
        tile = -(-tile // 2)
    if floats() * itemsize > budget:  # windows whose rows lie far apart
        kept, depth_slots, row_slots = 0, 1, 1
    if layers > 1 and kept:  # the next layer needs all rows again
        several, row_slots = row_slots, power_of_two(rows.size)
        if floats() * itemsize > budget:
            row_slots = several
    record["tile"], record["chunk"], record["batch"], record["longer"] = tile, chunk, kept, longer()
    record["dense_results"] = record["dense_results"] and tile == columns.out
    record["depth_slots"], record["row_slots"] = depth_slots, row_slots
    return floats(), 3 * tile + depth_slots * row_slots + max(kept, 2) + 3


def _set_whole_planes(record: Record, planes: list[Planes], sizes: list[int]) -> int:
    """One window over each plane, which is a run of memory: how they move, and the floats that are needed."""
    (source, result), (size, result_size) = planes, sizes
    record["grad_steps"][0, 2:] = contiguous_strides(source.spatial, size)
    # One result of each plane: those of all planes follow each other, or each is written by itself.
    record["dense_results"] = result.is_stack() and result.steps[1] == result_size
    record["result_steps"][0, 4] = result_size
    record["chunk"], record["batch"] = CHUNK, max(RESULTS // LANES, 1)
    return (CHUNK + LANES) * (LANES + 1) + max(RESULTS, LANES)


def _slots_along_rows(axes: Axes) -> tuple[int, int]:
    """Slots for sums along W: as many rows follow each other as windows reach, from first to last."""
    depth, rows = (power_of_two(max(_longest_window(axis, 1), 1)) for axis in axes[:2])
    return depth, rows


def _goes_along_rows(record: Record, axes: Axes) -> bool:
    """Whether rows of one plane are worth vectors of their own."""
    columns = axes[2]
    if columns.rule != FIXED or record["large_divisors"] or columns.kernel > LONGEST_KERNEL_ALONG_ROWS:
        return False
    if columns.stride > LARGEST_STRIDE_ALONG_ROWS or math.prod(_slots_along_rows(axes)) > MOST_ROWS_ALONG:
        return False
    if record["planes"] <= FEW_PLANES:
        return columns.size >= NARROWEST_OF_FEW_PLANES
    # Slots forget the rows of a layer before the next window needs them.
    return columns.size >= NARROWEST_ALONG_ROWS and _longest_window(axes[0], 1) == 1


def _scratch_along_rows(record: Record, axes: Axes, streaming: bool) -> tuple[int, int]:
    """Tiles and slots, and the floats and integers that they take."""
    columns = axes[2]
    tile = min(columns.out, TILE_ALONG_ROWS)
    depth_slots, row_slots = _slots_along_rows(axes)
    # Sums are made in whole vectors, over as many neighbours as windows hold.
    pitch = -(-tile // LANES) * LANES + LANES
    wide = -(-(pitch + columns.kernel // columns.stride + 1) // LANES) * LANES + LANES
    longer = max(tile * columns.stride + columns.kernel, pitch) + LANES
    record["tile"], record["pitch"], record["wide"], record["longer"] = tile, pitch, wide, longer
    record["depth_slots"], record["row_slots"] = depth_slots, row_slots
    fits = columns.out == (columns.size + 2 * columns.pad - columns.kernel) // columns.stride + 1
    if fits and tile == columns.out >= 2 * LANES and record["reading"]:
        record["usual"] = USUAL.get((columns.kernel, columns.stride, columns.pad), 0)
    record["streaming"] = streaming
    floats = columns.stride * wide + longer + (4 + depth_slots * row_slots) * pitch
    return floats, columns.kernel + depth_slots * row_slots + max(row_slots, 2)
