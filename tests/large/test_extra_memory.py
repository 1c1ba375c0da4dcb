"""What a call takes beside its inputs and output, on tensors of gigabytes, by the peak of the resident set."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """if True:
    import json, sys
    import numpy as np, ml_dtypes, poolgrad

    def resident(field):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

    case = json.loads(sys.argv[1])
    poolgrad.set_num_threads(case["threads"])
    call, shape, out_shape = getattr(poolgrad, case["call"]), case["x"], case["grad"]
    dtype = np.dtype(getattr(ml_dtypes, case["dtype"], case["dtype"]))
    order = case.get("order", list(range(len(shape))))

    def array(shape, dtype):
        memory = np.empty([shape[axis] for axis in order], dtype)
        memory.view(np.uint8).fill(0)   # touched, so that all of it is resident before the call
        return memory.transpose(np.argsort(order))

    def arguments(x, grad):
        more = [array(grad, np.int32)] if case["max"] else []
        return [array(grad, dtype), tuple(x), *more, *case["numbers"]]

    small = [list(size) for size in case["small"]]
    call(*arguments(*small), out=array(small[0], dtype))   # compiles and loads; a first call's costs are not at issue
    given, out = arguments(shape, out_shape), array(shape, dtype)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")                                    # the peak restarts at what is resident now
    before = resident("VmRSS")
    call(*given, out=out)
    print(json.dumps({"extra": resident("VmHWM") - before, "bytes": out.nbytes}))
"""

GIB = 2**30
PLANE = 8192 * 8192 * 4  # bytes of a float32 plane


def case(
    call: str,
    x: list[int],
    grad: list[int],
    numbers: list[int],
    small: list[list[int]],
    dtype: str = "float32",
    threads: int = 2,
    order: list[int] | None = None,
    allowed: int = 64_000_000,
) -> tuple[dict[str, object], int]:
    line: dict[str, object] = {
        "call": call,
        "x": x,
        "grad": grad,
        "numbers": numbers,
        "small": small,
        "dtype": dtype,
        "threads": threads,
        "max": "max" in call,
    }
    return line | ({"order": order} if order else {}), allowed


AVG, ADAPTIVE, MAX = "avg_pool2d_backward", "adaptive_avg_pool3d_backward", "max_pool2d_with_indices_backward"
SMALL = [[1, 1, 4, 4], [1, 1, 2, 2]]
CHANNELS_LAST = [0, 2, 3, 1]
CASES = {
    "2 GB of float32": case(AVG, [8, 64, 1024, 1024], [8, 64, 512, 512], [2], SMALL),
    "large windows": case(AVG, [1, 16, 4096, 4096], [1, 16, 4066, 4066], [31, 1], [[1, 1, 31, 31], [1, 1, 1, 1]]),
    "channels last": case(AVG, [4, 64, 1024, 1024], [4, 64, 512, 512], [2], SMALL, order=CHANNELS_LAST),
    "bfloat16": case(AVG, [8, 64, 1024, 1024], [8, 64, 512, 512], [2], SMALL, "bfloat16"),
    "float64, many threads": case(AVG, [4, 64, 512, 1024], [4, 64, 256, 512], [2], SMALL, "float64", 64),
    "one row of 2**28": case(ADAPTIVE, [1, 1, 1, 2**28], [1, 1, 1, 2**27 + 1], [], [[1, 1, 1, 4], [1, 1, 1, 3]]),
    "one column of 2**28": case(ADAPTIVE, [1, 1, 2**28, 1], [1, 1, 2**27 + 1, 1], [], [[1, 1, 4, 1], [1, 1, 3, 1]]),
    "adaptive in three dimensions": case(
        ADAPTIVE, [2, 16, 128, 256, 256], [2, 16, 50, 100, 90], [], [[1, 1, 2, 2, 2], [1, 1, 2, 2, 2]]
    ),
    "max, 2 GB of float32": case(MAX, [8, 64, 1024, 1024], [8, 64, 512, 512], [2], SMALL),
    "max, channels last": case(MAX, [4, 64, 1024, 1024], [4, 64, 512, 512], [2], SMALL, order=CHANNELS_LAST),
    "max, bfloat16: a float32 plane per thread more": case(
        MAX, [1, 8, 8192, 8192], [1, 8, 4096, 4096], [2], SMALL, "bfloat16", allowed=64_000_000 + 2 * PLANE
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_extra_memory(name: str) -> None:
    line, allowed = CASES[name]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(line)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    print(f"{name}: {measured['extra'] / 1e6:.1f} MB beside {measured['bytes'] / 1e6:.0f} MB of output")
    assert measured["bytes"] >= GIB // 2
    assert measured["extra"] <= allowed
