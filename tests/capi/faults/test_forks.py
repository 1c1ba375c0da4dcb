"""Forks, children, signals and files of a program that uses the device."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from capi.traces import Traces, wait_for


def lines(text: str) -> dict[str, int]:
    """Lines "what number" as a dictionary; other lines are left out."""
    words = [line.rpartition(" ") for line in text.splitlines()]
    return {what: int(number) for what, _, number in words if what}


def test_every_call_of_a_forked_child_is_a_status_and_the_parent_goes_on(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "child-calls")
    assert done.returncode == 0, done.stderr
    answers = lines(done.stdout)
    assert answers.pop("child") == 0
    assert (answers.pop("message"), answers.pop("int array")) == (1, 1)
    assert len(answers) == 7
    assert 0 not in answers.values(), "no call of the child may pretend to have worked"
    assert "fork" in done.stderr, "the reason is told"
    assert done.stdout.endswith("right\n")


def test_a_child_that_execs_inherits_nothing_and_has_its_own_device(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "child-execs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\nchild 0\nright\n", "")


def test_fork_before_the_first_call(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "both-start-after")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ["child 0", "right", "right"])


def test_forks_while_other_threads_are_in_calls(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "fork-among-threads", env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrong 0\n", "")


def test_forks_while_the_server_starts(forks: Path, traces: Traces) -> None:
    """This one ends at once. A child that had its end of the socket would keep that from the program; without a guard
    that happens in every third run."""
    settings = {"POOLGRAD_PYTHON": "/bin/false", "POOLGRAD_START_SECONDS": "20"}
    for _ in range(10):
        done = traces.run(forks, "fork-while-starting", env=settings)
        assert (done.returncode, done.stdout) == (0, "init 500000\n")
        assert "20 seconds" not in done.stderr


def test_the_server_is_nobodys_child(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "no-strange-children")
    assert (done.returncode, done.stdout) == (0, "right\nwait 1\nsystem 3\nright\n")


def test_a_program_that_adopts_orphans_does_not_meet_the_server(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "orphans-adopted")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\nwait 1\nsystem 3\nright\n", "")


def test_a_program_that_adopts_orphans_is_told_what_can_not_be_started(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "orphans-adopted", env={"POOLGRAD_PYTHON": "/no/such/python"})
    assert done.returncode != 0
    assert "can't start /no/such/python: No such file or directory" in done.stderr


def test_the_first_process_of_a_container_does_not_meet_the_server(forks: Path, traces: Traces) -> None:
    container = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not make a namespace of processes")
    done = traces.run(*container, forks, "no-strange-children")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\nwait 1\nsystem 3\nright\n", "")


@pytest.mark.parametrize("way", ["children-ignored", "children-taken"])
def test_a_program_with_its_own_view_of_children(way: str, forks: Path, traces: Traces) -> None:
    done = traces.run(forks, way)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_calls_that_signals_interrupt(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "interrupted")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\nright\n", "")


def test_a_call_in_a_handler_that_interrupts_a_call(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "call-in-handler")
    assert (done.returncode, done.stdout) == (0, "wrong 0\n")
    assert "aclrtGetDevice -> 500000: a signal handler has interrupted another call" in done.stderr


def test_objects_made_in_a_handler_that_interrupts_a_call(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "objects-in-handler", env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stdout) == (0, "wrong 0\n")


def test_a_call_that_a_handler_leaves(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "call-left")
    assert (done.returncode, done.stdout) == (0, "unknown device 500000\nmalloc 500000\nmemory 0\n")


def test_forks_while_other_threads_read_the_clock(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "fork-among-clocks", env={"POOLGRAD_LOG": "0", "TZ": "Europe/Berlin"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrong 0\n", "")


def test_threads_end_in_the_server_while_a_forked_child_lives_on(forks: Path, traces: Traces) -> None:
    with traces.start(forks, "child-lives-on") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (server,) = traces.servers()
        descriptors = Path(f"/proc/{server}/fd")
        wait_for(lambda: len(list(descriptors.iterdir())) < 20, "the server to close what belonged to 20 threads")
        process.communicate("\n")
    assert process.returncode == 0


def test_files_closed_under_the_librarys_feet(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "files-closed")
    assert done.returncode == 0
    answers = lines(done.stdout)
    assert answers["count"] != 0
    assert answers["finalize"] != 0
    assert "aclrtGetDeviceCount" in done.stderr


def test_device_memory_is_in_no_core_dump_and_in_no_child(forks: Path, traces: Traces) -> None:
    done = traces.run(forks, "mapping-flags")
    assert (done.returncode, done.stdout) == (0, "no dump 1, no fork 1\n")
