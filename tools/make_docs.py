"""Write the tables that the documents take from the contract and from the last benchmark.

With --check, only say whether they are current.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from poolgrad.acl.launch import LAUNCH_CHECKS
from poolgrad.base.products import ANY
from poolgrad.contract.engine import DOCUMENT
from poolgrad.contract.support import Support, holds_on, support_table
from poolgrad.operators import REGISTRY
from poolgrad.plugins.calls import takes_indices
from poolgrad.precision import limits

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks is no part of the installed package
from benchmarks.tables import (  # noqa: E402
    CHINESE,
    ENGLISH,
    c_interface_cost,
    chunks_tables,
    details,
    instructions_table,
    speed,
    sweep_details,
    sweep_table,
    table,
)

RESULTS = ROOT / "benchmarks" / "results" / "latest.json"
INSTRUCTIONS, SWEEP, DASK = (RESULTS.with_name(f"{name}.json") for name in ("instructions", "sweep", "dask"))
# Around a generated part, in a document and in a program.
MARKS = {".md": ("<!-- generated: {} -->", "<!-- end -->"), ".py": ("# generated: {}", "# end")}
SOURCES = ROOT / "src" / "poolgrad"
LINE_LENGTH = 120


def support_cells(any_name: str, operator_word: str, indices_word: str) -> str:
    """Operators down, products across; products that have all of them alike share a column."""

    def cell(entry: Support) -> str:
        if not entry.dtypes:
            return "—"
        indices = f"; {indices_word} {', '.join(entry.index_dtypes)}" if entry.index_dtypes else ""
        return f"{', '.join(entry.dtypes)}{indices}; {', '.join(entry.formats)}"

    cells, width = support_table(REGISTRY.values()), len(REGISTRY)
    columns: dict[tuple[str, ...], list[str]] = {}
    for start in range(0, len(cells), width):
        product = cells[start].product
        name = any_name if product is ANY else f"{product.name} ({product.soc})"
        columns.setdefault(tuple(map(cell, cells[start : start + width])), []).append(name)
    rows = ([f"`{name}`", *row] for name, row in zip(REGISTRY, zip(*columns, strict=True), strict=True))
    return table([operator_word, *map(", ".join, columns.values())], rows)


def operators(operator_word: str, python_word: str) -> str:
    rows = [[f"`{operator.name}`", f"`poolgrad.{operator.python_name}`"] for operator in REGISTRY.values()]
    return table([operator_word, python_word], rows)


def functions() -> str:
    """src/poolgrad/functional.py: what the operators' files define, where type checkers find it."""
    names = sorted(operator.python_name for operator in REGISTRY.values())
    lines = ['"""The Pythonic functions, from the files of their operators. Made by tools/make_docs.py."""', ""]
    for name in names:
        line = f"from .operators.{name} import {name} as {name}"
        short = len(line) <= LINE_LENGTH
        lines += [line] if short else [f"from .operators.{name} import (", f"    {name} as {name},", ")"]
    return "\n".join([*lines, "", "__all__ = [", *(f'    "{name}",' for name in names), "]"]) + "\n"


def phases() -> str:
    """src/poolgrad/acl/phases.py: the functions of all operators under their names."""
    names = [name for operator in REGISTRY for name in (f"{operator}GetWorkspaceSize", operator)]
    lines = ['"""Both phases of every operator under their documented names. Made by tools/make_docs.py."""', ""]
    lines += ["from .operators import PHASES as _PHASES", "", *(f'{name} = _PHASES["{name}"]' for name in names)]
    return "\n".join(lines) + "\n"


def test_spec() -> str:
    """In src/poolgrad/plugins/ttk.py: what TTK finds by parsing, and the classes that it names."""
    classes = {name: name.removeprefix("aclnn") for name in REGISTRY}
    why = "# type: ignore[assignment] # Python has another use for this name, TTK this one"
    lines = [f"__spec__ = {{  {why}", *(f'    "{name}": "{own}",' for name, own in classes.items()), "}"]
    for name, own in classes.items():
        base = "_WithIndices" if takes_indices(REGISTRY[name]) else "_Golden"
        lines += ["", "", f"class {own}({base}):", f'    operator = "{name}"']
    return "\n".join([*lines, "", ""])


def graph_operators() -> str:
    """In docs/plugins.md: the names that msOpST's functions understand."""
    rows = []
    for operator in REGISTRY.values():
        for place, graph in enumerate(operator.ir):
            tensors = {p.role for p in operator.tensors}
            groups = (
                [name for role, name in graph.names.items() if role in tensors],
                [*(name for role, name in graph.names.items() if role not in tensors), *graph.words],
            )
            names = "; ".join(", ".join(f"`{name}`" for name in group) for group in groups if group)
            names += " (needed in ND)" if graph.needs_data_format else ""
            rows.append(["" if place else f"`{operator.python_name}`", graph.name, names])
    return table(["function", "graph operator", "its names"], rows)


