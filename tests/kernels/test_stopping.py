"""Long runs: Ctrl-C and whoever looks can stop them, nobody writes afterwards, and being watched changes no bit."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from kernels.test_threads import PATIENCE, TIMED_OUT, Numbers, in_team, run_interrupted, task_of, wait_until
from numba import types
from oracle import assert_same_bits
from planning import Planning

import poolgrad
from poolgrad.kernels.jit import machine
from poolgrad.kernels.jit.compiling import compiling, kernel_to_compile
from poolgrad.kernels.runtime import team
from poolgrad.kernels.runtime.runner import run_kernel
from poolgrad.kernels.runtime.stopping import shall_stop, shall_stop_at
from poolgrad.kernels.runtime.task import ALIGNMENT, APART, CONTROL, DONE
from poolgrad.plans.plan import Plan
from poolgrad.run import execute, waiting
from poolgrad.run.calls import forget_calls
from poolgrad.run.waiting import looking

Array = np.ndarray[Any, Any]
GIVE_UP = 20_000_000_000


@pytest.fixture
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = poolgrad.get_num_threads()
    poolgrad.set_num_threads(request.param)
    yield request.param
    poolgrad.set_num_threads(before)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is taken for a quick one."""
    monkeypatch.setattr(execute, "SURELY_QUICK", 0)
    monkeypatch.setattr(execute, "QUICK_SECONDS", -1.0)
    forget_calls()


def interrupt_when(condition: Callable[[], Any]) -> threading.Thread:
    def interrupt() -> None:
        wait_until(condition)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    return thread


# Windows so large that every row of the result is the sum of hundreds of rows, which are made again each time where
# there is no room to keep them (see the fixture): seconds of work in few megabytes.
SLOW = {"shape": (1, 1, 1024, 1024), "kernel_size": 600, "stride": 1}


@pytest.fixture
def no_room(planning: Planning) -> None:
    planning.use(ways=["rows"], second_cache=1)


def slow_call(out: Array) -> None:
    grad = np.ones((1, 1, 425, 425), np.float32)
    poolgrad.avg_pool2d_backward(grad, SLOW["shape"], SLOW["kernel_size"], SLOW["stride"], out=out)


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
@pytest.mark.usefixtures("no_room")
def test_ctrl_c_stops_a_call_in_the_middle(threads: int) -> None:
    out = np.full(SLOW["shape"], np.nan, np.float32)
    thread = interrupt_when(lambda: not np.isnan(out[0, 0, 0, 0]))
    with pytest.raises(KeyboardInterrupt):
        slow_call(out)
    left = out.copy()
    assert np.isnan(left).any(), "all of it was done first"
    time.sleep(0.05)
    assert_same_bits(out, left)
    thread.join(PATIENCE)
    assert threads == 1 or in_team(team.BUSY) == 0


@pytest.mark.usefixtures("no_room")
def test_any_handler_may_end_a_call() -> None:
    """Not only Ctrl-C: what handlers raise is what callers get."""

    class Enough(Exception):
        pass

    def handle(*_: object) -> None:
        raise Enough

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        out = np.full(SLOW["shape"], np.nan, np.float32)

        def send() -> None:
            wait_until(lambda: not np.isnan(out[0, 0, 0, 0]))
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)  # type: ignore[arg-type]

        threading.Thread(target=send, daemon=True).start()
        with pytest.raises(Enough):
            slow_call(out)
        assert np.isnan(out).any()
    finally:
        signal.signal(signal.SIGUSR1, before)


