"""``poolgrad support``: which product has which operator, with which types and formats."""

from __future__ import annotations

from rich.table import Table

from ..base.products import ANY
from ..contract.support import Support, support_table
from ..operators import REGISTRY
from .terminal import AsJson, print_json, screen


def support(as_json: AsJson = False) -> None:
    """Show products × operators with their dtypes and formats.

    Example: `poolgrad support`
    """
    cells = support_table(REGISTRY.values())
    if as_json:
        print_json([_as_data(cell) for cell in cells])
        return
    table = Table("product", "operator", "dtypes", "indices", "formats")
    for cell in cells:
        first = cell.operator is cells[0].operator
        table.add_row(
            _name(cell) if first else "",
            cell.operator.name.removeprefix("aclnn"),
            ", ".join(cell.dtypes) or "—",
            ", ".join(cell.index_dtypes),
            ", ".join(cell.formats),
            end_section=cell.operator is cells[-1].operator,
        )
    screen.print(table)


def _name(cell: Support) -> str:
    return "no product" if cell.product is ANY else f"{cell.product.name} ({cell.product.soc})"


def _as_data(cell: Support) -> dict[str, object]:
    return {
        "product": None if cell.product is ANY else cell.product.name,
        "operator": cell.operator.name,
        "supported": bool(cell.dtypes),
        "dtypes": cell.dtypes,
        "index_dtypes": cell.index_dtypes,
        "formats": cell.formats,
    }
