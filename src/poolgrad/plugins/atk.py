"""Executors for ATK, one per operator: ``poolgrad_avg_pool2d_backward`` and so on is what a case names as its api_type.

On the CPU they give the golden result. Before that they put legal indices in the place of a case's placeholders, on
every device, so that all of them compute the same call. This module can only be imported where ATK is installed. ATK
may load it by its path, so imports are absolute.
"""

from __future__ import annotations

from typing import Any

from poolgrad.operators import REGISTRY
from poolgrad.plugins.calls import bound, forward, golden

try:
    from atk.tasks.api_execute import register
except ImportError as error:
    raise ImportError(
        f"poolgrad.plugins.atk registers its executors with ATK, which is not installed here ({error}); "
        "install ATK, or take the golden results from: poolgrad golden CASES -o DIR"
    ) from error
try:
    from atk.tasks.api_execute.base_api import BaseApi
except ImportError:
    from atk.tasks.api_execute import BaseApi


class _Executor(BaseApi):
    operator: str

    def init_by_input_data(self, input_data: Any) -> None:
        """Give max pooling the indices of the forward pass over self."""
        operator = REGISTRY[self.operator]
        if any(parameter.name == "indices" for parameter in operator.parameters):
            self._replace_placeholders(input_data.kwargs, forward(operator, bound(operator, (), input_data.kwargs)))

    def _replace_placeholders(self, inputs: dict[str, Any], found: tuple[Any, Any] | None) -> None:
        if found is not None:  # a call that is to be refused keeps its inputs
            inputs["indices"] = found[1]

    def __call__(self, input_data: Any, with_output: bool = False) -> Any:
        """The golden result on the CPU; other devices compute for themselves."""
        if self.device != "cpu":
            return None
        operator = REGISTRY[self.operator]
        return golden(operator, bound(operator, (), input_data.kwargs))


@register("poolgrad_avg_pool2d_backward")
class AvgPool2dBackward(_Executor):
    operator = "aclnnAvgPool2dBackward"


@register("poolgrad_adaptive_avg_pool3d_backward")
class AdaptiveAvgPool3dBackward(_Executor):
    operator = "aclnnAdaptiveAvgPool3dBackward"


@register("poolgrad_max_pool2d_with_indices_backward")
class MaxPool2dWithIndicesBackward(_Executor):
    operator = "aclnnMaxPool2dWithIndicesBackward"


@register("poolgrad_adaptive_max_pool2d_backward")
class AdaptiveMaxPool2dBackward(_Executor):
    """Its cases have an output_size instead of a gradOutput, which is the forward output."""

    operator = "aclnnAdaptiveMaxPool2dBackward"

    def init_by_input_data(self, input_data: Any) -> None:
        operator, inputs = REGISTRY[self.operator], input_data.kwargs
        self._replace_placeholders(inputs, forward(operator, bound(operator, (), inputs), inputs.get("output_size")))

    def _replace_placeholders(self, inputs: dict[str, Any], found: tuple[Any, Any] | None) -> None:
        if found is not None:
            inputs["gradOutput"], inputs["indices"] = found
