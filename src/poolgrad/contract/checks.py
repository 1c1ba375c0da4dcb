"""The vocabulary of the contract: each function makes one row from data.

Rows run in order, so a check may rely on what the rows before it have settled (that a parameter is there, say).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..base import status
from ..base.products import ANY, Product
from ..base.tensor import Tensor, is_contiguous
from ..base.windows import farthest_position, spread
from .engine import DOCUMENT, EVERYWHERE, SAFE, BadHandle, Broken, Call, Check
from .parameters import Parameter, Role

if TYPE_CHECKING:
    from .operator import Operator

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
MOST_SHOWN = 8  # more numbers side by side than any legal call has
Products = frozenset[Product]


def listed(names: Iterable[object], word: str = "or") -> str:
    """'a, b or c'."""
    *most, last = map(str, names)
    return f"{', '.join(most)} {word} {last}" if most else last


def joined(names: Iterable[str]) -> str:
    """'a, b and c'."""
    return listed(names, "and")


def shown(values: tuple[int, ...]) -> str:
    """'(1, 2, 3)'; of many numbers the first few, and how many there are."""
    texts = list(map(number_text, values[:MOST_SHOWN]))
    if len(values) > MOST_SHOWN:
        texts.append(f"... {len(values)} numbers")
    return f"({', '.join(texts)})"


def number_text(number: int) -> str:
    """Python refuses to print integers of thousands of digits, so beyond a size only the size is told."""
    return str(number) if number.bit_length() <= 128 else f"an integer of {number.bit_length()} bits"


# The rows that every operator begins and ends with.


def opening(
    parameters: tuple[Parameter, ...], products: tuple[Product, ...], first: tuple[Check, ...] = ()
) -> tuple[Check, ...]:
    """Null pointers, the product, handles and numbers: after these a check may read every argument.

    ``first`` are rows that an operator has before the null pointers that are not among them.
    """
    asked = {check.key for check in first}
    nulls = [not_null(p) for p in parameters if p.kind in ("tensor", "ints") and not p.nullable]
    return (
        *first,
        *(check for check in nulls if check.key not in asked),
        product_has_operator(products),
        live_handles(parameters),
        numbers_fit(parameters),
    )


def closing(parameters: tuple[Parameter, ...]) -> tuple[Check, ...]:
    """What the arithmetic needs, and outputs that may be written."""
    return sizes_fit(parameters), *(writable(p) for p in parameters if p.output)


def not_null(parameter: Parameter) -> Check:
    name = parameter.name

    def test(call: Call) -> Broken | None:
        if call.values[name] is not None:
            return None
        return Broken(name, "a value", "a null pointer", f"Pass {name}.")

    return Check(f"{name}-null", f"{name} is not null", test, status=status.ACLNN_ERR_PARAM_NULLPTR)


def live_handles(parameters: Iterable[Parameter]) -> Check:
    """Every tensor and array is a live object of its kind; only the documented layer can break it."""
    makers = {"tensor": "aclCreateTensor", "ints": "aclCreateIntArray"}
    objects = [(p.name, makers[p.kind]) for p in parameters if p.kind in makers]

    def test(call: Call) -> Broken | None:
        for name, maker in objects:
            value = call.values[name]
            if isinstance(value, BadHandle):
                return Broken(name, f"a live handle from {maker}", value.text, f"Pass what {maker} returned.")
        return None

    return Check("handles", "every handle is a live object of the right kind", test, source=SAFE)


def product_has_operator(products: tuple[Product, ...], *, on: Products = EVERYWHERE, key: str = "product") -> Check:
    """The operator exists on the product."""
    names = listed(p.name for p in products)

    def test(call: Call) -> Broken | None:
        if call.product is ANY or call.product in products:
            return None
        return Broken("product", "a product that has this operator", call.product.name, f"Choose {names}.")

    return Check(key, f"the operator exists on {names}", test, on=on)


def numbers_fit(parameters: Iterable[Parameter]) -> Check:
    """Every integer fits 64 bits, every flag is one; only Python can break it."""
    names = [p.name for p in parameters]

    def test(call: Call) -> Broken | None:
        for name in names:
            value = call.values[name]
            numbers = value.shape if isinstance(value, Tensor) else value if isinstance(value, tuple) else (value or 0,)
            for number in numbers:
                if not isinstance(number, int) or not INT64_MIN <= number <= INT64_MAX:
                    got = number.text if isinstance(number, BadHandle) else number_text(number)
                    return Broken(name, "64-bit integers or flags", got, "Use a number between -2^63 and 2^63-1.")
        return None

    return Check("int64", "every number is a 64-bit integer, every flag true or false", test, source=SAFE)


def sizes_fit(parameters: Iterable[Parameter]) -> Check:
    """Element and byte counts fit 64 bits, and so do the positions that windows are computed from."""
    names = [p.name for p in parameters if p.kind == "tensor"]

    def test(call: Call) -> Broken | None:
        for name in names:
            tensor = call.tensor(name)
            if tensor.dtype.nbytes(tensor.count) > INT64_MAX:
                return Broken(name, "at most 2^63-1 bytes", f"shape {shown(tensor.shape)}", "Use a smaller shape.")
            if max(map(abs, tensor.byte_range)) > INT64_MAX:
                got = f"byte strides {shown(tensor.strides)}"
                return Broken(name, "elements less than 2^63 bytes apart", got, "Use smaller strides.")
        if farthest_position(call.windows) > INT64_MAX:
            return _far_windows(call)
        return None

    return Check(
        "sizes", "element counts, byte counts, distances and window positions are below 2^63", test, source=SAFE
    )


def _far_windows(call: Call) -> Broken:
    """The input's bytes are fewer than 2^63: of fixed windows only padding gets there, and how much may be says the
    kernel."""
    by_role, expected = call.operator.by_role, "windows whose positions fit 64 bits"
    if Role.KERNEL not in by_role:
        shape = shown(call.tensor(Role.INPUT).shape)
        return Broken(by_role[Role.INPUT].name, expected, f"shape {shape}", "Use smaller sizes.")
    kernel, padding = by_role[Role.KERNEL].name, by_role[Role.PADDING].name
    got = f"{shown(call.ints(kernel))}, with {padding} {shown(call.ints(padding))}"
    return Broken(kernel, expected, got, f"Use a smaller {kernel} and less {padding}.")


def writable(parameter: Parameter) -> Check:
    """An output's memory may be written; only arrays of the Pythonic layer can be read-only."""
    name = parameter.name

    def test(call: Call) -> Broken | None:
        if call.tensor(name).writable:
            return None
        return Broken(name, "a writable array", "a read-only one", "Pass an array that may be written.")

    return Check(f"{name}-writable", f"{name} may be written", test, source=SAFE)


