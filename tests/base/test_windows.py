"""Window geometry against its definition: all windows of small axes, written out."""

from __future__ import annotations

import itertools

import pytest

from poolgrad.base.windows import (
    COUNT_ONE,
    COUNT_PADDED,
    COUNT_VALID,
    Axis,
    Windows,
    adaptive,
    fixed,
    pooled_size,
    whole,
)


def assert_runs_are_right(axis: Axis) -> None:
    """``first`` to ``last`` are exactly the windows that hold an element; the bounds bound."""
    for i in range(axis.size):
        holding = [o for o in range(axis.out) if axis.start(o) <= i < axis.stop(o)]
        assert list(range(axis.first(i), axis.last(i) + 1)) == holding
        assert len(holding) <= axis.longest_run
    for width in range(1, axis.size + 1):
        for left in range(axis.size - width + 1):
            assert axis.last(left + width - 1) + 1 - axis.first(left) <= axis.windows_over(width)
    assert all(axis.count(o) <= axis.longest_count for o in range(axis.out))


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("counting", [COUNT_PADDED, COUNT_VALID, COUNT_ONE])
def test_axes_of_fixed_windows(ceil_mode: bool, counting: int) -> None:
    seen = 0
    for size, kernel, stride in itertools.product(range(1, 10), range(1, 12), range(1, 6)):
        for pad in range(kernel // 2 + 1):
            out = pooled_size(size, kernel=kernel, stride=stride, pad=pad, ceil_mode=ceil_mode)
            if out > 0:
                seen += 1
                axis = fixed(size, out, kernel=kernel, stride=stride, pad=pad, counting=counting)
                assert_runs_are_right(axis)
                for o in range(out):
                    start, stop = o * stride - pad, min(o * stride - pad + kernel, size + pad)
                    valid = len(set(range(start, stop)) & set(range(size)))
                    assert valid >= 1, "every window holds an element"
                    expected = {COUNT_PADDED: stop - start, COUNT_VALID: valid, COUNT_ONE: 1}[counting]
                    assert axis.count(o) == expected
    assert seen > 700


def test_axes_of_adaptive_windows() -> None:
    for size, out in itertools.product(range(1, 14), range(1, 20)):
        axis = adaptive(size, out)
        assert_runs_are_right(axis)
        assert axis.start(0) == 0
        assert axis.stop(out - 1) == size
        for o in range(out):
            assert axis.start(o) == o * size // out
            assert axis.stop(o) == -(-(o + 1) * size // out)


def test_an_axis_that_is_not_pooled() -> None:
    axis = whole(5)
    assert_runs_are_right(axis)
    assert [axis.start(o) for o in range(5)] == list(range(5))


def test_adaptive_windows_are_exact_where_floats_are_not() -> None:
    """In float32 these bounds come out wrong; in float64 the second does too."""
    assert adaptive(2**24 + 1, 2**24).start(2**24 - 1) == (2**24 - 1) * (2**24 + 1) // 2**24
    axis = adaptive(2**31 - 1, 2**31 - 3)
    o = 2**31 - 4
    assert axis.stop(o) == 2**31 - 1
    assert axis.first(2**31 - 2) <= o <= axis.last(2**31 - 2)


def test_output_size_follows_the_formula() -> None:
    for size, kernel, stride, dilation, ceil in itertools.product(
        range(1, 9), range(1, 5), range(1, 5), range(1, 4), (False, True)
    ):
        for pad in range(kernel // 2 + 1):
            room = size + 2 * pad - dilation * (kernel - 1) - 1
            expected = room // stride + 1
            if ceil:
                expected = -(-room // stride) + 1
                expected -= (expected - 1) * stride >= size + pad
            got = pooled_size(size, kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil_mode=ceil)
            assert got == expected


def test_empty_dilated_windows() -> None:
    found = 0
    for size, kernel, stride, dilation, ceil in itertools.product(
        range(1, 8), range(1, 6), range(1, 7), range(1, 12), (False, True)
    ):
        for pad in range(kernel // 2 + 1):
            out = pooled_size(size, kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil_mode=ceil)
            if out < 1:
                continue
            windows = [{o * stride - pad + j * dilation for j in range(kernel)} for o in range(out)]
            expected = any(not window & set(range(size)) for window in windows)
            found += expected
            got = Windows(size, out, kernel, stride, pad, dilation).has_empty
            assert got == expected, (size, kernel, stride, dilation, pad, ceil)
    assert found, "such windows exist"


def test_three_counts_tell_whether_all_windows_count_the_same() -> None:
    """The first, the second and the last, against all of them."""
    answers, countings = set(), (COUNT_PADDED, COUNT_VALID, COUNT_ONE)
    for size, kernel, stride, counting in itertools.product(range(1, 14), range(1, 8), range(1, 5), countings):
        for pad, ceil_mode in itertools.product(range(kernel // 2 + 1), (False, True)):
            out = pooled_size(size, kernel=kernel, stride=stride, pad=pad, ceil_mode=ceil_mode)
            if out > 1:
                axis = fixed(size, out, kernel=kernel, stride=stride, pad=pad, counting=counting)
                even = len({axis.count(o) for o in range(out)}) == 1
                assert axis.counts_evenly == even, axis
                answers.add((counting, even))
    assert len(answers) == 5  # both for windows that are cut, and for padded ones; one where none is counted


def test_the_stride_of_a_window_alone_changes_nothing() -> None:
    """Plans see that it overlaps no other one; where it lies and what it counts is as told."""
    for size, kernel, stride, pad in itertools.product(range(1, 6), range(1, 8), range(1, 9), range(4)):
        for counting in (COUNT_ONE, COUNT_PADDED, COUNT_VALID):
            seen = Windows(size, 1, kernel, stride, pad).axis(counting).apart_if_single
            told = fixed(size, 1, kernel=kernel, stride=stride, pad=pad, counting=counting)
            assert seen.stride >= seen.kernel
            assert (seen.start(0), seen.stop(0), seen.count(0)) == (told.start(0), told.stop(0), told.count(0))
            for i in range(size):
                assert range(seen.first(i), seen.last(i) + 1) == range(told.first(i), told.last(i) + 1)


def test_a_window_alone_of_any_length_fits_64_bits() -> None:
    axis = Windows(5, 1, 2**62 + 1, 2**63 - 1, 0, dilation=2).axis(COUNT_ONE).apart_if_single
    assert max(axis.kernel, axis.stride) < 2**63
