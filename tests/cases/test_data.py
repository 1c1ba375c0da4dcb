"""A case's data: what the file asks for, the same in any company, and a golden result that pieces do not change."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from poolgrad.arrays.files import numpy_dtype, read_array
from poolgrad.cases import Case, CaseTensor, Values, data
from poolgrad.cases.golden import make_golden
from poolgrad.cases.naming import directory_name
from poolgrad.cases.work import file_of
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

AVG, ADAPTIVE_AVG = "aclnnAvgPool2dBackward", "aclnnAdaptiveAvgPool3dBackward"
FORWARD_MAX = "aclnnMaxPool2dWithIndices"
MAX, ADAPTIVE_MAX = "aclnnMaxPool2dWithIndicesBackward", "aclnnAdaptiveMaxPool2dBackward"
AVG_NUMBERS = {"kernelSize": (3, 2), "stride": (2, 2), "padding": (1, 0), "countIncludePad": False}
MAX_NUMBERS = {"kernelSize": (3, 2), "stride": (2, 1), "padding": (1, 1), "dilation": (1, 2), "ceilMode": True}


def make(name: str, operator: str, out: tuple[int, ...], size: tuple[int, ...], **options: Any) -> Case:
    described, dtype, format = REGISTRY[operator], options.get("dtype", "float32"), options.get("format", "NCHW")
    small, large = CaseTensor(dtype, out, format), CaseTensor(dtype, size, format)
    drawn = Values(options.get("indices", "forward"))
    indices = CaseTensor(options.get("index", "int64"), out, format, values=drawn)
    result = large if Role.GRADIENT in described.by_role else small
    of_role = {Role.GRADIENT: small, Role.INPUT: large, Role.INDICES: indices, Role.RESULT: result}
    of_role[Role.PLACES] = replace(small, dtype=indices.dtype)
    numbers = {p.name: p.default for p in described.numbers} | options.get("numbers", {})
    return Case(name, operator, {p.name: of_role[p.role] for p in described.tensors}, numbers)


CASES = [
    make("average", AVG, (3, 5, 4, 4), (3, 5, 7, 8), numbers=AVG_NUMBERS),
    make("average, rank 3", AVG, (15, 4, 4), (15, 7, 8), numbers=AVG_NUMBERS, dtype="bfloat16"),
    make("adaptive average", ADAPTIVE_AVG, (2, 6, 2, 3, 4), (2, 6, 3, 4, 3), format="ND", dtype="float16"),
    make("max", MAX, (3, 5, 5, 8), (3, 5, 8, 8), numbers=MAX_NUMBERS),
    make("max, halves", MAX, (3, 5, 5, 8), (3, 5, 8, 8), numbers=MAX_NUMBERS, dtype="float16", index="int32"),
    make("max, drawn", MAX, (3, 5, 5, 8), (3, 5, 8, 8), numbers=MAX_NUMBERS, indices="windows"),
    make("max, astray", MAX, (3, 5, 5, 8), (3, 5, 8, 8), numbers=MAX_NUMBERS, indices="plane", dtype="bfloat16"),
    make("astray, last", MAX, (3, 5, 8, 5), (3, 8, 8, 5), numbers=MAX_NUMBERS, format="NHWC", indices="plane"),
    make("max, channels last", MAX, (3, 5, 8, 5), (3, 8, 8, 5), numbers=MAX_NUMBERS, format="NHWC", dtype="bfloat16"),
    make("adaptive max", ADAPTIVE_MAX, (3, 5, 3, 9), (3, 5, 8, 8), format="ND"),
    make("forward", FORWARD_MAX, (3, 5, 5, 8), (3, 5, 8, 8), numbers=MAX_NUMBERS, dtype="bfloat16", index="int32"),
    make("forward, last", FORWARD_MAX, (3, 5, 8, 5), (3, 8, 8, 5), numbers=MAX_NUMBERS, format="NHWC"),
]


def arrays_of(root: Path, case: Case) -> dict[str, Any]:
    directory = root / directory_name(case.name)
    return {path.stem: read_array(path) for path in directory.glob("*.npy")}


def golden(root: Path, cases: list[Case], jobs: int = 1) -> Path:
    make_golden(cases, root, jobs=jobs, facts={"seed": 0, "product": None})
    return root


def same(one: Path, other: Path, case: Case) -> bool:
    first, second = arrays_of(one, case), arrays_of(other, case)
    return first.keys() == second.keys() and all(
        first[name].tobytes() == second[name].tobytes() and first[name].dtype == second[name].dtype for name in first
    )


def test_order_workers_and_company_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "PIECE", 200)
    all_at_once = golden(tmp_path / "a", CASES)
    backwards = golden(tmp_path / "b", CASES[::-1], jobs=3)
    for case in CASES:
        assert len(list(data.pieces(case))) > 1, "the case is made in pieces"
        alone = golden(tmp_path / "c", [case])
        assert same(all_at_once, backwards, case)
        assert same(all_at_once, alone, case)


def test_pieces_do_not_change_the_golden_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "PIECE", 100)
    root = golden(tmp_path, CASES, jobs=2)
    for case in CASES:
        found = arrays_of(root, case)
        numbers = {p.python_name: case.numbers[p.name] for p in case.operator.parameters if p.kind != "tensor"}
        given = {p.python_name: found[p.name] if p.read else case.tensor(p.name).shape for p in case.operator.inputs}
        if case.tensor("self").format == "NHWC":
            numbers["data_format"] = "NHWC"
        if Role.PLACES in case.operator.by_role:
            numbers["index_dtype"] = case.of(Role.PLACES).dtype
        expected = getattr(poolgrad, case.operator.python_name)(**given, **numbers)
        assert found["golden"].any()
        assert "indices" not in found or len(np.unique(found["indices"])) > 20
        for name, one in zip(case.outputs, expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert found[Path(file_of(case, name)).stem].tobytes() == one.tobytes(), case.name


def test_planes_too_large_for_memory_are_summed_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    halves = [case for case in CASES if "indices" in case.inputs and case.tensor("self").dtype != "float32"]
    expected = golden(tmp_path / "a", halves)
    monkeypatch.setattr(data, "LARGE_PLANE", 10)
    reached = []
    run_wide = data._run_wide
    monkeypatch.setattr(data, "_run_wide", lambda case, *rest: (reached.append(case.name), run_wide(case, *rest)))
    through_files = golden(tmp_path / "b", halves)
    assert set(reached) == {case.name for case in halves}
    for case in halves:
        assert same(expected, through_files, case), case.name


# Of all tensors of a case, inputs and results, by the names of their files; made by the first version of the package.
BITS = {
    "average": "35295c218efc8d80",
    "average, rank 3": "1be37df117462a3e",
    "adaptive average": "fc7b4bbd54705bf5",
    "max": "c771301c5cfb5a2d",
    "max, halves": "597395464d7bd92b",
    "max, drawn": "af9587448592ffbb",
    "max, astray": "50b6b9032daf6238",
    "astray, last": "71a23d6773351f40",
    "max, channels last": "6064447816d9bb9c",
    "adaptive max": "733713c1cd7842d5",
    "forward": "10f94dc7990646f0",
    "forward, last": "ef5ce3cfc0b465cc",
}


def test_a_seed_gives_the_same_bits_in_every_version(tmp_path: Path) -> None:
    root, found = golden(tmp_path, CASES), {}
    for case in CASES:
        arrays = sorted(arrays_of(root, case).items())
        found[case.name] = hashlib.sha256(b"".join(array.tobytes() for _, array in arrays)).hexdigest()[:16]
    assert found == BITS


def test_another_seed_or_name_gives_other_numbers(tmp_path: Path) -> None:
    case = CASES[0]
    cases = [case, replace(case, name="other"), replace(case, name="third", seed=1)]
    found = [arrays_of(golden(tmp_path, cases), one)["gradOutput"].tobytes() for one in cases]
    assert len(set(found)) == 3
    again = replace(case, seed=1)
    assert arrays_of(golden(tmp_path / "b", [again]), again)["gradOutput"].tobytes() not in found


def filled(values: Values, dtype: str = "float32", count: int = 40_000) -> np.ndarray[Any, Any]:
    size = (1, 1, count // 200, 200)
    numbers = AVG_NUMBERS | {"kernelSize": (1, 1), "stride": (1, 1), "padding": (0, 0)}
    case = make("one", AVG, size, size, dtype=dtype, numbers=numbers)
    case = replace(case, tensors={**case.tensors, "gradOutput": replace(case.tensor("gradOutput"), values=values)})
    arrays = {name: np.empty(size, numpy_dtype(dtype)) for name in ("gradOutput", "self")}
    data.make_piece(case, arrays, (0, 1), Path(), lambda: None)
    return arrays["gradOutput"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_uniform_numbers_fill_their_range(dtype: str) -> None:
    numbers = filled(Values("uniform", (-3.0, 5.0)), dtype).astype(np.float64)
    assert -3 <= numbers.min() < -2.99
    assert 4.98 < numbers.max() <= 5
    assert abs(numbers.mean() - 1) < 0.05


def test_normal_numbers_have_a_mean_and_a_deviation_from_their_ranges() -> None:
    numbers = filled(Values("normal", (10.0, 20.0, 2.0, 3.0)))
    assert 9.9 < numbers.mean() < 20.1
    assert 1.9 < numbers.std() < 3.1


@pytest.mark.parametrize("value", [0.0, -2.5, math.inf, -math.inf, math.nan])
def test_constants(value: float) -> None:
    assert np.array_equal(filled(Values("constant", (value,))), np.full((1, 1, 200, 200), value), equal_nan=True)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("values", [("uniform", (-math.inf, math.inf)), ("uniform", (3.0, 9.0)), ("constant", (1e30,))])
def test_indices_may_be_any_integers(index: str, values: tuple[str, Any]) -> None:
    case = make("one", MAX, (3, 5, 5, 8), (3, 5, 8, 8), numbers=MAX_NUMBERS)
    indices = CaseTensor(index, (3, 5, 5, 8), "NCHW", values=Values(*values))
    case = replace(case, tensors={**case.tensors, "indices": indices})
    arrays = {name: np.zeros(t.shape, t.dtype) for name, t in case.inputs.items() if t}
    data.make_piece(case, arrays, (0, 15), Path(), lambda: None)
    limits = np.iinfo(index)
    bounds = {math.inf: (limits.min, limits.max), 9.0: (3, 9), 1e30: (limits.max, limits.max)}[values[1][-1]]
    assert bounds[0] <= arrays["indices"].min() <= arrays["indices"].max() <= bounds[1]
    assert len(np.unique(arrays["indices"])) == {math.inf: 600, 9.0: 7, 1e30: 1}[values[1][-1]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("values", [("uniform", (-math.inf, math.inf)), ("normal", (0.0, 0.0, 1e300, 1e300))])
def test_a_range_beyond_the_type_ends_where_the_type_does(dtype: str, values: tuple[str, Any]) -> None:
    numbers = filled(Values(*values), dtype)
    assert np.isfinite(numbers).all()
    largest = float(ml_dtypes.finfo(numbers.dtype).max)
    assert float(np.abs(numbers).max()) > (largest / 2 if dtype != "float64" else 1e300)


def test_gradients_may_be_the_forward_output(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.operator_name == ADAPTIVE_MAX)
    case = replace(
        case, tensors={**case.tensors, "gradOutput": replace(case.tensor("gradOutput"), values=Values("forward"))}
    )
    found = arrays_of(golden(tmp_path, [case]), case)
    planes = found["self"].reshape(15, 64)
    expected = np.take_along_axis(planes, found["indices"].reshape(15, -1), axis=1)
    assert (found["gradOutput"].reshape(15, -1) == expected).all()
