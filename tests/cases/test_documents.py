"""The page about case files shows things that work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from poolgrad.cases import read_cases
from poolgrad.cases.suite import suite_of
from poolgrad.cases.writing import written
from poolgrad.operators import REGISTRY

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "case-files.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_line_is_a_case(tmp_path: Path) -> None:
    (block,) = blocks("json")
    path = tmp_path / "cases.jsonl"
    path.write_text(block)
    (case,) = read_cases(path)
    assert case.why == "the smallest useful case"


def test_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = blocks("python")
    monkeypatch.chdir(tmp_path)
    cases = [case for name in REGISTRY for case in suite_of(name)]
    Path("suite.jsonl").write_text(written(cases, "jsonl")[0])
    names: dict[str, object] = {}
    exec(block, names)
    assert names["answer"].status == cases[-1].status  # type: ignore[attr-defined]
