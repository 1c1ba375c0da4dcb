"""The contracts of the average pooling gradients."""

from __future__ import annotations

from ..base.products import A2, A3, A950, ANY, INFERENCE, TRAINING, Product
from ..base.windows import COUNT_ONE, COUNT_PADDED, COUNT_VALID, adaptive, fixed, pair, whole
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
    opening,
    output_writable,
    positive,
    rank_in,
    same,
    sizes_fit,
)
from ..contract.engine import DOCUMENT, LIBRARY, SAFE, Broken, Call, Check, Operator, Parameter
from ..plans.average import plan_average
from ..plans.plan import Plan
from .pooling import (
    CLASSIC,
    EVERY_FLOAT,
    HALVES_AND_FLOAT,
    MODERN,
    NO_PRODUCT,
    ON_PRODUCTS,
    grad_output_is_pooled,
    padded_plane,
    same_batch_and_channels,
    windows_of,
)

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
    self, grad_output = call.tensor("self"), call.tensor("gradOutput")
    return pair(call.ints("kernelSize")) == self.shape[-2:] and grad_output.shape[-2:] == (1, 1)


def cube_rounding(call: Call) -> str | None:
    """What gradOutput is rounded to; None if the product refuses this cubeMathType for the dtype."""
    modes = CUBE_MODES.get(call.product) or (_A950_GLOBAL_MODES if is_global(call) else _A950_MODES)
    return modes[call.tensor("self").dtype.name][call.number("cubeMathType")]


def cube_math_type_allowed() -> Check:
    def test(call: Call) -> Broken | None:
        if cube_rounding(call) is not None:
            return None
        dtype = call.tensor("self").dtype.name
        return Broken(
            "cubeMathType",
            f"a computation type that {dtype} has",
            str(call.number("cubeMathType")),
            "Use 1 (ALLOW_FP32_DOWN_PRECISION), which every dtype has.",
        )

    return Check("cubeMathType-dtype", "cubeMathType is one that the dtype has on the product", test)


def _plan_avg_pool2d(call: Call) -> Plan:
    divisor = call.number("divisorOverride")
    counting = COUNT_ONE if divisor else COUNT_PADDED if call.values["countIncludePad"] else COUNT_VALID
    rows, columns = (
        fixed(w.size, w.out, kernel=w.kernel, stride=w.stride, pad=w.pad, counting=counting) for w in windows_of(call)
    )
    return plan_average(
        call,
        grad="gradOutput",
        result="gradInput",
        layout="NCHW",
        axes=(whole(1), rows, columns),
        divisor=divisor or 1,
        rounding=cube_rounding(call) or "kept",
    )


_AVG_PARAMETERS = (
    Parameter("gradOutput", "tensor", "grad_output"),
    Parameter("self", "tensor", "x"),
    Parameter("kernelSize", "ints", "kernel_size"),
    Parameter("stride", "ints", "stride"),
    Parameter("padding", "ints", "padding"),
    Parameter("ceilMode", "bool", "ceil_mode"),
    Parameter("countIncludePad", "bool", "count_include_pad"),
    Parameter("divisorOverride", "int", "divisor_override"),
    Parameter("cubeMathType", "int", "cube_math_type"),
    Parameter("gradInput", "tensor", "out", output=True),
)
_AVG_TENSORS = ("gradOutput", "self", "gradInput")
_AVG_PRODUCTS = (A2, A3, INFERENCE, TRAINING, A950)

