"""aclnnAdaptiveMaxPool3dBackward: the gradient of adaptive max pooling over D, H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950
from ..contract.checks import all_same, dtype_in, format_in, format_needs_rank, no_negative_dims, rank_in, same
from ..contract.engine import LIBRARY, SAFE
from ..contract.operator import ADAPTIVE_MAX_POOL_3D_GRAD, Operator, Sample
from ..contract.parameters import GRAD, INDICES, X, result
from ..contract.pooling import (
    A2_A3,
    NOT_A2_A3,
    adaptive_windows,
    floats,
    if_dtype,
    plane_below,
    same_batch_and_channels,
    unless_empty,
)
from ..plans.maximum import plan_maximum
from ..run.calls import call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("gradInput")
ALL = (GRAD, X, INDICES, OUT)
FORMATS = ("ND", "NCDHW", "NCHW")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.adaptive_windows()
    cases.without_batch(*FORMATS)
    cases.halves()
    cases.maxima()
    cases.layouts()
    cases.add("int64", "Ascend 950 takes int64 indices", indices={"dtype": "int64"}, product=A950.name)
    cases.add("NCDHW", "format NCDHW with rank 5", every={"format": "NCDHW"})
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8, 8))
    cases.add("empty-gradients", "no gradients: the whole output becomes 0", gradOutput={"shape": (2, 3, 2, 0, 4)})
    cases.refusals()
    cases.refused_formats("NDHWC", "FRACTAL_NZ")
    cases.formats_differ("NCDHW", "gradOutput", "indices", "gradInput")
    cases.refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    cases.refused("indices-int16", "indices have 32 or 64 bits", indices={"dtype": "int16"})
    for product in (A2, A3):
        why = f"{product.name} takes int32 indices only"
        cases.refused(f"int64-{product.soc}", why, indices={"dtype": "int64"}, product=product.name)
    why = "an index can't hold 2^31 places"
    cases.refused("volume-too-large", why, self={"shape": (2, 3, 2**11, 2**10, 2**10)})


OPERATOR = Operator(
    "aclnnAdaptiveMaxPool3dBackward",
    summary="the gradient of 3-D adaptive max pooling",
    header="aclnn_adaptive_max_pool3d_backward.h",
    axes="DHW",
    parameters=ALL,
    products=(A2, A3, A950),
    default_format="ND",
    windows=adaptive_windows,
    rows=(
        *all_same("dtype", (GRAD, OUT), X),
        *floats((X,)),
        dtype_in((INDICES,), ("int32", "int64")),
        *all_same("rank", (GRAD, INDICES, OUT), X),
        same("shape", GRAD, INDICES),
        same("shape", X, OUT),
        no_negative_dims(ALL, source=SAFE),
        plane_below(X, "DHW", 2**31 - 1, on=A2_A3),
        if_dtype(INDICES, "int32", plane_below(X, "DHW", 2**31 - 1, on=NOT_A2_A3, source=SAFE)),
        *all_same("format", (GRAD, INDICES, OUT), X),
        format_in((X,), FORMATS, source=SAFE),
        rank_in((X,), (4, 5)),
        format_needs_rank((X,), "NCHW", 4, instead="NCDHW or ND", source=LIBRARY),
        dtype_in((INDICES,), ("int32",), on=A2_A3, key="indices-dtype-of-product"),
        unless_empty(same_batch_and_channels(GRAD, X, source=SAFE)),
    ),
    planner=plan_maximum,
    suite=suite,
    torch="adaptive_max_pool3d",
    slips=(
        ("intervals closed on the right; the null table omits gradInput", "half open; all four pointers"),
        (
            "shapes limited to 2²⁴ where sizes do not divide, since the device kernel keeps indices in float32",
            "no such limit here: indices stay integers",
        ),
    ),
    ir=(ADAPTIVE_MAX_POOL_3D_GRAD,),
    sample=Sample(
        shapes={
            "gradOutput": (1, 1, 1, 1, 1),
            "self": (1, 1, 2, 2, 2),
            "indices": (1, 1, 1, 1, 1),
            "gradInput": (1, 1, 2, 2, 2),
        },
        values={"gradOutput": [0.4757], "indices": [6]},
        numbers={},
        results={"gradInput": [0, 0, 0, 0, 0, 0, 0.4757, 0]},
    ),
)


def adaptive_max_pool3d_backward(
    grad_output: Any, x: Any, indices: Any, *, product: str | None = None, out: Any = None
) -> Any:
    """The gradient of 3-D adaptive max pooling with respect to its input.

    ``grad_output`` and ``indices`` are (N,C,D,H,W) or (C,D,H,W); the rest as in ``max_pool3d_with_argmax_backward``.

    >>> import numpy as np, poolgrad
    >>> grad, where = np.array([[[[1.0, 2.0]]]]), np.array([[[[1, 1]]]], np.int32)
    >>> poolgrad.adaptive_max_pool3d_backward(grad, (1, 1, 1, 3), where)
    array([[[[0., 3., 0.]]]])
    """
    return call(OPERATOR, (grad_output, x, indices), (), product, out)
