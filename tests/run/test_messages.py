"""What the door of the Pythonic layer says of arguments that it can't take, or that were meant otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import AclnnError
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

X, GRAD = np.ones((1, 2, 8, 8), np.float32), np.ones((1, 2, 4, 4), np.float32)
EIGHT = ", ".join("3" * 8)

# A call with more numbers than anybody reads, and how its message tells of them.
LONG: list[tuple[str, Callable[[], Any], str]] = [
    ("a shape", lambda: poolgrad.avg_pool2d_backward(GRAD, [3] * 5000, 2), f"shape ({EIGHT}, ... 5000 numbers)."),
    ("too many for any rule", lambda: poolgrad.avg_pool2d(X, [3] * 1001), f"got [{EIGHT}, ... 1001 values]."),
    ("a tuple", lambda: poolgrad.avg_pool2d(X, 2, padding=(3,) * 1001), f"got ({EIGHT}, ... 1001 values)."),
    ("a list as one", lambda: poolgrad.avg_pool2d(X, 2, divisor_override=[3] * 9), f"got [{EIGHT}, ... 9 values]."),
    ("a list as a flag", lambda: poolgrad.avg_pool2d(X, 2, ceil_mode=[3] * 8), f"got [{EIGHT}]."),
    ("a list as a size", lambda: poolgrad.avg_pool2d(X, [[3] * 9, 3]), f"got [{EIGHT}, ... 9 values]."),
    ("digits without end", lambda: poolgrad.avg_pool2d(X, 2, ceil_mode=10**5000), "got an integer of 16610 bits."),
    ("text without end", lambda: poolgrad.avg_pool2d(X, "3" * 500), f"got '{'3' * 37}...{'3' * 38}'."),
]


@pytest.mark.parametrize(("call", "told"), [line[1:] for line in LONG], ids=[line[0] for line in LONG])
def test_of_what_is_long_the_beginning_is_told(call: Callable[[], Any], told: str) -> None:
    with pytest.raises((AclnnError, TypeError), match=re.escape(told)) as caught:
        call()
    assert len(str(caught.value)) < 400


GRADIENTS = [operator for operator in REGISTRY.values() if operator.is_gradient]


def called(operator: Operator, x: Any) -> None:
    """The gradient over that x, with all else that it needs."""
    axes = len(operator.axes)
    grad = np.ones((1, 2, *[4] * axes), np.float32)
    usual = {
        Role.GRADIENT: grad,
        Role.INPUT: x,
        Role.INDICES: grad.astype(np.int32),
        Role.MASK: np.zeros((1, 2, 4, 64), np.int8),
        Role.KERNEL: 2,
    }
    own = [p for p in operator.parameters if not p.output and p.role in usual]
    getattr(poolgrad, operator.python_name)(**{p.python_name: usual[p.role] for p in own})


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("operator", GRADIENTS, ids=lambda o: o.name)
def test_an_array_of_sizes_is_not_taken_for_a_shape_and_the_message_says_so(operator: Operator, dtype: Any) -> None:
    """Whatever row decides, and whomever it blames."""
    shape = (1, 2, *[8] * len(operator.axes))
    told = f"x was taken as an array of shape ({len(shape)},); give a shape as tuple(x). [161002 "
    with pytest.raises(AclnnError, match=re.escape(told)):
        called(operator, np.array(shape, dtype))
    called(operator, tuple(np.array(shape)))
    for other in (shape[:1], np.ones(shape[1:3], np.float32)):
        with pytest.raises(AclnnError) as caught:
            called(operator, other)
        assert "was taken as" not in str(caught.value)


def test_a_mask_has_the_same_hint() -> None:
    told = r"mask_to_indices: x: expected rank 3 or 4; .* x was taken as an array of shape \(4,\); give"
    with pytest.raises(AclnnError, match=told):
        poolgrad.mask_to_indices(np.zeros((1, 2, 4, 32), np.int8), np.array(X.shape), 2)


@pytest.mark.parametrize("x", [[[1, 2], [3, 4]], ((1.0, 2.0),), X.tolist(), (1.0, 2.0, 8.0, 8.0)])
def test_tuples_and_lists_are_shapes_and_the_message_says_so(x: Any) -> None:
    told = r"each size of x must be an integer, got .*\. Tuples and lists are shapes; give an array as numpy\.asarray"
    with pytest.raises(TypeError, match=told):
        poolgrad.avg_pool2d_backward(GRAD, x, 2)
