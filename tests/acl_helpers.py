"""Small things that several tests of the documented layer need."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from poolgrad.acl import memory, streams

SOURCE = Path(__file__).resolve().parents[1] / "src"
PATIENCE = 30  # seconds after which a test that waits has failed; no test asserts a duration


class Gate:
    """A task that holds its stream until the gate opens, and tells when it has been reached."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.opened.wait(PATIENCE)

    def open(self) -> None:
        self.opened.set()


def malloc(size: int) -> int:
    address, ret = memory.aclrtMalloc(size, 0)
    assert ret == 0
    assert address is not None
    return address


def new_stream() -> int:
    handle, ret = streams.aclrtCreateStream()
    assert ret == 0
    assert handle is not None
    return handle


def stream_of(handle: int | None) -> streams.Stream:
    return streams.find_stream(handle)


def put_to_sleep(stream: streams.Stream) -> None:
    """Have the stream's thread run a task and then sleep, so that it learns of the next task only if it is woken."""
    assert stream.wait(stream.submit(lambda: None), PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while not stream._work_came._waiters:  # type: ignore[attr-defined]
        assert time.monotonic() < deadline
        time.sleep(0.001)


def background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def finish(thread: threading.Thread) -> None:
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the thread hangs"


def run_program(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter; a hang or a crash fails the test that called."""
    settings = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    return subprocess.run(
        [sys.executable, "-c", text], env=settings, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def assert_prints(text: str, expected: str, **environment: str) -> None:
    result = run_program(text, **environment)
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, expected, "")
