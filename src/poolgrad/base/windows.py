"""The geometry of pooling windows along one axis, in exact integers; the only place where it stands.

An axis has ``size`` input elements and ``out`` windows. Starts and stops never decrease from window to window,
so the windows that hold an element are a contiguous run. The functions that take plain integers are compiled
into the kernels as they are; ``Axis`` wraps them for planning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# How a window's start and stop are found.
FIXED, ADAPTIVE = 0, 1
# What one window counts as its length: the padded one, the part inside the input, or nothing (divisor given).
COUNT_PADDED, COUNT_VALID, COUNT_ONE = 0, 1, 2


def window_start(o: int, rule: int, size: int, out: int, stride: int, pad: int) -> int:
    """First position of window ``o``; negative while it lies in the padding."""
    if rule == ADAPTIVE:
        return o * size // out
    return o * stride - pad


def window_stop(o: int, rule: int, size: int, out: int, kernel: int, stride: int, pad: int) -> int:
    """One past the last position of window ``o``; a window never reaches past the padded input."""
    if rule == ADAPTIVE:
        return ((o + 1) * size + out - 1) // out
    return min(o * stride - pad + kernel, size + pad)


def window_count(start: int, stop: int, size: int, counting: int) -> int:
    """What the window contributes to the divisor."""
    if counting == COUNT_ONE:
        return 1
    if counting == COUNT_VALID:
        return min(stop, size) - max(start, 0)
    return stop - start


def first_window(i: int, rule: int, size: int, out: int, kernel: int, stride: int, pad: int) -> int:
    """The first window that holds element ``i``."""
    if rule == ADAPTIVE:
        return i * out // size
    return max((i + pad - kernel) // stride + 1, 0)


def last_window(i: int, rule: int, size: int, out: int, stride: int, pad: int) -> int:
    """The last window that holds element ``i``; before ``first_window`` if none does."""
    if rule == ADAPTIVE:
        return ((i + 1) * out - 1) // size
    return min((i + pad) // stride, out - 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """One pooled axis: ``size`` input elements, ``out`` windows."""

    rule: int
    size: int
    out: int
    kernel: int
    stride: int
    pad: int
    counting: int

    def start(self, o: int) -> int:
        return window_start(o, self.rule, self.size, self.out, self.stride, self.pad)

    def stop(self, o: int) -> int:
        return window_stop(o, self.rule, self.size, self.out, self.kernel, self.stride, self.pad)

    def count(self, o: int) -> int:
        return window_count(self.start(o), self.stop(o), self.size, self.counting)

    def first(self, i: int) -> int:
        return first_window(i, self.rule, self.size, self.out, self.kernel, self.stride, self.pad)

    def last(self, i: int) -> int:
        return last_window(i, self.rule, self.size, self.out, self.stride, self.pad)

    @property
    def apart_if_single(self) -> Axis:
        """The same, if there is one window, with a stride that tells that it overlaps no other one."""
        return self if self.out > 1 or self.rule == ADAPTIVE else replace(self, stride=max(self.stride, self.kernel))

    @property
    def is_one_window(self) -> bool:
        """Whether there is one window, over all elements."""
        return self.out == 1 and self.start(0) <= 0 and self.stop(0) >= self.size

    @property
    def longest_count(self) -> int:
        """An upper bound of ``count`` over all windows."""
        if self.counting == COUNT_ONE:
            return 1
        if self.rule == ADAPTIVE:
            return min(self.size // max(self.out, 1) + 2, self.size)
        return min(self.kernel, self.size if self.counting == COUNT_VALID else self.size + 2 * self.pad)

    @property
    def mean_length(self) -> float:
        """How many elements a window holds, on average; padding counts, where there is any."""
        if self.rule == FIXED:
            return self.kernel
        return (self.size + self.out - math.gcd(self.size, self.out)) / self.out

    @property
    def counts_evenly(self) -> bool:
        """Whether all windows count the same. Counts rise, ever less, before they fall: three of them tell."""
        return self.rule == FIXED and self.out > 1 and self.count(0) == self.count(1) == self.count(self.out - 1)

    @property
    def longest_run(self) -> int:
        """An upper bound of the number of windows that hold one element."""
        if self.rule == FIXED:
            return min(-(-self.kernel // self.stride), self.out)
        if not self.size or self.out % self.size:
            return min(-(-self.out // max(self.size, 1)) + 1, self.out)
        return self.out // self.size

    @property
    def terms(self) -> int:
        """Fixed windows: how many hold a column of the phases that most of them hold."""
        return (self.kernel - 1) // self.stride + 1

    @property
    def fewest(self) -> int:
        """A lower bound of the number of windows that hold a column away from the borders."""
        if self.rule == FIXED and self.phases_with_all_terms == self.stride:
            return self.terms
        return (self.terms if self.rule == FIXED else self.longest_run) - 1

    @property
    def phases_with_all_terms(self) -> int:
        """Fixed windows: so many phases of each stride have ``terms`` windows, the others one less."""
        return (self.kernel - 1) % self.stride + 1

    def phases_over(self, width: int) -> int:
        """Fixed windows: at most how many strides, counted from the padded beginning, ``width`` neighbours touch."""
        if width >= self.size:
            return (self.size - 1 + self.pad) // self.stride - self.pad // self.stride + 1
        return (width - 1) // self.stride + 2

    def windows_over(self, width: int) -> int:
        """An upper bound of the number of windows that touch ``width`` neighbouring elements."""
        per_element = width * self.out // self.size if self.rule == ADAPTIVE else width // self.stride
        return min(per_element + self.longest_run + 1, self.out)


def fixed(size: int, out: int, *, kernel: int, stride: int, pad: int, counting: int) -> Axis:
    """Windows of one length at a fixed distance."""
    # No window reaches past the padded input, so a longer kernel means the same; kept small, sums fit 64 bits.
    return Axis(FIXED, size, out, min(kernel, size + 2 * pad), stride, pad, counting)


def adaptive(size: int, out: int) -> Axis:
    """``out`` windows spread over ``size`` elements, as even as integers allow; where they are, windows are fixed."""
    if out > 0 and size > 0 and size % out == 0:
        return Axis(FIXED, size, out, size // out, size // out, 0, COUNT_PADDED)
    return Axis(ADAPTIVE, size, out, 0, 1, 0, COUNT_PADDED)


def whole(size: int) -> Axis:
    """An axis that is not pooled: each element is its own window."""
    return Axis(FIXED, size, size, 1, 1, 0, COUNT_ONE)


def pooled_size(
    size: int, *, kernel: int, stride: int, pad: int, pad_after: int | None = None, dilation: int = 1, ceil_mode: bool
) -> int:
    """How many windows fit the axis; zero or negative if none does. Padding behind the input is as before it, unless it
    is told.

    >>> [pooled_size(5, kernel=2, stride=2, pad=0, ceil_mode=ceil) for ceil in (False, True)]
    [2, 3]
    >>> pooled_size(5, kernel=2, stride=2, pad=0, pad_after=1, ceil_mode=False)
    3
    """
    room = size + pad + (pad if pad_after is None else pad_after) - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    out = (room + stride - 1) // stride + 1
    # The last window must begin inside the input or its left padding.
    return out - 1 if (out - 1) * stride >= size + pad else out


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows along one axis, as a call describes them: ``out`` of them over ``size`` elements.

    Adaptive ones follow from these two numbers alone. ``out`` is not positive where no window fits. Padding behind the
    input shows in ``out``; which elements a window holds depends on the padding before it only.
    """

    size: int
    out: int
    kernel: int = 0
    stride: int = 1
    pad: int = 0
    dilation: int = 1
    adaptive: bool = False
    pad_after: int | None = None  # behind the input, where that is not ``pad``, too

    @property
    def padded(self) -> int:
        """The elements of the axis and its padding."""
        return self.size + self.pad + (self.pad if self.pad_after is None else self.pad_after)

    def places(self, o: int) -> range:
        """The elements that window ``o`` holds."""
        if self.adaptive:
            axis = adaptive(self.size, self.out)
            return range(axis.start(o), axis.stop(o))
        start = o * self.stride - self.pad
        first = start if start >= 0 else start % self.dilation
        return range(first, min(start + self.dilation * (self.kernel - 1) + 1, self.size), self.dilation)

    def axis(self, counting: int) -> Axis:
        """As plans see them: from the first element to the last, with what lies between."""
        if self.adaptive:
            return adaptive(self.size, self.out)
        kernel = self.dilation * (self.kernel - 1) + 1
        return fixed(self.size, self.out, kernel=kernel, stride=self.stride, pad=self.pad, counting=counting)

    @property
    def has_empty(self) -> bool:
        """Does any of them hold no element at all?

        The last one may, if there is much padding behind the input. Else only a window that begins in the padding
        before it can, if all of it lies there, or if the dilation steps over the whole input; then at most a few
        windows begin there, since ``out`` counts windows that fit.
        """
        if self.adaptive or self.out < 1:
            return False
        before = self.pad >= self.dilation * (self.kernel - 1) + 1 or self.dilation > self.size
        some = range(min(self.out, -(-self.pad // self.stride))) if before else ()
        return not self.places(self.out - 1) or any(not self.places(o) for o in some)


def farthest_position(axes: tuple[Windows, ...]) -> int:
    """No position, divisor or product that windows are computed from is larger: the elements of one padded plane, and
    what the formulas of adaptive windows multiply."""
    padded = math.prod(w.padded for w in axes)
    return max(padded, *((w.size + 1) * (w.out + 1) for w in axes if w.adaptive), 0)


def spread(values: tuple[int, ...], axes: int) -> tuple[int, ...]:
    """One value for all axes, or one for each.

    >>> spread((3,), 2), spread((3, 2), 2)
    ((3, 3), (3, 2))
    """
    return values * axes if len(values) == 1 else values
