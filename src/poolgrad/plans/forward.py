"""The plan of pooling itself: by vectors of channels, of planes, or of neighbours in a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..base.dtypes import FLOAT16, FLOAT64
from ..base.tensor import Planes, Tensor, as_planes, contiguous_strides
from ..base.windows import COUNT_ONE, FIXED, Axis, whole
from ..contract.engine import Call
from ..contract.parameters import Role
from ..contract.pooling import layout_of
from ..kernels.record import (
    ALONG_ROWS,
    INTEGER_MAXIMA,
    LANES,
    LINE,
    PLANES_IN_LANES,
    READ_FLOATS,
    RECORD,
    USUAL_WINDOWS,
    WHOLE_PLANES,
)
from . import forward_times
from .average import MOVES, ROUNDINGS, Axes, axes_of, divisor_of, has_large_divisors
from .limits import Limits, machine_limits
from .plan import CODES, Plan, compute_dtype, parts_for, power_of_two, time_of_traffic
from .ways import Booking, Need, Record, Way, choose

# Columns of the rows that eight windows hold at most.
LONGEST_ALONG_ROWS = 2**14
# Columns of the widest rows that are pooled without tiles. The usual windows take 0.3 to 0.9 of the time of eight
# planes at a time; one plane takes a tenth.
WIDEST_USUAL = 2**14
# Places of a row that are worth to be written past the caches with a stride of 1: 56 and 64 are not, 112 are.
LONG_STREAM = 96
# Windows that share rows keep so many times as many of them as others.
ROWS_SHARED = 16
# Rows of a plane that is pooled as a whole: what each of them gives is kept in scratch.
MOST_ROWS_OF_A_PLANE = 2**14
# From so many pixels in a row of a window on, and so many numbers, whole rows of channels are read one after the other,
# in 0.5 to 1.06 of the time; with 4 pixels it takes 0.85 to 1.4 times as long. Fewer channels fill no vectors.
MANY_NEIGHBOURS, LONG_ROW = 6, 256
FEWEST_FLOATS_IN_ROWS, FEWEST_HALVES_IN_ROWS = LANES + 1, 4 * LANES + 1
# More channels are worked on in pieces, so that their sums stay in the caches and threads share a row of windows. A
# piece is not smaller than that.
CHANNELS_AT_ONCE, FEWEST_OF_A_PIECE = 4096, 64


@dataclass(frozen=True)
class Pooling:
    """A forward pass, as its ways look at it: the input first, then the results."""

    call: Call
    kernel: str  # the one for anything; others are called after it
    compute: str
    axes: Axes
    tensors: tuple[Tensor, ...]
    planes: tuple[Planes, ...]
    as_they_are: bool  # numbers need not be changed on the way, so rows may move as vectors
    large_divisors: bool
    threads: int
    limits: Limits

    @cached_property
    def bytes_in_all(self) -> int:
        return sum(tensor.dtype.nbytes(tensor.count) for tensor in self.tensors)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor.dtype.itemsize for tensor in self.tensors)

    @cached_property
    def number_of_planes(self) -> int:
        batch, channels = self.planes[0].shape[:2]
        return batch * channels

    @property
    def bytes_of_eight_planes(self) -> int:
        """Of the input."""
        return LANES * math.prod(axis.size for axis in self.axes) * self.sizes[0]

    @cached_property
    def planes_in_turn(self) -> int:
        """How many planes of the input are one run of memory, if results follow each other in equal steps, too: all,
        or else those of an image."""
        source, size = self.planes[0], self.sizes[0]
        follow = source.step_of_planes == size * math.prod(source.spatial)
        rows = all(of.is_row_of_planes for of in self.planes)
        return self.number_of_planes if follow and rows else source.shape[1]

    @property
    def averages(self) -> bool:
        return self.kernel == "pool_average"

    @property
    def has_pixels(self) -> bool:
        """Whether eight channels are neighbours in memory."""
        return self.channels_side_by_side and self.planes[0].shape[1] >= LANES

    @property
    def has_runs(self) -> bool:
        """Whether rows of the input are runs of memory, as they are needed."""
        return self.as_they_are and self.planes[0].has_neighbours(self.sizes[0])

    @property
    def groups(self) -> int:
        """Of eight planes, or of eight channels."""
        batch, channels = self.planes[0].shape[:2]
        return batch * -(-channels // LANES) if self.has_pixels else -(-batch * channels // LANES)

    @property
    def rows_of_windows(self) -> int:
        """Of a plane."""
        return self.axes[0].out * self.axes[1].out

    @cached_property
    def channels_side_by_side(self) -> bool:
        """Whether the channels of a pixel are neighbours in memory, in all tensors."""
        near = all(of.shape[1] == 1 or of.steps[1] == size for of, size in zip(self.planes, self.sizes, strict=True))
        return self.as_they_are and near

    @cached_property
    def has_empty_windows(self) -> bool:
        return any(w.has_empty for w in self.call.windows)

    @property
    def moves(self) -> int:
        return MOVES.get(self.tensors[1].dtype, READ_FLOATS)

    @property
    def shares_rows(self) -> bool:
        """Whether rows that several windows hold are kept from one window to the next."""
        held = math.prod(_longest_window(axis, 1) for axis in self.axes[:2])
        return held <= ROWS_SHARED * self.limits.rows_kept

    @cached_property
    def quickest(self) -> str:
        """The way that takes the least time, by estimate."""
        legal = [way for way in WAYS if way.name in TIMES and not way.lacks(self)]
        return min(legal, key=lambda way: TIMES[way.name](self)).name

    def parts(self, units: int, way: str) -> int:
        return parts_for(self.threads, units, self.limits, self.time_alone(way)) if self.threads > 1 else 1

    def time_alone(self, way: str) -> float:
        """What a way takes on one thread, in nanoseconds, by estimate."""
        return TIMES[way](replace(self, threads=1)) if way in TIMES else time_of_traffic(*self.tensors)

    def budget(self, units: int) -> int:
        """Bytes of scratch that each part may have of a kernel that is split into so many units at most."""
        return self.limits.budget(max(1, min(self.threads, units)))


def plan_maximum(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """Maxima of the windows of one to three axes, and where they stand."""
    windows, record, limits = call.windows, np.zeros(1, RECORD), limits or machine_limits()
    depth, rows, columns = (*[whole(1)] * (3 - len(windows)), *(w.axis(COUNT_ONE) for w in windows))
    places = call.operator.by_role.get(Role.PLACES)
    record["vectors"], record["index_code"] = 2 if places else 1, CODES[call.tensor(places).dtype] if places else 0
    record["dilation"] = [*[1] * (3 - len(windows)), *(w.dilation for w in windows)]
    dtype, axes = call.tensor(Role.RESULT).dtype, (depth, rows, columns)
    kernel, compute = INTEGER_MAXIMA.get(dtype.name, "pool_max_values"), compute_dtype(dtype)
    as_they_are = True
    if places is not None:
        as_they_are = depth.size * rows.size * columns.size <= limits.largest_plane
        kernel, compute = "pool_max", compute if as_they_are else FLOAT64.name
    return _plan(_pooling(call, threads, limits, kernel, compute, axes, as_they_are), record, way)


def plan_average(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """Averages of the windows of one to three axes."""
    record, axes, divisor = np.zeros(1, RECORD), axes_of(call), divisor_of(call)
    rounding, compute = call.operator.rounding(call) or "kept", compute_dtype(call.tensor(Role.RESULT).dtype)
    large = has_large_divisors(divisor, axes, compute)
    record["vectors"], record["dilation"] = 1, 1
    record["divisor"], record["rounding"], record["large_divisors"] = divisor, ROUNDINGS[rounding], large
    pooling = _pooling(
        call, threads, limits or machine_limits(), "pool_average", compute, axes, rounding == "kept", large
    )
    return _plan(pooling, record, way)


def _pooling(
    call: Call, threads: int, limits: Limits, kernel: str, compute: str, axes: Axes, kept: bool, large: bool = False
) -> Pooling:
    parameters = (call.operator.by_role[Role.INPUT], *call.operator.outputs)
    tensors = tuple(call.tensor(p) for p in parameters)
    planes = tuple(as_planes(t, layout_of(call)) for t in tensors) if tensors[0].count else ()
    return Pooling(call, kernel, compute, axes, tensors, planes, kept, large, threads, limits)


def _plan(pooling: Pooling, record: Record, way: str) -> Plan:
    call, compute = pooling.call, pooling.compute
    names = (call.operator.by_role[Role.INPUT].name, *(p.name for p in call.operator.outputs))
    source, target = pooling.tensors[:2]
    if not (source.count and target.count):  # without an input, outputs may have any shape
        return Plan(call, "", compute, record, names, 0, 1, 0, 0)
    _describe(pooling, record)
    choice = choose(WAYS, pooling, way)
    kernel, units, floats, integers, grain = choice.taken.book(pooling, record)
    parts = pooling.parts(units, choice.taken.name)
    return Plan(call, kernel, compute, record, names, units, parts, floats, integers, grain, choice=choice)


def _describe(pooling: Pooling, record: Record) -> None:
    """What all kernels are told."""
    columns, target = pooling.axes[2], pooling.tensors[1]
    record["code"], record["itemsize"] = CODES.get(target.dtype, 0), np.dtype(pooling.compute).itemsize
    record["empty"] = columns.rule == FIXED and (columns.stop(0) <= 0 or columns.start(columns.out - 1) >= columns.size)
    for name in ("rule", "size", "out", "kernel", "stride", "pad", "counting"):
        record[name] = [getattr(axis, name) for axis in pooling.axes]
    for name, of in zip(("grad_steps", "result_steps", "index_steps"), pooling.planes, strict=False):
        record[name] = of.steps
    record["planes"], record["channels"] = pooling.number_of_planes, pooling.planes[0].shape[1]


def _move_pixels(record: Record, pooling: Pooling) -> None:
    """Channels that lie side by side go in and out as vectors."""
    record["pixel"], record["reading"], record["writing"] = LANES, pooling.moves, pooling.moves
    record["stored"] = pooling.sizes[0]


def _book_channels_last(pooling: Pooling, record: Record) -> Booking:
    """All channels of a pixel together."""
    _move_pixels(record, pooling)
    source, (batch, channels), limits = pooling.tensors[0], pooling.planes[0].shape[:2], pooling.limits
    dense = all(of.steps[4] == channels * size for of, size in zip(pooling.planes, pooling.sizes, strict=True))
    record["side_by_side"] = dense and pooling.axes[2].stride == 1 and record["vectors"] == 1
    record["streaming"] = record["vectors"] == 2 and _writes_lines(pooling)
    large = source.dtype.nbytes(source.count) >= 4 * limits.second_cache
    held = _held_by_windows(pooling, record["dilation"][0])
    if large and held > 1 and pooling.planes[0].steps[4] >= limits.long_pixel:
        record["soon"] = _ahead_of_pixels(pooling, held)
    return Booking(f"{pooling.kernel}_pixels", batch * pooling.rows_of_windows)


def _book_rows_of_channels(pooling: Pooling, record: Record) -> Booking:
    """All channels of a row of a window together: their sums, and those of a layer."""
    _move_pixels(record, pooling)
    batch, channels = pooling.planes[0].shape[:2]
    rows = batch * pooling.rows_of_windows
    wanted = max(-(-channels // CHANNELS_AT_ONCE), -(-pooling.threads // rows))
    record["pieces"] = pieces = max(min(wanted, channels // FEWEST_OF_A_PIECE), 1)
    record["soon"] = pooling.limits.channels_ahead
    return Booking("pool_average_pixel_rows", rows * pieces, 2 * (-(-channels // pieces) + 2 * LANES))


def _writes_lines(pooling: Pooling) -> bool:
    """Whether results pass the caches, and each of their pixels fills cache lines. With windows of 2 over 128 channels
    stores past the caches take 0.8 of the time."""
    results, channels = pooling.tensors[1:], pooling.planes[0].shape[1]
    pixels = [channels * t.dtype.itemsize for t in results]
    whole = all(n % LINE == 0 for n in (*pixels, *(of.steps[4] for of in pooling.planes[1:])))
    return whole and sum(t.dtype.nbytes(t.count) for t in results) >= pooling.limits.stream_from


def _held_by_windows(pooling: Pooling, dilation: Sequence[int]) -> int:
    """Pixels that a window holds at most. Of windows of one pixel memory is read from one end to the other."""
    return math.prod(_longest_window(axis, int(by)) for axis, by in zip(pooling.axes, dilation, strict=True))


def _ahead_of_pixels(pooling: Pooling, held: int) -> int:
    """How many bytes ahead channels are asked for: the next ones of a window's pixels, or those of pixels to come."""
    limits = pooling.limits
    if pooling.planes[0].steps[4] < limits.ahead and held < limits.many_pixels:
        return limits.ahead
    return limits.channels_ahead


