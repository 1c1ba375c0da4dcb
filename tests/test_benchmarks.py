"""The benchmark's cases are legal, and its report says what the numbers say. Nothing is timed here."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import limits, memory, report, tables
from benchmarks.cases import GROUPS, Case, parse
from poolgrad.base.dtypes import dtype_named
from poolgrad.base.products import ANY
from poolgrad.base.tensor import Tensor, contiguous_strides
from poolgrad.contract.engine import Value, prepare
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role

CASES = [case for group in GROUPS for case in group.cases]


def tensor(name: str, itemsize: int, shape: tuple[int, ...], format: str) -> Tensor:
    return Tensor(dtype_named(name, 8 * itemsize), shape, contiguous_strides(shape, itemsize), format)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_contract_allows_every_case(case: Case) -> None:
    size, index_size = 4 if case.dtype == "float32" else 2, 4 if case.index_dtype == "int32" else 8
    windows, elements = math.prod(case.grad_shape), math.prod(case.x_shape) * size
    at_windows = windows * (size if case.averages else size + index_size)
    read = written = 0
    if case.pools:
        assert_legal(case, case.forward, case.grad_shape)
        read, written = elements, at_windows
    if case.spreads:
        assert_legal(case, case.described, case.x_shape)
        read, written = read + at_windows, written + elements
    assert (case.bytes_read, case.bytes_written) == (read, written)


def assert_legal(case: Case, operator: Operator, result: tuple[int, ...]) -> None:
    def like(shape: tuple[int, ...], dtype: str = case.dtype) -> Tensor:
        itemsize = {"float32": 4, "int32": 4, "int64": 8}.get(dtype, 2)
        return tensor(dtype, itemsize, shape, operator.default_format)

    indices = like(case.grad_shape, case.index_dtype)
    of_role = {Role.GRADIENT: like(case.grad_shape), Role.INPUT: like(case.x_shape), Role.RESULT: like(result)}
    of_role |= {Role.INDICES: indices, Role.PLACES: indices}
    wanted: dict[str, Value] = {p.name: of_role[p.role] for p in operator.tensors}
    wanted |= {p.name: p.default for p in operator.numbers}
    numbers = dict(zip((Role.KERNEL, Role.STRIDE, Role.PADDING), case.parameters, strict=False))
    numbers |= {Role.OUTPUT_SIZE: case.outputs}
    wanted |= {p.name: numbers[p.role] for p in operator.numbers if p.role in numbers}
    assert prepare(operator, ANY, wanted, 1).kernel


def test_windows_that_differ_by_axis() -> None:
    case = parse("max3 n1c2d8h9w11 k1,3,3 s1,2,2 p0,1,1")
    assert case.grad_shape == (1, 2, 8, 5, 6)
    assert case.parameters == ((1, 3, 3), (1, 2, 2), (0, 1, 1))


def test_every_group_is_complete() -> None:
    keys = [group.key for group in GROUPS]
    assert len(set(keys)) == len(keys)
    for group in GROUPS:
        assert group.cases
        assert any(case.quick for case in group.cases), f"{group.key} has no case in the quick run"
        assert len({case.name for case in group.cases}) == len(group.cases)
        assert (group.target is None) == (group.stretch is None)
        if group.target and group.stretch:
            assert group.stretch.mean > group.target.mean
            assert (group.stretch.worst or math.inf) > (group.target.worst or 0)


@pytest.mark.parametrize(
    "line", ["mean n1c1h4w4 k2", "avg n1c1h4w4 k2 float8", "max n1c1h4w4 k2 int16", "max n1h4c1w4 k2"]
)
def test_a_line_that_is_no_case(line: str) -> None:
    with pytest.raises(ValueError, match="no such case"):
        parse(line)


def test_a_line_is_read() -> None:
    case = parse("* max n2c3h9w11 k3 s2 p1 bfloat16 cropped int32 | a network")
    assert (case.operator, case.x_shape, case.source, case.quick) == ("max", (2, 3, 9, 11), "a network", True)
    assert (case.dtype, case.layout, case.index_dtype) == ("bfloat16", "cropped", "int32")
    assert case.name == "max 2x3x9x11 k3s2p1 bfloat16 cropped int32 (a network)"
    assert case.parameters == ((3, 3), (2, 2), (1, 1))
    assert case.grad_shape == (2, 3, 5, 6)
    assert parse("avg n1c1h6w6 k3").parameters == ((3, 3), (3, 3), (0, 0))
    assert parse("aavg n2c3d4h5w6 o1,2,3").grad_shape == (2, 3, 1, 2, 3)
    assert parse("aavg2 n2c3h5w6 o2,3").grad_shape == (2, 3, 2, 3)
    assert parse("avg3 n2c3d4h5w6 k3 s2 p1").grad_shape == (2, 3, 2, 3, 3)


def test_a_direction_is_read() -> None:
    gradient, forward, both = (parse(f"max n2c3h8w8 k2 {word}") for word in ("", "forward", "both"))
    assert [(case.pools, case.spreads) for case in (gradient, forward, both)] == [(0, 1), (1, 0), (1, 1)]
    assert (forward.bytes_read, forward.bytes_written) == (gradient.bytes_written, gradient.bytes_read)
    assert both.bytes_read == both.bytes_written == gradient.bytes_read + gradient.bytes_written
    assert forward.name == "max 2x3x8x8 k2 forward"


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("past_caches", [False, True])
@pytest.mark.parametrize(("read", "written"), [(0, 4096), (96, 32 * 200), (8 * 999, 32 * 7), (64, 32 * 129)])
def test_the_limit_writes_what_the_operator_writes(
    threads: int, past_caches: bool, read: int, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, source = np.full(written + 256, 7, np.uint8), np.zeros(read + 256, np.uint8)
    monkeypatch.setattr(memory, "_KEPT", {memory.WRITTEN: target, memory.READ: source})
    start = -target.ctypes.data % memory.LINE
    limits.traffic(read, written, threads, past_caches=past_caches).repeat(2)
    assert (target[start : start + written].view(np.float32) == 1.5).all()
    assert (target[:start] == 7).all()
    assert (target[start + written :] == 7).all()


def test_cases_take_memory_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LEAST", 2048)
    monkeypatch.setattr(memory, "_KEPT", {})
    memory.begin()
    one, two = memory.take(memory.READ, 100), memory.take(memory.READ, 50)
    assert not np.shares_memory(one, two)
    memory.begin()
    again = memory.take(memory.READ, 1000)
    assert np.shares_memory(again, one)
    assert np.shares_memory(again, memory.whole(memory.READ, 1024))
    assert memory.take(memory.READ, 2000).size == 2000


# ---- the report ------------------------------------------------------------------------------------------------------


def row(group: str, case: str, threads: int, torch: float, ours: float, limit: float) -> dict[str, Any]:
    times = {"torch": torch, "poolgrad": ours, "stores": 2 * limit, "streams": limit}
    return {"group": group, "case": case, "threads": threads, "operator": "avg", **times}


@pytest.fixture
def document() -> dict[str, Any]:
    goals = {"target": {"mean": 4.0, "worst": 2.0}, "stretch": {"mean": 4.5, "worst": None}}
    return {
        "machine": {
            "cpu": "a CPU",
            "cores": 2,
            "caches": {"L2": "1024K"},
            "versions": {"torch": "2.13.0", "numpy": "2.4", "numba": "0.68"},
            "date": "2026-01-02T03:04:05+00:00",
        },
        "settings": {"quick": False},
        "groups": [
            {"key": "fast", "title": "fast ones", "chinese": "快的", **goals},
            {"key": "free", "title": "free ones", "chinese": "其他", "target": None, "stretch": None},
        ],
        "cases": [
            row("fast", "one", 1, 1.0, 0.5, 0.1),
            row("fast", "one", 2, 2.0, 1.0, 0.25),
            row("fast", "two", 2, 8.0, 1.0, 1.0),
            row("free", "three", 1, 1.0, 1.0, 1.0),
            row("free", "three", 2, 1.0, 2.0, 1.0),
        ],
    }


def test_summary(document: dict[str, Any]) -> None:
    one, both, _, free = report.summary(document)
    assert (one["threads"], one["cases"], one["target"], one["target_verdict"]) == (1, 1, "", "")
    assert (both["threads"], both["cases"]) == (2, 2)
    assert both["mean"] == pytest.approx(4.0, rel=1e-12)
    assert both["worst"] == 2.0
    assert both["share"] == pytest.approx(0.5, rel=1e-12)
    assert (both["target"], both["target_verdict"]) == ("4 (2)", "met")
    assert (both["stretch"], both["stretch_verdict"]) == ("4.5", "missed")
    assert (free["mean"], free["target_verdict"], free["stretch_verdict"]) == (0.5, "", "")


@pytest.mark.parametrize(("mean", "worst", "expected"), [(4.0, 2.0, "met"), (3.9, 2.0, "missed"), (9.0, 1.9, "missed")])
def test_a_goal_is_about_mean_and_worst(mean: float, worst: float, expected: str) -> None:
    assert report.verdict(mean, worst, {"mean": 4.0, "worst": 2.0}) == expected


@pytest.mark.parametrize(("least", "expected"), [(0.6, "met"), (0.59, "missed")])
def test_a_goal_may_be_about_the_share_of_the_limit(least: float, expected: str) -> None:
    goal = {"mean": 4.0, "worst": 2.0, "share": 0.6}
    assert report.verdict(4.0, 2.0, goal, least) == expected
    assert report.goal_text(goal) == "4 (2), 60%"


def test_cases_slower_than_torch_are_listed(document: dict[str, Any]) -> None:
    assert [slow["case"] for slow in report.slower_than_torch(document)] == ["three"]
    text = report.whole_text(document)
    assert re.search(r"slower than torch: 1\nfree +three +2 +1000 +2000 +0\.50 +50%", text)


def test_choices_that_are_off_the_best_way_are_listed() -> None:
    rows = [
        {"case": "right", "way": "a", "ways": {"a": 1.0, "b": 0.9}},
        {"case": "wrong", "way": "b", "ways": {"a": 1.0, "b": 2.0, "c": 3.0}},
        {"case": "no choice", "way": "a", "ways": {}},
        {"case": "worse", "way": "c", "ways": {"a": 1.0, "c": 3.0}},
    ]
    wrong = report.wrong_choices({"sweep": rows})
    assert [row["case"] for row in wrong] == ["worse", "wrong"]
    assert [report.best_way(row) for row in wrong] == ["a", "a"]
    assert [report.off_the_best(row) for row in wrong] == [3.0, 2.0]


def test_what_each_way_gains() -> None:
    drawn = {"operator": "aavg2", "direction": "forward"}
    rows = [
        drawn | {"way": "a", "ways": {"a": 1.0, "b": 4.0, "c": 9.0}},
        drawn | {"way": "a", "ways": {"a": 1.0, "b": 1.0}},
        drawn | {"way": "a", "ways": {}},
        drawn | {"way": "b", "ways": {}, "direction": "backward"},
    ]
    first, second = report.gains({"sweep": rows})
    wanted = {"kind": "average, forward", "way": "a", "taken": 3, "alone": 1, "gain": 2.0, "most": 4.0}
    assert first == pytest.approx(wanted)
    alone = {"kind": "average, gradient", "way": "b", "taken": 1, "alone": 1, "gain": None, "most": None}
    assert second == alone


def test_what_each_file_of_kernels_gains() -> None:
    files = [{"name": "one", "lines": 7, "says": "One."}, {"name": "two", "lines": 8, "says": "Two."}]
    rows = [
        {"module": "one", "way": "a", "ways": {"a": 1.0, "b": 4.0}},
        {"module": "one", "way": "a", "ways": {"a": 1.0, "b": 1.0}},
        {"module": "one", "way": "a", "ways": {}},
    ]
    first, second = report.sources({"sweep": rows, "sources": files})
    assert first == files[0] | {"taken": 3, "gain": pytest.approx(2.0)}
    assert second == files[1] | {"taken": 0, "gain": None}


def test_comparison(document: dict[str, Any]) -> None:
    new = json.loads(json.dumps(document))
    new["cases"][1]["poolgrad"] *= 0.5
    new["cases"].append(row("free", "new", 2, 1.0, 1.0, 1.0))
    lines = report.comparison_text(document, new).splitlines()
    assert re.search(r"one +2 +1000 +500 +-50% +\+0%$", lines[1])
    assert not any("new " in line for line in lines[1:])
    fast = next(line for line in lines if line.startswith("fast ones"))
    assert fast.split()[-2:] == ["-21%", "+0%"]  # the cube root of a half: three pairs, one of them halved


def test_show_and_compare_read_files(document: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "some.json"
    path.write_text(json.dumps(document), "utf-8")
    assert command.main(["show", str(path)]) == 0
    assert "fast ones" in capsys.readouterr().out
    assert command.main(["compare", str(path), str(path)]) == 0
    assert "fast ones" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "title"), [(tables.ENGLISH, "fast ones"), (tables.CHINESE, "快的")])
def test_readme_section(document: dict[str, Any], words: tables.Words, title: str) -> None:
    text = tables.speed(document, words)
    met, missed = words.verdicts["met"], words.verdicts["missed"]
    assert f"| {title} | 2 | 2.0 (2) | 4.0 (2) | 20% | 50% | 4 (2) {met} | 4.5 {missed} |" in text
    assert "2026-01-02" in text
    assert "three (2" in text
    assert words.quick not in text
    document["settings"]["quick"] = True
    assert words.quick in tables.speed(document, words)


def test_readme_names_some_slow_cases_and_the_page_all(document: dict[str, Any]) -> None:
    document["cases"] += [row("free", f"slow{i}", 2, 1.0, 4.0, 1.0) for i in range(20)]
    assert "and 13 more" in tables.speed(document, tables.ENGLISH)
    assert all(f"slow{i} " in tables.details(document).split("Slower than torch:")[1] for i in range(20))


def test_help_needs_no_torch(capsys: Any) -> None:
    with pytest.raises(SystemExit) as exit:
        command.main(["--help"])
    assert exit.value.code == 0
    assert "compare old.json new.json" in capsys.readouterr().out


def test_the_c_interface_is_held_against_its_targets(document: dict[str, Any]) -> None:
    times = {"start": 0.7, "call": 26e-6, "simplest_call": 11e-6, "operator_c": 4.1e-3, "operator_python": 4e-3}
    times |= {"operator_c_overlapping": 5.5e-3, "operator_python_overlapping": 5e-3}
    targets = {"start": 0.8, "call": 25e-6, "objects_of_call": 1e-4, "excess": 0.05, "excess_overlapping": 0.05}
    document["capi"] = {"times": times, "targets": targets}
    assert "three tensors" not in report.whole_text(document), "results of earlier versions lack some figures"
    times |= {"objects_of_call": 76.2e-6, "malloc_call": 27e-6, "malloc_call_large": 28e-6, "malloc_used": 9.1e-3}
    text = report.whole_text(document)
    assert re.search(r"three tensors and three arrays.* 76\.2 µs +100\.0 µs met\n", text)
    assert re.search(r"aclrtMalloc and aclrtFree of 4 MB +27\.0 µs\n.* 28\.0 µs\n.*aclrtMemset.* 9\.10 ms\n", text)
    assert re.search(r"start-up of a sample.* 0\.70 s +0\.80 s met\n", text)
    assert re.search(r"one call, on average.* 26\.0 µs +25\.0 µs missed\n", text)
    assert re.search(r"more than in Python +2\.5% +5\.0% met\n", text)
    assert re.search(r"k3s1p1.* 5\.50 ms\n.*\nmore than in Python +10\.0% +5\.0% missed\n", text)
    assert "| start-up of a sample program, from its start to its end | 0.70 s | 0.80 s met |" in tables.speed(
        document, tables.ENGLISH
    )
    assert "| 比 Python 多用的时间 | 2.5% | 5.0% 达到 |" in tables.speed(document, tables.CHINESE)


def test_tables_of_chunks_say_what_was_measured() -> None:
    """Of Dask against a loop; many workers are as fast as many, or as the scheduler starts chunks for them."""
    machine = {"cpu": "a CPU", "versions": {"dask": "1"}, "date": "2026-01-02T03:04:05"}
    rows = [{"chunk_mb": 64, "chunks": 8, "loop_mb_s": 1000.0, "dask_mb_s": 950.0, "overhead_ms": 0.42}]
    measured = dict.fromkeys(("memory", "dropped", "stores"), rows)
    text = tables.chunks_tables({"machine": machine, "workers": 2, **measured, "seconds_per_task": 0.005})
    assert text.count("| 64 MB | 8 | 1000 | 950 | 0.95 | 0.42 |") == 3
    assert "| 10 | 64 MB | 4.8 | workers | 211 s |" in text
    assert "| 100 | 64 MB | 12.8 | scheduler | 78 s |" in text
    assert "| 100 | 256 MB | 47.5 | workers | 21 s |" in text
