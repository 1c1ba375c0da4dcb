"""A plane as a map of cells. In a plane of many elements a cell stands for several, and shows the worst of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..comparing import BLOCK, Tensors, blocks_of
from ..errors import Block, measure
from ..judges import Judge
from .codes import Codes, codes_of
from .survey import Planes

MAX_SIDE = 1024


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells over a plane, all of one height and width but for the last ones."""

    rows: int
    columns: int
    cell_height: int
    cell_width: int

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def is_reduced(self) -> bool:
        return self.cell_height * self.cell_width > 1


def grid_over(planes: Planes) -> Grid:
    """One cell per element where that is not too much for a screen, else square cells."""
    side = max(1, -(-max(planes.rows, planes.columns) // MAX_SIDE))
    height, width = min(side, max(planes.rows, 1)), min(side, max(planes.columns, 1))
    return Grid(-(-planes.rows // height), -(-planes.columns // width), height, width)


@dataclass(frozen=True, slots=True)
class Map:
    """A plane, by cell: the code of its worst element, where in the cell that is, and both its values."""

    codes: Codes
    offsets: npt.NDArray[np.uint32]
    actual: Block
    golden: Block


def draw(tensors: Tensors, judge: Judge, lead: tuple[int, ...], grid: Grid) -> Map:
    """The map of one plane."""
    actual, golden = (np.atleast_2d(array[lead]) for array in (tensors.actual, tensors.golden))
    types = np.dtype(np.uint8), np.dtype(np.uint32), actual.dtype.newbyteorder("="), golden.dtype.newbyteorder("=")
    drawn = Map(*(np.empty((grid.rows, grid.columns), dtype) for dtype in types))
    for cells, elements in _tiles(grid):
        a, g = (_tile(plane, elements) for plane in (actual, golden))
        by_cell = _by_cell(_codes(judge, a, g), grid)
        offsets = by_cell.argmax(axis=-1)
        drawn.codes[cells] = np.take_along_axis(by_cell, offsets[..., None], -1)[..., 0]
        drawn.offsets[cells] = offsets
        down, right = np.divmod(offsets, grid.cell_width)
        row = np.arange(offsets.shape[0])[:, None] * grid.cell_height + down
        column = np.arange(offsets.shape[1])[None, :] * grid.cell_width + right
        drawn.actual[cells], drawn.golden[cells] = a[row, column], g[row, column]
    return drawn


def _tile(plane: Block, elements: tuple[slice, slice]) -> Block:
    return np.ascontiguousarray(plane[elements], plane.dtype.newbyteorder("="))


def _codes(judge: Judge, actual: Block, golden: Block) -> Codes:
    """The codes of a tile, made in blocks: one cell of a very long row is more than a block."""
    pairs = zip(blocks_of(actual), blocks_of(golden), strict=True)
    return np.concatenate([codes_of(judge, measure(a, g))[0] for a, g in pairs]).reshape(actual.shape)


def _tiles(grid: Grid) -> Iterator[tuple[tuple[slice, slice], tuple[slice, slice]]]:
    """The grid in tiles of about a block of elements each: slices of cells, and slices of elements."""
    height, width = grid.cell_height, grid.cell_width
    across = min(grid.columns, max(1, BLOCK // (height * width)))
    down = min(grid.rows, max(1, BLOCK // (height * width * across)))
    for row in range(0, grid.rows, down):
        for column in range(0, grid.columns, across):
            cells = slice(row, row + down), slice(column, column + across)
            elements = (
                slice(row * height, (row + down) * height),
                slice(column * width, (column + across) * width),
            )
            yield cells, elements


def _by_cell(codes: Codes, grid: Grid) -> Codes:
    """Codes with a last axis over the elements of each cell; what a cell at an edge lacks is 0, the best."""
    height, width = grid.cell_height, grid.cell_width
    rows, columns = -(-codes.shape[0] // height), -(-codes.shape[1] // width)
    missing = rows * height - codes.shape[0], columns * width - codes.shape[1]
    if any(missing):
        codes = np.pad(codes, [(0, missing[0]), (0, missing[1])])
    return codes.reshape(rows, height, columns, width).swapaxes(1, 2).reshape(rows, columns, height * width)
