"""One call of each operator as tools describe it, and what plain loops over its windows give for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.support import OF_PLACES, Support, support
from poolgrad.operators import REGISTRY
from poolgrad.selftest import reference

AVG, ADAPTIVE_AVG = "aclnnAvgPool2dBackward", "aclnnAdaptiveAvgPool3dBackward"
MAX, ADAPTIVE_MAX = "aclnnMaxPool2dWithIndicesBackward", "aclnnAdaptiveMaxPool2dBackward"
Array = np.ndarray[Any, Any]
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def takes_indices(operator: str) -> bool:
    return Role.INDICES in REGISTRY[operator].by_role


def takes_mask(operator: str) -> bool:
    return any(p.role is Role.MASK for p in REGISTRY[operator].inputs)


def has_maxima(operator: str) -> bool:
    maxima = any(p.role in OF_PLACES for p in REGISTRY[operator].tensors)
    return maxima or Role.DILATION in REGISTRY[operator].by_role


def is_forward(operator: str) -> bool:
    return Role.GRADIENT not in REGISTRY[operator].by_role


WITH_INDICES, WITH_MASK = list(filter(takes_indices, REGISTRY)), list(filter(takes_mask, REGISTRY))

# How TTK describes the calls below: the format of all tensors, and a device that has the operator in every type.
FORMAT = {operator.name: operator.default_format for operator in REGISTRY.values()}


def _widest(operator: Operator) -> Support:
    """Where the operator has most types."""
    return max((support(operator, product) for product in operator.products), key=lambda cell: len(cell.dtypes))


SOC = {operator.name: _widest(operator).product.soc for operator in REGISTRY.values()}
# The types of indices there; of an operator without any, one that goes unused.
INDEX_TYPES = {operator.name: _widest(operator).index_dtypes or ("int32",) for operator in REGISTRY.values()}

# The sizes of the input and of the forward pass's output along D, H and W.
SIZES, OUTS = (4, 6, 8), (2, 3, 4)
# Windows that give these sizes: such that touch for averages, and such that overlap for maxima.
TOUCHING = {Role.KERNEL: [2], Role.STRIDE: [], Role.PADDING: [0]}
OVERLAPPING = {Role.KERNEL: [3], Role.STRIDE: [2], Role.PADDING: [1], Role.DILATION: [1]}
OTHERS = {Role.CEIL_MODE: False, Role.COUNT_INCLUDE_PAD: True, Role.DIVISOR: 0, Role.AUTO_PAD: 0}


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Array:
    """Multiples of 36, whose shares in windows of up to 4, 8 or 9 elements are exact in every type."""
    return (36 * np.random.default_rng(seed).integers(-3, 4, shape)).astype(dtype)


def parameters(operator: str, dtype: Any = np.float32, index: Any = None) -> dict[str, Any]:
    """A call by C's names in C's order, with placeholders in the place of indices."""
    axes = len(REGISTRY[operator].axes)
    sizes, outs = (2, 3, *SIZES[-axes:]), (2, 3, *OUTS[-axes:])
    x = np.random.default_rng(7).permutation(math.prod(sizes)).reshape(sizes).astype(dtype)
    if is_forward(operator) and not has_maxima(operator):
        x = numbers(sizes, dtype)
    values = (OVERLAPPING if has_maxima(operator) else TOUCHING) | OTHERS | {Role.OUTPUT_SIZE: [*outs[2:]]}
    values |= {Role.GRADIENT: numbers(outs, dtype), Role.INPUT: x}
    values[Role.CUBE_MATH_TYPE] = 0 if is_forward(operator) else 1  # which every type has there
    values[Role.RESULT] = np.full(outs if is_forward(operator) else sizes, 7, dtype)
    values |= {role: np.full(outs, -5, index or INDEX_TYPES[operator][0]) for role in (Role.INDICES, Role.PLACES)}
    values[Role.MASK] = np.full((2, 3, 9, 64), -5, np.int8)  # of windows of 3 x 3, and up to 16 outputs
    return {p.name: values[p.role] for p in REGISTRY[operator].parameters}


def _windows(operator: str, x: Array) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Every place of the forward pass's output, and the part of the input that it sees."""
    axes = len(REGISTRY[operator].axes)
    if Role.KERNEL in REGISTRY[operator].by_role:
        kernel, stride, pad = (3, 2, 1) if has_maxima(operator) else (2, 2, 0)
        along = [reference.fixed_windows(size, kernel, stride, pad, ceil_mode=False) for size in x.shape[-axes:]]
    else:
        along = [reference.adaptive_windows(*axis) for axis in zip(x.shape[-axes:], OUTS[-axes:], strict=True)]
    for place in np.ndindex(*map(len, along)):
        windows = [axis[o] for axis, o in zip(along, place, strict=True)]
        yield place, tuple(slice(window.start, window.stop) for window in windows)


