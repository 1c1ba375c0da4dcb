"""The contract engine: a call against the ordered list of its operator's checks.

A check is a row of data: what it says, on which products it holds, which status it gives, where it comes from.
The first broken row decides and this file writes the message. Nothing else decides what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..base import status
from ..base.errors import AclnnError
from ..base.products import ANY, PRODUCTS, Product
from ..base.tensor import Tensor
from ..base.windows import Windows
from .parameters import Parameter, Role

if TYPE_CHECKING:
    from ..plans.limits import Limits
    from ..plans.plan import Plan
    from .operator import Operator

EVERYWHERE: frozenset[Product] = frozenset((*PRODUCTS, ANY))

# Where a row comes from: the operator's document, the real library's known behaviour where the document is
# silent, or our own safe answer where the library is unsafe or indeterminate.
DOCUMENT, LIBRARY, SAFE = "document", "library", "safe"


@dataclass(frozen=True, slots=True)
class BadHandle:
    """Stands for a tensor or array whose handle is no live object; ``text`` says what came."""

    text: str


Value = Tensor | tuple[int, ...] | int | bool | BadHandle | None
What = Role | Parameter | str


@dataclass(frozen=True, slots=True)
class Broken:
    """The answer of a check that does not hold."""

    parameter: str
    expected: str
    got: str
    change: str


@dataclass(frozen=True)
class Call:
    """One call of an operator: its arguments by their documented names, on a product."""

    operator: Operator
    product: Product
    values: Mapping[str, Value]
    # Where the tensors' first elements are; known only when the call runs.
    addresses: Mapping[str, int] = field(default_factory=dict)
    # What a message says besides: that an argument may have been meant otherwise, as only a door can know.
    hint: str = field(default="", kw_only=True)

    @property
    def product_name(self) -> str | None:
        return None if self.product is ANY else self.product.name

    @cached_property
    def windows(self) -> tuple[Windows, ...]:
        """Along each pooled axis. Rows, plan and messages all ask for them."""
        return self.operator.windows(self)

    def value(self, what: What) -> Value:
        """An argument, by its role, its parameter or its documented name; None for a role that nobody has."""
        if isinstance(what, Role):
            parameter = self.operator.by_role.get(what)
            return None if parameter is None else self.values[parameter.name]
        return self.values[what if isinstance(what, str) else what.name]

    def tensor(self, what: What) -> Tensor:
        value = self.value(what)
        assert isinstance(value, Tensor), what
        return value

    def ints(self, what: What) -> tuple[int, ...]:
        value = self.value(what)
        assert isinstance(value, tuple), what
        return value

    def number(self, what: What) -> int:
        value = self.value(what)
        assert isinstance(value, int), what
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
    # The list of names that the row compares with, if it does: what of which parameters must be in it.
    allowed: tuple[str, ...] = ()
    about: tuple[Parameter, ...] = ()
    what: str = ""  # "dtype" or "format"


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
        f"{broken.change} {call.hint and f'{call.hint} '}"
        f"[{check.status} {status.name_of(check.status)}{on}; rule {check.key}: {check.says}; source: {check.source}]",
        status=check.status,
        operator=call.operator.name,
        parameter=broken.parameter,
        product=call.product_name,
    )


def prepare(
    operator: Operator,
    product: Product,
    values: Mapping[str, Value],
    threads: int,
    limits: Limits | None = None,
    way: str = "",
    hint: str = "",
) -> Plan:
    """Check a call and plan it; ``AclnnError`` for the first broken row. Touches no tensor memory.

    Limits are those of the machine, and the way is the fastest one, unless others are asked for.
    """
    call = Call(operator, product, values, hint=hint)
    enforce(call, operator.checks)
    return operator.planner(call, threads, limits, way)
