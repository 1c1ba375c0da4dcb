"""However a program ends: nothing hangs, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from capi.toolchain import PROGRAMS, STRICT, compile_program, flags, prefix
from capi.traces import Traces, wait_for

# The way to end, the exit code, and what is printed.
WAYS = [
    ("plain", 0, "right\n"),
    ("twice", 0, "right\nright\n"),
    ("exit-busy", 0, ""),
    ("_exit-busy", 0, ""),
    ("return-busy", 0, ""),
    ("abort-busy", -signal.SIGABRT, ""),
    ("exec-busy", 0, ""),
    ("exit-while-waiting", 0, ""),
    ("exit-while-calling", 0, ""),
    ("pthread-exit-main", 0, "right\n"),
    ("finalize-in-destructor", 0, "finalize 0\n"),
    ("finalize-at-exit", 0, "finalize 0\n"),
    ("finalize-in-thread-local", 0, "finalize 0\n"),
    ("many-threads", 0, "right\n"),
]


@pytest.mark.parametrize(("way", "code", "output"), WAYS, ids=[way for way, _, _ in WAYS])
def test_ways_to_end(way: str, code: int, output: str, ends: Path, traces: Traces) -> None:
    done = traces.run(ends, way)
    assert (done.returncode, done.stdout, done.stderr) == (code, output, "")


def test_a_reader_that_has_seen_enough(ends: Path, traces: Traces) -> None:
    done = traces.run("bash", "-c", f"'{ends}' endless | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert done.stdout == f"right\n{128 + signal.SIGPIPE}\n"


@pytest.mark.parametrize("delay", [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7])
def test_client_killed_while_it_starts(delay: float, ends: Path, traces: Traces) -> None:
    with traces.start(ends, "long-work") as process:
        time.sleep(delay)
        process.kill()


def test_client_killed_in_the_middle_of_its_work(ends: Path, traces: Traces) -> None:
    with traces.start(ends, "long-work") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        assert len(traces.servers()) == 1
        process.kill()


def test_ctrl_c_ends_the_program_and_its_server(ends: Path, traces: Traces) -> None:
    """The terminal sends it to the whole group."""
    with traces.start(ends, "long-work", start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


def test_ctrl_c_that_the_program_ignores_does_not_reach_the_server(ends: Path, traces: Traces) -> None:
    """The server is started with the signal at work, so it must stand outside of the terminal's group."""
    with traces.start("bash", "-c", f"trap '' INT; '{ends}' ask", start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for name in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            for pid in traces.servers():
                assert os.getpgid(pid) != process.pid, name
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate("go\n", timeout=60)
        assert (out, err) == ("right\n", "")


def test_opened_locally_closed_and_opened_again(tmp_path: Path, traces: Traces) -> None:
    program = tmp_path / "dlopened"
    include = [flag for flag in flags() if flag.startswith("-I")]
    command = ["gcc", "-std=c11", *STRICT, *include, PROGRAMS / "dlopened.c", "-pthread", "-ldl", "-o", program]
    subprocess.run(command, check=True, timeout=60)
    library = prefix() / "lib64"
    names = ["libascendcl.so", "libascendcl.so", "libnnopbase.so", "libopapi.so", "libacl_rt.so"]
    done = traces.run(program, *(library / name for name in names))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 0 1 0 0\n" * len(names)


def test_twenty_programs_at_once(ends: Path, traces: Traces) -> None:
    processes = [traces.start(ends, "plain") for _ in range(20)]
    answers = [process.communicate(timeout=300) for process in processes]
    assert answers == [("right\n", "")] * 20
    assert {process.returncode for process in processes} == {0}


def test_the_server_holds_neither_input_nor_output_of_the_program(ends: Path, traces: Traces) -> None:
    """Else somebody who reads the output until its end would wait for the server."""
    with traces.start(ends, "ask") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (server,) = traces.servers()
        ours, theirs = (
            {os.readlink(f"/proc/{pid}/fd/{number}") for number in numbers}
            for pid, numbers in ((process.pid, (0, 1)), (server, os.listdir(f"/proc/{server}/fd")))
        )
        assert len(ours) == 2
        assert not ours & theirs
        assert process.communicate("go\n", timeout=60) == ("right\n", "")


def test_servers_end_with_their_clients_and_not_before(ends: Path, traces: Traces) -> None:
    first, second = (traces.start(ends, "ask") for _ in range(2))
    for process in (first, second):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    assert len(traces.servers()) == 2
    first.kill()
    first.communicate()
    wait_for(lambda: len(traces.servers()) == 1, "the end of one server")
    assert second.communicate("go\n", timeout=60) == ("right\n", "")


def test_unchanged_programs_meet_a_rebuilt_library(tmp_path: Path, traces: Traces) -> None:
    """Linked once, run whenever: the path in the program leads to the library that it was linked with."""
    program = compile_program(PROGRAMS / "ends.cpp", tmp_path / "ends")
    assert traces.run(program, "plain", env={"LD_LIBRARY_PATH": "/nonexistent"}).stdout == "right\n"
