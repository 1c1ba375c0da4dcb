"""A case as a call of the Pythonic layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import functional
from ..base.products import ANY, Product

if TYPE_CHECKING:
    from ..cases import Case


def compute(case: Case, product: Product, inputs: Mapping[str, Any], **options: Any) -> Any:
    """The results of the operator with the case's numbers, on arrays by documented names; of those that are never
    read, shapes do."""
    operator = case.operator
    values = {p.python_name: inputs[p.name] for p in operator.inputs}
    values |= {p.python_name: case.numbers[p.name] for p in operator.numbers}
    name = None if product is ANY else product.name
    return getattr(functional, operator.python_name)(**values, product=name, **options)
