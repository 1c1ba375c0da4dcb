"""Both phases of every operator under their documented names. Made by tools/make_docs.py."""

from .operators import PHASES as _PHASES

aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize = _PHASES["aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize"]
aclnnAdaptiveAvgPool3dBackward = _PHASES["aclnnAdaptiveAvgPool3dBackward"]
aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize = _PHASES["aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize"]
aclnnAdaptiveMaxPool2dBackward = _PHASES["aclnnAdaptiveMaxPool2dBackward"]
aclnnAvgPool2dBackwardGetWorkspaceSize = _PHASES["aclnnAvgPool2dBackwardGetWorkspaceSize"]
aclnnAvgPool2dBackward = _PHASES["aclnnAvgPool2dBackward"]
aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize = _PHASES["aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize"]
aclnnMaxPool2dWithIndicesBackward = _PHASES["aclnnMaxPool2dWithIndicesBackward"]
