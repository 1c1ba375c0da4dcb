"""What the door of the Pythonic layer says of arguments that it can't take, or that were meant otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import AclnnError

X, GRAD = np.ones((1, 2, 8, 8), np.float32), np.ones((1, 2, 4, 4), np.float32)
EIGHT = ", ".join("3" * 8)

# A call with more numbers than anybody reads, and how its message tells of them.
LONG: list[tuple[str, Callable[[], Any], str]] = [
    ("a shape", lambda: poolgrad.avg_pool2d_backward(GRAD, [3] * 5000, 2), f"shape ({EIGHT}, ... 5000 numbers)."),
    ("too many for any rule", lambda: poolgrad.avg_pool2d(X, [3] * 1001), f"got [{EIGHT}, ... 1001 values]."),
    ("a tuple", lambda: poolgrad.avg_pool2d(X, 2, padding=(3,) * 1001), f"got ({EIGHT}, ... 1001 values)."),
    ("a list as a number", lambda: poolgrad.avg_pool2d(X, 2, divisor_override=[3] * 9), f"got [{EIGHT}, ... 9 values]."),
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
