"""The documents are current, complete, and their examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from poolgrad.acl.launch import LAUNCH_CHECKS
from poolgrad.contract.engine import DOCUMENT
from poolgrad.operators import REGISTRY

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )


def test_generated_tables_are_current() -> None:
    done = run("tools/make_docs.py", "--check")
    assert done.returncode == 0, done.stdout


def test_every_choice_of_ours_is_a_line_in_deviations() -> None:
    """By hand: the table of all rows, which is made, says what they do, not why."""
    told = re.sub("<!-- generated.*?<!-- end -->", "", (ROOT / "DEVIATIONS.md").read_text("utf-8"), flags=re.DOTALL)
    rows = [check for operator in REGISTRY.values() for check in operator.checks] + list(LAUNCH_CHECKS)
    missing = {check.key for check in rows if check.source != DOCUMENT and f"`{check.key}`" not in told}
    assert not missing


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_a_readme_says_what_this_is_then_what_to_type(name: str) -> None:
    title, what, commands, *_ = (ROOT / name).read_text("utf-8").split("\n\n")
    assert title == "# poolgrad"
    assert "CANN" in what
    assert len(what.splitlines()) == 2
    assert commands.startswith("```\nmake demo")


def test_commands_to_install_work_today() -> None:
    """An index need not know the package: it is installed from a checkout or a wheel, what it lacks by its own name."""
    places = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    told = {path: re.findall(r"pip install[^\n]*", path.read_text("utf-8")) for path in places}
    assert {path.name for path, lines in told.items() if lines} >= {"README.md", "capi.md", "doctor.py", "view.py"}
    wrong = [line for lines in told.values() for line in lines if re.search(r"[\s\"']poolgrad\b", line.split("#")[0])]
    assert not wrong


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_readme_examples_run(name: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 2
    done = run("-c", "\n".join(blocks))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "161002 padding"
    assert "Use padding up to (1, 1)." in lines[1]
    assert lines[2] == "0 None"


def test_both_readmes_tell_the_same() -> None:
    """Same headings, code, tables and links, each as often; only the prose differs."""

    def skeleton(name: str) -> list[str]:
        text = (ROOT / name).read_text("utf-8")
        text = re.sub(r"#[^\n#]*(?=\n)", "#", re.sub(r"<!-- generated.*?<!-- end -->", "", text, flags=re.DOTALL))
        return re.findall(r"^#+|^- |^\||`[^`\n]+`|\]\([^)]*\)", text, re.MULTILINE)

    english, chinese = (skeleton(name) for name in ("README.md", "README.zh.md"))
    english.remove("](README.zh.md)")
    chinese.remove("](README.md)")
    assert sorted(english) == sorted(chinese)


@pytest.mark.parametrize("name", ["demo.py", "numpy_arrays.py", "repeatable_executor.py"])
def test_examples_run(name: str) -> None:
    done = run(f"examples/{name}")
    assert done.returncode == 0, done.stderr
    assert "DIFFERENT" not in done.stdout


def test_demo_prints_every_operator_with_its_expected_values() -> None:
    out = run("examples/demo.py").stdout
    for operator in REGISTRY:
        assert operator in out
    assert out.count("   same") == len(REGISTRY) + 2
    assert "all as documented" in out
