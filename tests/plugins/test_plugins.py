"""What all plug-ins share."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from plugins.example_calls import AVG, MAX, parameters

from poolgrad.operators import REGISTRY
from poolgrad.plugins import msopst, ttk
from poolgrad.plugins.calls import bound, golden


def test_arguments_find_their_parameters() -> None:
    operator, x, grad = REGISTRY[AVG], np.zeros(1), np.ones(1)
    assert bound(operator, (grad, x, 3), {}) == {"gradOutput": grad, "self": x, "kernelSize": 3}
    assert bound(operator, (grad, x), {"stride": 2}) == {"gradOutput": grad, "self": x, "stride": 2}
    assert bound(operator, (x,), {"GRAD_OUTPUT": grad}) == {"gradOutput": grad, "self": x}
    assert bound(operator, (3,), {"gradOutput": grad, "Input": x}) == {"gradOutput": grad, "self": x, "kernelSize": 3}
    null = {"gradOutput": grad, "self": None, "kernelSize": 3, "gradInput": x}
    assert bound(operator, (grad, None, 3, x), {}) == null
    assert bound(operator, (grad, x, np.int64(3)), {}) == {"gradOutput": grad, "self": x, "kernelSize": 3}
    assert bound(operator, (), {"what": 3}) == {}
    with pytest.raises(TypeError, match="no parameter left"):
        bound(operator, (x, x, x, x), {"stride": 2})


def test_a_whole_call_in_order_needs_no_names() -> None:
    operator, given = REGISTRY[MAX], parameters(MAX)
    again = bound(operator, list(given.values()), {"gradInput": np.ones(1), "stride": 9, "tensor_formats": ("ND",)})
    assert list(again) == list(given)
    assert all(again[name] is value for name, value in given.items())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ceilMode", 2, "ceilMode must be True or False, got 2"),
        ("ceilMode", None, "ceilMode must be True or False, got None"),
        ("divisorOverride", 2.0, "divisorOverride must be an integer, got 2.0"),
        ("kernelSize", "2", "kernelSize must be an integer or integers, got '2'"),
        ("kernelSize", [2.0], r"kernelSize must be an integer or integers, got \[2.0\]"),
        ("padding", 0.5, "padding must be an integer or integers, got 0.5"),
    ],
)
def test_numbers_that_are_none_are_named(name: str, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        golden(REGISTRY[AVG], parameters(AVG) | {name: value})


def test_numbers_may_be_numpys() -> None:
    plain = golden(REGISTRY[AVG], parameters(AVG))
    strange = {"kernelSize": np.array([2, 2]), "stride": np.int64(2), "ceilMode": np.False_, "divisorOverride": None}
    assert np.array_equal(plain, golden(REGISTRY[AVG], parameters(AVG) | strange))


def test_tools_are_told_where_the_files_are() -> None:
    def said(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "poolgrad.plugins", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip()

    assert said("ttk") == (0, ttk.__file__)
    assert said("msopst") == (0, msopst.__file__)
    assert said("what") == (2, "")


def test_plug_ins_need_no_torch() -> None:
    code = """if True:
        import sys, poolgrad.plugins.ttk, poolgrad.plugins.msopst
        print('torch' in sys.modules, 'numba' in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
