"""``poolgrad check``: would this call be accepted, and if not, why?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from ..base.products import ANY, PRODUCTS, Product
from ..base.status import ACL_ERROR_RT_AICORE_EXCEPTION
from ..contract.parameters import Parameter, Role
from ..operators import find_operator
from .answers import as_data, show
from .line import Line, takes_call
from .names import ProductName, operator_argument, operator_named, product_named
from .terminal import NO, AsJson, BadInput, print_json, screen

if TYPE_CHECKING:
    from ..cases.judging import Answer

TENSOR = "SHAPE[:DTYPE][:FORMAT][:strides=...], an .npy file, or null"
# What the others tell of a tensor that is absent.
ABSENT = {
    Role.GRADIENT: "; as the windows give it, if absent",
    Role.INDICES: "; like the gradient, if absent",
    Role.MASK: "; as the windows give it, if absent",
    Role.RESULT: "; as the call makes it, if absent; of several results, one for each in their order",
}


def described(parameter: Parameter) -> tuple[str, str]:
    """A tensor that need not be there: its metavar and help."""
    return "TENSOR", f"{parameter.help[:-1]}: {TENSOR}{ABSENT.get(parameter.role, '')}."


@takes_call(described)
def check(
    operator: Annotated[str, operator_argument("OP|CASES", "The operator, or a case file.")],
    words: dict[str, Any],
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a call would be accepted: status, parameter, rule and where the rule comes from.

    Nothing is computed and no memory is taken, so any size may be asked about. Without --product the answers of all
    products; the exit code is 0 if one of them at least accepts the call, else 1.
    Of a case file every case is checked, and the exit code is 0 if each gets the status that it expects (0 if it
    names none; an index outside its plane, 507015, shows only when a call runs).

    Examples:

    `poolgrad check AvgPool2dBackward --x 1,16,4,4 --kernel-size 3 --padding 2 --product "Atlas A2"`

    `poolgrad check MaxPool2dWithIndicesBackward --x 8,64,56,56:float16 --kernel-size 3 --stride 2`

    `poolgrad check suite.json --product Ascend910B`
    """
    if _is_file(operator):
        if given := ", ".join((*words["tensors"], *words["numbers"])):
            raise BadInput(f"{operator}: a case file has its own tensors and numbers; leave out {given}")
        _check_file(operator, product, as_json)
        return
    from ..cases.judging import judge

    op = operator_named(operator)
    line, wanted = Line(op, **words, reads=False), (*PRODUCTS, ANY) if product is None else (product_named(product),)
    # Outputs that the line does not describe are those of the product.
    answers = {where: judge(line.case(where)) for where in wanted}
    if as_json:
        data = [as_data(op, where, answer) for where, answer in answers.items()]
        print_json(data[0] if product is not None else {"operator": op.name, "answers": data})
    elif product is None:
        _show_products(answers)
    else:
        show(op, wanted[0], answers[wanted[0]])
    # What no product has, such as float64, is only a remark.
    if not any(answer.row is None for where, answer in answers.items() if product is not None or where is not ANY):
        raise typer.Exit(NO)


def _is_file(name: str) -> bool:
    """Whether a case file is meant; operators have names with dots, too."""
    try:
        find_operator(name)
        return False
    except ValueError:
        return bool(Path(name).suffix) or os.path.isfile(name)


def _show_products(answers: Mapping[Product, Answer]) -> None:
    """A line for each product, and below them each reason once."""
    table = Table("product", "status", "parameter", Column("rule", overflow="fold"), "source")
    reasons: dict[tuple[str, str], str] = {}
    for product, answer in answers.items():
        if answer.row is None or answer.broken is None:
            table.add_row(product.name, "[green]0 accepted[/]")
            continue
        row, broken = answer.row, answer.broken
        table.add_row(product.name, f"[red]{answer.status}[/]", broken.parameter, row.key, row.source)
        reason = f"- {row.key}: {row.says}; expected {broken.expected}; got {broken.got}. {broken.change}"
        reasons.setdefault((row.key, broken.expected), reason)
    screen.print(table)
    for reason in reasons.values():
        screen.print(reason, markup=False, soft_wrap=True)


def _check_file(path: str, product: str | None, as_json: bool) -> None:
    from ..cases import read_cases
    from ..cases.judging import judge, surprise

    cases = read_cases(path)
    table = Table(Column("case", overflow="fold"), "product", "expected", "status", "parameter", "rule", "source")
    records, surprises = [], []
    for case in cases:
        where = product_named(case.product if product is None else product)
        answer, expected = judge(case, where), case.expected
        # A bad index shows only when the call runs; until then it is accepted.
        right = answer.status == (0 if expected == ACL_ERROR_RT_AICORE_EXCEPTION else expected)
        if not right:
            reason = None if answer.error is None else str(answer.error)
            surprises.append(f"{case.name}: {surprise(expected, answer.status, reason)}")
        records.append({"case": case.name, "expected": expected, "as_expected": right})
        records[-1] |= as_data(case.operator, where, answer)
        why = (answer.broken.parameter, answer.row.key, answer.row.source) if answer.row and answer.broken else ()
        status = f"[{'green' if right else 'red'}]{answer.status}[/]"
        table.add_row(escape(case.name), "—" if where is ANY else where.name, str(expected), status, *why)
    if as_json:
        print_json(records)
    else:
        screen.print(table)
        for told in surprises:
            screen.print(told, markup=False, soft_wrap=True)
        as_expected = len(cases) - len(surprises)
        screen.print(f"{as_expected} of {len(cases)} cases have the status that they expect")
    if surprises:
        raise typer.Exit(NO)
