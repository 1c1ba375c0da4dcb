"""What the C interface costs: starting a program, one call, and an operator call next to the same one in Python."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from poolgrad.capi.build import build, compiler, link_flags

from .processes import fresh

SOURCE = Path(__file__).with_name("c_interface.c")
TURNS = 6

# What each figure should stay below; a share of the time in Python for the last.
TARGETS = {"start": 0.8, "call": 25e-6, "excess": 0.05}

# As operator_call in c_interface.c.
IN_PYTHON = """
import json, sys, time
from poolgrad import acl
def good(*answer):
    assert answer[-1] == 0, acl.aclGetRecentErrMsg()
    return answer[0]
good(acl.aclInit(None)), good(acl.aclrtSetDevice(0))
stream = good(*acl.aclrtCreateStream())
small, large = (16, 64, 64, 64), (16, 64, 128, 128)
sizes = [4 * 16 * 64 * side * side for side in (64, 128)]
memory = [good(*acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)) for size in sizes]
for address, size in zip(memory, sizes):
    good(acl.aclrtMemset(address, size, 0, size))
def tensor(shape, address):
    return acl.aclCreateTensor(shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, shape, address)
grad, x, out = tensor(small, memory[0]), tensor(large, None), tensor(large, memory[1])
kernel, padding = acl.aclCreateIntArray((2, 2)), acl.aclCreateIntArray((0, 0))
def run():
    size, executor, status = acl.aclnnAvgPool2dBackwardGetWorkspaceSize(
        grad, x, kernel, kernel, padding, False, True, 0, 0, out)
    good(status)
    workspace = good(*acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)) if size else None
    good(acl.aclnnAvgPool2dBackward(workspace, size, executor, stream)), good(acl.aclrtSynchronizeStream(stream))
    if workspace:
        good(acl.aclrtFree(workspace))
run()
best, end = float("inf"), time.perf_counter() + float(sys.argv[1])
while time.perf_counter() < end:
    start = time.perf_counter()
    run()
    best = min(best, time.perf_counter() - start)
print(json.dumps(best))
"""


def measure(seconds: float) -> dict[str, float]:
    """Seconds: a whole process with warm caches, the mean of a sample's calls, the simplest call, and 64 MB in both."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "program"
        subprocess.run(
            [*compiler("CC", "gcc"), "-O2", str(SOURCE), *link_flags(build()), "-o", str(program)], check=True
        )
        _run(program, "sample")  # now the kernels are there
        found = {"start": min(_time(program) for _ in range(TURNS))}
        laps = [json.loads(_run(program, "calls")) for _ in range(TURNS)]
        found["call"], found["simplest_call"] = (min(lap[i] for lap in laps) for i in (0, 1))
        # In turns, each time in new processes: what memory they get decides as much as what they do.
        share = str(seconds / 2)
        turns = [(json.loads(_run(program, "operator", share)), fresh(IN_PYTHON, share)) for _ in range(TURNS)]
    found["operator_c"], found["operator_python"] = (min(times) for times in zip(*turns, strict=True))
    return found


def _run(program: Path, *arguments: str) -> Any:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout or "null"


def _time(program: Path) -> float:
    start = time.perf_counter()
    _run(program, "sample")
    return time.perf_counter() - start
