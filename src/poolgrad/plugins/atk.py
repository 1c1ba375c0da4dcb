"""Executors for ATK, one per operator: ``poolgrad_avg_pool2d_backward`` and so on is what a case names as its api_type.

On the CPU they give the golden result. Before that they put legal indices in the place of a case's placeholders, on
every device, so that all of them compute the same call. This module can only be imported where ATK is installed. ATK
may load it by its path, so imports are absolute; its loader looks for both ``BaseApi`` and ``AclnnBaseApi`` in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from poolgrad.arrays.adapters import like
from poolgrad.base.dtypes import INT8, INT32
from poolgrad.base.tensor import Tensor
from poolgrad.base.windows import spread
from poolgrad.cases.atk import OUTPUT_SIZE
from poolgrad.contract.masks import mask_shape
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.pooling import EVERY_FLOAT, shape_if_any
from poolgrad.contract.support import where_maxima_stood
from poolgrad.operators import REGISTRY
from poolgrad.plugins.calls import (
    blank,
    bound,
    described,
    description,
    forward,
    golden,
    is_legal,
    product_for,
    takes_indices,
)
from poolgrad.run.calls import one_or_all

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
        return one_or_all(tuple(golden(self._operator, self._arguments(input_data))))

    @property
    def _operator(self) -> Operator:
        return REGISTRY[self.operator]

    def _arguments(self, input_data: Any) -> dict[str, Any]:
        """By their documented names; an input without a value is one that was left out."""
        found = bound(self._operator, (), input_data.kwargs)
        return {name: value for name, value in found.items() if value is not None}


class _MaxExecutor(_Executor):
    def init_by_input_data(self, input_data: Any) -> None:
        """Put the forward pass over the input in the place of placeholders: the indices, and in the cases that have an
        output_size its output as the gradient. A call that is to be refused keeps its inputs."""
        operator, inputs, arguments = self._operator, input_data.kwargs, self._arguments(input_data)
        x, grad = (operator.by_role[role].name for role in (Role.INPUT, Role.GRADIENT))
        gradient = self._forward_output(arguments, inputs) or self._given(Role.GRADIENT, arguments)
        if gradient is None or x not in arguments:
            return
        where, told = self._told(gradient, arguments)
        call = described(operator, arguments | {grad: gradient, where: told}, product=product_for(None))
        if is_legal(call):
            output, indices = (like(arguments[x], array) for array in forward(call, arguments[x]))
            inputs[operator.atk_names.get(where, where)] = indices
            if operator.atk_has_output_size:
                inputs[operator.atk_names.get(grad, grad)] = output

    def _told(self, gradient: Tensor, arguments: dict[str, Any]) -> tuple[str, Tensor]:
        """What tells where the maxima stood: its name, and what it has to be like."""
        parameter = where_maxima_stood(self._operator)
        assert parameter is not None
        if parameter.role is Role.MASK:
            shape = shape_if_any(described(self._operator, arguments), mask_shape)
            return parameter.name, blank(INT8, shape, gradient.format)
        placeholder = self._given(Role.INDICES, arguments)
        # A placeholder's type says as little as its shape and its values if it is none of indices.
        index = INT32 if placeholder is None or placeholder.dtype.name in EVERY_FLOAT else placeholder.dtype
        return parameter.name, blank(index, gradient.shape, gradient.format)

    def _given(self, role: Role, arguments: dict[str, Any]) -> Tensor | None:
        parameter = self._operator.by_role[role]
        array = arguments.get(parameter.name)
        return None if array is None else description(self._operator, parameter, array)

    def _forward_output(self, arguments: dict[str, Any], inputs: dict[str, Any]) -> Tensor | None:
        """What output_size says of the forward pass's output: one number for all axes, or one for each; or nothing."""
        x, axes, size = self._given(Role.INPUT, arguments), len(self._operator.axes), inputs.get(OUTPUT_SIZE, ())
        sizes = tuple(size) if isinstance(size, Sequence) else (size,)
        if not self._operator.atk_has_output_size or x is None or len(sizes) not in (1, axes):
            return None
        return blank(x.dtype, (*x.shape[:-axes], *spread(sizes, axes)), x.format)


for _operator in REGISTRY.values():
    _name = _operator.name.removeprefix("aclnn")
    _base = _MaxExecutor if takes_indices(_operator) else _Executor
    _members = {
        "operator": _operator.name,
        "__module__": __name__,
        "__doc__": f"{_operator.name}: {_operator.summary}.",
    }
    globals()[_name] = register(f"poolgrad_{_operator.python_name}")(type(_name, (_base,), _members))
if TYPE_CHECKING:  # checkers see no names that are made

    def __getattr__(name: str) -> Any: ...
