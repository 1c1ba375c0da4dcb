"""``poolgrad verify``: the outputs that someone's device wrote, against the golden ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import TaskID
from rich.text import Text

from ..checks import listed
from ..precision.limits import ALIASES, STANDARDS
from .golden import CaseFile, Jobs
from .terminal import NO, AsJson, BadInput, print_json, progress, screen

if TYPE_CHECKING:
    from ..cases.verification import Outcome

_STYLES = {"pass": "green", "fail": "red", "missing": "red", "bad": "red", "refused": "dim"}
UNUSABLE = 2


def verify(
    cases: CaseFile,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What golden made.", show_default=False)],
    actual: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the device's outputs are, if not in DIR.", show_default=False),
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option(
            help=f"{listed(STANDARDS)}; else the case's own, else mixed.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Compare a device's outputs with the golden ones: a line per case, the worst first, and totals.

    The output of a case is `DIR/CASE/actual.npy` or `.bin`, or `DIR/CASE.npy` or `.bin`. A call's status may stand in
    `DIR/CASE/status.txt`; for cases that the contract refuses it is all there is to compare.
    Exit code 0: all pass; 1: some fail or are missing; 2: some can't be read.

    Example: `poolgrad verify suite.jsonl golden --actual from_device`
    """
    from ..cases import read_cases
    from ..cases.golden import default_jobs, read_manifest
    from ..cases.verification import ORDER
    from ..cases.verification import verify as outcomes

    if standard is not None and standard not in (*STANDARDS, *ALIASES):
        raise BadInput(f"--standard: expected one of {', '.join(STANDARDS)}, got {standard}")
    if actual is not None and not actual.is_dir():
        raise BadInput(f"--actual: there is no directory {actual}")
    manifest = read_manifest(directory)
    found = read_cases(cases, seed=manifest["seed"], product=manifest["product"])
    results = []
    with progress("verify", len(found)) as bar:
        for outcome in outcomes(
            found,
            manifest["entries"],
            directory,
            actual or directory,
            standard=standard,
            jobs=jobs or default_jobs(),
        ):
            results.append(outcome)
            bar.advance(TaskID(0))
    results.sort(key=lambda outcome: outcome.rank)
    counted = Counter(outcome.verdict for outcome in results)
    totals = {verdict: counted[verdict] for verdict in ORDER}
    if as_json:
        print_json({"cases": len(results), "totals": totals, "results": [_as_data(outcome) for outcome in results]})
    else:
        _show(results, totals)
    if totals["bad"]:
        raise typer.Exit(UNUSABLE)
    if totals["fail"] or totals["missing"]:
        raise typer.Exit(NO)


def _as_data(outcome: Outcome) -> dict[str, Any]:
    return {
        "case": outcome.case,
        "verdict": outcome.verdict,
        "text": outcome.text,
        "comparison": outcome.comparison and outcome.comparison.as_data(),
    }


def _show(results: list[Outcome], totals: dict[str, int]) -> None:
    for outcome in results:
        line = Text.assemble((f"{outcome.verdict:8}", _STYLES[outcome.verdict]), f"{outcome.case}: {outcome.text}")
        screen.print(line, soft_wrap=True)
    shown = ", ".join(f"{count} {verdict}" for verdict, count in totals.items() if count)
    screen.print(f"{len(results)} cases: {shown}", soft_wrap=True)
