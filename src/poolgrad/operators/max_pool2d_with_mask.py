"""aclnnMaxPool2dWithMask: max pooling over H and W; values, and a mask of where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A200I, A950, INFERENCE, TRAINING
from ..contract.checks import (
    at_most_half,
    contiguous,
    dtype_in,
    each,
    format_in,
    format_needs_rank,
    length_in,
    not_negative,
    not_null,
    positive,
    product_has_operator,
    rank_in,
    same,
)
from ..contract.engine import SAFE
from ..contract.masks import computed_in, if_places, is_mask, maxima_and_mask
from ..contract.operator import Operator, Sample
from ..contract.parameters import CEIL, DILATION, KERNEL, PADDING, POOLED, STRIDE, mask, result
from ..contract.pooling import (
    A2_A3,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    fixed_windows,
    is_pooled,
    plane_below,
    positive_but_batch,
    windows_fit,
)
from ..plans.mask import plan_maxima_and_mask
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT, MASK = result("out"), mask("indices")
PRODUCTS = (A2, A3, INFERENCE, TRAINING)
INT32_MAX = 2**31 - 1


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.fixed_windows()
    cases.without_batch("NCHW", "ND", "NCL")
    cases.halves(product=A2.name)
    cases.maxima()
    cases.layouts()
    cases.add("ND", "format ND with rank 4", every={"format": "ND"})
    cases.pooled("empty-batch", "an empty batch is a success with nothing to do", (0, 3, 8, 8))
    cases.masks()
    cases.overlapping("dtype-float16-training", "what the training series take", product=TRAINING.name)
    refused = cases.refused
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NC1HWC0", "NHWC")
    cases.formats_differ("ND", "self", "out")
    refused("product-200I", "the product does not have the operator", product=A200I.name)
    refused("dilation", "dilation is 1 only", dilation=(2, 1))
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("mask-uint8", "a mask is of int8", indices={"dtype": "uint8"})
    refused(
        "float16-inference", "the inference series take float32", floats={"dtype": "float16"}, product=INFERENCE.name
    )
    refused("bfloat16-training", "the training series lack it", floats={"dtype": "bfloat16"}, product=TRAINING.name)
    why = "a mask in pieces, which a device would write as if it were whole"
    refused("mask-not-contiguous", why, indices={"strides": (1536, 512, 128, 2), "storage": (2, 3, 4, 128)})
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    large: dict[str, Any] = {"self": {"shape": (1, 1, 2**16, 2**16)}, "kernelSize": (1, 2**16), "stride": (1, 2**16)}
    refused("plane-int32", "an index of 32 bits can't name all places", product=A2.name, **large)


OPERATOR = Operator(
    "aclnnMaxPool2dWithMask",
    summary="2-D max pooling: values, and a mask of where they stand",
    header="aclnn_max_pool2d_with_indices.h",
    axes="HW",
    parameters=(POOLED, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT, MASK),
    products=PRODUCTS,
    default_format="NCHW",
    windows=fixed_windows,
    first_rows=(
        *map(not_null, (KERNEL, POOLED, OUT)),
        length_in(KERNEL, (1, 2)),
        product_has_operator(PRODUCTS, on=frozenset((A950,)), key="product-950"),
    ),
    rows=(
        dtype_in((POOLED,), HALVES_AND_FLOAT, on=A2_A3),
        dtype_in((POOLED,), ("float32", "float16"), on=frozenset((TRAINING,))),
        dtype_in((POOLED,), ("float32",), on=frozenset((INFERENCE,))),
        dtype_in((POOLED,), EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", OUT, POOLED),
        dtype_in((MASK,), ("int8",)),
        same("format", OUT, POOLED),
        format_in((POOLED,), ("NCHW", "ND", "NCL")),
        rank_in((POOLED,), (3, 4)),
        format_needs_rank((POOLED,), "NCL", 3),
        length_in(STRIDE, (0, 1, 2)),
        length_in(PADDING, (1, 2)),
        length_in(DILATION, (1, 2)),
        positive(KERNEL),
        positive(STRIDE),
        not_negative(PADDING),
        at_most_half(PADDING, KERNEL),
        each(DILATION, "dilation-one", "1 on both axes", lambda v: v != 1, "Use 1."),
        positive_but_batch(POOLED, "HW"),
        windows_fit(POOLED, "HW"),
        is_pooled(OUT),
        is_mask(MASK, source="document"),
        contiguous(MASK, source=SAFE),
        if_places(plane_below(POOLED, "HW", INT32_MAX, on=A2_A3 | NO_PRODUCT, source=SAFE)),
    ),
    planner=plan_maxima_and_mask,
    results=maxima_and_mask,
    rounding=computed_in,
    suite=suite,
    slips=(
        ("braces put `- dilation * (k - 1) - 1` under the factor 2", "the usual formula"),
        ("no padding in the maximum's formula", "padding never wins"),
        ("only the floor formula; no rule that drops the last window", "ceil mode has one of its own, with that rule"),
        ('null table omits indices; padding "at least 0 or at most k / 2"', "all seven pointers; and"),
    ),
    sample=Sample(
        shapes={"self": (1, 1, 4, 3), "out": (1, 1, 2, 1), "indices": (1, 1, 4, 64)},
        values={
            "self": [0.0850, -0.5147, -0.0212, -0.5654, -0.3222, 0.5847, 1.7510, 0.9954, 0.1842, 0.8392, 0.4835, 0.9213]
        },
        numbers={"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)},
        results={"out": [0.0850, 1.7510], "indices": [0, 0, 0, 0, 6] + [0] * 251},
    ),
)


def max_pool2d_with_mask(
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    product: str | None = None,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """2-D max pooling: the largest values of windows, and the mask that ``max_pool2d_with_mask_backward`` takes.

    ``x`` is an array (N,C,H,W) or (C,H,W). Which value wins, and what values are like, is as in
    ``max_pool2d_with_indices``. The mask is of int8, (N, C, kH*kW, (ceil(Ho*Wo / 16) + 1) * 32), in C order. It holds
    32-bit indices, ``h * W + w``, of all outputs one behind the other; with windows of 1 x 1, on Atlas training and
    Atlas inference series one bit for each output and position in its window. All else in it is 0.
    ``mask_to_indices`` reads either. Atlas training series compute float32 in float16. ``out`` is a pair of arrays, the
    second of them contiguous. Other parameters and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> values, mask = poolgrad.max_pool2d_with_mask(np.array([[[1.0, 3.0], [2.0, 0.0]]], np.float32), 2)
    >>> values, mask.shape, mask.ravel().view(np.int32)[0]
    (array([[[3.]]], dtype=float32), (1, 4, 64), np.int32(1))
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    results: tuple[Any, Any] = call(OPERATOR, (x,), numbers, product, out)
    return results
