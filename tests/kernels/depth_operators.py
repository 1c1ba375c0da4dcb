"""Pooling gradients over D, H and W, described for tests of plans and kernels: no contract but what plans rely on."""

from __future__ import annotations

from typing import Any

from poolgrad.base.products import A2
from poolgrad.contract.checks import same
from poolgrad.contract.operator import Operator, Sample
from poolgrad.contract.parameters import (
    CEIL,
    COUNT_PAD,
    DILATION,
    DIVISOR,
    GRAD,
    INDICES,
    KERNEL,
    PADDING,
    STRIDE,
    X,
    result,
)
from poolgrad.contract.pooling import adaptive_windows, fixed_windows, is_pooled
from poolgrad.plans.average import plan_average
from poolgrad.plans.maximum import plan_maximum
from poolgrad.run.calls import call

OUT = result("gradInput")
NUMBERS = (KERNEL, STRIDE, PADDING)


def _operator(name: str, parameters: tuple[Any, ...], windows: Any, planner: Any, rows: tuple[Any, ...]) -> Operator:
    return Operator(
        name,
        summary="",
        header="",
        axes="DHW",
        parameters=parameters,
        products=(A2,),
        default_format="ND",
        windows=windows,
        rows=(same("shape", OUT, X), *rows),
        planner=planner,
        suite=lambda suite: None,
        sample=Sample({}, {}, {}, {}),
        channels_last="NDHWC",
    )


MAX = _operator(
    "MaxPool3d",
    (GRAD, X, INDICES, *NUMBERS, DILATION, CEIL, OUT),
    fixed_windows,
    plan_maximum,
    (is_pooled(GRAD), same("shape", INDICES, GRAD)),
)
ADAPTIVE_MAX = _operator(
    "AdaptiveMaxPool3d", (GRAD, X, INDICES, OUT), adaptive_windows, plan_maximum, (same("shape", INDICES, GRAD),)
)
AVERAGE = _operator(
    "AvgPool3d",
    (GRAD, X, *NUMBERS, CEIL, COUNT_PAD, DIVISOR, OUT),
    fixed_windows,
    plan_average,
    (is_pooled(GRAD),),
)


def max_pool3d_backward(
    grad: Any,
    x: Any,
    indices: Any,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil: bool = False,
    **more: Any,
) -> Any:
    return _call(MAX, (grad, x, indices), (kernel, stride, padding, dilation, ceil), **more)


def adaptive_max_pool3d_backward(grad: Any, x: Any, indices: Any, **more: Any) -> Any:
    return _call(ADAPTIVE_MAX, (grad, x, indices), (), **more)


def avg_pool3d_backward(
    grad: Any,
    x: Any,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil: bool = False,
    count_pad: bool = True,
    divisor: int = 0,
    **more: Any,
) -> Any:
    return _call(AVERAGE, (grad, x), (kernel, stride, padding, ceil, count_pad, divisor), **more)


def _call(operator: Operator, arrays: Any, numbers: Any, out: Any = None, data_format: str | None = None) -> Any:
    return call(operator, arrays, numbers, None, out, data_format)
