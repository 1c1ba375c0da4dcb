"""Small calls that are found by how their arrays look: every operator gets there, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contract_cases import DOCUMENTS

import poolgrad
from poolgrad import AclnnError, IndexRangeError
from poolgrad.contract.operator import Operator
from poolgrad.operators import REGISTRY
from poolgrad.run import small_calls, threads
from poolgrad.run.calls import forget_calls
from poolgrad.run.execute import Task
from poolgrad.run.small_calls import SMALL_CALLS, SmallCall

GRAD, INDICES = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2), np.zeros((1, 2, 2, 2), np.int32)
X, OUT = np.zeros((1, 2, 4, 4), np.float32), np.zeros((1, 2, 4, 4), np.float32)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_calls, "OFTEN", 2)
    monkeypatch.setattr(small_calls, "MOMENT", 1e9)
    forget_calls()


class Counted:
    """What a small call answered, each time."""

    def __init__(self, call: SmallCall) -> None:
        self.answers: list[int] = []
        self._run, call.run = call.run, self

    def __call__(self, *arrays: int) -> int:
        self.answers.append(self._run(*arrays))
        return self.answers[-1]


def counted(call: Callable[[], Any]) -> Counted:
    """The only small call, which this call becomes."""
    for _ in range(3):
        call()
    (small,) = SMALL_CALLS.values()
    return Counted(small)


@pytest.mark.parametrize("with_out", [False, True], ids=["results made", "results given"])
@pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.name)
def test_every_operator(operator: Operator, with_out: bool) -> None:
    sample = next(sample for sample in DOCUMENTS[operator.name].samples if not sample.status)
    given = sample.arrays()
    arrays = [given[p.name] for p in operator.inputs]
    numbers = {p.python_name: sample.call[p.name] for p in operator.numbers}

    def call(**out: Any) -> Any:
        return getattr(poolgrad, operator.python_name)(*arrays, **numbers, **out)

    expected = call()
    results = expected if type(expected) is tuple else (expected,)
    made = tuple(np.full_like(one, 77) for one in results)
    out = {"out": made if type(expected) is tuple else made[0]} if with_out else {}
    small = counted(lambda: call(**out))
    got = call(**out)
    assert small.answers == [-1]
    for one, other in zip(results, got if type(got) is tuple else (got,), strict=True):
        assert one.tobytes() == other.tobytes()
        assert one.strides == other.strides


def gradient(grad: Any = GRAD, x: Any = X, indices: Any = INDICES, kernel_size: Any = 2, **more: Any) -> Any:
    return poolgrad.max_pool2d_with_indices_backward(grad, x, indices, kernel_size, **{"out": OUT, **more})


def read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


LOOK_DIFFERENT: dict[str, dict[str, Any]] = {
    "a shape for x": {"x": (1, 2, 4, 4)},
    "other indices": {"indices": INDICES.astype(np.int64)},
    "indices every second": {"indices": np.zeros((1, 2, 2, 4), np.int32)[..., ::2]},
    "gradients turned": {"grad": GRAD.transpose(0, 1, 3, 2)},
    "a larger x": {"x": np.zeros((1, 2, 5, 5), np.float32), "out": np.zeros((1, 2, 5, 5), np.float32)},
    "a subclass": {"grad": GRAD.view(np.matrix) if GRAD.ndim == 2 else GRAD.view(np.recarray)},
    "the same type as another object": {"grad": GRAD.view(np.dtype("f4", metadata={"a": 1}))},
    "a new result": {"out": None},
    "a result upside down": {"out": np.zeros((1, 2, 4, 4), np.float32)[:, :, ::-1]},
}


@pytest.mark.parametrize("change", LOOK_DIFFERENT.values(), ids=LOOK_DIFFERENT)
def test_what_looks_different_is_looked_at_closely(change: dict[str, Any]) -> None:
    small = counted(gradient)
    result = gradient(**change)
    assert -1 not in small.answers or change == {"out": None}
    forget_calls()
    assert result.tobytes() == gradient(**change).tobytes()


REFUSED: dict[str, dict[str, Any]] = {
    "a result that is read only": {"out": read_only(OUT)},
    "a result that is the gradient": {"grad": OUT[:, :, :2, :2]},
    "indices of another shape": {"indices": INDICES[..., :1]},
    "float32 beside float16": {"x": X.astype(np.float16)},
    "True as a kernel, which is 1": {"kernel_size": True},
    "a kernel of 2.0": {"kernel_size": 2.0},
    "two results": {"out": (OUT, OUT)},
    "a list of a result": {"out": [OUT]},
    "a tuple of a result": {"out": (OUT,)},
    "too many results": {"out": (OUT, OUT, OUT)},
    "a bad index": {"indices": INDICES + 16},
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_mistakes_are_answered_as_the_first_time(change: dict[str, Any]) -> None:
    with pytest.raises((AclnnError, IndexRangeError, TypeError)) as first:
        gradient(**change)
    forget_calls()
    counted(gradient)
    with pytest.raises(first.type) as again:
        gradient(**change)
    assert str(again.value) == str(first.value)


def test_an_array_that_changes_its_shape() -> None:
    grad = GRAD.copy()
    small = counted(lambda: gradient(grad=grad))
    grad.shape = (1, 2, 1, 4)
    with pytest.raises(AclnnError):
        gradient(grad=grad)
    grad.shape = GRAD.shape
    gradient(grad=grad)
    assert small.answers == [-1]


def test_an_array_that_somebody_changes_while_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next caller gets what its own arrays ask for."""
    x, meanwhile = np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8), Task.run

    def run(task: Task, *tensors: int) -> int:
        answer = meanwhile(task, *tensors)
        x.shape = (1, 4, 4, 4)
        return answer

    poolgrad.max_pool(x, 2)
    with monkeypatch.context() as patch:
        patch.setattr(Task, "run", run)
        for _ in range(4):
            x.shape = (1, 1, 8, 8)
            poolgrad.max_pool(x, 2)
    for shape in ((1, 1, 8, 8), (1, 4, 4, 4)):
        again = np.arange(64, dtype=np.float32).reshape(shape)
        first = poolgrad.max_pool(again, 2)
        forget_calls()
        assert np.array_equal(first, poolgrad.max_pool(again, 2))


def test_a_call_that_took_long_once_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_calls, "MOMENT", 0)
    for _ in range(4):
        gradient()
    monkeypatch.setattr(small_calls, "MOMENT", 1e9)
    for _ in range(8):
        gradient()
    assert SMALL_CALLS


def test_a_call_with_helpers_is_no_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "count", 2)
    x = np.ones((4, 64, 64, 64), np.float32)
    for _ in range(4):
        poolgrad.avg_pool2d(x, 2)
    assert not SMALL_CALLS


def test_a_call_that_takes_longer_than_a_moment_is_no_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_calls, "MOMENT", 0)
    for _ in range(4):
        gradient()
    assert not SMALL_CALLS


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_calls, "MOST_KEPT", 3)
    for size in range(4, 12):
        x = np.ones((1, 1, size, size), np.float32)
        for _ in range(3):
            poolgrad.avg_pool2d(x, 2)
    assert 0 < len(SMALL_CALLS) <= 3
