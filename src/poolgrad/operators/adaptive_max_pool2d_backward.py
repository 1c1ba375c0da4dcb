"""aclnnAdaptiveMaxPool2dBackward: the gradient of adaptive max pooling over H and W."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950
from ..base.status import ACL_ERROR_RT_AICORE_EXCEPTION
from ..contract.checks import dtype_in, format_in, format_needs_rank, no_negative_dims, rank_in, same
from ..contract.engine import SAFE
from ..contract.operator import GraphOperator, Operator, Sample
from ..contract.parameters import Role, described_input, gradient, indices, result
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

if TYPE_CHECKING:
    from ..cases.suite import Suite

GRAD, X, INDICES, OUT = gradient(), described_input(), indices(), result("gradInput")
FLOATS, ALL = (GRAD, X, OUT), (GRAD, X, INDICES, OUT)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add = cases.add

    def sizes(out: tuple[int, ...], size: tuple[int, ...]) -> dict[str, object]:
        return {"gradOutput": {"shape": out}, "self": {"shape": size}}

    add("uneven", "windows of different lengths that overlap: duplicates add up", **sizes((2, 3, 4, 5), (2, 3, 9, 11)))
    add("upsampling", "more windows than elements: every maximum serves several", **sizes((2, 3, 9, 7), (2, 3, 4, 5)))
    add("global", "one window over the whole plane", **sizes((2, 3, 1, 1), (2, 3, 7, 5)))
    add("identity", "as many windows as elements", **sizes((2, 3, 5, 7), (2, 3, 5, 7)))
    add("int64", "int64 indices", indices={"dtype": "int64"})
    for dtype in ("float16", "bfloat16"):
        why = f"{dtype} is summed in float32 and rounded once"
        add(f"dtype-{dtype}", why, floats={"dtype": dtype}, **sizes((2, 3, 9, 7), (2, 3, 4, 5)))
    for format in ("ND", "NCHW", "NCL"):
        three = sizes((3, 3, 4), (3, 7, 9))
        add(f"rank-3-{format}", f"rank 3 is C, H, W, in {format}", every={"format": format}, **three)
    add("NCHW", "format NCHW with rank 4", every={"format": "NCHW"})
    add("empty-batch", "an empty batch is a success with nothing to do", **sizes((0, 3, 4, 4), (0, 3, 8, 8)))
    add("empty-gradients", "no gradients: the whole output becomes 0", **sizes((2, 3, 0, 4), (2, 3, 8, 8)))
    add("nan", "NaN is the maximum of its window", self={"values": math.nan})
    add(
        "indices-drawn",
        "legal indices that are no maxima",
        indices={"values": "windows"},
        **sizes((2, 3, 3, 5), (2, 3, 8, 8)),
    )
    add("indices-one-place", "every gradient goes to one element", indices={"values": 63})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    add("channels-last", "views whose channels lie side by side", self=channels_last, gradInput=channels_last)
    backwards = {"strides": (-48, -16, -4, -1), "storage": (96,), "offset": 95}
    add("backwards", "gradOutput and indices are read from their ends", gradOutput=backwards, indices=backwards)
    bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
    add("index-beyond-plane", "H*W is outside the plane", indices={"values": 64}, **bad)
    _refusals(cases)


def _refusals(cases: Suite) -> None:
    refused = cases.refused
    cases.nulls()
    refused("product", "the product does not have the operator", product=A950.name)
    refused("int64-size", "a size beyond 64 bits", self={"shape": (2, 3, 8, 2**63)})
    refused("dtype-int32", "integers are not pooled", floats={"dtype": "int32"})
    refused("dtype-float64", "no product has float64", floats={"dtype": "float64"}, product=A2.name)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "gradInput and self differ in dtype", gradInput={"dtype": "bfloat16"})
    refused("indices-int16", "indices have 32 or 64 bits", indices={"dtype": "int16"})
    refused("rank-of-gradients", "gradOutput has rank 3, self rank 4", gradOutput={"shape": (3, 4, 4)})
    refused("rank-of-indices", "indices have rank 3, self rank 4", indices={"shape": (3, 4, 4)})
    refused("rank-of-output", "gradInput has rank 3, self rank 4", gradInput={"shape": (3, 8, 8)})
    refused("shape-of-indices", "indices have another shape than gradOutput", indices={"shape": (2, 3, 4, 5)})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 8, 9)})
    for parameter in ("gradOutput", "indices", "gradInput"):
        refused(f"format-of-{parameter}", f"{parameter} and self differ in format", **{parameter: {"format": "NCHW"}})
    for format in ("NHWC", "FRACTAL_NZ"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("rank-2", "rank 2", gradOutput={"shape": (4, 4)}, self={"shape": (8, 8)})
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("size-negative", "a negative size", self={"shape": (2, 3, -8, 8)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 4, 4)})
    refused("plane-too-large", "an index can't hold 2^31 places", self={"shape": (2, 3, 2**16, 2**15)})
    huge = {"gradOutput": {"shape": (2**30, 2**30, 4, 4)}, "self": {"shape": (2**30, 2**30, 8, 8)}}
    refused("huge", "more bytes than 64 bits count", **huge)
    refused("outside-storage", "the view of indices ends behind its storage", indices={"storage": (95,)})
    refused(
        "output-overlaps",
        "elements of gradInput share memory",
        gradInput={"strides": (192, 64, 8, 0), "storage": (384,)},
    )


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
    ir=(GraphOperator("AdaptiveMaxPool3DGrad", {Role.INPUT: "x", Role.GRADIENT: "grad", Role.INDICES: "argmax"}),),
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
