"""A report taken apart again, by the words of its own page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from poolgrad.precision.comparing import Tensors, judge_for, judge_tensors
from poolgrad.precision.limits import WITH_THIRD_PARTY
from poolgrad.precision.report import page

Array = np.ndarray[Any, Any]


def report(actual: Array, golden: Array, standard: str = "mixed", names: tuple[str, str] = ("a.npy", "g.npy")) -> str:
    """The page of a comparison."""
    third = golden if standard in WITH_THIRD_PARTY else None
    tensors = Tensors(actual, golden, third)
    answer = judge_tensors(tensors, standard)
    return "".join(page(tensors, judge_for(tensors, standard), answer, names))


def data_of(text: str) -> dict[str, Any]:
    """The JSON that the page draws itself from."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


@dataclass
class Plane:
    number: int
    codes: Array
    offsets: Array | None
    actual: Array
    golden: Array


def planes_of(text: str) -> Iterator[Plane]:
    """Planes in the order of the page."""
    data = data_of(text)
    grid, answer = data["grid"], data["comparison"]
    shape = grid["rows"], grid["columns"]
    cells = shape[0] * shape[1]
    for number, packed in re.findall(r'<script type="text/plain" id="plane-(\d+)">(.*?)</script>', text, re.DOTALL):
        rest = memoryview(zlib.decompress(base64.b64decode(packed, validate=True)))

        def take(size: int) -> Array:
            nonlocal rest
            taken, rest = np.frombuffer(rest[: size * cells], np.uint8), rest[size * cells :]
            return np.ascontiguousarray(taken.reshape(size, cells).T)

        codes = take(1).reshape(shape)
        offsets = take(4).view(np.uint32).reshape(shape) if grid["is_reduced"] else None
        types = [_dtype(answer[name]) for name in ("dtype", "golden_dtype")]
        actual, golden = (take(dtype.itemsize) for dtype in types)
        if types[0] == types[1]:
            golden = golden ^ actual
        assert not rest
        yield Plane(
            int(number), codes, offsets, actual.view(types[0]).reshape(shape), golden.view(types[1]).reshape(shape)
        )


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
