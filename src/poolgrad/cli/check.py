"""``poolgrad check``: would this call be accepted, and if not, why?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..products import ANY, PRODUCTS
from .answers import Answer, answer, product_label, show
from .line import DType, Format, IndicesDType, Line, Shape, takes_numbers
from .names import ProductName, operator_named, product_named
from .terminal import NO, AsJson, BadInput, print_json, screen

TENSOR = "SHAPE[:DTYPE][:FORMAT][:strides=...], an .npy file, or null."


def _tensor(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="TENSOR", help=help, show_default=False)


@takes_numbers
def check(
    operator: Annotated[
        str, typer.Argument(metavar="OP|CASES", help="The operator, or a case file.", show_default=False)
    ],
    numbers: dict[str, Any],
    grad_output: Annotated[
        str | None, _tensor("--grad-output", help=f"{TENSOR} As the windows give it, if absent.")
    ] = None,
    x: Annotated[str | None, _tensor("--x", "--x-shape", help=f"The input (self). {TENSOR}")] = None,
    indices: Annotated[str | None, _tensor("--indices", help="Like --grad-output, if absent.")] = None,
    out: Annotated[str | None, _tensor("--out", help="The output. Like --x, if absent.")] = None,
    dtype: DType = None,
    indices_dtype: IndicesDType = None,
    format: Format = None,
    shape: Shape = None,
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a call would be accepted: status, parameter, rule and where the rule comes from.

    Nothing is computed and no memory is taken, so any size may be asked about. Without --product the answers of all
    products; the exit code is 0 if one of them at least accepts the call, else 1.
    Of a case file every case is checked, and the exit code is 0 if each gets the status that it expects (0 if it
    names none).

    Examples:

    `poolgrad check AvgPool2dBackward --x 1,16,4,4 --kernel-size 3 --padding 2 --product "Atlas A2"`

    `poolgrad check MaxPool2dWithIndicesBackward --x 8,64,56,56:float16 --kernel-size 3 --stride 2`

    `poolgrad check suite.json --product Ascend910B`
    """
    tensors = {"grad_output": grad_output, "x": x, "indices": indices, "out": out}
    if Path(operator).suffix:
        given = {name: value for name, value in {**tensors, **numbers}.items() if value is not None}
        if given:
            raise BadInput(f"{operator}: a case file has its own tensors and numbers; leave out {', '.join(given)}")
        _check_file(operator, product, as_json)
        return
    op = operator_named(operator)
    line = Line(op, tensors, numbers, dtype, indices_dtype, format, shape)
    values = line.case().arguments
    wanted = (*PRODUCTS, ANY) if product is None else (product_named(product),)
    answers = [answer(op, where, values) for where in wanted]
    if as_json:
        data = [found.as_data() for found in answers]
        print_json(data[0] if product is not None else {"operator": op.name, "answers": data})
    elif product is None:
        _show_products(answers)
    else:
        show(answers[0])
    # What no product has, such as float64, is only a remark.
    deciding = [found for found in answers if product is not None or found.call.product is not ANY]
    if not any(found.accepted for found in deciding):
        raise typer.Exit(NO)


def _show_products(answers: list[Answer]) -> None:
    """A line for each product, and each reason in full once."""
    table = Table("product", "status", "parameter", "rule", "source")
    reasons: dict[tuple[str, str], str] = {}
    for found in answers:
        name = product_label(found.call.product)
        if found.check is None or found.broken is None:
            table.add_row(name, "[green]0 accepted[/]")
            continue
        table.add_row(name, f"[red]{found.status}[/]", found.broken.parameter, found.check.key, found.check.source)
        said = f"{found.check.key}: {found.check.says}; expected {found.broken.expected}; got {found.broken.got}. "
        reasons.setdefault((found.check.key, found.broken.expected), said + found.broken.change)
    screen.print(table)
    for reason in reasons.values():
        screen.print(f"- {reason}", markup=False, soft_wrap=True)


def _check_file(path: str, product: str | None, as_json: bool) -> None:
    from ..cases import BadCase, read_cases

    try:
        cases = list(read_cases(path))
    except BadCase as error:
        raise BadInput(str(error)) from error
    found = [answer(case.operator, product_named(product or case.product), case.arguments) for case in cases]
    as_expected = [one.status == (case.status or 0) for case, one in zip(cases, found, strict=True)]
    if as_json:
        pairs = zip(cases, found, as_expected, strict=True)
        print_json(
            [{"case": c.name, "expected": c.status or 0, "as_expected": ok} | one.as_data() for c, one, ok in pairs]
        )
    else:
        table = Table("case", "operator", "product", "expected", "status", "parameter", "rule", "source")
        for case, one, ok in zip(cases, found, as_expected, strict=True):
            if one.check is None or one.broken is None:
                why = ("", "", "")
            else:
                why = (one.broken.parameter, one.check.key, one.check.source)
            colour = "green" if ok else "red"
            where = product_label(one.call.product)
            status = f"[{colour}]{one.status}[/]"
            name = case.operator.name.removeprefix("aclnn")
            table.add_row(escape(case.name), name, where, str(case.status or 0), status, *why)
        screen.print(table)
        screen.print(f"{sum(as_expected)} of {len(cases)} cases have the status that they expect")
    if not all(as_expected):
        raise typer.Exit(NO)
