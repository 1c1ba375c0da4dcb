"""Build the package as it is published, and use it as somebody who has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a process of its own does and says."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def build_into(where: Path) -> None:
    """The source distribution, and the wheel that is built from it."""
    command = [sys.executable, "-m", "build", "--outdir", str(where), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)


def assert_wheel_works(wheel: Path, interpreter: str, scratch: Path) -> None:
    """In an empty environment of that interpreter it passes the demo, and the C interface its self-test."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["POOLGRAD_CACHE_DIR"] = str(scratch / "cache")
    new = scratch / "venv"

    def run(*command: object) -> str:
        words = list(map(str, command))
        done = subprocess.run(
            words, env=environment, cwd=scratch, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # No pip of its own, and nothing is compiled that nobody imports: that takes longer than all the rest.
    run(interpreter, "-m", "venv", "--without-pip", new)
    pip = (sys.executable, "-m", "pip", "--python", new / "bin" / "python", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-compile", wheel)
    assert "all as documented" in run(new / "bin" / "python", ROOT / "examples" / "demo.py")
    assert "self-test    passed" in run(new / "bin" / "poolgrad", "capi", "info")
