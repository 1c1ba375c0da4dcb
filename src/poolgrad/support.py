"""Which product has which operator with which types and formats, read off the contract's rows."""

from __future__ import annotations

from dataclasses import dataclass

from .base.products import ANY, PRODUCTS, Product
from .contract.engine import EVERYWHERE, Check
from .contract.operator import Operator
from .operators import REGISTRY


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
    lists = {check.key: check.allowed for check in operator.checks_on(product) if check.allowed}
    formats = next(allowed for key, allowed in lists.items() if key.endswith("-format"))
    return Support(product, operator, lists["gradOutput-dtype"], lists.get("indices-dtype", ()), formats)


def support_table() -> list[Support]:
    """All cells: products in their order, and last the column of a call that names none."""
    return [support(operator, product) for product in (*PRODUCTS, ANY) for operator in REGISTRY.values()]


def holds_on(check: Check, operator: Operator) -> str:
    """The names of the products on which a row of the operator decides."""
    if check.on == EVERYWHERE:
        return "all"
    wanted = [product.name for product in PRODUCTS if product in check.on and product in operator.products]
    return ", ".join(wanted + (["no product"] if ANY in check.on else []))
