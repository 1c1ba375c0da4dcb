"""The contract engine: an operator is a list of parameters and an ordered list of checks.

A check is a row of data: what it says, on which products it holds, which status it gives, where it comes from.
The first broken row decides and this file writes the message. Nothing else decides what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..base import status
from ..base.errors import AclnnError
from ..base.products import ANY, PRODUCTS, Product
from ..base.tensor import Tensor

if TYPE_CHECKING:
    from ..plans.plan import Plan

EVERYWHERE: frozenset[Product] = frozenset((*PRODUCTS, ANY))

# Where a row comes from: the operator's document, the real library's known behaviour where the document is
# silent, or our own safe answer where the library is unsafe or indeterminate.
DOCUMENT, LIBRARY, SAFE = "document", "library", "safe"


@dataclass(frozen=True, slots=True)
class BadHandle:
    """Stands for a tensor or array whose handle is no live object; ``text`` says what came."""

    text: str


Value = Tensor | tuple[int, ...] | int | bool | BadHandle | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter under its documented name and its name in the Pythonic layer."""

    name: str
    kind: str  # "tensor", "ints", "bool" or "int"
    python_name: str
    output: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """The answer of a check that does not hold."""

    parameter: str
    expected: str
    got: str
    change: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator: its arguments by their documented names, on a product."""

    operator: Operator
    product: Product
    values: Mapping[str, Value]
    # Where the tensors' first elements are; known only when the call runs.
    addresses: Mapping[str, int] = field(default_factory=dict)

    @property
    def product_name(self) -> str | None:
        return None if self.product is ANY else self.product.name

    def tensor(self, name: str) -> Tensor:
        value = self.values[name]
        assert isinstance(value, Tensor), name
        return value

    def ints(self, name: str) -> tuple[int, ...]:
        value = self.values[name]
        assert isinstance(value, tuple), name
        return value

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int), name
        return value


@dataclass(frozen=True, slots=True)
class Check:
    """One row. ``key`` names it in messages, tables and tests."""

    key: str
    says: str
    test: Callable[[Call], Broken | None] = field(repr=False)
    status: int = status.ACLNN_ERR_PARAM_INVALID
    on: frozenset[Product] = EVERYWHERE
    source: str = DOCUMENT
    allowed: tuple[str, ...] = ()  # the list of names that the row compares with, if it does; tables show it


@dataclass(frozen=True)
class Operator:
    """An aclnn operator: its name, parameters, products, rows, and how a legal call becomes a plan."""

    name: str
    python_name: str
    parameters: tuple[Parameter, ...]
    products: tuple[Product, ...]
    checks: tuple[Check, ...]
    planner: Callable[[Call], Plan] = field(repr=False)

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.kind == "tensor")

    @property
    def output(self) -> Parameter:
        return next(p for p in self.parameters if p.output)

    def checks_on(self, product: Product) -> tuple[Check, ...]:
        """The rows that hold on a product, in their order."""
        return tuple(check for check in self.checks if product in check.on)


def first_violation(call: Call, checks: Iterable[Check]) -> tuple[Check, Broken] | None:
    """The first of the rows that the call breaks, or None."""
    for check in checks:
        if call.product in check.on:
            broken = check.test(call)
            if broken is not None:
                return check, broken
    return None


def enforce(call: Call, checks: Iterable[Check]) -> None:
    """``AclnnError`` for the first broken row."""
    found = first_violation(call, checks)
    if found is not None:
        raise refusal(call, *found)


def refusal(call: Call, check: Check, broken: Broken) -> AclnnError:
    """The error for a broken row: who, what was expected, what came, what to change, and which rule it is."""
    on = "" if call.product is ANY else f"; product {call.product.name}"
    parameter = next((p for p in call.operator.parameters if p.name == broken.parameter), None)
    alias = f" ({parameter.python_name})" if parameter and parameter.python_name != parameter.name else ""
    return AclnnError(
        f"{call.operator.name}: {broken.parameter}{alias}: expected {broken.expected}; got {broken.got}. "
        f"{broken.change} "
        f"[{check.status} {status.name_of(check.status)}{on}; rule {check.key}: {check.says}; source: {check.source}]",
        status=check.status,
        operator=call.operator.name,
        parameter=broken.parameter,
        product=call.product_name,
    )


def prepare(operator: Operator, product: Product, values: Mapping[str, Value]) -> Plan:
    """Check a call and plan it; ``AclnnError`` for the first broken row. Touches no tensor memory."""
    call = Call(operator, product, values)
    enforce(call, operator.checks)
    return operator.planner(call)
