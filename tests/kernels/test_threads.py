"""Worker threads: that they come, that nobody depends on them, and that they are quiet, forked and ended safely.

Kernels of the tests' own stand in for the real ones: they meet each other, or hold a part until the test lets it go.
They wait for numbers in memory, never for a time to pass.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import types

import poolgrad
from poolgrad.base.dtypes import FLOAT32
from poolgrad.base.products import ANY
from poolgrad.base.tensor import Tensor, contiguous_strides
from poolgrad.contract.engine import prepare
from poolgrad.kernels.jit import machine
from poolgrad.kernels.jit.compiling import compiling, kernel_to_compile
from poolgrad.kernels.jit.memory import write_i64
from poolgrad.kernels.runtime import team
from poolgrad.kernels.runtime.runner import kernel_signature
from poolgrad.kernels.runtime.task import APART, DONE
from poolgrad.operators import REGISTRY
from poolgrad.run import execute, threads

PATIENCE = 30  # seconds after which a test that waits has failed
GIVE_UP = 20_000_000_000  # the same for a kernel, in nanoseconds
TIMED_OUT = 12345

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def meet(records: Any, one: int, two: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Parts that all wait until as many have come as ``two`` asks for; ``one`` counts them."""
    machine.atomic_add(one, 1)
    deadline = machine.nanoseconds() + GIVE_UP
    while machine.atomic_read(one) < machine.atomic_read(two):
        if machine.nanoseconds() > deadline:
            return TIMED_OUT
    return DONE


this_thread = types.ExternalFunction("pthread_self", types.intp())


def hold(records: Any, one: int, two: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Two parts: the caller's ends when the worker's has begun, and the worker's when ``two`` says so.

    ``one`` counts those begun; behind it stands which thread is the caller.
    """
    machine.atomic_add(one, 1)
    is_caller = this_thread() == machine.atomic_read(one + 8)
    deadline = machine.nanoseconds() + GIVE_UP
    while machine.atomic_read(one) < 2 or (not is_caller and machine.atomic_read(two) == 0):
        if machine.nanoseconds() > deadline:
            return TIMED_OUT
    return DONE


def complain(records: Any, one: int, two: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """Every part writes that it ran, and all but the first two find something wrong where they begin."""
    write_i64(one, 8 * begin, 1)
    return DONE if begin < 2 else begin


@cache
def machine_code_of(kernel: Callable[..., int]) -> Any:
    signature = kernel_signature(2, "float32")
    dispatcher = kernel_to_compile(kernel)
    with compiling():
        dispatcher.compile(signature)
    return dispatcher.overloads[signature.args]


def address_of(kernel: Callable[..., int]) -> int:
    code = machine_code_of(kernel)
    address: int = code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
    return address


def task_of(kernel: Callable[..., int], parts: int, monkeypatch: pytest.MonkeyPatch) -> execute.Task:
    """A task of as many units as parts, which runs ``kernel`` in place of its own."""
    shape = (1, 1, 4, 4)
    tensor = Tensor(FLOAT32, shape, contiguous_strides(shape, 4), "NCHW")
    values = {"gradOutput": tensor, "self": tensor, "gradInput": tensor, "kernelSize": (1,), "stride": (1,)}
    values |= {"padding": (0,), "ceilMode": False, "countIncludePad": True, "divisorOverride": 0, "cubeMathType": 0}
    plan = prepare(REGISTRY["aclnnAvgPool2dBackward"], ANY, values, 1)
    object.__setattr__(plan, "units", parts)
    object.__setattr__(plan, "parts", parts)
    with monkeypatch.context() as patch:
        patch.setattr(execute, "kernel_address", lambda name, compute: address_of(kernel))
        return execute.Task(plan)


class Numbers:
    """64-bit integers in memory that compiled code looks at."""

    def __init__(self, *values: int) -> None:
        self.values = np.array(values, np.int64)
        self.address: int = self.values.ctypes.data


def in_team(offset: int) -> int:
    return ctypes.c_int64.from_address(threads._TEAM.address + offset).value


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


def all_sleep() -> bool:
    return in_team(team.SLEEPERS) == threads._TEAM.workers


def run_meeting(parts: int, monkeypatch: Any) -> None:
    """Ends only if that many threads run parts side by side."""
    came, expected = Numbers(0), Numbers(parts)
    assert task_of(meet, parts, monkeypatch).run(APART, came.address, expected.address, 0) == DONE
    assert came.values[0] == parts


class Held:
    """A call in a thread of its own whose worker's part does not end before it is let go."""

    def __init__(self, monkeypatch: Any) -> None:
        self.begun, self.go = Numbers(0, 0), Numbers(0)
        self.answers: list[int] = []
        task = task_of(hold, 2, monkeypatch)

        def call() -> None:
            self.begun.values[1] = threading.get_ident()
            self.answers.append(task.run(APART, self.begun.address, self.go.address, 0))

        self.thread = threading.Thread(target=call, daemon=True)
        self.thread.start()
        wait_until(lambda: self.begun.values[0] == 2)

    def release(self) -> None:
        self.go.values[0] = 1
        self.thread.join(PATIENCE)
        assert self.answers == [DONE]


@pytest.mark.parametrize("parts", [2, 3, 9])
def test_every_part_has_a_thread_of_its_own(parts: int, monkeypatch: Any) -> None:
    run_meeting(parts, monkeypatch)
    run_meeting(parts, monkeypatch)


def test_sleeping_workers_are_woken_all_of_them(monkeypatch: Any) -> None:
    """Nine threads are more than a caller wakes by itself."""
    run_meeting(9, monkeypatch)
    for _ in range(20):
        wait_until(all_sleep)
        run_meeting(9, monkeypatch)


def test_a_caller_that_waits_long_sleeps_and_is_woken(monkeypatch: Any) -> None:
    for _ in range(5):
        held = Held(monkeypatch)
        wait_until(lambda: in_team(team.CALLER_SLEEPS))
        held.release()
        assert in_team(team.CALLER_SLEEPS) == in_team(team.BUSY) == 0


def test_a_caller_that_finds_the_team_busy_does_all_parts_itself(monkeypatch: Any) -> None:
    held = Held(monkeypatch)
    seen = Numbers(*[0] * 7)
    assert task_of(complain, 7, monkeypatch).run(APART, seen.address, 0, 0) == 2
    assert seen.values.tolist() == [1] * 7
    held.release()


def test_the_first_complaint_of_all_parts_counts(monkeypatch: Any) -> None:
    task = task_of(complain, 7, monkeypatch)
    for _ in range(200):
        seen = Numbers(*[0] * 7)
        assert task.run(APART, seen.address, 0, 0) == 2
        assert seen.values.tolist() == [1] * 7


def test_idle_workers_use_no_processor_time() -> None:
    """They look for work for a moment and then sleep, and so does everybody else here."""
    before = poolgrad.get_num_threads()
    poolgrad.set_num_threads(4)
    try:
        call()
    finally:
        poolgrad.set_num_threads(before)
    wait_until(all_sleep)
    used = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - used < 0.1


LARGE = np.random.default_rng(3).standard_normal((2, 8, 64, 64)).astype(np.float32)


def call() -> np.ndarray[Any, Any]:
    result: np.ndarray[Any, Any] = poolgrad.avg_pool2d_backward(LARGE, (2, 8, 128, 128), 2)
    return result


def test_more_and_fewer_threads_give_the_same_bits() -> None:
    before = poolgrad.get_num_threads()
    try:
        poolgrad.set_num_threads(1)
        expected = call()
        for n in (2, 7, 3, 1, 12, 2):
            poolgrad.set_num_threads(n)
            for _ in range(20):
                assert np.array_equal(call(), expected)
    finally:
        poolgrad.set_num_threads(before)


def test_a_system_without_known_locks_has_no_team(monkeypatch: Any) -> None:
    """There the caller does all parts, and no thread is started."""
    monkeypatch.setattr(threads, "_TEAM", threads._Team())
    monkeypatch.setattr(machine, "HAS_LOCKS", False)
    seen = Numbers(*[0] * 5)
    assert task_of(complain, 5, monkeypatch).run(APART, seen.address, 0, 0) == 2
    assert seen.values.tolist() == [1] * 5
    assert (threads._TEAM.address, threads._TEAM.workers) == (0, 0)


def test_ctrl_c_waits_until_all_parts_are_done(monkeypatch: Any) -> None:
    """Nobody may write into an output after the call has ended, however it ended."""
    task = task_of(hold, 2, monkeypatch)
    begun, go = Numbers(0, threading.get_ident()), Numbers(0)

    def interrupt() -> None:
        wait_until(lambda: begun.values[0] == 2)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]
        wait_until(lambda: in_team(team.CALLER_SLEEPS))
        go.values[0] = 1

    run_interrupted(task, begun, go, interrupt)
    assert in_team(team.BUSY) == in_team(team.PENDING) == 0


