"""``poolgrad view``: a picture of one plane."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..base.errors import AclnnError
from ..contract.parameters import Parameter, Role
from .answers import as_data, error_as_data, show
from .line import DType, Format, IndicesDType, Line, Shape, integers, takes_call
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import NO, AsJson, BadInput, errors, print_json, screen

SUFFIXES = (".png", ".svg", ".pdf")


_HELP = {
    Role.INPUT: "a shape, or an .npy file, whose maxima are then shown",
    Role.GRADIENT: "an .npy file; or a shape, and every gradient is 1",
    Role.INDICES: "an .npy file; if absent, the maxima of the input, or of random numbers",
}


def _described(parameter: Parameter) -> tuple[str, str] | None:
    if parameter.output:
        return None  # which is drawn
    return "TENSOR", f"{parameter.help[:-1]}: {_HELP.get(parameter.role, 'an .npy file')}."


@takes_call(_described)
def view(
    operator: OperatorName,
    tensors: dict[str, str],
    numbers: dict[str, Any],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The picture: .png, .svg or .pdf.", show_default=False)
    ],
    plane: Annotated[
        str, typer.Option("--plane", metavar="N,C[,D]", help="Which plane; the first if absent.", show_default=False)
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="For the random numbers.")] = 0,
    dtype: DType = None,
    shape: Shape = None,
    indices_dtype: IndicesDType = None,
    format: Format = None,
    product: ProductName = None,
    as_json: AsJson = False,
) -> None:
    """Draw one plane: its windows, their divisors, and where each gradient flows.

    Small planes show every number, large ones maps of them. Needs matplotlib: `pip install matplotlib`.

    Examples:

    `poolgrad view AvgPool2dBackward --x 1,1,6,6 --kernel-size 3 --stride 2 --padding 1 --ceil-mode -o windows.png`

    `poolgrad view AdaptiveMaxPool2dBackward --x x.npy --grad-output g.npy --plane 0,3 -o maxima.png`
    """
    if out.suffix.lower() not in SUFFIXES:
        raise BadInput(f"{out}: expected a name that ends in .png, .svg or .pdf")
    try:
        from .drawing import draw, is_small
    except ImportError as error:
        command = f"{shlex.quote(sys.executable)} -m pip install matplotlib"
        raise BadInput(f"pictures need matplotlib ({error}); run: {command}") from error
    from ..arrays.files import whole_file
    from ..cases.judging import judge
    from .plane import plane_of

    op, where = operator_named(operator), product_named(product)
    if Role.GRADIENT not in op.by_role:
        raise BadInput(f"pictures show where gradients go, and {op.name} has none")
    line = Line(op, tensors, numbers, dtype, indices_dtype, format, shape)
    case = line.case()
    answer = judge(case, where)
    if answer.row is not None:
        print_json(as_data(op, where, answer)) if as_json else show(op, where, answer)
        raise typer.Exit(NO)
    try:
        with errors.status("drawing ..."):
            shown = plane_of(case, where, line.arrays, integers(plane, "--plane"), seed)
            with whole_file(out) as temporary:
                draw(shown, temporary)
    except AclnnError as error:
        print_json(error_as_data(error)) if as_json else screen.print(f"refused: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(NO) from error
    if as_json:
        detail = "numbers" if is_small(shown) else "maps"
        print_json(as_data(op, where, answer) | {"out": str(out), "plane": shown.place, "shows": detail})
    else:
        screen.print(f"drew {shown.place} to {out}", markup=False, soft_wrap=True)
