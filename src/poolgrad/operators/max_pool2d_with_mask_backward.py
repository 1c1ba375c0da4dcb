"""aclnnMaxPool2dWithMaskBackward: the gradient of max pooling over H and W whose maxima a mask tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, TRAINING
from ..contract.checks import (
    all_same,
    at_most_half,
    dtype_in,
    each,
    format_in,
    format_needs_rank,
    length_in,
    not_negative,
    not_null,
    positive,
    rank_in,
    same,
)
from ..contract.engine import LIBRARY, SAFE
from ..contract.masks import computed_in, if_places, is_mask
from ..contract.operator import Operator, Sample
from ..contract.parameters import CEIL, DILATION, GRAD, KERNEL, MASK, PADDING, STRIDE, X, result
from ..contract.pooling import (
    A2_A3,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    PUBLIC_FORMATS,
    fixed_windows,
    is_pooled,
    plane_below,
    positive_but_batch,
    windows_fit,
)
from ..plans.mask import plan_from_mask
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT = result("gradInput")
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
    cases.overlapping("dtype-float32-training", "summed in float32 between two roundings", product=TRAINING.name)
    refused = cases.refused
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("NC1HWC0", "NHWC")
    cases.formats_differ("ND", "gradOutput", "gradInput")
    refused("format-of-mask", "no private format", indices={"format": "NC1HWC0"})
    refused("dilation", "dilation is 1 only", dilation=(2, 1))
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("mask-uint8", "a mask is of int8", indices={"dtype": "uint8"})
    refused("bfloat16-training", "the training series lack it", floats={"dtype": "bfloat16"}, product=TRAINING.name)
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    large: dict[str, Any] = {"self": {"shape": (1, 1, 2**16, 2**16)}, "gradOutput": {"shape": (1, 1, 2**16, 1)}}
    why, rows = "an index of 32 bits can't name all places", {"kernelSize": (1, 2**16), "stride": (1, 2**16)}
    refused("plane-int32", why, product=A2.name, **large, **rows)


OPERATOR = Operator(
    "aclnnMaxPool2dWithMaskBackward",
    summary="the gradient of 2-D max pooling with a mask",
    header="aclnn_max_pool2d_with_indices_backward.h",
    axes="HW",
    parameters=(GRAD, X, MASK, KERNEL, STRIDE, PADDING, DILATION, CEIL, OUT),
    products=(A2, A3, TRAINING),
    default_format="NCHW",
    windows=fixed_windows,
    first_rows=(*map(not_null, (KERNEL, X, GRAD)), length_in(KERNEL, (1, 2))),
    rows=(
        dtype_in((X,), HALVES_AND_FLOAT, on=A2_A3),
        dtype_in((X,), ("float32", "float16"), on=frozenset((TRAINING,))),
        dtype_in((X,), EVERY_FLOAT, on=NO_PRODUCT),
        *all_same("dtype", (GRAD, OUT), X),
        dtype_in((MASK,), ("int8",)),
        *all_same("format", (GRAD, OUT), X),
        format_in((X,), ("NCHW", "ND", "NCL")),
        format_in((MASK,), PUBLIC_FORMATS),
        rank_in((X, OUT, GRAD, MASK), (3, 4)),
        format_needs_rank((X,), "NCL", 3),
        length_in(STRIDE, (0, 1, 2)),
        length_in(PADDING, (1, 2)),
        length_in(DILATION, (1, 2)),
        positive(KERNEL),
        positive(STRIDE),
        not_negative(PADDING),
        at_most_half(PADDING, KERNEL, source=LIBRARY),
        each(DILATION, "dilation-one", "1 on both axes", lambda v: v != 1, "Use 1."),
        same("shape", OUT, X),
        positive_but_batch(X, "HW"),
        windows_fit(X, "HW"),
        is_pooled(GRAD),
        is_mask(MASK, source=SAFE),
        if_places(plane_below(X, "HW", INT32_MAX, on=A2_A3 | NO_PRODUCT, source=SAFE)),
    ),
    planner=plan_from_mask,
    rounding=computed_in,
    suite=suite,
    slips=(
        ("null table: self, indices; rank 4 only", "all eight pointers; rank 3 too, which the library has tests of"),
        ('"gradOutput and indices of one shape"', "the shape of the forward pass's mask"),
        ('padding "up to kernelSize"', "at most half of it: *library*, and torch (`padding-half`)"),
        ("kernelSize of a wrong length", "161002 as its table says; the library answers 161001"),
    ),
    sample=Sample(
        shapes={"gradOutput": (1, 1, 2, 1), "self": (1, 1, 4, 3), "indices": (1, 1, 4, 64), "gradInput": (1, 1, 4, 3)},
        values={"gradOutput": [0.4757, 0.1726], "indices": [0, 0, 0, 0, 6] + [0] * 251},
        numbers={"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)},
        results={"gradInput": [0.4757, 0, 0, 0, 0, 0, 0.1726, 0, 0, 0, 0, 0]},
    ),
)


def max_pool2d_with_mask_backward(
    grad_output: Any,
    x: Any,
    mask: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 2-D max pooling with respect to its input, where a mask says where the maxima stood.

    ``mask`` is what ``max_pool2d_with_mask`` returned for the same windows, shapes and product, as any view of int8.
    Atlas training series round float32 gradients to float16, and the result once more. Other parameters, results and
    errors as in ``max_pool2d_with_indices_backward``: an output for which the mask has no place in its plane, or not
    exactly one, is the ``IndexRangeError``.

    >>> import numpy as np, poolgrad
    >>> x = np.array([[[1.0, 3.0], [2.0, 0.0]]], np.float32)
    >>> values, mask = poolgrad.max_pool2d_with_mask(x, 2)
    >>> poolgrad.max_pool2d_with_mask_backward(np.full_like(values, 5), x.shape, mask, 2)
    array([[[0., 5.],
            [0., 0.]]], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    return call(OPERATOR, (grad_output, x, mask), numbers, product, out)
