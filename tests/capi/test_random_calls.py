"""The calls of the soak, a few of each kind: every operator gives the same bits through C as in Python."""

from __future__ import annotations

import device
import pytest
from capi.library import Library
from capi.random_calls import OPERATORS, Worker


@pytest.fixture
def worker(library: Library, runtime: None, monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setattr(device, "acl", library)
    return Worker(library, 7)


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator(operator: str, worker: Worker) -> None:
    for _ in range(10):
        worker.call(operator)


def test_all_that_a_step_may_be(worker: Worker) -> None:
    for _ in range(20):
        worker.step()
