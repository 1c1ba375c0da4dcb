"""``poolgrad run`` on files that are larger than the memory that it may take."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from poolgrad.arrays.files import create_array, read_array

LIMIT = 256 << 20  # bytes of memory that is no file's; Python, NumPy and Numba take most of it


def test_neither_input_nor_output_is_copied(tmp_path: Path) -> None:
    with create_array(tmp_path / "g.npy", "float32", (1, 64, 1024, 1024)) as grad:
        grad[...] = 4
    call = ["run", "AvgPool2dBackward", "--grad-output", "g.npy", "--x", "1,64,2048,2048", "--kernel-size", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "poolgrad", *call, "-o", "out.npy"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT)),
    )
    assert done.returncode == 0, done.stderr
    out = read_array(tmp_path / "out.npy")
    assert out.nbytes == 4 * LIMIT
    assert all((plane == 1).all() for plane in out[0])
