"""aclnnAvgPool2dBackward: the gradient of average pooling over H and W."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, ANY, INFERENCE, TRAINING, Product
from ..base.windows import spread
from ..contract.checks import (
    at_most_half,
    between,
    dims,
    format_in,
    format_needs_rank,
    length_in,
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    same,
)
from ..contract.engine import LIBRARY, SAFE, Call
from ..contract.operator import AVG_POOL_3D_GRAD, IR_WINDOWS, GraphOperator, Operator, Sample
from ..contract.parameters import CEIL, COUNT_PAD, CUBE, DIVISOR, GRAD, KERNEL, PADDING, STRIDE, Role, X, result
from ..contract.pooling import (
    CLASSIC,
    NO_PRODUCT,
    ON_PRODUCTS,
    computation_allowed,
    fixed_windows,
    floats,
    is_pooled,
    same_batch_and_channels,
)
from ..plans.average import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

NULLABLE_STRIDE, OUT = replace(STRIDE, nullable=True), result("gradInput")
TENSORS = (GRAD, X, OUT)

# What gradOutput is rounded to, by product, dtype and cubeMathType 0 to 3; None: refused. The Ascend 950 has an
# entry of its own for global pooling, where the kernel covers the whole plane and gradOutput is 1 x 1.
Modes = dict[str, tuple[str | None, ...]]
_HALF_16, _HALF_B16 = ("kept", "kept", "kept", None), ("kept", "kept", None, None)
_A2_MODES: Modes = {"float32": ("kept", "hf32", "float16", "hf32"), "float16": _HALF_16, "bfloat16": _HALF_B16}
_CLASSIC_MODES: Modes = {"float32": (None, "float16", "float16", None), "float16": _HALF_16}
_A950_MODES: Modes = {"float32": ("kept", "kept", "float16", "kept"), "float16": _HALF_16, "bfloat16": _HALF_16}
_A950_GLOBAL_MODES: Modes = {
    "float32": ("kept", "hf32 of Ascend 950", "float16", "hf32 of Ascend 950"),
    "float16": _HALF_16,
    "bfloat16": _HALF_B16,
}
CUBE_MODES: dict[Product, Modes] = {
    A2: _A2_MODES,
    A3: _A2_MODES,
    INFERENCE: _CLASSIC_MODES,
    TRAINING: _CLASSIC_MODES,
    ANY: _A2_MODES | {"float64": ("kept", "kept", None, None)},
}


def is_global(call: Call) -> bool:
    """The kernel covers the whole plane and gives one value."""
    return spread(call.ints(KERNEL), 2) == call.tensor(X).shape[-2:] and call.tensor(GRAD).shape[-2:] == (1, 1)


def cube_rounding(call: Call) -> str | None:
    """What gradOutput is rounded to; None if the product refuses this cubeMathType for the dtype."""
    modes = CUBE_MODES.get(call.product) or (_A950_GLOBAL_MODES if is_global(call) else _A950_MODES)
    return modes[call.tensor(X).dtype.name][call.number(CUBE)]


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.base(cubeMathType=1)  # which every dtype has on every product
    cases.fixed_windows()
    cases.pooled("stride-null", "a null stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=None)
    _divisors(cases)
    _computation(cases)
    cases.without_batch("NCHW", "NCL")
    cases.averages()
    cases.layouts()
    refused = cases.refused
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("ND", "NHWC", "NC1HWC0")
    cases.formats_differ("NCL", "self")
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    for product in (INFERENCE, TRAINING):
        why = f"{product.name} has no bfloat16"
        name = f"dtype-bfloat16-{product.name.replace(' ', '-')}"
        refused(name, why, every={"dtype": "bfloat16"}, product=product.name)
    refused("dtype-of-self", "self and gradInput differ in dtype", self={"dtype": "float16"})
    empty = {"gradOutput": {"shape": (0, 3, 4, 4)}, "self": {"shape": (0, 3, 8, 8)}}
    refused("empty-batch", "empty tensors", product=A2.name, **empty)
    refused("empty-channels", "empty tensors", gradOutput={"shape": (2, 0, 4, 4)}, self={"shape": (2, 0, 8, 8)})


def _divisors(cases: Suite) -> None:
    pooled, refused, shape = cases.pooled, cases.refused, (2, 3, 8, 8)
    cases.divisors()
    pooled("divisor-255", "the largest divisor that every product takes", shape, divisorOverride=255)
    why = "a divisor that float32 can't hold exactly"
    pooled("divisor-beyond-2-24", why, shape, divisorOverride=2**24 + 1, product=A2.name)
    refused("divisor-256", "a divisor beyond 255", divisorOverride=256, product=INFERENCE.name)
    refused("divisor-minus-256", "a divisor below -255", divisorOverride=-256, product=TRAINING.name)
    refused("int64-divisor", "a number beyond 64 bits", divisorOverride=-(2**63) - 1)


def _computation(cases: Suite) -> None:
    """cubeMathType 0 to 3 by dtype and product; see the table of the contract."""
    table = {"float32": {A2: "0123", A3: "0123", A950: "0123", INFERENCE: "12", TRAINING: "12"}}
    table["float16"] = dict.fromkeys(table["float32"], "012")
    table["bfloat16"] = {A2: "01", A3: "01", A950: "012"}
    for dtype, modes in table.items():
        for product, allowed in modes.items():
            for mode in range(4):
                name = f"cube-{mode}-{dtype}-{product.name.replace(' ', '-')}"
                why = f"cubeMathType {mode} with {dtype} on {product.name}"
                options = {"cubeMathType": mode, "product": product.name, "every": {"dtype": dtype}}
                if str(mode) in allowed:
                    cases.pooled(name, why, (1, 2, 8, 8), **options)
                else:
                    cases.refused(name, f"{why} is refused", **options)
    for mode in range(4):
        why = f"global pooling has rules of its own on Ascend 950: cubeMathType {mode}"
        whole = {"kernelSize": (8, 8), "stride": (1, 1), "cubeMathType": mode, "product": A950.name}
        cases.pooled(f"cube-{mode}-global", why, (1, 2, 8, 8), **whole)
    why = "bfloat16 in global pooling on Ascend 950 takes no float16 computation"
    one = {"kernelSize": (8, 8), "cubeMathType": 2, "gradOutput": {"shape": (2, 3, 1, 1)}, "product": A950.name}
    cases.refused("cube-2-global-bfloat16", why, every={"dtype": "bfloat16"}, **one)
    cases.refused("cube-4", "cubeMathType ends at 3", cubeMathType=4)
    cases.refused("cube-negative", "cubeMathType begins at 0", cubeMathType=-1)


OPERATOR = Operator(
    "aclnnAvgPool2dBackward",
    summary="the gradient of 2-D average pooling",
    header="aclnn_avgpool2d_backward.h",
    axes="HW",
    parameters=(GRAD, X, KERNEL, NULLABLE_STRIDE, PADDING, CEIL, COUNT_PAD, DIVISOR, CUBE, OUT),
    products=(A2, A3, INFERENCE, TRAINING, A950),
    default_format="NCHW",
    windows=fixed_windows,
    rows=(
        *floats(TENSORS, no_bfloat16=CLASSIC),
        same("dtype", GRAD, OUT),
        same("dtype", X, OUT),
        format_in(TENSORS, ("NCHW", "NCL"), source=LIBRARY),
        same("format", X, OUT),
        rank_in(TENSORS, (3, 4)),
        same("rank", GRAD, X),
        format_needs_rank(TENSORS, "NCL", 3),
        no_negative_dims(TENSORS),
        length_in(KERNEL, (1, 2)),
        positive(KERNEL),
        length_in(STRIDE, (0, 1, 2)),
        positive(STRIDE),
        length_in(PADDING, (1, 2)),
        at_most_half(PADDING, KERNEL),
        not_negative(PADDING),
        between(CUBE, 0, 3),
        computation_allowed(CUBE, X),
        same("shape", X, OUT),
        dims((GRAD, X), "empty", "no size of 0", lambda size, axis: size == 0, on=ON_PRODUCTS),
        dims(
            (GRAD, X),
            "empty",
            "no size of 0 but the batch's",
            lambda size, axis: size == 0 and axis != -4,
            on=NO_PRODUCT,
            source=SAFE,
        ),
        same_batch_and_channels(GRAD, X, source=SAFE),
        is_pooled(GRAD),
        between(DIVISOR, -255, 255, on=CLASSIC),
    ),
    planner=plan_average,
    rounding=cube_rounding,
    atk_names={
        "kernelSize": "kernel_size",
        "ceilMode": "ceil_mode",
        "countIncludePad": "count_include_pad",
        "divisorOverride": "divisor_override",
        "cubeMathType": "cube_math_type",
    },
    suite=suite,
    torch="avg_pool2d",
    slips=(
        (
            'both versions: floor brackets called "round up"; the gradient formula has a free m, sums over n only, '
            "knows no padding",
            "the gradient of average pooling with padding, ceil mode, countIncludePad and divisorOverride",
        ),
        (
            "older version: cubeMathType listed as an output; a stride of length 0 missing",
            "an input; allowed, as in the newer document",
        ),
    ),
    ir=(
        GraphOperator(
            "AvgPoolV2Grad",
            {Role.INPUT: "orig_input_shape", Role.GRADIENT: "input_grad"}
            | IR_WINDOWS
            | {Role.DIVISOR: "divisor_override"},
            words=("padding_mode", "global_pooling", "exclusive", "data_format"),
        ),
        AVG_POOL_3D_GRAD,
    ),
    sample=Sample(
        shapes={"gradOutput": (1, 16, 1, 1), "self": (1, 16, 4, 4), "gradInput": (1, 16, 4, 4)},
        values={"gradOutput": [1.0] * 16},
        numbers={"kernelSize": (4, 4), "stride": (1, 1), "padding": (0, 0), "cubeMathType": 1},
        results={"gradInput": [0.0625] * 256},
    ),
)


def avg_pool2d_backward(
    grad_output: Any,
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    cube_math_type: int = 0,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The gradient of 2-D average pooling with respect to its input.

    ``grad_output`` is the gradient of the output, (N,C,H,W) or (C,H,W). ``x`` is the input of the forward pass or
    just its shape: its values are never read. Parameters are an int, or one or two ints (for H and W);
    ``stride=None`` means ``kernel_size``. ``product`` applies the documented contract of that product, for instance
    ``"Atlas A2"``. The result is of the kind of ``grad_output``, laid out as ``x``, or ``out`` if that is given.

    Raises ``AclnnError`` with the documented status if the contract refuses the call; the output is then as it was.

    >>> import numpy as np, poolgrad
    >>> poolgrad.avg_pool2d_backward(np.ones((1, 1, 2, 2), np.float32), (1, 1, 4, 4), 2)[0, 0, 0]
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, cube_math_type)
    return call(OPERATOR, (grad_output, x), numbers, product, out)