def until_stopped(records: Any, one: int, two: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """One unit that takes for ever. ``one`` counts how many have begun."""
    machine.atomic_add(one, 1)
    deadline = machine.nanoseconds() + GIVE_UP
    while not shall_stop(records[0], 1, 2, 1):
        if machine.nanoseconds() > deadline:
            return TIMED_OUT
    return DONE


def in_quarters(records: Any, one: int, two: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
    """One unit that tells of each quarter, and waits in the middle until ``two`` says so."""
    deadline = machine.nanoseconds() + GIVE_UP
    for quarter in range(4):
        if shall_stop_at(records[0], quarter, 4, 1):
            return TIMED_OUT
        while quarter == 2 and machine.atomic_read(two) == 0:
            if machine.nanoseconds() > deadline:
                return TIMED_OUT
    return DONE


@pytest.mark.parametrize("parts", [1, 3])
def test_kernels_are_stopped_in_the_middle_of_a_unit(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(until_stopped, parts, monkeypatch)
    task.quick = False
    begun = Numbers(0)
    thread = interrupt_when(lambda: begun.values[0] == parts)
    with pytest.raises(KeyboardInterrupt):
        task.run(APART, begun.address, 0, 0)
    assert begun.values[0] == parts
    thread.join(PATIENCE)


def test_who_presses_ctrl_c_twice_waits_none_the_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one comes while the run is asked to stop: a part that does not look holds it."""

    def hold(records: Any, one: int, two: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
        machine.atomic_add(one, 1)
        deadline = machine.nanoseconds() + GIVE_UP
        while machine.atomic_read(two) == 0:
            if machine.nanoseconds() > deadline:
                return TIMED_OUT
        return DONE

    task = task_of(hold, 1, monkeypatch)
    task.quick = False
    begun, go = Numbers(0), Numbers(0)
    main = threading.main_thread().ident

    def interrupt() -> None:
        wait_until(lambda: begun.values[0] == 1)
        for _ in range(5):
            signal.pthread_kill(main, signal.SIGINT)  # type: ignore[arg-type]
            time.sleep(0.02)
        go.values[0] = 1

    run_interrupted(task, begun, go, interrupt)


def test_whoever_looks_sees_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(execute, "LOOK_AFTER", 1)
    task = task_of(in_quarters, 1, monkeypatch)
    task.quick = False
    go, shares = Numbers(0), list[float]()

    def look(share: float) -> None:
        shares.append(share)
        if share == 0.75:  # it tells before each quarter that one more will be done
            go.values[0] = 1

    with looking(look):
        assert task.run(APART, 0, go.address, 0) == DONE
    assert 0.75 in shares
    assert shares == sorted(shares)


@pytest.mark.usefixtures("no_room")
def test_units_that_are_done_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BETWEEN_LOOKS", 0.001)
    shares: list[float] = []
    with looking(shares.append):
        slow_call(np.empty(SLOW["shape"], np.float32))
    assert shares == sorted(shares)
    assert any(0 < share < 1 for share in shares)


class Enough(Exception):
    pass


@pytest.mark.usefixtures("no_room")
def test_whoever_looks_may_stop_a_call_of_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BETWEEN_LOOKS", 0.001)
    out = np.full(SLOW["shape"], np.nan, np.float32)
    ends: list[object] = []

    def look(share: float) -> None:
        if share > 0:
            raise Enough

    def call() -> None:
        try:
            with looking(look):
                slow_call(out)
        except Enough as error:
            ends.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(PATIENCE)
    assert len(ends) == 1
    assert np.isnan(out).any()


def test_without_more_threads_the_caller_works_itself(watched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "start_new_thread", refuse)
    result = poolgrad.avg_pool2d_backward(np.ones((1, 1, 2, 2), np.float32), (1, 1, 4, 4), 2)
    assert (result == 0.25).all()


def test_what_was_quick_goes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one call that may have been long it is known."""
    monkeypatch.setattr(execute, "SURELY_QUICK", 0)
    monkeypatch.setattr(execute, "QUICK_SECONDS", 60.0)
    forget_calls()
    started: list[object] = []

    def watch(begin: Callable[[], None], arguments: tuple[()]) -> int:
        started.append(begin)
        return original(begin, arguments)

    original = waiting.start_new_thread
    monkeypatch.setattr(waiting, "start_new_thread", watch)
    grad, out = np.ones((1, 1, 2, 2), np.float32), np.empty((1, 1, 4, 4), np.float32)
    for _ in range(4):
        poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2, out=out)
    assert len(started) == 1
    monkeypatch.setattr(execute, "PERHAPS_SLOW", 0)  # so much is never known to be quick
    forget_calls()
    for _ in range(4):
        poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2)
    assert len(started) == 5


def test_a_call_that_ran_not_at_all_says_nothing_about_its_time(watched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "QUICK_SECONDS", 60.0)
    memory = np.ones(32, np.float32)
    grad, out = memory[:4].reshape(1, 1, 2, 2), memory[2:18].reshape(1, 1, 4, 4)
    with pytest.raises(poolgrad.AclnnError, match="overlap"):
        poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2, out=out)
    (task,) = {known.task for known in poolgrad.run.calls._KNOWN.values()}
    assert not task.quick


RANDOM = np.random.default_rng(7)


def average(shape: tuple[int, ...], kernel: Any, stride: Any, pad: Any, dtype: str = "f4", last: bool = False) -> Any:
    return ("avg", shape, kernel, stride, pad, dtype, last)


