"""aclnnAdaptiveAvgPool3d: adaptive average pooling over D, H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, INFERENCE
from ..contract.checks import dims, format_in, format_needs_rank, length_in, positive, rank_in, same
from ..contract.engine import DOCUMENT, EVERYWHERE, LIBRARY
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
FORMATS = ("ND", "NCDHW", "NCHW")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.base(size=4)
    cases.adaptive_windows()
    cases.without_batch(*FORMATS)
    cases.halves("float16")
    cases.averages()
    cases.layouts()
    cases.add("NCDHW", "format NCDHW with rank 5", every={"format": "NCDHW"})
    refused, empty = cases.refused, (0, 3, 4, 4, 4)
    for product in (A2, A3, A950):
        why = f"an empty batch is a success with nothing to do on {product.name}"
        cases.pooled(f"empty-batch-{product.soc}", why, empty, product=product.name)
    why = f"{INFERENCE.name} takes no empty tensors"
    refused(f"empty-batch-{INFERENCE.soc}", why, self={"shape": empty}, product=INFERENCE.name)
    cases.refusals()
    cases.refused_output_sizes()
    cases.refused_formats("NDHWC", "NC1HWC0")
    cases.formats_differ("NCDHW", "self", "out")
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    refused("batch-of-output", "out has another batch than self", out={"shape": (1, 3, 2, 2, 2)})
    refused("empty-depth", "only the first axis may be empty", self={"shape": (2, 3, 0, 4, 4)})
    refused("empty-output", "out has no elements", out={"shape": (2, 3, 2, 0, 2)})
    refused("dtype-of-out-int32", "the output's type is looked at, too", out={"dtype": "int32"})
    refused(f"bfloat16-{INFERENCE.soc}", "no bfloat16 there", every={"dtype": "bfloat16"}, product=INFERENCE.name)


OPERATOR = Operator(
    "aclnnAdaptiveAvgPool3d",
    summary="3-D adaptive average pooling",
    header="aclnn_adaptive_avg_pool3d.h",
    axes="DHW",
    parameters=(POOLED, OUTPUT_SIZE, OUT),
    products=(A2, A3, INFERENCE, A950),
    default_format="ND",
    windows=adaptive_windows,
    rows=(
        rank_in((POOLED,), (4, 5)),
        same("rank", OUT, POOLED),
        positive_but_first((POOLED,), "self-dims", on=EVERYWHERE - CLASSIC),
        dims((POOLED,), "self-dims", "sizes greater than 0", lambda size, axis: size <= 0, on=CLASSIC),
        same_batch_and_channels(OUT, POOLED, source=DOCUMENT),
        dims((OUT,), "out-dims", "D, H, W greater than 0", lambda size, axis: size <= 0 and axis >= -3),
        *floats((POOLED,), no_bfloat16=CLASSIC),
        *floats((OUT,), no_bfloat16=CLASSIC),
        same("dtype", OUT, POOLED),
        same("format", OUT, POOLED),
        format_in((POOLED,), FORMATS, source=LIBRARY),
        format_needs_rank((POOLED,), "NCHW", 4, instead="NCDHW or ND", source=LIBRARY),
        length_in(OUTPUT_SIZE, (3,)),
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
        shapes={"self": (2, 1, 2, 2, 4), "out": (2, 1, 2, 2, 2)},
        values={"self": [float(i) for i in range(1, 17)] * 2},
        numbers={"outputSize": (2, 2, 2)},
        results={"out": [1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5] * 2},
    ),
)


def adaptive_avg_pool3d(x: Any, output_size: Ints, *, product: str | None = None, out: Any = None) -> Any:
    """3-D adaptive average pooling: the means of so many windows, spread evenly over the input.

    ``x`` is an array (N,C,D,H,W) or (C,D,H,W), ``output_size`` an int for all axes or three ints, also larger than
    those of ``x``. The rest as in ``avg_pool2d``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_avg_pool3d(np.array([[[[1.0, 3.0, 5.0, 9.0]]]], np.float32), (1, 1, 2))
    array([[[[2., 7.]]]], dtype=float32)
    """
    return call(OPERATOR, (x,), (output_size,), product, out)
