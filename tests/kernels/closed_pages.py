"""A program that runs the calls it is told, on arrays that end right before, or begin right behind, a page that nobody
may touch: whoever does ends it. ``apart`` has rows of inputs lie apart, too."""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np
from oracle import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, assert_same_bits, parse
from planning import Planning

import poolgrad

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
blocks: list[mmap.mmap] = []


def fenced(values: np.ndarray, at_end: bool) -> np.ndarray:
    pages = -(-values.nbytes // PAGE) + 2
    block = mmap.mmap(-1, pages * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(block))
    for fence in (start, start + (pages - 1) * PAGE):
        assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(PAGE), 0) == 0
    offset = (pages - 1) * PAGE - values.nbytes if at_end else PAGE
    array = np.ndarray(values.shape, values.dtype, block, offset)
    array[...] = values
    blocks.append(block)
    return array


def fenced_rows(values: np.ndarray, at_end: bool, step: int) -> np.ndarray:
    """Rows that lie apart, from the first or from the last one on: the last in memory ends with it."""
    wider = np.concatenate([values[..., :4], values], axis=-1)
    return fenced(wider[..., ::step, :], at_end)[..., ::step, 4:]


def run(line: str, apart: bool) -> None:
    case = parse(line)
    for dtype in (FLOAT32, BFLOAT16, FLOAT16, FLOAT64):
        gradients = case.gradients(dtype)
        expected = case.run(gradients)
        for at_end in (False, True):
            print(line, dtype, "at the end" if at_end else "at the start", flush=True)
            indices = None if case.averages else fenced(case.indices(), at_end)
            out = fenced(np.zeros(case.x, dtype=dtype), at_end)
            case.run(fenced(gradients, at_end), indices=indices, out=out)
            assert_same_bits(out, expected)
            for step in (1, -1) if apart else ():
                indices = None if case.averages else fenced_rows(case.indices(), at_end, step)
                out[...] = 77
                case.run(fenced_rows(gradients, at_end, step), indices=indices, out=out)
                assert_same_bits(out, expected)
            blocks.clear()


if __name__ == "__main__":
    planning, (how, *lines) = Planning(), sys.argv[1:]
    poolgrad.run.prepared.prepare = planning.prepare
    if how == "apart":
        planning.use(last_cache=0)  # results go past the caches
    for line in lines:
        run(line, how == "apart")
    print("unharmed", flush=True)
