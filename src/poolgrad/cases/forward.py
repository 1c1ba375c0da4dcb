"""The forward pass of max pooling whose gradient a call is, for what gradients need: where the maxima stand."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..base.products import ANY
from ..contract.engine import Call, Value
from ..contract.operator import Operator
from ..contract.parameters import Parameter, Role
from ..contract.support import support
from ..operators import forward_of
from ..run.calls import call as run

Array = NDArray[Any]


def forward_max(
    call: Call,
    x: Array,
    *,
    out: tuple[Array, Array] | None = None,
    index: str | None = None,
    format: str | None = None,
    product: str | None = None,
) -> tuple[Array, Array]:
    """Maxima of ``x`` by the windows of the call, and their indices or mask: in arrays of ``out``, or in new ones.

    Indices have a type of ``index_type``. ``format`` is named if channels come last, and the product for a mask, since
    what that holds depends on it.
    """
    operator = _forward(call)
    numbers = tuple(_number(call, parameter) for parameter in operator.numbers)
    found: tuple[Array, Array] = run(operator, (x,), numbers, product, out, format, index)
    return found


def index_type(call: Call, wanted: str) -> str:
    """The type of indices that the forward pass gives: the one that is wanted, if it knows it."""
    known = support(_forward(call), ANY).index_dtypes
    return wanted if wanted in known else known[-1]


def _forward(call: Call) -> Operator:
    operator = forward_of(call.operator)
    assert operator is not None, call.operator.name
    return operator


def _number(call: Call, parameter: Parameter) -> Value:
    """What the gradient's call says of a number of its forward pass; how many windows there are says the gradient."""
    if parameter.role is Role.OUTPUT_SIZE:
        return tuple(windows.out for windows in call.windows)
    return call.value(parameter.role)
