"""The products whose contracts are known, and the names under which people know them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    name: str
    soc: str
    aliases: tuple[str, ...] = ()


A2 = Product("Atlas A2", "Ascend910B", ("Atlas A2 training and inference series", "Atlas 800I A2", "A200I A2 Box"))
A3 = Product("Atlas A3", "Ascend910_93", ("Atlas A3 training and inference series",))
INFERENCE = Product("Atlas inference series", "Ascend310P")
TRAINING = Product("Atlas training series", "Ascend910")
A950 = Product("Ascend 950", "Ascend950", ("Ascend 950PR", "Ascend 950DT", "Ascend910_95"))
A200I = Product("Atlas 200I/500 A2", "Ascend310B", ("Atlas 200/300/500 inference",))

PRODUCTS = (A2, A3, INFERENCE, TRAINING, A950, A200I)

# The column of a call that names no product: what any documented product accepts, and float64 too.
ANY = Product("no product", "")

_BY_NAME = {name.casefold(): product for product in PRODUCTS for name in (product.name, product.soc, *product.aliases)}


def find_product(name: object) -> Product:
    """The product of that name or SoC name; ``ValueError`` with the list of names for any other.

    >>> find_product("Ascend910B").name
    'Atlas A2'
    """
    product = _BY_NAME.get(name.strip().casefold()) if isinstance(name, str) else None
    if product is None:
        known = ", ".join(f"{p.name!r} ({p.soc})" for p in PRODUCTS)
        raise ValueError(f"unknown product {name!r}; the known ones are {known}")
    return product
