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

import device
from capi.library import Library
from capi.random_calls import SERVER_GONE, ServerLost, Worker
from capi.toolchain import complaints, prefix
from capi.traces import Traces

SERVER_LOST = 3  # an exit code


# ---- one program -----------------------------------------------------------------------------------------------------


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
            if isinstance(error, ServerLost) or SERVER_GONE in (library.aclGetRecentErrMsg() or ""):
                lost.set()
            else:
                failures.append(error)

    status = library.aclInit(None)
    if status:
        print(library.aclGetRecentErrMsg(), file=sys.stderr)
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
        begin = time.monotonic()
        for moment, place in sorted((self.random.uniform(0, seconds), place) for place in (3, 4, 5)):
            time.sleep(max(0, begin + moment - time.monotonic()))
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
