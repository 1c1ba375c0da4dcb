"""aclnnMaxPool3dWithArgmax: max pooling over D, H and W; values and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950
from ..base.status import ACLNN_ERR_INNER_NULLPTR
from ..contract.checks import (
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
from ..contract.operator import Operator, Sample
from ..contract.parameters import CEIL, DILATION, KERNEL, PADDING, POOLED, STRIDE, places, result
from ..contract.pooling import (
    A2_A3,
    NOT_A2_A3,
    fixed_windows,
    floats,
    if_dtype,
    is_pooled,
    plane_below,
    pooled_results,
    unless_empty,
    windows_fit,
    windows_not_empty,
)
from ..plans.forward import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT, INDICES = result("out"), places("indices")
FORMATS = ("NCDHW", "ND", "NCHW")
INT32_MAX = 2**31 - 1


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, refused = cases.add, cases.refused
    cases.fixed_windows()
    cases.without_batch(*FORMATS)
    cases.halves()
    cases.maxima()
    cases.layouts()
    add("ND", "format ND with rank 5", every={"format": "ND"})
    add("empty-batch", "an empty batch is a success with nothing to do", self={"shape": (0, 3, 8, 8, 8)})
    add("empty-rows", "any axis may be empty", self={"shape": (2, 3, 8, 0, 8)})
    _ascend_950(cases)
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NC1HWC0")
    cases.formats_differ("ND", "self", "out", "indices")
    refused("NCHW-of-rank-5", "NCHW has four axes", every={"format": "NCHW"})
    refused("format-NDHWC-Atlas-A2", "NDHWC is on Ascend 950 only", every={"format": "NDHWC"}, product=A2.name)
    for product in (A2, A3):
        why = f"{product.name} takes dilation 1 only"
        refused(f"dilation-{product.soc}", why, dilation=(2, 1, 1), product=product.name)
        why = f"{product.name} takes int32 indices only"
        refused(f"int64-{product.soc}", why, indices={"dtype": "int64"}, product=product.name)
    refused("dilation-zero", "a dilation of 0", dilation=(0, 1, 1))
    refused("indices-float", "indices are integers", indices={"dtype": "float32"})
    _large_volumes(cases)


def _ascend_950(cases: Suite) -> None:
    def pooled(name: str, why: str, shape: tuple[int, ...], **changes: Any) -> None:
        cases.pooled(name, why, shape, product=A950.name, **changes)

    window = {"kernelSize": (3, 2, 3), "dilation": (2, 3, 1), "stride": (1, 2, 2)}
    pooled("dilation-uneven", "Ascend 950 takes dilation", (1, 2, 9, 8, 7), **window)
    cases.add("int32", "Ascend 950 takes int32 indices, too", indices={"dtype": "int32"}, product=A950.name)
    for rank, lead in ((5, (2,)), (4, ())):
        why = f"NDHWC with rank {rank}: an index still means (d*H+h)*W+w in one volume"
        pooled(f"NDHWC-rank-{rank}", why, (*lead, 8, 6, 4, 3), every={"format": "NDHWC"})
    why = "dilation steps over the whole input: no index could be right"
    empty = {"kernelSize": (2, 2, 2), "stride": (1, 2, 2), "padding": (1, 0, 0), "dilation": (2, 1, 1)}
    cases.refused("window-empty", why, self={"shape": (2, 3, 1, 8, 8)}, product=A950.name, **empty)


def _large_volumes(cases: Suite) -> None:
    """Volumes with more places than an index of 32 bits has."""
    window = {"kernelSize": (1, 1, 2**16), "stride": (1, 1, 2**16)}
    large: dict[str, Any] = {"self": {"shape": (1, 1, 2, 2**16, 2**16)}, **window}
    int32, why = {"dtype": "int32"}, "an index of 32 bits can't name all places"
    cases.refused("volume-int32", why, product=A950.name, indices=int32, **large)
    why, status = "an inner operator's limit", ACLNN_ERR_INNER_NULLPTR
    cases.refused("volume-Atlas-A2", why, product=A2.name, status=status, **large)


OPERATOR = Operator(
    "aclnnMaxPool3dWithArgmax",
    summary="3-D max pooling: values and where they stand",
    header="aclnn_max_pool3d_with_argmax.h",
    axes="DHW",
    parameters=(POOLED, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT, INDICES),
    products=(A2, A3, A950),
    default_format="NCDHW",
    channels_last="NDHWC",
    windows=fixed_windows,
    rows=(
        *floats((POOLED,)),
        dtype_in((INDICES,), ("int32",), on=A2_A3),
        dtype_in((INDICES,), ("int32", "int64"), on=NOT_A2_A3),
        same("dtype", OUT, POOLED),
        same("format", OUT, POOLED),
        same("format", INDICES, POOLED),
        rank_in((POOLED,), (4, 5)),
        no_negative_dims((POOLED, OUT, INDICES), source=SAFE),
        format_in((POOLED,), FORMATS, on=A2_A3),
        format_in((POOLED,), (*FORMATS, "NDHWC"), on=NOT_A2_A3),
        format_needs_rank((POOLED,), "NCHW", 4, instead="NCDHW or ND", source=LIBRARY),
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
        unless_empty(plane_below(POOLED, "DHW", INT32_MAX, on=A2_A3, source=LIBRARY, status=ACLNN_ERR_INNER_NULLPTR)),
        unless_empty(windows_fit(POOLED, "DHW")),
        unless_empty(windows_not_empty(DILATION, on=NOT_A2_A3)),
        unless_empty(is_pooled(OUT)),
        unless_empty(same("shape", INDICES, OUT)),
        if_dtype(
            INDICES,
            "int32",
            unless_empty(plane_below(POOLED, "DHW", INT32_MAX, on=NOT_A2_A3, source=SAFE, key="plane-places")),
        ),
    ),
    planner=plan_maximum,
    results=pooled_results,
    suite=suite,
    slips=(
        ("braces put `- dilation * (k - 1) - 1` under the factor 2", "the usual formula"),
        ("no padding and no dilation in the maximum's formula", "padding never wins; dilated windows"),
        ("ceil mode without the rule that drops the last window", "it holds as in 2-D"),
        ("null table: self, out", "all seven pointers"),
    ),
    sample=Sample(
        shapes={"self": (1, 1, 2, 2, 2), "out": (1, 1, 1, 1, 1), "indices": (1, 1, 1, 1, 1)},
        values={"self": [1, 6, 2, 8, 4, 5, 7, 3]},
        numbers={"kernelSize": (2, 2, 2), "stride": (2, 2, 2), "padding": (0, 0, 0), "dilation": (1, 1, 1)},
        results={"out": [8], "indices": [3]},
    ),
)


def max_pool3d_with_argmax(
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    index_dtype: Any = None,
    data_format: str = "NCDHW",
    product: str | None = None,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """3-D max pooling: the largest values of windows, and where each stands, ``(d * H + h) * W + w`` in its own volume.

    ``x`` is an array (N,C,D,H,W) or (C,D,H,W), or (N,D,H,W,C) or (D,H,W,C) with ``data_format="NDHWC"``; parameters are
    an int, or one or three ints (for D, H and W). The rest as in ``max_pool2d_with_indices``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.max_pool3d_with_argmax(np.array([[[[1.0, 3.0], [2.0, 0.0]]]], np.float32), (1, 2, 2))
    (array([[[[3.]]]], dtype=float32), array([[[[1]]]]))
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    results: tuple[Any, Any] = call(OPERATOR, (x,), numbers, product, out, data_format, index_dtype)
    return results
