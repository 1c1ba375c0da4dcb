"""aclnnAdaptiveMaxPool2d: adaptive max pooling over H and W; values and where they stand."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, TRAINING
from ..base.status import ACLNN_ERR_INNER_NULLPTR
from ..contract.checks import (
    dtype_in,
    format_in,
    format_needs_rank,
    length_in,
    no_negative_dims,
    positive,
    rank_in,
    same,
)
from ..contract.engine import DOCUMENT, EVERYWHERE, LIBRARY, SAFE, Broken, Call, Check
from ..contract.operator import Operator, Sample
from ..contract.parameters import OUTPUT_SIZE, POOLED, places, result
from ..contract.pooling import (
    A2_A3,
    EVERY_FLOAT,
    adaptive_windows,
    is_pooled,
    plane_below,
    pooled_results,
    positive_but_first,
    unless_empty,
)
from ..plans.forward import plan_maximum
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

OUT, INDICES = result("outputOut"), places("indicesOut", "int64")
WITHOUT_BFLOAT16 = frozenset((TRAINING,))


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    add, refused = cases.add, cases.refused
    cases.adaptive_windows()
    cases.without_batch("NCHW", "NCL")
    cases.halves("float16")
    cases.halves("bfloat16", product=A2.name)
    cases.maxima()
    cases.layouts()
    cases.overlapping("dtype-float64", "float64 is on every product", floats={"dtype": "float64"})
    small = {name: {"shape": (2, 4, 4, 3)} for name in (OUT.name, INDICES.name)}
    why = "NHWC: an index still means h*W+w in one plane"
    add("NHWC", why, every={"format": "NHWC"}, self={"shape": (2, 8, 8, 3)}, **small)
    add("empty-batch", "an empty batch is a success with nothing to do", self={"shape": (0, 3, 8, 8)})
    empty: dict[str, Any] = {"self": {"shape": (0, 8, 8)}, "every": {"format": "ND"}}
    add("empty-channels-rank-3", "the first axis may be empty, and then no format is wrong", **empty)
    cases.refusals()
    cases.refused_formats("ND", "NC1HWC0")
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("NHWC-of-rank-3", "NHWC has four axes", self={"shape": (8, 8, 3)}, every={"format": "NHWC"})
    why, shape = "both outputs have another size than the windows give", {"shape": (2, 3, 4, 5)}
    refused("shapes-of-outputs", why, outputOut=shape, indicesOut=shape)
    refused("indices-int32", "indices have 64 bits", indicesOut={"dtype": "int32"})
    refused("empty-rows", "only the first axis may be empty", self={"shape": (2, 3, 0, 8)})
    refused("outputSize-length", "one value does not do for both axes", outputSize=(4,))
    refused("outputSize-zero", "no windows", outputSize=(0, 4))
    refused("dtype-bfloat16-Ascend910", "no bfloat16", floats={"dtype": "bfloat16"}, product=TRAINING.name)
    refused("output-dtype", "an output of no float type", outputOut={"dtype": "int32"})
    why, status = "an inner operator's limit, where sizes divide", ACLNN_ERR_INNER_NULLPTR
    large = {"shape": (1, 1, 2**16, 2**16)}
    refused("plane-Atlas-A2", why, status=status, self=large, product=A2.name, outputSize=(2, 4))


def _where_sizes_divide(check: Check) -> Check:
    """The row, for calls whose windows are all of one size, but of float64: others go another way in the library."""

    def test(call: Call) -> Broken | None:
        even = all(w.size % w.out == 0 for w in call.windows)
        return check.test(call) if even and call.tensor(POOLED).dtype.name != "float64" else None

    says = f"{check.says}, where both sizes of the output divide those of {POOLED.name}, but of float64"
    return dataclasses.replace(check, says=says, test=test)


OPERATOR = Operator(
    "aclnnAdaptiveMaxPool2d",
    summary="2-D adaptive max pooling: values and where they stand",
    header="aclnn_adaptive_max_pool2d.h",
    axes="HW",
    parameters=(POOLED, OUTPUT_SIZE, OUT, INDICES),
    products=(A2, A3, TRAINING, A950),
    default_format="NCHW",
    channels_last="NHWC",
    windows=adaptive_windows,
    rows=(
        dtype_in((POOLED,), EVERY_FLOAT, on=EVERYWHERE - WITHOUT_BFLOAT16),
        dtype_in((POOLED,), ("float64", "float32", "float16"), on=WITHOUT_BFLOAT16),
        dtype_in((OUT,), EVERY_FLOAT),
        same("dtype", OUT, POOLED),
        dtype_in((INDICES,), ("int64",)),
        rank_in((POOLED,), (3, 4)),
        no_negative_dims((POOLED, OUT, INDICES), source=SAFE),
        same("shape", INDICES, OUT),
        positive_but_first((POOLED,), "self-dims"),
        length_in(OUTPUT_SIZE, (2,)),
        positive(OUTPUT_SIZE),
        unless_empty(format_in((POOLED,), ("NCHW", "NHWC", "NCL"))),
        unless_empty(format_needs_rank((POOLED,), "NCL", 3)),
        unless_empty(format_needs_rank((POOLED,), "NHWC", 4, source=SAFE)),
        unless_empty(is_pooled(OUT, source=DOCUMENT)),
        unless_empty(
            _where_sizes_divide(
                plane_below(POOLED, "HW", 2**31 - 1, on=A2_A3, source=LIBRARY, status=ACLNN_ERR_INNER_NULLPTR)
            )
        ),
    ),
    planner=plan_maximum,
    results=pooled_results,
    suite=suite,
    slips=(("outputSize an INT32 array, with elements of at least 0", "an int64 array, each greater than 0"),),
    sample=Sample(
        shapes={"self": (1, 1, 4, 4), "outputOut": (1, 1, 2, 2), "indicesOut": (1, 1, 2, 2)},
        values={"self": range(16)},
        numbers={"outputSize": (2, 2)},
        results={"outputOut": [5, 7, 13, 15], "indicesOut": [5, 7, 13, 15]},
    ),
)


def adaptive_max_pool2d(
    x: Any,
    output_size: Ints,
    *,
    data_format: str = "NCHW",
    product: str | None = None,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """2-D adaptive max pooling: the largest values of ``output_size`` windows, two numbers for H and W, and where each
    stands, ``h * W + w`` in its own plane.

    ``x`` is an array (N,C,H,W) or (C,H,W), or (N,H,W,C) with ``data_format="NHWC"``. Indices are int64. The rest as in
    ``max_pool2d_with_indices``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.adaptive_max_pool2d(np.array([[[1.0, 3.0], [2.0, 0.0]]], np.float32), (1, 2))
    (array([[[2., 3.]]], dtype=float32), array([[[2, 1]]]))
    """
    results: tuple[Any, Any] = call(OPERATOR, (x,), (output_size,), product, out, data_format)
    return results
