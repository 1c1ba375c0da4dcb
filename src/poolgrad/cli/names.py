"""Operators and products as people type them."""

from __future__ import annotations

from typing import Annotated

import typer

from ..base.products import ANY, PRODUCTS, Product, find_product
from ..contract.operator import Operator
from ..operators import REGISTRY, find_operator
from .terminal import BadInput


def _operators() -> list[str]:
    return [operator.name.removeprefix("aclnn") for operator in REGISTRY.values()]


def _products() -> list[str]:
    return [product.name for product in PRODUCTS]


OperatorName = Annotated[
    str,
    typer.Argument(
        metavar="OP",
        help=f"The operator: {', '.join(_operators())}; with aclnn in front, or as Python calls it.",
        autocompletion=_operators,
        show_default=False,
    ),
]
ProductName = Annotated[
    str | None,
    typer.Option(
        "--product",
        metavar="P",
        help=f"Apply the contract of {', '.join(_products())}; SoC names do too.",
        autocompletion=_products,
        show_default=False,
    ),
]


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
