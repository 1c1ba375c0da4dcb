"""Golden results on disk: whole cases or none, and nothing twice."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poolgrad.arrays.files import BadFile, read_array
from poolgrad.cases import BadCase, Case, CaseTensor, Values
from poolgrad.cases import golden as golden_module
from poolgrad.cases import work as work_module
from poolgrad.cases.golden import Golden, make_golden, read_manifest
from poolgrad.cases.work import Work

SMALL, LARGE = CaseTensor("float32", (2, 3, 4, 4), "NCHW"), CaseTensor("float32", (2, 3, 8, 8), "NCHW")
INDICES = CaseTensor("int32", (2, 3, 4, 4), "NCHW", values=Values("forward"))
MAX = Case(
    "max",
    "aclnnMaxPool2dWithIndicesBackward",
    {"gradOutput": SMALL, "self": LARGE, "indices": INDICES, "gradInput": LARGE},
    {"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceilMode": False},
)
CASES = [replace(MAX, name=f"max_{i}") for i in range(6)]
FILES = {"gradOutput.npy", "self.npy", "indices.npy", "golden.npy", "case.json"}


def make(cases: list[Case], root: Path, jobs: int = 2) -> Golden:
    return make_golden(cases, root, jobs=jobs, facts={"seed": 0, "product": None})


def state(root: Path) -> dict[str, int]:
    """All files, hidden ones too, with the times of their last change."""
    paths = [path for path in root.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(root)): path.stat().st_mtime_ns for path in paths}


def test_a_case_has_a_directory_with_its_files(tmp_path: Path) -> None:
    result = make(CASES, tmp_path)
    assert (result.made, result.kept, result.refused, result.unexpected) == (6, 0, 0, [])
    for case in CASES:
        assert {path.name for path in (tmp_path / case.name).iterdir()} == FILES
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", *(case.name for case in CASES)}


def test_the_manifest_says_what_is_in_the_files(tmp_path: Path) -> None:
    make(CASES, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [entry["name"] for entry in manifest["cases"]] == [case.name for case in CASES], "in the order of the file"
    entry = manifest["cases"][3]
    assert (entry["status"], entry["seed"], entry["directory"]) == (0, 0, "max_3")
    assert set(entry["tensors"]) == {"gradOutput", "self", "indices", "gradInput"}
    for tensor in entry["tensors"].values():
        path = tmp_path / "max_3" / tensor["file"]
        array = read_array(path)
        assert (array.dtype.name, list(array.shape)) == (tensor["dtype"], tensor["shape"])
        assert hashlib.sha256(path.read_bytes()).hexdigest() == tensor["sha256"]


def test_what_is_finished_is_not_made_again(tmp_path: Path) -> None:
    make(CASES, tmp_path)
    before, manifest = state(tmp_path), (tmp_path / "manifest.json").read_text()
    result = make(CASES, tmp_path)
    assert (result.made, result.kept) == (0, 6)
    assert state(tmp_path) == before
    assert (tmp_path / "manifest.json").read_text() == manifest


def test_remarks_do_not_matter_and_numbers_do(tmp_path: Path) -> None:
    make(CASES, tmp_path)
    assert make([replace(case, why="new", status=0, standard="close") for case in CASES], tmp_path).made == 0
    changed = replace(CASES[2], numbers={**CASES[2].numbers, "ceilMode": True})
    assert make([*CASES[:2], changed, *CASES[3:]], tmp_path).made == 1
    assert make([replace(case, seed=4) for case in CASES], tmp_path).made == 6


@pytest.mark.parametrize("harm", ["record", "record-cut-off", "missing", "cut-off", "partial"])
def test_a_case_that_is_not_whole_is_made_again(tmp_path: Path, harm: str) -> None:
    make(CASES, tmp_path)
    directory = tmp_path / "max_1"
    expected = (directory / "golden.npy").read_bytes()
    if harm == "record":
        (directory / "case.json").unlink()
    elif harm == "record-cut-off":
        (directory / "case.json").write_text((directory / "case.json").read_text()[:50])
    elif harm == "missing":
        (directory / "golden.npy").unlink()
    elif harm == "cut-off":
        (directory / "golden.npy").write_bytes(expected[:-4])
    else:  # what a process leaves that was killed in the middle
        (directory / "case.json").unlink()
        (directory / ".golden.1234.part.npy").write_bytes(b"x")
    result = make(CASES, tmp_path)
    assert (result.made, result.kept) == (1, 5)
    assert (directory / "golden.npy").read_bytes() == expected
    assert {path.name for path in directory.iterdir()} == FILES


def test_what_the_device_wrote_stays(tmp_path: Path) -> None:
    make(CASES, tmp_path)
    (tmp_path / "max_1" / "actual.npy").write_bytes(b"theirs")
    make([replace(case, seed=1) for case in CASES], tmp_path)
    assert (tmp_path / "max_1" / "actual.npy").read_bytes() == b"theirs"


def test_refused_cases_have_their_status_in_the_manifest_and_no_files(tmp_path: Path) -> None:
    null = replace(MAX, name="null", tensors={**MAX.tensors, "self": None}, status=161001)
    wrong = replace(MAX, name="wrong", numbers={**MAX.numbers, "stride": (0,)}, status=0)
    silent = replace(wrong, name="silent", status=None)
    result = make([null, MAX, wrong, silent], tmp_path)
    assert result.refused == 3
    assert [(entry["name"], entry["status"]) for entry in result.unexpected] == [("wrong", 161002), ("silent", 161002)]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [entry["status"] for entry in manifest["cases"]] == [161001, 0, 161002, 161002]
    assert [entry["expected_status"] for entry in manifest["cases"]] == [161001, 0, 0, 0]
    assert "stride" in manifest["cases"][2]["message"]
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "max"}


def test_a_bad_index_that_a_case_does_not_expect_is_unexpected(tmp_path: Path) -> None:
    indices = replace(INDICES, values=Values("constant", (64.0,)))
    bad = replace(MAX, tensors={**MAX.tensors, "indices": indices})
    for _ in ("made", "kept"):
        assert [entry["status"] for entry in make([bad], tmp_path).unexpected] == [507015]


@pytest.mark.parametrize("piece", [1 << 22, 64], ids=["whole", "pieces"])
def test_a_bad_index_leaves_inputs_and_names_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("poolgrad.cases.data.PIECE", piece)
    indices = replace(INDICES, values=Values("constant", (64.0,)))
    case = replace(MAX, tensors={**MAX.tensors, "indices": indices}, status=507015)
    result = make([case], tmp_path)
    entry = result.entries["max"]
    assert not result.unexpected
    assert (entry["status"], result.made) == (507015, 1)
    assert "indices[0, 0, 0, 0] = 64" in entry["message"]
    assert {path.name for path in (tmp_path / "max").iterdir()} == FILES - {"golden.npy"}
    assert make([case], tmp_path).kept == 1


def test_an_earlier_result_does_not_outlive_a_bad_index(tmp_path: Path) -> None:
    make([MAX], tmp_path)
    indices = replace(INDICES, values=Values("constant", (-1.0,)))
    make([replace(MAX, tensors={**MAX.tensors, "indices": indices})], tmp_path)
    assert not (tmp_path / "max" / "golden.npy").exists()


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)], ids=["empty batch", "no gradients"])
def test_empty_tensors_have_files_too(tmp_path: Path, shape: tuple[int, int]) -> None:
    rows = 4 if shape[0] == 0 else 0
    tensors = {
        "gradOutput": CaseTensor("float32", (*shape, rows, 4), "ND"),
        "self": CaseTensor("float32", (*shape, 8, 8), "ND"),
        "indices": CaseTensor("int32", (*shape, rows, 4), "ND", values=Values("forward")),
        "gradInput": CaseTensor("float32", (*shape, 8, 8), "ND"),
    }
    make([Case("empty", "aclnnAdaptiveMaxPool2dBackward", tensors)], tmp_path)
    assert np.array_equal(read_array(tmp_path / "empty" / "golden.npy"), np.zeros((*shape, 8, 8), np.float32))


def test_a_failure_leaves_whole_cases_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    golden_piece = work_module.golden_piece

    def failing(case: Case, *rest: Any) -> None:
        calls.append(case)
        if len(calls) == 4:
            raise BadFile("the disk is gone")
        golden_piece(case, *rest)

    monkeypatch.setattr(work_module, "golden_piece", failing)
    with pytest.raises(BadFile, match="the disk is gone"):
        make(CASES, tmp_path)
    assert not (tmp_path / "manifest.json").exists()
    finished = 0
    for directory in tmp_path.iterdir():
        assert {path.name for path in directory.iterdir()} == FILES, "a whole case"
        finished += 1
    assert finished < len(CASES)
    monkeypatch.setattr(work_module, "golden_piece", golden_piece)
    assert make(CASES, tmp_path).made == len(CASES) - finished


def test_cases_that_do_not_fit_the_disk_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 10**6 - 5000, 5000))
    with pytest.raises(BadFile, match=r"the cases take .* and the disk of .* has 5000 bytes left; nothing was written"):
        make(CASES, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_case_of_terabytes_does_not_fit_any_disk(tmp_path: Path) -> None:
    tensors = {
        "gradOutput": CaseTensor("float32", (2**30, 2**10, 4, 4), "NCHW"),
        "self": CaseTensor("float32", (2**30, 2**10, 8, 8), "NCHW"),
        "indices": CaseTensor("int32", (2**30, 2**10, 4, 4), "NCHW", values=Values("forward")),
        "gradInput": CaseTensor("float32", (2**30, 2**10, 8, 8), "NCHW"),
    }
    with pytest.raises(BadFile, match=r"take .* TiB, and the disk"):
        make([replace(MAX, tensors=tensors)], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(BadFile, match="can't be written"):
        make(CASES, tmp_path / "file")


def test_a_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "max_3").write_text("here")
    with pytest.raises(BadFile, match="max_3 can't be written"):
        make(CASES, tmp_path)
    assert not list(tmp_path.rglob(".*"))


def test_names_that_leave_the_directory_or_meet_are_refused(tmp_path: Path) -> None:
    for name, expected in (("../max", "leaves the directory"), ("MAX_0", "would share a directory")):
        with pytest.raises(BadCase, match=expected):
            make([*CASES, replace(MAX, name=name)], tmp_path / "new")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"cases": [{"name": 1',
        '{"seed": 0, "product": null, "cases": [{"name": "a"}]}',
        '{"cases": 5, "seed": 0, "product": null}',
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / golden_module.MANIFEST).write_text(text)
    with pytest.raises(BadFile, match="is no manifest"):
        read_manifest(tmp_path)


def test_pieces_of_one_case_are_made_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poolgrad.cases.data.PIECE", 64)
    together = threading.Barrier(3, timeout=30)
    golden_piece = work_module.golden_piece

    def waiting(*arguments: Any) -> None:
        together.wait()  # fails if it is not joined by two others
        golden_piece(*arguments)

    monkeypatch.setattr(work_module, "golden_piece", waiting)
    assert len(Work(MAX, tmp_path).pieces) == 6
    assert make([MAX], tmp_path, jobs=3).made == 1
