"""The same answers, slow and obvious: each function below is its formula, written out with loops.

Nothing here is shared with the code that computes windows, plans or runs kernels, so that an error has to be made twice
to go unseen. Every function takes NumPy arrays and shapes and checks next to nothing: the caller is a test.

There are two flavours of answer, and the data decide which one comes out.

* Floating-point arrays: averages are summed in float64; the gradients of max pooling are summed in the type that the
  contract names (float64 for float64, float32 for all others), in the contract's order, so they are right to the bit.
  NaN and Inf are welcome.
* ``exact(operator, grad_output, ...)``: the sums as fractions, with all that a rigorous error bound needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# What NumPy does with a signalling NaN, or with Inf - Inf, is right, and nobody needs a warning of it. When NumPy gives
# one depends on the processor.
quiet = np.errstate(invalid="ignore")


# ---- exact sums ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of fractions that remembers how large its terms were and how many there were.

    >>> (Sum() + Sum.of(1.0) / 3) + Sum.of(-0.5)
    Sum(value=Fraction(-1, 6), magnitude=Fraction(5, 6), terms=2)
    """

    value: Fraction = Fraction(0)
    magnitude: Fraction = Fraction(0)
    terms: int = 0

    @classmethod
    def of(cls, number: float) -> Sum:
        return cls(Fraction(number), abs(Fraction(number)), 1)

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.value + other.value, self.magnitude + other.magnitude, self.terms + other.terms)

    def __truediv__(self, divisor: int) -> Sum:
        return Sum(self.value / divisor, self.magnitude / abs(divisor), self.terms)


class Exact(NamedTuple):
    """Per element: the exact value, the sum of the absolute terms, the number of terms."""

    value: Array
    magnitude: Array
    terms: Array


def exact(operator: Callable[..., Array], grad_output: Array, *parameters: Any) -> Exact:
    """The exact answer of one of the operators below to finite gradients.

    >>> exact(adaptive_avg_pool3d_backward, np.ones((1, 1, 1, 1)), (1, 1, 1, 3)).value.tolist()
    [[[[Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]]]]
    """
    grad_input = operator(_each(grad_output, lambda number: Sum.of(float(number))), *parameters)
    return Exact(
        value=_each(grad_input, lambda total: total.value),
        magnitude=_each(grad_input, lambda total: total.magnitude),
        terms=_each(grad_input, lambda total: total.terms).astype(np.int64),
    )


def _each(array: Array, function: Callable[[Any], Any]) -> Array:
    result = np.empty(array.shape, dtype=object)
    for position in np.ndindex(array.shape):
        result[position] = function(array[position])
    return result


def _zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    return np.full(shape, Sum(), dtype=object) if dtype.kind == "O" else np.zeros(shape, dtype)


# ---- rounding --------------------------------------------------------------------------------------------------------


class FloatFormat(NamedTuple):
    """Binary floating point: significant bits, the hidden one included; exponents of the smallest number and of the
    first power of two that is too large."""

    precision: int
    smallest: int
    overflow: int


FLOAT64 = FloatFormat(53, -1074, 1024)
FLOAT32 = FloatFormat(24, -149, 128)
FLOAT16 = FloatFormat(11, -24, 16)
BFLOAT16 = FloatFormat(8, -133, 128)


def hf32(mantissa_bits: int) -> FloatFormat:
    """float32 whose pattern ends in ``23 - mantissa_bits`` zeros: 11 bits stay on Atlas A2 and A3, 10 on the 950."""
    return FloatFormat(mantissa_bits + 1, -126 - mantissa_bits, 128)


def nearest(value: Fraction, target: FloatFormat) -> float:
    """The number of the target format that is nearest to ``value``, the even one of two; it may be infinite.

    >>> nearest(Fraction(2049), FLOAT16), nearest(Fraction(65520), FLOAT16), nearest(Fraction(1, 3), hf32(10))
    (2048.0, inf, 0.333251953125)
    """
    if value == 0:
        return 0.0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()  # the right one, or one too many
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** max(exponent - target.precision + 1, target.smallest)
    rounded = round(value / quantum) * quantum  # round() of a Fraction takes the even one of two neighbours
    if abs(rounded) >= Fraction(2) ** target.overflow:
        return math.copysign(math.inf, value)
    return math.copysign(float(rounded), value)  # a negative number that vanishes leaves -0.0


