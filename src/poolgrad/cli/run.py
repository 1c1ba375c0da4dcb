"""``poolgrad run``: one operator on files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..contract import Operator
from ..errors import AclnnError
from .answers import answer, error_as_data, show
from .line import DType, Format, IndicesDType, Line, Shape, takes_numbers
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import NO, AsJson, BadInput, errors, print_json, screen

if TYPE_CHECKING:
    from ..cases.model import CaseTensor

FILE = "an .npy file, or a .bin file with --dtype and --shape"


@takes_numbers
def run(
    operator: OperatorName,
    numbers: dict[str, Any],
    grad_output: Annotated[
        str, typer.Option("--grad-output", metavar="FILE", help=f"The gradient of the output: {FILE}.", show_default=False)
    ],
    x: Annotated[
        str,
        typer.Option("--x", "--x-shape", metavar="SHAPE", help="Shape of the forward input, such as 1,16,4,4, or its "
                     "file, of which only the header is read.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Write the result to this .npy or .bin file.", show_default=False)
    ],
    indices: Annotated[
        str | None, typer.Option("--indices", metavar="FILE", help=f"Where the maxima stood: {FILE}.", show_default=False)
    ] = None,
    dtype: DType = None,
    shape: Shape = None,
    indices_dtype: IndicesDType = None,
    format: Format = None,
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Compute the gradient of one call: the golden result.

    Inputs are mapped into memory, and so is the result, which appears under its name when it is complete. The exit code
    is 1 if the contract refuses the call, with the reason on the screen and no file written.

    Examples:

    `poolgrad run AvgPool2dBackward --grad-output g.npy --x-shape 1,16,4,4 --kernel-size 4 -o golden.npy`

    `poolgrad run MaxPool2dWithIndicesBackward --grad-output g.bin --dtype bfloat16 --shape 1,16,2,2
    --indices i.npy --x-shape 1,16,4,4 --kernel-size 2 --product "Ascend 950" -o golden.bin`
    """
    op, where = operator_named(operator), product_named(product)
    line = Line(op, {"grad_output": grad_output, "x": x, "indices": indices}, numbers, dtype, indices_dtype, format, shape)
    case = line.case()
    arrays = line.arrays
    for name in ("gradOutput", *(("indices",) if "indices" in case.tensors else ())):
        if name not in arrays and case.tensors[name] is not None:
            raise BadInput(f"--{'grad-output' if name == 'gradOutput' else name}: expected {FILE}")
    found = answer(op, where, case.arguments)
    if not found.accepted:
        print_json(found.as_data()) if as_json else show(found)
        raise typer.Exit(NO)
    ...
