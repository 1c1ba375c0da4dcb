"""``poolgrad explain``: the contract of an operator, row by row."""

from __future__ import annotations

from rich.table import Table

from ..base.products import ANY
from ..contract.engine import Check
from ..contract.operator import Operator
from ..contract.support import holds_on
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import AsJson, print_json, screen


def explain(operator: OperatorName, product: ProductName = None, as_json: AsJson = False) -> None:
    """Show the rules that a call of an operator must keep, in the order in which they are checked.

    The first broken rule decides the status. Source: *document*, the operator's document; *library*, the real library
    where the document is silent; *safe*, a clear error where the library is unsafe.

    Examples:

    `poolgrad explain AvgPool2dBackward`

    `poolgrad explain max_pool2d_with_indices_backward --product Ascend950`
    """
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