def _book_lanes(pooling: Pooling, record: Record) -> Booking:
    """Eight planes at a time, or eight channels of them."""
    move = _move_pixels if pooling.has_pixels else _move_rows
    move(record, pooling)
    units = pooling.groups * pooling.rows_of_windows
    floats, integers = _scratch(record, pooling, pooling.budget(units))
    return Booking(pooling.kernel, units, floats, integers)


def _move_rows(record: Record, pooling: Pooling) -> None:
    """How rows of planes go in and out: as runs of memory, several at a time, or element by element. If their numbers
    have to be changed on the way, they do the latter."""
    if not pooling.as_they_are:
        return
    (source, *results), (size, *result_sizes), moves = pooling.planes, pooling.sizes, pooling.moves
    if source.has_neighbours(size):
        record["reading"] = moves
    if results[0].has_neighbours(result_sizes[0]):
        record["writing"] = moves
    record["dense"] = source.is_dense(size) and source.shape[4] <= pooling.limits.chunk
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


def _held_by(columns: Axis, windows: int) -> int:
    """Numbers of a row of the input, and of the padding around it, that so many windows hold."""
    if columns.rule == FIXED:
        return (windows - 1) * columns.stride + columns.kernel
    return min(windows * columns.size // columns.out + 2, columns.size)


def _scratch(record: Record, pooling: Pooling, budget: int, windows: int = 1) -> tuple[int, int]:
    """Tiles and slots, and the floats and integers that they take, if so many windows of a row are in a pixel."""
    axes, limits = pooling.axes, pooling.limits
    depth, rows, columns = axes
    layers, count = (_longest_window(a, int(record["dilation"][0][i])) for i, a in enumerate(axes[:2]))
    tile, staged = min(-(-columns.out // windows), limits.tile), min(columns.size, limits.chunk)
    if record["dense"]:
        at_once, all_rows = limits.chunk // columns.size, depth.size * rows.size
        if layers > 1 and layers * rows.size > at_once:  # each layer of a window in turn, as many rows as it needs next
            wanted = max(rows.size // rows.out, -(-limits.chunk_of_layers // columns.size))
            at_once = min(at_once, wanted)
        staged = max(staged, min(at_once, all_rows) * columns.size)
    overlap = any(axis.rule == FIXED and axis.stride < axis.kernel for axis in axes[:2])
    most = (ROWS_SHARED if overlap else 1) * limits.rows_kept
    kept = layers * count if layers * count <= most else 0
    # A slot is found by the last bits of its row: as many follow each other as windows reach, from first to last.
    reach = [axis.kernel if axis.rule == FIXED else n for axis, n in zip(axes[:2], (layers, count), strict=True)]
    depth_slots, row_slots = (power_of_two(max(n, 1)) if kept else 1 for n in reach)
    itemsize, vectors = int(record["itemsize"][0]), int(record["vectors"][0])

    def longer() -> int:
        """Pixels of results that are given out at once."""
        whole = record["dense_results"] and tile == columns.out
        return tile * max(limits.results // tile, 1) if whole else tile

    def chunk() -> int:
        """Pixels of the input, with room for what is read behind them and four tables of the tile."""
        return staged if windows == 1 else -(-_held_by(columns, windows * tile) // LANES) + 1

    def floats() -> int:
        pixels = chunk() + vectors * (longer() + (1 + depth_slots * row_slots) * tile)
        # Of a few pixels a whole square is read, turned and put down.
        room = (1 + vectors) * LANES * LANES
        return LANES * pixels + max(chunk(), longer()) + room + (4 * LANES * tile if windows > 1 else 0)

    while floats() * itemsize > budget and tile > LANES // windows:
        tile = -(-tile // 2)
    if floats() * itemsize > budget:  # windows whose rows lie far apart
        kept, depth_slots, row_slots = 0, 1, 1
    if layers > 1 and kept:  # the next layer needs all rows again
        several, row_slots = row_slots, power_of_two(rows.size)
        if floats() * itemsize > budget:
            row_slots = several
    record["tile"], record["chunk"], record["batch"], record["longer"] = tile, chunk(), kept, longer()
    record["dense_results"] = record["dense_results"] and tile == columns.out
    record["depth_slots"], record["row_slots"] = depth_slots, row_slots
    return floats(), 3 * tile * windows + depth_slots * row_slots + max(kept, 2) + 3


def _book_whole_planes(pooling: Pooling, record: Record) -> Booking:
    """Planes that are pooled at once, and tables of what their rows gave. Of rows shorter than four numbers a group of
    sixteen is read also where there are fewer."""
    _move_rows(record, pooling)
    depth, rows, columns, limits = *(axis.size for axis in pooling.axes), pooling.limits
    some, room = max(limits.rows_of_planes // (depth * rows), 1), LANES * LANES
    record["stored"], record["batch"], record["channels"] = pooling.sizes[0], some, pooling.planes_in_turn
    for name, of in zip(("grad_steps", "result_steps", "index_steps"), pooling.planes, strict=False):
        record[name][0, 1] = of.step_of_planes
    far = 3 * pooling.bytes_in_all >= 2 * limits.near_bytes
    sixteen = 2 * LANES * columns * pooling.sizes[0]
    record["soon"] = max(limits.ahead_of_memory if far else limits.ahead_of_caches, sixteen)
    record["pitch"] = pitch = some * depth * rows + room
    staged = some * depth * rows * columns + room if columns < LANES // 2 else 0
    named = f"{pooling.kernel}_whole_planes_{columns}"
    kernel = named if named in WHOLE_PLANES else f"{pooling.kernel}_whole_planes_0"
    return Booking(kernel, pooling.number_of_planes, 4 * pitch + staged)


def _fit_lanes(pooling: Pooling) -> bool:
    """Whether planes are rows that some kernel knows, and four numbers are never looked for outside a plane."""
    depth, rows, columns = (axis.size for axis in pooling.axes)
    kernel = f"{pooling.kernel}_planes_in_lanes_{columns}"
    return kernel in PLANES_IN_LANES and (columns >= LANES // 2 or depth * rows >= LANES // 2)


def _book_planes_in_lanes(pooling: Pooling, record: Record) -> Booking:
    _book_whole_planes(pooling, record)
    record["batch"] = pooling.limits.results
    # What is asked for sooner would leave the cache again: these eight planes are worked on together.
    record["soon"] = max(record["soon"][0], pooling.bytes_of_eight_planes)
    kernel = f"{pooling.kernel}_planes_in_lanes_{pooling.axes[2].size}"
    return Booking(kernel, pooling.number_of_planes, pooling.limits.results + 3 * LANES, grain=LANES)


def _can_go_along_rows(pooling: Pooling) -> bool:
    """Maxima are written as vectors only, and windows that hold nothing are another kernel's."""
    results = zip(pooling.planes[1:], pooling.sizes[1:], strict=True)
    runs = pooling.as_they_are and all(of.has_neighbours(size) for of, size in results)
    alone = all(w.dilation == 1 for w in pooling.call.windows)
    return alone and (pooling.averages or (runs and not pooling.has_empty_windows))


def _book_along_rows(pooling: Pooling, record: Record) -> Booking:
    """One plane after the other, eight windows of a row at a time."""
    _move_rows(record, pooling)
    record["dense"] = record["dense_results"] = 0
    target, units = pooling.tensors[1], pooling.number_of_planes * pooling.rows_of_windows
    record["streaming"] = target.dtype.nbytes(target.count) >= pooling.limits.stream_from
    floats, integers = _scratch(record, pooling, pooling.budget(units), LANES)
    return Booking(f"{pooling.kernel}_along_rows", units, floats, integers)


def _book_large_windows(pooling: Pooling, record: Record) -> Booking:
    """One window after the other; a row of maxima and of their places stands in scratch."""
    _move_rows(record, pooling)
    record["pitch"] = pitch = pooling.axes[2].out + LANES
    record["stored"] = pooling.sizes[0]
    units = pooling.number_of_planes * pooling.rows_of_windows
    return Booking("pool_max_large_windows", units, 2 * pitch)


def _has_rows(pooling: Pooling) -> bool:
    """Whether neighbours in a row lie side by side, in all tensors."""
    sides = zip(pooling.planes, pooling.sizes, strict=True)
    return pooling.as_they_are and all(of.has_neighbours(size) for of, size in sides)


def _usual_kernel(pooling: Pooling) -> str:
    depth, rows, columns = pooling.axes
    layers = "_layers" if _longest_window(depth, 1) > 1 else ""
    same = (rows.kernel, rows.stride) == (columns.kernel, columns.stride)
    return f"{pooling.kernel}_k{columns.kernel}s{columns.stride}{layers}" if same else ""


def _has_usual_windows(pooling: Pooling) -> bool:
    alone = all(w.dilation == 1 and not w.has_empty for w in pooling.call.windows)
    return alone and all(a.rule == FIXED for a in pooling.axes[1:]) and _usual_kernel(pooling) in USUAL_WINDOWS


def _columns_beyond(columns: Axis) -> int:
    """How far the last window along W reaches into the padding."""
    return (columns.out - 1) * columns.stride - columns.pad + columns.kernel - columns.size


def _has_usual_rows(pooling: Pooling) -> bool:
    """Windows reach one column beyond a row at most, and only those that are three wide."""
    columns = pooling.axes[2]
    most = 1 if columns.kernel == 3 else 0
    ends = columns.pad <= most and _columns_beyond(columns) <= most
    return ends and columns.out > LANES and columns.size <= WIDEST_USUAL


def _fills_vectors(pooling: Pooling) -> bool:
    """Whether a row's windows fill their vectors, the last of which is laid back, well enough. Eight planes at a time
    take 0.75 of the time for maxima of 3 x 3 on 9 columns, as long on 14, and again 0.75 to 0.9 of it on 17."""
    columns, full = pooling.axes[2], pooling.number_of_planes >= LANES
    least = 6 if columns.stride == 1 and not pooling.averages else 5
    return not full or columns.kernel == 2 or columns.out >= least * -(-columns.out // LANES)


def _widens_layers_again(pooling: Pooling) -> bool:
    """Whether numbers are widened anew for each of several layers: eight planes at a time take 0.75 to 1.1 of the
    time."""
    depth, _, columns = pooling.axes
    shared = depth.rule == FIXED and depth.stride < depth.kernel and columns.stride == 1
    return shared and not pooling.averages and pooling.moves != READ_FLOATS and pooling.number_of_planes >= LANES


def _passes_caches(pooling: Pooling) -> bool:
    """Whether results of the usual windows pass the caches: where they and the input together leave these anyway. With
    windows of 2 averages of 16x64x112x112 take 0.7 of the time. Short rows of places with a stride of 1 take 1.2 times
    as long, and LLVM forgets of float16 that it shall."""
    columns = pooling.axes[2]
    short = len(pooling.tensors) > 2 and columns.stride == 1 and columns.out < LONG_STREAM
    return (
        pooling.bytes_in_all >= 3 * pooling.limits.stream_from // 2
        and not short
        and pooling.tensors[1].dtype != FLOAT16
    )


def _book_usual_windows(pooling: Pooling, record: Record) -> Booking:
    _move_rows(record, pooling)
    columns = pooling.axes[2]
    pitch, wide = (-(-n // LANES) * LANES + LANES for n in (columns.out, columns.size))
    record["pitch"], record["wide"], record["edge"] = pitch, wide, _columns_beyond(columns) == 1
    record["streaming"] = _passes_caches(pooling)
    units = pooling.number_of_planes * pooling.rows_of_windows
    return Booking(_usual_kernel(pooling), units, 6 * pitch + wide)


def _is_one_window(pooling: Pooling) -> bool:
    """Whether there is one window over each plane, and the planes of an image follow each other in memory."""
    source, size, axes = pooling.planes[0], pooling.sizes[0], pooling.axes
    follow = source.shape[1] == 1 or source.steps[1] == size * math.prod(source.spatial)
    whole = all(a.is_one_window for a in axes) and all(w.dilation == 1 for w in pooling.call.windows)
    return pooling.as_they_are and whole and follow and source.is_dense(size)


def _has_long_rows(p: Pooling) -> bool:
    """Whether a row of a window holds many pixels, and many channels in all."""
    along, channels = _longest_window(p.axes[2], 1), p.planes[0].shape[1]
    fewest = FEWEST_FLOATS_IN_ROWS if p.moves == READ_FLOATS else FEWEST_HALVES_IN_ROWS
    return channels >= fewest and along >= MANY_NEIGHBOURS and along * channels >= LONG_ROW


def _if_quickest(way: str) -> tuple[Need[Pooling], ...]:
    return (Need("less time than any other way, by estimate", lambda p: p.quickest == way),)


# Ways between which estimates decide.
TIMES = {
    "channels last": forward_times.of_channels_last,
    "along rows": forward_times.of_along_rows,
    "large windows": forward_times.of_large_windows,
    "lanes": forward_times.of_lanes,
    "whole planes in lanes": forward_times.of_planes_in_lanes,
    "whole planes": forward_times.of_whole_planes,
}
NO_EMPTY_WINDOWS = Need[Pooling]("an element in every window", lambda p: not p.has_empty_windows)
SMALL_DIVISORS = Need[Pooling]("divisors that the compute type holds", lambda p: not p.large_divisors)

ONE_WINDOW = Need[Pooling]("one window over each plane, and planes that follow each other", _is_one_window)

WAYS: tuple[Way[Pooling], ...] = (
    Way(
        "usual windows",
        legal=(
            SMALL_DIVISORS,
            Need("rows that are runs of memory", _has_rows),
            Need("windows of 2 x 2, or 3 x 3 with strides of 1 or 2, alone or in several layers", _has_usual_windows),
            Need(f"more than {LANES} windows in a row, on at most {WIDEST_USUAL} columns", _has_usual_rows),
        ),
        pays=(
            Need("windows that fill vectors, or few planes", _fills_vectors),
            Need("no halves that layers of maxima share, or few planes", lambda p: not _widens_layers_again(p)),
        ),
        book=_book_usual_windows,
    ),
    Way(
        "whole planes in lanes",
        legal=(
            SMALL_DIVISORS,
            ONE_WINDOW,
            Need("averages of floats", lambda p: p.averages and p.moves == READ_FLOATS),
            Need(f"planes of at most {len(PLANES_IN_LANES)} columns, and of four rows or columns", _fit_lanes),
            Need(f"{LANES} planes that are one run of memory", lambda p: p.planes_in_turn >= LANES),
        ),
        pays=_if_quickest("whole planes in lanes"),
        book=_book_planes_in_lanes,
    ),
    Way(
        "whole planes",
        legal=(
            Need("averages, or maxima and places", lambda p: f"{p.kernel}_whole_planes_0" in WHOLE_PLANES),
            ONE_WINDOW,
            Need(
                f"at most {MOST_ROWS_OF_A_PLANE} rows",
                lambda p: p.axes[0].size * p.axes[1].size <= MOST_ROWS_OF_A_PLANE,
            ),
        ),
        pays=_if_quickest("whole planes"),
        book=_book_whole_planes,
    ),
    Way(
        "rows of channels",
        legal=(
            Need("averages", lambda p: p.averages),
            SMALL_DIVISORS,
            Need(f"at least {LANES} channels side by side", lambda p: p.has_pixels),
            NO_EMPTY_WINDOWS,
        ),
        pays=(
            Need(
                f"{FEWEST_FLOATS_IN_ROWS} channels, {FEWEST_HALVES_IN_ROWS} of halves, and windows with rows of "
                f"{MANY_NEIGHBOURS} pixels and {LONG_ROW} numbers",
                _has_long_rows,
            ),
            *_if_quickest("channels last"),
        ),
        book=_book_rows_of_channels,
    ),
    Way(
        "channels last",
        legal=(
            Need("channels side by side", lambda p: p.channels_side_by_side),
            SMALL_DIVISORS,
            NO_EMPTY_WINDOWS,
        ),
        pays=_if_quickest("channels last"),
        book=_book_channels_last,
    ),
    Way(
        "along rows",
        legal=(
            Need("averages, or maxima of floats", lambda p: f"{p.kernel}_along_rows" in ALONG_ROWS),
            SMALL_DIVISORS,
            Need("no dilation, and of maxima rows that are runs of memory and hold elements", _can_go_along_rows),
            Need(
                f"eight windows that hold at most {LONGEST_ALONG_ROWS} columns",
                lambda p: _held_by(p.axes[2], LANES) <= LONGEST_ALONG_ROWS,
            ),
        ),
        pays=_if_quickest("along rows"),
        book=_book_along_rows,
    ),
    Way(
        "large windows",
        legal=(
            Need("maxima and places", lambda p: p.kernel == "pool_max"),
            Need("rows of the input that are runs of memory", lambda p: p.has_runs),
            Need("no dilation along W", lambda p: p.call.windows[-1].dilation == 1),
            NO_EMPTY_WINDOWS,
        ),
        pays=_if_quickest("large windows"),
        book=_book_large_windows,
    ),
    Way("lanes", legal=(), pays=(), book=_book_lanes),
)
