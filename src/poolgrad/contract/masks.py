"""The mask of max pooling: bytes that say where each maximum stood, as devices keep them from forward to gradient.

It has a row for each channel and each position in a window. What it holds is one of two things:

* places: one stream of 32-bit integers from its first byte on, ``h * W + w`` of every output in the order N, C, H, W;
* bits: 16-bit words, a row of them for each image, group of sixteen channels and window position. Bit b of word o is
  set if in channel b of the group the maximum of output o is at that position.

All other bytes are 0. A window of one element has but one position: its words are all ones, and nobody reads them.
"""

from __future__ import annotations

import dataclasses
import math

from ..base.dtypes import INT8
from ..base.products import TRAINING
from ..base.tensor import Tensor, contiguous_strides
from .checks import shown
from .engine import Broken, Call, Check
from .parameters import Parameter, Role
from .pooling import CLASSIC, pooled_results, shape_if_any

# Outputs that share a block, and bytes of a block.
BLOCK, BLOCK_BYTES = 16, 32


def mask_shape(call: Call) -> tuple[int, ...]:
    """N and C of the input, then the positions of a window, then a word for each output: whole blocks, and one more."""
    windows, x = call.windows, call.tensor(Role.INPUT)
    blocks = -(-math.prod(w.out for w in windows) // BLOCK) + 1
    return (*x.shape[: -len(windows)], positions(call), blocks * BLOCK_BYTES)


def positions(call: Call) -> int:
    """How many elements a window has, also those in the padding."""
    return math.prod(w.kernel for w in call.windows)


def holds_bits(call: Call) -> bool:
    """Whether the mask holds bits: on older products, and where places would not fit."""
    return call.product in CLASSIC or positions(call) == 1


def computed_in(call: Call) -> str:
    """Atlas training series compute float32 in float16."""
    return "float16" if call.product is TRAINING and call.tensor(Role.INPUT).dtype.name == "float32" else "kept"


def maxima_and_mask(call: Call) -> tuple[Tensor, ...]:
    """The results of a forward pass: values as always, and a mask in C order."""
    values, *_ = pooled_results(call)
    shape = shape_if_any(call, mask_shape)
    return values, Tensor(INT8, shape, contiguous_strides(shape), values.format)


def is_mask(tensor: Parameter, *, source: str) -> Check:
    """A tensor has the shape of a mask."""

    def test(call: Call) -> Broken | None:
        expected, got = mask_shape(call), call.tensor(tensor).shape
        if got == expected:
            return None
        change = "Give it this shape." if tensor.output else "Pass the mask of the forward pass."
        return Broken(tensor.name, f"shape {shown(expected)}", shown(got), change)

    says = f"{tensor.name} is (N, C, kH*kW, (ceil(Ho*Wo / {BLOCK}) + 1) * {BLOCK_BYTES}), or that without N"
    return Check(f"{tensor.name}-mask", says, test, source=source)


def if_places(check: Check) -> Check:
    """The row, for calls whose mask holds places."""

    def test(call: Call) -> Broken | None:
        return None if holds_bits(call) else check.test(call)

    return dataclasses.replace(check, says=f"{check.says}, where the mask holds places", test=test)