AVG_POOL2D_BACKWARD = Operator(
    name="aclnnAvgPool2dBackward",
    python_name="avg_pool2d_backward",
    parameters=_AVG_PARAMETERS,
    products=_AVG_PRODUCTS,
    checks=(
        *opening(_AVG_PARAMETERS, _AVG_PRODUCTS, optional=("stride",)),
        dtype_in(_AVG_TENSORS, HALVES_AND_FLOAT, on=MODERN),
        dtype_in(_AVG_TENSORS, ("float32", "float16"), on=CLASSIC),
        dtype_in(_AVG_TENSORS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", "gradOutput", "gradInput"),
        same("dtype", "self", "gradInput"),
        format_in(_AVG_TENSORS, ("NCHW", "NCL"), source=LIBRARY),
        same("format", "self", "gradInput"),
        rank_in(_AVG_TENSORS, (3, 4)),
        same("rank", "gradOutput", "self"),
        format_needs_rank(_AVG_TENSORS, "NCL", 3),
        no_negative_dims(_AVG_TENSORS),
        length_in("kernelSize", (1, 2)),
        positive("kernelSize"),
        length_in("stride", (0, 1, 2)),
        positive("stride"),
        length_in("padding", (1, 2)),
        at_most_half("padding", "kernelSize"),
        not_negative("padding"),
        between("cubeMathType", 0, 3),
        cube_math_type_allowed(),
        same("shape", "self", "gradInput"),
        dims(("gradOutput", "self"), "empty", "no size of 0", lambda size, axis: size == 0, on=ON_PRODUCTS),
        dims(
            ("gradOutput", "self"),
            "empty",
            "no size of 0 but the batch's",
            lambda size, axis: size == 0 and axis != -4,
            on=NO_PRODUCT,
            source=SAFE,
        ),
        same_batch_and_channels(2, source=SAFE),
        grad_output_is_pooled(),
        between("divisorOverride", -255, 255, on=CLASSIC),
        sizes_fit(_AVG_PARAMETERS, padded_plane),
        output_writable(_AVG_PARAMETERS),
    ),
    planner=_plan_avg_pool2d,
)


def _plan_adaptive_avg_pool3d(call: Call) -> Plan:
    sizes, outs = call.tensor("self").shape[-3:], call.tensor("gradOutput").shape[-3:]
    depth, rows, columns = (adaptive(size, out) for size, out in zip(sizes, outs, strict=True))
    return plan_average(call, grad="gradOutput", result="out", layout="NCDHW", axes=(depth, rows, columns))


def window_arithmetic(call: Call) -> int:
    """The largest product that the window formulas form along one axis."""
    sizes, outs = call.tensor("self").shape[-3:], call.tensor("gradOutput").shape[-3:]
    return max((size + 1) * (out + 1) for size, out in zip(sizes, outs, strict=True))


_ADAPTIVE_PARAMETERS = (
    Parameter("gradOutput", "tensor", "grad_output"),
    Parameter("self", "tensor", "x"),
    Parameter("out", "tensor", "out", output=True),
)
_ADAPTIVE_TENSORS = ("gradOutput", "self", "out")
_ADAPTIVE_PRODUCTS = (A2, A3, INFERENCE, TRAINING)

ADAPTIVE_AVG_POOL3D_BACKWARD = Operator(
    name="aclnnAdaptiveAvgPool3dBackward",
    python_name="adaptive_avg_pool3d_backward",
    parameters=_ADAPTIVE_PARAMETERS,
    products=_ADAPTIVE_PRODUCTS,
    checks=(
        *opening(_ADAPTIVE_PARAMETERS, _ADAPTIVE_PRODUCTS),
        rank_in(("self",), (4, 5)),
        same("rank", "gradOutput", "self"),
        same("rank", "out", "self"),
        dims(("self",), "self-dims", "sizes greater than 0", lambda size, axis: size <= 0, on=ON_PRODUCTS),
        dims(
            ("self",),
            "self-dims",
            "sizes greater than 0, the batch's at least 0",
            lambda size, axis: size < 0 or (size == 0 and axis != -5),
            on=NO_PRODUCT,
            source=SAFE,
        ),
        same("shape", "out", "self"),
        same_batch_and_channels(3, source=DOCUMENT),
        dims(
            ("gradOutput",),
            "gradOutput-dims",
            "D, H, W greater than 0",
            lambda size, axis: size <= 0 and axis >= -3,
        ),
        dtype_in(_ADAPTIVE_TENSORS, HALVES_AND_FLOAT, on=ON_PRODUCTS),
        dtype_in(_ADAPTIVE_TENSORS, EVERY_FLOAT, on=NO_PRODUCT),
        same("dtype", "gradOutput", "self"),
        same("dtype", "self", "out"),
        same("format", "gradOutput", "self"),
        same("format", "self", "out"),
        format_in(_ADAPTIVE_TENSORS, ("NCDHW", "ND")),
        sizes_fit(_ADAPTIVE_PARAMETERS, window_arithmetic),
        output_writable(_ADAPTIVE_PARAMETERS),
    ),
    planner=_plan_adaptive_avg_pool3d,
)
