"""``poolgrad compare``: the verdict on a tensor by a named precision standard, and a page that shows its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ..contract.checks import listed
from ..precision.comparison import percent
from ..precision.limits import LEVELS, STANDARDS
from .line import integers
from .terminal import NO, AsJson, BadInput, FillMissing, option, print_json, progress, screen

if TYPE_CHECKING:
    from ..precision import Comparison

_FILE = "an .npy file, a .zarr store, or a .bin file with --dtype and --shape"


def compare(
    actual: Annotated[Path, typer.Argument(metavar="ACTUAL", help=f"What a device computed: {_FILE}.")],
    golden: Annotated[Path, typer.Argument(metavar="GOLDEN", help="What it should have computed: a file likewise.")],
    standard: Annotated[
        str, typer.Option(metavar="STANDARD", help=f"{listed(STANDARDS)}.", autocompletion=lambda: list(STANDARDS))
    ] = "mixed",
    third_party: Annotated[
        Path | None,
        option("--third-party", metavar="FILE", help="For cross_check and cross_check_ttk: another device's result."),
    ] = None,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"For cross_check and cross_check_ttk: {listed(LEVELS)}.")
    ] = "L1",
    hf32: Annotated[bool, option("--hf32", help="The float32 tensor was computed in HF32.")] = False,
    dtype: Annotated[str | None, option("--dtype", metavar="T", help="Type of what .bin files hold.")] = None,
    golden_dtype: Annotated[
        str | None, option("--golden-dtype", metavar="T", help="Type of a golden .bin file, if it is a wider one.")
    ] = None,
    shape: Annotated[str | None, option("--shape", metavar="SHAPE", help="Shape of what .bin files hold.")] = None,
    html: Annotated[
        Path | None, option("--html", metavar="FILE", help="Write a page with histogram and mismatch map.")
    ] = None,
    fill_missing: FillMissing = False,
    as_json: AsJson = False,
) -> None:
    """Judge a tensor against its golden one by a named precision standard.

    The exit code is 0 if it passes, 1 if it fails, 2 if the two can't be compared. docs/compare.md has the standards.

    Examples:

    `poolgrad compare out.npy golden.npy`

    `poolgrad compare out.bin golden.bin --dtype bfloat16 --shape 1,16,4,4 --standard stat_rel_err --html report.html`

    `poolgrad compare npu.npy golden.npy --standard cross_check --third-party gpu.npy --level L2`
    """
    from ..arrays.files import read_array, whole_file
    from ..arrays.stores import is_store, open_store
    from ..precision.comparing import NotComparable, Tensors, judge_for, judge_tensors
    from ..precision.report import page

    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"--html: expected a name that ends in .html, got {html}")
    sizes = None if shape is None else integers(shape, "--shape")

    def read(path: Path, told: str | None) -> Any:
        if is_store(path):
            return open_store(path, dtype=told, fill_missing=fill_missing)
        raw = path.suffix.lower() == ".bin"
        if raw and (told is None or sizes is None):
            raise BadInput(f"{path}: a .bin file does not say what it holds; give --dtype and --shape")
        return read_array(path, dtype=told, shape=sizes if raw else None)

    tensors = Tensors(
        read(actual, dtype),
        read(golden, golden_dtype or (dtype if golden.suffix.lower() == ".bin" else None)),
        None if third_party is None else read(third_party, dtype),
    )
    try:
        judge = judge_for(tensors, standard, level=level, hf32=hf32)  # before any bar is drawn: it may refuse
    except NotComparable as error:
        raise BadInput(str(error)) from error
    with progress("comparing", tensors.actual.size * (1 if html is None else 2)) as advance:
        answer = judge_tensors(tensors, standard, level=level, hf32=hf32, advance=advance)
        if html is not None:
            with whole_file(html) as temporary, open(temporary, "x", encoding="utf-8") as file:
                file.writelines(page(tensors, judge, answer, (str(actual), str(golden)), advance))
    if as_json:
        print_json({"actual": str(actual), "golden": str(golden), **answer.as_data(), "html": html and str(html)})
    else:
        _show(answer, html)
    if not answer.passed:
        raise typer.Exit(NO)


def _show(answer: Comparison, html: Path | None) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in _lines(answer):
        table.add_row(name, Text(value))
    colour = "green" if answer.passed else "red"
    kind = f"{answer.dtype}, HF32" if answer.hf32 else answer.dtype
    screen.print(f"[bold {colour}]{answer.verdict}[/] by {answer.standard} ({kind})")
    for reason in answer.reasons:
        screen.print(f"  {reason}", markup=False, soft_wrap=True)
    screen.print(table)
    if html is not None:
        screen.print(f"wrote {html}", markup=False, soft_wrap=True)


def _lines(answer: Comparison) -> Iterator[tuple[str, str]]:
    """Everything that is known, as names and values."""
    share = percent(answer.count_passed, answer.count)
    yield "elements", f"{answer.count} in shape {list(answer.shape)}, {share} {answer.what_counts}"
    yield "relative errors", f"mean (MERE) {answer.mere:.4g}, largest (MARE) {answer.mare:.4g}"
    yield "largest errors", f"{answer.max_abs:.4g} absolute, {answer.max_ulp} ULP"
    yield "mismatches", f"{answer.nan_mismatches} NaN, {answer.inf_mismatches} Inf"
    for name, value in answer.figures.items():
        yield name.replace("_", " "), f"{value:.4g}"
    for name, position in (("first at", answer.first), ("worst at", answer.worst)):
        if position is not None:
            yield name, str(position)
    yield "thresholds", ", ".join(f"{name} {value:g}" for name, value in answer.thresholds.items())
