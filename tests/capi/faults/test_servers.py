"""A server that dies, or never comes to life: a status and a reason, no hang."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
from capi.faults.test_forks import lines
from capi.traces import Traces

NO_NUMPY = "ModuleNotFoundError: No module named numpy"


def test_server_killed_between_calls(ends: Path, traces: Traces) -> None:
    with traces.start(ends, "go-on-without-server") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        traces.kill_servers()
        out, err = process.communicate("go\n", timeout=60)
    assert process.returncode == 0
    answers = lines(out)
    assert (answers.pop("message"), answers.pop("int array"), answers.pop("alive")) == (1, 1, 1)
    assert len(answers) == 7
    assert 0 not in answers.values(), answers
    assert err.count("\n") >= 8, "every failing call tells its reason"


def test_server_killed_while_it_works(ends: Path, traces: Traces) -> None:
    with traces.start(ends, "long-work") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        traces.kill_servers()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1, "the program's own check ended it"
    assert "answered 5" in err or "answered 3" in err


@pytest.mark.parametrize("delay", [0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_server_killed_while_it_starts(delay: float, ends: Path, traces: Traces) -> None:
    with traces.start(ends, "ask") as process:
        while not traces.servers() and process.poll() is None:
            pass
        time.sleep(delay)
        looks_in_vain = 0
        while looks_in_vain < 3:  # it forks while it starts, and may slip through one look at all processes
            found = traces.servers()
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            looks_in_vain = 0 if found else looks_in_vain + 1
        _, err = process.communicate("go\n", timeout=60)
    assert process.returncode == 1
    assert "answered" in err


def test_server_stopped_and_continued(ends: Path, traces: Traces) -> None:
    with traces.start(ends, "ask") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (server,) = traces.servers()
        os.kill(server, signal.SIGSTOP)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(0.2)
        assert process.poll() is None
        os.kill(server, signal.SIGCONT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "right\n", "")


PYTHONS = {
    "missing": "/nonexistent/python",
    "a directory": "/",
    "no program": "/etc/passwd",
    "a program that fails": "/bin/false",
    "a program that says yes": "/bin/true",
    "another program": "/bin/cat",
    "empty": "",
}


@pytest.mark.parametrize("python", PYTHONS.values(), ids=list(PYTHONS))
def test_an_interpreter_that_is_none(python: str, ends: Path, traces: Traces) -> None:
    done = traces.run(ends, "plain", env={"POOLGRAD_PYTHON": python})
    if python == "":  # as if it were not set
        assert (done.returncode, done.stdout) == (0, "right\n")
        return
    assert done.returncode == 1
    assert done.stdout == ""
    assert "aclInit" in done.stderr
    assert "POOLGRAD_PYTHON" in done.stderr or python in done.stderr


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param("kill -9 $$", "aclInit", id="kills itself"),
        pytest.param("exec sleep 1000", "{script}", id="never comes to the point"),
        pytest.param(f'echo "{NO_NUMPY}" >&2\nexit 1', NO_NUMPY, id="lacks packages, and says so"),
    ],
)
def test_an_interpreter_that_does_not_serve(script: str, said: str, ends: Path, tmp_path: Path, traces: Traces) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    patience = {"POOLGRAD_START_SECONDS": "1"} if "sleep" in script else {}
    done = traces.run(ends, "plain", env={"POOLGRAD_PYTHON": str(python), **patience})
    assert (done.returncode, done.stdout) == (1, "")
    assert "aclInit" in done.stderr
    assert said.format(script=python) in done.stderr
