"""``poolgrad golden``, ``verify`` and ``cases`` as people use them, and what they say to bad files and names."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest
from cases.files import LINE_MAX, TTK_AVERAGE, atk_adaptive_max, atk_average, atk_max, ttk_text, write
from cli.command import poolgrad as process
from cli.inside import poolgrad

from poolgrad.arrays.files import read_array
from poolgrad.cases.junit import junit
from poolgrad.cases.suite import suite_of
from poolgrad.cases.verification import Outcome
from poolgrad.operators import REGISTRY

PATIENCE = 60  # seconds after which a test that waits has failed


def one_line(stderr: str) -> str:
    (line,) = stderr.splitlines()
    assert line.startswith("poolgrad: ")
    return line


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Three cases with golden results; the device has computed all of them right."""
    file = write(tmp_path, "cases.jsonl", tuple(LINE_MAX | {"name": name} for name in ("one", "two", "three")))
    poolgrad("golden", file, "-o", tmp_path / "golden")
    for name in ("one", "two", "three"):
        golden = tmp_path / "golden" / name / "golden.npy"
        golden.with_name("actual.npy").write_bytes(golden.read_bytes())
    return tmp_path


def verify(made: Path, *options: object, expect: int = 0) -> Any:
    return poolgrad("verify", made / "cases.jsonl", made / "golden", *options, expect=expect)


# golden


@pytest.mark.parametrize(
    "content",
    [[atk_average(), atk_max(), atk_adaptive_max()], ttk_text(TTK_AVERAGE), (LINE_MAX,)],
    ids=["atk", "ttk", "jsonl"],
)
def test_every_format_has_golden_results(tmp_path: Path, content: Any) -> None:
    file = write(tmp_path, "cases", content)
    answer = poolgrad("golden", file, "-o", tmp_path / "golden", "--json").data
    assert answer["made"] == answer["cases"] == len(list((tmp_path / "golden").glob("*/golden.npy")))
    shown = poolgrad("golden", file, "-o", tmp_path / "golden").stdout
    assert f"{answer['cases']} cases: 0 made, {answer['cases']} there already, 0 refused" in shown


def test_a_product_is_for_cases_that_name_none(tmp_path: Path) -> None:
    indices = {"dtype": "int64", "shape": [2, 3, 4, 4]}
    file = write(tmp_path, "cases", (LINE_MAX | {"indices": indices},))
    assert poolgrad("golden", file, "-o", tmp_path / "a", "--json").data["refused"] == 0
    refused = poolgrad("golden", file, "-o", tmp_path / "b", "--product", "Ascend910B", "--json", expect=1).data
    assert (refused["refused"], len(refused["unexpected"])) == (1, 1)
    assert "unknown product" in poolgrad("golden", file, "-o", tmp_path / "c", "--product", "X", expect=2).stderr


def test_a_status_that_a_case_does_not_expect_is_a_no(tmp_path: Path) -> None:
    file = write(
        tmp_path, "cases", (LINE_MAX | {"stride": [0], "status": 0}, LINE_MAX | {"name": "b", "status": 161001})
    )
    shown = poolgrad("golden", file, "-o", tmp_path / "golden", expect=1).stdout
    assert "max_1: expected status 0, got 161002: aclnnMaxPool2dWithIndicesBackward: stride: expected" in shown
    assert "b: expected status 161001, got 0" in shown
    answer = poolgrad("golden", file, "-o", tmp_path / "golden", "--json", expect=1).data
    assert [entry["name"] for entry in answer["unexpected"]] == ["max_1", "b"]


def test_a_refusal_that_no_case_expects_is_a_no_with_its_reason(tmp_path: Path) -> None:
    """Else a file of which nothing was tested would look as if all were well."""
    file = write(tmp_path, "cases.jsonl", (LINE_MAX | {"stride": [0]},))
    reason = "max_1: expected status 0, got 161002: aclnnMaxPool2dWithIndicesBackward: stride: expected"
    made = poolgrad("golden", file, "-o", tmp_path / "golden", expect=1).stdout
    assert reason in made
    assert "1 refused by the contract, 1 not as expected; in " in made
    assert reason in poolgrad("check", file, expect=1).stdout
    first, last = verify(tmp_path, expect=1).stdout.splitlines()
    assert first.startswith(f"fail    {reason}")
    assert first.endswith("if that is meant, give the case the status 161002")
    assert last == "1 cases: 1 fail"
    expected = write(tmp_path, "cases.jsonl", (LINE_MAX | {"stride": [0], "status": 161002},))
    assert "expected status" not in poolgrad("golden", expected, "-o", tmp_path / "golden").stdout
    assert "expected status" not in poolgrad("check", expected).stdout
    assert verify(tmp_path).stdout.splitlines()[-1] == "1 cases: 1 refused"


