"""Limits, environments and directories of every bad sort: a right result or a status, never a crash or a hang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from capi.toolchain import PROGRAMS, compile_program, prefix
from capi.traces import Traces

import poolgrad


def right_or_refused(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the result was right; a refusal must be the program's own end with a reason."""
    if done.returncode == 0:
        assert done.stdout == "right\n"
        return True
    assert done.returncode == 1, f"the program was killed by signal {-done.returncode}\n{done.stderr}"
    assert " answered " in done.stderr
    return False


@pytest.mark.parametrize("kilobytes", [20_000, 100_000, 400_000, 1_000_000, 4_000_000, 16_000_000])
def test_limited_address_space(kilobytes: int, ends: Path, traces: Traces) -> None:
    done = traces.run("bash", "-c", f"ulimit -v {kilobytes}; exec '{ends}' plain")
    assert right_or_refused(done) or kilobytes < 16_000_000


@pytest.mark.parametrize("blocks", [0, 1, 1000, 100_000])
def test_limited_file_size(blocks: int, ends: Path, traces: Traces) -> None:
    done = traces.run("bash", "-c", f"ulimit -f {blocks}; exec '{ends}' plain")
    assert right_or_refused(done) or blocks < 100_000


@pytest.mark.parametrize("files", [4, 5, 6, 8, 12, 20, 40])
def test_limited_number_of_files(files: int, ends: Path, traces: Traces) -> None:
    done = traces.run("bash", "-c", f"ulimit -n {files}; exec '{ends}' plain")
    assert right_or_refused(done) or files < 40


def test_limited_stack(ends: Path, traces: Traces) -> None:
    assert right_or_refused(traces.run("bash", "-c", f"ulimit -s 256; exec '{ends}' plain"))


def test_limited_cpu_time_and_core_size(ends: Path, traces: Traces) -> None:
    assert right_or_refused(traces.run("bash", "-c", f"ulimit -c 0; ulimit -t 60; exec '{ends}' plain"))


@pytest.fixture
def booby_trap(tmp_path: Path) -> Path:
    """A directory of modules that must never be imported."""
    directory = tmp_path / "trap"
    directory.mkdir()
    for name in ("sitecustomize", "usercustomize", "numpy", "numba", "poolgrad", "socket", "mmap", "struct"):
        (directory / f"{name}.py").write_text("raise SystemExit('this module is a trap')\n")
    return directory


