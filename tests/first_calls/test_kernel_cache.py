"""What a first call compiles is kept, whoever compiled it, and comes back whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packages import python

from poolgrad.base import cache_directory as directory

# This kernel is the quickest to compile.
CALL = """import numpy as np, poolgrad; gradient = np.full((1, 1, 1), 0.25, np.float32)
print(poolgrad.adaptive_max_pool2d_backward(gradient, (1, 2, 2), np.ones((1, 1, 1), np.int32)))"""


def test_first_call_ever_says_that_it_compiles_and_the_second_process_does_not(tmp_path: Path) -> None:
    first, second = (python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    kept = f"it is kept in {tmp_path / 'cache'}"
    assert (
        first.stderr
        == f"poolgrad: compiling the kernel scatter_numbers in float32 for this CPU, some seconds; {kept}\n"
    )
    assert second.stderr == ""
    assert first.stdout == second.stdout


def test_every_kernel_that_is_compiled_is_told(tmp_path: Path) -> None:
    both = "; ".join((CALL, CALL.partition("; ")[2].replace("float32", "float64")))
    for told in (["scatter_numbers in float32", "scatter_numbers in float64"], []):
        done = python(both, POOLGRAD_CACHE_DIR=str(tmp_path))
        assert re.findall(r"compiling the kernel (.*) for this CPU", done.stderr) == told
        assert len(done.stderr.splitlines()) == len(told)


def test_versions_of_numba_have_files_of_their_own(tmp_path: Path) -> None:
    """Each throws away what it takes for another one's: two that share a directory would compile in every process."""
    for version, compiles in (("0.1", 1), ("0.2", 1), ("0.1", 0), ("0.2", 0)):
        done = python(f"import numba; numba.__version__ = {version!r}; {CALL}", POOLGRAD_CACHE_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles


@pytest.mark.parametrize("wish", ["IPythonCacheLocator", "no.such.Locator"])
def test_where_the_users_functions_are_kept_is_no_matter_of_kernels(tmp_path: Path, wish: str) -> None:
    for compiles in (1, 0):
        done = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path), NUMBA_CACHE_LOCATOR_CLASSES=wish)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles
        assert "0.25" in done.stdout
    code = f"{CALL}; import numba; print(getattr(numba.config, 'CACHE_LOCATOR_CLASSES', {wish!r}))"
    assert python(code, NUMBA_CACHE_LOCATOR_CLASSES=wish).stdout.endswith(f"{wish}\n"), "it still holds for them"


THREE_KERNELS = """
import os
import ml_dtypes, numpy as np, poolgrad

def rows(dtype):
    got = poolgrad.avg_pool2d_backward(np.full((1, 1, 3, 100), 9, dtype), (1, 1, 3, 100), 3, 1, 1)
    windows = np.r_[2, np.full(98, 3), 2]
    assert np.array_equal(got[0, 0].astype(np.float32), np.outer([2, 3, 2], windows)), dtype

def blocks(dtype):
    means = np.arange(100) % 25
    got = poolgrad.avg_pool2d_backward((9 * means).reshape(1, 1, 1, 100).astype(dtype), (1, 1, 9, 100), (9, 1), 1)
    assert np.array_equal(got[0, 0].astype(np.float32), np.tile(means, (9, 1))), dtype

def lanes(dtype):
    got = poolgrad.avg_pool2d_backward(4 * np.arange(100).reshape(1, 4, 5, 5).astype(dtype), (1, 4, 10, 10), 2)
    assert np.array_equal(got[..., ::2, ::2].astype(np.float32).ravel(), np.arange(100)), dtype

for name in os.environ["KERNELS"].split():
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        globals()[name](dtype)
"""


def test_kernels_that_different_processes_compiled_do_not_mix(tmp_path: Path) -> None:
    """Each process counts anew what it compiles, so functions of one name could be taken for each other."""
    for kernels in ("rows", "lanes blocks", "rows blocks lanes", "blocks lanes rows"):
        done = python(THREE_KERNELS, POOLGRAD_CACHE_DIR=str(tmp_path), KERNELS=kernels)
        assert done.returncode == 0, f"{kernels}: {done.stderr}"


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory: Any) -> Path:
    where: Path = tmp_path_factory.mktemp("cache")
    assert python(CALL, POOLGRAD_CACHE_DIR=str(where)).returncode == 0
    return where


