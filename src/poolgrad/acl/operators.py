"""The four operators under their documented names, in two phases."""

from __future__ import annotations

from ..base.status import ACLNN_ERR_INNER
from ..operators import REGISTRY
from .executors import phase_one, phase_two
from .messages import guarded

Handle = int | None
PhaseOne = tuple[int | None, int | None, int]


@guarded(ACLNN_ERR_INNER, outputs=2)
def aclnnAvgPool2dBackwardGetWorkspaceSize(
    gradOutput: Handle,
    self: Handle,
    kernelSize: Handle,
    stride: Handle,
    padding: Handle,
    ceilMode: bool,
    countIncludePad: bool,
    divisorOverride: int,
    cubeMathType: int,
    gradInput: Handle,
) -> PhaseOne:
    """Check and plan the gradient of 2-D average pooling: workspace size, executor, status."""
    return phase_one(REGISTRY["aclnnAvgPool2dBackward"], locals())


@guarded(ACLNN_ERR_INNER)
def aclnnAvgPool2dBackward(workspace: Handle, workspaceSize: int, executor: Handle, stream: Handle) -> int:
    """Run the plan of an executor on a stream."""
    return phase_two(REGISTRY["aclnnAvgPool2dBackward"], workspace, workspaceSize, executor, stream)


@guarded(ACLNN_ERR_INNER, outputs=2)
def aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput: Handle, self: Handle, out: Handle) -> PhaseOne:
    """Check and plan the gradient of 3-D adaptive average pooling: workspace size, executor, status."""
    return phase_one(REGISTRY["aclnnAdaptiveAvgPool3dBackward"], locals())


@guarded(ACLNN_ERR_INNER)
def aclnnAdaptiveAvgPool3dBackward(workspace: Handle, workspaceSize: int, executor: Handle, stream: Handle) -> int:
    """Run the plan of an executor on a stream."""
    return phase_two(REGISTRY["aclnnAdaptiveAvgPool3dBackward"], workspace, workspaceSize, executor, stream)


@guarded(ACLNN_ERR_INNER, outputs=2)
def aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize(
    gradOutput: Handle,
    self: Handle,
    indices: Handle,
    kernelSize: Handle,
    stride: Handle,
    padding: Handle,
    dilation: Handle,
    ceilMode: bool,
    gradInput: Handle,
) -> PhaseOne:
    """Check and plan the gradient of 2-D max pooling: workspace size, executor, status."""
    return phase_one(REGISTRY["aclnnMaxPool2dWithIndicesBackward"], locals())


@guarded(ACLNN_ERR_INNER)
def aclnnMaxPool2dWithIndicesBackward(workspace: Handle, workspaceSize: int, executor: Handle, stream: Handle) -> int:
    """Run the plan of an executor on a stream."""
    return phase_two(REGISTRY["aclnnMaxPool2dWithIndicesBackward"], workspace, workspaceSize, executor, stream)


@guarded(ACLNN_ERR_INNER, outputs=2)
def aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(
    gradOutput: Handle, self: Handle, indices: Handle, gradInput: Handle
) -> PhaseOne:
    """Check and plan the gradient of 2-D adaptive max pooling: workspace size, executor, status."""
    return phase_one(REGISTRY["aclnnAdaptiveMaxPool2dBackward"], locals())


@guarded(ACLNN_ERR_INNER)
def aclnnAdaptiveMaxPool2dBackward(workspace: Handle, workspaceSize: int, executor: Handle, stream: Handle) -> int:
    """Run the plan of an executor on a stream."""
    return phase_two(REGISTRY["aclnnAdaptiveMaxPool2dBackward"], workspace, workspaceSize, executor, stream)
