"""Run the command line as a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def poolgrad(*arguments: object, expect: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished process; its exit code is compared with ``expect``, and no traceback may be seen."""
    command = [sys.executable, "-m", "poolgrad", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | environment)
    assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done