@pytest.mark.parametrize(("pattern", "contents"), [("*.nbi", b""), ("*.nbc", b"\x80\x04N."), ("*", b"\x00\xffrubbish")])
def test_damaged_cache_is_compiled_again(warm_cache: Path, tmp_path: Path, pattern: str, contents: bytes) -> None:
    shutil.copytree(warm_cache, tmp_path, dirs_exist_ok=True)
    files = [path for path in tmp_path.rglob(pattern) if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(contents)
    for compiles in (1, 0):
        done = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles, "what was damaged must be replaced"
        assert "0.25" in done.stdout


def test_code_under_a_wrong_name_is_compiled_again(tmp_path: Path) -> None:
    """Two kinds of one kernel have files of their own, so that processes do not mix them up; and if somebody did?"""
    both = "\n".join((CALL, CALL.replace("float32", "float64")))
    assert python(both, POOLGRAD_CACHE_DIR=str(tmp_path)).returncode == 0
    one, other = tmp_path.rglob("*scatter*.nbc")
    other.write_bytes(one.read_bytes())
    for compiles in (1, 0):
        done = python(both, POOLGRAD_CACHE_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles
        assert done.stdout.count("0.25") == 2


def test_an_interrupted_first_call_does_no_harm(tmp_path: Path) -> None:
    """Ctrl-C ends the call at once, wherever Numba is at that moment; the next call is right."""
    code = """if True:
        import signal, time, numpy as np, poolgrad
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        interrupted = 0
        for delay in (0.05, 0.2, 0.4, 0.1, 0.3):
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                result = poolgrad.avg_pool2d_backward(np.ones((1, 1, 1), np.float32), (1, 2, 2), 2)
            except KeyboardInterrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
        print(interrupted, poolgrad.avg_pool2d_backward(np.ones((1, 1, 1), np.float32), (1, 2, 2), 2).tolist())
    """
    done = python(code, POOLGRAD_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    interrupted, _, result = done.stdout.partition(" ")
    assert int(interrupted) >= 1
    assert result == "[[[0.25, 0.25], [0.25, 0.25]]]\n"


def test_without_a_home_what_is_kept_belongs_to_the_user_alone(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("POOLGRAD_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-this-name/cache")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = tmp_path / f"poolgrad-{os.getuid()}"
    directory._among_temporary_files.cache_clear()
    assert directory.cache_directory() == own
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)  # as if somebody else had made it
    directory._among_temporary_files.cache_clear()
    other = directory.cache_directory()
    assert other != own
    assert other.parent == tmp_path
    assert directory.cache_directory() == other
    directory._among_temporary_files.cache_clear()


def test_a_home_that_can_not_be_written(tmp_path: Path) -> None:
    """What is compiled is kept in a directory of the user's alone, for later processes too."""
    (tmp_path / "home").write_text("a file where a directory is wanted")
    surroundings = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}
    own = tmp_path / f"poolgrad-{os.getuid()}"
    for told in (f"it is kept in {own}\n", ""):
        done = python(CALL, POOLGRAD_CACHE_DIR="", **surroundings)
        assert "0.25" in done.stdout
        assert done.stderr.endswith(told)
        assert (done.stderr == "") == (told == "")
    assert own.stat().st_mode & 0o777 == 0o700


def test_kernels_are_compiled_where_the_users_functions_are_not(tmp_path: Path) -> None:
    for compiles in (1, 0):
        done = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="1")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles
        assert "0.25" in done.stdout
    wish = python(f"{CALL}\nimport numba; print(numba.config.DISABLE_JIT)", NUMBA_DISABLE_JIT="1").stdout
    assert wish.endswith("1\n"), "it still holds for them"


def test_cache_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file where a directory is wanted")
    chosen = tmp_path / "file" / "below"
    done = python(CALL, POOLGRAD_CACHE_DIR=str(chosen))
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"{chosen} can't be written, so it is not kept\n")
    assert "0.25" in done.stdout


def test_another_processor_compiles_its_own_kernels(warm_cache: Path, tmp_path: Path) -> None:
    """A cache may be shared by machines: what was compiled for one CPU must not be run by another."""
    shutil.copytree(warm_cache, tmp_path, dirs_exist_ok=True)
    where, plain = str(tmp_path), {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    for environment, compiles in ((plain, 1), (plain, 0), ({}, 0)):
        done = python(CALL, POOLGRAD_CACHE_DIR=where, **environment)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles
        assert "0.25" in done.stdout


@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("NUMBA_CACHE_DIR", "/dev/null/nowhere"),  # where the user's functions are kept
        ("NUMBA_CPU_NAME", "no such processor"),  # LLVM says that it takes it for a plain one
        ("NUMBA_CPU_FEATURES", "+nosuch"),
        ("NUMBA_DEBUGINFO", "1"),
        ("NUMBA_BOUNDSCHECK", "1"),
    ],
)
def test_other_wishes_are_granted(tmp_path: Path, name: str, wish: str) -> None:
    done = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path), **{name: wish})
    assert done.returncode == 0, done.stderr
    assert "0.25" in done.stdout
    assert "not kept" not in done.stderr


def test_slow_code_is_for_those_who_asked_for_it(warm_cache: Path, tmp_path: Path) -> None:
    shutil.copytree(warm_cache, tmp_path, dirs_exist_ok=True)
    for environment, compiles in (({"NUMBA_OPT": "1"}, 1), ({"NUMBA_OPT": "1"}, 0), ({}, 0)):
        done = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path), **environment)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") == compiles
        assert "0.25" in done.stdout


def test_features_that_llvm_would_die_of_are_an_error(tmp_path: Path) -> None:
    done = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path), NUMBA_CPU_FEATURES="avx2")
    assert done.returncode == 1
    assert done.stderr.endswith("commas between, such as +avx2,-avx512f; got 'avx2'.\n")


def test_many_processes_start_at_once(warm_cache: Path, tmp_path: Path) -> None:
    """All compile what is not there yet and come out right, and what they leave behind serves the next one."""
    shutil.copytree(warm_cache, tmp_path, dirs_exist_ok=True)
    missing = list(tmp_path.rglob("entry*"))  # the quickest to compile
    assert missing
    for path in missing:
        path.unlink()
    command = [sys.executable, "-c", CALL]
    environment = os.environ | {"POOLGRAD_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)
    ]
    answers, remarks = zip(*(run.communicate(timeout=240) for run in runs), strict=True)
    assert all(run.returncode == 0 for run in runs)
    assert len(set(answers)) == 1
    assert sum(b"compiling" in remark for remark in remarks) > 1, "none was there at the same time as another"
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".nbi", ".nbc"}
    last = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path))
    assert (last.stdout.encode(), last.stderr) == (answers[0], "")
