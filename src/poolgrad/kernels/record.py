"""What plans and kernels agree on: the record of 64-bit integers that a kernel is told, its codes, and some limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Storage types, and what float32 gradients are rounded to before anything else: kernels switch on them once per row.
FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT32, INT64 = range(6)
KEPT, TO_FLOAT16, TO_HF32, TO_HF32_950 = range(4)

# How rows of neighbours are read and written; any other row goes element by element.
BY_ELEMENTS, READ_FLOATS, READ_HALVES, READ_BFLOATS = range(4)
WRITE_FLOATS, WRITE_HALVES, WRITE_BFLOATS = READ_FLOATS, READ_HALVES, READ_BFLOATS

# Numbers in a vector, bytes in a cache line and in a page.
LANES, LINE, PAGE = 8, 64, 4096
# Gradients in a row are asked for so many numbers before they are read. If the processor foresees them alone, one plane
# of 8192 x 8192 takes twice as long with windows of 3 and a stride of 1, and a tenth longer with strides of 2.
AHEAD = 4096
# Up to so many windows per column, adding one by one is faster than putting sums together.
MOST_DIRECT_TERMS = 8


class FewWindows(NamedTuple):
    """What a kernel of few_windows.py is made for: windows along W, and a storage type."""

    kernel: int
    stride: int
    pad: int
    over: int  # so many columns of the last stride lie beyond the row
    lack: int  # so many strides more than windows
    even: int  # whether all windows count the same
    code: int

    @property
    def terms(self) -> int:
        """How many windows hold a column at most."""
        return (self.kernel - 1) // self.stride + 1

    @property
    def offsets(self) -> list[tuple[int, ...]]:
        """The windows that hold each column of a stride, counted from the one with the stride's number on."""
        found = []
        for column in range(self.stride):
            last, phase = divmod(column + self.pad, self.stride)
            number = -(-(self.kernel - phase) // self.stride)
            found.append(tuple(range(last - number + 1, last + 1)))
        return found

    def name(self, prefix: str) -> str:
        return "_".join((prefix, *map(str, self)))

    @classmethod
    def of(cls, name: str) -> FewWindows:
        """What a kernel of that name is made for."""
        return cls(*map(int, name.split("_")[-len(cls._fields) :]))


# Windows that hold an element along an axis, at most, and what their kernels look up for each row of a plane.
MOST_FEW, FIELDS_OF_STEP = 3, 9
FEW_WINDOWS, LAYERS_OF_FEW_WINDOWS = "average_few_windows", "average_layers_of_few_windows"

# One window over each plane: a kernel for each of the usual widths, and for any other one (0).
WHOLE_PLANES = {
    f"{of}_whole_planes_{width}": (of, width) for of in ("pool_average", "pool_max") for width in (0, *range(4, 65))
}

# The same of small planes, eight at a time: a kernel for each width.
PLANES_IN_LANES = {f"pool_average_planes_in_lanes_{width}": width for width in range(1, 9)}

# The usual windows of forward passes, of two or three rows and columns: what is pooled, kernel, stride, and whether
# several layers are.
USUAL_WINDOWS = {
    f"{of}_k{kernel}s{stride}{'_layers' * deep}": (of, kernel, stride, deep)
    for of in ("pool_average", "pool_max", "pool_max_values")
    for kernel, stride in ((2, 2), (3, 2), (3, 1))
    for deep in (False, True)
}

# Windows along rows: what is pooled.
ALONG_ROWS = tuple(f"{of}_along_rows" for of in ("pool_average", "pool_max", "pool_max_values"))

# Maxima of integers: a kernel for each type.
INTEGER_MAXIMA = {name: f"pool_max_{name}" for name in ("int8", "uint8", "int16", "uint16", "int32", "int64")}

_AXIS_FIELDS = ("rule", "size", "out", "kernel", "stride", "pad", "counting", "dilation")  # for D, H, W
_STEP_FIELDS = ("grad_steps", "index_steps", "result_steps")  # bytes, for N, C, D, H, W
_NUMBER_FIELDS = (
    "empty",  # some windows along W hold nothing but padding
    "planes",  # of a tensor, over all images
    "vectors",  # of a pixel: maxima have places beside them
    "dense",  # the rows of a plane of the input follow each other in memory
    "dense_results",
    "channels",  # planes are counted n * channels + c; 0 if all planes follow each other in the same steps
    "code",  # of the storage type
    "index_code",
    "itemsize",  # of the compute type
    "row_step",  # bytes from row to row where averages are made: in the result, or in scratch
    "stored",  # bytes of an element in the tensors
    "rounding",
    "divisor",  # multiplies every window's count
    "even",  # all windows along W count the same
    "large_divisors",  # divisors pass what the compute type can hold
    "streams",  # sum windows along W all at once, as in spreading.py
    "terms",
    "ones",
    "soon",  # pixels are asked for so many bytes before they are read, 0 if not; of windows that are asked: whether
    "edge",  # the last window along W ends in the padding, by one column
    "side_by_side",  # neighbouring windows of a row read and write neighbours in memory, as their channels do
    "pixel",  # channels that are worked on together, side by side in memory
    "levels",  # rows of sums of 4, 16, 64, ... quotients; 0 if shifts are added one by one
    "block",  # gradient rows per block of sums along H; 0 if rows are added one by one
    "overlapping",  # more than one row of gradients flows into a row of the result
    "reading",
    "writing",
    "plain",  # the result is of the compute type
    "streaming",  # write past the caches
    "kept",  # but for so many rows of each part
    "joined",  # write layers of the result while the last of those are made that flow into them
    "direct",  # scatter into the output itself
    "sidestepping",  # but into scratch where loads of indices would wait for stores to the output
    "followed",  # all gradients and all indices are runs of memory: behind a plane is another one
    "wide_row",  # numbers of a widened row of gradients
    "tile",  # columns at once
    "chunk",  # windows at once, and some room
    "batch",  # rows of gradients that are expanded together, a power of two; planes that are scattered together
    "together",  # planes that lie side by side and are filled together, at most
    "pieces",  # of an image's channels: units of work
    "batch_bits",  # its logarithm
    "pitch",  # from row to row of a batch's quotients
    "longer",  # room for all of these
    "wide",  # from row to row of expanded rows
    "narrow",  # numbers that are kept of an expanded row if that is less than all: a tile's columns; else 0
    "depth_slots",  # batches to keep, powers of two
    "row_slots",
    "mask_row",  # bytes of a row of a mask
    "bits",  # the mask holds bits, not places
    "control",  # the address of what a run shares with whoever waits for it; 0 if nobody may stop it (stopping.py)
    "pace",  # a large unit looks there every so many steps, a power of two less one
)
RECORD = np.dtype(
    [(name, np.int64, (3,)) for name in _AXIS_FIELDS]
    + [(name, np.int64, (5,)) for name in _STEP_FIELDS]
    + [(name, np.int64) for name in _NUMBER_FIELDS]
)

# What kernels may overrun in scratch, in elements, and how many rows of a plane they tabulate.
ROOM, WIDE_ROOM, ROWS_IN_TABLE = 32, 64, 1024
# The longest list of rows that are added together.
LONGEST_TABLE = 32
# Windows that four pixels ask at most (asking_pixels.py); and kernels for windows that are known when they are compiled
# (kernel and stride), or for any (0), with the storage type if it is not the compute type.
MOST_ASKED = 64
PIXELS_ASK = {
    f"max_pixels_ask_k{kernel}s{stride}{suffix}" if kernel else f"max_pixels_ask{suffix}": (kernel, stride, code)
    for kernel, stride in ((2, 2), (3, 2), (3, 1), (2, 1), (0, 0))
    for suffix, code in (("", FLOAT32), ("_halves", FLOAT16), ("_bfloats", BFLOAT16))
}
# Channels that share a word of a mask.
GROUP = 16
# What a kernel returns if there is no bad index.
NOTHING = -1
