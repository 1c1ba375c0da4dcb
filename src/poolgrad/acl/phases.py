"""Both phases of every operator under their documented names. Made by tools/make_docs.py."""

from .operators import PHASES

aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize = PHASES["aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize"]
aclnnAdaptiveAvgPool2dBackward = PHASES["aclnnAdaptiveAvgPool2dBackward"]
aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize = PHASES["aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize"]
aclnnAdaptiveAvgPool3dBackward = PHASES["aclnnAdaptiveAvgPool3dBackward"]
aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize = PHASES["aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize"]
aclnnAdaptiveMaxPool2dBackward = PHASES["aclnnAdaptiveMaxPool2dBackward"]
aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize = PHASES["aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize"]
aclnnAdaptiveMaxPool3dBackward = PHASES["aclnnAdaptiveMaxPool3dBackward"]
aclnnAvgPool2dBackwardGetWorkspaceSize = PHASES["aclnnAvgPool2dBackwardGetWorkspaceSize"]
aclnnAvgPool2dBackward = PHASES["aclnnAvgPool2dBackward"]
aclnnAvgPool3dBackwardGetWorkspaceSize = PHASES["aclnnAvgPool3dBackwardGetWorkspaceSize"]
aclnnAvgPool3dBackward = PHASES["aclnnAvgPool3dBackward"]
aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize = PHASES["aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize"]
aclnnMaxPool2dWithIndicesBackward = PHASES["aclnnMaxPool2dWithIndicesBackward"]
aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize = PHASES["aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize"]
aclnnMaxPool3dWithArgmaxBackward = PHASES["aclnnMaxPool3dWithArgmaxBackward"]

__all__ = [
    "aclnnAdaptiveAvgPool2dBackward",
    "aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize",
    "aclnnAdaptiveAvgPool3dBackward",
    "aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize",
    "aclnnAdaptiveMaxPool2dBackward",
    "aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize",
    "aclnnAdaptiveMaxPool3dBackward",
    "aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize",
    "aclnnAvgPool2dBackward",
    "aclnnAvgPool2dBackwardGetWorkspaceSize",
    "aclnnAvgPool3dBackward",
    "aclnnAvgPool3dBackwardGetWorkspaceSize",
    "aclnnMaxPool2dWithIndicesBackward",
    "aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize",
    "aclnnMaxPool3dWithArgmaxBackward",
    "aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize",
]