def wanted_all(operator: str, given: dict[str, Any]) -> list[Array]:
    """What every output is to be: a gradient; or maxima and where they lie; or averages."""
    if not is_forward(operator):
        return [wanted(operator, given)]
    x = given[REGISTRY[operator].by_role[Role.INPUT].name]
    if has_maxima(operator):
        where = legal_mask if Role.MASK in REGISTRY[operator].by_role else legal_indices
        return [maxima(operator, x), where(operator, x)][: len(REGISTRY[operator].outputs)]
    result = np.empty((*x.shape[:2], *OUTS[2 - x.ndim :]))
    for place, window in _windows(operator, x):
        result[(..., *place)] = x[(..., *window)].astype(np.float64).mean((*range(2, x.ndim),))
    return [result]


def wanted(operator: str, given: dict[str, Any]) -> Array:
    """Each gradient goes to the elements of its window in equal shares, or to the maximum that is there."""
    grad, x = given["gradOutput"].astype(np.float64), given["self"]
    result = np.zeros(x.shape)
    if has_maxima(operator):
        planes = result.reshape(*grad.shape[:2], -1)
        for at, index in np.ndenumerate(legal_indices(operator, x)):
            planes[(*at[:2], index)] += grad[at]
        return result
    for place, window in _windows(operator, x):
        share = grad[(..., *place)] / math.prod(s.stop - s.start for s in window)
        result[(..., *window)] += share.reshape(*share.shape, *[1] * len(window))
    return result


def legal_indices(operator: str, x: Array) -> Array:
    """Where the maxima lie in their planes or volumes."""
    axes = len(REGISTRY[operator].axes)
    places = np.arange(math.prod(x.shape[-axes:])).reshape(x.shape[-axes:])
    indices = np.empty((*x.shape[:-axes], *OUTS[-axes:]), np.int64)
    for place, window in _windows(operator, x):
        patch = x[(..., *window)].astype(np.float64).reshape(*x.shape[:-axes], -1)
        indices[(..., *place)] = places[window].reshape(-1)[patch.argmax(-1)]
    return indices


def legal_mask(operator: str, x: Array) -> Array:
    """The same as devices keep it on which masks hold places: one behind the other, in four bytes each."""
    places = b"".join(int(index).to_bytes(4, "little") for index in legal_indices(operator, x).flat)
    return np.frombuffer(places.ljust(2 * 3 * 9 * 64, b"\0"), np.int8).reshape(2, 3, 9, 64)


def maxima(operator: str, x: Array) -> Array:
    indices = legal_indices(operator, x)
    flat = np.take_along_axis(x.reshape(*x.shape[:2], -1), indices.reshape(*x.shape[:2], -1), -1)
    return flat.reshape(indices.shape)


def assert_wanted(operator: str, got: Sequence[Any], given: dict[str, Any], dtype: Any, index: Any = None) -> None:
    """Every output is what it is to be, with numbers of one type and indices of another."""
    for output, one, expected in zip(REGISTRY[operator].outputs, got, wanted_all(operator, given), strict=True):
        of_role = {Role.PLACES: index or INDEX_TYPES[operator][0], Role.MASK: np.int8}
        assert_same(one, expected, of_role.get(output.role, dtype))


def assert_same(got: Array, expected: Array, dtype: Any) -> None:
    assert got.dtype == dtype
    assert np.array_equal(got.astype(np.float64), expected.astype(np.float64))


# What ATK is known to write; of other operators what their files say.
ATK_NAMES = {
    AVG: {
        "kernelSize": "kernel_size",
        "ceilMode": "ceil_mode",
        "countIncludePad": "count_include_pad",
        "divisorOverride": "divisor_override",
        "cubeMathType": "cube_math_type",
    },
    ADAPTIVE_AVG: {"self": "Input"},
    MAX: {},
    ADAPTIVE_MAX: {},
}


def atk_inputs(operator: str, given: dict[str, Any], index: Any = np.int32) -> dict[str, Any]:
    known = REGISTRY[operator]
    given = {p.name: given[p.name] for p in known.parameters if not p.output}
    if known.atk_has_output_size:
        given["gradOutput"] = np.zeros(1, given["self"].dtype)
    if "indices" in given:
        given["indices"] = np.zeros(1, index)  # neither its values nor its shape mean anything
    names = ATK_NAMES.get(operator, known.atk_names)
    size = {"output_size": OUTS[-len(known.axes) :]} if known.atk_has_output_size else {}
    return {names.get(name, name): value for name, value in given.items()} | size
