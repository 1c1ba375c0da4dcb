"""aclnnAdaptiveAvgPool3dBackward: the gradient of adaptive average pooling over D, H and W."""

from __future__ import annotations

from typing import Any

from ..base.products import A2, A3, INFERENCE, TRAINING
from ..contract.checks import dims, dtype_in, format_in, rank_in, same
from ..contract.engine import DOCUMENT, SAFE
from ..contract.operator import Operator, Sample
from ..contract.parameters import described_input, gradient, result
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

GRAD, X, OUT = gradient(), described_input(), result("out")
TENSORS = (GRAD, X, OUT)

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
