"""Files of arrays for tests."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from poolgrad.arrays.files import create_array


def write_array(path: str | os.PathLike[str], array: NDArray[Any]) -> None:
    """Write a whole file, ``.npy`` or ``.bin`` by its suffix; on any failure nothing is left under its name."""
    with create_array(path, array.dtype, array.shape) as file:
        file[...] = array
