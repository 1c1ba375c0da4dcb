"""``poolgrad golden``: inputs and golden results for a whole case file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .names import ProductName, product_named
from .terminal import NO, AsJson, BadInput, interruptible, option, print_json, progress, screen

CASES_HELP = "A case file: ATK JSON, TTK aclnn CSV or JSON lines, told apart by content."
CaseFile = Annotated[Path, typer.Argument(metavar="CASES", help=CASES_HELP, show_default=False)]
Jobs = Annotated[int | None, option(min=1, help="Workers; all cores if not given.")]


@interruptible("what is finished is kept, and the same command goes on from there")
def golden(
    cases: CaseFile,
    output: Annotated[Path, option("--output", "-o", metavar="DIR", help="Where a directory per case goes.")],
    jobs: Jobs = None,
    seed: Annotated[int, typer.Option(help="For cases that have no seed of their own.", min=0)] = 0,
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Make inputs and golden outputs for all cases of a file.

    Each case gets a directory with its inputs under their documented names, such as `gradOutput.npy`, and `golden.npy`
    (further results are `golden_NAME.npy`); `manifest.json` lists them all. A case that the contract refuses gets its
    status there. What is finished is not made again.
    The answer is no (exit code 1) if a case expects another status; one that does not say expects success.

    Example: `poolgrad golden suite.jsonl -o golden`
    """
    from ..cases import read_cases
    from ..cases.golden import make_golden
    from ..cases.judging import surprise
    from ..run.threads import get_num_threads

    name = None if product is None else product_named(product).name
    facts = {"file": str(cases), "seed": seed, "product": name}
    try:
        found = read_cases(cases, seed=seed, product=name)
        with progress("golden", len(found)) as advance:
            result = make_golden(found, output, jobs=jobs or get_num_threads(), facts=facts, advance=advance)
    except MemoryError as error:
        raise BadInput(f"there is not enough memory ({error}); use fewer --jobs") from error
    if as_json:
        counts = {"cases": len(found), "made": result.made, "kept": result.kept, "refused": result.refused}
        keys = ("name", "status", "expected_status", "message")
        unexpected = [{key: entry[key] for key in keys} for entry in result.unexpected]
        print_json({"directory": str(output), **counts, "unexpected": unexpected})
    else:
        for entry in result.unexpected:
            told = surprise(entry["expected_status"], entry["status"], entry["message"])
            screen.print(f"{entry['name']}: {told}", markup=False, soft_wrap=True)
        counted = f"{result.made} made, {result.kept} there already, {result.refused} refused by the contract"
        counted += f", {len(result.unexpected)} not as expected" if result.unexpected else ""
        screen.print(f"{len(found)} cases: {counted}; in {output}", markup=False, soft_wrap=True)
    if result.unexpected:
        raise typer.Exit(NO)
