"""The examples compile without a warning, by hand and with CMake, and print what the reference computes."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi.toolchain import EXAMPLES, compile_program, run
from cli.command import poolgrad as command

from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]


def counting(shape: tuple[int, ...], first: float, step: float = 1) -> Array:
    return (first + step * np.arange(np.prod(shape))).reshape(shape).astype(np.float32)


def repeated() -> Array:
    runs = [
        reference.avg_pool2d_backward(scale * counting((1, 1, 2, 2), 4), (1, 1, 4, 4), (2, 2), (2, 2), (0, 0))
        for scale in (1, 10)
    ]
    return np.concatenate(runs)


def with_places() -> Array:
    """Maxima of a volume, and below them where they stand."""
    rows = [
        [1, 6, 2, 8],
        [4, 5, 7, 3],
        [9, 0, 1, 1],
        [2, 3, 1, 1],
        [2, 1, 9, 0],
        [3, 8, 6, 4],
        [5, 5, 7, 7],
        [1, 9, 7, 6],
    ]
    values, indices = reference.max_pool3d_with_argmax(
        np.array(rows, np.float32).reshape(1, 1, 2, 4, 4), (2, 2, 2), (2, 2, 2), (0, 0, 0)
    )
    return np.concatenate([values, indices])


def both_ways() -> Array:
    """The gradient of maxima that the forward pass has found."""
    x = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9], [3, 2, 3, 8, 4]], np.float32)[None, None]
    indices = reference.max_pool_indices(x, (2, 2), (1, 1), (0, 0))
    return reference.max_pool2d_with_indices_backward(counting((1, 1, 3, 4), 0.25), x.shape, indices)


# What each example computes, by the formulas alone. All numbers are small, so float32 holds what float64 sums.
EXPECTED: dict[str, Array] = {
    "avg_pool2d.cpp": reference.avg_pool2d_backward(
        counting((1, 2, 3, 4), 1), (1, 2, 6, 7), (3, 2), (2, 2), (0, 1), True, False
    ),
    "adaptive_avg_pool3d.cpp": reference.adaptive_avg_pool3d_backward(counting((2, 1, 2, 2, 3), 1), (2, 1, 4, 3, 5)),
    "max_pool2d_with_indices.cpp": reference.max_pool2d_with_indices_backward(
        counting((1, 1, 3, 4), 0.25),
        (1, 1, 4, 5),
        np.array([6, 6, 3, 3, 6, 6, 12, 9, 16, 12, 12, 19]).reshape(1, 1, 3, 4),
    ),
    "adaptive_max_pool2d.cpp": reference.adaptive_max_pool2d_backward(
        counting((2, 2, 2), 0.5), (2, 3, 3), np.array([4, 4, 4, 4, 0, 2, 6, 4]).reshape(2, 2, 2)
    ),
    "avg_pool2d_forward.cpp": reference.avg_pool2d(
        counting((1, 2, 6, 7), 1), (3, 2), (2, 2), (0, 1), ceil_mode=True, count_include_pad=False
    ),
    "adaptive_avg_pool3d_forward.cpp": reference.adaptive_avg_pool3d(counting((2, 1, 4, 3, 5), 1), (2, 2, 3)),
    "max_pool3d_with_argmax.cpp": with_places(),
    "max_pool2d_both_ways.cpp": both_ways(),
    "repeatable_executor.cpp": repeated(),
    "plain_c.c": reference.avg_pool2d_backward(counting((1, 2, 2, 2), 9, 9), (1, 2, 5, 5), (3, 3), (2, 2), (0, 0)),
}


def numbers(text: str) -> Array:
    return np.array(text.split(), np.float64).astype(np.float32)


def check(name: str, output: str) -> None:
    expected = EXPECTED[name].ravel()
    found = numbers(output)
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    # At most eight windows hold an element: a division and seven additions, each rounded to float32.
    assert np.allclose(found, expected, rtol=2**-21, atol=0)
    width = EXPECTED[name].shape[-1]
    assert {len(line.split()) for line in output.splitlines()} == {width}


def test_every_example_is_known() -> None:
    assert {path.name for path in EXAMPLES.glob("*.c*")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path) -> None:
    standard = () if name.endswith(".c") else ("-std=c++11",)
    done = run(compile_program(EXAMPLES / name, tmp_path / "example", *standard))
    assert done.returncode == 0, done.stderr
    check(name, done.stdout)


def test_example_by_the_command() -> None:
    done = command("capi", "run", EXAMPLES / "max_pool2d_with_indices.cpp")
    check("max_pool2d_with_indices.cpp", done.stdout)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_all_examples_with_cmake(tmp_path: Path) -> None:
    """As the documents build: their environment is set first, then cmake finds everything by it."""
    script = f"""
        set -e
        environment="$(python -m poolgrad capi env)"
        eval "$environment"
        cmake -S '{EXAMPLES}' -B . > cmake.log
        cmake --build . --parallel 2 2>&1 | tee build.log
        for program in bin/*; do "$program" > "$program.out"; done
    """
    done = run("bash", "-c", script, cwd=tmp_path, env=with_this_python())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (tmp_path / "build.log").read_text()
    for name in EXPECTED:
        check(name, (tmp_path / "bin" / f"{Path(name).stem}.out").read_text())


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_without_the_environment_says_what_to_do(tmp_path: Path) -> None:
    done = run("env", "-u", "ASCEND_HOME_PATH", "cmake", "-S", EXAMPLES, "-B", tmp_path)
    assert done.returncode != 0
    assert "poolgrad capi env" in done.stderr


def with_this_python() -> dict[str, str]:
    """The environment in which a shell's ``python`` is the one that runs the tests."""
    return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
