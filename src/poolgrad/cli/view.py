"""``poolgrad view``: a picture of one plane."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..contract.parameters import Parameter, Role
from .answers import accepted
from .line import Line, integers, takes_call
from .names import OperatorName, ProductName, operator_named, product_named
from .terminal import AsJson, BadInput, FillMissing, errors, option, print_json, screen

SUFFIXES = (".png", ".svg", ".pdf")


_HELP = {
    Role.INPUT: "an .npy file, which is pooled, or whose maxima are shown; or a shape",
    Role.GRADIENT: "an .npy file; or a shape, and every gradient is 1",
    Role.INDICES: "an .npy file; if absent, the maxima of the input, or of random numbers",
    Role.MASK: "an .npy file; if absent, the mask of such maxima",
}


def _described(parameter: Parameter) -> tuple[str, str] | None:
    if parameter.output:
        return None  # which is drawn
    return "TENSOR", f"{parameter.help[:-1]}: {_HELP.get(parameter.role, 'an .npy file')}."


@takes_call(_described)
def view(
    operator: OperatorName,
    out: Annotated[Path, option("--out", "-o", metavar="FILE", help="The picture: .png, .svg or .pdf.")],
    words: dict[str, Any],
    plane: Annotated[str, option("--plane", metavar="N,C[,D]", help="Which plane; the first if absent.")] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="For the random numbers.")] = 0,
    product: ProductName = None,
    fill_missing: FillMissing = False,
    as_json: AsJson = False,
) -> None:
    """Draw one plane: its windows, their divisors or maxima, and where each gradient flows.

    Small planes show every number, large ones maps of them. Needs matplotlib: `pip install matplotlib`.

    Examples:

    `poolgrad view AvgPool2dBackward --x 1,1,6,6 --kernel-size 3 --stride 2 --padding 1 --ceil-mode -o windows.png`

    `poolgrad view AdaptiveMaxPool2dBackward --x x.npy --grad-output g.npy --plane 0,3 -o maxima.png`

    `poolgrad view MaxPool2dWithIndices --x x.npy --kernel-size 3 --stride 2 -o pooling.png`
    """
    if out.suffix.lower() not in SUFFIXES:
        raise BadInput(f"{out}: expected a name that ends in .png, .svg or .pdf")
    try:
        from .drawing import draw, is_small
    except ImportError as error:
        command = f"{shlex.quote(sys.executable)} -m pip install matplotlib"
        raise BadInput(f"pictures need matplotlib ({error}); run: {command}") from error
    import numpy as np

    from ..arrays.files import whole_file
    from .plane import plane_of

    op, where = operator_named(operator), product_named(product)
    line = Line(op, **words, fill_missing=fill_missing)
    case = line.case(where)
    arrays = {name: np.asarray(array) for name, array in line.arrays.items()}
    with accepted(case, as_json) as data, errors.status("drawing ..."):
        shown = plane_of(case, arrays, integers(plane, "--plane"), seed)
        with whole_file(out) as temporary:
            draw(shown, temporary)
    if as_json:
        detail = "numbers" if is_small(shown) else "maps"
        print_json(data | {"out": str(out), "plane": shown.place, "shows": detail})
    else:
        screen.print(f"drew {shown.place} to {out}", markup=False, soft_wrap=True)
