"""The wheel with every Python on this machine that it is made for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from packages import assert_wheel_works, build_into


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: Any) -> Path:
    where: Path = tmp_path_factory.mktemp("built")
    build_into(where)
    (found,) = where.glob("*.whl")
    return found


def interpreters() -> list[str]:
    """Python 3.11 and every newer one that Numba supports."""
    found = {}
    for minor in (11, 12, 13, 14):
        candidates = [shutil.which(f"python3.{minor}"), *Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3")]
        usable = [str(path) for path in candidates if path and _makes_environments(str(path), minor)]
        if usable:
            found[minor] = usable[0]
    return list(found.values())


def _makes_environments(path: str, minor: int) -> bool:
    code = f"import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"
    return subprocess.run([path, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("interpreter", interpreters())
def test_wheel_works_in_an_environment_of_every_interpreter(wheel: Path, interpreter: str, tmp_path: Path) -> None:
    assert_wheel_works(wheel, interpreter, tmp_path)
