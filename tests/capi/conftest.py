"""A runtime of the C library for each test that drives it from Python."""

from __future__ import annotations

import pytest
from capi.library import Library
<<<<<<< HEAD
=======
from capi.toolchain import prefix


@pytest.fixture(scope="session")
def loaded() -> Iterator[Library]:
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
>>>>>>> s-acl


@pytest.fixture
def runtime(library: Library) -> None:
    assert library.aclInit(None) == 0
    assert library.aclrtSetDevice(0) == 0


@pytest.fixture
def stream(library: Library, runtime: None) -> int:
    handle, ret = library.aclrtCreateStream()
    assert ret == 0
    return int(handle)
