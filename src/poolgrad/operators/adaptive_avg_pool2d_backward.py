"""aclnnAdaptiveAvgPool2dBackward: the gradient of adaptive average pooling over H and W."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A200I, A950, INFERENCE, TRAINING
from ..contract.checks import dims, dtype_in, format_in, rank_in, same
from ..contract.engine import LIBRARY, SAFE
from ..contract.operator import GraphOperator, Operator, Sample
from ..contract.parameters import Role, described_input, gradient, result
from ..contract.pooling import (
    CLASSIC,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    MODERN,
    NO_PRODUCT,
    adaptive_windows,
    same_batch_and_channels,
)
from ..plans.average import plan_average
from ..run.calls import call

if TYPE_CHECKING:
    from ..cases.suite import Suite

GRAD, X, OUT = gradient(), described_input(), result("out")
TENSORS = (GRAD, X, OUT)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, refused = cases.add, cases.refused

    def sizes(out: tuple[int, ...], size: tuple[int, ...], lead: tuple[int, ...] = (2, 3)) -> dict[str, object]:
        return {"gradOutput": {"shape": (*lead, *out)}, "self": {"shape": (*lead, *size)}}

    add("uneven", "windows of different lengths that overlap", **sizes((4, 5), (9, 11)))
    add("upsampling", "more windows than elements on every axis", **sizes((7, 9), (4, 5)))
    add("upsampling-one-axis", "more windows than elements on one axis", **sizes((9, 3), (5, 6)))
    add("global", "one window over all of it", **sizes((1, 1), (5, 7)))
    add("identity", "as many windows as elements", **sizes((5, 7), (5, 7)))
    add("one-element", "the smallest tensors there are", **sizes((1, 1), (1, 1), (1, 1)))
    for format in ("NCHW", "NCL", "ND"):
        add(
            f"rank-3-{format}",
            f"rank 3 is C, H, W, in {format}",
            every={"format": format},
            **sizes((2, 3), (5, 7), (3,)),
        )
        add(f"rank-4-{format}", f"rank 4 in {format}, which nothing pairs", every={"format": format})
    add("float16", "float16 is summed in float32 and rounded once", every={"dtype": "float16"}, **sizes((3, 3), (7, 7)))
    add("empty-batch", "an empty batch is a success with nothing to do", **sizes((4, 4), (8, 8), (0, 3)))
    add("empty-gradients", "no gradients: the whole output becomes 0", **sizes((0, 4), (8, 8)))
    add("empty-input", "nothing to write is a success", **sizes((4, 4), (0, 8)))
    add("nan", "NaN reaches its window and nothing else", gradOutput={"values": math.nan})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    add("channels-last", "views whose channels lie side by side", self=channels_last, out=channels_last)
    backwards = {"strides": (-48, -16, -4, -1), "storage": (96,), "offset": 95}
    add("backwards", "gradOutput is read from its end", gradOutput=backwards)
    for product in (INFERENCE, TRAINING):
        why = f"{product.name} has no bfloat16"
        refused(f"bfloat16-{product.soc}", why, every={"dtype": "bfloat16"}, product=product.name)
    cases.nulls()
    refused("product", "the product does not have the operator", product=A200I.name)
    refused("int64-size", "a size beyond 64 bits", self={"shape": (2, 3, 8, 2**63)})
    refused("ranks-differ", "gradOutput has rank 3, self rank 4", gradOutput={"shape": (3, 4, 4)})
    refused("size-negative", "a negative size", self={"shape": (2, 3, -8, 8)})
    refused("rank-5", "rank 5", every={"shape": (1, 2, 3, 8, 8)})
    refused("rank-of-output", "out has rank 3, self rank 4", out={"shape": (3, 8, 8)})
    refused("batch-of-output", "out has another batch than self", out={"shape": (1, 3, 8, 8)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 4, 4)})
    refused("shape-of-output", "out has another shape than self, of as many elements", out={"shape": (2, 3, 4, 16)})
    refused("dtype-int32", "integers are not pooled", every={"dtype": "int32"})
    refused("dtype-float64", "no product has float64", every={"dtype": "float64"}, product=A2.name)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "self and out differ in dtype", out={"dtype": "float16"})
    refused("format-of-gradients", "gradOutput and self differ in format", gradOutput={"format": "ND"})
    for format in ("NHWC", "NC1HWC0"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("format-of-output", "out has a private format", out={"format": "NC1HWC0"})
    huge = {"gradOutput": {"shape": (2**30, 2**30, 4, 4)}, "self": {"shape": (2**30, 2**30, 8, 8)}}
    refused("huge", "more bytes than 64 bits count", **huge)
    refused("outside-storage", "the view of gradOutput ends behind its storage", gradOutput={"storage": (95,)})
    refused("output-overlaps", "elements of out share memory", out={"strides": (192, 64, 8, 0), "storage": (384,)})


OPERATOR = Operator(
    "aclnnAdaptiveAvgPool2dBackward",
    summary="the gradient of 2-D adaptive average pooling",
    header="aclnn_adaptive_avg_pool2d_backward.h",
    axes="HW",
    parameters=(GRAD, X, OUT),
    products=(A2, A3, INFERENCE, TRAINING, A950),
    default_format="NCHW",
    windows=adaptive_windows,
    rows=(
        same("rank", GRAD, X),
        dims((X, GRAD), "negative-dims", "no negative sizes", lambda size, axis: size < 0, "Use sizes of at least 0."),
        rank_in((OUT,), (3, 4)),
        same("rank", OUT, X),
        same_batch_and_channels(OUT, X, source=LIBRARY),
        same_batch_and_channels(GRAD, X, source=LIBRARY),
        same("shape", OUT, X, source=SAFE),
        dtype_in((GRAD, X), HALVES_AND_FLOAT, on=MODERN),
        dtype_in((GRAD, X), ("float32", "float16"), on=CLASSIC),
        dtype_in((GRAD, X), EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", GRAD, X),
        same("dtype", OUT, X, source=SAFE),
        same("format", GRAD, X),
        format_in((GRAD, X), ("ND", "NCHW", "NCL")),
        format_in((OUT,), ("ND", "NCHW", "NCL"), source=SAFE),
    ),
    planner=plan_average,
    suite=suite,
    torch="adaptive_avg_pool2d",
    slips=(
        (
            "null list without out; nothing on out's shape; bfloat16 denied on two series to self and out only",
            "all three pointers; self's shape; gradOutput too",
        ),
    ),
    ir=(GraphOperator("AdaptiveAvgPool2dGrad", {Role.GRADIENT: "input_grad", Role.INPUT: "orig_input_shape"}),),
    sample=Sample(
        shapes={"gradOutput": (1, 1, 3, 2), "self": (1, 1, 4, 2), "out": (1, 1, 4, 2)},
        values={"gradOutput": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
        numbers={},
        results={"out": [0.5, 1, 2, 3, 4, 5, 2.5, 3]},
    ),
)


def adaptive_avg_pool2d_backward(grad_output: Any, x: Any, *, product: str | None = None, out: Any = None) -> Any:
    """The gradient of 2-D adaptive average pooling with respect to its input.

    ``grad_output`` is (N,C,H,W) or (C,H,W), of any output size, also larger than ``x``. ``x`` is the input of the
    forward pass or just its shape. Results, ``product``, ``out`` and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_avg_pool2d_backward(np.array([[[1.0, 2.0]]], np.float32), (1, 1, 4))
    array([[[0.5, 0.5, 1. , 1. ]]], dtype=float32)
    """
    return call(OPERATOR, (grad_output, x), (), product, out)
