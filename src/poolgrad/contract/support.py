"""Which product has which operator with which types and formats, read off the contract's rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..base.products import ANY, PRODUCTS, Product
from .engine import EVERYWHERE, Check
from .operator import Operator
from .parameters import Parameter, Role

# Tensors of places, whose types are others than those of the numbers that are pooled.
OF_PLACES = (Role.INDICES, Role.PLACES, Role.MASK)


def where_maxima_stood(operator: Operator) -> Parameter | None:
    """The parameter that tells a gradient of maxima where these stood: indices, or a mask."""
    return next((parameter for parameter in operator.inputs if parameter.role in OF_PLACES), None)


@dataclass(frozen=True, slots=True)
class Support:
    """One cell of the table; without dtypes where the product lacks the operator."""

    product: Product
    operator: Operator
    dtypes: tuple[str, ...] = ()
    index_dtypes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()


def support(operator: Operator, product: Product) -> Support:
    if product is not ANY and product not in operator.products:
        return Support(product, operator)
    rows = operator.checks_on(product)
    types = [check for check in rows if check.what == "dtype"]
    places = [check for check in types if all(p.role in OF_PLACES for p in check.about)]
    numbers = [check for check in types if check not in places]
    formats = [check for check in rows if check.what == "format"]
    return Support(product, operator, _allowed(numbers), _allowed(places), _allowed(formats))


def _allowed(rows: list[Check]) -> tuple[str, ...]:
    """What all the rows allow, in the order of the first."""
    return tuple(name for check in rows[:1] for name in check.allowed if all(name in c.allowed for c in rows))


def support_table(operators: Collection[Operator]) -> list[Support]:
    """All cells: products in their order, and last the column of a call that names none."""
    return [support(operator, product) for product in (*PRODUCTS, ANY) for operator in operators]


def holds_on(check: Check, operator: Operator) -> str:
    """The names of the products on which a row of the operator decides."""
    if check.on == EVERYWHERE:
        return "all"
    named = [product for product in PRODUCTS if product in check.on]
    # All are named by a row that refuses products without the operator.
    wanted = [product.name for product in named if product in operator.products] or [product.name for product in named]
    return ", ".join(wanted + (["no product"] if ANY in check.on else []))
