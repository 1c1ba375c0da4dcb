"""A self-test: every operator in every dtype against ``reference.py``, on planes small enough to be exact about.

The windows are chosen so that different kernels are used. Averages must be as near to the exact sums as the arithmetic
of the contract allows, maxima and their gradients must be right to the bit, and a NaN must stay in its window.

The reference of an operator is the function of its Python name. That of a gradient takes gradients and the input's
shape; averages of fixed windows also their numbers, by Python names, and maxima the indices, also if their operator
takes a mask. That of a forward pass takes its input and the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import functional
from ..base.products import ANY, TRAINING, Product
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..contract.pooling import INTEGERS
from ..contract.support import support
from ..operators import REGISTRY
from ..run.calls import one_or_all
from . import reference
from .reference import FloatFormat

Array = NDArray[Any]
Sizes = tuple[int, int, int]

# How each type is made, and in which one it computes: halves in float32, rounded once more at the end.
FORMATS = {
    np.dtype(np.float64): (reference.FLOAT64, reference.FLOAT64),
    np.dtype(np.float32): (reference.FLOAT32, reference.FLOAT32),
    np.dtype(np.float16): (reference.FLOAT16, reference.FLOAT32),
    np.dtype(ml_dtypes.bfloat16): (reference.BFLOAT16, reference.FLOAT32),
}


class Trial(NamedTuple):
    """One comparison: what it is called, and what says whether it came out right (None) or what was wrong."""

    name: str
    run: Callable[[], str | None]


class _Windows(NamedTuple):
    """Planes and their windows, along D, H and W; operators that pool two axes take the last two of each.

    Adaptive windows have no numbers, and there are as many of them as ``out`` says.
    """

    name: str
    lead: tuple[int, int]
    sizes: Sizes
    kernel: Sizes = (0, 0, 0)
    stride: Sizes = (0, 0, 0)
    pad: Sizes = (0, 0, 0)
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor: int = 0
    channels_last: bool = False
    out: Sizes | None = None


_FIXED = (
    _Windows("wide rows", (1, 1), (2, 3, 100), (1, 3, 3), (1, 1, 1), (0, 1, 1)),
    _Windows("wide rows, strides of 2", (1, 2), (2, 6, 100), (2, 3, 3), (2, 2, 2), (0, 1, 1)),
    _Windows("wide rows, touching", (1, 2), (2, 7, 100), (2, 2, 2), (2, 2, 2)),
    _Windows("wide windows", (1, 1), (1, 5, 100), (1, 5, 5), (1, 1, 1), (0, 2, 2)),
    _Windows("tall windows", (1, 1), (2, 12, 100), (2, 9, 1), (1, 1, 1)),
    _Windows("channels last", (1, 40), (2, 7, 7), (1, 3, 3), (1, 2, 2), (0, 1, 1), channels_last=True),
    _Windows("channels last, touching", (1, 40), (2, 8, 8), (1, 2, 2), (1, 2, 2), channels_last=True),
    _Windows("overlapping", (1, 2), (3, 9, 33), (2, 3, 3), (1, 2, 2), (1, 1, 1), ceil_mode=True),
    _Windows("touching", (1, 10), (2, 6, 8), (1, 2, 2), (1, 2, 2), count_include_pad=False),
    _Windows("global", (2, 3), (2, 7, 7), (2, 7, 7), (2, 7, 7)),
    _Windows("divisor given", (1, 3), (3, 5, 5), (2, 2, 2), (1, 1, 1), divisor=-3),
)


_ADAPTIVE = tuple(
    _Windows(f"{sizes} from {out}", lead, sizes, out=out)
    for lead, sizes, out in (
        ((1, 2), (3, 5, 7), (2, 3, 4)),
        ((1, 1), (2, 4, 8), (1, 2, 4)),
        ((1, 1), (2, 2, 3), (3, 5, 4)),
        ((1, 4), (5, 7, 10), (2, 3, 4)),
    )
)


def trials() -> Iterator[Trial]:
    """All comparisons, to be run one by one; the first ones compile kernels if the cache does not have them."""
    for operator in REGISTRY.values():
        yield Trial(f"{operator.python_name}, the document's sample", partial(_sample, operator))
        yield from _windows_of(operator)


def _windows_of(operator: Operator) -> Iterator[Trial]:
    if Role.MASK in operator.by_role:
        yield from _masks_of(operator)
        return
    maxima = _found_maxima if Role.PLACES in operator.by_role else _maximum
    windows = _FIXED if Role.KERNEL in operator.by_role else _ADAPTIVE
    cell = support(operator, ANY)
    for dtype in (*FORMATS, *map(np.dtype, INTEGERS)):
        for case in windows if dtype.name in cell.dtypes else ():
            name = f"{operator.python_name}, {dtype.name}"
            if not cell.index_dtypes:
                alone = _found_values if Role.DILATION in operator.by_role else _average
                yield Trial(f"{name}, {case.name}", partial(alone, operator, case, dtype))
            for index in cell.index_dtypes:
                run = partial(maxima, operator, case, dtype, np.dtype(index))
                yield Trial(f"{name}, {index} indices, {case.name}", run)


def _masks_of(operator: Operator) -> Iterator[Trial]:
    """Masks of places, and of bits, which windows of any kind have on older products."""
    for product in (ANY, TRAINING):
        cell, word = support(operator, product), "bits" if product is TRAINING else "places"
        run = _found_mask if operator.by_role[Role.MASK].output else _given_mask
        for dtype in FORMATS:
            for case in _FIXED if dtype.name in cell.dtypes else ():
                trial = partial(run, operator, case, dtype, product)
                yield Trial(f"{operator.python_name}, {dtype.name}, int8 mask of {word}, {case.name}", trial)


def _sample(operator: Operator) -> str | None:
    sample = operator.sample
    arrays: dict[str, Array] = {}
    for p in operator.inputs:
        array = np.zeros(sample.shapes[p.name], p.dtype)
        array.ravel()[:] = sample.values.get(p.name, 0)
        arrays[p.python_name] = array
    numbers = {p.python_name: sample.numbers[p.name] for p in operator.numbers if p.name in sample.numbers}
    results = _all_of(getattr(functional, operator.python_name)(**arrays, **numbers))
    for p, got in zip(operator.outputs, results, strict=True):
        if wrong := _first_difference(got, np.array(sample.results[p.name], got.dtype).reshape(got.shape)):
            return f"{p.name}: {wrong}"
    return None


def _all_of(results: Any) -> tuple[Array, ...]:
    """Whatever a function returns, as a tuple."""
    return results if isinstance(results, tuple) else (results,)


class _Call(NamedTuple):
    """An operator over the axes that it pools, and its reference."""

    operator: Operator
    case: _Windows

    @property
    def axes(self) -> int:
        return len(self.operator.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.case.lead, *self.case.sizes[-self.axes :])

    @property
    def numbers(self) -> dict[str, Any]:
        """What describes the windows, by Python names."""
        case, axes = self.case, self.axes
        of_role = {
            Role.KERNEL: case.kernel[-axes:],
            Role.STRIDE: case.stride[-axes:],
            Role.PADDING: case.pad[-axes:],
            Role.CEIL_MODE: case.ceil_mode,
            Role.COUNT_INCLUDE_PAD: case.count_include_pad,
            Role.DIVISOR: case.divisor,
            Role.OUTPUT_SIZE: self.out,
        }
        return {p.python_name: of_role[p.role] for p in self.operator.numbers if p.role in of_role}

    @property
    def out(self) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        case, axes = self.case, self.axes
        if case.out is not None:
            return case.out[-axes:]
        along = zip(case.sizes, case.kernel, case.stride, case.pad, strict=True)
        return tuple(reference.pooled_size(*numbers, ceil_mode=case.ceil_mode) for numbers in along)[-axes:]

    @property
    def is_gradient(self) -> bool:
        return Role.GRADIENT in self.operator.by_role

    @property
    def shape_given(self) -> tuple[int, ...]:
        """The shape of the numbers that are pooled, or of the gradients."""
        return (*self.case.lead, *self.out) if self.is_gradient else self.shape

    def slow(self, given: Array, *indices: Array) -> Any:
        """What the reference makes of it; of gradients of maxima the indices say it all."""
        numbers = {} if indices else self.numbers
        shape = (self.shape,) if self.is_gradient else ()
        return getattr(reference, self.operator.python_name)(given, *shape, *indices, **numbers)

    def run(self, given: Array, *indices: Array, **options: Any) -> Any:
        """What the operator makes of it; channels may come last, in its format or, if it has none, in memory."""
        roles = (Role.GRADIENT, Role.INDICES) if self.is_gradient else (Role.INPUT,)
        named: dict[str, Any] = {
            self.operator.by_role[role].python_name: _channels_last(array) if self.case.channels_last else array
            for role, array in zip(roles, (given, *indices), strict=False)
        }
        x: Any = self.shape
        if self.case.channels_last:
            x = _channels_last(np.zeros(x, given.dtype))
            if self.operator.channels_last:
                options["data_format"] = self.operator.channels_last
                named = {name: np.moveaxis(array, 1, -1) for name, array in named.items()}
                x = np.moveaxis(x, 1, -1).shape
        if self.is_gradient:
            named[self.operator.by_role[Role.INPUT].python_name] = x
        results = _all_of(getattr(functional, self.operator.python_name)(**named, **self.numbers, **options))
        return one_or_all(tuple(np.moveaxis(r, -1, 1) if "data_format" in options else r for r in results))


def _channels_last(array: Array) -> Array:
    """The same numbers, channels side by side in memory."""
    return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1)


def _numbers(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Numbers of mixed signs and sizes, so that sums cancel and round; integers of any size."""
    random = np.random.default_rng(len(shape) + shape[-1])
    if dtype.kind in "iu":
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    return (random.standard_normal(shape) * 2.0 ** random.integers(-4, 5, shape)).astype(dtype)


