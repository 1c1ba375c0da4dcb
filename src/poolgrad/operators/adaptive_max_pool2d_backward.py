"""aclnnAdaptiveMaxPool2dBackward: the gradient of adaptive max pooling over H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3
from ..contract.checks import all_same, dtype_in, format_in, format_needs_rank, no_negative_dims, rank_in, same
from ..contract.engine import SAFE
from ..contract.operator import ADAPTIVE_MAX_POOL_3D_GRAD, Operator, Sample
from ..contract.parameters import GRAD, INDICES, X, result
from ..contract.pooling import adaptive_windows, floats, plane_below, same_batch_and_channels
from ..plans.maximum import plan_maximum
from ..run.calls import call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("gradInput")
ALL = (GRAD, X, INDICES, OUT)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.adaptive_windows()
    cases.without_batch("ND", "NCHW", "NCL")
    cases.halves()
    cases.maxima()
    cases.layouts()
    cases.add("int64", "int64 indices", indices={"dtype": "int64"})
    cases.add("NCHW", "format NCHW with rank 4", every={"format": "NCHW"})
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    why = "no gradients: the whole output becomes 0"
    cases.add("empty-gradients", why, gradOutput={"shape": (2, 3, 0, 4)})
    cases.refusals()
    cases.refused_formats("NHWC", "FRACTAL_NZ")
    cases.formats_differ("NCHW", "gradOutput", "indices", "gradInput")
    cases.refused("indices-int16", "indices have 32 or 64 bits", indices={"dtype": "int16"})
    cases.refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    cases.refused("plane-too-large", "an index can't hold 2^31 places", self={"shape": (2, 3, 2**16, 2**15)})


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
        *floats((GRAD, X, OUT)),
        *all_same("dtype", (GRAD, OUT), X),
        dtype_in((INDICES,), ("int32", "int64")),
        *all_same("rank", (GRAD, INDICES, OUT), X),
        same("shape", GRAD, INDICES),
        same("shape", X, OUT),
        *all_same("format", (GRAD, INDICES, OUT), X),
        format_in((X,), ("ND", "NCHW", "NCL")),
        rank_in((X,), (3, 4)),
        format_needs_rank(ALL, "NCL", 3),
        no_negative_dims(ALL),
        same_batch_and_channels(GRAD, X, source=SAFE),
        plane_below(X, "HW", 2**31 - 1),
    ),
    planner=plan_maximum,
    atk_has_output_size=True,
    suite=suite,
    torch="adaptive_max_pool2d",
    slips=(
        ("right bound ⌈m·H/Ho⌉, closed intervals", "⌈(m+1)·H/Ho⌉, half open"),
        ("the null check omits gradInput", "all four pointers"),
        (
            "the sample declares int32 data as INT64 over a block of 4 bytes, with index 6 in a 2×2 plane",
            "161002 at phase two; declared INT32, the index error 507015",
        ),
        (
            "H·W limited to 2²⁴ where sizes do not divide, since the device kernel keeps indices in float32",
            "no such limit here: indices stay integers",
        ),
    ),
    ir=(ADAPTIVE_MAX_POOL_3D_GRAD,),
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
