"""Maxima of integers: as those of floats, but for how they come into lanes, go out of them and are compared.

Each type has a kernel of its own, so that nobody compiles the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit.integers import Integers, integers, larger_integers, least_integers
from ..jit.memory import piece_named
from ..jit.vectors import read, write
from ..record import BY_ELEMENTS, INTEGER_MAXIMA, LANES, NOTHING
from .lanes import QUAD, lanes_giver, lanes_taker, pixels_giver, pixels_taker
from .maxima import values_pooling


def kind_of(kernel: str) -> Integers:
    """What a kernel pools."""
    dtype = next(dtype for dtype, name in INTEGER_MAXIMA.items() if name == kernel.removesuffix("_pixels"))
    return integers(8 * np.dtype(dtype).itemsize, dtype.startswith("int"))


def make_kernel(name: str) -> Any:
    kind = kind_of(name)
    take_one, give_one = kind.read, kind.write
    take_lanes, take_pixels = (
        lanes_taker(f"{name}_take", kind.load_quads),
        pixels_taker(f"{name}_take_pixels", kind.load),
    )
    give_lanes, give_pixels = lanes_giver(f"{name}_give", kind.store), pixels_giver(f"{name}_give_pixels", kind.store)

    @piece_named(f"{name}_take_row")
    def take(plan: Any, planes: Any, offset: int, start: int, n: int, target: int, edge: int, unit: Any) -> None:
        """Elements ``start`` to ``start + n`` of a row of each of eight planes, as pixels."""
        step = plan.grad_steps[4]
        if plan.pixel:
            take_pixels(planes[0] + offset + start * step, step, n, target, unit)
        elif plan.reading == BY_ELEMENTS or n < QUAD:
            for lane in range(LANES):
                for i in range(n):
                    write(target, LANES * i + lane, take_one(planes[lane] + offset, (start + i) * step, unit))
        else:
            take_lanes(planes, offset, start, n, target, unit)

    @piece_named(f"{name}_give_row")
    def give(plan: Any, planes: Any, offset: int, source: int, n: int, edge: int, unit: Any) -> None:
        """n pixels into the results of eight planes."""
        step = plan.result_steps[4]
        if plan.pixel:
            give_pixels(planes[0] + offset, step, source, LANES, n, unit)
        elif plan.writing == BY_ELEMENTS or n < LANES:
            for lane in range(LANES):
                for i in range(n):
                    give_one(planes[lane] + offset, i * step, read(source, LANES * i + lane, unit))
        else:
            give_lanes(planes, offset, source, LANES, n, unit)

    pooled = values_pooling(name, least_integers, larger_integers, take, give)

    def pool(records: Any, x: int, result: int, floats: int, integers: int, begin: int, end: int, unit: Any) -> int:
        """Rows ``begin`` to ``end`` of the results, counted over groups of planes, layers and rows."""
        pooled(records[0], x, result, result, floats, integers, begin, end, unit)
        return NOTHING

    return pool
