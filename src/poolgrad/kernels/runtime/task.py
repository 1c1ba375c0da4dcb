"""What compiled code is told about one plan: 64-bit integers that stay as they are from run to run."""

from __future__ import annotations

import numpy as np

MOST_TENSORS = 3
# Scratch, and each part's share of it, begins at a multiple of this; the entry sees to it.
ALIGNMENT = 64

TASK = np.dtype(
    [
        ("kernel", np.int64),  # the address of its machine code
        ("tensors", np.int64),  # how many tensors it takes: 2 or 3, outputs last
        ("outputs", np.int64),  # how many of them are outputs: 1 or 2
        ("double", np.int64),  # whether it computes in float64
        ("record", np.int64),  # the address of the plan's record
        ("units", np.int64),
        ("parts", np.int64),
        ("part_bytes", np.int64),  # scratch of one part
        ("integer_bytes", np.int64),  # how much of it, at its beginning, is for integers
        ("grain", np.int64),  # units that should be worked on together
        ("nested", np.int64),  # whether the outputs' strides alone show that none overlaps itself
        # What its kernel leaves of the last output, to become 0: bytes, relative to its first element.
        ("rest_from", np.int64),
        ("rest_to", np.int64),
        # First and one past the last byte that each tensor touches, relative to its first element.
        ("lows", np.int64, (MOST_TENSORS,)),
        ("highs", np.int64, (MOST_TENSORS,)),
    ]
)

# A small call, and how its arrays looked when the contract judged it: of each its class, its type, the flags that
# matter, its rank, sizes and strides. Of what is no array, and is never read, all that is 0.
MOST_ARRAYS, MOST_AXES = 4, 5
PICTURE = np.dtype(
    [
        ("kind", np.int64),
        ("dtype", np.int64),
        ("flags", np.int64),
        ("rank", np.int64),
        ("sizes", np.int64, (MOST_AXES,)),
        ("strides", np.int64, (MOST_AXES,)),
    ]
)
SMALL_CALL = np.dtype(
    [
        ("task", np.int64),  # the address of its TASK
        ("scratch", np.int64),
        ("order", np.int64, (MOST_TENSORS,)),  # which of the arrays are the task's tensors
        ("pictures", PICTURE, (MOST_ARRAYS,)),
    ]
)

# What a run that may be stopped shares with whoever waits for it: whether to stop, how many units are done, and what
# kernels have done of units, in parts of one.
CONTROL = np.dtype([("stop", np.int64), ("units_done", np.int64), ("done_within", np.int64)])
STOP, UNITS_DONE, DONE_WITHIN = range(0, CONTROL.itemsize, 8)
PARTS_OF_A_UNIT = 1 << 16

# How the entry is given tensors: by their addresses; by addresses that are known to be apart; or as NumPy arrays, which
# id() points at, to read the addresses from.
ADDRESSES, APART, ARRAYS = range(3)
# What it answers if no index was bad. A number from 0 on is the place of the first bad one.
DONE = -1
# An output might overlap itself or another tensor, by a first look: nothing was run.
MAY_OVERLAP = -2
# An array does not look as it did: nothing was run.
LOOKS_DIFFERENT = -3