def _average(operator: Operator, case: _Windows, dtype: np.dtype[Any]) -> str | None:
    call = _Call(operator, case)
    given = _numbers(call.shape_given, dtype)
    wanted = reference.exact(call.slow, given)
    value, size = wanted.value.astype(np.float64), wanted.magnitude.astype(np.float64)
    stored, computed = FORMATS[dtype]
    # Each quotient and each addition is rounded, and at last the sum, perhaps to a denormal number.
    sums = 1.01 * (wanted.terms + 1) * 2.0**-computed.precision * size
    bound = sums + 2.0**-stored.precision * np.abs(value) + 2.0**stored.smallest
    error = np.abs(call.run(given).astype(np.float64) - value)
    if not (error <= bound).all():
        place = tuple(map(int, np.unravel_index(np.argmax(error - bound), error.shape)))
        return f"at {place} the error is {error[place]:.3g}, more than {bound[place]:.3g}"
    strange = given.copy()
    strange[..., 0, 0] = np.nan
    if not np.array_equal(np.isnan(call.run(strange)), np.isnan(call.slow(strange))):
        return "a NaN has left its window"
    return None


def _maximum(operator: Operator, case: _Windows, dtype: np.dtype[Any], index: np.dtype[Any]) -> str | None:
    call = _Call(operator, case)
    x = _numbers(call.shape, np.dtype(np.float64))
    if case.out is not None:
        indices = reference.adaptive_max_pool_indices(x, call.out)
    else:
        numbers = (case.kernel[-call.axes :], case.stride[-call.axes :], case.pad[-call.axes :])
        indices = reference.max_pool_indices(x, *numbers, ceil_mode=case.ceil_mode)
    grad, indices = _numbers(indices.shape, dtype), indices.astype(index)
    return _first_difference(call.run(grad, indices), call.slow(grad, indices))