# Rows about tensors.


def dtype_in(
    parameters: Sequence[Parameter], allowed: tuple[str, ...], *, on: Products = EVERYWHERE, key: str = ""
) -> Check:
    names = [p.name for p in parameters]

    def test(call: Call) -> Broken | None:
        for name in names:
            dtype = call.tensor(name).dtype
            if dtype.name not in allowed:
                return Broken(name, f"dtype {listed(allowed)}", dtype.name, f"Convert {name} to {listed(allowed)}.")
        return None

    says = f"dtype of {joined(names)} is {listed(allowed)}"
    key = key or f"{names[0]}-dtype"
    return Check(key, says, test, on=on, allowed=allowed, about=tuple(parameters), what="dtype")


def format_in(
    parameters: Sequence[Parameter], allowed: tuple[str, ...], *, on: Products = EVERYWHERE, source: str = DOCUMENT
) -> Check:
    names = [p.name for p in parameters]

    def test(call: Call) -> Broken | None:
        for name in names:
            tensor = call.tensor(name)
            if tensor.format not in allowed:
                ways = [*_products_with(call.operator, parameters, tensor.format), *_strides_for(tensor, allowed)]
                change = ", or ".join(ways) or "use one of these formats"
                return Broken(name, f"format {listed(allowed)}", tensor.format, f"{change[0].upper()}{change[1:]}.")
        return None

    says = f"format of {joined(names)} is {listed(allowed)}"
    key, about = f"{names[0]}-format", tuple(parameters)
    return Check(key, says, test, on=on, source=source, allowed=allowed, about=about, what="format")


