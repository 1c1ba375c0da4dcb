"""aclnnAdaptiveAvgPool2d: adaptive average pooling over H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, INFERENCE, TRAINING
from ..contract.checks import format_in, length_in, positive, rank_in, rank_needs_format, same
from ..contract.engine import DOCUMENT, LIBRARY
from ..contract.operator import Operator, Sample
from ..contract.parameters import OUTPUT_SIZE, POOLED, result
from ..contract.pooling import (
    CLASSIC,
    adaptive_windows,
    floats,
    is_pooled,
    pooled_results,
    positive_but_first,
    same_batch_and_channels,
)
from ..plans.forward import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("out")
FORMATS = {4: "NCHW", 3: "NCL"}


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.adaptive_windows()
    cases.without_batch("NCL")
    cases.halves("float16")
    cases.averages()
    cases.layouts()
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    why = "without a batch the first axis is that of the channels"
    cases.pooled("empty-channels-first", why, (0, 8, 8), every={"format": "NCL"})
    refused = cases.refused
    cases.refusals()
    cases.refused_output_sizes()
    cases.refused_formats("ND", "NHWC", "NC1HWC0")
    cases.formats_differ("NCL", "self", "out")
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    without_batch = {"self": {"shape": (3, 8, 8)}, "out": {"shape": (3, 4, 4)}}
    refused("NCHW-of-rank-3", "NCHW has four axes", **without_batch)
    refused("batch-of-output", "out has another batch than self", out={"shape": (1, 3, 4, 4)})
    refused("empty-channels", "only the first axis may be empty", self={"shape": (2, 0, 8, 8)})
    refused("empty-rows", "only the first axis may be empty", self={"shape": (2, 3, 0, 8)})
    refused("dtype-of-out-int32", "the output's type is looked at, too", out={"dtype": "int32"})
    for product in (INFERENCE, TRAINING):
        why = f"{product.name} has no bfloat16"
        refused(f"bfloat16-{product.soc}", why, every={"dtype": "bfloat16"}, product=product.name)


OPERATOR = Operator(
    "aclnnAdaptiveAvgPool2d",
    summary="2-D adaptive average pooling",
    header="aclnn_adaptive_avg_pool2d.h",
    axes="HW",
    parameters=(POOLED, OUTPUT_SIZE, OUT),
    products=(A2, A3, INFERENCE, TRAINING, A950),
    default_format="NCHW",
    format_without_batch="NCL",
    windows=adaptive_windows,
    rows=(
        rank_in((POOLED,), (3, 4)),
        same("rank", OUT, POOLED),
        same_batch_and_channels(OUT, POOLED, source=DOCUMENT),
        positive_but_first((POOLED, OUT), "self-dims"),
        *floats((POOLED,), no_bfloat16=CLASSIC),
        *floats((OUT,), no_bfloat16=CLASSIC),
        same("dtype", OUT, POOLED),
        same("format", OUT, POOLED),
        format_in((POOLED,), ("NCHW", "NCL")),
        rank_needs_format(POOLED, (POOLED, OUT), FORMATS, source=LIBRARY),
        length_in(OUTPUT_SIZE, (2,)),
        positive(OUTPUT_SIZE),
        is_pooled(OUT, source=DOCUMENT),
    ),
    planner=plan_average,
    results=pooled_results,
    suite=suite,
    slips=(
        (
            'no formula; "beyond the first dimension" also at the rank without batch',
            "the mean of each adaptive window; the first dimension is then C",
        ),
    ),
    sample=Sample(
        shapes={"self": (2, 2, 3, 3), "out": (2, 2, 2, 2)},
        values={"self": [float(i) for i in range(1, 37)]},
        numbers={"outputSize": (2, 2)},
        results={"out": [3, 4, 6, 7, 12, 13, 15, 16, 21, 22, 24, 25, 30, 31, 33, 34]},
    ),
)


def adaptive_avg_pool2d(x: Any, output_size: Ints, *, product: str | None = None, out: Any = None) -> Any:
    """2-D adaptive average pooling: the means of so many windows, spread evenly over the input.

    ``x`` is an array (N,C,H,W) or (C,H,W), ``output_size`` an int for both axes or two ints, also larger than those of
    ``x``. The rest as in ``avg_pool2d``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_avg_pool2d(np.array([[[1.0, 3.0, 5.0, 9.0]]], np.float32), (1, 2))
    array([[[2., 7.]]], dtype=float32)
    """
    return call(OPERATOR, (x,), (output_size,), product, out)
