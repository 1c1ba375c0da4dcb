"""The TestSpec file of TTK: golden results and legal indices for every operator.

    python3 -m ttk aclnn -i cases.csv --plugin $(python3 -m poolgrad.plugins ttk) --compare mixed

TTK finds the classes by parsing this file, so ``__spec__`` is a literal, and it may load the file by its path, so
imports are absolute. It hands over every argument in C's order, null pointers as None, and keywords about the case.
There is no ``tolerance`` here: versions of TTK differ in the standards they know, and ``--compare`` names one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poolgrad.arrays.adapters import write
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.support import where_maxima_stood
from poolgrad.operators import REGISTRY
from poolgrad.plugins.calls import (
    bound,
    described,
    forward,
    golden,
    is_legal,
    product_for,
)


class _Golden:
    """What TTK asks of every operator. Arguments come in C's order, ``self`` among them, or by their C names."""

    operator: str

    @classmethod
    def golden(cls, /, *positional: Any, **named: Any) -> list[Any]:
        """The result, judged by the formats, the output and the product that TTK names."""
        operator = REGISTRY[cls.operator]
        arguments = bound(operator, positional, named)
        formats, product = _formats(operator, named), named.get("short_soc_version")
        return golden(operator, arguments, formats=formats, product=product)


class _WithIndices(_Golden):
    @classmethod
    def customize_inputs(cls, /, *positional: Any, **named: Any) -> Any:
        """Write indices, or the mask, of the forward pass over the input into what was given; a refused call keeps it.

        TTK goes on with the tensors that it handed over, whatever comes back. The answer is the same tensors all the
        same, as its documents say: a list if they came in order, else a dict.
        """
        operator = REGISTRY[cls.operator]
        arguments = bound(operator, positional, named)
        product = product_for(named.get("short_soc_version"))
        call = described(operator, arguments, formats=_formats(operator, named), product=product)
        where = where_maxima_stood(operator)
        if where is not None and is_legal(call) and call.tensor(where).count:
            _, indices = forward(call, arguments[operator.by_role[Role.INPUT].name])
            write(arguments[where.name], indices)
        return list(positional) if len(positional) == len(arguments) else arguments


def _formats(operator: Operator, named: Mapping[str, Any]) -> dict[str, str] | None:
    """``tensor_formats`` by parameter: one for all tensors, or one for each, outputs included. None: TTK names none.

    >>> _formats(REGISTRY["aclnnAdaptiveMaxPool2dBackward"], {"tensor_formats": ("ND",)})
    {'gradOutput': 'ND', 'self': 'ND', 'indices': 'ND', 'gradInput': 'ND'}
    """
    if "tensor_formats" not in named:
        return None
    given = named["tensor_formats"] or "ND"  # as TTK makes tensors of a case without formats
    names = [parameter.name for parameter in operator.tensors]
    formats = [given] if isinstance(given, str) else list(given)
    if len(formats) == 1:
        formats *= len(names)
    if len(formats) != len(names):
        raise ValueError(
            f"tensor_formats: expected one format, or {len(names)}, for {', '.join(names)}; got {given!r}. "
            "Correct the column tensor_formats of the case."
        )
    return {name: format or "ND" for name, format in zip(names, formats, strict=True)}


# generated: spec
__spec__ = {  # type: ignore[assignment] # Python has another use for this name, TTK this one
    "aclnnAdaptiveAvgPool2d": "AdaptiveAvgPool2d",
    "aclnnAdaptiveAvgPool2dBackward": "AdaptiveAvgPool2dBackward",
    "aclnnAdaptiveAvgPool3d": "AdaptiveAvgPool3d",
    "aclnnAdaptiveAvgPool3dBackward": "AdaptiveAvgPool3dBackward",
    "aclnnAdaptiveMaxPool2d": "AdaptiveMaxPool2d",
    "aclnnAdaptiveMaxPool2dBackward": "AdaptiveMaxPool2dBackward",
    "aclnnAdaptiveMaxPool3d": "AdaptiveMaxPool3d",
    "aclnnAdaptiveMaxPool3dBackward": "AdaptiveMaxPool3dBackward",
    "aclnnAvgPool2d": "AvgPool2d",
    "aclnnAvgPool2dBackward": "AvgPool2dBackward",
    "aclnnAvgPool3d": "AvgPool3d",
    "aclnnAvgPool3dBackward": "AvgPool3dBackward",
    "aclnnMaxPool": "MaxPool",
    "aclnnMaxPool2dWithIndices": "MaxPool2dWithIndices",
    "aclnnMaxPool2dWithIndicesBackward": "MaxPool2dWithIndicesBackward",
    "aclnnMaxPool2dWithMask": "MaxPool2dWithMask",
    "aclnnMaxPool2dWithMaskBackward": "MaxPool2dWithMaskBackward",
    "aclnnMaxPool3dWithArgmax": "MaxPool3dWithArgmax",
    "aclnnMaxPool3dWithArgmaxBackward": "MaxPool3dWithArgmaxBackward",
}


class AdaptiveAvgPool2d(_Golden):
    operator = "aclnnAdaptiveAvgPool2d"


class AdaptiveAvgPool2dBackward(_Golden):
    operator = "aclnnAdaptiveAvgPool2dBackward"


class AdaptiveAvgPool3d(_Golden):
    operator = "aclnnAdaptiveAvgPool3d"


class AdaptiveAvgPool3dBackward(_Golden):
    operator = "aclnnAdaptiveAvgPool3dBackward"


class AdaptiveMaxPool2d(_Golden):
    operator = "aclnnAdaptiveMaxPool2d"


class AdaptiveMaxPool2dBackward(_WithIndices):
    operator = "aclnnAdaptiveMaxPool2dBackward"


class AdaptiveMaxPool3d(_Golden):
    operator = "aclnnAdaptiveMaxPool3d"


class AdaptiveMaxPool3dBackward(_WithIndices):
    operator = "aclnnAdaptiveMaxPool3dBackward"


class AvgPool2d(_Golden):
    operator = "aclnnAvgPool2d"


class AvgPool2dBackward(_Golden):
    operator = "aclnnAvgPool2dBackward"


class AvgPool3d(_Golden):
    operator = "aclnnAvgPool3d"


class AvgPool3dBackward(_Golden):
    operator = "aclnnAvgPool3dBackward"


class MaxPool(_Golden):
    operator = "aclnnMaxPool"


class MaxPool2dWithIndices(_Golden):
    operator = "aclnnMaxPool2dWithIndices"


class MaxPool2dWithIndicesBackward(_WithIndices):
    operator = "aclnnMaxPool2dWithIndicesBackward"


class MaxPool2dWithMask(_Golden):
    operator = "aclnnMaxPool2dWithMask"


class MaxPool2dWithMaskBackward(_WithIndices):
    operator = "aclnnMaxPool2dWithMaskBackward"


class MaxPool3dWithArgmax(_Golden):
    operator = "aclnnMaxPool3dWithArgmax"


class MaxPool3dWithArgmaxBackward(_WithIndices):
    operator = "aclnnMaxPool3dWithArgmaxBackward"


# end