def _products_with(operator: Operator, parameters: Sequence[Parameter], format: str) -> list[str]:
    """The advice to choose a product whose own row about the same tensors allows the format, if there is one."""
    rows = [check for check in operator.checks if check.what == "format" and check.about == tuple(parameters)]
    on = {product for check in rows if format in check.allowed for product in check.on}
    names = [product.name for product in operator.products if product in on]
    return [f"choose {listed(names)}, which takes {format}"] if names else []


def _strides_for(tensor: Tensor, allowed: tuple[str, ...]) -> list[str]:
    """The advice to describe a tensor whose channels come last as one whose channels come first, if that is allowed."""
    first = {"NHWC": "NCHW", "NDHWC": "NCDHW"}.get(tensor.format, "")
    if first not in allowed or len(first) - tensor.rank not in (0, 1):  # the batch axis may be missing
        return []
    letters = tensor.format[-tensor.rank :]
    axes = [letters.index(letter) for letter in first if letter in letters]
    shape = shown(tuple(tensor.shape[axis] for axis in axes))
    steps = shown(tuple(tensor.strides[axis] // max(tensor.dtype.itemsize, 1) for axis in axes))
    return [f"describe the same memory as {first}: shape {shape}, strides {steps}; all tensors alike"]


def format_needs_rank(
    parameters: Sequence[Parameter], needed: str, rank: int, *, instead: str = "NCHW", source: str = DOCUMENT
) -> Check:
    names = [p.name for p in parameters]

    def test(call: Call) -> Broken | None:
        for name in names:
            tensor = call.tensor(name)
            if tensor.format == needed and tensor.rank != rank:
                got = f"{needed} with rank {tensor.rank}"
                return Broken(name, f"format {needed} only with rank {rank}", got, f"Use {instead}.")
        return None

    return Check(f"{needed}-rank", f"format {needed} goes with rank {rank}", test, source=source)


def rank_needs_format(
    x: Parameter, parameters: Sequence[Parameter], needed: Mapping[int, str], *, source: str = DOCUMENT
) -> Check:
    """All these tensors have the format that goes with the rank of ``x``; other ranks are another row's matter."""

    def test(call: Call) -> Broken | None:
        rank = call.tensor(x).rank
        for p in parameters:
            format = call.tensor(p).format
            if format != needed.get(rank, format):
                return Broken(p.name, f"format {needed[rank]} with rank {rank}", format, f"Use {needed[rank]}.")
        return None

    says = joined(f"rank {rank} goes with {format}" for rank, format in needed.items())
    return Check("rank-format", says, test, source=source)


def same(what: str, one_of: Parameter, like: Parameter, *, on: Products = EVERYWHERE, source: str = DOCUMENT) -> Check:
    """Two tensors agree in ``what``: "dtype", "format", "rank" or "shape"."""
    first, second = one_of.name, like.name
    read: dict[str, Callable[[Tensor], object]] = {
        "dtype": lambda t: t.dtype.name,
        "format": lambda t: t.format,
        "rank": lambda t: t.rank,
        "shape": lambda t: shown(t.shape),
    }

    def test(call: Call) -> Broken | None:
        one, other = read[what](call.tensor(first)), read[what](call.tensor(second))
        if one == other:
            return None
        change = f"Give {first} and {second} the same {what}."
        if blames_second(call):
            return Broken(second, f"the {what} of {first}, {one}", str(other), change)
        return Broken(first, f"the {what} of {second}, {other}", str(one), change)

    def blames_second(call: Call) -> bool:
        """All tensors share one type and one format, so the odd one is to blame. Of shapes the one with a negative size
        is, which nothing can agree with; else the output, if one of the two is: its shape is not given, but follows. Of
        two outputs the one that the call does not give such a shape, and if that is neither or both, the later one: it
        follows the other."""
        if what in ("dtype", "format"):
            rest = [read[what](call.tensor(p.name)) for p in call.operator.tensors if p.name not in (first, second)]
            for_first, for_second = (rest.count(read[what](call.tensor(name))) for name in (first, second))
            if for_first != for_second:
                return for_first > for_second
        if what == "shape":
            one, other = (min(call.tensor(p).shape, default=0) < 0 for p in (one_of, like))
            if one != other:
                return other
        if what == "shape" and like.output and one_of.output:
            wanted = dict(zip(call.operator.outputs, call.operator.results(call), strict=True))
            one, other = (call.tensor(p).shape == wanted[p].shape for p in (one_of, like))
            return one and not other
        return like.output and not one_of.output

    return Check(f"{first}-{what}-as-{second}", f"{what} of {first} = {what} of {second}", test, on=on, source=source)


def all_same(
    what: str, those: Iterable[Parameter], like: Parameter, *, on: Products = EVERYWHERE, source: str = DOCUMENT
) -> tuple[Check, ...]:
    """A row for each tensor that agrees with another one in ``what``."""
    return tuple(same(what, one, like, on=on, source=source) for one in those)


def rank_in(parameters: Sequence[Parameter], allowed: tuple[int, ...]) -> Check:
    names = [p.name for p in parameters]

    def test(call: Call) -> Broken | None:
        for name in names:
            tensor = call.tensor(name)
            if tensor.rank not in allowed:
                got = f"rank {tensor.rank}, shape {shown(tensor.shape)}"
                return Broken(name, f"rank {listed(allowed)}", got, f"Reshape {name}.")
        return None

    return Check(f"{names[0]}-rank", f"rank of {joined(names)} is {listed(allowed)}", test)


def dims(
    parameters: Sequence[Parameter],
    key: str,
    says: str,
    wrong: Callable[[int, int], bool],
    change: str = "Use sizes greater than 0.",
    *,
    on: Products = EVERYWHERE,
    source: str = DOCUMENT,
) -> Check:
    """Each size passes: ``wrong(size, axis)`` with the axis counted from the end, so that W is always -1."""
    names = [p.name for p in parameters]

    def test(call: Call) -> Broken | None:
        for name in names:
            shape = call.tensor(name).shape
            for axis, size in enumerate(shape):
                if wrong(size, axis - len(shape)):
                    got = f"size {size} on axis {axis} of shape {shown(shape)}"
                    return Broken(name, says, got, change)
        return None

    return Check(key, f"{joined(names)}: {says}", test, on=on, source=source)


def contiguous(parameter: Parameter, *, source: str = DOCUMENT) -> Check:
    """A tensor's elements follow each other in memory."""
    name = parameter.name

    def test(call: Call) -> Broken | None:
        tensor = call.tensor(name)
        if is_contiguous(tensor):
            return None
        got = f"strides of {shown(tensor.strides)} bytes for shape {shown(tensor.shape)}"
        return Broken(name, "a contiguous tensor", got, "Use memory of its own for it, and copy from there.")

    return Check(f"{name}-contiguous", f"{name} is contiguous", test, source=source)


def no_negative_dims(parameters: Sequence[Parameter], *, source: str = DOCUMENT) -> Check:
    says, change = "no negative sizes", "Use sizes of at least 0."
    return dims(parameters, "negative-dims", says, lambda size, axis: size < 0, change, source=source)


# Rows about int arrays and numbers.


def length_in(
    parameter: Parameter, allowed: tuple[int, ...], *, on: Products = EVERYWHERE, source: str = DOCUMENT
) -> Check:
    name = parameter.name

    def test(call: Call) -> Broken | None:
        value = call.values[name]
        if not isinstance(value, tuple) or len(value) in allowed:  # null, or no handle, is another row's matter
            return None
        each_axis = joined(f"one for {letter}" for letter in call.operator.axes)
        ways = ["one value"] * (1 in allowed) + [each_axis] + ["four: top, left, bottom, right"] * (4 in allowed)
        change = f"Pass {', or '.join(ways)}."
        return Broken(name, f"{listed(allowed)} values", f"{len(value)}", change)

    return Check(f"{name}-length", f"{name} has {listed(allowed)} values", test, on=on, source=source)


def each(
    parameter: Parameter,
    key: str,
    says: str,
    wrong: Callable[[int], bool],
    change: str,
    *,
    on: Products = EVERYWHERE,
    source: str = DOCUMENT,
) -> Check:
    """Every value of an int array passes."""
    name = parameter.name

    def test(call: Call) -> Broken | None:
        value = call.values[name]
        if value is None or not any(wrong(v) for v in call.ints(name)):
            return None
        return Broken(name, says, shown(call.ints(name)), change)

    return Check(key, f"{name}: {says}", test, on=on, source=source)


def positive(parameter: Parameter, *, on: Products = EVERYWHERE) -> Check:
    return each(
        parameter, f"{parameter.name}-positive", "values greater than 0", lambda v: v <= 0, "Use 1 or more.", on=on
    )


def not_negative(parameter: Parameter, *, source: str = DOCUMENT) -> Check:
    key, says = f"{parameter.name}-negative", "values of at least 0"
    return each(parameter, key, says, lambda v: v < 0, "Use 0 or more.", source=source)


def at_most_half(parameter: Parameter, whole: Parameter, *, source: str = DOCUMENT) -> Check:
    name, of = parameter.name, whole.name

    def test(call: Call) -> Broken | None:
        values, limits = (spread(call.ints(p), len(call.operator.axes)) for p in (parameter, whole))
        if all(2 * v <= limit for v, limit in zip(values, limits, strict=True)):
            return None
        most = shown(tuple(limit // 2 for limit in limits))
        return Broken(name, f"at most half of {of} {shown(limits)}", shown(values), f"Use {name} up to {most}.")

    return Check(f"{name}-half", f"{name} is at most half of {of}", test, source=source)


def at_most_input(parameter: Parameter, x: Parameter, *, source: str = DOCUMENT) -> Check:
    """Each value is at most the size of its axis, padding not counted."""
    name, of = parameter.name, x.name

    def test(call: Call) -> Broken | None:
        axes = len(call.operator.axes)
        values, sizes = spread(call.ints(parameter), axes), call.tensor(x).shape[-axes:]
        if all(v <= size for v, size in zip(values, sizes, strict=True)):
            return None
        return Broken(name, f"at most the sizes of {of}, {shown(sizes)}", shown(values), f"Use a smaller {name}.")

    return Check(f"{name}-input", f"{name} is at most the size of {of} along each axis", test, source=source)


def between(parameter: Parameter, low: int, high: int, *, on: Products = EVERYWHERE) -> Check:
    name = parameter.name

    def test(call: Call) -> Broken | None:
        if low <= call.number(name) <= high:
            return None
        return Broken(name, f"{low} to {high}", str(call.number(name)), f"Use a value from {low} to {high}.")

    return Check(f"{name}-range", f"{name} is {low} to {high}", test, on=on)


def is_zero(parameter: Parameter) -> Check:
    """Of a number that could mean more, and does not."""
    name = parameter.name

    def test(call: Call) -> Broken | None:
        return Broken(name, "0", str(call.number(name)), "Use 0.") if call.number(name) else None

    return Check(f"{name}-zero", f"{name} is 0", test)
