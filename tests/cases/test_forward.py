"""Indices that cases get from a forward pass: those of the one in NumPy, which shares nothing with the kernels."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_forward import forward_with_indices

from poolgrad.arrays.files import numpy_dtype
from poolgrad.cases import Case, CaseTensor, data
from poolgrad.cases.model import FORWARD
from poolgrad.cases.suite import suite_of
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

EVERY = pytest.mark.parametrize(
    "operator",
    [operator for operator in REGISTRY.values() if Role.INDICES in operator.by_role],
    ids=lambda operator: operator.python_name,
)
DTYPES = ("float32", "float64", "float16", "bfloat16")


def made(case: Case, scratch: Path, special: bool = False) -> dict[str, Any]:
    """The inputs of a case, in one piece; with NaN and equal numbers in what is pooled, if they are wanted."""
    inputs = {p.name: case.tensor(p.name) for p in case.operator.inputs}
    arrays = {name: np.zeros(tensor.shape, numpy_dtype(tensor.dtype)) for name, tensor in inputs.items()}
    x = case.operator.by_role[Role.INPUT].name
    if special:
        case = replace(case, tensors={**case.tensors, x: replace(case.of(Role.INPUT), values=FORWARD)})  # as it is
        random = np.random.default_rng(0)
        arrays[x][...] = random.integers(-3, 4, arrays[x].shape)
        arrays[x][random.random(arrays[x].shape) < 0.2] = math.nan
        arrays[x][random.random(arrays[x].shape) < 0.2] = -math.inf
    for piece in data.pieces(case):
        data.make_piece(case, arrays, piece, scratch, lambda: None)
    return arrays


def expected(case: Case, x: Any) -> tuple[Any, Any]:
    """By NumPy, in the layout of the case."""
    windows, axes = case.operator.windows(case.call), len(case.operator.axes)
    if not case.is_channels_last:
        return forward_with_indices(x, windows)
    values, indices = forward_with_indices(np.ascontiguousarray(np.moveaxis(x, -1, -axes - 1)), windows)
    return np.moveaxis(values, -axes - 1, -1), np.moveaxis(indices, -axes - 1, -1)


def check(case: Case, arrays: dict[str, Any]) -> None:
    names = {role: case.operator.by_role[role].name for role in (Role.INPUT, Role.GRADIENT, Role.INDICES)}
    values, indices = expected(case, arrays[names[Role.INPUT]])
    assert np.array_equal(arrays[names[Role.INDICES]], indices), case.name
    if case.of(Role.GRADIENT).values == FORWARD:
        assert np.array_equal(arrays[names[Role.GRADIENT]].astype(float), values.astype(float), equal_nan=True)


@EVERY
def test_every_legal_case_of_the_suite(operator: Operator, tmp_path: Path) -> None:
    checked = 0
    for case in suite_of(operator.name):
        if case.status or case.of(Role.INDICES).values != FORWARD:
            continue
        if min(counts := [case.tensor(p.name).count for p in operator.inputs]) > 0 and max(counts) < 10**6:
            check(case, made(case, tmp_path))
            checked += 1
    assert checked > 5


def geometry(operator: Operator, random: np.random.Generator) -> tuple[dict[str, Any], tuple[int, ...], Any]:
    """Numbers of a legal call, the sizes of its input and, of adaptive windows, of its output."""
    axes = len(operator.axes)
    sizes = tuple(random.integers(7, 14, axes).tolist())
    if Role.KERNEL not in operator.by_role:
        return {}, sizes, tuple(random.integers(1, 16, axes).tolist())
    kernel = tuple(random.integers(1, 4, axes).tolist())
    own = {
        Role.KERNEL: kernel,
        Role.STRIDE: tuple(random.integers(1, 4, axes).tolist()),
        Role.PADDING: tuple(int(random.integers(0, k // 2 + 1)) for k in kernel),
        Role.DILATION: tuple(random.integers(1, 4, axes).tolist()),
        Role.CEIL_MODE: bool(random.integers(2)),
    }
    return {p.name: own[p.role] for p in operator.numbers}, sizes, None


def some_case(operator: Operator, random: np.random.Generator, trial: int) -> Case:
    numbers, sizes, outs = geometry(operator, random)
    last = bool(operator.channels_last) and trial % 3 == 0
    format = operator.channels_last if last else operator.default_format

    def shape(inner: Any) -> tuple[int, ...]:
        return (2, *inner, 9) if last else (2, 9, *inner)

    x = CaseTensor(DTYPES[trial % 4], shape(sizes), format)
    inputs = {operator.by_role[Role.INPUT].name: x}
    if outs is None:
        call = Case("", operator.name, dict.fromkeys(p.name for p in operator.tensors) | inputs, numbers).call
        outs = tuple(w.out for w in operator.windows(call))
    of_role = {
        Role.INPUT: x,
        Role.GRADIENT: CaseTensor(x.dtype, shape(outs), format, values=FORWARD),
        Role.INDICES: CaseTensor(("int32", "int64")[trial % 2], shape(outs), format, values=FORWARD),
        Role.RESULT: x,
    }
    return Case(f"trial {trial}", operator.name, {p.name: of_role[p.role] for p in operator.tensors}, numbers)


@EVERY
def test_random_windows_with_nan_and_equals(operator: Operator, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for trial in range(24):
        case = some_case(operator, random, trial)
        check(case, made(case, tmp_path, special=True))


@EVERY
def test_pieces_that_need_files_find_the_same(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plane whose windows do not fit into a piece; what was not asked for is written to files that vanish."""
    monkeypatch.setattr(data, "PIECE", 3)
    in_files = []
    in_file = data._in_file
    monkeypatch.setattr(data, "_in_file", lambda *given: (in_files.append(given[1]), in_file(*given))[1])
    random = np.random.default_rng(2)
    for trial in range(4):
        case = some_case(operator, random, trial)
        grad = operator.by_role[Role.GRADIENT].name
        case = replace(
            case, tensors={**case.tensors, grad: replace(case.tensor(grad), values=data.Values("constant", (1.0,)))}
        )
        check(case, made(case, tmp_path, special=True))
        assert data.scratch_bytes(case) > 0
    assert in_files
    assert not list(tmp_path.iterdir())
