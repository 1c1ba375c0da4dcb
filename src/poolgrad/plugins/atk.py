"""Executors for ATK, one per operator: ``poolgrad_avg_pool2d_backward`` and so on is what a case names as its api_type.

On the CPU they give the golden result. Before that they put legal indices in the place of a case's placeholders, on
every device, so that all of them compute the same call. This module can only be imported where ATK is installed. ATK
may load it by its path, so imports are absolute; its loader looks for both ``BaseApi`` and ``AclnnBaseApi`` in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poolgrad.base.dtypes import INT32
from poolgrad.base.tensor import Tensor
from poolgrad.operators import REGISTRY
from poolgrad.operators.pooling import EVERY_FLOAT
from poolgrad.plugins.calls import blank, bound, described, description, forward, golden, is_legal, like

try:
    from atk.tasks.api_execute import register
except ImportError as error:
    raise ImportError(
        f"poolgrad.plugins.atk registers its executors with ATK, which is not installed here ({error}); "
        "install ATK, or take the golden results from: poolgrad golden CASES -o DIR"
    ) from error
try:
    from atk.tasks.api_execute.aclnn_base_api import AclnnBaseApi as AclnnBaseApi
    from atk.tasks.api_execute.base_api import BaseApi as BaseApi
except ImportError:
    from atk.tasks.api_execute import AclnnBaseApi as AclnnBaseApi
    from atk.tasks.api_execute import BaseApi as BaseApi


class _Executor(BaseApi):
    operator: str

    def __call__(self, input_data: Any, with_output: bool = False) -> Any:
        """The golden result on the CPU; other devices compute for themselves."""
        if self.device != "cpu":
            return None
        return golden(REGISTRY[self.operator], self._arguments(input_data))

    def _arguments(self, input_data: Any) -> dict[str, Any]:
        """By their documented names; an input without a value is one that was left out."""
        found = bound(REGISTRY[self.operator], (), input_data.kwargs)
        return {name: value for name, value in found.items() if value is not None}


class _MaxExecutor(_Executor):
    def init_by_input_data(self, input_data: Any) -> None:
        """Give max pooling the indices of the forward pass over self; a call that is to be refused keeps its inputs."""
        operator, inputs, arguments = REGISTRY[self.operator], input_data.kwargs, self._arguments(input_data)
        if (grad := self._gradients(arguments, inputs)) is None:
            return
        index = description(operator, "indices", arguments["indices"]).dtype if "indices" in arguments else INT32
        if index.name in EVERY_FLOAT:  # a placeholder's type says as little as its shape and its values
            index = INT32
        call = described(operator, arguments | {"gradOutput": grad, "indices": blank(index, grad.shape, grad.format)})
        if is_legal(call):
            self._replace(inputs, *(like(arguments["self"], array) for array in forward(call, arguments["self"])))

    def _gradients(self, arguments: dict[str, Any], inputs: dict[str, Any]) -> Tensor | None:
        """What gradOutput is to be, as far as the inputs say it."""
        if "self" not in arguments or "gradOutput" not in arguments:
            return None
        return description(REGISTRY[self.operator], "gradOutput", arguments["gradOutput"])

    def _replace(self, inputs: dict[str, Any], output: Any, indices: Any) -> None:
        inputs["indices"] = indices


@register("poolgrad_avg_pool2d_backward")
class AvgPool2dBackward(_Executor):
    operator = "aclnnAvgPool2dBackward"


@register("poolgrad_adaptive_avg_pool3d_backward")
class AdaptiveAvgPool3dBackward(_Executor):
    operator = "aclnnAdaptiveAvgPool3dBackward"


@register("poolgrad_max_pool2d_with_indices_backward")
class MaxPool2dWithIndicesBackward(_MaxExecutor):
    operator = "aclnnMaxPool2dWithIndicesBackward"


@register("poolgrad_adaptive_max_pool2d_backward")
class AdaptiveMaxPool2dBackward(_MaxExecutor):
    """Its cases have an output_size instead of a gradOutput, which is the forward output."""

    operator = "aclnnAdaptiveMaxPool2dBackward"

    def _gradients(self, arguments: dict[str, Any], inputs: dict[str, Any]) -> Tensor | None:
        size = inputs.get("output_size", ())
        sizes = tuple(size) if isinstance(size, Sequence) else (size,)
        if "self" not in arguments or len(sizes) not in (1, 2):
            return super()._gradients(arguments, inputs)
        x = description(REGISTRY[self.operator], "self", arguments["self"])
        return blank(x.dtype, (*x.shape[:-2], sizes[0], sizes[-1]), x.format)

    def _replace(self, inputs: dict[str, Any], output: Any, indices: Any) -> None:
        inputs["gradOutput"], inputs["indices"] = output, indices
