"""aclnnAdaptiveMaxPool3d: adaptive max pooling over D, H and W; values and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950
from ..contract.checks import dtype_in, format_in, length_in, no_negative_dims, positive, rank_in, same, shown
from ..contract.engine import DOCUMENT, LIBRARY, SAFE, Broken, Call, Check
from ..contract.operator import Operator, Sample
from ..contract.parameters import OUTPUT_SIZE, POOLED, places, result
from ..contract.pooling import (
    A2_A3,
    EVERY_FLOAT,
    NOT_A2_A3,
    adaptive_windows,
    floats,
    if_dtype,
    plane_below,
    pooled_results,
    positive_but_first,
    same_batch_and_channels,
    spatial_sizes,
)
from ..plans.forward import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT, INDICES = result("outputOut"), places("indicesOut")
INT32_MAX = 2**31 - 1


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, refused = cases.add, cases.refused
    cases.adaptive_windows()
    cases.without_batch("NCDHW", "NCHW")
    cases.halves()
    cases.maxima()
    cases.layouts()
    for product in (A2, A950):
        why = "formats are read by position"
        add(f"rank-5-NCHW-{product.soc}", why, every={"format": "NCHW"}, product=product.name)
    add("empty-batch", "an empty batch is a success with nothing to do", self={"shape": (0, 3, 8, 8, 8)})
    why = "without a batch the first axis is the channels'"
    add("empty-channels-rank-4", why, self={"shape": (0, 8, 8, 8)})
    add("indices-ND", "nobody looks at the format of the indices", indicesOut={"format": "ND"})
    _ascend_950(cases)
    cases.refusals()
    cases.refused_formats("NDHWC", "NDC1HWC0")
    cases.formats_differ("NCHW", "self", "outputOut")
    for product in (A2, A3):
        on = {"product": product.name}
        refused(f"int64-{product.soc}", f"{product.name} takes int32 indices only", indicesOut={"dtype": "int64"}, **on)
        refused(f"ND-{product.soc}", f"{product.name} does not take ND", every={"format": "ND"}, **on)
        refused(f"outputSize-{product.soc}", f"{product.name} takes three values", outputSize=(4,), **on)
    refused("outputSize-two", "two values are for no axes in particular", outputSize=(4, 4))
    refused("output-dtype", "an output of no float type", outputOut={"dtype": "int32"})
    refused("indices-float", "indices are integers", indicesOut={"dtype": "float32"})
    small = {name: {"shape": (2, 3, 4, 4, 4)} for name in (OUT.name, INDICES.name)}
    refused("empty-rows", "only the first axis may be empty", self={"shape": (2, 3, 8, 0, 8)}, **small)
    refused("outputSize-negative", "fewer windows than none", outputSize=(4, -4, 4))
    nothing = {name: {"shape": (2, 3, 0, 4, 4)} for name in (OUT.name, INDICES.name)}
    refused("outputSize-zero", "no windows", outputSize=(0, 4, 4), **nothing)
    for name in (OUT.name, INDICES.name):
        refused(f"channels-of-{name}", f"{name} has other channels than self", **{name: {"shape": (2, 4, 4, 4, 4)}})
    why, large = "an index can't hold 2^31 places", {"shape": (1, 1, 2**11, 2**10, 2**10)}
    refused("volume-too-large", why, self=large, indicesOut={"dtype": "int32"})


def _ascend_950(cases: Suite) -> None:
    on: dict[str, Any] = {"product": A950.name}
    cases.add("int64", "Ascend 950 takes int64 indices", indicesOut={"dtype": "int64"}, **on)
    cases.add("ND", "Ascend 950 takes ND", every={"format": "ND"}, **on)
    cases.add("outputSize-one", "Ascend 950 takes one value for all axes", outputSize=(3,), **on)
    cases.add("outputSize-none", "on Ascend 950 no value means the sizes of self", outputSize=(), **on)


def _has_output_size() -> Check:
    """The pooled axes of the output are as long as the output size says; no output can be what a negative one says."""

    def test(call: Call) -> Broken | None:
        expected, got = tuple(w.out for w in call.windows), spatial_sizes(call, OUT)
        if got == expected:
            return None
        if min(expected) < 1:
            return Broken(OUTPUT_SIZE.name, "values greater than 0", shown(expected), "Use 1 or more.")
        change = f"Give it these sizes, or correct {OUTPUT_SIZE.name}."
        return Broken(OUT.name, f"D, H, W {shown(expected)}, which {OUTPUT_SIZE.name} says", shown(got), change)

    return Check(f"{OUT.name}-sizes", f"D, H, W of {OUT.name} = {OUTPUT_SIZE.name}", test)


OPERATOR = Operator(
    "aclnnAdaptiveMaxPool3d",
    summary="3-D adaptive max pooling: values and where they stand",
    header="aclnn_adaptive_max_pool3d.h",
    axes="DHW",
    parameters=(POOLED, OUTPUT_SIZE, OUT, INDICES),
    products=(A2, A3, A950),
    default_format="NCDHW",
    windows=adaptive_windows,
    rows=(
        rank_in((POOLED, OUT, INDICES), (4, 5)),
        no_negative_dims((POOLED, OUT, INDICES), source=SAFE),
        *floats((POOLED,)),
        dtype_in((OUT,), EVERY_FLOAT),
        dtype_in((INDICES,), ("int32",), on=A2_A3),
        dtype_in((INDICES,), ("int32", "int64"), on=NOT_A2_A3),
        format_in((POOLED,), ("NCDHW", "NCHW"), on=A2_A3),
        format_in((POOLED,), ("NCDHW", "NCHW", "ND"), on=NOT_A2_A3, source=LIBRARY),
        same("format", OUT, POOLED),
        length_in(OUTPUT_SIZE, (3,), on=A2_A3),
        length_in(OUTPUT_SIZE, (0, 1, 3), on=NOT_A2_A3, source=LIBRARY),
        same_batch_and_channels(OUT, POOLED, source=DOCUMENT),
        _has_output_size(),
        same("shape", INDICES, OUT),
        same("dtype", OUT, POOLED),
        positive_but_first((POOLED,), "self-dims"),
        plane_below(POOLED, "DHW", INT32_MAX, on=A2_A3),
        if_dtype(INDICES, "int32", plane_below(POOLED, "DHW", INT32_MAX, on=NOT_A2_A3)),
        positive(OUTPUT_SIZE),
    ),
    planner=plan_maximum,
    results=pooled_results,
    suite=suite,
    slips=(
        ("intervals closed on the right", "half open"),
        ("outputSize's dtype in the column of formats, as INT32", "an int64 array"),
        ("no rank 4 among the shapes; D·H·W up to 2³¹−1 everywhere", "allowed; Ascend 950 only with int32 indices"),
    ),
    sample=Sample(
        shapes={"self": (1, 1, 1, 4, 4), "outputOut": (1, 1, 1, 2, 2), "indicesOut": (1, 1, 1, 2, 2)},
        values={"self": [0, 1, 2, 3, 4.1, *range(5, 16)]},
        numbers={"outputSize": (1, 2, 2)},
        results={"outputOut": [5, 7, 13, 15], "indicesOut": [5, 7, 13, 15]},
    ),
)


def adaptive_max_pool3d(
    x: Any,
    output_size: Ints,
    *,
    index_dtype: Any = None,
    product: str | None = None,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """3-D adaptive max pooling: the largest values of ``output_size`` windows, and where each stands,
    ``(d * H + h) * W + w`` in its own volume.

    ``x`` is an array (N,C,D,H,W) or (C,D,H,W), ``output_size`` three numbers for D, H and W, one for all of them, or
    none for as many windows as ``x`` has elements. The rest as in ``max_pool3d_with_argmax``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_max_pool3d(np.array([[[[1.0, 3.0], [2.0, 0.0]]]], np.float32), (1, 1, 2))
    (array([[[[2., 3.]]]], dtype=float32), array([[[[2, 1]]]]))
    """
    results: tuple[Any, Any] = call(OPERATOR, (x,), (output_size,), product, out, None, index_dtype)
    return results
