"""A call from arrays that are too large for memory to others: block by block, and from where it was broken off.

Blocks are as large as a budget allows. Along the axes of a result that is stored in chunks they hold whole chunks, so
that none is written twice; and where planes fit the budget, whole planes, so that nothing is read twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..run import threads
from ..run.calls import one_or_all
from .calls import Block, Whole

# Bytes that a block reads and writes. Larger ones are no faster, and take memory.
BUDGET = 64 << 20


class Stream:
    """A call, where its inputs come from, and where its results go: things that are read and written in parts.

    ``chunks`` are those that results are stored in, if they are; a new store takes ``self.sizes`` for it.
    """

    def __init__(
        self, whole: Whole, sources: Sequence[Any], chunks: tuple[int, ...] | None = None, budget: int | None = None
    ) -> None:
        self.whole, self.sources = whole, sources
        self.sizes = _sizes(whole, chunks, sources, BUDGET if budget is None else budget)
        self._starts = [range(0, n, size) for n, size in zip(whole.results[0].shape, self.sizes, strict=True)]
        self.count = math.prod(map(len, self._starts))  # of blocks

    def _blocks(self) -> Iterator[Block]:
        for starts in itertools.product(*self._starts):
            ends = zip(starts, self.sizes, self.whole.results[0].shape, strict=True)
            yield Block(self.whole, tuple((i, min(i + size, n)) for i, size, n in ends))

    def run(
        self, sinks: Sequence[Any], finished: Container[int] = (), note: Callable[[int], None] = lambda n: None
    ) -> None:
        """Compute all blocks but the finished ones; ``note`` is called with the number of each that was written.

        A block is read while the one before it is computed and written.
        """
        todo = ((number, block) for number, block in enumerate(self._blocks()) if number not in finished)
        with ThreadPoolExecutor(1, "poolgrad-reader") as reader:
            ahead = next(((*pair, reader.submit(self._read, pair[1])) for pair in todo), None)
            while ahead is not None:
                number, block, read = ahead
                arrays = read.result()
                ahead = next(((*pair, reader.submit(self._read, pair[1])) for pair in todo), None)
                self._write(block, arrays, sinks)
                note(number)

    @staticmethod
    def _write(block: Block, arrays: tuple[Any, ...], sinks: Sequence[Any]) -> None:
        target, count = tuple(slice(*r) for r in block.ranges), threads.count
        if block.has_whole_planes and all(isinstance(sink, np.ndarray) for sink in sinks):  # no copy, then
            block.compute(*arrays, threads=count, out=one_or_all(tuple(sink[target] for sink in sinks)))
            return
        for sink, made in zip(sinks, block.compute(*arrays, threads=count), strict=True):
            sink[target] = made

    def _read(self, block: Block) -> tuple[Any, ...]:
        return tuple(
            None if part is None else source[tuple(slice(*r) for r in part)]
            for source, part in zip(self.sources, block.reads, strict=True)
        )


def _sizes(whole: Whole, chunks: tuple[int, ...] | None, sources: Sequence[Any], budget: int) -> tuple[int, ...]:
    """The size of a block of the result along each axis."""
    shape = whole.results[0].shape
    fixed = [whole.whole_planes and letter in whole.operator.axes for letter in whole.layout]
    least = [n if f else 1 for n, f in zip(shape, fixed, strict=True)]
    if chunks is not None:
        least = [-(-a // c) * c for a, c in zip(least, chunks, strict=True)]
        return _grown(whole, least, budget)
    return _grown(whole, _like_the_sources(whole, least, sources, budget), budget)


def _like_the_sources(whole: Whole, least: list[int], sources: Sequence[Any], budget: int) -> list[int]:
    """Whole chunks of what is read, along axes that are not pooled, if these fit the budget."""
    stored = [source.chunks for source in sources if getattr(source, "chunks", None)]
    pooled = [letter in whole.operator.axes for letter in whole.layout]
    wanted = [
        a if p or not stored else min(max(c[i] for c in stored), n)
        for i, (a, p, n) in enumerate(zip(least, pooled, whole.results[0].shape, strict=True))
    ]
    full = [n if p else w for n, p, w in zip(whole.results[0].shape, pooled, wanted, strict=True)]
    return wanted if bytes_of(whole, full) <= budget else least


def _grown(whole: Whole, least: list[int], budget: int) -> tuple[int, ...]:
    """Multiples of these sizes, beginning with what lies side by side, until the budget is spent."""
    sizes = list(least)
    for axis in reversed(range(len(sizes))):
        n = whole.results[0].shape[axis]
        unit, fits = sizes[axis], 1
        low, high = 1, max(-(-n // max(unit, 1)), 1)
        while low <= high:  # the largest multiple that fits
            middle = (low + high) // 2
            if bytes_of(whole, [*sizes[:axis], min(unit * middle, n), *sizes[axis + 1 :]]) <= budget:
                fits, low = middle, middle + 1
            else:
                high = middle - 1
        sizes[axis] = max(min(unit * fits, n), 1)
        if sizes[axis] < n:
            break
    return tuple(sizes)


def bytes_of(whole: Whole, sizes: Sequence[int]) -> int:
    """What a block of these sizes reads and writes."""
    shape = whole.results[0].shape
    block = Block(whole, tuple((0, min(size, n)) for size, n in zip(sizes, shape, strict=True)))
    made = math.prod(high - low for low, high in block.ranges)
    total = made * sum(tensor.dtype.itemsize for tensor in whole.results)
    for (dtype, _), part in zip(whole.inputs, block.reads, strict=True):
        total += 0 if part is None else math.prod(high - low for low, high in part) * dtype.itemsize
    return total
