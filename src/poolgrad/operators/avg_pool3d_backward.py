"""aclnnAvgPool3dBackward: the gradient of average pooling over D, H and W."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, INFERENCE
from ..contract.checks import (
    at_most_half,
    dims,
    dtype_in,
    format_in,
    format_needs_rank,
    length_in,
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    same,
)
from ..contract.engine import LIBRARY, SAFE
from ..contract.operator import IR_WINDOWS, GraphOperator, Operator, Sample
from ..contract.parameters import (
    Role,
    ceil_mode,
    count_include_pad,
    described_input,
    divisor_override,
    gradient,
    kernel_size,
    padding,
    result,
    stride,
)
from ..contract.pooling import (
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    ON_PRODUCTS,
    PUBLIC_FORMATS,
    fixed_windows,
    is_pooled,
    windows_fit,
)
from ..plans.average import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

GRAD, X, KERNEL, STRIDE, PADDING = gradient(), described_input(), kernel_size(), stride(), padding()
CEIL, COUNT_PAD, DIVISOR, OUT = ceil_mode(), count_include_pad(), divisor_override(), result("output")
TENSORS = (GRAD, X, OUT)
FORMATS = ("ND", "NCDHW", "NCHW")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, pooled, refused = cases.add, cases.pooled, cases.refused
    cases.fixed_windows()
    window = {"kernelSize": (3, 3, 3), "stride": (2, 2, 2), "padding": (1, 1, 1)}
    for include in (True, False):
        word = "counts" if include else "does-not-count"
        why = "ceil mode's last window is cut off at input plus padding"
        pooled(f"ceil-padding-{word}", why, (1, 2, 6, 8, 8), ceilMode=True, countIncludePad=include, **window)
    pooled("divisor-negative", "a divisor may be negative, and of any size", (1, 2, 4, 6, 8), divisorOverride=-1000)
    pooled(
        "divisor-beyond-2-24", "a divisor that float32 can't hold exactly", (1, 2, 4, 6, 8), divisorOverride=2**24 + 1
    )
    pooled("nan", "NaN reaches its window and nothing else", (1, 1, 4, 4, 8), gradOutput={"values": math.nan})
    pooled("inf", "Inf stays Inf, and does not become NaN", (1, 1, 4, 4, 8), gradOutput={"values": math.inf})
    for dtype in ("float16", "bfloat16"):
        why = f"{dtype} is summed in float32 and rounded once"
        pooled(f"dtype-{dtype}", why, (1, 2, 5, 6, 7), every={"dtype": dtype}, **window)
    add("dtype-of-self", "self is never read, so its type may be another one", self={"dtype": "float16"})
    add("format-of-self", "nor is its format looked at", self={"format": "NHWC"})
    for format in FORMATS:
        why = f"rank 4 is C, D, H, W, in {format}"
        pooled(f"rank-4-{format}", why, (3, 4, 8, 6), every={"format": format})
    for name, lead in (("batch", (0, 3)), ("channels", (2, 0))):
        why = f"no {name}: a success with nothing to do"
        pooled(f"empty-{name}", why, (*lead, 8, 8, 8))
    cases.layouts()
    cases.refused_windows()
    cases.nulls()
    refused("product", "the product does not have the operator", product=INFERENCE.name)
    refused("dtype-int32", "integers are not pooled", every={"dtype": "int32"})
    refused("dtype-of-self-int32", "self is looked at, too", self={"dtype": "int32"})
    refused("dtype-of-output-int32", "and the output", output={"dtype": "int32"})
    refused("dtype-float64", "no product has float64", every={"dtype": "float64"}, product=A2.name)
    refused("dtype-of-output", "gradOutput and output differ in dtype", output={"dtype": "float16"})
    refused("rank-3", "rank 3", every={"shape": (8, 8, 8)})
    refused("ranks-differ", "self has rank 4, gradOutput rank 5", self={"shape": (3, 8, 8, 8)})
    refused("rank-of-output", "output has rank 4, gradOutput rank 5", output={"shape": (3, 8, 8, 8)})
    refused("shape-of-output", "output has another shape than self", output={"shape": (2, 3, 8, 8, 9)})
    refused("format-of-output", "gradOutput and output differ in format", output={"format": "NCDHW"})
    for format in ("NDHWC", "NC1HWC0"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("format-of-self-private", "self has a private format", self={"format": "NDC1HWC0"})
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    refused("size-negative", "a negative size", self={"shape": (2, 3, 8, -8, 8)})
    why = "gradOutput has not the size that the windows give"
    refused("not-pooled", why, gradOutput={"shape": (2, 3, 5, 4, 4)})
    refused("empty-rows", "self has no rows", self={"shape": (2, 3, 8, 0, 8)})


OPERATOR = Operator(
    "aclnnAvgPool3dBackward",
    summary="the gradient of 3-D average pooling",
    header="aclnn_avgpool3d_backward.h",
    axes="DHW",
    parameters=(GRAD, X, KERNEL, STRIDE, PADDING, CEIL, COUNT_PAD, DIVISOR, OUT),
    products=(A2, A3, A950),
    default_format="ND",
    windows=fixed_windows,
    rows=(
        dtype_in((GRAD,), HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in((GRAD,), EVERY_FLOAT, on=NO_PRODUCT),
        dtype_in((X,), HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in((X,), EVERY_FLOAT, on=NO_PRODUCT),
        dtype_in((OUT,), HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in((OUT,), EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", GRAD, OUT, source=SAFE),
        rank_in((GRAD,), (4, 5)),
        same("rank", X, GRAD),
        same("rank", OUT, GRAD),
        same("shape", X, OUT),
        length_in(KERNEL, (1, 3)),
        length_in(PADDING, (1, 3)),
        length_in(STRIDE, (0, 1, 3)),
        same("format", GRAD, OUT),
        format_in((GRAD,), FORMATS, source=LIBRARY),
        format_needs_rank((GRAD,), "NCHW", 4, instead="NCDHW or ND", source=LIBRARY),
        format_in((X,), PUBLIC_FORMATS, source=SAFE),
        no_negative_dims(TENSORS, source=SAFE),
        positive(KERNEL),
        positive(STRIDE),
        at_most_half(PADDING, KERNEL),
        not_negative(PADDING),
        dims((X,), "self-dims", "D, H, W greater than 0", lambda size, axis: size == 0 and axis >= -3, source=SAFE),
        windows_fit(X, "DHW"),
        is_pooled(GRAD, source=LIBRARY),
    ),
    planner=plan_average,
    suite=suite,
    torch="avg_pool3d",
    slips=(
        ("input size given as (out - 1)*s + k - 2p", "one of the inputs that fit; gradOutput's size follows from self"),
        (
            "null list without stride; no equality of dtypes; no gradient formula",
            "no pointer may be null; gradOutput and output alike; as in 2-D, over three axes",
        ),
        ("divisorOverride", "all 64 bits, which the library narrows to 32 on the way"),
    ),
    ir=(
        GraphOperator(
            "AvgPool3DGrad",
            {Role.INPUT: "orig_input_shape", Role.GRADIENT: "grads"}
            | IR_WINDOWS
            | {Role.COUNT_INCLUDE_PAD: "count_include_pad", Role.DIVISOR: "divisor_override"},
            words=("data_format",),
            needs_data_format=True,
        ),
    ),
    sample=Sample(
        shapes={"gradOutput": (1, 16, 1, 1, 1), "self": (1, 16, 4, 4, 4), "output": (1, 16, 4, 4, 4)},
        values={"gradOutput": [1.0] * 16},
        numbers={"kernelSize": (4, 4, 4), "stride": (1, 1, 1), "padding": (0, 0, 0), "countIncludePad": False},
        results={"output": [0.015625] * 1024},
    ),
)


def avg_pool3d_backward(
    grad_output: Any,
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 3-D average pooling with respect to its input.

    ``grad_output`` is the gradient of the output, (N,C,D,H,W) or (C,D,H,W). Parameters are an int, or one or three ints
    (for D, H and W). The rest as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.avg_pool3d_backward(np.ones((1, 1, 1, 2), np.float32), (1, 2, 2, 4), 2)[0, 0, 0]
    array([0.125, 0.125, 0.125, 0.125], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return call(OPERATOR, (grad_output, x), numbers, product, out)
