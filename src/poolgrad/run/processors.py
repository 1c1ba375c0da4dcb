"""How many processors the system gives this process: those it may run on, and what control groups (Linux) allow it.

A container may see all processors of a machine and be given the time of two. With more threads than that it is stopped
again and again in the middle of its work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path


def available_processors() -> int:
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        count = os.cpu_count() or 1
    return max(1, math.ceil(min(count, time_allowed())))


def time_allowed(root: Path = Path("/")) -> float:
    """How many processors' time control groups of version 1 and 2 allow; infinity without a limit.

    ``root`` is where the system's files are looked for.
    """
    try:
        return min(_limits(root), default=math.inf)
    except (OSError, ValueError, IndexError):  # another system, or files that are not as expected
        return math.inf


def _limits(root: Path) -> Iterator[float]:
    """The limit of each group that this process is in. Groups lie in groups, and all limits count."""
    groups: dict[str, str] = {}  # the process's group, by controller; version 2 has one for all, which are not named
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path)
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        top, place = mount.split()[3:5]
        name, *_, options = kind.split()
        controller = {"cgroup2": "", "cgroup": "cpu"}.get(name)
        if controller is None or controller not in groups or (controller and controller not in options.split(",")):
            continue
        # In a container the top is often the group itself.
        below = os.path.relpath(groups[controller], top)
        directory = here = root / place.lstrip("/")
        if not below.startswith(".."):
            here = directory / below
        for group in (here, *here.parents):
            yield _limit(group, controller)
            if group == directory:
                break


def _limit(group: Path, controller: str) -> float:
    try:
        if controller:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        else:
            quota, period = (group / "cpu.max").read_text().split()
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):  # no limit here, or "max"
        return math.inf
