"""A runtime of the C library for each test that drives it from Python."""

from __future__ import annotations

import pytest
from capi.library import Library


@pytest.fixture
def runtime(library: Library) -> None:
    assert library.aclInit(None) == 0
    assert library.aclrtSetDevice(0) == 0


@pytest.fixture
def stream(library: Library, runtime: None) -> int:
    handle, ret = library.aclrtCreateStream()
    assert ret == 0
    return int(handle)