def maximum(shape: tuple[int, ...], kernel: int, stride: int, pad: int, dtype: str = "f4", last: bool = False) -> Any:
    return ("max", shape, kernel, stride, pad, dtype, last)


def masked(shape: tuple[int, ...], kernel: int, stride: int, pad: int, dtype: str = "f4") -> Any:
    return ("mask", shape, kernel, stride, pad, dtype, False)


# For each kernel a call of many units, and one whose units are large planes if that kernel looks inside of them.
CALLS = {
    "average_rows": [average((1, 1, 40, 500), 7, 5, 0), average((1, 1, 3, 30000), (1, 7), (1, 5), 0)],
    "average_row_blocks": [average((2, 3, 90, 90), 60, 1, 0)],
    "average_whole_planes": [average((3, 40, 9, 7), (9, 7), 1, 0), average((2, 2, 1024, 700), (1024, 700), 1, 0)],
    "average_small_planes": [average((5, 7, 10, 10), 3, 2, 1)],
    "average_channels_last": [average((3, 24, 20, 20), 3, 2, 1, last=True)],
    "average_touching_pixels": [average((3, 24, 20, 20), 2, 2, 0, last=True)],
    "average_few_windows_3_1_1_0_0_1_0": [average((2, 5, 50, 60), 3, 1, 1)],
    "average_few_windows_3_2_1_0_0_1_0": [average((2, 5, 50, 60), 3, 2, 1)],
    "average_few_windows_3_3_0_0_0_1_0": [average((2, 5, 60, 90), 3, 3, 0)],
    "average_few_windows_2_1_0_0_1_1_0": [average((2, 5, 50, 60), 2, 1, 0)],
    "max_pixels_ask_k2s2": [
        maximum((9, 24, 20, 20), 2, 2, 0, last=True),
        maximum((1, 24, 90, 90), 2, 2, 0, last=True),
    ],
    "max_single_elements": [maximum((3, 8, 20, 40), 1, 1, 0), maximum((1, 1, 100, 100), 1, 1, 0)],
    "max_touching_pairs": [maximum((3, 8, 20, 40), 2, 2, 0, "f2"), maximum((1, 1, 100, 100), 2, 2, 0, "f2")],
    "max_touching_short_rows": [maximum((30, 3, 10, 12), 2, 2, 0)],
    "max_touching_2": [maximum((3, 8, 20, 40), 2, 2, 0), maximum((1, 1, 100, 100), 2, 2, 0)],
    "scatter_bands": [maximum((3, 8, 50, 50), 3, 1, 1, "f2"), maximum((1, 1, 100, 100), 3, 1, 1, "f2")],
    "scatter_layers": [maximum((3, 8, 3, 96, 96), 3, 2, 1), maximum((1, 1, 5, 96, 96), 3, 2, 1)],
    "scatter_numbers": [maximum((30, 8, 9, 9), 3, 1, 1), maximum((1, 1, 700, 700), 3, 1, 1)],
    "scatter_mask": [masked((9, 6, 20, 21), 3, 2, 1), masked((1, 1, 99, 99), 3, 2, 1, "f2")],
    "scatter_halves": [maximum((9, 6, 20, 20), 4, 3, 0, "f2"), maximum((1, 6, 99, 99), 4, 3, 0, "f2", last=True)],
    "scatter_halves_apart": [maximum((9, 6, 20, 20), 7, 7, 0, "f2"), maximum((1, 1, 99, 99), 9, 9, 0, "f2")],
}
# Of larger tensors only, unless they are asked for.
FORCED = {"scatter_layers": ["layers"], "max_pixels_ask_k2s2": ["pixels ask"]}
MANY = [(name, calls[0]) for name, calls in CALLS.items() if calls]
LARGE = [(name, calls[1]) for name, calls in CALLS.items() if len(calls) > 1]


def windows(size: int, kernel: int, stride: int, pad: int) -> int:
    return (size + 2 * pad - kernel) // stride + 1