def _found_maxima(operator: Operator, case: _Windows, dtype: np.dtype[Any], index: np.dtype[Any]) -> str | None:
    """Values and places that a forward pass finds; also among equal numbers, of which the first wins, and NaN."""
    call = _Call(operator, case)
    x = _numbers(call.shape, dtype)
    alike = np.floor(x)
    alike.reshape(-1)[::11] = np.nan
    options = {"index_dtype": index} if len(support(operator, ANY).index_dtypes) > 1 else {}
    for given in (x, alike):
        found, wanted = call.run(given, **options), call.slow(given)
        for p, one, other in zip(operator.outputs, found, wanted, strict=True):
            if wrong := _first_difference(one, other):
                return f"{p.name}: {wrong}"
    return None


def _masked(call: _Call, x: Array, product: Product) -> tuple[Any, FloatFormat | None]:
    """Values and mask of the reference, and what the product rounds numbers to."""
    case, axes, bits = call.case, call.axes, product is TRAINING
    rounding = reference.FLOAT16 if bits and x.dtype == np.float32 else None
    windows = (case.kernel[-axes:], case.stride[-axes:], case.pad[-axes:])
    return reference.max_pool2d_with_mask(x, *windows, None, case.ceil_mode, bits, rounding), rounding


def _found_mask(operator: Operator, case: _Windows, dtype: np.dtype[Any], product: Product) -> str | None:
    """Values, and every byte of the mask."""
    call = _Call(operator, case)
    x = _numbers(call.shape, dtype)
    alike = np.floor(x)
    alike.reshape(-1)[::11] = np.nan
    for given in (x, alike):
        found, (wanted, _) = call.run(given, **_named(product)), _masked(call, given, product)
        for p, one, other in zip(operator.outputs, found, wanted, strict=True):
            if wrong := _first_difference(one, other):
                return f"{p.name}: {wrong}"
    return None


def _given_mask(operator: Operator, case: _Windows, dtype: np.dtype[Any], product: Product) -> str | None:
    call = _Call(operator, case)
    x = _numbers(call.shape, dtype)
    (values, mask), rounding = _masked(call, x, product)
    numbers = (case.kernel[-call.axes :], case.stride[-call.axes :], case.pad[-call.axes :])
    given = x if rounding is None else reference.rounded_to(rounding, x)
    indices = reference.max_pool_indices(given, *numbers, ceil_mode=case.ceil_mode)
    grad = _numbers(values.shape, dtype)
    named = {operator.by_role[Role.MASK].python_name: mask, **_named(product)}
    wanted = getattr(reference, operator.python_name)(grad, call.shape, indices, rounding)
    return _first_difference(call.run(grad, **named), wanted)


def _named(product: Product) -> dict[str, str]:
    return {} if product is ANY else {"product": product.name}


def _found_values(operator: Operator, case: _Windows, dtype: np.dtype[Any]) -> str | None:
    """Maxima alone; also among NaN."""
    call = _Call(operator, case)
    x = _numbers(call.shape, dtype)
    strange = x.copy()
    if dtype.kind not in "iu":
        strange.reshape(-1)[::11] = np.nan
    return next(filter(None, (_first_difference(call.run(given), call.slow(given)) for given in (x, strange))), None)


def _first_difference(got: Array, wanted: Array) -> str | None:
    same = (got == wanted.astype(got.dtype)) | (np.isnan(got) & np.isnan(wanted))
    different = np.argwhere(~same)
    return f"{len(different)} elements differ, the first at {tuple(map(int, different[0]))}" if len(different) else None
