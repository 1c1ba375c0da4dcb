"""aclnnAvgPool2d: average pooling over H and W."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.products import A2, A3, A950, ANY, INFERENCE, TRAINING, Product
from ..contract.checks import (
    at_most_half,
    between,
    dims,
    format_in,
    length_in,
    no_negative_dims,
    not_negative,
    positive,
    rank_in,
    rank_needs_format,
    same,
)
from ..contract.engine import DOCUMENT, LIBRARY, SAFE, Call
from ..contract.operator import Operator, Sample
from ..contract.parameters import CEIL, COUNT_PAD, CUBE, DIVISOR, KERNEL, PADDING, POOLED, STRIDE, result
from ..contract.pooling import (
    CLASSIC,
    NO_PRODUCT,
    ON_PRODUCTS,
    computation_allowed,
    fixed_windows,
    floats,
    is_pooled,
    pooled_results,
    positive_but_first,
    windows_fit,
)
from ..plans.forward import plan_average
from ..run.calls import Ints, call

if TYPE_CHECKING:
    from ..cases.suite import Suite

STRIDES, PADDINGS, OUT = replace(STRIDE, name="strides"), replace(PADDING, name="paddings"), result("out")
FORMATS = {4: "NCHW", 3: "NCL"}

# What self is rounded to, by product, dtype and cubeMathType 0 to 3; None: refused.
Modes = dict[str, tuple[str | None, ...]]
_HALF_16, _HALF_B16 = ("kept", "kept", "kept", None), ("kept", "kept", None, None)
_A2_MODES: Modes = {"float32": ("kept", None, "float16", None), "float16": _HALF_16, "bfloat16": _HALF_B16}
_CLASSIC_MODES: Modes = {"float32": (None, "float16", "float16", None), "float16": _HALF_16}
CUBE_MODES: dict[Product, Modes] = {
    A2: _A2_MODES,
    A3: _A2_MODES,
    A950: {"float32": ("kept", "kept", "float16", None), "float16": _HALF_16, "bfloat16": _HALF_16},
    INFERENCE: _CLASSIC_MODES,
    TRAINING: _CLASSIC_MODES,
    ANY: _A2_MODES | {"float64": ("kept", "kept", None, None)},
}


def cube_rounding(call: Call) -> str | None:
    """What self is rounded to; None if the product refuses this cubeMathType for the dtype."""
    return CUBE_MODES[call.product][call.tensor(POOLED).dtype.name][call.number(CUBE)]


def suite(cases: Suite) -> None:
    """Cases that usual suites leave out."""
    cases.base(cubeMathType=2)  # which float32 and float16 have on every product
    cases.fixed_windows()
    cases.divisors()
    _computation(cases)
    cases.without_batch("NCL")
    cases.averages()
    cases.layouts()
    refused, shape = cases.refused, (2, 3, 8, 8)
    cases.pooled("divisor-beyond-2-24", "a divisor that float32 can't hold exactly", shape, divisorOverride=2**24 + 1)
    cases.pooled("divisor-beyond-255", "a divisor has no limits on any product", shape, divisorOverride=-256)
    refused("int64-divisor", "a number beyond 64 bits", divisorOverride=-(2**63) - 1)
    cases.refusals()
    cases.refused_windows()
    cases.refused_formats("ND", "NHWC", "NC1HWC0")
    cases.formats_differ("NCL", "self", "out")
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    without_batch = {"self": {"shape": (3, 8, 8)}, "out": {"shape": (3, 4, 4)}}
    refused("NCHW-of-rank-3", "NCHW has four axes", **without_batch)
    for product in (INFERENCE, TRAINING):
        why = f"{product.name} has no bfloat16"
        name = f"dtype-bfloat16-{product.name.replace(' ', '-')}"
        refused(name, why, every={"dtype": "bfloat16"}, product=product.name)
    refused("dtype-of-out-int32", "the output's type is looked at, too", out={"dtype": "int32"})
    refused("format-of-out-ND", "and its format", out={"format": "ND"})
    refused("empty-batch", "empty tensors", product=A2.name, self={"shape": (0, 3, 8, 8)})
    refused("empty-channels", "empty tensors", self={"shape": (2, 0, 8, 8)})


def _computation(cases: Suite) -> None:
    """cubeMathType 0 to 3 by dtype and product; see the table of the contract."""
    table = {"float32": {A2: "02", A3: "02", A950: "012", INFERENCE: "12", TRAINING: "12"}}
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
    cases.refused("cube-4", "cubeMathType ends at 3", cubeMathType=4)
    cases.refused("cube-negative", "cubeMathType begins at 0", cubeMathType=-1)


OPERATOR = Operator(
    "aclnnAvgPool2d",
    summary="2-D average pooling",
    header="aclnn_avgpool2d.h",
    axes="HW",
    parameters=(POOLED, KERNEL, STRIDES, PADDINGS, CEIL, COUNT_PAD, DIVISOR, CUBE, OUT),
    products=(A2, A3, INFERENCE, TRAINING, A950),
    default_format="NCHW",
    format_without_batch="NCL",
    windows=fixed_windows,
    rows=(
        *floats((POOLED,), no_bfloat16=CLASSIC),
        *floats((OUT,), no_bfloat16=CLASSIC),
        same("dtype", OUT, POOLED),
        format_in((POOLED,), ("NCHW", "NCL")),
        format_in((OUT,), ("NCHW", "NCL")),
        rank_needs_format(POOLED, (POOLED, OUT), FORMATS, source=LIBRARY),
        no_negative_dims((POOLED, OUT)),
        positive(KERNEL),
        positive(STRIDES),
        not_negative(PADDINGS),
        rank_in((POOLED,), (3, 4)),
        same("rank", OUT, POOLED),
        dims((POOLED,), "empty", "no size of 0", lambda size, axis: size == 0, on=ON_PRODUCTS),
        positive_but_first((POOLED,), "empty", on=NO_PRODUCT, source=SAFE),
        length_in(KERNEL, (1, 2)),
        length_in(PADDINGS, (1, 2)),
        length_in(STRIDES, (0, 1, 2)),
        at_most_half(PADDINGS, KERNEL),
        windows_fit(POOLED, "HW"),
        is_pooled(OUT, source=DOCUMENT),
        between(CUBE, 0, 3),
        computation_allowed(CUBE, POOLED),
    ),
    planner=plan_average,
    results=pooled_results,
    rounding=cube_rounding,
    suite=suite,
    slips=(
        (
            "only the floor formula, with the rule that drops a window hung on it; a mean without padding, "
            "countIncludePad and divisorOverride, windows from o * s on",
            "ceil mode has a formula of its own; windows begin at o * s - p, and divisors as torch has them",
        ),
        ("the error table knows only lengths below 1", "the lengths of the parameters' table"),
        (
            "float32 with cubeMathType 1 is a matter of the training series only",
            "of the inference series, too, as its own text says",
        ),
        ("silent on Ascend 950 for cubeMathType 1, and for 2 with bfloat16", "the dtype is kept: *library*"),
    ),
    sample=Sample(
        shapes={"self": (1, 16, 4, 4), "out": (1, 16, 1, 1)},
        values={"self": [2.0] * 256},
        numbers={"kernelSize": (4, 4), "strides": (1, 1), "paddings": (0, 0), "cubeMathType": 2},
        results={"out": [2.0] * 16},
    ),
)


def avg_pool2d(
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
    """2-D average pooling: the mean of each window.

    ``x`` is an array (N,C,H,W) or (C,H,W). Padding adds nothing to a sum, only to its divisor, unless
    ``count_include_pad`` is off or ``divisor_override`` is given. Halves are summed in float32 and rounded once. The
    result is of the type, kind and layout of ``x``, or ``out`` if that is given, which may not share memory with ``x``.
    Other parameters and errors as in ``avg_pool2d_backward``.

    >>> import numpy as np, poolgrad
    >>> poolgrad.avg_pool2d(np.array([[[1.0, 3.0], [2.0, 0.0]]], np.float32), 2)
    array([[[1.5]]], dtype=float32)
    """
    numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, cube_math_type)
    return call(OPERATOR, (x,), numbers, product, out)
