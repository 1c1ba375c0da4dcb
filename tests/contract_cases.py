"""Calls that break one row of the contract each, as data: the same lines drive every layer.

They come from the files of ``documents``, one for each operator.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import documents
from document import NO_PRODUCT, PRODUCTS, Document, Line, Sample, T, Unknown, changed

FILES = sorted(m.name for m in pkgutil.iter_modules(documents.__path__) if not m.name.startswith("test_"))
DOCUMENTS: dict[str, Document] = {d.name: d for d in (import_module(f"documents.{f}").DOCUMENT for f in FILES)}
SUPPORT = {name: document.products for name, document in DOCUMENTS.items()}
LEGAL = {name: document.legal for name, document in DOCUMENTS.items()}


@dataclass(frozen=True)
class Case:
    """It names the row that must decide, the parameter that must be blamed, and the products on which it holds."""

    operator: str
    line: Line

    @property
    def row(self) -> str:
        return self.line.row

    @property
    def parameter(self) -> str:
        return self.line.blamed

    @property
    def status(self) -> int:
        return self.line.status

    @property
    def products(self) -> tuple[str, ...]:
        return DOCUMENTS[self.operator].every if self.line.on is None else self.line.on

    @property
    def arguments(self) -> dict[str, Any]:
        return changed(LEGAL[self.operator], self.line.changes)

    @property
    def changes(self) -> dict[str, Any]:
        return {name: self.arguments[name] for name in self.line.changes}

    def __str__(self) -> str:
        return f"{self.operator}-{self.row}-{self.line.why.replace(' ', '_')}"


CASES = [Case(name, line) for name, document in DOCUMENTS.items() for line in document.lines()]
# Every sample on every product that has it.
SAMPLES = [
    (document, sample, product)
    for document in DOCUMENTS.values()
    for sample in document.samples
    for product in sample.on or document.products
]


def every(operator: str) -> tuple[str, ...]:
    """The products of an operator, and none."""
    return DOCUMENTS[operator].every


__all__ = [
    "CASES",
    "DOCUMENTS",
    "LEGAL",
    "NO_PRODUCT",
    "PRODUCTS",
    "SAMPLES",
    "SUPPORT",
    "Case",
    "Document",
    "Sample",
    "T",
    "Unknown",
    "every",
]
