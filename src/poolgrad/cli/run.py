"""``poolgrad run``: one operator on files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..contract.parameters import Parameter
from ..run.calls import one_or_all
from . import terminal
from .answers import accepted
from .line import Line, option, takes_call
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import AsJson, BadInput, FillMissing, interruptible, percentage, print_json, screen

if TYPE_CHECKING:
    from ..cases.model import Case

OUT_HELP = (
    "Write the result to this .npy or .bin file, or .zarr store; of several results, one for each in their order."
)
FILE = "an .npy file, a .zarr store, or a .bin file with --dtype and --shape"


def _described(parameter: Parameter) -> tuple[str, str] | None:
    if parameter.output:
        return None  # all of them are --out
    if parameter.read:
        return "FILE", f"{parameter.help[:-1]}: {FILE}."
    return "SHAPE|FILE", f"{parameter.help[:-1]}: its shape, or its file."


@takes_call(_described)
def run(
    operator: OperatorName,
    out: Annotated[list[Path], terminal.option("--out", "-o", metavar="FILE", help=OUT_HELP)],
    words: dict[str, Any],
    product: ProductName = None,
    fill_missing: FillMissing = False,
    as_json: AsJson = False,
) -> None:
    """Compute one call on files: the golden result.

    Files are mapped into memory, and the result appears under its name when it is complete. If the contract refuses the
    call, the reason is printed, nothing is written, and the exit code is 1.

    Large files and Zarr stores are read and written in blocks, so that they may be larger than memory. Such a run may
    be stopped at any time; the same command goes on where it stopped.

    Examples:

    `poolgrad run MaxPool2dWithIndices --x x.npy --kernel-size 2 -o values.npy -o indices.npy`

    `poolgrad run AvgPool2d --x images.zarr --kernel-size 3 --stride 2 --padding 1 -o pooled.zarr`

    `poolgrad run AvgPool2dBackward --grad-output g.npy --x-shape 1,16,4,4 --kernel-size 4 -o golden.npy`

    `poolgrad run MaxPool2dWithIndicesBackward --grad-output g.bin --dtype bfloat16 --shape 1,16,2,2
    --indices i.npy --x-shape 1,16,4,4 --kernel-size 2 --product "Ascend 950" -o golden.bin`
    """
    op, where = operator_named(operator), product_named(product)
    line = Line(op, **words, fill_missing=fill_missing)
    case = line.case(where)
    files = _files(line, out)
    for parameter in op.inputs:
        if parameter.read and case.tensors[parameter.name] is not None and parameter.name not in line.arrays:
            got = repr(line.tensors[parameter.python_name]) if parameter.python_name in line.tensors else "none"
            raise BadInput(f"{option(parameter)}: expected {FILE}, got {got}")
    from .streaming import is_streamed, stream

    with accepted(case, as_json) as data:
        if is_streamed(case, line.arrays, files):
            read = [p for p in op.inputs if p.read and p.name in line.arrays]
            named = {p.name: line.tensors[p.python_name] for p in read}
            results = stream(case, line.arrays, named, files)
        else:
            results = _compute(case, line.arrays, files)
    if as_json:
        keys = ("out", "dtype", "shape")
        told = {key: one_or_all(facts) for key, facts in zip(keys, zip(*results, strict=True), strict=True)}
        print_json(data | told)
    else:
        for file, type, sizes in results:
            screen.print(f"wrote {file}: {type} {sizes}", markup=False, soft_wrap=True)


def _files(line: Line, out: Sequence[Path]) -> Sequence[Path]:
    """A file for each result; of one result the last file counts, as of every option that is given twice.

    A result under the name of an input, or of a link to it, would be the end of that input; so would one that contains
    it. Whatever else has a result's name is looked at before anything is computed.
    """
    from ..arrays.files import SUFFIXES
    from ..arrays.stores import SUFFIX, look_at_place
    from ..contract.checks import listed

    outputs = line.operator.outputs
    files = out if len(outputs) > 1 else out[-1:]
    if len(files) != len(outputs):
        names = ", ".join(p.name for p in outputs)
        raise BadInput(f"--out: expected {len(outputs)} files, for {names}, got {len(files)}; give --out once for each")
    for index, path in enumerate(files):
        if path.suffix.lower() not in (*SUFFIXES, SUFFIX):
            raise BadInput(f"--out: {path}: expected a name that ends in {listed((*SUFFIXES, SUFFIX))}")
        for parameter in line.operator.inputs:
            if parameter.name in line.arrays:
                _look_apart(path, Path(line.tensors[parameter.python_name]), option(parameter))
        for other in files[:index]:
            if path.resolve() == other.resolve():
                raise BadInput(f"--out: {path} can't be two results; choose another name for one of them")
            if _is_inside(path, other) or _is_inside(other, path):
                raise BadInput(f"--out: {path} and {other} can't lie inside each other; choose another name for one")
        look_at_place(path)
    return files


def _look_apart(path: Path, read: Path, name: str) -> None:
    if path.exists() and path.samefile(read):
        raise BadInput(f"--out: {path} is the file of {name}; choose another name")
    if _is_inside(path, read):
        raise BadInput(f"--out: {path} lies inside {read}, the store of {name}; choose another name")
    if _is_inside(read, path):
        raise BadInput(f"--out: {path} contains {read}, the file of {name}; choose another name")


def _is_inside(path: Path, other: Path) -> bool:
    return other.resolve() in path.resolve().parents


@interruptible("nothing was written")
def _compute(case: Case, arrays: Mapping[str, Any], files: Sequence[Path]) -> list[tuple[str, str, Any]]:
    """The call, with the files' memory as its outputs; each file, its type and its shape."""
    from ..arrays.files import create_array
    from ..cases.data import golden_whole
    from ..run.waiting import looking

    inputs = {p.name: arrays.get(p.name, case.tensor(p.name).shape) for p in case.operator.inputs}
    made = [(path, t.dtype, t.shape) for path, t in zip(files, map(case.tensor, case.outputs), strict=True)]
    with percentage(case.operator.name) as look, ExitStack() as opened:
        results = [opened.enter_context(create_array(*told)) for told in made]
        with looking(look):
            golden_whole(case, inputs | dict(zip(case.outputs, results, strict=True)))
    return [(str(path), dtype, shape) for path, dtype, shape in made]
