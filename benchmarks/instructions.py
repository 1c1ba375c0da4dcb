"""How many instructions an element of the result takes: where memory is not the limit, this is.

valgrind counts them in a process of their own, between two requests that the process makes when kernels are loaded and
when its calls are done. Code for AVX2 is counted, since valgrind knows no wider vectors.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

# Shapes of some hundred thousand elements: beside them the Python side of a call does not count.
CASES = (
    "avg n1c128h28w28 k2 s2",
    "avg n1c32h56w56 k3 s2 p1",
    "avg n1c128h28w28 k3 s1 p1",
    "avg n1c8h112w112 k31 s1 p15",
    "avg n1c1h32w8192 k3 s2 p1",
    "avg n1c32h56w56 k3 s2 p1 float16",
    "avg n1c128h28w28 k3 s1 p1 channels_last",
    "max n1c8h112w112 k2 s2",
    "max n1c8h112w112 k3 s2 p1",
    "max n1c8h112w112 k3 s2 p1 float16",
    "max n1c128h28w28 k3 s1 p1 channels_last",
)
CALLS = 100
PROCESSOR = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+f16c,+fma,+bmi,+bmi2,+popcnt,+sse4.2"}

CHILD = """
import os, subprocess, sys
import numpy as np, poolgrad
from benchmarks.cases import parse
case, calls = parse(sys.argv[1]), int(sys.argv[2])
poolgrad.set_num_threads(1)
def laid_out(array):
    if case.layout != "channels_last":
        return array
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)).transpose(0, 3, 1, 2)
random = np.random.default_rng(0)
arrays = [laid_out(random.standard_normal(case.grad_shape).astype(case.dtype)), case.x_shape]
if not case.averages:
    along = zip(case.outputs, case.spatial, case.kernel, case.stride, case.padding)
    places = np.zeros((), np.int64)
    for n, size, kernel, stride, pad in along:
        axis = np.clip(np.arange(n) * stride - pad + random.integers(0, kernel, n), 0, size - 1)
        places = places[..., None] * size + axis
    arrays.append(laid_out(np.broadcast_to(places, case.grad_shape).copy()))
out = laid_out(np.empty(case.x_shape, case.dtype))
def run(times):
    for _ in range(times):
        getattr(poolgrad, case.described.python_name)(*arrays, *case.parameters, out=out)
def request(what):
    if len(sys.argv) > 3:
        subprocess.run(["callgrind_control", "-i", what, str(os.getpid())], check=True, capture_output=True)
run(5)
request("on")
run(calls)
request("off")
"""


def count() -> list[dict[str, Any]]:
    """A row for each case: its name, and instructions per element of the result."""
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind counts the instructions: install the package valgrind")
    from .cases import parse

    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for text in CASES:
            case = parse(text)
            _run(text, 1, cache)  # compiles, so that this is not counted
            counted = _run(text, CALLS, cache, "counted")
            rows.append({"case": case.name, "per_element": counted / math.prod(case.x_shape)})
            print(f"{rows[-1]['per_element']:8.3f}  {case.name}", flush=True)
    return rows


def _run(text: str, calls: int, cache: str, *counted: str) -> float:
    """Instructions of one call, if they are counted."""
    command = [sys.executable, "-c", CHILD, text, str(calls), *counted]
    if counted:
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--instr-atstart=no"]
        command = [*valgrind, *command]
    environment = os.environ | PROCESSOR | {"POOLGRAD_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or (counted and not found):
        raise RuntimeError(f"{text}: {done.stderr[-2000:]}")
    return int(found.group(1)) / calls if found else 0.0
