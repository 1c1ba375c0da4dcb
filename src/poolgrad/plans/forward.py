"""The plan of pooling itself: eight planes at a time, whatever their windows are."""

from __future__ import annotations

import math

import numpy as np

from ..base.tensor import as_planes, contiguous_strides
from ..base.windows import COUNT_ONE, COUNT_PADDED, COUNT_VALID, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels import record as codes
from ..kernels.record import LANES, RECORD
from . import plan as plans
from .average import MOVES, ROUNDINGS
from .plan import CODES, Plan, Record, compute_dtype, parts_for, power_of_two

# Columns of the input and of the result that are worked on at once, and rows of windows that are kept at most: with
# more of them each is made, added and forgotten.
CHUNK, TILE, RESULTS, MOST_ROWS_KEPT = 512, 1024, 256, 32


def plan_average(call: Call, threads: int) -> Plan:
    """Averages of the windows of one to three axes."""
    counting = COUNT_PADDED if call.value(Role.COUNT_INCLUDE_PAD) else COUNT_VALID
    divisor = (call.value(Role.DIVISOR) and call.number(Role.DIVISOR)) or 1
    axes = _axes(call, COUNT_ONE if call.value(Role.DIVISOR) else counting)
    record = np.zeros(1, RECORD)
    record["vectors"] = 1
    record["divisor"], record["rounding"] = divisor, ROUNDINGS[call.operator.rounding(call) or "kept"]
    return _planned(call, threads, "pool_average", axes, record)


def plan_maximum(call: Call, threads: int) -> Plan:
    """Maxima of the windows of one to three axes, and where they stand if there is an output for that."""
    axes, record = _axes(call, COUNT_ONE), np.zeros(1, RECORD)
    record["vectors"], record["divisor"] = 2, 1
    if Role.PLACES in call.operator.by_role:
        record["index_code"] = CODES[call.tensor(Role.PLACES).dtype]
    columns = axes[2]
    record["empty"] = columns.rule == FIXED and (columns.stop(0) <= 0 or columns.start(columns.out - 1) >= columns.size)
    kernel = "pool_max" if len(call.operator.outputs) > 1 else "pool_max_values"
    return _planned(call, threads, kernel, axes, record)


def _axes(call: Call, counting: int) -> tuple[Axis, ...]:
    windows = [w.axis(counting) for w in call.operator.windows(call)]
    return (*[whole(1)] * (3 - len(windows)), *windows)


def _planned(call: Call, threads: int, kernel: str, axes: tuple[Axis, ...], record: Record) -> Plan:
    x, outputs = call.operator.by_role[Role.INPUT], call.operator.outputs
    source, target, layout = call.tensor(x), call.tensor(Role.RESULT), layout_of(call)
    planes = [as_planes(call.tensor(p), layout) for p in (x, *outputs)]
    compute, moves = compute_dtype(target.dtype), MOVES[target.dtype]
    dilations = [w.dilation for w in call.operator.windows(call)]
    record["dilation"] = [*[1] * (3 - len(dilations)), *dilations]
    for name in ("rule", "size", "out", "kernel", "stride", "pad", "counting"):
        record[name] = [getattr(axis, name) for axis in axes]
    for name, of in zip(("grad_steps", "result_steps", "index_steps"), planes, strict=False):
        record[name] = of.steps
    batch, channels = planes[0].shape[:2]
    record["planes"], record["channels"], record["code"] = batch * channels, channels, CODES[target.dtype]
    record["itemsize"] = np.dtype(compute).itemsize
    exact = 2**53 if compute == "float64" else 2**24
    record["large_divisors"] = abs(int(record["divisor"][0])) * math.prod(a.longest_count for a in axes) > exact
    kept = record["rounding"] == codes.KEPT
    sizes = [call.tensor(p).dtype.itemsize for p in (x, *outputs)]
    groups = -(-batch * channels // LANES)
    if kept and channels >= LANES and all(of.steps[1] == size for of, size in zip(planes, sizes, strict=True)):
        record["pixel"], record["reading"], record["writing"] = LANES, moves, moves
        groups = batch * -(-channels // LANES)
    else:
        if kept and planes[0].has_neighbours(sizes[0]):
            record["reading"] = moves
        if planes[1].has_neighbours(sizes[1]):
            record["writing"] = moves
        record["dense"] = record["reading"] and planes[0].is_dense(sizes[0]) and axes[2].size <= CHUNK
        record["dense_results"] = (
            record["writing"]
            and axes[2].out <= TILE
            and all(of.is_dense(size) for of, size in zip(planes[1:], sizes[1:], strict=True))
        )
        # Several rows are moved as one, so an axis of one element has steps, too.
        if record["dense"]:
            record["grad_steps"][0, 2:] = contiguous_strides(planes[0].spatial, sizes[0])
        if record["dense_results"]:
            for name, of, size in zip(("result_steps", "index_steps"), planes[1:], sizes[1:], strict=False):
                record[name][0, 2:] = contiguous_strides(of.spatial, size)
    units = groups * axes[0].out * axes[1].out if target.count else 0
    parts = parts_for(threads, max(units, 1), source, target)
    floats, integers = _scratch(record, axes, min(plans.PART_BUDGET, plans.TOTAL_BUDGET // parts))
    names = (x.name, *(p.name for p in outputs))
    return Plan(call, kernel if units else "", compute, record, names, units, parts, floats, integers)


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
        return LANES * pixels + max(chunk, longer()) + 2 * (tile + LANES)

    while floats() * itemsize > budget and tile > LANES:
        tile = -(-tile // 2)
    if layers > 1 and kept:  # the next layer needs all rows again
        several, row_slots = row_slots, power_of_two(rows.size)
        if floats() * itemsize > budget:
            row_slots = several
    record["tile"], record["chunk"], record["batch"], record["longer"] = tile, chunk, kept, longer()
    record["dense_results"] = record["dense_results"] and tile == columns.out
    record["depth_slots"], record["row_slots"] = depth_slots, row_slots
    return floats(), 2 * tile + depth_slots * row_slots + max(kept, 2) + 4
