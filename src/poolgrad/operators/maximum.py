"""The contracts of the max pooling gradients."""

from __future__ import annotations

import math

from ..base.products import A2, A3, A950, ANY
from ..base.windows import COUNT_ONE, fixed, has_empty_window
from ..contract.checks import (
    at_most_half,
    dims,
    dtype_in,
    each,
    format_in,
    format_needs_rank,
    length_in,
    no_negative_dims,
    not_negative,
    opening,
    output_writable,
    positive,
    rank_in,
    same,
    shown,
    sizes_fit,
)
from ..contract.engine import LIBRARY, SAFE, Broken, Call, Check, Operator, Parameter
from ..plans.maximum import plan_maximum
from ..plans.plan import Plan
from .pooling import (
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    NO_PRODUCT,
    ON_PRODUCTS,
    grad_output_is_pooled,
    padded_plane,
    plane_sizes,
    pooled_sizes,
    same_batch_and_channels,
    windows_of,
)

A2_A3 = frozenset((A2, A3))
# Where max pooling has more than one dtype, and dilation.
NOT_A2_A3 = frozenset((A950, ANY))


def windows_fit() -> Check:
    """The forward pass has an output at all."""

    def test(call: Call) -> Broken | None:
        pooled = pooled_sizes(call)
        if min(pooled) > 0:
            return None
        return Broken(
            "self",
            "room for at least one window",
            f"H, W {shown(plane_sizes(call))}, which give an output of {shown(pooled)}",
            "Use a smaller kernelSize or dilation, or more padding.",
        )

    return Check("windows-fit", "the computed output H and W are greater than 0", test)


def windows_not_empty() -> Check:
    """No window lies wholly in the padding: no index could be right for it."""

    def test(call: Call) -> Broken | None:
        for w in windows_of(call):
            if has_empty_window(w.size, w.out, kernel=w.kernel, stride=w.stride, pad=w.pad, dilation=w.dilation):
                got = f"{w.dilation}, which steps over all {w.size} elements"
                return Broken(
                    "dilation", "a dilation that leaves an element in every window", got, "Use a smaller one."
                )
        return None

    says = "every window holds at least one element"
    return Check("windows-not-empty", says, test, on=NOT_A2_A3, source=SAFE)


def positive_planes() -> Check:
    """C, H and W are positive, N may be 0; in NHWC only the batch axis is free, too."""
    says = "C, H, W greater than 0, N at least 0"
    return dims(("self",), "self-dims", says, lambda size, axis: size < 0 or (size == 0 and axis != -4))


def plane_below(limit: int) -> Check:
    """H * W can be written in an index."""

    def test(call: Call) -> Broken | None:
        if math.prod(call.tensor("self").shape[-2:]) <= limit:
            return None
        shape = shown(call.tensor("self").shape)
        return Broken("self", f"H*W of at most {limit}", f"shape {shape}", "Split the plane.")

    return Check("plane-size", f"H*W is at most {limit}, what an index can hold", test)


def _plan_max_pool2d(call: Call) -> Plan:
    layout = "NHWC" if call.tensor("self").format == "NHWC" else "NCHW"
    height, width = (
        fixed(w.size, w.out, kernel=w.dilation * (w.kernel - 1) + 1, stride=w.stride, pad=w.pad, counting=COUNT_ONE)
        for w in windows_of(call)
    )
    return plan_maximum(
        call, grad="gradOutput", indices="indices", result="gradInput", layout=layout, axes=(height, width)
    )


_MAX_PARAMETERS = (
    Parameter("gradOutput", "tensor", "grad_output"),
    Parameter("self", "tensor", "x"),
    Parameter("indices", "tensor", "indices"),
    Parameter("kernelSize", "ints", "kernel_size"),
    Parameter("stride", "ints", "stride"),
    Parameter("padding", "ints", "padding"),
    Parameter("dilation", "ints", "dilation"),
    Parameter("ceilMode", "bool", "ceil_mode"),
    Parameter("gradInput", "tensor", "out", output=True),
)
_MAX_PRODUCTS = (A2, A3, A950)
_FLOATS = ("gradOutput", "self", "gradInput")
_ALL = ("gradOutput", "self", "indices", "gradInput")

