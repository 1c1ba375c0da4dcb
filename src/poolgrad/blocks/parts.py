"""Which part of an axis a block of the result needs, so that its windows are those of the whole axis, bit for bit.

A part is cut off in whole strides, before it and behind it. So the same numbers (kernel, stride, padding, ceil mode)
give it those windows of the whole that lie over it, and its ends look like the ends of the whole. A window that the cut
shortens, or that counts padding where there is none, is never one of those that a block is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

from ..base.windows import COUNT_ONE, Windows


class Part(NamedTuple):
    """Elements ``begin`` to ``end`` of the input, and the windows ``first`` to ``stop`` that a call on them has."""

    begin: int
    end: int
    first: int
    stop: int


def whole_axis(w: Windows) -> Part:
    return Part(0, w.size, 0, w.out)


def part_under_windows(w: Windows, first: int, stop: int) -> Part:
    """What a forward pass needs for some windows."""
    return _part(w, first, stop, w.size, 0)


def part_over_elements(w: Windows, low: int, high: int) -> Part:
    """What the gradient of an average needs for some elements: all windows that hold any of them, as a whole."""
    axis = w.axis(COUNT_ONE)
    return _part(w, axis.first(low), axis.last(high - 1) + 1, low, high)


def _part(w: Windows, first: int, stop: int, low: int, high: int) -> Part:
    """These windows as a whole, and these elements."""
    reach = w.dilation * (w.kernel - 1) + 1
    if first < stop:
        low = min(low, max(first * w.stride - w.pad, 0))
        high = max(high, min((stop - 1) * w.stride - w.pad + reach, w.size))
    # A shorter part would have a shorter kernel than the whole, or windows that hold nothing.
    least = min(reach + max(w.pad, w.pad_after or 0), w.size)
    before = min(low, max(high - least, 0)) // w.stride
    begin = before * w.stride
    behind = (w.size - min(max(high, begin + least), w.size)) // w.stride
    return Part(begin, w.size - behind * w.stride, before, w.out - behind)


def cut_by_elements(w: Windows, chunks: tuple[int, ...]) -> tuple[int, ...]:
    """How many windows begin in each of these chunks of the input; none of the numbers is 0."""
    ends, counts, end, made = [], [], 0, 0
    for size in chunks:
        end += size
        ends.append(min(max((end + w.pad - 1) // w.stride + 1, 0), w.out))
    ends[-1] = w.out
    for stop in ends:
        if stop > made:
            counts.append(stop - made)
            made = stop
    return tuple(counts)


def cut_by_windows(w: Windows, chunks: tuple[int, ...]) -> tuple[int, ...]:
    """The elements that lie where these chunks of windows begin, up to the next one; none of the numbers is 0."""
    sizes, stop, made = [], 0, 0
    for number in chunks[:-1]:
        stop += number
        end = min(max(stop * w.stride - w.pad, 0), w.size)
        if end > made:
            sizes.append(end - made)
            made = end
    return (*sizes, w.size - made) if made < w.size else tuple(sizes)