ENVIRONMENTS = {
    "PATH": "/nonexistent",
    "PYTHONHOME": "/nonexistent",
    "PYTHONPATH": "{trap}",
    "PYTHONSTARTUP": "{trap}/numpy.py",
    "PYTHONWARNINGS": "error",
    "PYTHONOPTIMIZE": "2",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONINSPECT": "1",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "garbage",
    "PYTHONMALLOC": "garbage",
    "HOME": "/nonexistent",
    "TMPDIR": "/nonexistent",
    "LC_ALL": "tlh_KX.klingon",
    "POOLGRAD_THREADS": "1",
    "OMP_NUM_THREADS": "garbage",
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_garbage_in_one_variable(name: str, ends: Path, traces: Traces, booby_trap: Path) -> None:
    done = traces.run(ends, "plain", env={name: ENVIRONMENTS[name].format(trap=booby_trap)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_garbage_in_all_variables_from_a_directory_of_traps(ends: Path, traces: Traces, booby_trap: Path) -> None:
    garbage = {name: value.format(trap=booby_trap) for name, value in ENVIRONMENTS.items()}
    done = traces.run(ends, "plain", env=garbage, cwd=booby_trap)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_no_environment_at_all(ends: Path, traces: Traces) -> None:
    kept = traces.environment | {"POOLGRAD_CACHE_DIR": str(prefix().parent)}  # else kernels are compiled anew
    done = traces.run("env", "-i", *[f"{name}={value}" for name, value in kept.items()], ends, "plain")
    assert (done.returncode, done.stdout) == (0, "right\n")


def test_a_working_directory_that_is_gone(ends: Path, traces: Traces, tmp_path: Path) -> None:
    done = traces.run(
        "bash", "-c", f"mkdir '{tmp_path}/gone'; cd '{tmp_path}/gone'; rmdir ../gone; exec '{ends}' plain"
    )
    assert (done.returncode, done.stdout) == (0, "right\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_files_closed_from_the_start(closed: str, ends: Path, traces: Traces) -> None:
    """The library's own files may then get the numbers 0 to 2: nothing of it may be taken for output."""
    done = traces.run("bash", "-c", f"exec '{ends}' plain {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("" if ">&-" in closed.replace("2>&-", "") else "right\n")


# Cache directories


def in_a_mount(options: str, directory: Path, script: str) -> list[str]:
    """A command that runs ``script`` where ``directory`` is a small file system of its own."""
    mount = f"mount -t tmpfs -o {options} none '{directory}'"
    return ["unshare", "--map-root-user", "--mount", "bash", "-c", f"set -e; {mount}; {script}"]


def can_mount() -> bool:
    return subprocess.run(["unshare", "--map-root-user", "--mount", "true"], capture_output=True).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="the kernel lets this user mount nothing")


@needs_mounts
@pytest.mark.parametrize("options", ["size=100k", "size=1m,ro"])
def test_a_cache_for_kernels_that_is_full_or_read_only(
    options: str, ends: Path, traces: Traces, tmp_path: Path
) -> None:
    """The library is built; what the server wants to keep finds no room. It must work all the same."""
    cache = tmp_path / "cache"
    cache.mkdir()
    command = in_a_mount(options, cache, f"exec '{ends}' plain")
    done = traces.run(*command, env={"POOLGRAD_CACHE_DIR": str(cache)})
    assert right_or_refused(done)


@needs_mounts
@pytest.mark.parametrize("options", ["size=4k", "size=40k", "size=1m,ro"])
def test_a_library_that_finds_no_room(options: str, traces: Traces, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    command = in_a_mount(options, cache, f"'{sys.executable}' -m poolgrad capi build")
    done = traces.run(*command, env={"POOLGRAD_CACHE_DIR": str(cache)})
    assert done.returncode != 0
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert str(cache) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@needs_mounts
def test_a_read_only_cache_that_holds_all_that_is_needed(ends: Path, traces: Traces) -> None:
    cache = prefix().parent
    script = f"""
        set -e
        mount --bind '{cache}' '{cache}'
        mount -o remount,ro,bind '{cache}'
        if touch '{cache}/x' 2> /dev/null; then exit 9; fi
        exec '{ends}' plain
    """
    done = traces.run("unshare", "--map-root-user", "--mount", "bash", "-c", script)
    assert (done.returncode, done.stdout) == (0, "right\n")


# Several builds


def test_a_cache_named_from_the_programs_directory(ends: Path, traces: Traces, tmp_path: Path) -> None:
    done = traces.run(ends, "plain", env={"POOLGRAD_CACHE_DIR": "here"}, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "right\n")
    assert list((tmp_path / "here").glob("kernels-*"))
    assert not Path("/here").exists()


def test_many_builds_of_one_library_at_once(traces: Traces, tmp_path: Path) -> None:
    """Into one empty cache: all answer the same place, and no half-written directory stays."""
    cache = tmp_path / "cache"
    settings = {"POOLGRAD_CACHE_DIR": str(cache)}
    builds = [traces.start(sys.executable, "-m", "poolgrad", "capi", "build", env=settings) for _ in range(6)]
    answers = [build.communicate(timeout=300) for build in builds]
    assert {build.returncode for build in builds} == {0}, answers
    (place,) = {out.strip() for out, _ in answers}
    assert Path(place).is_relative_to(cache)
    assert [path.name for path in Path(place).parent.iterdir()] == [Path(place).name]


def test_one_library_for_all_directories(traces: Traces, tmp_path: Path) -> None:
    """``python -m`` looks for packages where it is called, which must not become part of the library."""
    command = [sys.executable, "-m", "poolgrad", "capi", "build"]
    assert {traces.run(*command, cwd=place).stdout for place in ("/", tmp_path)} == {f"{prefix()}\n"}


def test_a_build_that_is_killed_leaves_no_broken_library(ends: Path, traces: Traces, tmp_path: Path) -> None:
    # The compiler is killed too, and leaves its own files where it has them.
    settings = {"POOLGRAD_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    for seconds in (0.2, 0.35, 0.5, 0.65):
        traces.run(
            "timeout", "-s", "KILL", str(seconds), sys.executable, "-m", "poolgrad", "capi", "build", env=settings
        )
    done = traces.run(sys.executable, "-m", "poolgrad", "capi", "build", env=settings)
    assert done.returncode == 0, done.stderr
    assert (Path(done.stdout.strip()) / "lib64" / "libascendcl.so").stat().st_size > 0


@pytest.fixture
def other_version(tmp_path: Path, traces: Traces) -> Path:
    """The prefix of another version of the package, built into the same cache as a user's two projects would."""
    source = Path(poolgrad.__file__).parent
    copy = tmp_path / "site" / "poolgrad"
    copy.parent.mkdir()
    subprocess.run(["cp", "-r", str(source), str(copy)], check=True)
    text = (copy / "__init__.py").read_text()
    (copy / "__init__.py").write_text(text.replace(poolgrad.__version__, "99.0.0"))
    settings = {"POOLGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(copy.parent)}
    done = traces.run(sys.executable, "-m", "poolgrad", "capi", "build", env=settings)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def test_two_versions_side_by_side(ends: Path, other_version: Path, traces: Traces, tmp_path: Path) -> None:
    assert other_version.name != prefix().name
    library = other_version / "lib64"
    options = [f"-I{other_version}/include", f"-L{library}", f"-Wl,-rpath,{library}"]
    theirs = compile_program(PROGRAMS / "ends.cpp", tmp_path / "theirs", *options)
    both = [traces.start(program, "ask") for program in (ends, theirs)]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    loaded = {line.split()[-1] for p in both for line in Path(f"/proc/{p.pid}/maps").read_text().splitlines()}
    assert {str(library / "libascendcl.so"), str(prefix() / "lib64" / "libascendcl.so")} <= loaded
    servers = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in traces.servers()]
    assert sum(str(tmp_path / "site").encode() in line for line in servers) == 1, "each has the server of its version"
    assert [process.communicate("go\n", timeout=60) for process in both] == [("right\n", "")] * 2
