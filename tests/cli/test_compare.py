"""``poolgrad compare``: verdicts as exit codes, files of both kinds, and one clear line for what can't be compared."""

from __future__ import annotations

import json
import math
import pickle
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_files import write_array
from cli.command import poolgrad as as_a_process
from cli.inside import poolgrad

import poolgrad as library
from poolgrad.precision.limits import STANDARDS, WITH_THIRD_PARTY

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
Array = np.ndarray[Any, Any]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a golden tensor, a good and a damaged one, and a third party's; commands run in it."""
    monkeypatch.chdir(tmp_path)
    golden = np.random.default_rng(1).uniform(1, 2, (2, 3, 8, 9)).astype(np.float32)
    bad = golden.copy()
    bad[1, 2, 3, 4] = math.nan
    bad[1, 2, 5] = 0
    for name, array in {"golden": golden, "good": golden * np.float32(1.00001), "bad": bad}.items():
        write_array(tmp_path / f"{name}.npy", array)
        write_array(tmp_path / f"{name}.bin", array)
        write_array(tmp_path / f"{name}16.npy", array.astype(BFLOAT16))
        write_array(tmp_path / f"{name}16.bin", array.astype(BFLOAT16))
    write_array(tmp_path / "wide.bin", golden.astype(np.float64))
    return tmp_path


def test_the_exit_code_is_the_verdict(files: Path) -> None:
    assert "PASS by mixed (float32)" in as_a_process("compare", files / "good.npy", files / "golden.npy").stdout
    failed = as_a_process("compare", files / "bad.npy", files / "golden.npy", expect=1)
    assert "FAIL by mixed (float32)" in failed.stdout
    assert "NaN in just one of the tensors: 1 of 432 elements" in failed.stdout
    assert "first at" in failed.stdout
    assert "[1, 2, 3, 4]: actual nan" in failed.stdout
    assert failed.stderr == ""


@pytest.mark.parametrize("standard", [*STANDARDS, "mix_tolerance"])
@pytest.mark.parametrize("name", ["good", "bad"])
def test_json_is_the_librarys_answer(files: Path, standard: str, name: str) -> None:
    sides = {side: np.load(files / f"{side}.npy") for side in ("golden", name)}
    third = np.load(files / "good.npy") if standard in WITH_THIRD_PARTY else None
    expected = library.compare(sides[name], sides["golden"], standard, third_party=third, level="L2")
    options = ["--third-party", "good.npy", "--level", "L2"] if third is not None else []
    answered = poolgrad(
        "compare", f"{name}.npy", "golden.npy", "--standard", standard, *options, "--json", expect=not expected.passed
    )
    told = answered.data
    assert told.pop("actual") == f"{name}.npy"
    assert told.pop("golden") == "golden.npy"
    assert told.pop("html") is None
    assert told == json.loads(json.dumps(expected.as_data()))
    assert expected.passed == (name == "good" and not standard.startswith("binary"))


def test_hf32_changes_the_thresholds(files: Path) -> None:
    for options, rtol in (([], 2**-10), (["--hf32"], 2**-9)):
        assert poolgrad("compare", "good.npy", "golden.npy", *options, "--json").data["thresholds"]["rtol"] == rtol


SHAPE = ["--shape", "2,3,8,9"]


@pytest.mark.parametrize(
    ("actual", "golden", "options", "types"),
    [
        ("bad.bin", "golden.bin", ["--dtype", "float32", *SHAPE], ("float32", "float32")),
        ("bad.bin", "golden.npy", ["--dtype", "float32", *SHAPE], ("float32", "float32")),
        ("bad.npy", "golden.bin", ["--dtype", "float32", *SHAPE], ("float32", "float32")),
        ("bad16.npy", "golden16.npy", [], ("bfloat16", "bfloat16")),
        ("bad16.bin", "golden16.bin", ["--dtype", "bfloat16", *SHAPE], ("bfloat16", "bfloat16")),
        ("bad16.bin", "golden.npy", ["--dtype", "bf16", *SHAPE], ("bfloat16", "float32")),
        ("bad16.npy", "golden.npy", [], ("bfloat16", "float32")),
        ("bad.npy", "wide.bin", ["--golden-dtype", "float64", *SHAPE], ("float32", "float64")),
    ],
)
def test_both_kinds_of_files_and_a_wider_golden_one(
    files: Path, actual: str, golden: str, options: list[str], types: tuple[str, str]
) -> None:
    told = poolgrad("compare", actual, golden, *options, "--json", expect=1).data
    assert (told["dtype"], told["golden_dtype"]) == types
    assert told["worst"]["coordinates"] == [1, 2, 3, 4]
    assert told["nan_mismatches"] == 1
    assert told["shape"] == [2, 3, 8, 9]


def test_a_shape_decides_where_damage_is(files: Path) -> None:
    told = poolgrad("compare", "bad.bin", "golden.bin", "--dtype", "float32", "--shape", "432", "--json", expect=1).data
    assert told["worst"]["coordinates"] == [np.ravel_multi_index((1, 2, 3, 4), (2, 3, 8, 9))]


