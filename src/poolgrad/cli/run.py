"""``poolgrad run``: one operator on files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import AclnnError
from ..products import ANY, Product
from .answers import as_data, error_as_data, show
from .line import DType, Format, IndicesDType, Line, Shape, option, takes_numbers, tensor_option
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import NO, AsJson, BadInput, percentage, print_json, screen

if TYPE_CHECKING:
    from ..cases import Case

FILE = "an .npy file, or a .bin file with --dtype and --shape"


@takes_numbers
def run(
    operator: OperatorName,
    numbers: dict[str, Any],
    grad_output: Annotated[str, tensor_option("FILE", "--grad-output", help=f"The gradient of the output: {FILE}.")],
    x: Annotated[
        str, typer.Option("--x-shape", "--x", help="Shape of the forward input, or its .npy file.", show_default=False)
    ],
    out: Annotated[Path, tensor_option("FILE", "--out", "-o", help="Write the result to this .npy or .bin file.")],
    indices: Annotated[str | None, tensor_option("FILE", "--indices", help=f"Where the maxima stood: {FILE}.")] = None,
    dtype: DType = None,
    shape: Shape = None,
    indices_dtype: IndicesDType = None,
    format: Format = None,
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Compute one call on files: the golden result.

    Files are mapped into memory, and the result appears under its name when it is complete. If the contract refuses the
    call, the reason is printed, nothing is written, and the exit code is 1.

    Examples:

    `poolgrad run AvgPool2dBackward --grad-output g.npy --x-shape 1,16,4,4 --kernel-size 4 -o golden.npy`

    `poolgrad run MaxPool2dWithIndicesBackward --grad-output g.bin --dtype bfloat16 --shape 1,16,2,2
    --indices i.npy --x-shape 1,16,4,4 --kernel-size 2 --product "Ascend 950" -o golden.bin`
    """
    from ..cases.judging import judge

    op, where = operator_named(operator), product_named(product)
    tensors = {"grad_output": grad_output, "x": x, "indices": indices}
    line = Line(op, tensors, numbers, dtype, indices_dtype, format, shape)
    case = line.case()
    _keep_inputs(line, out)
    for name, text in (("gradOutput", grad_output), ("indices", indices)):
        if name in case.tensors and case.tensors[name] is not None and name not in line.arrays:
            got = "none" if text is None else repr(text)
            raise BadInput(f"--{'indices' if name == 'indices' else 'grad-output'}: expected {FILE}, got {got}")
    answer = judge(case, where)
    if answer.row is not None:
        print_json(as_data(op, where, answer)) if as_json else show(op, where, answer)
        raise typer.Exit(NO)
    try:
        _compute(case, where, line.arrays, out)
    except AclnnError as error:  # what only the values can break: an index outside its plane
        print_json(error_as_data(error)) if as_json else screen.print(f"refused: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(NO) from error
    result = case.output
    assert result is not None
    if as_json:
        print_json(as_data(op, where, answer) | {"out": str(out), "dtype": result.dtype, "shape": result.shape})
    else:
        screen.print(f"wrote {out}: {result.dtype} {result.shape}", markup=False, soft_wrap=True)


def _keep_inputs(line: Line, out: Path) -> None:
    """A result under the name of an input, or of a link to it, would be the end of that input."""
    for parameter in line.operator.tensors:
        text = line.tensors.get(parameter.python_name)
        if parameter.name in line.arrays and text is not None and out.exists() and out.samefile(text):
            raise BadInput(f"--out: {out} is the file of {option(parameter)}; choose another name")


def _compute(case: Case, product: Product, arrays: dict[str, Any], path: Path) -> None:
    """The call of the Pythonic layer, with the file's memory as its output."""
    import poolgrad

    from ..files import create_array
    from ..waiting import looking

    values: dict[str, Any] = {p.python_name: case.numbers.get(p.name) for p in case.operator.parameters}
    values |= {p.python_name: arrays.get(p.name) for p in case.operator.tensors}
    values["product"] = None if product is ANY else product.name
    if values["x"] is None:
        values["x"] = case.tensor("self").shape
    if case.tensor("self").format == "NHWC":
        values["data_format"] = "NHWC"
    result = case.tensor(case.operator.output.name)
    with (
        percentage(case.operator.name) as look,
        create_array(path, result.dtype, result.shape) as values["out"],
        looking(look),
    ):
        getattr(poolgrad, case.operator.python_name)(**values)