def run_interrupted(task: Any, begun: Numbers, go: Numbers, interrupt: Callable[[], None]) -> None:
    """Run a task that holds until ``go``, while a thread interrupts it: the call ends with Ctrl-C, and not before."""
    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        task.run(APART, begun.address, go.address, 0)
    assert go.values[0] == 1
    thread.join(PATIENCE)


def in_child(work: Callable[[], Any]) -> int:
    """The exit code of a forked child that does ``work``; a child that hangs is ended by an alarm."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must end here, whatever happens
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_workers_of_its_own(monkeypatch: Any) -> None:
    run_meeting(4, monkeypatch)

    def child() -> None:
        assert threads._TEAM.workers == 0
        run_meeting(4, monkeypatch)
        assert in_child(lambda: run_meeting(3, monkeypatch)) == 0

    assert in_child(child) == 0
    run_meeting(4, monkeypatch)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_while_another_thread_is_in_a_call(monkeypatch: Any) -> None:
    """The child inherits a busy team that will never be free, with a caller asleep in it."""
    held = Held(monkeypatch)
    wait_until(lambda: in_team(team.CALLER_SLEEPS))
    assert in_child(lambda: run_meeting(3, monkeypatch)) == 0
    held.release()


EXITS = """if True:
    import sys, threading, time, numpy as np, poolgrad
    poolgrad.set_num_threads(4)
    grad, out = np.ones((4, 16, 64, 64), 'f4'), np.empty((4, 16, 128, 128), 'f4')
    def call():
        poolgrad.avg_pool2d_backward(grad, out.shape, 2, out=out)
    def calls():
        while True:
            call()
    call()
    if sys.argv[1] == 'in a call':
        for _ in range(3):
            threading.Thread(target=calls, daemon=True).start()
        time.sleep(0.05)
    elif sys.argv[1] == 'asleep':
        time.sleep(0.05)
    assert (out == 0.25).all() or sys.argv[1] == 'in a call'
"""


@pytest.mark.parametrize("workers", ["awake", "asleep", "in a call"])
def test_the_process_ends_cleanly(workers: str) -> None:
    grad, out = np.ones((4, 16, 64, 64), "f4"), np.empty((4, 16, 128, 128), "f4")
    for _ in range(3):  # also the way of calls that were made before: nobody need say that he compiles
        poolgrad.avg_pool2d_backward(grad, out.shape, 2, out=out)
    for _ in range(3):
        command = [sys.executable, "-c", EXITS, workers]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")
