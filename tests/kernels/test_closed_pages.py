"""Nothing is read or written beyond the page in which an array ends or begins: rows of all kinds of lengths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("closed_pages.py")
WINDOWS = """\
avg n1c2h3w{w} k3 s1 p1
avg n1c2h4w{w} k2 p1
avg n1c2h3w{w} k3 s2 p1 ceil
avg c2h3w{w} k2 s3 p1
avg n1c1h9w{w} k9,1 s1
avg c3h3w{w} k1
avg n1c1h5w{w} k2,1 s1,4
avg n1c1h5w{w} k5 s3 p2
aavg n1c2d2h3w{w} o1,2,4
aavg c1d1h2w{w} o2,3,5
max n1c2h3w{w} k3 s1 p1
max n1c2h4w{w} k2 p1
max n1c2h4w{w} k2,1
amax n1c2h3w{w} o2,3
max n1c3h3w{w} k3 s1 p1 nhwc""".splitlines()


def lines_of(*widths: int) -> list[str]:
    return [line.format(w=w) for w in widths for line in WINDOWS]


GROUPS = {
    "shorter than a vector": ("", lines_of(1, 2, 3, 7)),
    "one vector": ("", lines_of(8, 9)),
    "some vectors": ("", lines_of(16, 17, 31)),
    "many vectors": ("", lines_of(33, 100)),
    "windows that touch": ("", [f"max n{n}c1h4w{w} k2" for n in (1, 3) for w in (10, 12, 14)]),
    "maxima past the caches": ("apart", [f"max n1c2h9w{w} k{k}" for k in (2, 3, 4) for w in (26, 32, 36, 44, 72)]),
    "averages past the caches": (
        "apart",
        [f"avg n1c2h9w{w} {windows}" for windows in ("k2", "k3", "k3 s1 p1", "k3 s2 p1") for w in (32, 33, 49)],
    ),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect")
@pytest.mark.parametrize("group", GROUPS)
def test_nothing_is_read_or_written_beyond_the_page(group: str):
    """In a process of its own, for the punishment is immediate."""
    how, lines = GROUPS[group]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(PROGRAM), how, *(f"{line} | | x" for line in lines)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    last = run.stdout.splitlines()[-1:] or ["nothing"]
    assert run.returncode == 0, f"ended with {run.returncode} after {last[0]}\n{run.stderr[-2000:]}"
    assert last == ["unharmed"]
