"""Operators are found by all the names that people have for them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from poolgrad import acl
from poolgrad.operators import ABSENT, REGISTRY, find_operator

# CANN's pooling operators, written down a second time.
FAMILY = """
    AvgPool2d AvgPool2dBackward AvgPool3d AvgPool3dBackward AdaptiveAvgPool2d AdaptiveAvgPool2dBackward
    AdaptiveAvgPool3d AdaptiveAvgPool3dBackward MaxPool MaxPool2dWithIndices MaxPool2dWithIndicesBackward
    MaxPool2dWithMask MaxPool2dWithMaskBackward MaxPool3dWithArgmax MaxPool3dWithArgmaxBackward
    AdaptiveMaxPool2d AdaptiveMaxPool2dBackward AdaptiveMaxPool3d AdaptiveMaxPool3dBackward
"""
OTHERS = sorted({f"aclnn{name}" for name in FAMILY.split()} - set(REGISTRY))


@pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.name)
def test_an_operator_has_many_names(operator) -> None:
    short = operator.name.removeprefix("aclnn")
    plain = (operator.name, short, short.lower(), operator.name.upper(), operator.python_name, f" {short} ")
    for name in (*plain, f"torch.ops.aten.{operator.python_name}"):
        assert find_operator(name) is operator


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AvgPool2dBackwards", "did you mean aclnnAvgPool2dBackward?"),
        ("max_pool2d_backward", "did you mean aclnnMaxPool2dWithIndicesBackward?"),
        ("avgpool", "did you mean aclnnAvgPool2d?"),
    ],
)
def test_a_name_that_is_almost_right_is_understood(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match="unknown operator") as error:
        find_operator(name)
    assert meant in str(error.value)


@pytest.mark.parametrize("name", ["conv2d", "", "aclnn", None, 7])
def test_a_wrong_name_gets_the_list(name: object) -> None:
    with pytest.raises(ValueError, match="unknown operator") as error:
        find_operator(name)
    assert "did you mean" not in str(error.value)
    assert all(known in str(error.value) for known in REGISTRY)


def test_every_pooling_operator_is_here_or_known_to_be_absent() -> None:
    assert sorted(ABSENT) == OTHERS
    assert len(FAMILY.split()) == 19


@pytest.mark.parametrize("name", OTHERS)
def test_an_operator_that_only_cann_has(name: str) -> None:
    short = name.removeprefix("aclnn")
    snake = re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", short).lower()
    for written in (name, short, short.lower(), snake, f"torch.ops.aten.{snake}"):
        with pytest.raises(ValueError, match=f"CANN has {name}, and poolgrad does not") as error:
            find_operator(written)
        assert "did you mean" not in str(error.value)
        assert all(known in str(error.value) for known in REGISTRY)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AvgPool3dBackwards", "aclnnAvgPool3dBackward"),
        ("max_pool3d_with_indices_backward", "aclnnMaxPool3dWithArgmaxBackward"),
        ("max_pool3d_with_indices", "aclnnMaxPool3dWithArgmax"),
        ("adaptive_max_pool3", "aclnnAdaptiveMaxPool3d"),
    ],
)
def test_an_operator_that_perhaps_only_cann_has_almost_right(name: str, meant: str) -> None:
    ours = [known for known in (meant, f"{meant}Backward") if known in REGISTRY]  # of several that are as like
    remark = "the known ones" if ours else "CANN has it, and poolgrad does not; "
    with pytest.raises(ValueError, match=f"did you mean {ours[0] if ours else meant}\\? {remark}"):
        find_operator(name)


@pytest.mark.parametrize("name", OTHERS)
def test_the_documented_functions_of_such_an_operator(name: str) -> None:
    for function in (name, f"{name}GetWorkspaceSize"):
        assert not hasattr(acl, function)
        with pytest.raises(AttributeError, match=f"^CANN has {name}, and poolgrad does not; it has ") as error:
            getattr(acl, function)
        assert error.value.name == function


def test_other_names_that_the_documented_layer_lacks() -> None:
    for name in ("aclnnConvolution", "aclnnAvgPool2dForward", "nonsense"):
        with pytest.raises(AttributeError, match=f"^module 'poolgrad.acl' has no attribute '{name}'$"):
            getattr(acl, name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((name, f"AttributeError: CANN has {name}, and poolgrad does not; ") for name in OTHERS[:1]),
        ("aclrtMaloc", "has no attribute 'aclrtMaloc'. Did you mean: 'aclrtMalloc'?"),
    ],
)
def test_what_python_itself_adds(name: str, told: str) -> None:
    """It offers similar names where a traceback ends, which is help for a typo and confusion for another operator."""
    code = f"from poolgrad import acl; acl.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    last = done.stderr.splitlines()[-1]
    assert told in last
    assert ("Did you mean" in last) == (name == "aclrtMaloc")
