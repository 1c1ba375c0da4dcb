"""Programs compiled once, and a look at what each test leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from capi.toolchain import PROGRAMS, compile_program, run
from capi.traces import Traces, nothing_left_behind


@pytest.fixture(scope="session")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of unusual ends; run once, so that kernels are compiled before anything is interrupted."""
    program = compile_program(PROGRAMS / "ends.cpp", tmp_path_factory.mktemp("programs") / "ends")
    assert run(program, "plain").stdout == "right\n"
    return program


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(PROGRAMS / "forks.cpp", tmp_path_factory.mktemp("programs") / "forks")


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Traces]:
    with nothing_left_behind(tmp_path) as watched:
        yield watched
