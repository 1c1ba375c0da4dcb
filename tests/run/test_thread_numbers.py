"""How many threads there are if nobody says so: what variables ask for, and what the system gives."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

import poolgrad
from poolgrad.run import processors
from poolgrad.run.processors import time_allowed

OTHER_MOUNTS = """\
22 27 0:21 / /proc rw,nosuid - proc proc rw
31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - tmpfs tmpfs rw,mode=755
99 27 0:44 / /strange\\040place rw - tmpfs  rw
"""
VERSION_2 = "35 31 0:32 {top} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
VERSION_1 = """\
32 31 0:29 {top} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 31 0:30 {top} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
"""


def system(root: Path, *, groups: str, mounts: str, files: dict[str, str]) -> Path:
    """The files of a system that say which groups a process is in, and what these may use."""
    contents = {"proc/self/cgroup": groups, "proc/self/mountinfo": OTHER_MOUNTS + mounts}
    for name, text in (contents | {f"sys/fs/cgroup/{name}": text for name, text in files.items()}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        ({"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ({"a/b/cpu.max": "max 100000\n"}, math.inf),
        ({"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ({"a/b/cpu.max": "max 100000\n", "cpu.max": "50000 100000\n"}, 0.5),
        ({"a/other/cpu.max": "100000 100000\n"}, math.inf),
        ({"a/b/cpu.max": "rubbish\n", "a/cpu.max": "200000 100000\n"}, 2),
        ({}, math.inf),
    ],
)
def test_groups_of_version_2(tmp_path: Path, files: dict[str, str], allowed: float) -> None:
    root = system(tmp_path, groups="0::/a/b\n", mounts=VERSION_2.format(top="/"), files=files)
    assert time_allowed(root) == allowed


@pytest.mark.parametrize(
    ("quota", "period", "allowed"), [("250000", "100000", 2.5), ("-1", "100000", math.inf), ("1", "0", math.inf)]
)
def test_groups_of_version_1(tmp_path: Path, quota: str, period: str, allowed: float) -> None:
    groups = "5:memory:/other\n4:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/\n"
    place = "cpu,cpuacct/a/b"
    files = {f"{place}/cpu.cfs_quota_us": f"{quota}\n", f"{place}/cpu.cfs_period_us": f"{period}\n"}
    root = system(tmp_path, groups=groups, mounts=VERSION_1.format(top="/"), files=files)
    assert time_allowed(root) == allowed


@pytest.mark.parametrize("group", ["/docker/1234", "/somewhere/else", "/../outside"])
def test_a_container_whose_group_is_the_top_of_what_it_sees(tmp_path: Path, group: str) -> None:
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}
    mounts = VERSION_1.format(top="/docker/1234" if group != "/../outside" else "/")
    assert time_allowed(system(tmp_path, groups=f"4:cpu:{group}\n", mounts=mounts, files=files)) == 2


@pytest.mark.parametrize(
    ("groups", "mounts"), [("rubbish", ""), ("0::/a", "rubbish - cgroup2\n"), ("", ""), ("0::/a", "\0 - \n")]
)
def test_files_that_are_not_as_expected_are_no_limit(tmp_path: Path, groups: str, mounts: str) -> None:
    assert time_allowed(system(tmp_path, groups=groups, mounts=mounts, files={})) == math.inf
    assert time_allowed(tmp_path / "another system") == math.inf


@pytest.mark.parametrize(("allowed", "threads"), [(0.5, 1), (1.0, 1), (1.2, 2), (3.0, 3), (64.0, 5), (math.inf, 5)])
def test_a_part_of_a_processor_is_a_thread(monkeypatch: pytest.MonkeyPatch, allowed: float, threads: int) -> None:
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 9}, raising=False)
    monkeypatch.setattr(processors, "time_allowed", lambda: allowed)
    assert processors.available_processors() == threads


def told(**environment: str) -> tuple[str, str]:
    """The number of threads of a new process, and what it complains of."""
    code = "import poolgrad; print(poolgrad.get_num_threads())"
    environment = {"POOLGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": "", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip(), done.stderr


DEFAULT = str(min(processors.available_processors(), 64))


@pytest.mark.parametrize(
    ("variables", "threads"),
    [
        ({}, DEFAULT),
        ({"OMP_NUM_THREADS": "7"}, "7"),
        ({"OMP_NUM_THREADS": " 6,3,2"}, "6"),
        ({"OMP_NUM_THREADS": "none"}, DEFAULT),
        ({"OMP_NUM_THREADS": "0"}, DEFAULT),
        ({"POOLGRAD_NUM_THREADS": "5"}, "5"),
        ({"POOLGRAD_NUM_THREADS": "5", "OMP_NUM_THREADS": "7"}, "5"),
        ({"POOLGRAD_NUM_THREADS": "1" + "0" * 5000}, "64"),
    ],
)
def test_variables_say_how_many(variables: dict[str, str], threads: str) -> None:
    assert told(**variables) == (threads, "")


@pytest.mark.parametrize("strange", ["0", "-2", "two", "1.5"])
def test_a_variable_of_ours_that_says_nothing_is_told(strange: str) -> None:
    threads, complaint = told(POOLGRAD_NUM_THREADS=strange, OMP_NUM_THREADS="3")
    assert threads == "3"
    assert f"POOLGRAD_NUM_THREADS must be an integer of at least 1, got '{strange}'; ignored" in complaint


def test_more_threads_than_a_call_can_use_are_told() -> None:
    before = poolgrad.get_num_threads()
    try:
        with pytest.warns(UserWarning, match="a call uses at most 64 threads; got 1000000, and set to 64"):
            poolgrad.set_num_threads(10**6)
        assert poolgrad.get_num_threads() == 64
    finally:
        poolgrad.set_num_threads(before)
