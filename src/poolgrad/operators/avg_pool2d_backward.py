"""aclnnAvgPool2dBackward: the gradient of average pooling over H and W."""

from __future__ import annotations

from typing import Any

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
from ..contract.operator import Operator, Sample
from ..contract.parameters import (
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
