"""The contract's answer to a call, for people and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from ..contract import Broken, Call, Check, Operator, Value, first_violation, refusal
from ..errors import AclnnError
from ..overlap import MEMORY_CHECKS
from ..products import ANY, Product
from ..status import name_of
from .terminal import screen


@dataclass(frozen=True, slots=True)
class Answer:
    """Accepted, or refused by a row."""

    call: Call
    check: Check | None = None
    broken: Broken | None = None

    @property
    def accepted(self) -> bool:
        return self.check is None

    @property
    def status(self) -> int:
        return 0 if self.check is None else self.check.status

    @property
    def message(self) -> str:
        return "" if self.check is None or self.broken is None else str(refusal(self.call, self.check, self.broken))

    def as_data(self) -> dict[str, object]:
        check, broken = self.check, self.broken
        data: dict[str, object] = {
            "operator": self.call.operator.name,
            "product": self.call.product_name,
            "accepted": self.accepted,
            "status": self.status,
            "status_name": name_of(self.status),
        }
        if check is not None and broken is not None:
            data |= {
                "parameter": broken.parameter,
                "expected": broken.expected,
                "got": broken.got,
                "change": broken.change,
                "rule": check.key,
                "says": check.says,
                "source": check.source,
                "message": self.message,
            }
        return data


def answer(operator: Operator, product: Product, values: Mapping[str, Value]) -> Answer:
    """What the contract says to a call of which only descriptions are known; no memory is looked at."""
    call = Call(operator, product, values)
    found = first_violation(call, (*operator.checks, *MEMORY_CHECKS))
    return Answer(call) if found is None else Answer(call, *found)


def product_label(product: Product) -> str:
    return "no product" if product is ANY else f"{product.name} ({product.soc})"


def show(found: Answer) -> None:
    """An answer of one product, on the screen."""
    call = found.call
    where = "" if call.product is ANY else f" on {call.product.name}"
    if found.check is None or found.broken is None:
        output = call.tensor(call.operator.output.name)
        screen.print(f"[green]accepted[/]: {call.operator.name}{where}, which gives {output.dtype.name} {output.shape}")
        return
    screen.print(f"[red]refused[/]: {call.operator.name}{where}: {found.status} {name_of(found.status)}")
    table = Table.grid(padding=(0, 2))
    parameter = next((p for p in call.operator.parameters if p.name == found.broken.parameter), None)
    alias = f" ({parameter.python_name})" if parameter and parameter.python_name != parameter.name else ""
    for word, text in (
        ("parameter", found.broken.parameter + alias),
        ("expected", found.broken.expected),
        ("got", found.broken.got),
        ("change", found.broken.change),
        ("rule", f"{found.check.key}: {found.check.says}"),
        ("source", found.check.source),
    ):
        table.add_row(word, text)
    screen.print(table)


def error_as_data(error: AclnnError) -> dict[str, object]:
    """A refusal that came while the call ran."""
    return {
        "operator": error.operator,
        "product": error.product,
        "accepted": False,
        "status": error.status,
        "status_name": name_of(error.status),
        "parameter": error.parameter,
        "message": str(error),
    }
