"""Which places of an axis each window of max pooling takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..operators.pooling import Windows

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Places:
    """Which places of an axis each window takes: from a first to a last, in steps."""

    size: int
    out: int
    windows: Windows | None = None  # adaptive ones without

    @property
    def step(self) -> int:
        return self.windows.dilation if self.windows else 1

    def ends(self, begin: int, end: int) -> tuple[Ints, Ints]:
        """The first and the last place of the windows from ``begin`` to before ``end``; all lie inside the input."""
        o = np.arange(begin, end, dtype=np.int64)
        if self.windows is None:
            return o * self.size // self.out, -(-(o + 1) * self.size // self.out) - 1
        w = self.windows
        start = o * w.stride - w.pad
        first = np.where(start < 0, start % w.dilation, start)
        taken = np.minimum(w.kernel - 1, (self.size - 1 - start) // w.dilation)
        return first, start + taken * w.dilation


def fixed_places(windows: Windows) -> Places:
    return Places(windows.size, windows.out, windows)


def adaptive_places(size: int, out: int) -> Places:
    return Places(size, out)
