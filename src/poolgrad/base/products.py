"""The products whose contracts are known, and the names under which devices, documents and people know them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)  # each there once; rows look for it in sets, call by call
class Product:
    """``soc`` names the family of chips. ``devices`` are the names that its devices report: # stands for a digit,
    ? for a digit or a letter; the first has neither, and is the device if only the product is named."""

    name: str
    soc: str
    devices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


A2 = Product(
    "Atlas A2",
    "Ascend910B",  # the oldest devices of the training series report this name, too
    devices=("Ascend910B1", "Ascend910B#", "Ascend910B#C", "Ascend910B#-#"),
    aliases=(
        "Atlas A2 training and inference series",
        "Atlas 800I A2",
        "A200I A2 Box",
        "Atlas A2 训练系列产品",
        "Atlas A2 推理系列产品",
        "Atlas 800I A2 推理产品",
        "A200I A2 Box 异构组件",
    ),
)
A3 = Product(
    "Atlas A3",
    "Ascend910_93",
    devices=("Ascend910_9391", "Ascend910_93##"),
    aliases=("Atlas A3 training and inference series", "Ascend910C", "Atlas A3 训练系列产品", "Atlas A3 推理系列产品"),
)
INFERENCE = Product(
    "Atlas inference series",
    "Ascend310P",
    devices=("Ascend310P3", "Ascend310P#"),
    aliases=("Atlas 推理系列产品",),
)
TRAINING = Product(
    "Atlas training series",
    "Ascend910",
    devices=("Ascend910A", "Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA"),
    aliases=("Atlas 训练系列产品",),
)
A950 = Product(
    "Ascend 950",
    "Ascend950",
    devices=(
        "Ascend950PR_9599",
        "Ascend950PR_????",
        "Ascend950DT_????",
        "Ascend950PR",
        "Ascend950DT",
        "Ascend910_95??",  # its former name
    ),
    aliases=("Ascend910_95", "昇腾910_95 AI处理器"),
)
A200I = Product(
    "Atlas 200I/500 A2",
    "Ascend310B",
    devices=("Ascend310B1", "Ascend310B#", "Ascend310"),
    aliases=("Atlas 200I/500 A2 推理产品", "Atlas 200/300/500 inference", "Atlas 200/300/500 推理产品"),
)

PRODUCTS = (A2, A3, INFERENCE, TRAINING, A950, A200I)

# The column of a call that names no product: what any documented product accepts, and float64 too.
ANY = Product("no product", "")


def find_product(name: object) -> Product:
    """The product of any of its names; ``ValueError`` with a list of them for any other.

    >>> {find_product(name).name for name in ("Ascend910B", "A2", "910B3", "Atlas A2 训练系列产品")}
    {'Atlas A2'}
    """
    return _find(name)[0]


def soc_name(name: object) -> str:
    """What the device of that name reports: the one that is named, or the first one of a product.

    >>> soc_name("910b3"), soc_name("Atlas A2")
    ('Ascend910B3', 'Ascend910B1')
    """
    return _find(name)[1]


def _find(name: object) -> tuple[Product, str]:
    found = _named(name) or _named_together(name.split("/")) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(f"{p.name!r} ({p.soc})" for p in PRODUCTS)
        raise ValueError(f"unknown product {name!r}; the known ones are {known}, or a device such as 'Ascend910B1'")
    return found


def _named(name: str) -> tuple[Product, str] | None:
    bare = _bare(name)
    product = _BY_NAME.get(bare.casefold())
    return (product, product.devices[0]) if product is not None else _device(bare)


def _named_together(names: list[str]) -> tuple[Product, str] | None:
    """The product for which documents give several names, with strokes between them."""
    products = {found[0] if found else None for found in map(_named, names)}
    product = products.pop()
    return None if products or product is None else (product, product.devices[0])


def _device(bare: str) -> tuple[Product, str] | None:
    """The product whose devices report such a name, and the name as they spell it."""
    for product in PRODUCTS:
        for device in product.devices:
            letters = _bare(device)
            if len(letters) == len(bare) and all(map(_fits, letters, bare)):
                told = (given if letter in "#?" else letter for letter, given in zip(letters, bare, strict=True))
                return product, "Ascend" + "".join(told)
    return None


def _fits(letter: str, given: str) -> bool:
    if letter in "#?":
        return given.isascii() and (given.isdigit() if letter == "#" else given.isalnum())
    return letter.casefold() == given.casefold()


def _bare(name: str) -> str:
    """The name without blanks, and without the word that all chips or all products have."""
    return re.sub("^(ascend|昇腾|atlas)", "", "".join(unicodedata.normalize("NFKC", name).split()), flags=re.IGNORECASE)


_BY_NAME = {_bare(name).casefold(): p for p in PRODUCTS for name in (p.name, p.soc, *p.aliases)}
