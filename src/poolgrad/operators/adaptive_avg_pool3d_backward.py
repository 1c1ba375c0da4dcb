"""aclnnAdaptiveAvgPool3dBackward: the gradient of adaptive average pooling over D, H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, INFERENCE, TRAINING
from ..contract.checks import dims, format_in, rank_in, same
from ..contract.engine import DOCUMENT, SAFE
from ..contract.operator import GraphOperator, Operator, Sample
from ..contract.parameters import GRAD, Role, X, result
from ..contract.pooling import NO_PRODUCT, ON_PRODUCTS, adaptive_windows, floats, same_batch_and_channels
from ..plans.average import plan_average
from ..run.calls import call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("out")
TENSORS = (GRAD, X, OUT)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.base(size=4, format="NCDHW")
    cases.adaptive_windows()
    cases.without_batch("NCDHW", "ND")
    cases.halves()
    cases.averages()
    cases.layouts()
    cases.add("ND", "format ND with rank 5", every={"format": "ND"})
    cases.refusals()
    cases.refused_formats("NCHW", "NDHWC")
    cases.formats_differ("ND", "gradOutput", "out")
    cases.refused("empty-depth", "self has no elements", self={"shape": (2, 3, 0, 4, 4)})
    empty = {"gradOutput": {"shape": (0, 3, 2, 2, 2)}, "self": {"shape": (0, 3, 4, 4, 4)}}
    cases.refused("empty-batch", "self has no elements", product=A2.name, **empty)
    cases.refused("empty-gradients", "gradOutput has no elements", gradOutput={"shape": (2, 3, 2, 0, 2)})


OPERATOR = Operator(
    "aclnnAdaptiveAvgPool3dBackward",
    summary="the gradient of 3-D adaptive average pooling",
    header="aclnn_adaptive_avg_pool3d_backward.h",
    axes="DHW",
    parameters=TENSORS,
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
        *floats(TENSORS),
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
