"""Where a plane lies in each of the three tensors of a maximum."""

from __future__ import annotations

from typing import Any

from ..jit.memory import inlined_piece


@inlined_piece
def plane_at(plan: Any, p: int, grad: int, indices: int, result: int) -> tuple[int, int, int]:
    """The addresses of a plane's gradients, indices and results, of planes that are counted n * channels + c."""
    n, c = p // plan.channels, p % plan.channels
    return (
        grad + n * plan.grad_steps[0] + c * plan.grad_steps[1],
        indices + n * plan.index_steps[0] + c * plan.index_steps[1],
        result + n * plan.result_steps[0] + c * plan.result_steps[1],
    )


@inlined_piece
def first_plane(plan: Any, unit: int) -> int:
    """The first plane of a unit: one plane, or a piece of the channels of an image, which has so many pieces."""
    return unit // plan.pieces * plan.channels + unit % plan.pieces * plan.channels // plan.pieces


@inlined_piece
def share_of(plan: Any, planes: int) -> int:
    """How often so many planes are in a unit, by and large."""
    return max(plan.channels // (plan.pieces * planes), 1)
