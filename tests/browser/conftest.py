"""One browser for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.chromium import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()
