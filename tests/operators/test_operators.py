"""Operators are found by all the names that people have for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from poolgrad import acl
from poolgrad.operators import REGISTRY, find_operator

# CANN's pooling operators, written down a second time.
FAMILY = """
    AvgPool2d AvgPool2dBackward AvgPool3d AvgPool3dBackward AdaptiveAvgPool2d AdaptiveAvgPool2dBackward
    AdaptiveAvgPool3d AdaptiveAvgPool3dBackward MaxPool MaxPool2dWithIndices MaxPool2dWithIndicesBackward
    MaxPool2dWithMask MaxPool2dWithMaskBackward MaxPool3dWithArgmax MaxPool3dWithArgmaxBackward
    AdaptiveMaxPool2d AdaptiveMaxPool2dBackward AdaptiveMaxPool3d AdaptiveMaxPool3dBackward
"""


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
        ("max_pool2d_mask_backward", "did you mean aclnnMaxPool2dWithMaskBackward?"),
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


def test_the_whole_family_is_here() -> None:
    assert sorted(REGISTRY) == sorted(f"aclnn{name}" for name in FAMILY.split())
    assert len(REGISTRY) == 19


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AvgPool3dBackwards", "aclnnAvgPool3dBackward"),
        ("max_pool3d_with_indices_backward", "aclnnMaxPool3dWithArgmaxBackward"),
        ("max_pool3d_with_indices", "aclnnMaxPool3dWithArgmax"),
        ("adaptive_max_pool3", "aclnnAdaptiveMaxPool3d"),
    ],
)
def test_a_name_of_another_library_is_understood(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean {meant}\\? the known ones"):
        find_operator(name)


def test_other_names_that_the_documented_layer_lacks() -> None:
    for name in ("aclnnConvolution", "aclnnAvgPool2dForward", "nonsense"):
        with pytest.raises(AttributeError, match=f"^module 'poolgrad.acl' has no attribute '{name}'$"):
            getattr(acl, name)


def test_python_offers_similar_names_for_a_typo() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from poolgrad import acl; acl.aclrtMaloc"], capture_output=True, text=True, timeout=60
    )
    assert "has no attribute 'aclrtMaloc'. Did you mean: 'aclrtMalloc'?" in done.stderr.splitlines()[-1]