MAX_POOL2D_WITH_INDICES_BACKWARD = Operator(
    name="aclnnMaxPool2dWithIndicesBackward",
    python_name="max_pool2d_with_indices_backward",
    parameters=_MAX_PARAMETERS,
    products=_MAX_PRODUCTS,
    checks=(
        *opening(_MAX_PARAMETERS, _MAX_PRODUCTS),
        dtype_in(_FLOATS, ("float32",), on=A2_A3),
        dtype_in(_FLOATS, HALVES_AND_FLOAT, on=frozenset((A950,))),
        dtype_in(_FLOATS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", "gradOutput", "self", on=NOT_A2_A3),
        same("dtype", "gradInput", "self", on=NOT_A2_A3),
        dtype_in(("indices",), ("int32",), on=A2_A3),
        dtype_in(("indices",), ("int32", "int64"), on=NOT_A2_A3),
        format_in(("self",), ("NCHW", "ND", "NCL"), on=A2_A3),
        format_in(("self",), ("NCHW", "ND", "NCL", "NHWC"), on=NOT_A2_A3),
        same("format", "gradOutput", "self"),
        same("format", "indices", "self"),
        same("format", "gradInput", "self"),
        rank_in(_ALL, (3, 4)),
        format_needs_rank(_ALL, "NCL", 3),
        length_in("kernelSize", (1, 2)),
        length_in("stride", (0, 1, 2)),
        length_in("padding", (1, 2)),
        length_in("dilation", (1, 2)),
        positive("kernelSize"),
        positive("stride"),
        not_negative("padding"),
        at_most_half("padding", "kernelSize", source=LIBRARY),
        each("dilation", "dilation-one", "1 on both axes", lambda v: v != 1, "Use 1, or Ascend 950.", on=A2_A3),
        positive("dilation", on=NOT_A2_A3),
        same("shape", "gradInput", "self"),
        positive_planes(),
        windows_fit(),
        windows_not_empty(),
        grad_output_is_pooled(),
        same("shape", "indices", "gradOutput"),
        sizes_fit(_MAX_PARAMETERS, padded_plane),
        output_writable(_MAX_PARAMETERS),
    ),
    planner=_plan_max_pool2d,
)


def _plan_adaptive_max_pool2d(call: Call) -> Plan:
    size, out = plane_sizes(call), call.tensor("gradOutput").shape[-2:]
    axes = None
    if all(m > 0 and n % m == 0 for n, m in zip(size, out, strict=True)):  # windows of one length, side by side
        height, width = (
            fixed(n, m, kernel=n // m, stride=n // m, pad=0, counting=COUNT_ONE) for n, m in zip(size, out, strict=True)
        )
        axes = (height, width)
    return plan_maximum(call, grad="gradOutput", indices="indices", result="gradInput", layout="NCHW", axes=axes)


_ADAPTIVE_PARAMETERS = (
    Parameter("gradOutput", "tensor", "grad_output"),
    Parameter("self", "tensor", "x"),
    Parameter("indices", "tensor", "indices"),
    Parameter("gradInput", "tensor", "out", output=True),
)
_ADAPTIVE_PRODUCTS = (A2, A3)

ADAPTIVE_MAX_POOL2D_BACKWARD = Operator(
    name="aclnnAdaptiveMaxPool2dBackward",
    python_name="adaptive_max_pool2d_backward",
    parameters=_ADAPTIVE_PARAMETERS,
    products=_ADAPTIVE_PRODUCTS,
    checks=(
        *opening(_ADAPTIVE_PARAMETERS, _ADAPTIVE_PRODUCTS),
        dtype_in(_FLOATS, HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in(_FLOATS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", "gradOutput", "self"),
        same("dtype", "gradInput", "self"),
        dtype_in(("indices",), ("int32", "int64")),
        same("rank", "gradOutput", "self"),
        same("rank", "indices", "self"),
        same("rank", "gradInput", "self"),
        same("shape", "gradOutput", "indices"),
        same("shape", "self", "gradInput"),
        same("format", "gradOutput", "self"),
        same("format", "indices", "self"),
        same("format", "gradInput", "self"),
        format_in(("self",), ("ND", "NCHW", "NCL")),
        rank_in(("self",), (3, 4)),
        format_needs_rank(_ALL, "NCL", 3),
        no_negative_dims(_ALL),
        same_batch_and_channels(2, source=SAFE),
        plane_below(2**31 - 1),
        sizes_fit(_ADAPTIVE_PARAMETERS),
        output_writable(_ADAPTIVE_PARAMETERS),
    ),
    planner=_plan_adaptive_max_pool2d,
)
