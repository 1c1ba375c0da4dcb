"""Which places of an axis windows take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.windows import Windows

Ints = NDArray[np.int64]


def ends_of(windows: Windows, begin: int, end: int) -> tuple[Ints, Ints]:
    """The first and the last place of the windows from ``begin`` to before ``end``; all lie inside the input.

    Between them are those that are a multiple of the dilation apart.
    """
    o, w = np.arange(begin, end, dtype=np.int64), windows
    if w.adaptive:
        return o * w.size // w.out, -(-(o + 1) * w.size // w.out) - 1
    start = o * w.stride - w.pad
    first = np.where(start < 0, start % w.dilation, start)
    taken = np.minimum(w.kernel - 1, (w.size - 1 - start) // w.dilation)
    return first, start + taken * w.dilation
