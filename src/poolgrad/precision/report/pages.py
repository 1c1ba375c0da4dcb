"""The page itself, piece by piece: text files of this package, figures as JSON, and planes as compressed bytes."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Callable, Iterator
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ..comparing import Tensors
from ..comparison import Comparison, percent
from ..errors import Block
from ..histogram import BUCKETS, bounds_of
from ..judges import Judge
from .codes import FAILS, MISMATCH
from .maps import Grid, Map, draw, grid_over
from .survey import Planes, planes_of, survey

# What a page shows: 64 planes of 256 × 256 float32 elements are nearly 38 million bytes before compression.
MAX_PLANES = 1024
MAX_BYTES = 40_000_000

_PLANES_MARK = "<!-- planes -->"


def page(
    tensors: Tensors,
    judge: Judge,
    comparison: Comparison,
    names: tuple[str, str],
    advance: Callable[[int], object] = lambda elements: None,
) -> Iterator[str]:
    """The report on a finished comparison. ``names`` are those of the actual and of the golden tensor."""
    planes = planes_of(tensors.actual.shape)
    grid = grid_over(planes)
    counts, shown = survey(tensors, judge, planes, _how_many(tensors, planes, grid), advance)
    data = {
        "comparison": comparison.as_data(),
        "names": names,
        "share": percent(comparison.count_passed, comparison.count),
        "judges_elements": judge.judges_elements,
        "codes": {"fails": FAILS, "mismatch": MISMATCH},
        "counts": {str(code): int(count) for code, count in enumerate(counts) if count},
        "bounds": [[str(bound) for bound in bounds_of(bucket)] for bucket in range(BUCKETS)],
        "planes": {"rows": planes.rows, "columns": planes.columns, "count": planes.count},
        "grid": {name: getattr(grid, name) for name in ("rows", "columns", "cell_height", "cell_width", "is_reduced")},
        "shown": [{**plane._asdict(), "lead": planes.lead_of(plane.number)} for plane in shown],
    }
    text = files(__package__).joinpath
    before, after = (
        Template(text("page.html").read_text("utf-8"))
        .substitute(
            title=html.escape(f"{comparison.verdict}: {names[0]} by {comparison.standard}"),
            style=text("page.css").read_text("utf-8"),
            script="\n".join(text(name).read_text("utf-8") for name in ("values.js", "map.js", "page.js")),
            # It can't end the script element it stands in.
            data=json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c"),
        )
        .split(_PLANES_MARK)
    )
    yield before
    for plane in shown:
        drawn = draw(tensors, judge, planes.lead_of(plane.number), grid)
        yield f'<script type="text/plain" id="plane-{plane.number}">{_packed(drawn, grid)}</script>\n'
    yield after


def _how_many(tensors: Tensors, planes: Planes, grid: Grid) -> int:
    offset_size = 4 if grid.is_reduced else 0
    per_cell = 1 + offset_size + tensors.actual.dtype.itemsize + tensors.golden.dtype.itemsize
    return max(1, min(MAX_PLANES, planes.count, MAX_BYTES // (per_cell * max(grid.cells, 1))))


def _packed(drawn: Map, grid: Grid) -> str:
    """A map as compressed bytes in base64: codes, offsets if a cell has more than one element, actual, golden.

    Bytes of numbers stand together by their place in the number, and a golden number of the same type is told by what
    differs: exponents and zeros compress well, the other bits hardly.
    """
    parts = [drawn.codes.tobytes()]
    if grid.is_reduced:
        parts.append(_bytes(drawn.offsets).T.tobytes())
    actual, golden = _bytes(drawn.actual), _bytes(drawn.golden)
    if drawn.golden.dtype == drawn.actual.dtype:
        golden = golden ^ actual
    parts += [actual.T.tobytes(), golden.T.tobytes()]
    return base64.b64encode(zlib.compress(b"".join(parts), 6)).decode("ascii")


def _bytes(numbers: Block) -> Any:
    return numbers.reshape(-1).view(np.uint8).reshape(-1, numbers.dtype.itemsize)
