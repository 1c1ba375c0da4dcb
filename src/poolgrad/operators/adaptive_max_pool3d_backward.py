"""aclnnAdaptiveMaxPool3dBackward: the gradient of adaptive max pooling over D, H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, ANY, INFERENCE
from ..contract.checks import dtype_in, format_in, format_needs_rank, no_negative_dims, rank_in, same
from ..contract.engine import LIBRARY, SAFE
from ..contract.operator import GraphOperator, Operator, Sample
from ..contract.parameters import Role, described_input, gradient, indices, result
from ..contract.pooling import (
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    ON_PRODUCTS,
    adaptive_windows,
    if_dtype,
    plane_below,
    same_batch_and_channels,
    unless_empty,
)
from ..plans.maximum import plan_maximum
from ..run.calls import call

if TYPE_CHECKING:
    from ..cases.suite import Suite

GRAD, X, INDICES, OUT = gradient(), described_input(), indices(), result("gradInput")
ALL = (GRAD, X, INDICES, OUT)
FORMATS = ("ND", "NCDHW", "NCHW")

A2_A3 = frozenset((A2, A3))
NOT_A2_A3 = frozenset((A950, ANY))


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, refused = cases.add, cases.refused

    def sizes(out: tuple[int, ...], size: tuple[int, ...], lead: tuple[int, ...] = (2, 3)) -> dict[str, object]:
        return {"gradOutput": {"shape": (*lead, *out)}, "self": {"shape": (*lead, *size)}}

    why = "windows of different lengths that overlap: duplicates add up"
    add("uneven", why, **sizes((2, 4, 5), (5, 9, 11)))
    add("upsampling", "more windows than elements: every maximum serves several", **sizes((5, 9, 7), (3, 4, 5)))
    add("global", "one window over all of it", **sizes((1, 1, 1), (3, 7, 5)))
    add("identity", "as many windows as elements", **sizes((3, 5, 7), (3, 5, 7)))
    add("flat", "depth 1 is two-dimensional pooling", **sizes((1, 3, 3), (1, 7, 8)))
    add("empty-batch", "an empty batch is a success with nothing to do", **sizes((4, 4, 4), (8, 8, 8), (0, 3)))
    add("empty-gradients", "no gradients: the whole output becomes 0", **sizes((2, 0, 4), (4, 8, 8)))
    add("int64", "Ascend 950 takes int64 indices", indices={"dtype": "int64"}, product=A950.name)
    for dtype in ("float16", "bfloat16"):
        why = f"{dtype} is summed in float32 and rounded once"
        add(f"dtype-{dtype}", why, floats={"dtype": dtype}, **sizes((5, 9, 7), (3, 4, 5)))
    for format in FORMATS:
        add(
            f"rank-4-{format}",
            f"rank 4 is C, D, H, W, in {format}",
            every={"format": format},
            **sizes((2, 3, 4), (5, 7, 9), (3,)),
        )
    add("NCDHW", "format NCDHW with rank 5", every={"format": "NCDHW"})
    cases.maxima()
    cases.layouts()
    cases.nulls()
    refused("product", "the product does not have the operator", product=INFERENCE.name)
    refused("int64-size", "a size beyond 64 bits", self={"shape": (2, 3, 8, 8, 2**63)})
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "gradInput and self differ in dtype", gradInput={"dtype": "bfloat16"})
    refused("dtype-int32", "integers are not pooled", floats={"dtype": "int32"})
    refused("dtype-float64", "no product has float64", floats={"dtype": "float64"}, product=A2.name)
    refused("indices-int16", "indices have 32 or 64 bits", indices={"dtype": "int16"})
    for product in (A2, A3):
        why = f"{product.name} takes int32 indices only"
        refused(f"int64-{product.soc}", why, indices={"dtype": "int64"}, product=product.name)
    refused("rank-of-gradients", "gradOutput has rank 4, self rank 5", gradOutput={"shape": (3, 4, 4, 4)})
    refused("rank-of-indices", "indices have rank 4, self rank 5", indices={"shape": (3, 4, 4, 4)})
    refused("rank-of-output", "gradInput has rank 4, self rank 5", gradInput={"shape": (3, 8, 8, 8)})
    refused("shape-of-indices", "indices have another shape than gradOutput", indices={"shape": (2, 3, 4, 4, 5)})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 8, 8, 9)})
    refused("size-negative", "a negative size", self={"shape": (2, 3, 8, -8, 8)})
    refused("volume-too-large", "an index can't hold 2^31 places", self={"shape": (2, 3, 2**11, 2**10, 2**10)})
    for parameter in ("gradOutput", "indices", "gradInput"):
        refused(f"format-of-{parameter}", f"{parameter} and self differ in format", **{parameter: {"format": "NCDHW"}})
    for format in ("NDHWC", "FRACTAL_NZ"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    refused("rank-3", "rank 3", gradOutput={"shape": (4, 4, 4)}, self={"shape": (8, 8, 8)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 4, 4, 4)})


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
        same("dtype", GRAD, X),
        same("dtype", OUT, X),
        dtype_in((X,), HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in((X,), EVERY_FLOAT, on=NO_PRODUCT),
        dtype_in((INDICES,), ("int32", "int64")),
        same("rank", GRAD, X),
        same("rank", INDICES, X),
        same("rank", OUT, X),
        same("shape", GRAD, INDICES),
        same("shape", X, OUT),
        no_negative_dims(ALL, source=SAFE),
        plane_below(X, "DHW", 2**31 - 1, on=A2_A3),
        if_dtype(INDICES, "int32", plane_below(X, "DHW", 2**31 - 1, on=NOT_A2_A3, source=SAFE)),
        same("format", GRAD, X),
        same("format", INDICES, X),
        same("format", OUT, X),
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
    ir=(GraphOperator("AdaptiveMaxPool3DGrad", {Role.INPUT: "x", Role.GRADIENT: "grad", Role.INDICES: "argmax"}),),
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
