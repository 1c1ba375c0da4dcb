"""aclnnMaxPool3dWithArgmaxBackward: the gradient of max pooling over D, H and W."""

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
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    same,
)
from ..contract.engine import LIBRARY, SAFE
from ..contract.operator import IR_MAXIMA, IR_WINDOWS, GraphOperator, Operator, Sample
from ..contract.parameters import CEIL, DILATION, GRAD, INDICES, KERNEL, PADDING, STRIDE, Role, X, result
from ..contract.pooling import (
    A2_A3,
    NOT_A2_A3,
    fixed_windows,
    floats,
    if_dtype,
    is_pooled,
    plane_below,
    unless_empty,
    windows_not_empty,
)
from ..plans.maximum import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("gradInput")
ALL = (GRAD, X, INDICES, OUT)
FORMATS = ("ND", "NCDHW", "NCHW")


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, pooled, refused = cases.add, cases.pooled, cases.refused
    cases.fixed_windows()
    cases.without_batch(*FORMATS)
    cases.halves()
    cases.maxima()
    cases.layouts()
    add("NCDHW", "format NCDHW with rank 5", every={"format": "NCDHW"})
    why = "Ascend 950 takes dilation"
    window = {"kernelSize": (3, 2, 3), "dilation": (2, 3, 1), "stride": (1, 2, 2)}
    pooled("dilation-uneven", why, (1, 2, 9, 8, 7), product=A950.name, **window)
    add("int64", "Ascend 950 takes int64 indices", indices={"dtype": "int64"}, product=A950.name)
    pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8, 8))
    why = "no gradients: the whole output becomes 0, whatever the windows are"
    add("empty-gradients", why, gradOutput={"shape": (2, 3, 0, 4, 4)})
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NDHWC", "FRACTAL_NZ")
    cases.formats_differ("NCDHW", "gradOutput", "gradInput")
    cases.formats_differ("NC1HWC0", "indices")
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    for product in (A2, A3):
        why = f"{product.name} takes dilation 1 only"
        refused(f"dilation-{product.soc}", why, dilation=(2, 1, 1), product=product.name)
        why = f"{product.name} takes int32 indices only"
        refused(f"int64-{product.soc}", why, indices={"dtype": "int64"}, product=product.name)
    refused("dilation-zero", "a dilation of 0", dilation=(0, 1, 1))
    why = "dilation steps over the whole input: no index could be right"
    empty = {"kernelSize": (2, 2, 2), "stride": (1, 2, 2), "padding": (1, 0, 0), "dilation": (2, 1, 1)}
    refused("window-empty", why, self={"shape": (2, 3, 1, 8, 8)}, product=A950.name, **empty)
    refused("indices-float", "indices are integers", indices={"dtype": "float32"})
    refused("volume-too-large", "an index can't hold 2^31 places", self={"shape": (2, 3, 2**11, 2**10, 2**10)})


OPERATOR = Operator(
    "aclnnMaxPool3dWithArgmaxBackward",
    summary="the gradient of 3-D max pooling",
    header="aclnn_max_pool3d_with_argmax_backward.h",
    axes="DHW",
    parameters=(GRAD, X, INDICES, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT),
    products=(A2, A3, A950),
    default_format="ND",
    windows=fixed_windows,
    rows=(
        *floats((X,)),
        dtype_in((INDICES,), ("int32",), on=A2_A3),
        dtype_in((INDICES,), ("int32", "int64"), on=NOT_A2_A3),
        *all_same("dtype", (GRAD, OUT), X),
        *all_same("format", (GRAD, OUT), X),
        format_in((X,), FORMATS, source=SAFE),
        format_in((INDICES,), FORMATS, source=SAFE),
        rank_in((GRAD, OUT, INDICES, X), (4, 5)),
        same("rank", GRAD, X),
        format_needs_rank((X,), "NCHW", 4, instead="NCDHW or ND", source=LIBRARY),
        no_negative_dims(ALL, source=SAFE),
        length_in(KERNEL, (1, 3)),
        positive(KERNEL),
        length_in(STRIDE, (0, 1, 3)),
        positive(STRIDE),
        length_in(PADDING, (1, 3)),
        not_negative(PADDING),
        at_most_half(PADDING, KERNEL),
        length_in(DILATION, (1, 3)),
        each(DILATION, "dilation-one", "1 on all axes", lambda v: v != 1, "Use 1, or Ascend 950.", on=A2_A3),
        positive(DILATION, on=NOT_A2_A3),
        plane_below(X, "DHW", 2**31 - 1, on=A2_A3),
        if_dtype(INDICES, "int32", plane_below(X, "DHW", 2**31 - 1, on=NOT_A2_A3, source=SAFE)),
        same("shape", INDICES, GRAD),
        same("shape", OUT, X),
        unless_empty(windows_not_empty(DILATION, on=NOT_A2_A3)),
        unless_empty(is_pooled(GRAD)),
    ),
    planner=plan_maximum,
    suite=suite,
    torch="max_pool3d",
    slips=(
        ("null table: self, indices; padding with zeros", "all eight pointers; -Inf"),
        ("dilation only 1; empty tensors unsupported", "on Ascend 950 as its forward, > 0; success"),
    ),
    ir=(
        GraphOperator(
            "MaxPool3DGradWithArgmax",
            IR_MAXIMA | IR_WINDOWS | {Role.DILATION: "dilation"},
            words=("data_format",),
        ),
    ),
    sample=Sample(
        shapes={
            "gradOutput": (1, 1, 1, 1, 1),
            "self": (1, 1, 2, 2, 2),
            "indices": (1, 1, 1, 1, 1),
            "gradInput": (1, 1, 2, 2, 2),
        },
        values={"gradOutput": [0.4757], "indices": [6]},
        numbers={"kernelSize": (2, 2, 2), "stride": (2, 2, 2), "padding": (0, 0, 0), "dilation": (1, 1, 1)},
        results={"gradInput": [0, 0, 0, 0, 0, 0, 0.4757, 0]},
    ),
)


def max_pool3d_with_argmax_backward(
    grad_output: Any,
    x: Any,
    indices: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 3-D max pooling with respect to its input.

    ``indices`` (int32 or int64, of the shape of ``grad_output``) say where each maximum stood:
    ``(d * H + h) * W + w`` in its own volume. Tensors are (N,C,D,H,W) or (C,D,H,W), parameters an int, or one or three
    ints (for D, H and W). The rest as in ``max_pool2d_with_indices_backward``.

    >>> import numpy as np, poolgrad
    >>> grad, where = np.ones((1, 1, 1, 1), np.float32), np.array([[[[6]]]])
    >>> poolgrad.max_pool3d_with_argmax_backward(grad, (1, 2, 2, 2), where, 2).ravel()
    array([0., 0., 0., 0., 0., 0., 1., 0.], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    return call(OPERATOR, (grad_output, x, indices), numbers, product, out)