@quiet
def rounded_to(target: FloatFormat, array: Array) -> Array:
    """Every finite element rounded to the target format, in an array of the same type; the others are kept."""
    result = array.copy()
    for position in np.ndindex(array.shape):
        if np.isfinite(array[position]) and array[position] != 0:
            result[position] = nearest(Fraction(float(array[position])), target)
    return result


def round_to_hf32(array: Array, mantissa_bits: int) -> Array:
    """float32 rounded to HF32.

    >>> [hex(bits) for bits in round_to_hf32(np.float32([1 / 3, 3.4028235e38]), 11).view(np.uint32).tolist()]
    ['0x3eaab000', '0x7f800000']
    """
    return rounded_to(hf32(mantissa_bits), array)


# ---- windows ---------------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """What one output position covers on one axis: input positions from ``start`` to before ``stop``, and the length
    that counts if padding counts."""

    start: int
    stop: int
    padded: int


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> int:
    """The number of fixed windows on an axis.

    >>> pooled_size(6, 3, 2, 0), pooled_size(6, 3, 2, 0, ceil_mode=True)
    (2, 3)

    A last window that would begin in the padding is dropped:

    >>> pooled_size(5, 2, 2, 1), pooled_size(5, 2, 2, 1, ceil_mode=True), pooled_size(4, 2, 3, 1, ceil_mode=True)
    (3, 3, 2)
    """
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    count = (room + stride - 1) // stride + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def fixed_windows(size: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> list[Window]:
    """The windows of ordinary pooling; they may reach into the padding, but not beyond it.

    >>> fixed_windows(4, 3, 2, 1, ceil_mode=True)
    [Window(start=0, stop=2, padded=3), Window(start=1, stop=4, padded=3), Window(start=3, stop=4, padded=2)]
    """
    windows = []
    for position in range(pooled_size(size, kernel, stride, padding, 1, ceil_mode)):
        start = position * stride - padding
        stop = min(start + kernel, size + padding)
        windows.append(Window(max(start, 0), min(stop, size), stop - start))
    return windows


def adaptive_windows(size: int, count: int) -> list[Window]:
    """``count`` windows that cover the axis evenly; they overlap where ``count`` does not divide ``size``.

    >>> [window[:2] for window in adaptive_windows(5, 3)]
    [(0, 2), (1, 4), (3, 5)]
    """
    windows = []
    for position in range(count):
        start, stop = position * size // count, -(-(position + 1) * size // count)
        windows.append(Window(start, stop, stop - start))
    return windows


def times_covered(size: int, windows: Sequence[Window]) -> list[int]:
    """For each position of an axis, the number of windows that hold it."""
    times = [0] * size
    for window in windows:
        for position in range(window.start, window.stop):
            times[position] += 1
    return times


# ---- average pooling -------------------------------------------------------------------------------------------------


def avg_pool2d_backward(
    grad_output: Array,
    x_shape: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    round_to: FloatFormat | None = None,
) -> Array:
    """Each output gradient, divided by its divisor, goes to every element of its window, over as many axes as this has.

    ``round_to`` is the format that the gradients are rounded to before anything else.

    >>> avg_pool2d_backward(np.float32([[[6.0, 8.0]]]), (1, 1, 3), (1, 2), (1, 1), (0, 0))
    array([[[3., 7., 4.]]])
    """

    sizes = x_shape[-len(kernel_size) :]
    axes = [fixed_windows(*axis, ceil_mode) for axis in zip(sizes, kernel_size, stride, padding, strict=True)]
    divisor = _divisor_of_fixed_windows(count_include_pad, divisor_override)
    return _average(rounded_to(round_to, grad_output) if round_to else grad_output, x_shape, axes, divisor)


avg_pool3d_backward = avg_pool2d_backward


def _divisor_of_fixed_windows(
    count_include_pad: bool, divisor_override: int | None
) -> Callable[[Sequence[Window]], int]:
    def divisor(windows: Sequence[Window]) -> int:
        if divisor_override:
            return divisor_override
        return math.prod(w.padded if count_include_pad else w.stop - w.start for w in windows)

    return divisor


def adaptive_avg_pool3d_backward(grad_output: Array, x_shape: Sequence[int]) -> Array:
    """The same over depth, height and width, with windows that follow from the two shapes."""
    return _adaptive_average(grad_output, x_shape, 3)


def adaptive_avg_pool2d_backward(grad_output: Array, x_shape: Sequence[int]) -> Array:
    """The same over height and width."""
    return _adaptive_average(grad_output, x_shape, 2)


def _adaptive_average(grad_output: Array, x_shape: Sequence[int], axes: int) -> Array:
    sizes = zip(x_shape[-axes:], grad_output.shape[-axes:], strict=True)
    windows = [adaptive_windows(size, count) for size, count in sizes]
    return _average(grad_output, x_shape, windows, lambda windows: math.prod(w.stop - w.start for w in windows))


@quiet
def _average(
    grad_output: Array, x_shape: Sequence[int], axes: list[list[Window]], divisor: Callable[[Sequence[Window]], int]
) -> Array:
    gradients = grad_output if grad_output.dtype.kind == "O" else grad_output.astype(np.float64)
    if gradients.shape != (*x_shape[: -len(axes)], *(len(windows) for windows in axes)):
        raise ValueError(f"gradients of shape {gradients.shape} do not belong to an input of shape {tuple(x_shape)}")
    grad_input = _zeros(x_shape, gradients.dtype)
    for position in np.ndindex(*(len(windows) for windows in axes)):
        windows = [axis[place] for axis, place in zip(axes, position, strict=True)]
        share = gradients[(..., *position)] / divisor(windows)
        region: tuple[Any, ...] = (..., *(slice(window.start, window.stop) for window in windows))
        grad_input[region] += share.reshape(share.shape + (1,) * len(axes))
    return grad_input


def avg_pool2d(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    round_to: FloatFormat | None = None,
) -> Array:
    """The sum of each window, divided by its divisor, over as many axes as the kernel has.

    ``round_to`` is the format that ``x`` is rounded to before anything else.

    >>> avg_pool2d(np.float32([[[6.0, 8.0, 1.0]]]), (1, 2), (1, 1), (0, 0))
    array([[[7. , 4.5]]])
    """
    sizes = x.shape[-len(kernel_size) :]
    axes = [fixed_windows(*axis, ceil_mode) for axis in zip(sizes, kernel_size, stride, padding, strict=True)]
    divisor = _divisor_of_fixed_windows(count_include_pad, divisor_override)
    return _pooled_average(rounded_to(round_to, x) if round_to else x, axes, divisor)


avg_pool3d = avg_pool2d


def adaptive_avg_pool2d(x: Array, output_size: Sequence[int]) -> Array:
    """The mean of each of so many windows, over as many axes as there are numbers of them.

    >>> adaptive_avg_pool2d(np.float32([[[6.0, 8.0, 1.0]]]), (1, 2))
    array([[[7. , 4.5]]])
    """
    axes = [adaptive_windows(*axis) for axis in zip(x.shape[-len(output_size) :], output_size, strict=True)]
    return _pooled_average(x, axes, lambda windows: math.prod(w.stop - w.start for w in windows))


adaptive_avg_pool3d = adaptive_avg_pool2d


@quiet
def _pooled_average(x: Array, axes: list[list[Window]], divisor: Callable[[Sequence[Window]], int]) -> Array:
    numbers, outs = x if x.dtype.kind == "O" else x.astype(np.float64), [len(windows) for windows in axes]
    result = _zeros((*x.shape[: -len(axes)], *outs), numbers.dtype)
    for position in np.ndindex(*outs):
        windows = [axis[place] for axis, place in zip(axes, position, strict=True)]
        region: tuple[Any, ...] = (..., *(slice(window.start, window.stop) for window in windows))
        totals = numbers[region].sum(axis=tuple(range(-len(axes), 0)))
        result[(..., *position)] = totals / divisor(windows)
    return result


# ---- max pooling -----------------------------------------------------------------------------------------------------


def max_pool2d_with_indices_backward(
    grad_output: Array, x_shape: Sequence[int], indices: Array, data_format: str = "NCHW"
) -> Array:
    """Each output gradient is added where its index, ``h * W + w`` in the element's own plane, points to.

    >>> max_pool2d_with_indices_backward(np.float32([[[1, 2]]]), (1, 2, 2), np.array([[[3, 3]]]))
    array([[[0., 0.],
            [0., 3.]]], dtype=float32)
    """
    if data_format == "NHWC":
        grad_output, indices = np.moveaxis(grad_output, -1, -3), np.moveaxis(indices, -1, -3)
        x_shape = (*x_shape[:-3], x_shape[-1], *x_shape[-3:-1])
    grad_input = _scattered(grad_output, x_shape, indices, 2)
    return np.moveaxis(grad_input, -3, -1) if data_format == "NHWC" else grad_input


def adaptive_max_pool2d_backward(grad_output: Array, x_shape: Sequence[int], indices: Array) -> Array:
    """The indices say it all: the same as for fixed windows."""
    return max_pool2d_with_indices_backward(grad_output, x_shape, indices)


def max_pool3d_with_argmax_backward(grad_output: Array, x_shape: Sequence[int], indices: Array) -> Array:
    """Each output gradient is added where its index, ``(d * H + h) * W + w`` in its own volume, points to."""
    return _scattered(grad_output, x_shape, indices, 3)


adaptive_max_pool3d_backward = max_pool3d_with_argmax_backward


@quiet
def _scattered(grad_output: Array, x_shape: Sequence[int], indices: Array, axes: int) -> Array:
    """Each gradient added where its index points to, in a plane of two axes or a volume of three."""
    sizes = tuple(x_shape[-axes:])
    gradients = grad_output if grad_output.dtype in (object, np.float64) else grad_output.astype(np.float32)
    grad_input = _zeros(x_shape, gradients.dtype)
    for position in np.ndindex(grad_output.shape):
        index = int(indices[position])
        if not 0 <= index < math.prod(sizes):
            raise IndexError(f"index {index} at {position} is outside its plane of {'x'.join(map(str, sizes))}")
        place = []
        for size in reversed(sizes):
            place.append(index % size)
            index //= size
        grad_input[(*position[:-axes], *reversed(place))] += gradients[position]
    return grad_input


def max_pool_indices(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Array:
    """Where the maxima of fixed windows lie: the indices that max pooling forward hands to its gradient. The last axes
    are pooled, as many as the kernel has.

    >>> max_pool_indices(np.array([[[[1, 2, 3, 0]]]]), (1, 1, 2), (1, 1, 2), (0, 0, 0))
    array([[[[1, 2]]]])
    """
    count, axes = len(kernel_size), []
    steps = dilation or (1,) * count
    for size, k, s, p, d in zip(x.shape[-count:], kernel_size, stride, padding, steps, strict=True):
        starts = (position * s - p for position in range(pooled_size(size, k, s, p, d, ceil_mode)))
        axes.append([[place for place in range(start, start + k * d, d) if 0 <= place < size] for start in starts])
    return _indices_of_maxima(x, axes)


def max_pool2d_with_indices(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """The maxima of fixed windows over as many axes as the kernel has, and where they lie.

    >>> values, indices = max_pool2d_with_indices(np.array([[[1.0, 2.0, 3.0, 0.0]]]), (1, 2), (1, 2), (0, 0))
    >>> values.tolist(), indices.tolist()
    ([[[2.0, 3.0]]], [[[1, 2]]])
    """
    indices = max_pool_indices(x, kernel_size, stride, padding, dilation, ceil_mode)
    return _at(x, indices, len(kernel_size)), indices


max_pool3d_with_argmax = max_pool2d_with_indices


def max_pool(
    x: Array,
    kernel_shape: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int] = (),
    ceil_mode: bool = False,
) -> Array:
    """The maxima of fixed windows; padding, before the axes and then behind them, counts as the least number of all.

    >>> max_pool(np.array([[[1, 3], [2, 0]]]), (1, 2), (1, 1), (0, 0, 0, 1)).tolist()
    [[[3, 3], [2, 0]]]
    """
    least = -math.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    before, behind = (pads[:2], pads[2:]) if len(pads) == 4 else (pads, pads)
    outs = []
    for size, k, s, p, q in zip(x.shape[-2:], kernel_shape, strides, before, behind, strict=True):
        room = size + p + q - k
        count = -(-room // s) + 1 if ceil_mode else room // s + 1
        outs.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    result = np.full((*x.shape[:-2], *outs), least, x.dtype)
    for position in np.ndindex(*outs):
        starts = [o * s - p for o, s, p in zip(position, strides, before, strict=True)]
        region = tuple(slice(max(start, 0), max(start + k, 0)) for start, k in zip(starts, kernel_shape, strict=True))
        for plane in np.ndindex(x.shape[:-2]):
            for number in x[plane][region].ravel():
                best = result[plane][position]
                if number > best or number != number:
                    result[plane][position] = number
    return result


def _at(x: Array, indices: Array, axes: int) -> Array:
    """What stands where the indices point to, each in its own plane or volume."""
    planes, places = x.reshape(*x.shape[:-axes], -1), indices.reshape(*x.shape[:-axes], -1)
    return np.take_along_axis(planes, places, axis=-1).reshape(indices.shape)


def max_pool2d_with_mask(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    bits: bool = False,
    round_to: FloatFormat | None = None,
) -> tuple[Array, Array]:
    """The maxima, and the mask of where they lie: of places, or of bits if these are asked for or windows are of one
    element.

    >>> values, mask = max_pool2d_with_mask(np.array([[[1.0, 2.0, 3.0, 0.0]]]), (1, 2), (1, 2), (0, 0))
    >>> values.tolist(), mask.shape, mask.ravel()[:12].tolist()
    ([[[2.0, 3.0]]], (1, 2, 64), [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
    """
    x = x if round_to is None else rounded_to(round_to, x)
    values, indices = max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)
    *lead, height, width = indices.shape
    blocks = -(-height * width // 16)
    mask = np.zeros((*lead, math.prod(kernel_size), (blocks + 1) * 32), np.uint8)
    if not bits and math.prod(kernel_size) > 1:
        places = indices.astype("<i4").tobytes()
        mask.ravel()[: len(places)] = np.frombuffer(places, np.uint8)
        return values, mask.view(np.int8)
    channels, positions = lead[-1], math.prod(kernel_size)
    images, groups = math.prod(lead[:-1]), -(-channels // 16)
    words = np.zeros((images, groups, positions, (blocks + 1) * 16), "<u2")
    if positions == 1:
        words[..., : blocks * 16] = 0xFFFF
    else:
        for image, channel, oh, ow in np.ndindex(images, channels, height, width):
            h, w = divmod(int(indices.reshape(images, channels, height, width)[image, channel, oh, ow]), x.shape[-1])
            kh, kw = h - oh * stride[0] + padding[0], w - ow * stride[1] + padding[1]
            words[image, channel // 16, kh * kernel_size[1] + kw, oh * width + ow] |= 1 << channel % 16
    mask.ravel()[: words.nbytes] = words.view(np.uint8).ravel()
    return values, mask.view(np.int8)


def max_pool2d_with_mask_backward(
    grad_output: Array, x_shape: Sequence[int], indices: Array, round_to: FloatFormat | None = None
) -> Array:
    """The gradient for maxima that a mask tells: that of the indices which the mask stands for."""
    if round_to is None:
        return max_pool2d_with_indices_backward(grad_output, x_shape, indices)
    return rounded_to(round_to, max_pool2d_with_indices_backward(rounded_to(round_to, grad_output), x_shape, indices))


def adaptive_max_pool_indices(x: Array, output_size: Sequence[int]) -> Array:
    """Where the maxima of adaptive windows lie."""
    sizes = x.shape[-len(output_size) :]
    axes = [adaptive_windows(size, count) for size, count in zip(sizes, output_size, strict=True)]
    return _indices_of_maxima(x, [[list(range(window.start, window.stop)) for window in axis] for axis in axes])


def adaptive_max_pool2d(x: Array, output_size: Sequence[int]) -> tuple[Array, Array]:
    """The maxima of adaptive windows over as many axes as the output size has, and where they lie."""
    indices = adaptive_max_pool_indices(x, output_size)
    return _at(x, indices, len(output_size)), indices


adaptive_max_pool3d = adaptive_max_pool2d


@quiet
def _indices_of_maxima(x: Array, axes: list[list[list[int]]]) -> Array:
    count, outs = len(axes), [len(windows) for windows in axes]
    numbers = np.arange(math.prod(x.shape[-count:])).reshape(x.shape[-count:])
    indices = np.empty((*x.shape[:-count], *outs), dtype=np.int64)
    for position in np.ndindex(*outs):
        window: tuple[Any, ...] = np.ix_(*(windows[place] for windows, place in zip(axes, position, strict=True)))
        places, patch = numbers[window].ravel(), x[(..., *window)].astype(np.float64)
        patch = patch.reshape(*x.shape[:-count], places.size)
        last_nan = places.size - 1 - np.isnan(patch)[..., ::-1].argmax(axis=-1)
        indices[(..., *position)] = places[np.where(np.isnan(patch).any(axis=-1), last_nan, patch.argmax(axis=-1))]
    return indices
