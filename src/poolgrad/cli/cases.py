"""``poolgrad cases``: a suite of cases that CANN's own never has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from rich.table import Table

from .names import OPERATOR_HELP, operator_argument, operator_named
from .terminal import AsJson, BadInput, option, print_json, screen

_BY_SUFFIX = {".json": "atk", ".csv": "ttk", ".jsonl": "jsonl"}


def cases(
    operator: Annotated[str, operator_argument("OP", OPERATOR_HELP, also=("all",))],
    output: Annotated[
        Path | None, option("--output", "-o", metavar="FILE", help="Write them to this file; else list them.")
    ] = None,
    format: Annotated[
        str | None,
        option(help="atk (JSON), ttk (CSV) or jsonl (JSON lines); else by the file's name: .json, .csv, .jsonl."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write cases that test what usual suites leave out, each with its reason and the status that it expects.

    `all` in the place of OP gives those of all operators. JSON lines carry every case; for the others it is told what
    they have no words for.

    Examples: `poolgrad cases AvgPool2dBackward`, `poolgrad cases all -o suite.jsonl`
    """
    from ..cases.suite import suite_of
    from ..cases.work import write_text
    from ..cases.writing import FORMATS, written
    from ..operators import REGISTRY

    names = list(REGISTRY) if operator == "all" else [operator_named(operator).name]
    suite = [case for name in names for case in suite_of(name)]
    if output is None:
        listed = [{"name": c.name, "product": c.product, "status": c.status, "why": c.why} for c in suite]
        if as_json:
            print_json(listed)
            return
        table = Table("case", "product", "status", "why")
        for line in listed:
            table.add_row(str(line["name"]), str(line["product"] or ""), str(line["status"]), str(line["why"]))
        screen.print(table)
        return
    format = format or _BY_SUFFIX.get(output.suffix, "jsonl")
    if format not in FORMATS:
        raise BadInput(f"--format: expected one of {', '.join(FORMATS)}, got {format}")
    text, left_out = written(suite, format)
    write_text(output, text)
    count = len(suite) - len(left_out)
    if as_json:
        print_json(
            {"file": str(output), "format": format, "cases": count, "left_out": [lo._asdict() for lo in left_out]}
        )
        return
    screen.print(f"{count} cases in {output} ({format})", markup=False, soft_wrap=True)
    if left_out:
        reasons = Counter(one.reason for one in left_out).most_common()
        screen.print(f"left out, since {format} has no words for them: {len(left_out)}; --json names them")
        for reason, times in reasons:
            screen.print(f"  {times} × {reason}", markup=False, soft_wrap=True)
