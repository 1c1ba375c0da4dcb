"""The TestSpec file of TTK: golden results, legal indices and tolerances for the four operators.

    python3 -m ttk aclnn -i cases.csv --plugin $(python3 -m poolgrad.plugins ttk) --compare mixed

TTK finds the classes by parsing this file, so ``__spec__`` is a literal, and it may load the file by its path, so
imports are absolute.
"""

from __future__ import annotations

from typing import Any, ClassVar

from poolgrad.operators import REGISTRY
from poolgrad.plugins.calls import bound, forward, golden

__spec__ = {  # type: ignore[assignment] # Python has another use for this name, TTK this one
    "aclnnAvgPool2dBackward": "AvgPool2dBackward",
    "aclnnAdaptiveAvgPool3dBackward": "AdaptiveAvgPool3dBackward",
    "aclnnMaxPool2dWithIndicesBackward": "MaxPool2dWithIndicesBackward",
    "aclnnAdaptiveMaxPool2dBackward": "AdaptiveMaxPool2dBackward",
}


class _Average:
    """What TTK asks of every operator. Arguments come by their C names, or in C's order, ``self`` among them."""

    operator: str
    tolerance: ClassVar = {dtype: {"standard": "mix_tolerance"} for dtype in ("float32", "float16", "bfloat16")}

    @classmethod
    def golden(cls, /, *tensors: Any, **named: Any) -> list[Any]:
        operator = REGISTRY[cls.operator]
        return [golden(operator, bound(operator, tensors, named))]


class _Maximum(_Average):
    @classmethod
    def customize_inputs(cls, /, *tensors: Any, **named: Any) -> Any:
        """The inputs with the indices of the forward pass over ``self``: a list if they came in order, else a dict."""
        operator = REGISTRY[cls.operator]
        arguments = bound(operator, tensors, named)
        found = forward(operator, arguments)
        if found is None:  # a call that is to be refused keeps its indices
            return list(tensors) if tensors and not named else arguments
        arguments["indices"] = found[1]
        if tensors and not named:
            return [arguments[p.name] for p in operator.parameters if p.name in arguments]
        return arguments


class AvgPool2dBackward(_Average):
    operator = "aclnnAvgPool2dBackward"


class AdaptiveAvgPool3dBackward(_Average):
    operator = "aclnnAdaptiveAvgPool3dBackward"


class MaxPool2dWithIndicesBackward(_Maximum):
    operator = "aclnnMaxPool2dWithIndicesBackward"


class AdaptiveMaxPool2dBackward(_Maximum):
    operator = "aclnnAdaptiveMaxPool2dBackward"
