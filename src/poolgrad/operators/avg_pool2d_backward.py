"""aclnnAvgPool2dBackward: the gradient of average pooling over H and W."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, ANY, INFERENCE, TRAINING, Product
from ..base.windows import spread
from ..contract.checks import (
    at_most_half,
    between,
    dims,
    dtype_in,
    format_in,
    format_needs_rank,
    length_in,
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    same,
)
from ..contract.engine import LIBRARY, SAFE, Broken, Call, Check
from ..contract.operator import IR_WINDOWS, GraphOperator, Operator, Sample
from ..contract.parameters import (
    Role,
    ceil_mode,
    count_include_pad,
    cube_math_type,
    described_input,
    divisor_override,
    gradient,
    kernel_size,
    padding,
    result,
    stride,
)
from ..contract.pooling import (
    CLASSIC,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    MODERN,
    NO_PRODUCT,
    ON_PRODUCTS,
    fixed_windows,
    is_pooled,
    same_batch_and_channels,
)
from ..plans.average import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

GRAD, X, KERNEL, STRIDE, PADDING = gradient(), described_input(), kernel_size(), stride(nullable=True), padding()
CEIL, COUNT_PAD, DIVISOR, CUBE = ceil_mode(), count_include_pad(), divisor_override(), cube_math_type()
OUT = result("gradInput")
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


def cube_math_type_allowed() -> Check:
    def test(call: Call) -> Broken | None:
        if cube_rounding(call) is not None:
            return None
        expected = f"a computation type that {call.tensor(X).dtype.name} has"
        change = "Use 1 (ALLOW_FP32_DOWN_PRECISION), which every dtype has."
        return Broken(CUBE.name, expected, str(call.number(CUBE)), change)

    return Check("cubeMathType-dtype", "cubeMathType is one that the dtype has on the product", test)


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.base(cubeMathType=1)  # which every dtype has on every product
    _windows(cases)
    _computation(cases)
    _layouts(cases)
    _refusals(cases)
    _refused_tensors(cases)


def _windows(cases: Suite) -> None:
    pooled = cases.pooled
    window = {"kernelSize": (3, 3), "stride": (2, 2), "padding": (1, 1)}
    for include in (True, False):
        word = "counts" if include else "does-not-count"
        padding = {"countIncludePad": include, **window}
        pooled(f"divisor-0-padding-{word}", "divisorOverride 0 means none", (2, 3, 9, 7), **padding)
        why = "ceil mode's last window is cut off at input plus padding"
        pooled(f"ceil-padding-{word}", why, (2, 3, 8, 8), ceilMode=True, **padding)
        why = "a given divisor makes countIncludePad irrelevant"
        pooled(f"divisor-5-padding-{word}", why, (2, 3, 9, 7), divisorOverride=5, **padding)
    pooled("divisor-negative", "a divisor may be negative", (2, 3, 8, 8), divisorOverride=-3)
    pooled("divisor-255", "the largest divisor that every product takes", (2, 3, 8, 8), divisorOverride=255)
    why = "a divisor that float32 can't hold exactly"
    pooled("divisor-beyond-2-24", why, (2, 3, 8, 8), divisorOverride=2**24 + 1, product=A2.name)
    pooled(
        "lengths-1", "arrays of one value hold for both axes", (2, 3, 9, 9), kernelSize=(3,), stride=(2,), padding=(1,)
    )
    pooled("stride-empty", "an empty stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=())
    pooled("stride-null", "a null stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=None)
    why = "a ceil-mode window that would begin in the right padding is dropped"
    pooled("ceil-dropped", why, (2, 3, 4, 4), kernelSize=(2, 2), stride=(3, 3), padding=(1, 1), ceilMode=True)
    pooled("gaps", "a stride beyond the kernel leaves elements that get 0", (1, 2, 11, 11), stride=(4, 5))
    pooled("overlap", "every element is in many windows", (1, 2, 12, 12), kernelSize=(7, 5), stride=(1, 1))
    pooled(
        "kernel-beyond-input",
        "only padding makes it fit",
        (1, 2, 3, 3),
        kernelSize=(5, 5),
        stride=(1, 1),
        padding=(2, 2),
    )
    pooled("one-element", "the smallest tensors there are", (1, 1, 1, 1), kernelSize=(1, 1), stride=(1, 1))
    pooled(
        "odd-sizes",
        "no size is a multiple of anything",
        (3, 5, 17, 13),
        kernelSize=(3, 4),
        stride=(2, 3),
        padding=(1, 2),
    )
    pooled("nan", "NaN reaches its window and nothing else", (1, 1, 8, 8), gradOutput={"values": math.nan})
    pooled("inf", "Inf stays Inf, and does not become NaN", (1, 1, 8, 8), gradOutput={"values": math.inf})


def _computation(cases: Suite) -> None:
    """cubeMathType 0 to 3 by dtype and product; see the table of the contract."""
    kept = {A2.name: "0123", A3.name: "0123", A950.name: "0123", INFERENCE.name: "12", TRAINING.name: "12"}
    halves = {("float16", product): "012" for product in kept} | {
        ("bfloat16", A2.name): "01",
        ("bfloat16", A3.name): "01",
        ("bfloat16", A950.name): "012",
    }
    for (dtype, product), allowed in {**{("float32", p): a for p, a in kept.items()}, **halves}.items():
        for mode in range(4):
            name = f"cube-{mode}-{dtype}-{product.replace(' ', '-')}"
            why = f"cubeMathType {mode} with {dtype} on {product}"
            options = {"cubeMathType": mode, "product": product, "every": {"dtype": dtype}}
            if str(mode) in allowed:
                cases.pooled(name, why, (1, 2, 8, 8), **options)
            else:
                cases.refused(name, f"{why} is refused", **options)
    for mode in range(4):
        why = f"global pooling has rules of its own on Ascend 950: cubeMathType {mode}"
        whole = {"kernelSize": (8, 8), "stride": (1, 1), "cubeMathType": mode, "product": A950.name}
        cases.pooled(f"cube-{mode}-global", why, (1, 2, 8, 8), **whole)
    why = "bfloat16 in global pooling on Ascend 950 takes no float16 computation"
    cases.refused(
        "cube-2-global-bfloat16",
        why,
        kernelSize=(8, 8),
        cubeMathType=2,
        product=A950.name,
        every={"dtype": "bfloat16"},
        gradOutput={"shape": (2, 3, 1, 1)},
    )


def _layouts(cases: Suite) -> None:
    for format in ("NCHW", "NCL"):
        cases.pooled(f"rank-3-{format}", f"rank 3 is C, H, W, in {format}", (3, 8, 6), every={"format": format})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    cases.add("channels-last", "views whose channels lie side by side", self=channels_last, gradInput=channels_last)
    apart = {"strides": (192, 64, 16, 2), "storage": (384,), "offset": 1}
    cases.add("strided-gradients", "gradOutput is every second element of something", gradOutput=apart)
    backwards = {"strides": (-48, -16, -4, -1), "storage": (96,), "offset": 95}
    cases.add("backwards", "gradOutput is read from its end", gradOutput=backwards)
    broadcast = {"strides": (0, 0, 0, 0), "storage": (1,)}
    cases.add("broadcast", "one number stands for all of gradOutput", gradOutput=broadcast)
    wide = {"strides": (600, 200, 20, 2), "storage": (1200,), "offset": 3}
    cases.add("strided-output", "memory between the output's elements is not touched", gradInput=wide)


def _refusals(cases: Suite) -> None:
    refused = cases.refused
    cases.nulls()
    refused("product", "the product does not have the operator", product="Atlas 200I/500 A2")
    refused("int64-kernel", "a number beyond 64 bits", kernelSize=(2**63, 1))
    refused("int64-divisor", "a number beyond 64 bits", divisorOverride=-(2**63) - 1)
    refused("kernel-empty", "kernelSize has no value", kernelSize=())
    refused("kernel-three", "kernelSize has three values", kernelSize=(2, 2, 2))
    refused("kernel-zero", "a kernel of 0", kernelSize=(2, 0))
    refused("stride-three", "stride has three values", stride=(2, 2, 2))
    refused("stride-zero", "a stride of 0", stride=(0, 2))
    refused("padding-empty", "padding has no value", padding=())
    refused("padding-beyond-half", "padding is more than half the kernel", kernelSize=(3, 3), padding=(2, 2))
    refused("padding-negative", "negative padding", padding=(0, -1))
    refused("cube-4", "cubeMathType ends at 3", cubeMathType=4)
    refused("cube-negative", "cubeMathType begins at 0", cubeMathType=-1)
    refused("divisor-256", "a divisor beyond 255", divisorOverride=256, product=INFERENCE.name)
    refused("divisor-minus-256", "a divisor below -255", divisorOverride=-256, product=TRAINING.name)


def _refused_tensors(cases: Suite) -> None:
    refused = cases.refused
    cases.refused_planes()
    refused("dtype-int32", "integers are not pooled", every={"dtype": "int32"})
    for product in (INFERENCE.name, TRAINING.name):
        why = f"{product} has no bfloat16"
        refused(f"dtype-bfloat16-{product.replace(' ', '-')}", why, every={"dtype": "bfloat16"}, product=product)
    refused("dtype-float64", "no product has float64", every={"dtype": "float64"}, product=A2.name)
    refused("dtype-of-gradients", "gradOutput and gradInput differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-self", "self and gradInput differ in dtype", self={"dtype": "float16"})
    for format in ("ND", "NHWC", "NC1HWC0"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("format-differs", "self and gradInput differ in format", self={"format": "NCL"})
    refused("ranks-differ", "gradOutput has rank 3, self rank 4", gradOutput={"shape": (3, 4, 4)})
    refused("size-negative", "a negative size", self={"shape": (2, 3, -8, 8)})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 8, 9)})
    refused(
        "empty-batch",
        "empty tensors",
        gradOutput={"shape": (0, 3, 4, 4)},
        self={"shape": (0, 3, 8, 8)},
        product=A2.name,
    )
    refused("empty-channels", "empty tensors", gradOutput={"shape": (2, 0, 4, 4)}, self={"shape": (2, 0, 8, 8)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 4, 4)})
    refused("outside-storage", "the view of gradOutput ends behind its storage", gradOutput={"storage": (2, 3, 4, 3)})


OPERATOR = Operator(
    "aclnnAvgPool2dBackward",
    summary="the gradient of 2-D average pooling",
    header="aclnn_avgpool2d_backward.h",
    axes="HW",
    parameters=(GRAD, X, KERNEL, STRIDE, PADDING, CEIL, COUNT_PAD, DIVISOR, CUBE, OUT),
    products=(A2, A3, INFERENCE, TRAINING, A950),
    default_format="NCHW",
    windows=fixed_windows,
    rows=(
        dtype_in(TENSORS, HALVES_AND_FLOAT, on=MODERN),
        dtype_in(TENSORS, ("float32", "float16"), on=CLASSIC),
        dtype_in(TENSORS, EVERY_FLOAT, on=NO_PRODUCT),
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
        cube_math_type_allowed(),
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
        GraphOperator(
            "AvgPool3DGrad",
            {Role.INPUT: "orig_input_shape", Role.GRADIENT: "grads"}
            | IR_WINDOWS
            | {Role.COUNT_INCLUDE_PAD: "count_include_pad", Role.DIVISOR: "divisor_override"},
            words=("data_format",),
            needs_data_format=True,
        ),
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
