"""Programs in the documents' manner: no warning under any standard, and the numbers that they should print."""

from __future__ import annotations

from pathlib import Path

import pytest
from capi.toolchain import PROGRAMS, compile_program, run

STANDARDS = ("c++11", "c++14", "c++17", "c++20")
# By hand: 2 x 2 windows with stride 1 over 3 x 3; 3 columns in 2 windows that share the middle one, over a depth of 2;
# both gradients to index 4; one gradient to index 2.
FOUR_OPERATORS = [
    [0.25, 0.75, 0.5, 1, 2.5, 1.5, 0.75, 1.75, 1],
    [1, 3, 2, 1, 3, 2],
    [0, 0, 0, 0, 0.625, 0],
    [0, 0, 0.75, 0],
]


@pytest.mark.parametrize("standard", STANDARDS)
def test_four_operators(standard: str, tmp_path: Path) -> None:
    program = compile_program(PROGRAMS / "four_operators.cpp", tmp_path / "program", f"-std={standard}")
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert [[float(word) for word in line.split()] for line in done.stdout.splitlines()] == FOUR_OPERATORS


@pytest.mark.parametrize("option", ["-O2", "-Ofast"])
def test_half_precision_in_any_floating_point_mode(option: str, tmp_path: Path) -> None:
    """Programs linked with -Ofast are in another one from the start."""
    done = run(compile_program(PROGRAMS / "halves.cpp", tmp_path / "program", option))
    assert (done.returncode, done.stdout) == (0, "up 0\ndown 0\nto zero 0\ntiny is zero 0\n")


def test_threads_that_race_for_the_first_call(tmp_path: Path) -> None:
    program = compile_program(PROGRAMS / "threads.cpp", tmp_path / "program")
    done = run(program, env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrong 0\n", "")


def test_pages_of_another_size(tmp_path: Path) -> None:
    done = run(compile_program(PROGRAMS / "large_pages.cpp", tmp_path / "program", "-rdynamic"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "asked 0\n", "")


def test_objects_that_are_made_for_each_call_take_no_messages(tmp_path: Path) -> None:
    done = run(compile_program(PROGRAMS / "objects.cpp", tmp_path / "program", "-rdynamic"), "messages")
    assert (done.returncode, done.stderr) == (0, "")
    stay, new = done.stdout.split()
    assert new == stay


def test_objects_are_known_to_all_threads(tmp_path: Path) -> None:
    program = compile_program(PROGRAMS / "objects.cpp", tmp_path / "program", "-rdynamic")
    done = run(program, env={"POOLGRAD_LOG": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrong 0\n", "")
