"""aclnnMaxPool2dWithIndices: max pooling over H and W; values and where they stand."""

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
    positive_but_batch,
    windows_fit,
    windows_not_empty,
)
from ..plans.forward import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT, INDICES = result("out"), places("indices")
INT32_MAX = 2**31 - 1


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.fixed_windows()
    cases.without_batch("NCHW", "ND", "NCL")
    cases.halves()
    cases.maxima()
    cases.layouts()
    cases.add("ND", "format ND with rank 4", every={"format": "ND"})
    cases.add("int32", "indices of 32 bits on any product", indices={"dtype": "int32"})
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    _ascend_950(cases)
    refused = cases.refused
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NC1HWC0")
    cases.formats_differ("ND", "self", "out")
    for product in (A2, A3):
        why = f"{product.name} takes dilation 1 only"
        refused(f"dilation-{product.name.replace(' ', '-')}", why, dilation=(2, 1), product=product.name)
    refused("dilation-zero", "a dilation of 0", dilation=(0, 1))
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("indices-float", "indices are integers", indices={"dtype": "float32"})
    refused("format-NHWC-Atlas-A2", "NHWC is on Ascend 950 only", every={"format": "NHWC"}, product=A2.name)
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    refused("empty-rows", "only the batch may be empty", self={"shape": (2, 3, 0, 8)})
    _large_planes(cases)


def _ascend_950(cases: Suite) -> None:
    def pooled(name: str, why: str, shape: tuple[int, ...], **changes: Any) -> None:
        cases.pooled(name, why, shape, product=A950.name, **changes)

    why = "Ascend 950 takes dilation"
    pooled("dilation-2", why, (2, 3, 11, 9), kernelSize=(3, 3), dilation=(2, 2), padding=(1, 1))
    pooled("dilation-uneven", why, (2, 3, 13, 12), kernelSize=(2, 3), dilation=(3, 2), stride=(1, 2))
    for rank, lead in ((4, (2,)), (3, ())):
        why = f"NHWC with rank {rank}: an index still means h*W+w in one plane"
        pooled(f"NHWC-rank-{rank}", why, (*lead, 8, 6, 3), every={"format": "NHWC"})
    why = "dilation steps over the whole input: no index could be right"
    empty = {"kernelSize": (2, 2), "stride": (1, 2), "padding": (1, 0), "dilation": (2, 1)}
    cases.refused("window-empty", why, self={"shape": (2, 3, 1, 8)}, product=A950.name, **empty)


def _large_planes(cases: Suite) -> None:
    """Planes with more places than an index of 32 bits has."""
    large: dict[str, Any] = {"self": {"shape": (1, 1, 2**16, 2**16)}, "kernelSize": (1, 2**16), "stride": (1, 2**16)}
    int32, why = {"dtype": "int32"}, "an index of 32 bits can't name all places"
    cases.refused("plane-int32", why, product=A950.name, indices=int32, **large)
    why, status = "an inner operator's limit, whatever the index", ACLNN_ERR_INNER_NULLPTR
    cases.refused("plane-Atlas-A2", why, product=A2.name, status=status, **large)


OPERATOR = Operator(
    "aclnnMaxPool2dWithIndices",
    summary="2-D max pooling: values and where they stand",
    header="aclnn_max_pool2d_with_indices.h",
    axes="HW",
    parameters=(POOLED, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT, INDICES),
    products=(A2, A3, A950),
    default_format="NCHW",
    channels_last="NHWC",
    windows=fixed_windows,
    rows=(
        *floats((POOLED,)),
        same("dtype", OUT, POOLED),
        dtype_in((INDICES,), ("int32", "int64")),
        same("format", OUT, POOLED),
        format_in((POOLED,), ("NCHW", "ND", "NCL"), on=A2_A3),
        format_in((POOLED,), ("NCHW", "ND", "NCL", "NHWC"), on=NOT_A2_A3),
        rank_in((POOLED,), (3, 4)),
        format_needs_rank((POOLED,), "NCL", 3),
        length_in(KERNEL, (1, 2)),
        length_in(STRIDE, (0, 1, 2)),
        length_in(PADDING, (1, 2)),
        length_in(DILATION, (1, 2)),
        positive(KERNEL),
        positive(STRIDE),
        not_negative(PADDING),
        at_most_half(PADDING, KERNEL),
        each(DILATION, "dilation-one", "1 on both axes", lambda v: v != 1, "Use 1, or Ascend 950.", on=A2_A3),
        positive(DILATION, on=NOT_A2_A3),
        positive_but_batch(POOLED, "HW"),
        windows_fit(POOLED, "HW"),
        windows_not_empty(DILATION, on=NOT_A2_A3),
        is_pooled(OUT),
        same("shape", INDICES, OUT),
        if_dtype(INDICES, "int32", plane_below(POOLED, "HW", INT32_MAX, on=NOT_A2_A3, source=SAFE)),
        plane_below(POOLED, "HW", INT32_MAX, on=A2_A3, source=LIBRARY, status=ACLNN_ERR_INNER_NULLPTR),
    ),
    planner=plan_maximum,
    results=pooled_results,
    suite=suite,
    slips=(
        ("braces put `- dilation * (k - 1) - 1` under the factor 2", "the usual formula"),
        ("no padding and no dilation in the maximum's formula", "padding never wins; dilated windows"),
        ("only the floor formula", "ceil mode has one of its own"),
        ("null table: self, out; dilation's range for the 950 missing", "all seven pointers; greater than 0"),
    ),
    sample=Sample(
        shapes={"self": (1, 1, 4, 3), "out": (1, 1, 2, 1), "indices": (1, 1, 2, 1)},
        values={
            "self": [0.0850, -0.5147, -0.0212, -0.5654, -0.3222, 0.5847, 1.7510, 0.9954, 0.1842, 0.8392, 0.4835, 0.9213]
        },
        numbers={"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)},
        results={"out": [0.0850, 1.7510], "indices": [0, 6]},
    ),
)


def max_pool2d_with_indices(
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    index_dtype: Any = None,
    data_format: str = "NCHW",
    product: str | None = None,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """2-D max pooling: the largest values of windows, and where each stands, ``h * W + w`` in its own plane.

    ``x`` is an array (N,C,H,W) or (C,H,W), or (N,H,W,C) or (H,W,C) with ``data_format="NHWC"``. Of equal values the
    first wins, of several NaN the last; padding never does. Values are of the type, kind and layout of ``x``, indices
    of ``index_dtype``: int64, or int32 on Atlas A2 and A3, if it is None. ``out`` is a pair of arrays, neither of which
    may share memory with ``x``. Other parameters and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.max_pool2d_with_indices(np.array([[[1.0, 3.0], [2.0, 0.0]]], np.float32), 2)
    (array([[[3.]]], dtype=float32), array([[[1]]]))
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    results: tuple[Any, Any] = call(OPERATOR, (x,), numbers, product, out, data_format, index_dtype)
    return results
