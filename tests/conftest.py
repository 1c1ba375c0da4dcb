"""Fixtures for tests of several files."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from planning import Planning

import poolgrad
from poolgrad.run.calls import forget_calls

if TYPE_CHECKING:
    from capi.library import Library

# A shell has what it starts in the background ignore Ctrl-C, which is handed down to every process. Tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_known_calls() -> None:
    """Tests change what verdicts depend on."""
    forget_calls()


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Planning:
    """What decides on plans from now on, and records them."""
    planning = Planning()
    monkeypatch.setattr(poolgrad.run.prepared, "prepare", planning.prepare)
    return planning


@pytest.fixture
def guarded_scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every call gets just the scratch that its plan booked, full of rubbish (NaN, and -1 for integers), and must not
    touch what lies around it."""
    zone, given = 4096, []

    def new_scratch(size: int) -> tuple[int, object]:
        memory = np.full(size + 2 * zone, 255, np.uint8)
        given.append(memory)
        return memory.ctypes.data + zone, memory

    monkeypatch.setattr(poolgrad.run.execute, "KEPT_SCRATCH", -1)
    monkeypatch.setattr(poolgrad.run.execute, "new_scratch", new_scratch)
    forget_calls()
    yield
    for memory in given:
        assert (memory[:zone] == 255).all()
        assert (memory[-zone:] == 255).all()


@pytest.fixture(scope="session")
def loaded() -> Iterator[Library]:
    """The C library, loaded once for all tests that drive it from Python."""
    from capi.library import Library
    from capi.toolchain import prefix

    library = Library(prefix())
    yield library
    library.close()


@pytest.fixture
def library(loaded: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The library, not initialised, an Atlas A2, silent, and without a message."""
    monkeypatch.setenv("POOLGRAD_LOG", "0")
    loaded.set_product("Atlas A2")
    loaded.aclGetRecentErrMsg()
    yield loaded
    loaded.set_product("Atlas A2")
    loaded.aclFinalize()
