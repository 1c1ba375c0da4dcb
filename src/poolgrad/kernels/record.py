"""What plans and kernels agree on: the record of 64-bit integers that a kernel is told, its codes, and some limits."""

from __future__ import annotations

import numpy as np

# Storage types, and what float32 gradients are rounded to before anything else: kernels switch on them once per row.
FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT32, INT64 = range(6)
KEPT, TO_FLOAT16, TO_HF32, TO_HF32_950 = range(4)

# Numbers in a vector.
LANES = 8
# Up to so many windows per column, adding one by one is faster than building sums of powers of two.
MOST_DIRECT_TERMS = 8

_AXIS_FIELDS = ("rule", "size", "out", "kernel", "stride", "pad", "counting")  # of windows.Axis, for D, H, W
_STEP_FIELDS = ("grad_steps", "index_steps", "result_steps")  # bytes, for N, C, D, H, W
_NUMBER_FIELDS = (
    "channels",  # planes are counted n * channels + c
    "code",  # of the storage type
    "index_code",
    "itemsize",  # of the compute type
    "rounding",
    "divisor",  # multiplies every window's count
    "wide",  # divisors pass what the compute type can hold
    "streams",  # sum windows along W all at once, as in spreading.py
    "terms",
    "ones",
    "pixel",  # channels that are worked on together, side by side in memory; 1: none are
    "row_step",  # bytes between neighbours in a row of the result
    "plain",  # a result row lies in memory as it does in scratch
    "streaming",  # write past the caches
    "direct",  # scatter into the output itself
    "dense",  # the rows of a result plane touch: it is one run of memory
    "storage",  # bytes of a stored number
    "wide_row",  # numbers of a widened row of gradients
    "batch",  # planes that are scattered before they are written
    "tile",  # columns at once
    "chunk",  # windows at once
    "longer",  # room for the quotients that a chunk needs
    "depth_slots",  # expanded rows to keep, powers of two
    "row_slots",
)
RECORD = np.dtype(
    [(name, np.int64, (3,)) for name in _AXIS_FIELDS]
    + [(name, np.int64, (5,)) for name in _STEP_FIELDS]
    + [(name, np.int64) for name in _NUMBER_FIELDS]
)

# What kernels may overrun in scratch, in elements, and how many rows of a plane they tabulate.
ROOM, WIDE_ROOM, ROWS_IN_TABLE = 16, 64, 1024
# Finished numbers that are gathered in scratch before they are written, beside the last rows and their overrun.
GATHERED = 1024
# What a kernel returns if there is no bad index.
NOTHING = -1