BAD = [
    (["good.npy", "none.npy"], "none.npy: there is no such file"),
    (["good.txt", "golden.npy"], r"good.txt: expected a name that ends in \.npy or \.bin"),
    (["good.bin", "golden.bin"], "give --dtype and --shape"),
    (["good.bin", "golden.bin", "--dtype", "float32"], "give --dtype and --shape"),
    (["good.bin", "golden.bin", "--dtype", "float32", "--shape", "2,3,8,8"], "is of another size"),
    (["good.bin", "golden.bin", "--dtype", "float99", "--shape", "2"], "float99"),
    (["good.bin", "golden.bin", "--dtype", "float32", "--shape", "two"], "--shape: expected integers"),
    (["cut.npy", "golden.npy"], "cut.npy is cut off"),
    (["header.npy", "golden.npy"], "header.npy is no .npy file"),
    (["empty.npy", "golden.npy"], "it is empty"),
    (["pickled.npy", "golden.npy"], "never opened"),
    (["objects.npy", "golden.npy"], "never opened"),
    (["turned.npy", "golden.npy"], r"golden must have the shape of actual, \[9, 8, 3, 2\]; got \[2, 3, 8, 9\]"),
    (["good.npy", "golden16.npy"], "golden must be float32 or float64 where actual is float32; got bfloat16"),
    (["unsigned.npy", "unsigned.npy"], "actual must be of one of the types"),
    (["good.npy", "golden.npy", "--standard", "rough"], "standard must be one of mixed, .*; got 'rough'"),
    (["good.npy", "golden.npy", "--level", "L9"], "level must be one of L0, L1, L2; got 'L9'"),
    (["good.npy", "golden.npy", "--standard", "cross_check"], "give it as third_party"),
    (["good.npy", "golden.npy", "--third-party", "good.npy"], "belongs to the standard cross_check"),
    (["good16.npy", "golden16.npy", "--hf32"], "hf32 is a way to compute float32"),
    (["good.npy", "golden.npy", "--html", "golden.npy"], "--html: expected a name that ends in .html"),
    (["good.npy", "golden.npy", "--html", "no/such/place.html"], "can't be written"),
    (["good.npy"], "Missing argument"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_bad_files_and_bad_usage_are_one_clear_line(files: Path, arguments: list[str], message: str) -> None:
    golden = (files / "golden.npy").read_bytes()
    (files / "cut.npy").write_bytes(golden[:-1])
    (files / "header.npy").write_bytes(golden[:40])
    (files / "empty.npy").write_bytes(b"")
    (files / "pickled.npy").write_bytes(pickle.dumps([1, 2, 3]))
    np.save(files / "objects.npy", np.array([{}], object), allow_pickle=True)
    write_array(files / "turned.npy", np.load(files / "good.npy").T)
    write_array(files / "unsigned.npy", np.zeros(3, np.uint64))
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    answered = poolgrad("compare", *arguments, expect=2)
    assert re.search(message, answered.stderr), answered.stderr
    if "Missing argument" not in message:
        assert answered.stderr.count("\n") == 1
    assert answered.stdout == ""
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_the_page_is_written_with_the_verdict(files: Path) -> None:
    answered = poolgrad("compare", "bad.npy", "golden.npy", "--html", "report.html", expect=1)
    assert "wrote report.html" in answered.stdout
    text = (files / "report.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "<title>FAIL: bad.npy by mixed</title>" in text
    assert text.rstrip().endswith("</html>")
    told = poolgrad("compare", "good.npy", "golden.npy", "--html", "report.html", "--json").data
    assert told["html"] == "report.html"
    assert "<title>PASS: good.npy by mixed</title>" in (files / "report.html").read_text("utf-8")
    assert not [path for path in files.iterdir() if ".part" in path.name]


def test_a_page_that_can_not_be_finished_leaves_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from poolgrad.precision.report import pages

    (files / "report.html").write_text("what was there before", "utf-8")

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pages, "_packed", full)
    answered = poolgrad("compare", "bad.npy", "golden.npy", "--html", "report.html", expect=2)
    assert "report.html can't be written: No space left on device" in answered.stderr
    assert (files / "report.html").read_text("utf-8") == "what was there before"
    assert not [path for path in files.iterdir() if ".part" in path.name]


def test_help_has_examples() -> None:
    text = poolgrad("compare", "--help").stdout
    assert "poolgrad compare out.npy golden.npy" in text
    for command in ("compare", "verify"):
        text = poolgrad(command, "--help").stdout
        assert [standard for standard in STANDARDS if standard not in text] == []


def test_ttks_verdict_where_it_is_another(files: Path) -> None:
    """One large number that is off by one step: the rules forgive it, TTK does not."""
    golden = np.full(1000, 2.0**30, np.float32)
    write_array(files / "large.npy", golden)
    golden[7] += 128
    write_array(files / "off.npy", golden)
    assert "PASS by mixed (float32)" in poolgrad("compare", "off.npy", "large.npy").stdout
    failed = poolgrad("compare", "off.npy", "large.npy", "--standard", "mixed_ttk", "--html", "r.html", expect=1).stdout
    assert "FAIL by mixed_ttk (float32)" in failed
    assert "off by more than 0.01: 1 of 1000 elements, none may be" in failed
    assert "<title>FAIL: off.npy by mixed_ttk</title>" in (files / "r.html").read_text("utf-8")