def test_a_call_that_is_accepted_against_expectation_is_a_no_for_verify_too(made: Path) -> None:
    names = ("one", "two", "three")
    write(made, "cases.jsonl", tuple(LINE_MAX | {"name": n, "status": 161002 if n == "two" else 0} for n in names))
    *_, worst, totals = verify(made, expect=1).stdout.splitlines()
    assert worst.startswith("fail    two: expected status 161002, got 0")
    assert totals == "3 cases: 1 fail, 2 pass"


BAD_FILES = {
    "cut-off JSON": json.dumps([atk_average()])[:-30],
    "cut-off CSV": ttk_text(TTK_AVERAGE)[:-70],
    "cut-off JSON line": json.dumps(LINE_MAX)[:-30],
    "no case file": "hello\n",
    "a name that leaves the directory": (LINE_MAX | {"name": "../escaped"},),
    "a name that is a path": (LINE_MAX, LINE_MAX | {"name": "/tmp/escaped"}),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_case_file_is_one_line_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    file = write(tmp_path, "cases", BAD_FILES[name])
    one_line(process("golden", file, "-o", tmp_path / "sub" / "golden", expect=2).stderr)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["cases"]


def test_a_case_that_does_not_fit_the_disk_is_one_line_and_nothing_is_written(tmp_path: Path) -> None:
    sizes = {
        name: LINE_MAX[name] | {"shape": [2**30, 2**10, *LINE_MAX[name]["shape"][2:]]}
        for name in ("self", "gradOutput")
    }
    file = write(tmp_path, "cases", (LINE_MAX | {"name": "first"}, LINE_MAX | sizes))
    line = one_line(process("golden", file, "-o", tmp_path / "golden", expect=2).stderr)
    assert re.search(r"the cases take 640\.\d TiB, and the disk of .* left; nothing was written", line)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["cases"]


def test_a_missing_case_file_is_one_line(tmp_path: Path) -> None:
    assert "can't be read" in one_line(process("golden", tmp_path / "none", "-o", tmp_path, expect=2).stderr)


def test_ctrl_c_leaves_whole_files_or_none_and_the_next_run_goes_on(tmp_path: Path) -> None:
    large = {
        "gradOutput": {"dtype": "float32", "shape": [4, 8, 256, 256]},
        "self": {"dtype": "float32", "shape": [4, 8, 512, 512]},
    }
    file = write(tmp_path, "cases", (*(LINE_MAX | large | {"name": f"large_{i}"} for i in range(10)),))
    root = tmp_path / "golden"
    command = [sys.executable, "-m", "poolgrad", "golden", str(file), "-o", str(root), "--jobs", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while not list(root.glob("*/case.json")) or not list(root.glob("*/.*.part*")):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, errors
    assert one_line(errors.splitlines(keepends=True)[-1]).startswith("poolgrad: interrupted; what is finished is kept")
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == (
        "poolgrad: interrupted; what is finished is kept, and the same command goes on from there"
    )
    assert not list(root.rglob(".*")), "nothing that is half written"
    assert not (root / "manifest.json").exists()
    finished = [path.parent.name for path in root.glob("*/case.json")]
    assert 0 < len(finished) < 10
    for directory in root.iterdir():
        assert directory.name in finished
        assert len(list(directory.iterdir())) == 5
    answer = poolgrad("golden", file, "-o", root, "--json").data
    assert (answer["kept"], answer["made"]) == (len(finished), 10 - len(finished))
    golden = read_array(root / finished[0] / "golden.npy")
    expected = np.zeros((32, 512 * 512), np.float32)
    files = [root / finished[0] / f"{name}.npy" for name in ("gradOutput", "indices")]
    grad, indices = (read_array(file).reshape(32, -1) for file in files)
    np.put_along_axis(expected, indices, grad, axis=1)  # windows that do not overlap
    assert (golden.reshape(32, -1) == expected).all()


# verify


def test_ctrl_c_ends_golden_in_the_middle_of_a_kernel(tmp_path: Path) -> None:
    """Such windows with such a stride take minutes, with numbers in the result from the first moment on."""
    case = {
        "operator": "aclnnAvgPool2dBackward",
        "gradOutput": {"dtype": "float32", "shape": [1, 1, 2273, 2273]},
        "self": {"dtype": "float32", "shape": [1, 1, 3072, 3072]},
        **{"kernelSize": [800, 800], "stride": [1, 1], "padding": [0, 0], "ceilMode": False},
        **{"countIncludePad": True, "divisorOverride": 0, "cubeMathType": 0, "name": "long"},
    }
    file, root = write(tmp_path, "cases", (case,)), tmp_path / "golden"
    command = [sys.executable, "-m", "poolgrad", "golden", str(file), "-o", str(root)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not any(np.fromfile(part, "f4", 8, offset=128).any() for part in root.glob("long/.golden.*part*")):
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130, errors
    assert "interrupted" in errors
    assert not list(root.iterdir())


def test_missing_outputs_are_a_no(made: Path) -> None:
    (made / "golden" / "two" / "actual.npy").unlink()
    shown = verify(made, expect=1).stdout.splitlines()
    assert shown[-2].startswith("missing two: there is no ")
    assert shown[-1] == "3 cases: 1 missing, 2 pass"


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def _pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(Evil()))


def _objects(path: Path) -> None:
    np.save(path, np.array([Evil()], dtype=object), allow_pickle=True)


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _wrong_shape(path: Path) -> None:
    np.save(path, np.zeros((2, 3, 8, 9), np.float32))


def _wrong_type(path: Path) -> None:
    np.save(path, np.zeros((2, 3, 8, 8), np.float64))


@pytest.mark.parametrize(
    "harm", [_pickled, _objects, _cut_off, _wrong_shape, _wrong_type], ids=lambda f: f.__name__[1:]
)
def test_an_output_that_cant_be_used_is_one_line_among_the_others(
    made: Path, monkeypatch: pytest.MonkeyPatch, harm: Any
) -> None:
    monkeypatch.chdir(made)
    harm(made / "golden" / "two" / "actual.npy")
    shown = verify(made, expect=2).stdout.splitlines()
    assert shown[-2].startswith(f"bad     two: {made}/golden/two/actual.npy ")
    assert shown[-1] == "3 cases: 1 bad, 2 pass"
    assert not (made / "unpickled").exists()


def test_raw_outputs_need_their_size(made: Path) -> None:
    actual = made / "golden" / "two" / "actual.npy"
    values = read_array(actual).tobytes()
    actual.unlink()
    actual.with_suffix(".bin").write_bytes(values)
    assert verify(made).stdout.splitlines()[-1] == "3 cases: 3 pass"
    actual.with_suffix(".bin").write_bytes(values[:-4])
    assert "bad     two: " in verify(made, expect=2).stdout


def test_bfloat16_outputs_may_be_their_bits(tmp_path: Path) -> None:
    tensors = {name: LINE_MAX[name] | {"dtype": "bfloat16"} for name in ("gradOutput", "self")}
    file = write(tmp_path, "cases.jsonl", (LINE_MAX | tensors,))
    poolgrad("golden", file, "-o", tmp_path / "golden")
    golden = read_array(tmp_path / "golden" / "max_1" / "golden.npy")
    assert golden.dtype == ml_dtypes.bfloat16
    np.save(tmp_path / "golden" / "max_1" / "actual.npy", golden.view(np.uint16))
    assert "1 pass" in verify(tmp_path).stdout


def test_statuses_are_compared_where_they_are_told(tmp_path: Path) -> None:
    lines = (LINE_MAX | {"name": "bad", "stride": [0], "status": 161002}, LINE_MAX | {"name": "good"})
    file = write(tmp_path, "cases.jsonl", lines)
    root = tmp_path / "golden"
    poolgrad("golden", file, "-o", root)
    (root / "good" / "actual.npy").write_bytes((root / "good" / "golden.npy").read_bytes())
    assert verify(tmp_path).stdout.splitlines()[-1] == "2 cases: 1 pass, 1 refused"
    (root / "bad").mkdir()
    (root / "bad" / "status.txt").write_text("161002\n")
    assert verify(tmp_path).stdout.splitlines()[-1] == "2 cases: 2 pass"
    (root / "bad" / "status.txt").write_text("0")
    shown = verify(tmp_path, expect=1).stdout
    assert "fail    bad: status 0 ACL_SUCCESS; expected 161002 ACLNN_ERR_PARAM_INVALID" in shown
    (root / "bad" / "status.txt").write_text("161002")
    (root / "good" / "status.txt").write_text("361001")
    assert "fail    good: status 361001" in verify(tmp_path, expect=1).stdout
    (root / "good" / "status.txt").write_text("fine")
    assert "status.txt: expected a status such as 161002" in verify(tmp_path, expect=2).stdout


@pytest.mark.parametrize("standard", ["cross_check", "cross_check_ttk"])
def test_cross_check_takes_a_third_partys_output(made: Path, standard: str) -> None:
    assert "missing" in verify(made, "--standard", standard, expect=1).stdout
    for name in ("one", "two", "three"):
        directory = made / "golden" / name
        np.save(directory / "third_party.npy", read_array(directory / "golden.npy") * np.float32(1.001))
    assert verify(made, "--standard", standard).stdout.splitlines()[-1] == "3 cases: 3 pass"


def test_the_standard_is_the_cases_own_unless_another_is_asked_for(made: Path) -> None:
    lines = tuple(LINE_MAX | {"name": name, "standard": "cosine"} for name in ("one", "two", "three"))
    write(made, "cases.jsonl", lines)
    answer = json.loads(verify(made, "--json").stdout)
    assert {result["comparison"]["standard"] for result in answer["results"]} == {"cosine"}
    answer = json.loads(verify(made, "--json", "--standard", "binary").stdout)
    assert {result["comparison"]["standard"] for result in answer["results"]} == {"binary"}


def damage(made: Path) -> None:
    """One output is far off, one a little, one hardly."""
    for name, by in (("one", 1e-3), ("two", 1.0), ("three", 1e-7)):
        actual = made / "golden" / name / "actual.npy"
        np.save(actual, read_array(made / "golden" / name / "golden.npy") + np.float32(by))


def test_the_worst_comes_last_where_people_look_and_first_for_machines(made: Path) -> None:
    damage(made)
    shown = verify(made, expect=1).stdout.splitlines()
    assert [line.split()[1].rstrip(":") for line in shown[:-1]] == ["three", "one", "two"]
    results = verify(made, "--json", expect=1).data["results"]
    assert [result["case"] for result in results] == ["two", "one", "three"]


def test_only_failures_are_shown_if_asked_for(made: Path) -> None:
    assert verify(made, "--only-failed").stdout.splitlines() == ["3 cases: 3 pass"]
    damage(made)
    (made / "golden" / "one" / "actual.npy").unlink()
    *shown, totals = verify(made, "--only-failed", expect=1).stdout.splitlines()
    assert [line.split()[:2] for line in shown] == [["fail", "two:"], ["missing", "one:"]]
    assert totals == "3 cases: 1 missing, 1 fail, 1 pass"
    answer = verify(made, "--only-failed", "--json", expect=1).data
    assert [result["case"] for result in answer["results"]] == ["one", "two"]
    assert (answer["cases"], answer["totals"]["pass"]) == (3, 1)


def test_verdicts_for_ci_are_junit_xml(made: Path) -> None:
    """With all cases, also where only failures are shown."""
    lines = [LINE_MAX | {"name": name} for name in ("one", "two", "three", "four")]
    lines.append(LINE_MAX | {"name": 'refused <&"', "stride": [0], "status": 161002})
    file = write(made, "cases.jsonl", tuple(lines))
    poolgrad("golden", file, "-o", made / "golden")
    damage(made)
    _cut_off(made / "golden" / "three" / "actual.npy")
    verify(made, "--only-failed", "--junit", made / "report.xml", expect=2)
    root = ElementTree.parse(made / "report.xml").getroot()
    assert root.tag == "testsuites"
    (suite,) = root
    counts = {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")}
    assert counts == {"name": "poolgrad verify", "tests": "5", "failures": "3", "errors": "1", "skipped": "1"}
    found = {case.get("name"): {child.tag: child.get("message") for child in case} for case in suite}
    assert list(found) == [line["name"] for line in lines], "in the order of the file"
    assert {case.get("classname") for case in suite} == {"aclnnMaxPool2dWithIndicesBackward"}
    assert list(map(list, found.values())) == [["failure"], ["failure"], ["error"], ["failure"], ["skipped"]]
    assert "worst at" in found["two"]["failure"]
    assert found["four"]["failure"].startswith("missing: there is no ")
    verify(made, "--junit", made / "none" / "report.xml", expect=2)


def test_ctrl_c_during_verify_has_a_word(made: Path) -> None:
    """The device's status comes through a pipe, so that the command waits until we let it go on."""
    pipe = made / "golden" / "two" / "status.txt"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "poolgrad", "verify", str(made / "cases.jsonl"), str(made / "golden")]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    writer = None
    while writer is None:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        with contextlib.suppress(OSError):  # nobody reads it yet
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    os.close(writer)
    shown, errors = running.communicate(timeout=PATIENCE)
    assert (running.returncode, shown) == (130, ""), errors
    assert errors.splitlines()[-1] == "poolgrad: interrupted; the same command compares all cases anew"


def test_what_xml_cant_hold_is_replaced(tmp_path: Path) -> None:
    outcomes = [Outcome("a", "fail", "half \ud800 of\x00 a\x1b[0m \uffff"), Outcome("b", "pass", "")]
    text = junit(outcomes, dict.fromkeys("ab", "aclnnAvgPool2dBackward"))
    (suite,) = ElementTree.fromstring(text.encode())
    assert suite[0][0].get("message") == "fail: half \ufffd of\ufffd a\ufffd[0m \ufffd"
    assert list(suite[1]) == []


REFUSED: dict[str, tuple[Any, str]] = {
    "another description": ((LINE_MAX | {"name": "one", "ceilMode": True},), "has changed since; run poolgrad golden"),
    "a case that golden never saw": ((LINE_MAX | {"name": "four"},), "no golden result for the case 'four'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_golden_results_of_other_cases_are_not_compared_with(made: Path, name: str) -> None:
    content, expected = REFUSED[name]
    write(made, "cases.jsonl", content)
    assert expected in one_line(verify(made, expect=2).stderr)


def test_verify_needs_what_golden_made(made: Path) -> None:
    line = poolgrad("verify", made / "cases.jsonl", made, expect=2).stderr
    assert "manifest.json can't be read" in line
    assert "make it with poolgrad golden" in line
    assert "there is no directory" in verify(made, "--actual", made / "none", expect=2).stderr
    assert "--standard: expected one of mixed" in verify(made, "--standard", "good", expect=2).stderr


# cases


@pytest.mark.parametrize(
    ("file", "format"), [("s.json", "atk"), ("s.csv", "ttk"), ("s.jsonl", "jsonl"), ("s", "jsonl")]
)
def test_a_suite_for_all_operators_runs_as_expected(tmp_path: Path, file: str, format: str) -> None:
    answer = poolgrad("cases", "all", "-o", tmp_path / file, "--json").data
    assert answer["format"] == format
    assert answer["cases"] > 200
    done = poolgrad("golden", tmp_path / file, "-o", tmp_path / "golden", "--json").data
    assert done["cases"] == answer["cases"]
    assert done["unexpected"] == []
    assert done["refused"] > 100


def test_what_a_format_leaves_out_is_told(tmp_path: Path) -> None:
    shown = poolgrad("cases", "AvgPool2dBackward", "-o", tmp_path / "suite.json").stdout
    assert re.search(r"^1\d\d cases in .*suite.json \(atk\)$", shown, re.MULTILINE)
    assert "left out, since atk has no words for them: " in shown
    assert "× a null pointer" in shown
    assert "left out" not in poolgrad("cases", "all", "-o", tmp_path / "suite.jsonl").stdout


def test_cases_are_listed_with_their_reasons() -> None:
    shown = poolgrad("cases", "MaxPool2dWithIndicesBackward").stdout
    assert "Ascend 950 takes dilation" in shown
    listed = poolgrad("cases", "all", "--json").data
    assert all(case["why"] for case in listed)


def test_bad_usage_of_cases(tmp_path: Path) -> None:
    assert "unknown operator" in poolgrad("cases", "Conv2d", "-o", tmp_path / "s", expect=2).stderr
    assert (
        "--format: expected one of" in poolgrad("cases", "all", "-o", tmp_path / "s", "--format", "x", expect=2).stderr
    )
    assert "no directory" in poolgrad("cases", "all", "-o", tmp_path / "none" / "s", expect=2).stderr
    assert not list(tmp_path.iterdir())


def test_the_contract_agrees_with_the_whole_suite(tmp_path: Path) -> None:
    poolgrad("cases", "all", "-o", tmp_path / "suite.jsonl")
    shown, count = poolgrad("check", tmp_path / "suite.jsonl").stdout, sum(len(suite_of(name)) for name in REGISTRY)
    assert f"{count} of {count} cases have the status that they expect" in shown
