"""Calls of every operator, from the suites that the operators bring along, in memory and on Dask arrays."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

import poolgrad
from poolgrad.arrays.files import numpy_dtype
from poolgrad.base.errors import AclnnError
from poolgrad.cases.data import compute, make_piece, pieces
from poolgrad.cases.model import Case
from poolgrad.cases.suite import suite_of
from poolgrad.contract.operator import Operator


def cases_of(operator: Operator) -> list[Case]:
    """Those that arrays in C order can tell: no null pointers, no strides."""
    cases = suite_of(operator.name)
    return [case for case in cases if all(t is not None and t.strides is None for t in case.tensors.values())]


def options_of(case: Case) -> dict[str, Any]:
    return {"data_format": case.operator.channels_last} if case.is_channels_last else {}


def arrays_of(case: Case, directory: Path) -> dict[str, np.ndarray]:
    arrays = {}
    for name in case.tensors:
        tensor = case.tensor(name)
        arrays[name] = np.zeros(tensor.shape, numpy_dtype(tensor.dtype))
    for piece in pieces(case):
        make_piece(case, arrays, piece, directory, lambda: None)
    return {p.name: arrays[p.name] for p in case.operator.inputs}


def chunked(arrays: dict[str, np.ndarray], seed: int) -> dict[str, da.Array]:
    """The same as Dask arrays, each cut at random."""
    draw = random.Random(seed)

    def cut(size: int) -> tuple[int, ...]:
        ends = sorted({size, *(draw.randint(1, size) for _ in range(draw.randint(0, 2)) if size)})
        return tuple(int(n) for n in np.diff([0, *ends]))

    return {name: da.from_array(array, chunks=tuple(map(cut, array.shape))) for name, array in arrays.items()}


def in_memory(case: Case, arrays: Any) -> tuple[Any, ...]:
    return as_tuple(compute(case, arrays, **options_of(case)))


def lazily(case: Case, arrays: Any, module: Any = poolgrad) -> tuple[Any, ...]:
    """As a user writes it; what is never read is given as a Dask array too."""
    operator = case.operator
    given = [arrays[p.name] for p in operator.inputs]
    numbers = {p.python_name: case.numbers[p.name] for p in operator.numbers}
    function = getattr(module, operator.python_name)
    return as_tuple(function(*given, **numbers, product=case.product, **options_of(case)))


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def message_of(call: Any) -> str:
    try:
        call()
    except AclnnError as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"
