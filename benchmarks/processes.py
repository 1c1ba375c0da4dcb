"""What only a fresh process can tell: import, the first call without and with kept kernels, peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

IMPORT = """
import json, time
start = time.perf_counter(); import numpy; middle = time.perf_counter(); import poolgrad; end = time.perf_counter()
print(json.dumps({"numpy": middle - start, "poolgrad": end - middle}))
"""

FIRST_CALL = """
import json, sys, time
import numpy as np, poolgrad
grad, indices = np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int64)
start = time.perf_counter()
if sys.argv[1] == "average":
    poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2)
else:
    poolgrad.max_pool2d_with_indices_backward(grad, (1, 1, 4, 4), indices, 2)
print(json.dumps(time.perf_counter() - start))
"""

# A small call first brings in code and kernels; writing 5 to clear_refs sets the peak back to what is in use now.
PEAK = """
import json, re, sys
import numpy as np, poolgrad
def status(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))
def call(shape, out):
    batch, channels, height, width = shape
    if sys.argv[1] == "average":
        grad = np.ones((batch, channels, height // 2, width // 2), np.float32)
        return lambda: poolgrad.avg_pool2d_backward(grad, shape, 3, 2, 1, out=out)
    grad = np.ones((batch, channels, height // 2, width // 2), np.float16)
    rows, columns = np.arange(height // 2)[:, None], np.arange(width // 2)
    indices = np.broadcast_to(2 * rows * width + 2 * columns, grad.shape).copy()
    return lambda: poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, 3, 2, 1, out=out)
dtype = np.float32 if sys.argv[1] == "average" else np.float16
small, large = (1, 1, 8, 8), (16, 64, 224, 224)
call(small, np.zeros(small, dtype))()
out = np.zeros(large, dtype); out[:] = 1
run = call(large, out)
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
run()
print(json.dumps({"out": out.nbytes, "extra": max(0, status("VmHWM") - before)}))
"""


def fresh(code: str, *arguments: str, cache: str | None = None) -> Any:
    environment = os.environ | ({"POOLGRAD_CACHE_DIR": cache} if cache else {})
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def measure(repeats: int = 5) -> dict[str, Any]:
    """Seconds and bytes: the shortest of some imports and warm first calls, one cold first call each, two peaks."""
    imports = [fresh(IMPORT) for _ in range(repeats)]
    found: dict[str, Any] = {f"import_{name}": min(one[name] for one in imports) for name in ("numpy", "poolgrad")}
    for kernel in ("average", "max"):
        with tempfile.TemporaryDirectory() as cache:
            found[f"first_{kernel}_cold"] = fresh(FIRST_CALL, kernel, cache=cache)
            found[f"first_{kernel}_warm"] = min(fresh(FIRST_CALL, kernel, cache=cache) for _ in range(repeats))
        peak = fresh(PEAK, kernel)
        found[f"peak_{kernel}_out"], found[f"peak_{kernel}_extra"] = peak["out"], peak["extra"]
    return found
