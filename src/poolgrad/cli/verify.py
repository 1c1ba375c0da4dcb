"""``poolgrad verify``: the outputs that someone's device wrote, against the golden ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ..contract.checks import listed
from ..precision.limits import ALIASES, STANDARDS
from .golden import CaseFile, Jobs
from .terminal import NO, AsJson, BadInput, interruptible, option, print_json, progress, screen

if TYPE_CHECKING:
    from ..cases.verification import Outcome

_STYLES = {"pass": "green", "fail": "red", "missing": "red", "bad": "red", "refused": "dim"}
UNUSABLE = 2


@interruptible("the same command compares all cases anew")
def verify(
    cases: CaseFile,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What golden made.", show_default=False)],
    actual: Annotated[Path | None, option(metavar="DIR", help="Where the device's outputs are, if not in DIR.")] = None,
    standard: Annotated[str | None, option(help=f"{listed(STANDARDS)}; else the case's own, else mixed.")] = None,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Show no case that is as it should be.")] = False,
    junit: Annotated[Path | None, option(metavar="FILE", help="Write all verdicts as JUnit XML, for CI.")] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Compare a device's outputs with the golden ones: a line per case, the worst last, and totals.

    The output of a case is `DIR/CASE/actual.npy` or `.bin`, or `DIR/CASE.npy` or `.bin`. A call's status may stand in
    `DIR/CASE/status.txt`; for cases that the contract refuses it is all there is to compare. A case that is refused
    and does not expect it fails.
    Exit code 0: all pass; 1: some fail or are missing; 2: some can't be read.

    Example: `poolgrad verify suite.jsonl golden --actual from_device`
    """
    from ..cases import read_cases
    from ..cases.golden import read_manifest
    from ..cases.junit import junit as junit_xml
    from ..cases.verification import ORDER
    from ..cases.verification import verify as outcomes
    from ..cases.work import write_text
    from ..run.threads import get_num_threads

    if standard is not None and standard not in (*STANDARDS, *ALIASES):
        raise BadInput(f"--standard: expected one of {', '.join(STANDARDS)}, got {standard}")
    if actual is not None and not actual.is_dir():
        raise BadInput(f"--actual: there is no directory {actual}")
    manifest = read_manifest(directory)
    found = read_cases(cases, seed=manifest["seed"], product=manifest["product"])
    results = []
    with progress("verify", len(found)) as advance:
        where, workers = (directory, actual or directory), jobs or get_num_threads()
        for outcome in outcomes(found, manifest["entries"], *where, standard=standard, jobs=workers):
            results.append(outcome)
            advance(1)
    if junit is not None:
        write_text(junit, junit_xml(results, {case.name: case.operator_name for case in found}))
    counted = Counter(outcome.verdict for outcome in results)
    totals = {verdict: counted[verdict] for verdict in ORDER}
    shown = sorted((o for o in results if o.failed or not only_failed), key=lambda outcome: outcome.rank)
    if as_json:
        print_json({"cases": len(results), "totals": totals, "results": [_as_data(outcome) for outcome in shown]})
    else:
        _show(shown[::-1], len(results), totals)  # what is at the end is seen
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


def _show(outcomes: list[Outcome], cases: int, totals: dict[str, int]) -> None:
    for outcome in outcomes:
        line = Text.assemble((f"{outcome.verdict:8}", _STYLES[outcome.verdict]), f"{outcome.case}: {outcome.text}")
        screen.print(line, soft_wrap=True)
    shown = ", ".join(f"{count} {verdict}" for verdict, count in totals.items() if count)
    screen.print(f"{cases} cases: {shown}", soft_wrap=True)
