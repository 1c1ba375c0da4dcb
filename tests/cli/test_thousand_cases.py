"""A thousand mixed cases: golden, verify and compare agree with the reference, and find a damaged output."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from array_files import write_array
from cli.inside import poolgrad
from cli.mixed_cases import Line, accepted, arrays, assert_golden, lines

import poolgrad as library
from poolgrad.arrays.files import read_array
from poolgrad.contract.support import OF_PLACES
from poolgrad.operators import REGISTRY

COUNT = 1000


@pytest.fixture(scope="module")
def cases() -> list[Line]:
    return lines(COUNT)


@pytest.fixture(scope="module")
def made(cases: list[Line], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case file, and what golden makes of it."""
    root = tmp_path_factory.mktemp("thousand")
    (root / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in cases))
    answer = poolgrad("golden", root / "cases.jsonl", "-o", root / "golden", "--seed", 11, "--json").data
    refused = sum("status" in line for line in cases)
    assert refused > 20
    assert (answer["made"], answer["kept"], answer["refused"]) == (COUNT - refused, 0, refused)
    assert answer["unexpected"] == []
    return root


@pytest.fixture(scope="module")
def device(cases: list[Line], made: Path) -> Path:
    """Outputs of a device that computes as we do: in every form in which they may be told."""
    root = made / "device"
    for number, line in enumerate(accepted(cases)):
        for golden in (made / "golden" / line["name"]).glob("golden*.npy"):
            which = golden.stem.removeprefix("golden")
            if number % 11 == 0:
                root.mkdir(exist_ok=True)
                shutil.copy(golden, root / f"{line['name']}{which}.npy")
                continue
            (root / line["name"]).mkdir(parents=True, exist_ok=True)
            if number % 7 == 0:
                (root / line["name"] / f"actual{which}.bin").write_bytes(read_array(golden).tobytes())
            else:
                shutil.copy(golden, root / line["name"] / f"actual{which}.npy")
    return root


def verify(made: Path, device: Path, *options: object, expect: int = 0) -> dict:  # type: ignore[type-arg]
    return poolgrad(
        "verify", made / "cases.jsonl", made / "golden", "--actual", device, "--json", *options, expect=expect
    ).data


def test_the_cases_are_mixed(cases: list[Line]) -> None:
    operators = Counter(line["operator"] for line in cases)
    assert sorted(operators) == sorted(name.removeprefix("aclnn") for name in REGISTRY)
    assert min(operators.values()) == COUNT // len(REGISTRY)
    assert {line["self"]["dtype"] for line in cases} == {"float32", "float16", "bfloat16", "float64"}
    assert any(line["self"].get("format") == "NHWC" for line in cases)
    assert any(max(line.get("dilation", (1,))) > 1 for line in cases)


def test_golden_results_agree_with_the_reference(cases: list[Line], made: Path) -> None:
    for line in accepted(cases):
        assert_golden(line, arrays(made / "golden" / line["name"]))


def test_a_right_device_passes(cases: list[Line], made: Path, device: Path) -> None:
    answer = verify(made, device)
    refused = sum("status" in line for line in cases)
    assert answer["totals"] == {"bad": 0, "missing": 0, "fail": 0, "pass": COUNT - refused, "refused": refused}


@pytest.mark.parametrize("standard", ["stat_rel_err", "binary"])
def test_by_every_standard(made: Path, device: Path, standard: str) -> None:
    assert verify(made, device, "--standard", standard)["totals"]["fail"] == 0


@pytest.mark.parametrize("operator", ["AvgPool2dBackward", "AdaptiveMaxPool2dBackward"])
def test_a_damaged_element_is_found_and_located(cases: list[Line], made: Path, device: Path, operator: str) -> None:
    line = next(
        line
        for line in accepted(cases)
        if line["operator"] == operator and line["self"]["dtype"] == "float32" and len(line["self"]["shape"]) == 4
        if (device / line["name"] / "actual.npy").exists()
    )
    actual, golden = device / line["name"] / "actual.npy", made / "golden" / line["name"] / "golden.npy"
    place = tuple(size - 1 for size in line["self"]["shape"])
    whole = actual.read_bytes()
    array = np.array(read_array(actual))
    array[place] += 0.5
    write_array(actual, array)
    try:
        answer = verify(made, device, expect=1)
        worst = answer["results"][0]
        assert (worst["case"], worst["verdict"], answer["totals"]["fail"]) == (line["name"], "fail", 1)
        assert tuple(worst["comparison"]["worst"]["coordinates"]) == place
        hf32 = line.get("cubeMathType") in (1, 3)
        assert worst["comparison"] == library.compare(array, read_array(golden), hf32=hf32).as_data()
        shown = poolgrad("verify", made / "cases.jsonl", made / "golden", "--actual", device, expect=1).stdout
        *_, worst_line, last = shown.splitlines()
        assert worst_line.startswith(f"fail    {line['name']}: mixed (float32{', HF32' if hf32 else ''}): ")
        assert f"worst at {list(place)}: actual {array[place].item()!r}" in worst_line
        assert "1 fail" in last
        assert str(list(place)) in poolgrad("compare", actual, golden, expect=1).stdout
    finally:
        actual.write_bytes(whole)


@pytest.mark.parametrize("standard", ["stat_rel_err", "cosine", "mixed"])
def test_a_wrong_index_fails_by_any_standard(cases: list[Line], made: Path, device: Path, standard: str) -> None:
    found = [
        device / line["name"] / f"actual_{p.name}.npy"
        for line in accepted(cases)
        for p in REGISTRY[f"aclnn{line['operator']}"].outputs
        if p.role in OF_PLACES
    ]
    actual = next(path for path in found if path.exists())
    whole = actual.read_bytes()
    array = np.array(read_array(actual))
    array[(0,) * array.ndim] += 1
    write_array(actual, array)
    try:
        results = verify(made, device, "--standard", standard, expect=1)["results"]
    finally:
        actual.write_bytes(whole)
    (wrong,) = (result for result in results if result["case"] == actual.parent.name)
    assert (wrong["verdict"], wrong["comparison"]["standard"]) == ("fail", "binary")


def test_again_nothing_is_made(made: Path, cases: list[Line]) -> None:
    answer = poolgrad("golden", made / "cases.jsonl", "-o", made / "golden", "--seed", 11, "--json").data
    assert (answer["made"], answer["kept"]) == (0, sum(1 for _ in accepted(cases)))
