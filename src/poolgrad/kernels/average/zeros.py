"""The gradient of an average without any windows: nothing flows, so every element becomes zero."""

from __future__ import annotations

from typing import Any

from ..record import NOTHING
from ..rows import zero_row


def average_zeros(
    records: Any, grad: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any
) -> int:
    """Rows ``begin`` to ``end``, counted over planes, layers and rows."""
    plan = records[0]
    steps, depth, height = plan.result_steps, plan.size[0], plan.size[1]
    for row in range(begin, end):
        plane, h = row // (depth * height), row % (depth * height)
        at = result + plane // plan.channels * steps[0] + plane % plan.channels * steps[1]
        zero_row(at + h // height * steps[2] + h % height * steps[3], steps[4], plan.code, plan.size[2])
    return NOTHING
