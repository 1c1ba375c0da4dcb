"""A runtime per test, and gates that hold a stream's worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from acl_helpers import Gate, new_stream

from poolgrad.acl import device, messages, state


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


@pytest.fixture
def runtime() -> None:
    assert device.aclInit(None) == 0
    assert device.aclrtSetDevice(0) == 0


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
