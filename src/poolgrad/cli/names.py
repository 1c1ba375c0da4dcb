"""Operators and products as people type them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..base.products import ANY, PRODUCTS, Product, find_product
from ..contract.operator import Operator
from ..operators import REGISTRY, find_operator
from .terminal import BadInput, option

_SHORT = [name.removeprefix("aclnn") for name in REGISTRY]
_OTHERWISE = [*REGISTRY, *(operator.python_name for operator in REGISTRY.values())]
_PRODUCTS = ", ".join(product.name for product in PRODUCTS)
_PRODUCT_HELP = f"Apply the contract of {_PRODUCTS}; names of SoCs and devices do too."


def operator_argument(metavar: str, help: str, *, also: tuple[str, ...] = ()) -> Any:
    """The argument that names an operator, or one of the words ``also``; shells complete both."""

    def complete(incomplete: str) -> list[str]:
        # Every spelling is understood; those beside the short one are offered if one of them was begun.
        return [*_SHORT, *also, *(_OTHERWISE if incomplete else ())]

    return typer.Argument(metavar=metavar, help=help, autocompletion=complete, show_default=False)


# What shells complete: names without blanks, which need no quotes, and next to them the usual ones.
_SOCS = [(product.soc, product.name) for product in PRODUCTS]
OPERATOR_HELP = f"The operator: {', '.join(_SHORT)}; with aclnn in front, or as Python calls it."
OperatorName = Annotated[str, operator_argument("OP", OPERATOR_HELP)]
ProductName = Annotated[str | None, option("--product", metavar="P", help=_PRODUCT_HELP, autocompletion=lambda: _SOCS)]


def operator_named(name: str) -> Operator:
    try:
        return find_operator(name)
    except ValueError as error:
        raise BadInput(str(error)) from error


def product_named(name: str | None) -> Product:
    """The product; without a name, what any of them accepts."""
    if name is None:
        return ANY
    try:
        return find_product(name)
    except ValueError as error:
        raise BadInput(str(error)) from error
