"""What the correctness tests share: cases as lines of text, arrays with guards around them, rigorous comparisons.

A case is one line, ``call | facts | reason``, with a call as ``benchmarks/lines.py`` reads it:

    avg n2c3h7w9 k3,2 s2 p1 ceil nopad | clipped overlap | the last window of ceil mode is cut off

``astray`` behind the call draws the indices of max pooling from the whole plane instead of from the windows.

The facts are what the case claims to be an instance of. They are worked out again from the windows, and a case whose
claim does not hold is a failing test: so no case can miss the branch that it was written for.
"""

from __future__ import annotations

import functools
import math
import zlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from benchmarks.lines import Line, read
from poolgrad.contract.parameters import Role
from poolgrad.selftest import reference

FLOAT64, FLOAT32, FLOAT16 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = (FLOAT64, FLOAT32, FLOAT16, BFLOAT16)
HALVES = (FLOAT16, BFLOAT16)
INDEX_DTYPES = (np.dtype(np.int32), np.dtype(np.int64))

FORMATS = {FLOAT64: reference.FLOAT64, FLOAT32: reference.FLOAT32}

# ---- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case(Line):
    claims: frozenset[str]
    reason: str
    astray: bool = False

    @property
    def divisor(self) -> int:
        return self.arguments.get("divisor_override") or 0

    @cached_property
    def largest_divisor(self) -> int:
        if self.divisor or not self.averages:
            return abs(self.divisor)
        padded = Role.COUNT_INCLUDE_PAD in self.described.by_role and self.arguments.get("count_include_pad", True)
        return math.prod(max(w.padded if padded else w.stop - w.start for w in axis) for axis in self.windows)

    @property
    def channels_last(self) -> bool:
        return self.arguments.get("data_format") in ("NHWC", "NDHWC")

    @cached_property
    def windows(self) -> list[list[reference.Window]]:
        """Per axis; for dilated windows from the first to the last element that they take."""
        if self.output_size:
            return [reference.adaptive_windows(*axis) for axis in zip(self.spatial, self.outputs, strict=True)]
        reach = [d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        axes = zip(self.spatial, reach, self.stride, self.padding, strict=True)
        return [reference.fixed_windows(*axis, self.ceil) for axis in axes]

    @cached_property
    def covered(self) -> list[list[int]]:
        return [reference.times_covered(*axis) for axis in zip(self.spatial, self.windows, strict=True)]

    @cached_property
    def facts(self) -> set[str]:
        axes = list(zip(self.spatial, self.windows, self.outputs, strict=True))
        lengths = [{w.stop - w.start for w in windows} for _, windows, _ in axes]
        facts = {
            "gap": any(0 in times for times in self.covered),
            "overlap": any(max(times) > 1 for times in self.covered),
            "disjoint": all(max(times) <= 1 for times in self.covered),
            "unbatched": len(self.x_shape) == len(self.spatial) + 1,
            "one-output": set(self.outputs) == {1},
            "huge-divisor": self.largest_divisor > 2**24,
            "negative-divisor": self.divisor < 0,
            "uneven": any(len(set_of_lengths) > 1 for set_of_lengths in lengths),
            "larger": any(outputs > size for size, _, outputs in axes),
            "deep": self.axes == 3 and self.spatial[0] > 1 and self.outputs[0] > 1,
        }
        if not self.output_size:
            facts |= self._facts_of_fixed_windows(axes)
        return {fact for fact, holds in facts.items() if holds}

    def _facts_of_fixed_windows(self, axes) -> dict[str, bool]:
        reach = [d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        floor = [
            reference.pooled_size(*axis)
            for axis in zip(self.spatial, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        ]
        by_formula = [
            -((size + 2 * p - r) // -s) + 1
            for size, r, s, p in zip(self.spatial, reach, self.stride, self.padding, strict=True)
        ]
        return {
            # ceil mode has a window more than floor mode, and it does not even fit into the padding
            "clipped": any(
                outputs > fewer and windows[-1].padded < r
                for (_, windows, outputs), fewer, r in zip(axes, floor, reach, strict=True)
            ),
            # ceil mode would have a window more, but it would begin in the padding on the right
            "dropped": self.ceil and any(o < more for o, more in zip(self.outputs, by_formula, strict=True)),
            "padded": any(w.stop - w.start < w.padded for _, windows, _ in axes for w in windows),
            "whole": self.kernel == self.spatial,
            "global": self.kernel == self.spatial and set(self.outputs) == {1},
            "dilated": max(self.dilation) > 1,
            "kernel-beyond-input": any(k > size for k, size in zip(self.kernel, self.spatial, strict=True)),
        }

    # ---- data ----

    def random(self) -> np.random.Generator:
        """Always the same numbers. All data come from them, so that no test meets a case that is not what it claims."""
        assert not self.claims or self.claims <= self.facts, f"claims {set(self.claims)}, is {self.facts}"
        return np.random.default_rng(zlib.crc32(self.text.encode()))

    def gradients(self, dtype: np.dtype) -> np.ndarray:
        """Numbers of mixed signs and magnitudes, so that sums cancel and round."""
        random = self.random()
        numbers = random.standard_normal(self.grad_shape) * 2.0 ** random.integers(-6, 7, self.grad_shape)
        return self.laid_out(numbers.astype(dtype))

    def indices(self, dtype: np.dtype = INDEX_DTYPES[1]) -> np.ndarray:
        if self.astray:
            indices = self.random().integers(0, math.prod(self.spatial), self.grad_shape)
        else:
            x = self.random().standard_normal(self.x_shape)
            if self.output_size:
                indices = reference.adaptive_max_pool_indices(x, self.output_size)
            else:
                args = (self.kernel, self.stride, self.padding, self.dilation, self.ceil)
                indices = reference.max_pool_indices(x, *args)
        return self.laid_out(indices.astype(dtype))

    def laid_out(self, planes_first: np.ndarray) -> np.ndarray:
        """In the case's data format."""
        channels = -self.axes - 1
        return np.ascontiguousarray(np.moveaxis(planes_first, channels, -1)) if self.channels_last else planes_first

    @property
    def x(self) -> tuple[int, ...]:
        """The shape of x in the case's data format."""
        *batch, channels = self.x_shape[: -self.axes]
        return (*batch, *self.spatial, channels) if self.channels_last else self.x_shape

    # ---- answers ----

    def run(self, grad_output, x=None, indices=None, **options):
        """poolgrad's answer."""
        function = getattr(poolgrad, self.described.python_name)
        arrays = [grad_output, self.x if x is None else x]
        if not self.averages:
            arrays.append(self.indices() if indices is None else indices)
        return function(*arrays, **self.arguments, **options)

    def pool(self, x, **options):
        """poolgrad's answer in the other direction: averages, of which the case's operator is the gradient."""
        size = {"output_size": self.output_size} if self.output_size else {}
        return getattr(poolgrad, self.forward_name)(x, **self.arguments, **size, **options)

    def pooled_by_reference(self, x: np.ndarray) -> np.ndarray:
        slow = getattr(reference, self.forward_name)
        return slow(x, *((self.output_size,) if self.output_size else self._reference_arguments()[1:]))

    @property
    def forward_name(self) -> str:
        return self.described.python_name.removesuffix("_backward")

    def additions_of_pooling(self) -> int:
        """How many additions a number takes part in at most when windows are summed along one axis after the other."""
        return sum(max(w.stop - w.start for w in axis) - 1 for axis in self.windows)

    def reference(self, grad_output, indices=None) -> np.ndarray:
        """The float flavour of the reference's answer."""
        return getattr(reference, self.described.python_name)(grad_output, *self._reference_arguments(indices))

    def exact(self, grad_output) -> reference.Exact:
        slow = getattr(reference, self.described.python_name)
        return reference.exact(slow, grad_output, *self._reference_arguments())

    def _reference_arguments(self, indices=None):
        if not self.averages:
            found = self.x, self.indices() if indices is None else indices
            return (*found, self.arguments["data_format"]) if self.channels_last else found
        if self.output_size:
            return (self.x_shape,)
        include_pad = self.arguments.get("count_include_pad", True)
        return self.x_shape, self.kernel, self.stride, self.padding, self.ceil, include_pad, self.divisor

    def additions(self) -> np.ndarray:
        """Per element of a plane, how many additions a term takes part in at most when the sums are formed along one
        axis after the other, in whatever association."""
        chains = [[max(times - 1, 0) for times in axis] for axis in self.covered]
        return sum(np.ix_(*chains))


def parse(line: str) -> Case:
    text, claims, reason = (part.strip() for part in line.split("|"))
    fields, others = read(text)
    assert others in ([], ["astray"]), f"what is {others}?"
    return Case(**fields, claims=frozenset(claims.split()), reason=reason, astray=bool(others))


def cases(lines: str):
    """pytest parameters, one per line; the test's name carries the whole line."""
    return [
        pytest.param(parse(line), id=" ".join(line.split()).replace(" | ", ": ", 1).replace(" | ", ": "))
        for line in lines.strip().splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]


# ---- comparisons -----------------------------------------------------------------------------------------------------


def bits(array) -> np.ndarray:
    """The patterns of the elements, all NaN alike."""
    values = np.array(array, order="C", copy=True)
    if values.dtype.kind not in "iu":
        with np.errstate(invalid="ignore"):  # ml_dtypes minds a signalling NaN
            values[np.isnan(values)] = np.nan
    return values.view(f"u{values.dtype.itemsize}")


def assert_same_bits(result, expected) -> None:
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    different = np.argwhere(bits(result) != bits(expected))
    if len(different):
        place = tuple(different[0].tolist())
        raise AssertionError(
            f"{len(different)} of {result.size} elements differ, first at {place}: {result[place]!r}, "
            f"not {expected[place]!r}"
        )


def assert_no_negative_zero(result) -> None:
    assert not (np.signbit(result) & (result == 0)).any()


def gamma(roundings, unit: Fraction):
    """The relative error that n roundings to nearest can add up to: n u / (1 - n u)."""
    return roundings * unit / (1 - roundings * unit)


def assert_within_rounding(case: Case, grad_output: np.ndarray, result: np.ndarray) -> None:
    """Averages in float32 or float64 against exact arithmetic.

    Where one window holds an element, the answer must be the correctly rounded quotient. Where several do, every term
    has gone through one division and at most ``additions`` additions.
    """
    assert result.shape == case.x_shape
    assert result.dtype == grad_output.dtype
    assert_no_negative_zero(result)
    exact = case.exact(grad_output)
    target = FORMATS[grad_output.dtype]
    unit, vanishing = Fraction(1, 2**target.precision), Fraction(2) ** (target.smallest - 1)
    # float32 divisors beyond 2**24 take their quotient in float64; beyond 2**53 the divisor itself is rounded first
    inexact_divisor = case.largest_divisor > 2**53
    additions = np.broadcast_to(case.additions(), case.x_shape)
    for place in np.ndindex(case.x_shape):
        got, value, terms = float(result[place]), exact.value[place], exact.terms[place]
        if terms <= 1 and not inexact_divisor:
            if case.largest_divisor > 2**24:
                value = Fraction(reference.nearest(value, reference.FLOAT64))
            expected = reference.nearest(value, target)
            assert got == expected, f"at {place}: {got!r} is not the nearest to {value}, that is {expected!r}"
        else:
            roundings = 1 + inexact_divisor + int(additions[place])
            bound = gamma(roundings, unit) * exact.magnitude[place] + int(terms) * vanishing
            error = abs(Fraction(got) - value)
            assert error <= bound, (
                f"at {place}: {got!r} is off by {float(error)}, {roundings} roundings allow {float(bound)}"
            )


def fast_average(case: Case, gradients: np.ndarray) -> np.ndarray:
    """The gradient of average pooling in float64 for large planes: not window by window, but one strided addition for
    each place inside the kernel. The last windows of ceil mode run over the border and are cut off at the end."""
    divisors = [
        [[w.padded, w.stop - w.start][not case.arguments.get("count_include_pad", True)] for w in axis]
        for axis in case.windows
    ]
    quotients = gradients.astype(np.float64) / (case.divisor or functools.reduce(np.multiply.outer, divisors))
    room = [(o - 1) * s + k for o, s, k in zip(case.outputs, case.stride, case.kernel, strict=True)]
    room = [max(r, size + p) for r, size, p in zip(room, case.spatial, case.padding, strict=True)]
    total = np.zeros((*case.x_shape[: -case.axes], *room))
    for place in np.ndindex(case.kernel):
        total[
            (..., *(slice(i, i + (o - 1) * s + 1, s) for i, o, s in zip(place, case.outputs, case.stride, strict=True)))
        ] += quotients
    return total[(..., *(slice(p, p + size) for p, size in zip(case.padding, case.spatial, strict=True)))]


def assert_close_to_float64(case: Case, gradients: np.ndarray, result: np.ndarray, answer=None) -> None:
    """Like ``assert_within_rounding`` for cases too large for fractions: the float64 answer stands in for the exact one
    and brings its own, much smaller error."""
    answer = answer or (lambda numbers: case.reference(numbers))
    value, magnitude = answer(gradients), np.abs(answer(np.abs(gradients)))
    additions = case.additions()
    unit = 2.0 ** -FORMATS[result.dtype].precision
    bound = gamma(1 + additions, unit) + gamma(2 + math.prod(max(axis) for axis in case.covered), 2.0**-53)
    assert (np.abs(result - value) <= bound * magnitude * (1 + 1e-9)).all()


# ---- arrays with guards ----------------------------------------------------------------------------------------------

MARGIN = 192  # bytes before and after, more than any vector store runs over


class Guarded:
    """An array of given layout inside a block of bytes that are all ones: NaN for a float, -1 for an index, so that
    reading beside the elements is as visible as writing there."""

    def __init__(self, shape, dtype, layout: str = "plain") -> None:
        dtype = np.dtype(dtype)
        order, pitch, gap, backwards = LAYOUTS[layout](len(shape), dtype.itemsize)
        strides, unit = [0] * len(shape), pitch
        for axis in reversed(order):
            strides[axis] = unit
            unit *= shape[axis]
            unit += gap if unit else 0
        offset = MARGIN
        if backwards:
            offset += sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if size)
            strides = [-stride for stride in strides]
        self.block = np.full(unit + 2 * MARGIN, 0xFF, dtype=np.uint8)
        self.array = np.ndarray(shape, dtype, self.block, offset, strides)
        self._elements = np.zeros(self.block.size, dtype=bool)
        for byte in range(dtype.itemsize):
            np.ndarray(shape, bool, self._elements, offset + byte, strides)[...] = True
        assert self._elements.sum() == math.prod(shape) * dtype.itemsize, "elements of a layout overlap"

    @classmethod
    def holding(cls, values: np.ndarray, layout: str = "plain") -> Guarded:
        guarded = cls(values.shape, values.dtype, layout)
        guarded.array[...] = values
        return guarded

    def assert_untouched(self) -> None:
        """Nothing but the elements themselves has been written."""
        assert (self.block[~self._elements] == 0xFF).all(), "memory beside the elements was written"


def _channels_last(rank: int) -> tuple[int, ...]:
    return (*range(rank - 3), rank - 2, rank - 1, rank - 3) if rank < 5 else (0, 2, 3, 4, 1)


# rank, itemsize -> axes from the slowest to the fastest, bytes from element to element, bytes after each row and so on
# up, and whether all axes run backwards
LAYOUTS = {
    "plain": lambda rank, size: (range(rank), size, 0, False),
    "channels last": lambda rank, size: (_channels_last(rank), size, 0, False),
    "channels last apart": lambda rank, size: (_channels_last(rank), size, 2 * size, False),
    "transposed": lambda rank, size: ((*range(rank - 2), rank - 1, rank - 2), size, 0, False),
    "fortran": lambda rank, size: (range(rank)[::-1], size, 0, False),
    "cropped": lambda rank, size: (range(rank), size, 3 * size, False),
    "every second": lambda rank, size: (range(rank), 2 * size, size, False),
    "reversed": lambda rank, size: (range(rank), size, 0, True),
    "reversed channels last": lambda rank, size: (_channels_last(rank), size, 2 * size, True),
    "field of a record": lambda rank, size: (range(rank), size + 3, 0, False),
    "misaligned": lambda rank, size: (range(rank), size, 1, False),
}


class OnlyDLPack:
    """An array of some other library: it shows the DLPack protocol and nothing else."""

    def __init__(self, array) -> None:
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()
