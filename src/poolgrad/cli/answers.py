"""The contract's answers, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.markup import escape
from rich.table import Table

from ..base.errors import AclnnError
from ..base.products import ANY, Product
from ..base.status import name_of
from ..contract.operator import Operator
from .terminal import NO, print_json, screen

if TYPE_CHECKING:
    from ..cases import Case
    from ..cases.judging import Answer


def _data(operator: str | None, product: str | None, accepted: bool, status: int) -> dict[str, object]:
    named = {"operator": operator, "product": product}
    return {**named, "accepted": accepted, "status": status, "status_name": name_of(status)}


def as_data(operator: Operator, product: Product, answer: Answer) -> dict[str, object]:
    data = _data(operator.name, None if product is ANY else product.name, answer.row is None, answer.status)
    if answer.row is not None and answer.broken is not None:
        row = answer.row
        data |= asdict(answer.broken) | {"rule": row.key, "says": row.says, "source": row.source}
        data["message"] = str(answer.error)
    return data


@contextmanager
def accepted(case: Case, as_json: bool) -> Iterator[dict[str, object]]:
    """A block that computes the case, with the contract's answer; a refusal, before it or in it, ends the command."""
    from ..cases.judging import judge

    product, answer = case.call.product, judge(case)
    data = as_data(case.operator, product, answer)
    if answer.row is not None:
        print_json(data) if as_json else show(case.operator, product, answer)
        raise typer.Exit(NO)
    try:
        yield data
    except AclnnError as error:  # what only the values can break: an index outside its plane
        if as_json:
            data = _data(error.operator, error.product, False, error.status)
            print_json(data | {"parameter": error.parameter, "message": str(error)})
        else:
            screen.print(f"refused: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(NO) from error


def show(operator: Operator, product: Product, answer: Answer) -> None:
    """The answer of one product, on the screen."""
    call = operator.name if product is ANY else f"{operator.name} on {product.name}"
    if answer.row is None or answer.broken is None:
        screen.print(f"[green]accepted[/]: {call}")
        return
    screen.print(f"[red]refused[/]: {call}: {answer.status} {name_of(answer.status)}")
    parameter = next((p for p in operator.parameters if p.name == answer.broken.parameter), None)
    alias = f" ({parameter.python_name})" if parameter and parameter.python_name != parameter.name else ""
    table = Table.grid(padding=(0, 2))
    told = asdict(answer.broken) | {"rule": f"{answer.row.key}: {answer.row.says}", "source": answer.row.source}
    told["parameter"] += alias
    for word, text in told.items():
        table.add_row(word, escape(text))
    screen.print(table)
