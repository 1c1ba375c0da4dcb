"""Golden results of five hundred small cases and six of 10**8 elements and more, in a gigabyte of memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import poolgrad
from poolgrad.arrays.files import read_array

# The system gives the process no more memory than this; files that are mapped are not counted.
GIGABYTE = 10**9


def tensor(shape: list[int], dtype: str = "float32", format: str | None = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape} | ({"format": format} if format else {})


def pooled(name: str, operator: str, out: list[int], size: list[int], **more: Any) -> dict[str, Any]:
    kind = {"dtype": more.pop("dtype", "float32"), "format": more.pop("format", None)}
    return {"name": name, "operator": operator, "gradOutput": tensor(out, **kind), "self": tensor(size, **kind), **more}


LARGE = [
    pooled("average", "AvgPool2dBackward", [4, 64, 312, 312], [4, 64, 625, 625], kernelSize=[3], stride=[2]),
    pooled("adaptive", "AdaptiveAvgPool3dBackward", [2, 50, 20, 50, 50], [2, 50, 100, 100, 100], dtype="float16"),
    pooled(
        "max",
        "MaxPool2dWithIndicesBackward",
        [4, 64, 313, 313],
        [4, 64, 625, 625],
        kernelSize=[3],
        stride=[2],
        padding=[1],
    ),
    pooled(
        "max, channels last",
        "MaxPool2dWithIndicesBackward",
        [16, 312, 312, 16],
        [16, 625, 625, 16],
        kernelSize=[2],
        dtype="bfloat16",
        format="NHWC",
        indices=tensor([16, 312, 312, 16], "int64", "NHWC"),
    ),
    pooled("one row", "AdaptiveMaxPool2dBackward", [1, 1, 50_000], [1, 1, 150_000_000], dtype="float16"),
    pooled("one plane", "AdaptiveMaxPool2dBackward", [1, 3000, 3000], [1, 10000, 10000], dtype="float16"),
]
SMALL = [
    pooled(f"small_{i}", "MaxPool2dWithIndicesBackward", [1, 8, n, n], [1, 8, 2 * n, 2 * n], kernelSize=[2])
    for i, n in enumerate([4 + i % 9 for i in range(500)])
]


def test_golden_keeps_to_a_gigabyte(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in (*LARGE, *SMALL)))
    command = [sys.executable, "-m", "poolgrad", "golden", str(file), "-o", str(tmp_path / "golden"), "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTE, GIGABYTE)),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["made"] == 506
    directory = tmp_path / "golden" / "average"
    grad, golden = read_array(directory / "gradOutput.npy"), read_array(directory / "golden.npy")
    expected = poolgrad.avg_pool2d_backward(grad[3:, 60:], (1, 4, 625, 625), 3, 2)
    assert golden.size == 10**8
    assert np.array_equal(golden[3:, 60:], expected)
