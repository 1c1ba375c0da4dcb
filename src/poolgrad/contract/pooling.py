"""What pooling operators share: the windows that a call describes, and the rows about shapes that follow from them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from ..base.dtypes import FORMATS, DType, dtype_named
from ..base.products import A2, A3, A950, ANY, INFERENCE, PRODUCTS, TRAINING, Product
from ..base.status import ACLNN_ERR_PARAM_INVALID
from ..base.tensor import Tensor, dense_strides
from ..base.windows import Windows, pooled_size, spread
from .checks import dims, dtype_in, joined, listed, shown
from .engine import DOCUMENT, EVERYWHERE, SAFE, Broken, Call, Check, What
from .parameters import Parameter, Role

CLASSIC = frozenset((INFERENCE, TRAINING))
A2_A3 = frozenset((A2, A3))
NOT_A2_A3 = frozenset((A950, ANY))  # where maxima have more types, and dilation
NO_PRODUCT = frozenset((ANY,))
ON_PRODUCTS = frozenset(PRODUCTS)

HALVES_AND_FLOAT = ("float32", "float16", "bfloat16")
EVERY_FLOAT = ("float64", *HALVES_AND_FLOAT)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")  # that can be pooled

PRIVATE_FORMATS = ("NC1HWC0", "FRACTAL_Z", "NC1HWC0_C04", "FRACTAL_NZ", "NDC1HWC0", "FRACTAL_Z_3D")
PUBLIC_FORMATS = tuple(name for name in FORMATS if name not in (*PRIVATE_FORMATS, "UNDEFINED"))


def is_channels_last(call: Call) -> bool:
    return call.tensor(Role.INPUT).format == call.operator.channels_last


def spatial_sizes(call: Call, what: What) -> tuple[int, ...]:
    """The sizes of a tensor's pooled axes, wherever the format keeps them."""
    shape, axes = call.tensor(what).shape, len(call.operator.axes)
    return shape[-axes - 1 : -1] if is_channels_last(call) else shape[-axes:]


def layout_of(call: Call) -> str:
    """The letters of the axes of the call's tensors, the batch first."""
    axes = call.operator.axes
    return f"N{axes}C" if is_channels_last(call) else f"NC{axes}"


def fixed_windows(call: Call) -> tuple[Windows, ...]:
    """Windows of one size at fixed distances; without a stride, side by side."""
    axes = len(call.operator.axes)
    stride = spread(call.ints(Role.STRIDE if call.value(Role.STRIDE) else Role.KERNEL), axes)
    kernel, pad = spread(call.ints(Role.KERNEL), axes), spread(call.ints(Role.PADDING), axes)
    dilation = spread(call.ints(Role.DILATION), axes) if Role.DILATION in call.operator.by_role else (1,) * axes
    ceil_mode = bool(call.value(Role.CEIL_MODE))
    return tuple(
        Windows(size, pooled_size(size, kernel=k, stride=s, pad=p, dilation=d, ceil_mode=ceil_mode), k, s, p, d)
        for size, k, s, p, d in zip(spatial_sizes(call, Role.INPUT), kernel, stride, pad, dilation, strict=True)
    )


def both_pads(call: Call) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Padding before and behind each axis: none, one number for all, one for both sides of each axis, or all those
    before and then all those behind."""
    values, axes = call.ints(Role.PADDING) or (0,), len(call.operator.axes)
    if len(values) == 2 * axes:
        return values[:axes], values[axes:]
    return spread(values, axes), spread(values, axes)


def windows_with_both_pads(call: Call) -> tuple[Windows, ...]:
    """Windows of one size at fixed distances whose padding may differ from side to side; without a stride, one begins
    at every element."""
    axes, ceil_mode = len(call.operator.axes), bool(call.value(Role.CEIL_MODE))
    kernel, stride = spread(call.ints(Role.KERNEL), axes), spread(call.ints(Role.STRIDE) or (1,), axes)
    numbers = zip(spatial_sizes(call, Role.INPUT), kernel, stride, *both_pads(call), strict=True)
    return tuple(
        Windows(n, pooled_size(n, kernel=k, stride=s, pad=p, pad_after=q, ceil_mode=ceil_mode), k, s, p, pad_after=q)
        for n, k, s, p, q in numbers
    )


def adaptive_windows(call: Call) -> tuple[Windows, ...]:
    """As many windows as the output size says, or as the gradient has elements, spread evenly; with an output size that
    says nothing, as many as elements."""
    sizes, axes = spatial_sizes(call, Role.INPUT), len(call.operator.axes)
    given = Role.OUTPUT_SIZE in call.operator.by_role
    outs = spread(call.ints(Role.OUTPUT_SIZE), axes) or sizes if given else spatial_sizes(call, Role.GRADIENT)
    return tuple(Windows(size, out, adaptive=True) for size, out in zip(sizes, outs, strict=True))


def pooled_shape(call: Call) -> tuple[int, ...]:
    """The shape of the forward pass's output."""
    outs, shape = [w.out for w in call.windows], call.tensor(Role.INPUT).shape
    if is_channels_last(call):
        return (*shape[: -len(outs) - 1], *outs, shape[-1])
    return (*shape[: -len(outs)], *outs)


