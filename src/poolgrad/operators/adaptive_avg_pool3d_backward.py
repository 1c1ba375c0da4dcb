"""aclnnAdaptiveAvgPool3dBackward: the gradient of adaptive average pooling over D, H and W."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, INFERENCE, TRAINING
from ..contract.checks import dims, dtype_in, format_in, rank_in, same
from ..contract.engine import DOCUMENT, SAFE
from ..contract.operator import GraphOperator, Operator, Sample
from ..contract.parameters import Role, described_input, gradient, result
from ..contract.pooling import (
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    ON_PRODUCTS,
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
    cases.base(size=4, format="NCDHW")
    add = cases.add

    def sizes(out: tuple[int, ...], size: tuple[int, ...], lead: tuple[int, ...] = (2, 3)) -> dict[str, object]:
        return {"gradOutput": {"shape": (*lead, *out)}, "self": {"shape": (*lead, *size)}}

    add("uneven", "windows of different lengths that overlap", **sizes((3, 4, 5), (7, 9, 11)))
    add("upsampling", "more windows than elements on every axis", **sizes((5, 7, 9), (3, 4, 5)))
    add("upsampling-one-axis", "more windows than elements on one axis", **sizes((2, 9, 3), (4, 5, 6)))
    add("global", "one window over all of it", **sizes((1, 1, 1), (3, 5, 7)))
    add("identity", "as many windows as elements", **sizes((3, 5, 7), (3, 5, 7)))
    add("one-element", "the smallest tensors there are", **sizes((1, 1, 1), (1, 1, 1), (1, 1)))
    add("flat", "depth 1 is two-dimensional pooling", **sizes((1, 3, 3), (1, 7, 8)))
    for format in ("NCDHW", "ND"):
        lead = sizes((2, 2, 3), (5, 4, 7), (3,))
        add(f"rank-4-{format}", f"rank 4 is C, D, H, W, in {format}", every={"format": format}, **lead)
    add("ND", "format ND with rank 5", every={"format": "ND"})
    for dtype in ("float16", "bfloat16"):
        add(
            f"dtype-{dtype}",
            f"{dtype} is summed in float32 and rounded once",
            every={"dtype": dtype},
            **sizes((3, 3, 3), (7, 7, 7)),
        )
    add("nan", "NaN reaches its window and nothing else", gradOutput={"values": math.nan})
    channels_last = {"strides": (192, 1, 48, 12, 3), "storage": (384,)}
    add("channels-last", "views whose channels lie side by side", self=channels_last, out=channels_last)
    backwards = {"strides": (-24, -8, -4, -2, -1), "storage": (48,), "offset": 47}
    add("backwards", "gradOutput is read from its end", gradOutput=backwards)
    _refusals(cases)


def _refusals(cases: Suite) -> None:
    refused = cases.refused
    cases.nulls()
    refused("product", "the product does not have the operator", product=A950.name)
    refused("int64-size", "a size beyond 64 bits", self={"shape": (2, 3, 4, 4, 2**63)})
    refused("rank-3", "rank 3", every={"shape": (4, 4, 4)})
    refused("ranks-differ", "gradOutput has rank 4, self rank 5", gradOutput={"shape": (3, 2, 2, 2)})
    refused("rank-of-output", "out has rank 4, self rank 5", out={"shape": (3, 4, 4, 4)})
    refused("empty-depth", "self has no elements", self={"shape": (2, 3, 0, 4, 4)})
    empty = {"gradOutput": {"shape": (0, 3, 2, 2, 2)}, "self": {"shape": (0, 3, 4, 4, 4)}}
    refused("empty-batch", "self has no elements", product=A2.name, **empty)
    refused("shape-of-output", "out has another shape than self", out={"shape": (2, 3, 4, 4, 5)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 2, 2, 2)})
    refused("empty-gradients", "gradOutput has no elements", gradOutput={"shape": (2, 3, 2, 0, 2)})
    refused("dtype-int64", "integers are not pooled", every={"dtype": "int64"})
    refused("dtype-float64", "no product has float64", every={"dtype": "float64"}, product=A2.name)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "self and out differ in dtype", out={"dtype": "float16"})
    refused("format-of-gradients", "gradOutput and self differ in format", gradOutput={"format": "ND"})
    refused("format-of-output", "self and out differ in format", out={"format": "ND"})
    for format in ("NCHW", "NDHWC"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    huge = {"gradOutput": {"shape": (2**30, 2**30, 2, 2, 2)}, "self": {"shape": (2**30, 2**30, 4, 4, 4)}}
    refused("huge", "more bytes than 64 bits count", **huge)
    refused("outside-storage", "the view of gradOutput ends behind its storage", gradOutput={"storage": (47,)})
    refused("output-overlaps", "elements of out share memory", out={"strides": (192, 64, 16, 4, 0), "storage": (384,)})


OPERATOR = Operator(
    "aclnnAdaptiveAvgPool3dBackward",
    summary="the gradient of 3-D adaptive average pooling",
    header="aclnn_adaptive_avg_pool3d_backward.h",
    axes="DHW",
    parameters=(GRAD, X, OUT),
    products=(A2, A3, INFERENCE, TRAINING),
    default_format="ND",
    windows=adaptive_windows,
    rows=(
        rank_in((X,), (4, 5)),
        same("rank", GRAD, X),
        same("rank", OUT, X),
        dims((X,), "self-dims", "sizes greater than 0", lambda size, axis: size <= 0, on=ON_PRODUCTS),
        dims(
            (X,),
            "self-dims",
            "sizes greater than 0, the batch's at least 0",
            lambda size, axis: size < 0 or (size == 0 and axis != -5),
            on=NO_PRODUCT,
            source=SAFE,
        ),
        same("shape", OUT, X),
        same_batch_and_channels(GRAD, X, source=DOCUMENT),
        dims((GRAD,), "gradOutput-dims", "D, H, W greater than 0", lambda size, axis: size <= 0 and axis >= -3),
        dtype_in(TENSORS, HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in(TENSORS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", GRAD, X),
        same("dtype", X, OUT),
        same("format", GRAD, X),
        same("format", X, OUT),
        format_in(TENSORS, ("NCDHW", "ND")),
    ),
    planner=plan_average,
    atk_names={"self": "Input"},
    suite=suite,
    torch="adaptive_avg_pool3d",
    ir=(
        GraphOperator(
            "AdaptiveAvgPool3dGrad",
            {Role.GRADIENT: "y_grad", Role.INPUT: "x"},
            words=("data_format",),
            needs_data_format=True,
        ),
    ),
    sample=Sample(
        shapes={"gradOutput": (2, 2, 1, 1, 2), "self": (2, 2, 1, 1, 4), "out": (2, 2, 1, 1, 4)},
        values={"gradOutput": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]},
        numbers={},
        results={"out": [0.5, 0.5, 1, 1, 1.5, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3.5, 3.5, 4, 4]},
    ),
)


def adaptive_avg_pool3d_backward(grad_output: Any, x: Any, *, product: str | None = None, out: Any = None) -> Any:
    """The gradient of 3-D adaptive average pooling with respect to its input.

    ``grad_output`` is (N,C,D,H,W) or (C,D,H,W), of any output size, also larger than ``x``. ``x`` is the input of the
    forward pass or just its shape. Results, ``product``, ``out`` and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_avg_pool3d_backward(np.array([[[[1.0, 2.0]]]], np.float32), (1, 1, 1, 4))
    array([[[[0.5, 0.5, 1. , 1. ]]]], dtype=float32)
    """
    return call(OPERATOR, (grad_output, x), (), product, out)
