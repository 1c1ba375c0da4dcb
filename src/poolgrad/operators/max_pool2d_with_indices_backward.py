"""aclnnMaxPool2dWithIndicesBackward: the gradient of max pooling over H and W."""

from __future__ import annotations

from typing import Any

from ..base.products import A2, A3, A950, ANY
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
from ..contract.operator import Operator, Sample
from ..contract.parameters import (
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

GRAD, X, INDICES, OUT = gradient(), described_input(), indices(), result("gradInput")
KERNEL, STRIDE, PADDING, DILATION, CEIL = kernel_size(), stride(), padding(), dilation(), ceil_mode()
FLOATS, ALL = (GRAD, X, OUT), (GRAD, X, INDICES, OUT)

A2_A3 = frozenset((A2, A3))
# Who has more than one dtype, and dilation.
NOT_A2_A3 = frozenset((A950, ANY))

OPERATOR = Operator(
    "aclnnMaxPool2dWithIndicesBackward",
    summary="the gradient of 2-D max pooling",
    header="aclnn_max_pool2d_with_indices_backward.h",
    axes="HW",
    parameters=(GRAD, X, INDICES, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT),
    products=(A2, A3, A950),
    default_format="NCHW",
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
