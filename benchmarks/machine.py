"""What was measured on: the machine and the versions, as far as the system tells."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

VERSIONS = ("poolgrad", "torch", "numpy", "numba", "llvmlite")


def describe() -> dict[str, object]:
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": _caches(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in VERSIONS},
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def available_memory() -> int:
    """Bytes that can be had without swapping."""
    found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return 1024 * int(found.group(1)) if found else 0


def _cpu() -> str:
    """The model, and what it can compute with: the name alone often says little in a virtual machine."""
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"model name\s*:\s*(.*)", text)
    flags = re.search(r"flags\s*:\s*(.*)", text)
    wanted = [flag for flag in ("avx2", "f16c", "avx512f") if flags and flag in flags.group(1).split()]
    return f"{found.group(1) if found else platform.machine()} ({', '.join(wanted)})"


def _caches() -> dict[str, str]:
    """Size of each data cache that the first core uses."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
