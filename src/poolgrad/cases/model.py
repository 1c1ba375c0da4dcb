"""A case: one call of an operator and how its data are made, as a file describes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..arrays.files import BadFile
from ..base.dtypes import dtype_named
from ..base.products import ANY, Product, find_product
from ..base.status import ACLNN_SUCCESS
from ..base.tensor import Tensor, contiguous_strides
from ..contract.engine import Call, Value
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..contract.pooling import is_channels_last, spatial_sizes
from ..operators import REGISTRY

# What an array of integers or a number of a call may be; None stands for a null pointer.
Number = tuple[int, ...] | int | bool | None


class BadCase(BadFile):
    """A case file that can't be used, in one line: where, what was expected, what is there."""


def product_named(name: str | None) -> Product:
    """The product of a case; without a name, what any of them accepts."""
    return ANY if name is None else find_product(name)


@dataclass(frozen=True, slots=True)
class Values:
    """How a tensor's elements are made.

    ``uniform`` (low, high); ``normal`` (lowest and highest mean, lowest and highest standard deviation); ``constant``
    (value); ``forward``: what the forward pass over self gives, for indices, masks and gradients of max pooling;
    ``windows``: indices drawn from their windows; ``plane``: indices drawn from the whole plane.
    """

    kind: str
    numbers: tuple[float, ...] = ()


FORWARD = Values("forward")
DEFAULT_VALUES = Values("uniform", (-1.0, 1.0))


@dataclass(frozen=True, slots=True)
class CaseTensor:
    """A tensor of a case. Strides and offset count elements; without strides it is contiguous."""

    dtype: str
    shape: tuple[int, ...]
    format: str
    strides: tuple[int, ...] | None = None
    offset: int = 0
    storage: tuple[int, ...] | None = None
    values: Values = DEFAULT_VALUES

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def steps(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    def described(self) -> Tensor:
        """As contract and plan see it."""
        dtype = dtype_named(self.dtype)
        return Tensor(dtype, self.shape, tuple(step * dtype.itemsize for step in self.steps), self.format)


@dataclass(frozen=True, slots=True)
class Case:
    """One call under the documented names. ``status`` is what the file expects, None if it does not say."""

    name: str
    operator_name: str
    tensors: Mapping[str, CaseTensor | None]
    numbers: Mapping[str, Number] = field(default_factory=dict)
    product: str | None = None
    status: int | None = None
    standard: str | None = None
    seed: int = 0
    why: str = ""

    @property
    def operator(self) -> Operator:
        return REGISTRY[self.operator_name]

    @property
    def expected(self) -> int:
        """The status that the call must give: a file that does not say means success."""
        return ACLNN_SUCCESS if self.status is None else self.status

    @property
    def outputs(self) -> dict[str, CaseTensor | None]:
        return {p.name: self.tensors[p.name] for p in self.operator.outputs}

    @property
    def inputs(self) -> dict[str, CaseTensor | None]:
        """The tensors that are given, in the order of the parameters."""
        return {p.name: self.tensors[p.name] for p in self.operator.inputs}

    @property
    def arguments(self) -> dict[str, Value]:
        """Every argument as the contract sees it."""
        tensors = {name: None if tensor is None else tensor.described() for name, tensor in self.tensors.items()}
        values: dict[str, Value] = {**tensors, **self.numbers}
        return {p.name: values[p.name] for p in self.operator.parameters}

    @property
    def call(self) -> Call:
        """The call on its product."""
        return Call(self.operator, product_named(self.product), self.arguments)

    @property
    def plane(self) -> int:
        """Elements of one plane of the forward pass's input."""
        return math.prod(spatial_sizes(self.call, Role.INPUT))

    @property
    def is_channels_last(self) -> bool:
        return is_channels_last(self.call)

    def of(self, role: Role) -> CaseTensor:
        """The tensor of a role, which the contract has found to be there."""
        return self.tensor(self.operator.by_role[role].name)

    def tensor(self, name: str) -> CaseTensor:
        """A tensor that the contract has found to be there."""
        tensor = self.tensors[name]
        assert tensor is not None, name
        return tensor
