"""aclnnMaxPool2dWithIndicesBackward: the gradient of max pooling over H and W."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, ANY
from ..base.status import ACL_ERROR_RT_AICORE_EXCEPTION
from ..contract.checks import (
    at_most_half,
    dtype_in,
    each,
    format_in,
    format_needs_rank,
    length_in,
    not_negative,
    positive,
    rank_in,
    same,
)
from ..contract.engine import LIBRARY
from ..contract.operator import IR_WINDOWS, GraphOperator, Operator, Sample
from ..contract.parameters import (
    Role,
    ceil_mode,
    described_input,
    dilation,
    gradient,
    indices,
    kernel_size,
    padding,
    result,
    stride,
)
from ..contract.pooling import (
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    fixed_windows,
    is_pooled,
    positive_but_batch,
    windows_fit,
    windows_not_empty,
)
from ..plans.maximum import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

GRAD, X, INDICES, OUT = gradient(), described_input(), indices(), result("gradInput")
KERNEL, STRIDE, PADDING, DILATION, CEIL = kernel_size(), stride(), padding(), dilation(), ceil_mode()
FLOATS, ALL = (GRAD, X, OUT), (GRAD, X, INDICES, OUT)

A2_A3 = frozenset((A2, A3))
# Who has more than one dtype, and dilation.
NOT_A2_A3 = frozenset((A950, ANY))


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    _windows(cases)
    _indices(cases)
    _ascend_950(cases)
    _layouts(cases)
    _refusals(cases)
    _refused_tensors(cases)


def _windows(cases: Suite) -> None:
    pooled = cases.pooled
    overlapping = {"kernelSize": (3, 3), "stride": (1, 1), "padding": (1, 1)}
    pooled("overlap", "one maximum serves many windows: duplicates add up", (2, 3, 9, 7), **overlapping)
    why = "all elements are equal: the first of each window is the maximum"
    pooled("equal", why, (1, 2, 8, 8), self={"values": 1.0}, **overlapping)
    pooled(
        "padding", "windows that reach into the padding", (2, 3, 9, 7), kernelSize=(3, 3), stride=(2, 2), padding=(1, 1)
    )
    pooled("ceil", "ceil mode's last window is cut off", (2, 3, 8, 8), kernelSize=(3, 3), ceilMode=True)
    why = "a ceil-mode window that would begin in the right padding is dropped"
    pooled("ceil-dropped", why, (2, 3, 4, 4), stride=(3, 3), padding=(1, 1), ceilMode=True)
    pooled(
        "lengths-1",
        "arrays of one value hold for both axes",
        (2, 3, 9, 9),
        kernelSize=(3,),
        stride=(2,),
        padding=(1,),
        dilation=(1,),
    )
    pooled("stride-empty", "an empty stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=())
    pooled("gaps", "a stride beyond the kernel leaves elements that get 0", (1, 2, 11, 11), stride=(4, 5))
    pooled("global", "one window over the whole plane", (2, 3, 7, 5), kernelSize=(7, 5))
    pooled("one-element", "the smallest tensors there are", (1, 1, 1, 1), kernelSize=(1, 1), stride=(1, 1))
    empty = {"gradOutput": {"shape": (0, 3, 4, 4)}, "self": {"shape": (0, 3, 8, 8)}}
    cases.add("empty-batch", "an empty batch is a success with nothing to do", **empty)


def _indices(cases: Suite) -> None:
    add, pooled = cases.add, cases.pooled
    pooled("nan", "NaN is the maximum of its window", (1, 1, 8, 8), self={"values": math.nan})
    pooled(
        "minus-inf", "where all is -Inf an index still points into its window", (1, 1, 8, 8), self={"values": -math.inf}
    )
    overlapping = {"kernelSize": (3, 3), "stride": (1, 1), "padding": (1, 1)}
    pooled(
        "indices-drawn", "legal indices that are no maxima", (2, 3, 9, 7), indices={"values": "windows"}, **overlapping
    )
    add("indices-astray", "indices outside their windows, inside the plane", indices={"values": "plane"})
    add("indices-one-place", "every gradient goes to one element", indices={"values": 63})
    bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
    add("index-beyond-plane", "H*W is outside the plane", indices={"values": 64}, **bad)
    add("index-negative", "-1 is outside the plane", indices={"values": -1}, **bad)


def _ascend_950(cases: Suite) -> None:
    pooled = cases.pooled
    why = "Ascend 950 takes dilation"
    pooled("dilation-2", why, (2, 3, 11, 9), kernelSize=(3, 3), dilation=(2, 2), padding=(1, 1), product=A950.name)
    pooled("dilation-uneven", why, (2, 3, 13, 12), kernelSize=(2, 3), dilation=(3, 2), stride=(1, 2), product=A950.name)
    pooled("dilation-ceil", why, (2, 3, 11, 11), kernelSize=(3, 3), dilation=(2, 3), ceilMode=True, product=A950.name)
    pooled("int64", "Ascend 950 takes int64 indices", (2, 3, 8, 8), indices={"dtype": "int64"}, product=A950.name)
    for dtype in ("float16", "bfloat16"):
        why = f"{dtype} is summed in float32 and rounded once"
        window = {"kernelSize": (3, 3), "stride": (1, 1), "padding": (1, 1)}
        pooled(f"dtype-{dtype}", why, (2, 3, 9, 7), floats={"dtype": dtype}, product=A950.name, **window)
    for rank, lead in ((4, (2,)), (3, ())):
        why = f"NHWC with rank {rank}: an index still means h*W+w in one plane"
        pooled(f"NHWC-rank-{rank}", why, (*lead, 8, 6, 3), every={"format": "NHWC"}, product=A950.name)


def _layouts(cases: Suite) -> None:
    for format in ("NCHW", "ND", "NCL"):
        cases.pooled(f"rank-3-{format}", f"rank 3 is C, H, W, in {format}", (3, 8, 6), every={"format": format})
    cases.add("ND", "format ND with rank 4", every={"format": "ND"})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    cases.add("channels-last", "views whose channels lie side by side", self=channels_last, gradInput=channels_last)
    apart = {"strides": (192, 64, 16, 2), "storage": (384,), "offset": 1}
    cases.add(
        "strided", "gradOutput and indices are every second element of something", gradOutput=apart, indices=apart
    )
    wide = {"strides": (600, 200, 20, 2), "storage": (1200,), "offset": 3}
    cases.add("strided-output", "memory between the output's elements is not touched", gradInput=wide)


def _refusals(cases: Suite) -> None:
    refused = cases.refused
    cases.nulls()
    refused("product", "the product does not have the operator", product="Atlas inference series")
    refused("int64-dilation", "a number beyond 64 bits", dilation=(1, 2**63))
    for parameter, length in (("kernelSize", 0), ("stride", 3), ("padding", 3), ("dilation", 0)):
        refused(f"{parameter}-length-{length}", f"{parameter} has {length} values", **{parameter: (1,) * length})
    refused("kernel-zero", "a kernel of 0", kernelSize=(0, 2))
    refused("stride-negative", "a negative stride", stride=(-2, 2))
    refused("padding-negative", "negative padding", padding=(0, -1))
    refused("padding-beyond-half", "padding is more than half the kernel", kernelSize=(3, 3), padding=(2, 2))
    for product in (A2.name, A3.name):
        refused(
            f"dilation-{product.replace(' ', '-')}",
            f"{product} takes dilation 1 only",
            dilation=(2, 1),
            product=product,
        )
    refused("dilation-zero", "a dilation of 0", dilation=(0, 1))
    refused("windows-do-not-fit", "the kernel is larger than the input", kernelSize=(9, 9))
    refused(
        "window-empty",
        "dilation steps over the whole input: no index could be right",
        kernelSize=(2, 2),
        stride=(1, 2),
        padding=(1, 0),
        dilation=(2, 1),
        self={"shape": (2, 3, 1, 8)},
        product=A950.name,
    )


def _refused_tensors(cases: Suite) -> None:
    refused = cases.refused
    cases.refused_planes()
    refused("dtype-int32", "integers are not pooled", floats={"dtype": "int32"})
    refused("dtype-float16-Atlas-A2", "Atlas A2 has float32 only", floats={"dtype": "float16"}, product=A2.name)
    refused("dtype-float64", "no product has float64", floats={"dtype": "float64"}, product=A950.name)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "gradInput and self differ in dtype", gradInput={"dtype": "bfloat16"})
    refused("indices-float", "indices are integers", indices={"dtype": "float32"})
    refused("indices-int64-Atlas-A2", "Atlas A2 takes int32 indices only", indices={"dtype": "int64"}, product=A2.name)
    refused("format-private", "private formats are refused", every={"format": "NC1HWC0"})
    refused("format-NHWC-Atlas-A2", "NHWC is on Ascend 950 only", every={"format": "NHWC"}, product=A2.name)
    for parameter in ("gradOutput", "indices", "gradInput"):
        refused(f"format-of-{parameter}", f"{parameter} and self differ in format", **{parameter: {"format": "ND"}})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 9, 8)})
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    refused("empty-rows", "only the batch may be empty", self={"shape": (2, 3, 0, 8)})
    refused("batch-differs", "gradOutput has another batch than self", gradOutput={"shape": (1, 3, 4, 4)})
    refused("shape-of-indices", "indices have another shape than gradOutput", indices={"shape": (2, 3, 4, 3)})
    refused("outside-storage", "the view of indices ends behind its storage", indices={"storage": (2, 3, 4, 3)})


OPERATOR = Operator(
    "aclnnMaxPool2dWithIndicesBackward",
    summary="the gradient of 2-D max pooling",
    header="aclnn_max_pool2d_with_indices_backward.h",
    axes="HW",
    parameters=(GRAD, X, INDICES, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT),
    products=(A2, A3, A950),
    default_format="NCHW",
    channels_last="NHWC",
    windows=fixed_windows,
    rows=(
        dtype_in(FLOATS, ("float32",), on=A2_A3),
        dtype_in(FLOATS, HALVES_AND_FLOAT, on=frozenset((A950,))),
        dtype_in(FLOATS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", GRAD, X, on=NOT_A2_A3),
        same("dtype", OUT, X, on=NOT_A2_A3),
        dtype_in((INDICES,), ("int32",), on=A2_A3),
        dtype_in((INDICES,), ("int32", "int64"), on=NOT_A2_A3),
        format_in((X,), ("NCHW", "ND", "NCL"), on=A2_A3),
        format_in((X,), ("NCHW", "ND", "NCL", "NHWC"), on=NOT_A2_A3),
        same("format", GRAD, X),
        same("format", INDICES, X),
        same("format", OUT, X),
        rank_in(ALL, (3, 4)),
        format_needs_rank(ALL, "NCL", 3),
        length_in(KERNEL, (1, 2)),
        length_in(STRIDE, (0, 1, 2)),
        length_in(PADDING, (1, 2)),
        length_in(DILATION, (1, 2)),
        positive(KERNEL),
        positive(STRIDE),
        not_negative(PADDING),
        at_most_half(PADDING, KERNEL, source=LIBRARY),
        each(DILATION, "dilation-one", "1 on both axes", lambda v: v != 1, "Use 1, or Ascend 950.", on=A2_A3),
        positive(DILATION, on=NOT_A2_A3),
        same("shape", OUT, X),
        positive_but_batch(X, "HW"),
        windows_fit(X, "HW"),
        windows_not_empty(DILATION, on=NOT_A2_A3),
        is_pooled(GRAD),
        same("shape", INDICES, GRAD),
    ),
    planner=plan_maximum,
    suite=suite,
    torch="max_pool2d",
    slips=(
        ("braces turn `- dilation * (k - 1) - 1` into `+ 1`", "the usual formula"),
        (
            'the rule that drops the last window stands for both modes; indices "up to H*W"',
            "it only bites in ceil mode; below H*W",
        ),
        (
            'the null check lists two pointers; "CHW" named as a format',
            "all eight pointers; rank 3 in NCHW, NCL or ND",
        ),
        (
            '"NaN and -Inf not supported" in the input',
            "a matter of the forward pass; the gradient only moves values, all are right",
        ),
        ('padding "up to kernelSize"', "at most half of it: *library*, and torch (`padding-half`)"),
    ),
    ir=(
        GraphOperator(
            "MaxPoolGradWithArgmaxV3",
            {Role.INPUT: "x", Role.GRADIENT: "grad", Role.INDICES: "argmax"} | IR_WINDOWS | {Role.DILATION: "dilation"},
            words=("dtype", "data_format"),
        ),
    ),
    sample=Sample(
        shapes={"gradOutput": (1, 1, 2, 1), "self": (1, 1, 4, 3), "indices": (1, 1, 2, 1), "gradInput": (1, 1, 4, 3)},
        values={"gradOutput": [0.4757, 0.1726], "indices": [0, 6]},
        numbers={"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)},
        results={"gradInput": [0.4757, 0, 0, 0, 0, 0, 0.1726, 0, 0, 0, 0, 0]},
    ),
)


def max_pool2d_with_indices_backward(
    grad_output: Any,
    x: Any,
    indices: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    data_format: str = "NCHW",
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 2-D max pooling with respect to its input.

    ``indices`` (int32 or int64, of the shape of ``grad_output``) say where each maximum stood: ``h * W + w`` in its
    own plane. With ``data_format="NHWC"`` all tensors are (N,H,W,C) or (H,W,C); an index still means ``h * W + w``.
    Other parameters, results and errors as in ``avg_pool2d_backward``.

    An index outside its plane raises ``IndexRangeError`` (status 507015), which names the first one in the order of
    planes, rows and columns. The values in the output are then unspecified; nothing outside it was written.

    >>> import numpy as np, poolgrad
    >>> grad, where = np.array([[[1.0]]], np.float32), np.array([[[3]]])
    >>> poolgrad.max_pool2d_with_indices_backward(grad, (1, 2, 2), where, 2)
    array([[[0., 0.],
            [0., 1.]]], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    return call(OPERATOR, (grad_output, x, indices), numbers, product, out, data_format)
