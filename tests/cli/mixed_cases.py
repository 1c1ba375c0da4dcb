"""A thousand mixed cases as JSON lines, and what the reference says to each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from poolgrad.arrays.files import numpy_dtype, read_array
from poolgrad.selftest import reference

Line = dict[str, Any]
Array = np.ndarray[Any, Any]

FLOATS = ("float32", "float16", "bfloat16", "float64")
# What gradOutput is rounded to by cubeMathType, for float32 on Atlas A2.
ROUNDING = {0: None, 1: reference.hf32(11), 2: reference.FLOAT16, 3: reference.hf32(11)}
TARGETS = {"float32": 24, "float16": 11, "bfloat16": 8, "float64": 53}


def lines(count: int, seed: int = 0) -> list[Line]:
    random = np.random.default_rng(seed)
    makers = (_average, _adaptive_average, _max, _adaptive_max)
    result: list[Line] = []
    while len(result) < count:
        number = len(result)
        line = makers[number % 4](random, FLOATS[number // 4 % 4])
        if line is None:
            continue
        line["name"] = f"{line['operator']}_{number}"
        if number % 40 == 0:
            line |= {"kernelSize": [0], "status": 161002}
        result.append(line)
    return result


def _tensor(shape: tuple[int, ...], dtype: str, **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape)} | more


def _sizes(random: np.random.Generator, axes: int, most: int = 8) -> tuple[int, ...]:
    return tuple(random.integers(1, most, axes).tolist())


def _lead(random: np.random.Generator) -> tuple[int, ...]:
    return _sizes(random, int(random.integers(1, 3)), 4)


def _fixed(
    random: np.random.Generator, dilated: bool
) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]] | None:
    size, kernel, stride = _sizes(random, 2, 10), _sizes(random, 2, 5), _sizes(random, 2, 4)
    padding = tuple(int(random.integers(0, k // 2 + 1)) for k in kernel)
    dilation = _sizes(random, 2, 3) if dilated else (1, 1)
    ceil_mode = bool(random.integers(2))
    axes = zip(size, kernel, stride, padding, dilation, strict=True)
    out = tuple(reference.pooled_size(*axis, ceil_mode) for axis in axes)
    stepped_over = any(d > s for d, s in zip(dilation, size, strict=True))
    if min(out) <= 0 or stepped_over:
        return None
    numbers = {"kernelSize": kernel, "stride": stride, "padding": padding, "ceilMode": ceil_mode}
    return numbers | ({"dilation": dilation} if dilated else {}), size, out


def _average(random: np.random.Generator, dtype: str) -> Line | None:
    fixed = _fixed(random, dilated=False)
    if fixed is None:
        return None
    numbers, size, out = fixed
    lead = _lead(random)
    return {
        "operator": "AvgPool2dBackward",
        "gradOutput": _tensor((*lead, *out), dtype, data=[-4, 4]),
        "self": _tensor((*lead, *size), dtype),
        **numbers,
        "countIncludePad": bool(random.integers(2)),
        "divisorOverride": int(random.choice([0, 0, 3, -2])),
        "cubeMathType": int(random.integers(4)) if dtype == "float32" else 1,
    }


def _adaptive_average(random: np.random.Generator, dtype: str) -> Line:
    lead, size, out = _lead(random), _sizes(random, 3, 6), _sizes(random, 3, 7)
    values = {"mean": [-1, 1], "std": [1, 2]}
    return {
        "operator": "AdaptiveAvgPool3dBackward",
        "gradOutput": _tensor((*lead, *out), dtype, data=values),
        "self": _tensor((*lead, *size), dtype),
    }


def _max(random: np.random.Generator, dtype: str) -> Line | None:
    fixed = _fixed(random, dilated=True)
    if fixed is None:
        return None
    numbers, size, out = fixed
    lead, last = _lead(random), bool(random.integers(2))
    format = "NHWC" if last else "NCHW"

    def laid_out(plane: tuple[int, ...]) -> tuple[int, ...]:
        return (*lead[:-1], *plane, lead[-1]) if last else (*lead, *plane)

    return {
        "operator": "MaxPool2dWithIndicesBackward",
        "gradOutput": _tensor(laid_out(out), dtype, format=format),
        "self": _tensor(laid_out(size), dtype, format=format),
        "indices": _tensor(laid_out(out), str(random.choice(["int32", "int64"])), format=format),
        **numbers,
    }


def _adaptive_max(random: np.random.Generator, dtype: str) -> Line:
    lead, size, out = _lead(random), _sizes(random, 2, 9), _sizes(random, 2, 10)
    data = str(random.choice(["forward", "windows"]))
    return {
        "operator": "AdaptiveMaxPool2dBackward",
        "gradOutput": _tensor((*lead, *out), dtype),
        "self": _tensor((*lead, *size), dtype),
        "indices": _tensor((*lead, *out), "int64", data=data),
    }


# What the reference says.


def arrays(directory: Path) -> dict[str, Array]:
    return {path.stem: read_array(path) for path in directory.glob("*.npy")}


def assert_golden(line: Line, found: dict[str, Array]) -> None:
    """The files of a case agree with the reference: indices and max gradients to the bit, averages within rounding."""
    shape, grad = tuple(line["self"]["shape"]), found["gradOutput"]
    operator = line["operator"]
    if operator == "AvgPool2dBackward":
        lists = (line[key] for key in ("kernelSize", "stride", "padding"))
        flags = line["ceilMode"], line["countIncludePad"], line["divisorOverride"]
        rounding = ROUNDING[line["cubeMathType"]] if line["self"]["dtype"] == "float32" else None
        gradients = grad if rounding is None else reference.rounded_to(rounding, grad)
        _assert_average(found["golden"], gradients, reference.avg_pool2d_backward, shape, *lists, *flags)
    elif operator == "AdaptiveAvgPool3dBackward":
        _assert_average(found["golden"], grad, reference.adaptive_avg_pool3d_backward, shape)
    else:
        _assert_indices(line, found)
        format = line["self"].get("format", "NCHW")
        expected = reference.max_pool2d_with_indices_backward(grad, shape, found["indices"], format)
        assert found["golden"].tobytes() == expected.astype(numpy_dtype(line["self"]["dtype"])).tobytes(), line


def _assert_average(golden: Array, grad: Array, function: Any, shape: tuple[int, ...], *parameters: Any) -> None:
    """Halves are summed in float32 and rounded once: what lies between the ends of the error bar, rounded, is right."""
    wide = grad.astype(np.float64)
    value = function(wide, shape, *parameters)
    magnitude = np.abs(function(np.abs(wide), shape, *parameters))
    roundings = 2 + math.prod(grad.shape[-3:])  # a division, and not more additions than there are gradients
    unit = 2.0 ** -TARGETS["float64" if golden.dtype == np.float64 else "float32"]
    error = magnitude * (roundings * unit / (1 - roundings * unit) + roundings * 2.0**-52)
    low, high = ((value + sign * error).astype(golden.dtype).astype(np.float64) for sign in (-1, 1))
    if golden.dtype == np.float32:
        low, high = np.minimum(low, value - error), np.maximum(high, value + error)
    middle = golden.astype(np.float64)
    assert ((low <= middle) & (middle <= high)).all()


def _assert_indices(line: Line, found: dict[str, Array]) -> None:
    x, indices = found["self"].astype(np.float64), found["indices"]
    if line["self"].get("format") == "NHWC":
        x, indices = np.moveaxis(x, -1, -3), np.moveaxis(indices, -1, -3)
    if line["indices"].get("data") == "windows":
        rows, columns = (
            reference.adaptive_windows(*axis) for axis in zip(x.shape[-2:], indices.shape[-2:], strict=True)
        )
        for place in np.ndindex(indices.shape):
            row, column = divmod(int(indices[place]), x.shape[-1])
            assert rows[place[-2]].start <= row < rows[place[-2]].stop
            assert columns[place[-1]].start <= column < columns[place[-1]].stop
        return
    if "kernelSize" in line:
        lists = (line[key] for key in ("kernelSize", "stride", "padding", "dilation"))
        expected = reference.max_pool_indices(x, *lists, line["ceilMode"])
    else:
        expected = reference.adaptive_max_pool_indices(x, indices.shape[-2:])
    assert (indices == expected).all(), line


def accepted(all_lines: list[Line]) -> Iterator[Line]:
    return (line for line in all_lines if "status" not in line)
