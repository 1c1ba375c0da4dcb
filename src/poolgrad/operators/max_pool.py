"""aclnnMaxPool: max pooling over H and W, values only; of integers, too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, ANY, TRAINING
from ..contract.checks import (
    dtype_in,
    each,
    format_in,
    format_needs_rank,
    is_zero,
    length_in,
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    same,
    shown,
)
from ..contract.engine import SAFE, Broken, Call, Check
from ..contract.operator import Operator, Sample
from ..contract.parameters import AUTO_PAD, CEIL, DILATION, KERNEL, PADDING, POOLED, STRIDE, result
from ..contract.pooling import (
    A2_A3,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    INTEGERS,
    both_pads,
    is_pooled,
    pooled_results,
    positive_but_batch,
    windows_fit,
    windows_with_both_pads,
)
from ..plans.forward import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

# The one type that all products take.
POOLED, OUT = (replace(p, dtype="float16") for p in (POOLED, result("out")))
KERNEL = replace(KERNEL, name="kernelShape", python_name="kernel_shape")
_HELP = "Distance of windows: one number, or one for each axis; 1 if absent."
STRIDE = replace(STRIDE, name="strides", python_name="strides", help=_HELP)
_HELP = "Padding: one number, one for both sides of H and one for W, or top, left, bottom, right; 0 if absent."
PADDING = replace(PADDING, name="pads", python_name="pads", help=_HELP)
DILATION = replace(DILATION, name="dilations", python_name="dilations")
CEIL = replace(CEIL, c_type="const int64_t", default=0)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    pooled, refused = cases.pooled, cases.refused
    cases.fixed_windows()
    cases.without_batch("NCHW", "ND", "NCL")
    cases.halves("bfloat16", product=A950.name)
    cases.overlapping("dtype-float32", "Atlas A2 has float32", floats={"dtype": "float32"}, product=A2.name)
    cases.maxima()
    cases.layouts()
    for dtype in INTEGERS:
        why = f"{dtype} is compared as integers"
        wide = {"values": (-math.inf, math.inf)}  # all that there are
        cases.overlapping(f"dtype-{dtype}", why, floats={"dtype": dtype}, self=wide, product=A950.name)
        window = {"kernelShape": (2, 2), "pads": (2, 0, 0, 2), "floats": {"dtype": dtype}}
        pooled(f"padding-only-{dtype}", f"padding is the least {dtype}", (1, 2, 5, 4), product=A950.name, **window)
    why = "pads for top, left, bottom, right"
    pooled("pads-4", why, (2, 3, 7, 9), kernelShape=(3, 4), strides=(2, 3), pads=(1, 0, 2, 3))
    pooled("pads-4-ceil", why, (2, 3, 8, 9), kernelShape=(3, 3), strides=(2, 2), pads=(0, 2, 1, 0), ceilMode=1)
    pooled("padding-only", "windows of padding only give -Inf", (1, 2, 4, 5), kernelShape=(2, 2), pads=(2, 0, 0, 2))
    pooled("arrays-empty", "no pads, no dilations", (2, 3, 5, 5), pads=(), dilations=())
    pooled("dilations-4", "four dilations of 1", (2, 3, 5, 5), dilations=(1, 1, 1, 1))
    pooled("ceil-2", "any number but 0 is ceil mode", (2, 3, 5, 5), ceilMode=2)
    pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    cases.refusals()
    cases.refused_windows(PADDING.name, DILATION.name)
    cases.refused_formats("NHWC", "NC1HWC0")
    cases.formats_differ("ND", "self", "out")
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("auto-pad", "another way to pad", autoPad=1)
    refused("dilation-2", "dilation", dilations=(2, 1))
    refused("pads-beyond-kernel", "pads of an axis are more than the kernel", pads=(0, 2, 0, 1))
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    refused("empty-rows", "only the batch may be empty", self={"shape": (2, 3, 0, 8)})
    why = "the training series has float16 only"
    refused("dtype-float32-Ascend910", why, floats={"dtype": "float32"}, product=TRAINING.name)
    for product in (A2, A3):
        why = f"{product.name} has no bfloat16"
        refused(f"dtype-bfloat16-{product.soc}", why, floats={"dtype": "bfloat16"}, product=product.name)
    refused("dtype-uint32", "no product has it", floats={"dtype": "uint32"})


def _pads_fit() -> Check:
    """The pads of an axis, before and behind it, are together at most the kernel."""

    def test(call: Call) -> Broken | None:
        kernel, sums = call.ints(KERNEL), tuple(map(sum, zip(*both_pads(call), strict=True)))
        if all(total <= k for total, k in zip(sums, kernel * (3 - len(kernel)), strict=True)):
            return None
        change = "Use smaller pads, or a larger kernel."
        return Broken(PADDING.name, f"at most {KERNEL.name} {shown(kernel)} along each axis", shown(sums), change)

    return Check(f"{PADDING.name}-sums", f"both {PADDING.name} of an axis are together at most {KERNEL.name}", test)


OPERATOR = Operator(
    "aclnnMaxPool",
    summary="2-D max pooling: values only",
    header="aclnn_max_pool.h",
    axes="HW",
    parameters=(POOLED, KERNEL, STRIDE, AUTO_PAD, PADDING, DILATION, CEIL, OUT),
    products=(A2, A3, TRAINING, A950),
    default_format="NCHW",
    windows=windows_with_both_pads,
    rows=(
        dtype_in((POOLED,), ("float32", "float16"), on=A2_A3),
        dtype_in((POOLED,), ("float16",), on=frozenset((TRAINING,))),
        dtype_in((POOLED,), (*HALVES_AND_FLOAT, *INTEGERS), on=frozenset((A950,))),
        dtype_in((POOLED,), (*EVERY_FLOAT, *INTEGERS), on=frozenset((ANY,))),
        same("dtype", OUT, POOLED),
        same("format", OUT, POOLED),
        format_in((POOLED,), ("NCHW", "ND", "NCL"), source=SAFE),
        rank_in((POOLED,), (3, 4)),
        format_needs_rank((POOLED,), "NCL", 3),
        no_negative_dims((POOLED, OUT), source=SAFE),
        length_in(KERNEL, (1, 2)),
        length_in(STRIDE, (0, 1, 2)),
        length_in(PADDING, (0, 1, 2, 4)),
        length_in(DILATION, (0, 1, 2, 4)),
        is_zero(AUTO_PAD),
        each(DILATION, f"{DILATION.name}-one", "1 on both axes", lambda v: v != 1, "Use 1."),
        positive(KERNEL),
        positive(STRIDE),
        not_negative(PADDING, source=SAFE),
        _pads_fit(),
        positive_but_batch(POOLED, "HW"),
        windows_fit(POOLED, "HW"),
        is_pooled(OUT),
    ),
    planner=plan_maximum,
    results=pooled_results,
    suite=suite,
    slips=(
        ("braces turn `- 1` into `+ 1`", "the usual formula"),
        ("null table: self, out", "all six pointers"),
        ("autoPad other than 0 and lengths of pads not in the error table", "161002"),
    ),
    sample=Sample(
        shapes={"self": (2, 2, 3, 3), "out": (2, 2, 2, 2)},
        values={"self": range(1, 37)},
        numbers={
            "kernelShape": (2, 2),
            "strides": (2, 2),
            "autoPad": 0,
            "pads": (0, 0, 0, 0),
            "dilations": (1, 1, 1, 1),
            "ceilMode": 1,
        },
        results={"out": [5, 6, 8, 9, 14, 15, 17, 18, 23, 24, 26, 27, 32, 33, 35, 36]},
    ),
)


def max_pool(
    x: Any,
    kernel_shape: Ints,
    strides: Ints | None = None,
    pads: Ints = 0,
    dilations: Ints = 1,
    ceil_mode: bool = False,
    *,
    auto_pad: int = 0,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """2-D max pooling: the largest values of windows. ``x`` is an array (N,C,H,W) or (C,H,W), of floats or integers.

    Without ``strides`` a window begins at every element. ``pads`` are one number, one for both sides of H and one for
    W, or four for top, left, bottom and right. A window of padding only gives -Inf, of integers the least of their
    type. Dilations are 1, and ``auto_pad`` is 0. The rest as in ``max_pool2d_with_indices``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.max_pool(np.array([[[1, 3], [2, 0]]], np.int8), (1, 2), pads=(0, 0, 0, 1))
    array([[[3, 3],
            [2, 0]]], dtype=int8)
    """
    return call(OPERATOR, (x,), (kernel_shape, strides, auto_pad, pads, dilations, ceil_mode), product, out)
