"""``poolgrad explain``: the contract of an operator, row by row; or the way that one call of it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..base.products import ANY
from ..contract.engine import Check
from ..contract.operator import Operator
from ..contract.support import holds_on
from ..run.threads import get_num_threads
from .answers import accepted
from .check import described
from .line import Line, takes_call
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import AsJson, BadInput, print_json, screen

if TYPE_CHECKING:
    from ..cases import Case


@takes_call(described)
def explain(
    operator: OperatorName,
    words: dict[str, Any],
    plan: Annotated[bool, typer.Option("--plan", help="Say which way a call takes to its kernel instead.")] = False,
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Show the rules that a call of an operator must keep, in the order in which they are checked.

    The first broken rule decides the status. Source: *document*, the operator's document; *library*, the real library
    where the document is silent; *safe*, a clear error where the library is unsafe.

    Examples:

    `poolgrad explain AvgPool2dBackward`

    `poolgrad explain max_pool2d_with_indices_backward --product Ascend950`

    With --plan, and a call as `poolgrad check` takes it: the way that its computation takes on this machine, and why it
    takes none of the others. All that may be taken give the same bits.

    `poolgrad explain AvgPool2dBackward --plan --x 8,64,56,56 --kernel-size 3 --stride 1 --padding 1`
    """
    if plan:
        _explain_plan(Line(operator_named(operator), **words, reads=False).case(product_named(product)), as_json)
        return
    if given := ", ".join((*words["tensors"], *words["numbers"])):
        raise BadInput(f"rules are those of all calls; add --plan to explain one, or leave out {given}")
    from ..acl.launch import LAUNCH_CHECKS  # the documented layer, which other commands do not need

    op, where = operator_named(operator), product_named(product)
    phases = ((1, op.checks), (2, LAUNCH_CHECKS))
    rows = [(phase, c) for phase, checks in phases for c in checks if product is None or where in c.on]
    if as_json:
        print_json(
            {
                "operator": op.name,
                "python_name": op.python_name,
                "product": where.name if product is not None else None,
                "supported": where is ANY or where in op.products,
                "products": [p.name for p in op.products],
                "rules": [_as_data(phase, check, op) for phase, check in rows],
            }
        )
        return
    screen.print(f"{op.name} (in Python poolgrad.{op.python_name}), on {', '.join(p.name for p in op.products)}")
    if where is not ANY and where not in op.products:
        screen.print(
            f"{where.name} does not have it: every call that passes the rules on null pointers ends at `product`."
        )
    columns = ("phase", "rule", "what must hold", "status", *(("holds on",) if product is None else ()), "source")
    table = Table(*columns)
    for phase, check in rows:
        cells = [str(phase), check.key, check.says, str(check.status)]
        if product is None:
            cells.append(holds_on(check, op))
        table.add_row(*cells, check.source)
    screen.print(table, markup=False)


def _as_data(phase: int, check: Check, op: Operator) -> dict[str, object]:
    return {
        "phase": phase,
        "rule": check.key,
        "says": check.says,
        "status": check.status,
        "holds_on": holds_on(check, op),
        "source": check.source,
        "allowed": check.allowed,
    }


def _explain_plan(case: Case, as_json: bool) -> None:
    """Nothing runs and no memory is taken."""
    with accepted(case, as_json):
        made = case.operator.planner(case.call, get_num_threads(), None, "")
        verdicts = made.choice.verdicts() if made.choice else []
        taken = made.choice.taken.name if made.choice else None
    told = {"kernel": made.kernel or None, "compute": made.compute, "parts": made.parts, "units": made.units}
    told |= {"scratch_bytes": made.scratch_bytes}
    if as_json:
        ways = [
            {"way": v.way, "taken": v.way == taken, "needs": v.lacks or None, "pays_with": v.costs or None}
            for v in verdicts
        ]
        print_json({"operator": case.operator.name, "way": taken, **told, "ways": ways})
        return
    if not made.kernel:
        screen.print(f"{case.operator.name}: nothing to compute, the outputs are empty", markup=False)
        return
    name = case.operator.name if taken is None else f"{case.operator.name}: {taken}"
    kernel = f"kernel {made.kernel} in {made.compute}, {made.units:,} units in {made.parts} parts"
    screen.print(f"{name} ({kernel}, {made.scratch_bytes:,} bytes of scratch)", markup=False, soft_wrap=True)
    table = Table("way", "may be taken", "why not")
    for verdict in verdicts:
        answer = "taken" if verdict.way == taken else "no" if verdict.lacks else "yes"
        reason = f"needs {verdict.lacks}" if verdict.lacks else f"pays with {verdict.costs}" if verdict.costs else ""
        if not reason and verdict.way != taken:
            reason = "comes later in the list of those that pay"
        table.add_row(verdict.way, answer, reason)
    if verdicts:
        screen.print(table, markup=False)
