"""What docs/command-line.md and docs/plugins.md show can be typed as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.inside import poolgrad
from typer.main import get_command

from poolgrad.cli.app import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "command-line.md").read_text("utf-8")


def lines(page: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]


def test_the_page_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, in one directory; a remark says where the answer is no."""
    monkeypatch.chdir(tmp_path)
    answers = {}
    for line in lines(PAGE):
        words = shlex.split(line, comments=True)
        if words[0] == "poolgrad":
            answers[line] = poolgrad(*words[1:], expect=1 if "# exit code 1" in line else 0).stdout
        elif words[0] == "python3":
            subprocess.run([sys.executable, *words[1:]], check=True)
        elif words[0] == "mkdir":
            Path(words[1]).mkdir()
        else:
            assert words[0] == "cp"
            shutil.copy(*words[1:])
    shown = re.search(r"The last one prints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    (refused,) = (text for text in answers.values() if text.startswith("refused: aclnnAvgPool2dBackward on Atlas A2"))
    assert refused == shown[1]


def test_the_page_has_all_commands() -> None:
    """Each is in the table, and shown in use unless it has a page of its own."""
    table = dict(re.findall(r"^\| \[`(\w+)`\]\((.*?)\)", PAGE, re.MULTILINE))
    assert set(table) == set(get_command(app).commands)
    shown = {line.split()[1] for line in lines(PAGE) if line.startswith("poolgrad")}
    assert {command for command, target in table.items() if target.startswith("#")} == shown


def test_links_inside_the_page_have_targets() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    targets = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= targets
    for name in re.findall(r"\]\(([^#)]+)\)", PAGE):
        assert (DOCS / name).exists(), name


def test_python_on_the_plugins_page_runs() -> None:
    first, second = re.findall(r"```python\n(.*?)```", (DOCS / "plugins.md").read_text("utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", first + second], capture_output=True, text=True, check=True)
    assert done.stdout == "[[[[0.25, 0.25], [0.25, 0.25]]]]\n"
