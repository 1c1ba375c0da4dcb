"""Many programs at once for some minutes: random calls through C compared with Python, and kills at random moments.

    make test-capi-soak            # or: PYTHONPATH=tests python -m capi.soak --minutes 5

Half of the programs are left alone and must find every result right; of the others, the program or its server is
killed. In the end no process may be left. Not part of the tests, since it takes as long as it is given.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import device
import ml_dtypes
import numpy as np
from capi.library import Library
from capi.toolchain import complaints, prefix
from capi.traces import Traces

import poolgrad

SERVER_LOST = 3  # an exit code
SERVER_GONE = "server process has ended"  # in the message of a call
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


class ServerLost(Exception):
    pass


# ---- one program -----------------------------------------------------------------------------------------------------


class Worker:
    """One thread of a program: its own context and stream, and calls drawn from a seed."""

    def __init__(self, library: Library, seed: int) -> None:
        self.library = library
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.context = self.good(library.aclrtCreateContext(0))
        self.stream = self.good(library.aclrtCreateStream())
        self.done = 0

    def good(self, answer: Any) -> Any:
        """The value of an answer whose status must be 0."""
        value, status = answer if isinstance(answer, tuple) else (None, answer)
        if status:
            message = self.library.take() or ""
            if SERVER_GONE in message:
                raise ServerLost(message)
            raise AssertionError(f"status {status}: {message}")
        return value

    def step(self) -> None:
        self.random.choice([self.average, self.adaptive_average, self.maximum, self.adaptive_maximum, self.copies,
                            self.misuse, self.events])()  # fmt: skip
        self.done += 1

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self.numbers.standard_normal(shape).astype(np.float32).astype(dtype)

    def sizes(self, count: int, most: int = 24) -> tuple[int, ...]:
        return tuple(self.random.randint(1, most) for _ in range(count))

    def run(self, operator: str, tensors: list[Any], numbers: list[Any], shape: tuple[int, ...], expected: Any) -> None:
        """Both phases of a call whose last argument is the output; its result must be these very bits."""
        library, made = self.library, []
        for array, format in tensors:
            address = self.good(library.aclrtMalloc(max(array.nbytes, 1), 0))
            self.good(library.aclrtMemcpy(address, array.nbytes, array, array.nbytes, 1))
            made.append((device.describe(array.shape, array.dtype.name, format, address), address))
        format = tensors[0][1]
        address = self.good(library.aclrtMalloc(max(expected.nbytes, 1), 0))
        out = device.describe(shape, expected.dtype.name, format, address)
        self_tensor = device.describe(shape, expected.dtype.name, format)
        arrays = [library.aclCreateIntArray(n) if isinstance(n, tuple) else n for n in numbers]
        handles = [made[0][0], self_tensor, *(handle for handle, _ in made[1:]), *arrays, out]
        size, executor, status = getattr(library, operator + "GetWorkspaceSize")(*handles)
        self.good(status)
        workspace = self.good(library.aclrtMalloc(size, 0)) if size else None
        self.good(getattr(library, operator)(workspace, size, executor, self.stream))
        self.good(library.aclrtSynchronizeStream(self.stream))
        result = np.empty(shape, expected.dtype)
        self.good(library.aclrtMemcpy(result, result.nbytes, address, result.nbytes, 2))
        assert result.tobytes() == expected.tobytes(), f"{operator} {shape} {numbers}: other bits than in Python"
        for handle in (*(handle for handle, _ in made), self_tensor, out):
            self.good(library.aclDestroyTensor(handle))
        for handle in (a for a, n in zip(arrays, numbers, strict=True) if isinstance(n, tuple)):
            self.good(library.aclDestroyIntArray(handle))
        for place in (*(place for _, place in made), address, workspace):
            if place:
                self.good(library.aclrtFree(place))

    def average(self) -> None:
        dtype, shape = self.random.choice(FLOATS), self.sizes(4)
        kernel = tuple(self.random.randint(1, size) for size in shape[2:])
        stride = self.sizes(2, 4)
        padding = tuple(self.random.randint(0, k // 2) for k in kernel)
        pooled = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(shape[2:], kernel, stride, padding, strict=True)]
        grad = self.array((*shape[:2], *pooled), dtype)
        include = self.random.random() < 0.5
        expected = poolgrad.avg_pool2d_backward(
            grad, shape, kernel, stride, padding, count_include_pad=include, product="Atlas A2"
        )
        numbers = [kernel, stride, padding, False, include, 0, 0]
        self.run("aclnnAvgPool2dBackward", [(grad, "NCHW")], numbers, shape, expected)

    def adaptive_average(self) -> None:
        shape = self.sizes(5, 9)
        grad = self.array((*shape[:2], *self.sizes(3, 9)), self.random.choice(FLOATS))
        expected = poolgrad.adaptive_avg_pool3d_backward(grad, shape, product="Atlas A2")
        self.run("aclnnAdaptiveAvgPool3dBackward", [(grad, "NCDHW")], [], shape, expected)

    def indices(self, shape: tuple[int, ...], plane: int, dtype: Any) -> Any:
        return self.numbers.integers(0, plane, shape).astype(dtype)

    def maximum(self) -> None:
        shape = self.sizes(4)
        kernel = tuple(self.random.randint(1, size) for size in shape[2:])
        stride = self.sizes(2, 4)
        pooled = tuple((n - k) // s + 1 for n, k, s in zip(shape[2:], kernel, stride, strict=True))
        grad = self.array((*shape[:2], *pooled), FLOATS[0])
        indices = self.indices(grad.shape, shape[2] * shape[3], np.int32)
        expected = poolgrad.max_pool2d_with_indices_backward(grad, shape, indices, kernel, stride, product="Atlas A2")
        tensors = [(grad, "NCHW"), (indices, "NCHW")]
        self.run("aclnnMaxPool2dWithIndicesBackward", tensors, [kernel, stride, (0,), (1,), False], shape, expected)

    def adaptive_maximum(self) -> None:
        shape = self.sizes(4)
        grad = self.array((*shape[:2], *self.sizes(2, 9)), self.random.choice(FLOATS))
        indices = self.indices(grad.shape, shape[2] * shape[3], self.random.choice([np.int32, np.int64]))
        expected = poolgrad.adaptive_max_pool2d_backward(grad, shape, indices, product="Atlas A2")
        self.run("aclnnAdaptiveMaxPool2dBackward", [(grad, "ND"), (indices, "ND")], [], shape, expected)

    def copies(self) -> None:
        """Through device memory of up to a megabyte, by interior addresses and by the stream."""
        data = self.numbers.integers(0, 256, self.random.randint(1, 2**20)).astype(np.uint8)
        start = self.random.randint(0, 100)
        one, two = (self.good(self.library.aclrtMalloc(data.nbytes + start, 0)) for _ in range(2))
        back = np.empty_like(data)
        self.good(self.library.aclrtMemcpy(one + start, data.nbytes, data, data.nbytes, 1))
        self.good(self.library.aclrtMemcpyAsync(two, data.nbytes, one + start, data.nbytes, 3, self.stream))
        self.good(self.library.aclrtMemcpyAsync(back, data.nbytes, two, data.nbytes, 2, self.stream))
        self.good(self.library.aclrtSynchronizeStream(self.stream))
        assert np.array_equal(data, back), "a copy changed its bytes"
        for address in (one, two):
            self.good(self.library.aclrtFree(address))

    def misuse(self) -> None:
        library, garbage = self.library, self.random.getrandbits(64)
        answers = [
            (library.aclDestroyTensor(garbage), 161002),
            (library.aclrtSynchronizeEvent(garbage), 107017),
            (library.aclrtFree(garbage), 107017),
            (library.aclnnAvgPool2dBackward(None, 0, garbage, self.stream), 161002),
        ]
        for answer, expected in answers:
            if answer != expected:
                self.good(answer)
                raise AssertionError(f"{answer} for the garbage {garbage:#x} instead of {expected}")
        library.take()

    def events(self) -> None:
        library = self.library
        start, end = (self.good(library.aclrtCreateEvent()) for _ in range(2))
        self.good(library.aclrtRecordEvent(start, self.stream))
        self.good(library.aclrtStreamWaitEvent(self.stream, start))
        self.good(library.aclrtRecordEvent(end, self.stream))
        self.good(library.aclrtSynchronizeEvent(end))
        assert self.good(library.aclrtEventElapsedTime(start, end)) >= 0
        for event in (start, end):
            self.good(library.aclrtDestroyEvent(event))


def program(built: Path, seed: int, seconds: float) -> int:
    """What each process of the soak does; the exit code tells how it went."""
    library = Library(built)
    device.acl = library
    end = time.monotonic() + seconds
    lost, total, failures = threading.Event(), [0], []

    def thread(number: int) -> None:
        try:
            worker = Worker(library, 1000 * seed + number)
            while time.monotonic() < end and not lost.is_set() and not failures:
                worker.step()
            total[0] += worker.done
        except BaseException as error:  # noqa: BLE001 - told to the parent
            # Calls that answer no status tell by their message that the server is gone.
            if isinstance(error, ServerLost) or SERVER_GONE in (library.take() or ""):
                lost.set()
            else:
                failures.append(error)

    status = library.aclInit(None)
    if status:
        print(library.take(), file=sys.stderr)
        return SERVER_LOST
    threads = [threading.Thread(target=thread, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    library.close()
    if failures:
        print(f"seed {seed}: {failures[0]!r}", file=sys.stderr)
        return 1
    print(total[0])
    return SERVER_LOST if lost.is_set() else library.aclFinalize()


# ---- all programs ----------------------------------------------------------------------------------------------------


class Soak:
    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.directory = directory
        self.steps = self.ended = self.programs_killed = self.servers_killed = 0
        self.problems: list[str] = []

    def round(self, number: int, seconds: float) -> None:
        """Six programs: three are left alone, of one the server is killed, two are killed."""
        runs = []
        for place in range(6):
            directory = self.directory / f"{number}-{place}"
            directory.mkdir()
            traces = Traces(directory)
            command: list[object] = [sys.executable, "-m", "capi.soak", "--library", prefix()]
            command += ["--program", number * 6 + place, "--seconds", seconds]
            runs.append((traces, traces.start(*command, env={"POOLGRAD_LOG": "0"})))
        for place, moment in sorted(((3 + i, self.random.uniform(0.2, seconds)) for i in range(3)), key=lambda p: p[1]):
            time.sleep(moment / 3)
            traces, process = runs[place]
            if place == 3:
                for pid in traces.servers():
                    if pid != process.pid:  # the program is Python too
                        os.kill(pid, signal.SIGKILL)
                        self.servers_killed += 1
            else:
                process.kill()
                self.programs_killed += 1
        for place, (traces, process) in enumerate(runs):
            self.judge(place, traces, process)

    def judge(self, place: int, traces: Traces, process: subprocess.Popen[str]) -> None:
        try:
            out, err = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            self.problems.append(f"program {place} hangs")
            process.kill()
            out, err = process.communicate()
        allowed = {0} if place < 3 else {0, SERVER_LOST} if place == 3 else {0, -signal.SIGKILL}
        if process.returncode not in allowed or (complaints(err) and place != 3):
            self.problems.append(f"program {place} ended with {process.returncode}: {err}")
        if process.returncode == 0:
            self.ended += 1
            self.steps += int(out)
        try:
            traces.assert_nothing_left()
        except AssertionError as error:
            self.problems.append(str(error))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--program", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program is not None:
        return program(options.library, options.program, options.seconds)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        soak = Soak(Path(directory), options.seed)
        end, number = time.monotonic() + 60 * options.minutes, 0
        while time.monotonic() < end and not soak.problems:
            soak.round(options.seed + number, 20)
            number += 1
            print(
                f"round {number}: {soak.steps} steps right in {soak.ended} programs; "
                f"{soak.programs_killed} programs and {soak.servers_killed} servers killed",
                flush=True,
            )
    for problem in soak.problems:
        print(problem)
    return 1 if soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
