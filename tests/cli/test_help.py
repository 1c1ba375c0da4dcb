"""``--help`` says the same in every mode of Python."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

# The help of every command, and of those below it.
PROGRAM = """
import json
from typer.main import get_command
from poolgrad.cli.app import app

def helps(command, name):
    below = getattr(command, "commands", {})
    found = {name: (command.help, command.get_short_help_str())}
    for part, each in below.items():
        found |= helps(each, f"{name} {part}")
    return found

print(json.dumps(helps(get_command(app), "poolgrad")))
"""


def shown(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def helps() -> Any:
    return json.loads(shown("-c", PROGRAM))


def test_every_command_has_help(helps: Any) -> None:
    assert {"poolgrad", "poolgrad run", "poolgrad capi", "poolgrad capi compile"} < set(helps)
    assert all(text and short for text, short in helps.values())


def test_help_without_docstrings(helps: Any) -> None:
    """Python takes them away with -OO."""
    assert json.loads(shown("-OO", "-c", PROGRAM)) == helps
    assert shown("-OO", "-m", "poolgrad", "run", "--help") == shown("-m", "poolgrad", "run", "--help")