def gradient_of_input(call: Call) -> tuple[Tensor, ...]:
    """The type of a gradient's result follows the gradient that is given, its shape and layout the input."""
    x, dtype = call.tensor(Role.INPUT), call.tensor(Role.GRADIENT).dtype
    return (Tensor(dtype, x.shape, dense_strides(x, dtype.itemsize), x.format),)


def pooled_results(call: Call) -> tuple[Tensor, ...]:
    """The results of a forward pass: of the input's type and layout, and indices of 64 bits where those of 32 are not
    the product's, or the operator has no others. Where the arguments give no shape, which a row about them will say,
    the input's stands in."""
    x, shape = call.tensor(Role.INPUT), shape_if_any(call, pooled_shape)

    def dtype_of(parameter: Parameter) -> DType:
        if parameter.role is not Role.PLACES:
            return x.dtype
        return dtype_named(parameter.dtype if call.product in (A2, A3) else "int64")

    dtypes = map(dtype_of, call.operator.outputs)
    like = dataclasses.replace(x, shape=shape)
    return tuple(Tensor(dtype, shape, dense_strides(like, dtype.itemsize), x.format) for dtype in dtypes)


def shape_if_any(call: Call, shape_of: Callable[[Call], tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that windows give; the input's if the numbers give none, or where nothing is pooled or written."""
    x, given = call.tensor(Role.INPUT), all(call.values[p.name] is not None for p in call.operator.numbers)
    if call.value(Role.OUTPUT_SIZE) and min(call.ints(Role.OUTPUT_SIZE)) <= 0:
        return x.shape  # a row will say so: a result that nobody gave must not be blamed
    try:
        shape = shape_of(call) if given else x.shape
    except (ValueError, ZeroDivisionError):  # numbers that make no windows
        shape = x.shape
    return x.shape if min(shape, default=0) < 0 or (not x.count and all(shape)) else shape


def floats(parameters: Sequence[Parameter], *, no_bfloat16: frozenset[Product] = frozenset()) -> tuple[Check, ...]:
    """Floats of 16 and 32 bits, and of 64 where no product is named; some products lack bfloat16."""
    classic = (dtype_in(parameters, ("float32", "float16"), on=no_bfloat16),) if no_bfloat16 else ()
    modern = dtype_in(parameters, HALVES_AND_FLOAT, on=ON_PRODUCTS - no_bfloat16)
    return modern, *classic, dtype_in(parameters, EVERY_FLOAT, on=NO_PRODUCT)


def same_batch_and_channels(tensor: Parameter, like: Parameter, *, source: str) -> Check:
    """N and C of two tensors that end in the pooled axes agree."""

    def test(call: Call) -> Broken | None:
        axes = len(call.operator.axes)
        expected, got = (call.tensor(p).shape[:-axes] for p in (like, tensor))
        if got == expected:
            return None
        return Broken(tensor.name, f"N, C of {like.name}, {shown(expected)}", shown(got), "Give both the same N and C.")

    says = f"N and C of {tensor.name} = N and C of {like.name}"
    return Check(f"{tensor.name}-NC", says, test, source=source)


def is_pooled(tensor: Parameter, *, source: str = SAFE) -> Check:
    """A tensor has the shape of the forward pass's output."""

    def test(call: Call) -> Broken | None:
        expected, got = pooled_shape(call), call.tensor(tensor).shape
        if got == expected:
            return None
        by_role = call.operator.by_role
        x = by_role[Role.INPUT].name
        roles = (Role.OUTPUT_SIZE, Role.KERNEL, Role.STRIDE, Role.PADDING, Role.CEIL_MODE)
        numbers = [by_role[role].name for role in roles if role in by_role]
        return Broken(
            tensor.name,
            f"shape {shown(expected)}, which the windows give from {x} {shown(call.tensor(Role.INPUT).shape)}",
            shown(got),
            f"{'Give it this shape' if tensor.output else 'Pass the gradient of the forward output'}, "
            f"or correct {listed(numbers)}.",
        )

    says = f"{tensor.name} has the shape of the forward output"
    return Check(f"{tensor.name}-pooled", says, test, source=source)


def windows_fit(x: Parameter, axes: str) -> Check:
    """The forward pass has an output at all."""

    def test(call: Call) -> Broken | None:
        windows = call.windows
        if min(w.out for w in windows) > 0:
            return None
        sizes, outs = (tuple(getattr(w, name) for w in windows) for name in ("size", "out"))
        by_role = call.operator.by_role
        smaller = [by_role[role].name for role in (Role.KERNEL, Role.DILATION) if role in by_role]
        return Broken(
            x.name,
            "room for at least one window",
            f"{', '.join(axes)} {shown(sizes)}, which give an output of {shown(outs)}",
            f"Use a smaller {' or '.join(smaller)}, or more {by_role[Role.PADDING].name}.",
        )

    return Check("windows-fit", f"the computed output {joined(axes)} are greater than 0", test)


def windows_not_empty(dilation: Parameter, *, on: frozenset[Product]) -> Check:
    """No window lies wholly in the padding: no index could be right for it."""

    def test(call: Call) -> Broken | None:
        for w in call.windows:
            if w.has_empty:
                got = f"{w.dilation}, which steps over all {w.size} elements"
                return Broken(
                    dilation.name, "a dilation that leaves an element in every window", got, "Use a smaller one."
                )
        return None

    return Check("windows-not-empty", "every window holds at least one element", test, on=on, source=SAFE)


def unless_empty(check: Check) -> Check:
    """The row, for calls that have anything to compute: others are a success before it is asked."""

    def test(call: Call) -> Broken | None:
        return check.test(call) if all(call.tensor(p).count for p in call.operator.inputs) else None

    return dataclasses.replace(check, says=f"{check.says}, unless an input is empty", test=test)


def if_dtype(parameter: Parameter, name: str, check: Check) -> Check:
    """The row, for calls whose tensor has that type."""

    def test(call: Call) -> Broken | None:
        return check.test(call) if call.tensor(parameter).dtype.name == name else None

    return dataclasses.replace(check, says=f"{check.says}, with {parameter.name} of {name}", test=test)


def positive_but_batch(x: Parameter, axes: str) -> Check:
    """The channels and the pooled axes are not empty; in whatever order, only the first of all axes is the batch."""
    says = f"C, {', '.join(axes)} greater than 0, N at least 0"
    first = -len(axes) - 2
    return dims((x,), f"{x.name}-dims", says, lambda size, axis: size < 0 or (size == 0 and axis != first))


def positive_but_first(
    parameters: Sequence[Parameter], key: str, *, on: frozenset[Product] = EVERYWHERE, source: str = DOCUMENT
) -> Check:
    """Only the first of all axes may be empty: the batch, or the channels where there is none."""
    names = [p.name for p in parameters]
    says = "sizes greater than 0, the first one at least 0"

    def test(call: Call) -> Broken | None:
        for name in names:
            shape = call.tensor(name).shape
            for axis, size in enumerate(shape):
                if size < 0 or (size == 0 and axis):
                    got = f"size {size} on axis {axis} of shape {shown(shape)}"
                    return Broken(name, says, got, "Use sizes greater than 0.")
        return None

    return Check(key, f"{joined(names)}: {says}", test, on=on, source=source)


def computation_allowed(cube: Parameter, x: Parameter) -> Check:
    """The dtype has the computation type that is asked for."""

    def test(call: Call) -> Broken | None:
        rounding = call.operator.rounding
        if rounding(call) is not None:
            return None
        others = {mode: dataclasses.replace(call, values={**call.values, cube.name: mode}) for mode in range(4)}
        change = f"Use {listed([mode for mode, other in others.items() if rounding(other) is not None])}."
        expected = f"a computation type that {call.tensor(x).dtype.name} has"
        return Broken(cube.name, expected, str(call.number(cube)), change)

    return Check(f"{cube.name}-dtype", f"{cube.name} is one that the dtype has on the product", test)


def plane_below(
    x: Parameter,
    axes: str,
    limit: int,
    *,
    on: frozenset[Product] = EVERYWHERE,
    source: str = DOCUMENT,
    status: int = ACLNN_ERR_PARAM_INVALID,
    key: str = "plane-size",
) -> Check:
    """All places of a plane can be written in an index."""
    product = "*".join(axes)

    def test(call: Call) -> Broken | None:
        if math.prod(spatial_sizes(call, x)) <= limit:
            return None
        got = f"shape {shown(call.tensor(x).shape)}"
        return Broken(x.name, f"{product} of at most {limit}", got, "Split the plane.")

    says = f"{product} is at most {limit}, what an index can hold"
    return Check(key, says, test, on=on, source=source, status=status)
