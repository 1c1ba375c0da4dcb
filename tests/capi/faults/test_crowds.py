"""Many threads, odd threads, and memory over very many calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from capi.toolchain import PROGRAMS, compile_program
from capi.traces import Traces


@pytest.fixture(scope="session")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(PROGRAMS / "crowds.cpp", tmp_path_factory.mktemp("programs") / "crowds")


@pytest.mark.parametrize("way", ["crowd", "small-stack", "cancel-waiting", "cancel-starting"])
def test_threads(way: str, crowds: Path, traces: Traces) -> None:
    done = traces.run(crowds, way, env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def kilobytes(pid: int) -> int:
    """Memory that a process has filled; files that it has mapped are its own or not as others come and go."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


def test_memory_does_not_grow_with_calls(crowds: Path, traces: Traces) -> None:
    """Half the calls bring everything to its size; the other half, over 30000 calls, may not add to it."""
    with traces.start(crowds, "churn", env={"POOLGRAD_LOG": "0"}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for _ in range(2):
            assert process.stdout.readline() == "look\n"
            (server,) = traces.servers()
            seen.append((kilobytes(process.pid), kilobytes(server)))
            process.stdin.write("\n")
            process.stdin.flush()
    assert process.returncode == 0
    (program_before, server_before), (program_after, server_after) = seen
    assert program_after - program_before < 100, seen
    assert server_after - server_before < 3000, seen