def data_of(call: Any) -> tuple[Array, Array]:
    """Gradients, and indices of the windows' first elements, or a mask of them that is not contiguous."""
    kind, (n, c, *sizes), kernel, stride, pad, dtype, _ = call
    kernels, strides = ((k,) * len(sizes) if isinstance(k, int) else k for k in (kernel, stride))
    indices = np.zeros((), np.int64)
    for size, k, s in zip(sizes, kernels, strides, strict=True):
        indices = indices[..., None] * size + np.maximum(np.arange(windows(size, k, s, pad)) * s - pad, 0)
    grad = RANDOM.standard_normal((n, c, *indices.shape)).astype(dtype)
    indices = np.ascontiguousarray(np.broadcast_to(indices, grad.shape))
    if kind == "mask":
        return grad, np.asfortranarray(poolgrad.indices_to_mask(indices, call[1], kernel, stride, pad))
    return grad, indices


def in_memory(array: Array, last: bool) -> Array:
    """The same array with its channels side by side; a single one with a gap behind each element."""
    if not last:
        return array
    if array.shape[1] == 1:
        return np.repeat(array, 2, axis=3)[..., ::2]
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def run_call(call: Any, data: tuple[Array, Array], out: Array) -> None:
    kind, shape, kernel, stride, pad, _, last = call
    grad, indices = (in_memory(array, last) for array in data)
    if kind == "avg":
        poolgrad.avg_pool2d_backward(grad, shape, kernel, stride, pad, out=out)
    elif kind == "mask":
        poolgrad.max_pool2d_with_mask_backward(grad, shape, indices, kernel, stride, pad, out=out)
    elif len(shape) == 5:
        poolgrad.max_pool3d_with_argmax_backward(grad, shape, indices, kernel, stride, pad, out=out)
    else:
        poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel, stride, pad, out=out)


def empty_out(call: Any) -> Array:
    return in_memory(np.full(call[1], np.nan, call[5]), call[6])


def plan_of(planning: Planning, call: Any, data: tuple[Array, Array]) -> tuple[Plan, Array]:
    """The plan that a call makes, and its result."""
    made, out = planning.recording(), empty_out(call)
    run_call(call, data, out)
    return made[0], out


@pytest.mark.parametrize("threads", [1, 3], indirect=True)
@pytest.mark.parametrize(("kernel", "call"), [*MANY, *LARGE], ids=lambda value: value if type(value) is str else "")
def test_being_watched_changes_no_bit(
    kernel: str, call: Any, threads: int, planning: Planning, request: pytest.FixtureRequest
) -> None:
    """A watched run enters its kernel again and again, for one unit, two, four and so on."""
    planning.use(time_of_part=1, ways=FORCED.get(kernel, []))
    data = data_of(call)
    made, expected = plan_of(planning, call, data)
    assert made.kernel == kernel
    assert made.units > 4 * made.grain or (kernel, call) in LARGE
    request.getfixturevalue("watched")
    out = empty_out(call)
    run_call(call, data, out)
    assert_same_bits(out, expected)


@cache
def kernel_caller() -> Any:
    """Enters a task's kernel, which the runner would not do for a run that shall stop."""

    def enter(task: int, scratch: int, one: int, two: int, three: int, units: int) -> int:
        answer: int = run_kernel(task, scratch, one, two, three, 0, 0, units)
        return answer

    signature = types.int64(*[types.int64] * 6)
    dispatcher = kernel_to_compile(enter, nogil=True)
    with compiling():
        dispatcher.compile(signature)
    return dispatcher.overloads[signature.args].entry_point, dispatcher


@pytest.mark.parametrize(("kernel", "call"), LARGE, ids=lambda value: value if type(value) is str else "")
def test_kernels_look_inside_large_units(kernel: str, call: Any, planning: Planning) -> None:
    """One that is entered though it shall stop leaves the output as it is."""
    planning.use(ways=FORCED.get(kernel, []))
    data = data_of(call)
    made, result = plan_of(planning, call, data)
    assert made.kernel == kernel
    assert not np.isnan(result).any()
    control = np.zeros(1, CONTROL)
    control["stop"] = 1
    record = made.record.copy()
    record["control"], record["pace"] = control.ctypes.data, 0
    object.__setattr__(made, "record", record)
    task = execute.Task(made)
    scratch = np.zeros(made.scratch_bytes + ALIGNMENT, np.uint8)
    aligned = -(-scratch.ctypes.data // ALIGNMENT) * ALIGNMENT
    grad, indices = (in_memory(array, call[6]) for array in data)
    out = empty_out(call)
    tensors = [array.ctypes.data for array in ((grad, out) if call[0] == "avg" else (grad, indices, out))]
    assert kernel_caller()[0](task.address, aligned, *[*tensors, 0][:3], made.units) == DONE
    assert np.isnan(out).all()
