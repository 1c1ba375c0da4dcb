"""Both phases of every operator under their documented names. Made by tools/make_docs.py."""

from .operators import PHASES as _PHASES

aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize = _PHASES["aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize"]
aclnnAdaptiveAvgPool2dBackward = _PHASES["aclnnAdaptiveAvgPool2dBackward"]
aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize = _PHASES["aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize"]
aclnnAdaptiveAvgPool3dBackward = _PHASES["aclnnAdaptiveAvgPool3dBackward"]
aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize = _PHASES["aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize"]
aclnnAdaptiveMaxPool2dBackward = _PHASES["aclnnAdaptiveMaxPool2dBackward"]
aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize = _PHASES["aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize"]
aclnnAdaptiveMaxPool3dBackward = _PHASES["aclnnAdaptiveMaxPool3dBackward"]
aclnnAvgPool2dBackwardGetWorkspaceSize = _PHASES["aclnnAvgPool2dBackwardGetWorkspaceSize"]
aclnnAvgPool2dBackward = _PHASES["aclnnAvgPool2dBackward"]
aclnnAvgPool3dBackwardGetWorkspaceSize = _PHASES["aclnnAvgPool3dBackwardGetWorkspaceSize"]
aclnnAvgPool3dBackward = _PHASES["aclnnAvgPool3dBackward"]
aclnnMaxPool2dWithIndicesGetWorkspaceSize = _PHASES["aclnnMaxPool2dWithIndicesGetWorkspaceSize"]
aclnnMaxPool2dWithIndices = _PHASES["aclnnMaxPool2dWithIndices"]
aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize = _PHASES["aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize"]
aclnnMaxPool2dWithIndicesBackward = _PHASES["aclnnMaxPool2dWithIndicesBackward"]
aclnnMaxPool2dWithMaskGetWorkspaceSize = _PHASES["aclnnMaxPool2dWithMaskGetWorkspaceSize"]
aclnnMaxPool2dWithMask = _PHASES["aclnnMaxPool2dWithMask"]
aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize = _PHASES["aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize"]
aclnnMaxPool3dWithArgmaxBackward = _PHASES["aclnnMaxPool3dWithArgmaxBackward"]
