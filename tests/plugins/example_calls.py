"""One call of each operator as tools describe it, and what the reference gives for it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from poolgrad.operators import REGISTRY
from poolgrad.selftest import reference

AVG, ADAPTIVE_AVG, MAX, ADAPTIVE_MAX = REGISTRY
Array = np.ndarray[Any, Any]
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]

# How TTK describes the calls below: formats of all tensors, and a device that has the operator in every type.
FORMAT = {AVG: "NCHW", ADAPTIVE_AVG: "ND", MAX: "ND", ADAPTIVE_MAX: "ND"}
SOC = {AVG: "Ascend910B", ADAPTIVE_AVG: "Ascend910B", MAX: "Ascend950", ADAPTIVE_MAX: "Ascend910B"}


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Array:
    """Multiples of 36, whose shares in windows of up to 4 or 9 elements are exact in every type."""
    return (36 * np.random.default_rng(seed).integers(-3, 4, shape)).astype(dtype)


def parameters(operator: str, dtype: Any = np.float32, index: Any = np.int32) -> dict[str, Any]:
    """A call by C's names in C's order, with placeholders in the place of indices, and what it is to give."""
    x = np.random.default_rng(7).permutation(2 * 3 * 6 * 8).reshape(2, 3, 6, 8).astype(dtype)
    if operator == AVG:
        given = {"kernelSize": [2], "stride": [], "padding": [0], "ceilMode": False, "countIncludePad": True}
        given |= {"divisorOverride": 0, "cubeMathType": 1}
        return {"gradOutput": numbers((2, 3, 3, 4), dtype), "self": x, **given, "gradInput": np.empty_like(x)}
    if operator == ADAPTIVE_AVG:
        return {"gradOutput": numbers((2, 1, 3, 4), dtype), "self": x, "out": np.empty_like(x)}
    rubbish = np.full((2, 3, 3, 4), -5, index)
    tensors = {"gradOutput": numbers((2, 3, 3, 4), dtype), "self": x, "indices": rubbish}
    given = {"kernelSize": [3], "stride": [2], "padding": [1], "dilation": [1], "ceilMode": False}
    return tensors | (given if operator == MAX else {}) | {"gradInput": np.empty_like(x)}


def wanted(operator: str, given: dict[str, Any]) -> Array:
    grad, x = given["gradOutput"], given["self"]
    if operator == AVG:
        return reference.avg_pool2d_backward(grad, x.shape, (2, 2), (2, 2), (0, 0))
    if operator == ADAPTIVE_AVG:
        return reference.adaptive_avg_pool3d_backward(grad, x.shape)
    return reference.max_pool2d_with_indices_backward(grad, x.shape, legal_indices(operator, x))


def assert_same(got: Array, expected: Array, dtype: Any) -> None:
    assert got.dtype == dtype
    assert np.array_equal(got.astype(np.float64), expected.astype(np.float64))


def legal_indices(operator: str, x: Array) -> Array:
    if operator == MAX:
        return reference.max_pool_indices(x, (3, 3), (2, 2), (1, 1))
    return reference.adaptive_max_pool_indices(x, (3, 4))


ATK_NAMES = {
    AVG: {
        "kernelSize": "kernel_size",
        "ceilMode": "ceil_mode",
        "countIncludePad": "count_include_pad",
        "divisorOverride": "divisor_override",
        "cubeMathType": "cube_math_type",
    },
    ADAPTIVE_AVG: {"self": "Input"},
}


def atk_inputs(operator: str, given: dict[str, Any], index: Any = np.int32) -> dict[str, Any]:
    names = ATK_NAMES.get(operator, {})
    inputs = {names.get(name, name): value for name, value in given.items() if name not in ("gradInput", "out")}
    if operator == ADAPTIVE_MAX:
        inputs |= {"gradOutput": np.zeros(1, given["self"].dtype), "output_size": (3, 4)}
    if "indices" in inputs:
        inputs["indices"] = np.zeros(1, index)  # neither its values nor its shape mean anything
    return inputs
