"""aclnnAdaptiveMaxPool2dBackward: the gradient of adaptive max pooling over H and W."""

from __future__ import annotations

from typing import Any

from ..base.products import A2, A3
from ..contract.checks import dtype_in, format_in, format_needs_rank, no_negative_dims, rank_in, same
from ..contract.engine import SAFE
from ..contract.operator import Operator, Sample
from ..contract.parameters import described_input, gradient, indices, result
from ..contract.pooling import (
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    ON_PRODUCTS,
    adaptive_windows,
    plane_below,
    same_batch_and_channels,
)
from ..plans.maximum import plan_maximum
from ..run.calls import call

GRAD, X, INDICES, OUT = gradient(), described_input(), indices(), result("gradInput")
FLOATS, ALL = (GRAD, X, OUT), (GRAD, X, INDICES, OUT)

OPERATOR = Operator(
    "aclnnAdaptiveMaxPool2dBackward",
    summary="the gradient of 2-D adaptive max pooling",
    header="aclnn_adaptive_max_pool2d_backward.h",
    axes="HW",
    parameters=ALL,
    products=(A2, A3),
    default_format="ND",
    windows=adaptive_windows,
    rows=(
        dtype_in(FLOATS, HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in(FLOATS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", GRAD, X),
        same("dtype", OUT, X),
        dtype_in((INDICES,), ("int32", "int64")),
        same("rank", GRAD, X),
        same("rank", INDICES, X),
        same("rank", OUT, X),
        same("shape", GRAD, INDICES),
        same("shape", X, OUT),
        same("format", GRAD, X),
        same("format", INDICES, X),
        same("format", OUT, X),
        format_in((X,), ("ND", "NCHW", "NCL")),
        rank_in((X,), (3, 4)),
        format_needs_rank(ALL, "NCL", 3),
        no_negative_dims(ALL),
        same_batch_and_channels(GRAD, X, source=SAFE),
        plane_below(X, "HW", 2**31 - 1),
    ),
    planner=plan_maximum,
    atk_has_output_size=True,
    # The document's has index 6, which is outside of its plane: it ends in status 507015.
    sample=Sample(
        shapes={"gradOutput": (1, 1, 1, 1), "self": (1, 1, 2, 2), "indices": (1, 1, 1, 1), "gradInput": (1, 1, 2, 2)},
        values={"gradOutput": [0.4757], "indices": [3]},
        numbers={},
        results={"gradInput": [0, 0, 0, 0.4757]},
    ),
)


def adaptive_max_pool2d_backward(
    grad_output: Any, x: Any, indices: Any, *, product: str | None = None, out: Any = None
) -> Any:
    """The gradient of 2-D adaptive max pooling with respect to its input.

    ``grad_output`` and ``indices`` are (N,C,H,W) or (C,H,W); the rest as in ``max_pool2d_with_indices_backward``.

    >>> import numpy as np, poolgrad
    >>> grad, where = np.array([[[1.0, 2.0]]]), np.array([[[1, 1]]], np.int32)
    >>> poolgrad.adaptive_max_pool2d_backward(grad, (1, 1, 3), where)
    array([[[0., 3., 0.]]])
    """
    return call(OPERATOR, (grad_output, x, indices), (), product, out)
