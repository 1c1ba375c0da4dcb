"""aclnnAvgPool3dBackward: the gradient of average pooling over D, H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950
from ..contract.checks import (
    at_most_half,
    dims,
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
from ..contract.operator import AVG_POOL_3D_GRAD, Operator, Sample
from ..contract.parameters import CEIL, COUNT_PAD, DIVISOR, GRAD, KERNEL, PADDING, STRIDE, X, result
from ..contract.pooling import PUBLIC_FORMATS, fixed_windows, floats, is_pooled, windows_fit
from ..plans.average import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("output")
FORMATS = ("ND", "NCDHW", "NCHW")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, pooled, refused, shape = cases.add, cases.pooled, cases.refused, (1, 2, 6, 8, 8)
    cases.fixed_windows()
    cases.without_batch(*FORMATS)
    cases.halves()
    cases.averages()
    cases.layouts()
    for include in (True, False):
        word = "counts" if include else "does-not-count"
        why = "ceil mode's last window is cut off at input plus padding"
        window = cases.windows(3, 2, 1) | {"ceilMode": True, "countIncludePad": include}
        pooled(f"ceil-padding-{word}", why, shape, **window)
    pooled("divisor-negative", "a divisor may be negative, and of any size", shape, divisorOverride=-1000)
    pooled("divisor-beyond-2-24", "a divisor that float32 can't hold exactly", shape, divisorOverride=2**24 + 1)
    add("dtype-of-self", "self is never read, so its type may be another one", self={"dtype": "float16"})
    add("format-of-self", "nor is its format looked at", self={"format": "NHWC"})
    for name, lead in (("batch", (0, 3)), ("channels", (2, 0))):
        pooled(f"empty-{name}", f"no {name}: a success with nothing to do", (*lead, 8, 8, 8))
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NDHWC", "NC1HWC0")
    cases.formats_differ("NCDHW", "output")
    refused("format-of-self-private", "self has a private format", self={"format": "NDC1HWC0"})
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    refused("dtype-of-self-int32", "self is looked at, too", self={"dtype": "int32"})
    refused("dtype-of-output-int32", "and the output", output={"dtype": "int32"})
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
        *floats((GRAD,)),
        *floats((X,)),
        *floats((OUT,)),
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
        no_negative_dims((GRAD, X, OUT), source=SAFE),
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
    ir=(AVG_POOL_3D_GRAD,),
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
