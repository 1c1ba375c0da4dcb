"""aclnnAvgPool3d: average pooling over D, H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, INFERENCE
from ..contract.checks import (
    at_most_half,
    at_most_input,
    format_in,
    format_needs_rank,
    length_in,
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    same,
)
from ..contract.engine import DOCUMENT, LIBRARY, SAFE
from ..contract.operator import Operator, Sample
from ..contract.parameters import CEIL, COUNT_PAD, DIVISOR, KERNEL, PADDING, POOLED, STRIDE, result
from ..contract.pooling import CLASSIC, fixed_windows, floats, is_pooled, pooled_results
from ..plans.forward import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("out")
FORMATS = ("ND", "NCDHW", "NCHW")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    pooled, refused, shape = cases.pooled, cases.refused, (1, 2, 6, 8, 8)
    cases.fixed_windows(beyond_input=False)
    cases.divisors()
    cases.without_batch(*FORMATS)
    cases.halves("float16")
    cases.averages()
    cases.layouts()
    pooled("divisor-beyond-2-24", "a divisor that float32 can't hold exactly", shape, divisorOverride=2**24 + 1)
    for name, lead in (("batch", (0, 3)), ("channels", (2, 0))):
        pooled(f"empty-{name}", f"no {name}: a success with nothing to do", (*lead, 8, 8, 8))
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NDHWC", "NC1HWC0")
    cases.formats_differ("NCDHW", "out")
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    why = "padding would make the kernel fit, but does not count"
    refused("kernel-beyond-one-axis", why, kernelSize=(9, 2, 2), padding=(4, 0, 0))
    refused("empty-rows", "self has no rows", self={"shape": (2, 3, 8, 0, 8)})
    refused("bfloat16-Ascend310P", "no bfloat16 there", every={"dtype": "bfloat16"}, product=INFERENCE.name)


OPERATOR = Operator(
    "aclnnAvgPool3d",
    summary="3-D average pooling",
    header="aclnn_avgpool3d.h",
    axes="DHW",
    parameters=(POOLED, KERNEL, STRIDE, PADDING, CEIL, COUNT_PAD, DIVISOR, OUT),
    products=(A2, A3, INFERENCE, A950),
    default_format="ND",
    windows=fixed_windows,
    rows=(
        *floats((POOLED,), no_bfloat16=CLASSIC),
        same("dtype", OUT, POOLED),
        same("format", OUT, POOLED),
        format_in((POOLED,), FORMATS, source=LIBRARY),
        rank_in((POOLED,), (4, 5)),
        same("rank", OUT, POOLED),
        format_needs_rank((POOLED,), "NCHW", 4, instead="NCDHW or ND", source=LIBRARY),
        no_negative_dims((POOLED, OUT), source=SAFE),
        length_in(KERNEL, (1, 3)),
        length_in(PADDING, (1, 3)),
        length_in(STRIDE, (0, 1, 3)),
        positive(KERNEL),
        at_most_input(KERNEL, POOLED),
        positive(STRIDE),
        not_negative(PADDING),
        at_most_half(PADDING, KERNEL),
        is_pooled(OUT, source=DOCUMENT),
    ),
    planner=plan_average,
    results=pooled_results,
    suite=suite,
    slips=(
        (
            "only the floor formula, with the rule that drops a window hung on it; a mean without padding, "
            "countIncludePad and divisorOverride, windows from o * s on",
            "ceil mode has a formula of its own; windows begin at o * s - p, and divisors as torch has them",
        ),
    ),
    sample=Sample(
        shapes={"self": (1, 16, 4, 4, 4), "out": (1, 16, 1, 1, 1)},
        values={"self": [2.0] * 1024},
        numbers={"kernelSize": (4, 4, 4), "stride": (1, 1, 1), "padding": (0, 0, 0)},
        results={"out": [2.0] * 16},
    ),
)


def avg_pool3d(
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
    """3-D average pooling: the mean of each window.

    ``x`` is an array (N,C,D,H,W) or (C,D,H,W). Parameters are an int, or one or three ints (for D, H and W); no kernel
    is larger than the input. The rest as in ``avg_pool2d``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.avg_pool3d(np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2), 2)
    array([[[[3.5]]]], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return call(OPERATOR, (x,), numbers, product, out)
