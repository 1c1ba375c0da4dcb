"""A runtime per test, gates that hold a stream's worker, and doors: the same tests drive Python's layer and C's.

A test that is marked with ``doors("Python", "C")`` runs once for each of them. Those of what C does not have are for
Python alone: Python's own objects as arguments, and looks at the inside of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import acl_helpers
import device as device_helpers
import pytest
from acl_helpers import Gate, new_stream

from poolgrad import acl
from poolgrad.acl import device, messages, state

# Names under which tests and their helpers know parts of the documented layer.
PARTS = ("acl", "device", "events", "memory", "messages", "objects", "options", "streams")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("doors")
    if marker:
        metafunc.parametrize("door", marker.args, indirect=True)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins with a runtime that was never initialised and no message."""
    for name in ("POOLGRAD_PRODUCT", "POOLGRAD_DEVICES", "POOLGRAD_LOG"):
        monkeypatch.delenv(name, raising=False)
    _down()
    chosen = list(state._CHOSEN)
    state._CHOSEN.clear()
    state.RUNTIME.was_finalized = False
    messages.aclGetRecentErrMsg()
    yield
    _down()
    state._CHOSEN[:] = chosen


def _down() -> None:
    if state.RUNTIME.up:
        device.aclFinalize()


@pytest.fixture(autouse=True)
def door(request: pytest.FixtureRequest, clean: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The layer that the test drives, wherever it or a helper names a part of it."""
    if getattr(request, "param", "Python") == "Python":
        yield acl
        return
    library = request.getfixturevalue("library")
    for module in (request.module, acl_helpers, device_helpers):
        for part in PARTS:
            if getattr(vars(module).get(part), "__name__", "").startswith("poolgrad.acl"):
                monkeypatch.setattr(module, part, library)
    calls = library.calls
    yield library
    assert library.calls > calls, "the test never met the C library"


@pytest.fixture
def runtime(door: Any) -> None:
    assert door.aclInit(None) == 0
    assert door.aclrtSetDevice(0) == 0


@pytest.fixture
def gate(clean: None) -> Iterator[Callable[[], Gate]]:
    """Makes gates; all open at the end, so that a failing test hangs nobody."""
    gates: list[Gate] = []

    def make() -> Gate:
        gates.append(Gate())
        return gates[-1]

    yield make
    for each in gates:
        each.open()


@pytest.fixture
def stream(runtime: None) -> int:
    return new_stream()
