"""Operators are found by all the names that people have for them."""

from __future__ import annotations

import pytest

from poolgrad.operators import REGISTRY, find_operator


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
        ("avgpool", "did you mean aclnnAvgPool2dBackward?"),
        ("adaptive_avg_pool2d_backward", "did you mean aclnnAdaptiveAvgPool3dBackward?"),
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