def contract_page() -> str:
    """docs/contract.md: the rows of every operator, in their order."""
    parts = [
        "# The contract, row by row",
        "This page is generated from the code (`make docs`). Rows are checked from top to bottom; the first broken one"
        " decides. *Source*: **document**, the operator's document; **library**, the real library where the document is"
        " silent; **safe**, our own answer where the library is unsafe or indeterminate (see DEVIATIONS.md).",
    ]
    for operator in REGISTRY.values():
        parts.append(f"## {operator.name}")
        parts.append(
            f"In Python: `poolgrad.{operator.python_name}`. Products: {', '.join(p.name for p in operator.products)}."
        )
        rows = [
            [f"`{check.key}`", check.says, holds_on(check, operator), str(check.status), check.source]
            for check in operator.checks
        ]
        parts.append(table(["row", "rule", "holds on", "status", "source"], rows))
    parts.append("## Phase two, all operators")
    parts.append(
        "Checked when the plan meets memory. The two rows about overlaps hold in the Pythonic layer too, for `out=`."
    )
    rows = [[f"`{check.key}`", check.says, str(check.status), check.source] for check in LAUNCH_CHECKS]
    parts.append(table(["row", "rule", "status", "source"], rows))
    return "\n\n".join(parts) + "\n"


def slips() -> str:
    """Slips in the operators' documents, and how they are read."""
    rows = [
        [operator.name.removeprefix("aclnn"), slip, reading]
        for operator in REGISTRY.values()
        for slip, reading in operator.slips
    ]
    return table(["document", "slip", "reading"], rows)


def our_rows() -> str:
    """The rows whose source is not a document, and who has them."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for operator in REGISTRY.values():
        for check in operator.checks:
            if check.source != DOCUMENT:
                found.setdefault((check.key, check.says, check.source), []).append(operator.name.removeprefix("aclnn"))
    rows = [
        [f"`{key}`", says, "all" if len(set(names)) == len(REGISTRY) else ", ".join(dict.fromkeys(names)), source]
        for (key, says, source), names in found.items()
    ]
    rows += [[f"`{c.key}`", c.says, "all, phase two", c.source] for c in LAUNCH_CHECKS if c.source != DOCUMENT]
    return table(["row", "rule", "operators", "source"], rows)


def thresholds() -> str:
    """The numbers of the precision standards, by element type."""

    def number(value: float) -> str:
        exponent = math.log2(value) if value else 0.0
        return f"2^{exponent:.0f}" if exponent < 0 and exponent.is_integer() else f"{value:g}"

    def cell(row: tuple[float | None, ...] | None, *names: str) -> str:
        return ", ".join(f"{name} {number(getattr(row, name))}" for name in names) if row else "—"

    rows = [
        [
            name,
            cell(mixed, "rtol", "atol", "cap") if mixed.cap else "equal",
            f"T = {number(limits.STAT_REL_ERR[name].mere)}" if name in limits.STAT_REL_ERR else "—",
            cell(limits.CLOSE[name], "rtol", "ptol") if mixed.cap else "equal",
            cell(limits.CROSS_SMALL.get(name), "small", "atol"),
        ]
        for name, mixed in limits.MIXED.items()
    ]
    return table(["", "`mixed`", "`stat_rel_err`", "`close`", "`cross_check`"], rows)


def filled(path: Path, **contents: str) -> str:
    """A file with all its generated parts: what stands between the marks of each name is exchanged."""
    text = path.read_text("utf-8")
    begin, end = MARKS[path.suffix]
    for name, content in contents.items():
        mark = begin.format(name) + "\n"
        before, rest = text.split(mark, 1)
        text = f"{before}{mark}{content}\n{end}{rest.split(end, 1)[1]}"
    return text


def documents() -> dict[Path, str]:
    """Every generated document: its path, and what it should hold."""
    english, chinese, benchmarks = ROOT / "README.md", ROOT / "README.zh.md", ROOT / "docs" / "benchmarks.md"
    comparing = ROOT / "docs" / "compare.md"
    c_interface = ROOT / "docs" / "capi.md"
    plugins, ttk = ROOT / "docs" / "plugins.md", SOURCES / "plugins" / "ttk.py"
    kept = (RESULTS, INSTRUCTIONS, SWEEP, DASK)
    measured, counted, swept, chunked = (json.loads(path.read_text("utf-8")) for path in kept)
    large = ROOT / "docs" / "larger-than-memory.md"
    deviations = ROOT / "DEVIATIONS.md"
    return {
        deviations: filled(deviations, slips=slips(), rows=our_rows()),
        english: filled(
            english,
            operators=operators("operator", "in Python"),
            support=support_cells("no product", "operator", "indices"),
            sweep=sweep_table(swept, ENGLISH),
            speed=speed(measured, ENGLISH),
        ),
        chinese: filled(
            chinese,
            operators=operators("算子", "Python 函数"),
            support=support_cells("不指定产品", "算子", "索引"),
            sweep=sweep_table(swept, CHINESE),
            speed=speed(measured, CHINESE),
        ),
        benchmarks: filled(
            benchmarks,
            cases=details(measured),
            sweep=sweep_details(swept),
            instructions=instructions_table(counted),
        ),
        comparing: filled(comparing, thresholds=thresholds()),
        c_interface: filled(c_interface, capi=c_interface_cost(measured, ENGLISH)),
        plugins: filled(plugins, ir=graph_operators()),
        large: filled(large, dask=chunks_tables(chunked)),
        ttk: filled(ttk, spec=test_spec()),
        ROOT / "docs" / "contract.md": contract_page(),
        SOURCES / "functional.py": functions(),
        SOURCES / "acl" / "phases.py": phases(),
    }


def main(arguments: list[str]) -> int:
    stale = [path for path, text in documents().items() if not path.exists() or path.read_text("utf-8") != text]
    if arguments == ["--check"]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run make docs")
        return 1 if stale else 0
    for path in stale:
        path.write_text(documents()[path], "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
