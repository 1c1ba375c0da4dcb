"""What a program leaves behind: processes, found by a mark in their environment, and files."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capi.toolchain import PATIENCE, complaints, prefix, user_environment

MARK = "POOLGRAD_TEST_MARK"


def wait_for(happened: Any, what: str) -> Any:
    """What ``happened()`` answers as soon as it is true; a test that waits too long has failed."""
    deadline = time.monotonic() + PATIENCE
    while not (found := happened()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)
    return found


class Traces:
    """Everything that programs with this environment start and write."""

    def __init__(self, directory: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.scratch = directory / "scratch"
        self.scratch.mkdir()
        self.environment = {MARK: self.mark, "TMPDIR": str(self.scratch)}
        self.files = self._files()

    def processes(self) -> dict[int, str]:
        """Live processes with the mark: their program by their number."""
        found = {}
        wanted = f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:  # a process may end while it is looked at
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = os.readlink(entry / "exe")
            except OSError:
                continue
        return found

    def servers(self) -> list[int]:
        return [pid for pid, program in self.processes().items() if Path(program).name.startswith("python")]

    def kill_servers(self) -> None:
        for pid in wait_for(self.servers, "a server"):
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.servers(), "the end of the server")

    def start(self, *command: object, **settings: Any) -> subprocess.Popen[str]:
        environment = user_environment() | self.environment | settings.pop("env", {})
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([str(word) for word in command], env=environment, text=True, **(pipes | settings))

    def run(self, *command: object, **settings: Any) -> subprocess.CompletedProcess[str]:
        with self.start(*command, **settings) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, complaints(err))

    def assert_nothing_left(self) -> None:
        try:
            wait_for(lambda: not self.processes(), "the end of all processes")
        except AssertionError:
            left = self.processes()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"left behind: {left}") from None
        left = {str(path) for path in self.scratch.iterdir()} | self._files() - self.files
        assert not left, f"left behind: {left}"

    @staticmethod
    def _files() -> set[str]:
        """Where a program could leave something: shared memory, and the directory of the library."""
        return {str(path) for path in (*Path("/dev/shm").iterdir(), *prefix().rglob("*"))}


@contextmanager
def nothing_left_behind(directory: Path) -> Iterator[Traces]:
    traces = Traces(directory)
    yield traces
    traces.assert_nothing_left()
