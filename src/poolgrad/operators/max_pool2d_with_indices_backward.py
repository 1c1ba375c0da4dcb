"""aclnnMaxPool2dWithIndicesBackward: the gradient of max pooling over H and W."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950
from ..contract.checks import (
    all_same,
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
from ..contract.operator import IR_MAXIMA, IR_WINDOWS, GraphOperator, Operator, Sample
from ..contract.parameters import CEIL, DILATION, GRAD, INDICES, KERNEL, PADDING, STRIDE, Role, X, result
from ..contract.pooling import (
    A2_A3,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    NOT_A2_A3,
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

OUT = result("gradInput")
FLOATS, ALL = (GRAD, X, OUT), (GRAD, X, INDICES, OUT)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.fixed_windows()
    cases.without_batch("NCHW", "ND", "NCL")
    cases.halves(product=A950.name)
    cases.maxima()
    cases.layouts()
    cases.add("ND", "format ND with rank 4", every={"format": "ND"})
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    _ascend_950(cases)
    refused = cases.refused
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NC1HWC0")
    cases.formats_differ("ND", "gradOutput", "indices", "gradInput")
    for product in (A2, A3):
        why = f"{product.name} takes dilation 1 only"
        refused(f"dilation-{product.name.replace(' ', '-')}", why, dilation=(2, 1), product=product.name)
    refused("dilation-zero", "a dilation of 0", dilation=(0, 1))
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("dtype-float16-Atlas-A2", "Atlas A2 has float32 only", floats={"dtype": "float16"}, product=A2.name)
    refused("indices-float", "indices are integers", indices={"dtype": "float32"})
    refused("indices-int64-Atlas-A2", "Atlas A2 takes int32 indices only", indices={"dtype": "int64"}, product=A2.name)
    refused("format-NHWC-Atlas-A2", "NHWC is on Ascend 950 only", every={"format": "NHWC"}, product=A2.name)
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    refused("empty-rows", "only the batch may be empty", self={"shape": (2, 3, 0, 8)})


def _ascend_950(cases: Suite) -> None:
    def pooled(name: str, why: str, shape: tuple[int, ...], **changes: Any) -> None:
        cases.pooled(name, why, shape, product=A950.name, **changes)

    why = "Ascend 950 takes dilation"
    pooled("dilation-2", why, (2, 3, 11, 9), kernelSize=(3, 3), dilation=(2, 2), padding=(1, 1))
    pooled("dilation-uneven", why, (2, 3, 13, 12), kernelSize=(2, 3), dilation=(3, 2), stride=(1, 2))
    pooled("dilation-ceil", why, (2, 3, 11, 11), kernelSize=(3, 3), dilation=(2, 3), ceilMode=True)
    pooled("int64", "Ascend 950 takes int64 indices", (2, 3, 8, 8), indices={"dtype": "int64"})
    for rank, lead in ((4, (2,)), (3, ())):
        why = f"NHWC with rank {rank}: an index still means h*W+w in one plane"
        pooled(f"NHWC-rank-{rank}", why, (*lead, 8, 6, 3), every={"format": "NHWC"})
    why = "dilation steps over the whole input: no index could be right"
    empty = {"kernelSize": (2, 2), "stride": (1, 2), "padding": (1, 0), "dilation": (2, 1)}
    cases.refused("window-empty", why, self={"shape": (2, 3, 1, 8)}, product=A950.name, **empty)


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
        *all_same("dtype", (GRAD, OUT), X, on=NOT_A2_A3),
        dtype_in((INDICES,), ("int32",), on=A2_A3),
        dtype_in((INDICES,), ("int32", "int64"), on=NOT_A2_A3),
        format_in((X,), ("NCHW", "ND", "NCL"), on=A2_A3),
        format_in((X,), ("NCHW", "ND", "NCL", "NHWC"), on=NOT_A2_A3),
        *all_same("format", (GRAD, INDICES, OUT), X),
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
            IR_MAXIMA | IR_WINDOWS | {Role.DILATION: "dilation"},
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
