"""A thousand mixed cases as JSON lines, and what the reference says to each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from poolgrad.arrays.files import numpy_dtype, read_array
from poolgrad.base.products import ANY
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.support import support
from poolgrad.operators import REGISTRY, find_operator
from poolgrad.selftest import reference

Line = dict[str, Any]
Array = np.ndarray[Any, Any]

FLOATS = ("float32", "float16", "bfloat16", "float64")
# What gradOutput, or a forward pass's input, is rounded to by cubeMathType, for float32 on Atlas A2.
ROUNDING = {0: None, 1: reference.hf32(11), 2: reference.FLOAT16, 3: reference.hf32(11)}
TARGETS = {"float32": 24, "float16": 11, "bfloat16": 8, "float64": 53}


def lines(count: int, seed: int = 0) -> list[Line]:
    """The operators take turns, and in each turn the types do."""
    random = np.random.default_rng(seed)
    operators = [*REGISTRY.values()]
    result: list[Line] = []
    while len(result) < count:
        turn, place = divmod(len(result), len(operators))
        operator = operators[place]
        line = _line(random, operator, FLOATS[turn % len(FLOATS)])
        if line is None:
            continue
        line["name"] = f"{line['operator']}_{len(result)}"
        if Role.KERNEL in operator.by_role and turn % 10 == 0:
            line |= {operator.by_role[Role.KERNEL].name: [0], "status": 161002}
        result.append(line)
    return result


def _sizes(random: np.random.Generator, axes: int, most: int) -> tuple[int, ...]:
    return tuple(random.integers(1, most, axes).tolist())


def _line(random: np.random.Generator, operator: Operator, dtype: str) -> Line | None:
    windows = (_fixed if Role.KERNEL in operator.by_role else _adaptive)(random, operator)
    if windows is None:
        return None
    size, out, of_role = windows
    forward = Role.GRADIENT not in operator.by_role
    modes = ((0, 2) if forward else (0, 1, 2, 3)) if dtype == "float32" else (1,)
    of_role |= {
        Role.COUNT_INCLUDE_PAD: bool(random.integers(2)),
        Role.DIVISOR: int(random.choice([0, 0, 3, -2])),
        Role.CUBE_MATH_TYPE: int(random.choice(modes)),
        Role.AUTO_PAD: 0,
    }
    lead = _sizes(random, int(random.integers(1, 3)), 4)
    last = bool(operator.channels_last) and bool(random.integers(2))
    last &= len(lead) == 2 or Role.OUTPUT_SIZE not in operator.by_role  # of these, NHWC has a batch
    format = {"format": operator.channels_last} if last else {}

    def tensor(plane: tuple[int, ...], dtype: str, **more: Any) -> dict[str, Any]:
        shape = (*lead[:-1], *plane, lead[-1]) if last else (*lead, *plane)
        return {"dtype": dtype, "shape": list(shape), **format, **more}

    kinds: list[dict[str, Any]] = [{}, {"data": [-4, 4]}, {"data": {"mean": [-1, 1], "std": [1, 2]}}]
    data = kinds[int(random.integers(3))]
    line = {
        "operator": operator.name.removeprefix("aclnn"),
        **({} if forward else {"gradOutput": tensor(out, dtype, **data)}),
        "self": tensor(size, dtype, **(data if forward else {})),
        **{p.name: of_role[p.role] for p in operator.numbers},
    }
    if Role.INDICES in operator.by_role:
        drawn = {} if Role.KERNEL in operator.by_role else {"data": str(random.choice(["forward", "windows"]))}
        line["indices"] = tensor(out, str(random.choice(support(operator, ANY).index_dtypes)), **drawn)
    if Role.PLACES in operator.by_role and random.integers(2):  # else they are as the operator says
        places = operator.by_role[Role.PLACES].name
        line[places] = tensor(out, str(random.choice(support(operator, ANY).index_dtypes)))
    return line


Windows = tuple[tuple[int, ...], tuple[int, ...], dict[Role, Any]]


def _fixed(random: np.random.Generator, operator: Operator) -> Windows | None:
    """Sizes of a plane and of what is pooled from it, and the numbers of its windows."""
    n = len(operator.axes)
    size, kernel, stride = _sizes(random, n, 10 if n == 2 else 6), _sizes(random, n, 5), _sizes(random, n, 4)
    padding = tuple(int(random.integers(0, k // 2 + 1)) for k in kernel)
    dilated = Role.DILATION in operator.by_role and bool({Role.PLACES, Role.INDICES} & set(operator.by_role))
    dilation = _sizes(random, n, 3) if dilated else (1,) * n
    ceil_mode = bool(random.integers(2))
    axes = zip(size, kernel, stride, padding, dilation, strict=True)
    out = tuple(reference.pooled_size(*axis, ceil_mode) for axis in axes)
    stepped_over = any(d > s for d, s in zip(dilation, size, strict=True))
    beyond_input = operator.name == "aclnnAvgPool3d" and any(k > s for k, s in zip(kernel, size, strict=True))
    if min(out) <= 0 or stepped_over or beyond_input:
        return None
    roles = (Role.KERNEL, Role.STRIDE, Role.PADDING, Role.DILATION, Role.CEIL_MODE)
    return size, out, dict(zip(roles, (kernel, stride, padding, dilation, ceil_mode), strict=True))


def _adaptive(random: np.random.Generator, operator: Operator) -> Windows:
    n = len(operator.axes)
    most = 9 if n == 2 else 6
    size, out = _sizes(random, n, most), _sizes(random, n, most + 1)
    return size, out, {Role.OUTPUT_SIZE: out}


# What the reference says.


def arrays(directory: Path) -> dict[str, Array]:
    return {path.stem: read_array(path) for path in directory.glob("*.npy")}


def assert_golden(line: Line, found: dict[str, Array]) -> None:
    """The files of a case agree with the reference: indices, maxima and their gradients to the bit, averages within
    rounding."""
    operator = find_operator(line["operator"])
    slow, axes = getattr(reference, operator.python_name), len(operator.axes)
    channels = -axes - 1
    if line["self"].get("format"):  # which only those have whose channels come last
        found = {name: np.moveaxis(array, -1, channels) for name, array in found.items()}
    unknown = (Role.CUBE_MATH_TYPE, Role.AUTO_PAD)  # to the reference
    numbers = {p.python_name: line[p.name] for p in operator.numbers if p.role not in unknown}
    golden = found["golden"]
    for p in operator.outputs[1:]:  # indices, or a mask
        values, where = slow(found["self"], **numbers)
        assert golden.tobytes() == values.tobytes(), line
        assert np.array_equal(found[f"golden_{p.name}"], where), line
        return
    forward = Role.GRADIENT not in operator.by_role
    if forward and not operator.averages:
        assert golden.tobytes() == slow(found["self"], **numbers).tobytes(), line
        return
    given = found["self" if forward else "gradOutput"]
    if Role.MASK in operator.by_role:
        assert np.array_equal(found["indices"], reference.max_pool2d_with_mask(found["self"], **numbers)[1]), line
        found["indices"] = reference.max_pool_indices(found["self"], **numbers)
        expected = slow(given, golden.shape, found["indices"])
        assert golden.tobytes() == expected.astype(numpy_dtype(line["self"]["dtype"])).tobytes(), line
        return
    if Role.INDICES in operator.by_role:
        _assert_indices(line, found, axes)
        expected = slow(given, golden.shape, found["indices"])
        assert golden.tobytes() == expected.astype(numpy_dtype(line["self"]["dtype"])).tobytes(), line
        return
    if line["self"]["dtype"] == "float32" and ROUNDING[line.get("cubeMathType", 0)]:
        given = reference.rounded_to(ROUNDING[line["cubeMathType"]], given)
    shape = () if forward else (golden.shape,)
    _assert_average(golden, given, lambda array: slow(array, *shape, **numbers), axes)


def _assert_average(golden: Array, grad: Array, slow: Callable[[Array], Array], axes: int) -> None:
    """Halves are summed in float32 and rounded once: what lies between the ends of the error bar, rounded, is right."""
    wide = grad.astype(np.float64)
    value, magnitude = slow(wide), np.abs(slow(np.abs(wide)))
    roundings = 2 + math.prod(grad.shape[-axes:])  # a division, and not more additions than there are gradients
    unit = 2.0 ** -TARGETS["float64" if golden.dtype == np.float64 else "float32"]
    error = magnitude * (roundings * unit / (1 - roundings * unit) + roundings * 2.0**-52)
    low, high = ((value + sign * error).astype(golden.dtype).astype(np.float64) for sign in (-1, 1))
    if golden.dtype == np.float32:
        low, high = np.minimum(low, value - error), np.maximum(high, value + error)
    middle = golden.astype(np.float64)
    assert ((low <= middle) & (middle <= high)).all()


def _assert_indices(line: Line, found: dict[str, Array], axes: int) -> None:
    x, indices = found["self"].astype(np.float64), found["indices"]
    sizes, outputs = x.shape[-axes:], indices.shape[-axes:]
    if line["indices"].get("data") == "windows":
        windows = [reference.adaptive_windows(*axis) for axis in zip(sizes, outputs, strict=True)]
        for place in np.ndindex(indices.shape):
            at = np.unravel_index(int(indices[place]), sizes)
            mine = (axis[o] for axis, o in zip(windows, place[-axes:], strict=True))
            assert all(window.start <= i < window.stop for window, i in zip(mine, at, strict=True))
        return
    if "kernelSize" in line:
        lists = (line[key] for key in ("kernelSize", "stride", "padding", "dilation"))
        expected = reference.max_pool_indices(x, *lists, line["ceilMode"])
    else:
        expected = reference.adaptive_max_pool_indices(x, outputs)
    assert (indices == expected).all(), line


def accepted(all_lines: list[Line]) -> Iterator[Line]:
    return (line for line in all_lines if "status" not in line)
