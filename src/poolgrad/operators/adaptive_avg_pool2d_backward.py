"""aclnnAdaptiveAvgPool2dBackward: the gradient of adaptive average pooling over H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, INFERENCE, TRAINING
from ..contract.checks import format_in, no_negative_dims, rank_in, same
from ..contract.engine import LIBRARY, SAFE
from ..contract.operator import GraphOperator, Operator, Sample
from ..contract.parameters import GRAD, Role, X, result
from ..contract.pooling import CLASSIC, adaptive_windows, floats, same_batch_and_channels
from ..plans.average import plan_average
from ..run.calls import call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("out")
FORMATS = ("ND", "NCHW", "NCL")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.adaptive_windows()
    cases.without_batch(*FORMATS)
    cases.halves("float16")
    cases.averages()
    cases.layouts()
    for format in FORMATS:
        cases.add(f"rank-4-{format}", f"rank 4 in {format}, which nothing pairs", every={"format": format})
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    cases.add("empty-gradients", "no gradients: the whole output becomes 0", gradOutput={"shape": (2, 3, 0, 4)})
    cases.add("empty-input", "nothing to write is a success", self={"shape": (2, 3, 0, 8)})
    cases.refusals()
    cases.refused_formats("NHWC", "NC1HWC0")
    cases.formats_differ("ND", "gradOutput")
    cases.formats_differ("NC1HWC0", "out")
    cases.refused("batch-of-output", "out has another batch than self", out={"shape": (1, 3, 8, 8)})
    for product in (INFERENCE, TRAINING):
        why = f"{product.name} has no bfloat16"
        cases.refused(f"bfloat16-{product.soc}", why, every={"dtype": "bfloat16"}, product=product.name)


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
        no_negative_dims((X, GRAD)),
        rank_in((OUT,), (3, 4)),
        same("rank", OUT, X),
        same_batch_and_channels(OUT, X, source=LIBRARY),
        same_batch_and_channels(GRAD, X, source=LIBRARY),
        same("shape", OUT, X, source=SAFE),
        *floats((GRAD, X), no_bfloat16=CLASSIC),
        same("dtype", GRAD, X),
        same("dtype", OUT, X, source=SAFE),
        same("format", GRAD, X),
        format_in((GRAD, X), FORMATS),
        format_in((OUT,), FORMATS, source=SAFE),
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
