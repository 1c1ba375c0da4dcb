"""What the C interface costs: starting a program, one call, and an operator call next to the same one in Python."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from poolgrad.capi.build import build, compiler, link_flags

SOURCE = Path(__file__).with_name("c_interface.c")
TURNS, OPERATOR_TURNS = 6, 8
BLOCK = 0.05  # seconds

# What each figure should stay below; a share of the time in Python for the excesses.
TARGETS = {
    "start": 0.8,
    "call": 25e-6,
    "objects_of_call": 100e-6,
    "malloc_call": 100e-6,
    "malloc_call_large": 100e-6,
    "excess": 0.05,
    "excess_overlapping": 0.05,
}
# Operator calls with an output of 64 MB (kernel, stride, padding), and what their figures' names end with: the one that
# takes least, since it reads and adds least, and a usual one that overlaps.
OPERATORS = {"": (2, 2, 0), "_overlapping": (3, 1, 1)}

# As operator_call in c_interface.c.
IN_PYTHON = """
import sys, time
from poolgrad import acl
def good(*answer):
    assert answer[-1] == 0, acl.aclGetRecentErrMsg()
    return answer[0]
good(acl.aclInit(None)), good(acl.aclrtSetDevice(0))
stream = good(*acl.aclrtCreateStream())
size, step, pad = (int(word) for word in sys.argv[1:])
windows = (128 + 2 * pad - size) // step + 1
small, large = (16, 64, windows, windows), (16, 64, 128, 128)
sizes = [4 * 16 * 64 * side * side for side in (windows, 128)]
memory = [good(*acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)) for size in sizes]
for address, room in zip(memory, sizes):
    good(acl.aclrtMemset(address, room, 0, room))
def tensor(shape, address):
    return acl.aclCreateTensor(shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, shape, address)
grad, x, out = tensor(small, memory[0]), tensor(large, None), tensor(large, memory[1])
kernel, stride, padding = (acl.aclCreateIntArray((number, number)) for number in (size, step, pad))
def run():
    size, executor, status = acl.aclnnAvgPool2dBackwardGetWorkspaceSize(
        grad, x, kernel, stride, padding, False, True, 0, 0, out)
    good(status)
    workspace = good(*acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)) if size else None
    good(acl.aclnnAvgPool2dBackward(workspace, size, executor, stream)), good(acl.aclrtSynchronizeStream(stream))
    if workspace:
        good(acl.aclrtFree(workspace))
run()
for line in sys.stdin:
    best, end = float("inf"), time.perf_counter() + float(line)
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    print(best, flush=True)
"""


def measure(seconds: float) -> dict[str, float]:
    """Seconds: a whole process with warm caches, the mean of a sample's calls, the simplest one, objects and memory
    that come and go with each call, operators in both."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "program"
        subprocess.run(
            [*compiler("CC", "gcc"), "-O2", str(SOURCE), *link_flags(build()), "-o", str(program)], check=True
        )
        _run(program, "sample")  # now the kernels are there
        found = {"start": min(_time(program) for _ in range(TURNS))}
        laps = [json.loads(_run(program, "calls")) for _ in range(TURNS)]
        found["call"], found["simplest_call"] = (min(lap[i] for lap in laps) for i in (0, 1))
        found["objects_of_call"] = min(json.loads(_run(program, "objects")) for _ in range(TURNS))
        laps = [json.loads(_run(program, "memory")) for _ in range(TURNS)]
        for place, name in enumerate(("malloc_call", "malloc_call_large", "malloc_used")):
            found[name] = min(lap[place] for lap in laps)
        # Each time in new processes: what memory they get decides as much as what they do.
        for name, window in OPERATORS.items():
            words = [str(number) for number in window]
            both = [[str(program), "operator", *words], [sys.executable, "-c", IN_PYTHON, *words]]
            turns = [_in_turns(both, seconds) for _ in range(OPERATOR_TURNS)]
            found[f"operator_c{name}"], found[f"operator_python{name}"] = map(min, zip(*turns, strict=True))
    return found


def _in_turns(commands: Sequence[Sequence[str]], seconds: float) -> list[float]:
    """The shortest time that each process finds. They take turns in short blocks: what the machine gives changes from
    one second to the next, and should change for both."""
    shortest = [float("inf")] * len(commands)
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for command in commands
        ]
        for _ in range(max(1, round(seconds / BLOCK / len(commands)))):
            for place, process in enumerate(processes):
                assert process.stdin
                assert process.stdout
                print(BLOCK, file=process.stdin, flush=True)
                shortest[place] = min(shortest[place], float(process.stdout.readline()))
    return shortest


def _run(program: Path, *arguments: str) -> Any:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout or "null"


def _time(program: Path) -> float:
    start = time.perf_counter()
    _run(program, "sample")
    return time.perf_counter() - start
