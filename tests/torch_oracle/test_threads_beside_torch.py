"""How many threads work on torch tensors: as many as torch says, until somebody asks poolgrad for a number."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from planning import Planning

import poolgrad
from poolgrad.plans.plan import Plan
from poolgrad.run import threads

SHAPE = (1, 4, 8, 8)


@pytest.fixture
def planned(planning: Planning, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Plan]]:
    """Into how many parts each call was divided that had to be planned; as in a process where nobody set a number."""
    planning.use(ways=["rows"], time_of_part=1)  # eight planes at a time could not be divided
    monkeypatch.setattr(threads, "is_set", False)
    monkeypatch.setattr(threads, "count", 5)
    before = torch.get_num_threads()
    yield planning.plans
    torch.set_num_threads(before)


@pytest.mark.parametrize("with_out", [False, True])
def test_torchs_number_is_part_of_a_call(with_out: bool, planned: list[Plan]) -> None:
    grad, out = torch.ones(1, 4, 4, 4), torch.empty(SHAPE) if with_out else None
    for number in (1, 3, 1, 2, 3):
        torch.set_num_threads(number)
        for _ in range(2):
            assert (poolgrad.avg_pool2d_backward(grad, SHAPE, 2, out=out) == 0.25).all()
    assert [made.parts for made in planned] == [1, 3, 2]


def test_arrays_of_other_kinds_do_not_ask_torch(planned: list[Plan]) -> None:
    torch.set_num_threads(2)
    poolgrad.avg_pool2d_backward(np.ones((1, 4, 4, 4), np.float32), SHAPE, 2)
    poolgrad.avg_pool2d_backward(torch.ones(1, 4, 4, 4), SHAPE, 2)
    poolgrad.avg_pool2d_backward(np.ones((1, 5, 4, 4), np.float32), torch.empty(1, 5, 8, 8), 2)
    assert [made.parts for made in planned] == [5, 2, 5]
    assert poolgrad.get_num_threads() == 5


def test_a_number_asked_of_poolgrad_wins(planned: list[Plan]) -> None:
    grad = torch.ones(1, 4, 4, 4)
    torch.set_num_threads(2)
    poolgrad.avg_pool2d_backward(grad, SHAPE, 2)
    poolgrad.set_num_threads(3)
    for number in (2, 1):
        torch.set_num_threads(number)
        poolgrad.avg_pool2d_backward(grad, SHAPE, 2)
    assert [made.parts for made in planned] == [2, 3]


PROCESS = """if True:
    import sys, torch, poolgrad
    from poolgrad.run import threads
    exec(sys.argv[1])
    poolgrad.avg_pool2d_backward(torch.ones(4, 16, 64, 64), (4, 16, 128, 128), 2)
    print(threads._TEAM.workers + 1)
"""


@pytest.mark.parametrize(
    ("setting", "environment", "expected"),
    [
        ("torch.set_num_threads(1)", {}, 1),
        ("torch.set_num_threads(3)", {}, 3),
        ("", {"OMP_NUM_THREADS": "1"}, 1),
        ("torch.set_num_threads(1); poolgrad.set_num_threads(2)", {}, 2),
    ],
)
def test_a_fresh_process(setting: str, environment: dict[str, str], expected: int) -> None:
    command = [sys.executable, "-c", PROCESS, setting]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout.split() == [str(expected)], done.stderr
