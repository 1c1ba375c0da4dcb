"""Program and shim compiled together under the sanitizers, and the built library under valgrind: not one complaint."""

from __future__ import annotations

from pathlib import Path

import pytest
from capi.toolchain import EXAMPLES, PROGRAMS, compile_program, flags, prefix, run

ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
THREAD = ("-fsanitize=thread", "-fno-omit-frame-pointer")
QUIET = {
    "POOLGRAD_LOG": "0",
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=0:second_deadlock_stack=1",
}
# A program, its argument, and what it prints.
RUNS = [
    ("threads", [], "wrong 0\n"),
    ("objects", [], "wrong 0\n"),
    ("ends", ["twice"], "right\nright\n"),
    ("ends", ["many-threads"], "right\n"),
    ("ends", ["finalize-in-destructor"], "finalize 0\n"),
    ("ends", ["exit-while-calling"], ""),
    ("forks", ["child-execs"], "right\nchild 0\nright\n"),
    ("forks", ["no-strange-children"], "right\nwait 1\nsystem 3\nright\n"),
]
IDS = [" ".join([program, *arguments]) for program, arguments, _ in RUNS]


def with_shim(source: Path, program: Path, *options: str) -> Path:
    """The program and the library's source as one: nothing is linked but the compiler's own libraries."""
    include = [flag for flag in flags() if flag.startswith("-I")]
    sources = [prefix() / "shim" / "shim.cpp", source]
    done = run(
        "g++", "-std=c++17", "-O1", "-g", "-pthread", *options, *include, f"-I{EXAMPLES}", *sources, "-o", program
    )
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sanitized")


def sanitized(name: str, kind: str, options: tuple[str, ...], programs: Path) -> Path:
    program = programs / f"{name}-{kind}"
    return program if program.exists() else with_shim(PROGRAMS / f"{name}.cpp", program, *options)


@pytest.mark.parametrize(("name", "arguments", "output"), RUNS, ids=IDS)
def test_addresses_leaks_and_undefined_behaviour(name: str, arguments: list[str], output: str, programs: Path) -> None:
    done = run(sanitized(name, "address", ADDRESS, programs), *arguments, env=QUIET)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


def test_wild_pointers_under_the_address_sanitizer(programs: Path) -> None:
    done = run(sanitized("wild_pointers", "address", ADDRESS, programs), env=QUIET)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("alive\n")


@pytest.mark.parametrize(("name", "arguments", "output"), RUNS, ids=IDS)
def test_races(name: str, arguments: list[str], output: str, programs: Path) -> None:
    done = run(sanitized(name, "thread", THREAD, programs), *arguments, env=QUIET)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


def test_the_sanitizers_are_awake(tmp_path: Path) -> None:
    """Each of them finds a fault that was put there for it, so silence above means something."""
    faults = {
        ADDRESS: "int main() { int* p = new int[2]; p[1] = 3; return (p + 1)[1] + (delete[] p, 0); }",
        # Many times over: two accesses at the very same moment do not see each other.
        THREAD: """#include <thread>
            volatile int x;
            void rise() { for (int i = 0; i < 100000; i++) x = x + 1; }
            int main() { std::thread t(rise); rise(); t.join(); return 0; }""",
    }
    for options, text in faults.items():
        source, program = tmp_path / "fault.cpp", tmp_path / "fault"
        source.write_text(text)
        assert run("g++", "-g", "-pthread", *options, source, "-o", program).returncode == 0
        assert "Sanitizer" in run(program, env=QUIET).stderr


@pytest.mark.parametrize(("name", "arguments", "output"), RUNS[:4], ids=IDS[:4])
def test_valgrind(name: str, arguments: list[str], output: str, tmp_path: Path) -> None:
    program = compile_program(PROGRAMS / f"{name}.cpp", tmp_path / name)
    log = tmp_path / "valgrind.log"
    options = ["--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible"]
    options += ["--errors-for-leak-kinds=definite,indirect,possible", "--track-fds=no", f"--log-file={log}"]
    done = run("valgrind", *options, program, *arguments, env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, output, ""), log.read_text()
    assert "ERROR SUMMARY: 0 errors" in log.read_text()
