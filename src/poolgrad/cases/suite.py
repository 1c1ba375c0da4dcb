"""The suite: cases that CANN's own never has, each with its reason and the status that it expects.

A line of it is a legal call with a few changes. Lines that make sense for many operators stand here, over as many axes
as these pool; what only one has stands in its file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..base.products import A2, ANY, PRODUCTS, TRAINING
from ..base.status import ACL_ERROR_RT_AICORE_EXCEPTION, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR, ACLNN_SUCCESS
from ..base.tensor import contiguous_strides
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..contract.support import OF_PLACES, support
from ..operators import REGISTRY
from .building import mask_of, pooled_shape, results_of
from .model import FORWARD, Case, CaseTensor, Number, Values

# Sizes of the legal call, and windows that make half of them.
SIZE, WINDOW = 8, 2
_NUMBERS = {Role.KERNEL: WINDOW, Role.STRIDE: WINDOW, Role.PADDING: 0, Role.DILATION: 1}
_NUMBERS[Role.OUTPUT_SIZE] = SIZE // WINDOW


def suite_of(operator_name: str) -> list[Case]:
    """The cases of an operator."""
    suite = Suite(REGISTRY[operator_name])
    suite.operator.suite(suite)
    return suite.cases


class Suite:
    """The cases of one operator. Those that name no product mean the same on every product that has the operator."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.axes = operator, len(operator.axes)
        self.cases: list[Case] = []
        self.numbers: dict[str, Number] = {
            p.name: (_NUMBERS[p.role],) * self.axes if p.role in _NUMBERS else p.default for p in operator.numbers
        }
        self.base()

    def base(self, size: int = SIZE, format: str = "", **numbers: Number) -> None:
        """The legal call that all cases begin with."""
        self.numbers |= numbers
        dtype = self.operator.by_role[Role.INPUT].dtype
        large = CaseTensor(dtype, (2, 3, *[size] * self.axes), format or self.operator.default_format)
        small = replace(large, shape=(2, 3, *[size // WINDOW] * self.axes))
        of_role = {Role.GRADIENT: small, Role.INDICES: replace(small, dtype="int32", values=FORWARD)}
        if mask := mask_of(self.operator, large, self.numbers) if Role.MASK in self.operator.by_role else None:
            of_role[Role.MASK] = mask
        inputs = {p.name: of_role.get(p.role, large) for p in self.operator.inputs}
        outputs = results_of(self.operator, inputs, self.numbers, None)
        self.tensors = inputs | {name: tensor for name, tensor in outputs.items() if tensor}

    def names(self, *roles: Role) -> list[str]:
        """The parameters of some roles, as far as the operator has them."""
        return [self.operator.by_role[role].name for role in roles if role in self.operator.by_role]

    def add(self, name: str, why: str, /, **changes: Any) -> None:
        """A case that differs from the legal call in ``changes``: by parameter, a number, fields of a tensor, or None.

        ``every`` changes all tensors, ``floats`` all but the indices. Shapes that are not said follow: those of outputs
        from the operator, as does the type of indices that it finds, those of indices from the gradient, those of masks
        from the windows. ``values`` of a tensor may be a number, which all elements are then, two as a range, or a kind
        of values. ``status`` is what the case expects, success if it does not say.
        """
        every, floats = changes.pop("every", {}), changes.pop("floats", {})
        numbers = {key: changes.get(key, value) for key, value in self.numbers.items()}
        tensors: dict[str, CaseTensor | None] = {}
        results: dict[str, CaseTensor | None] = {}
        for parameter in (*self.operator.inputs, *self.operator.outputs):
            own = changes.get(parameter.name, {})
            followed = None
            if parameter.output:
                results = results or results_of(self.operator, tensors, numbers, changes.get("product"))
                followed = results[parameter.name]
            elif parameter.role is Role.INDICES:
                followed = tensors[self.operator.by_role[Role.GRADIENT].name]
            elif parameter.role is Role.MASK:
                followed = mask_of(self.operator, tensors[self.operator.by_role[Role.INPUT].name], numbers)
            of_group = every if parameter.role in OF_PLACES else every | floats
            if followed and parameter.role is Role.PLACES:
                of_group = of_group | {"dtype": followed.dtype}
            fields = of_group | ({"shape": followed.shape} if followed else {}) | (own or {})
            if "values" in fields:
                fields = fields | {"values": _values(fields["values"])}
            tensors[parameter.name] = None if own is None else replace(self.tensors[parameter.name], **fields)
        self.cases.append(
            Case(
                f"{self.operator.name.removeprefix('aclnn')}-{name}",
                self.operator.name,
                {p.name: tensors[p.name] for p in self.operator.tensors},
                numbers,
                product=changes.get("product"),
                status=changes.get("status", ACLNN_SUCCESS),
                why=why,
            )
        )

    def refused(self, name: str, why: str, /, **changes: Any) -> None:
        self.add(name, why, **({"status": ACLNN_ERR_PARAM_INVALID} | changes))

    def pooled(self, name: str, why: str, shape: tuple[int, ...], /, **changes: Any) -> None:
        """A case over an input of that shape, whose gradients or results have the shape that its windows give; half of
        it, with adaptive ones."""
        (x,) = self.names(Role.INPUT)
        tensor = replace(self.tensors[x], shape=shape, **changes.get("every", {}))
        numbers = self.numbers | {key: value for key, value in changes.items() if key in self.numbers}
        halves = (*shape[: -self.axes], *(-(-size // WINDOW) for size in shape[-self.axes :]))
        given = dict.fromkeys(self.names(Role.GRADIENT), pooled_shape(self.operator, tensor, numbers) or halves)
        for parameter, sizes in (given | {x: shape}).items():
            changes[parameter] = {"shape": sizes} | changes.get(parameter, {})
        outs = dict.fromkeys(self.names(Role.OUTPUT_SIZE), halves[-self.axes :])
        self.add(name, why, **outs | changes)

    def overlapping(self, name: str, why: str, /, **changes: Any) -> None:
        """A case in which elements are in several windows."""
        self.pooled(name, why, (1, 2, *self.last(7, 9, 11)), **self.windows(3, 1, 1), **changes)

    def last(self, *numbers: int) -> tuple[int, ...]:
        """Of numbers for D, H and W, those of the pooled axes."""
        return numbers[-self.axes :]

    def windows(self, kernel: int, stride: int, padding: int) -> dict[str, Any]:
        """Fixed windows that are the same along all axes; nothing, if the operator's are adaptive."""
        names = self.names(Role.KERNEL, Role.STRIDE, Role.PADDING)
        return {name: (number,) * self.axes for name, number in zip(names, (kernel, stride, padding), strict=False)}

    # What is accepted.

    def fixed_windows(self, *, beyond_input: bool = True) -> None:
        """Windows of every kind; some operators take no kernel that is larger than the input."""
        pooled, last, windows, ones = self.pooled, self.last, self.windows, (1,) * self.axes
        kernel, stride, pad, ceil = self.names(Role.KERNEL, Role.STRIDE, Role.PADDING, Role.CEIL_MODE)
        ceil_mode = {ceil: True if isinstance(self.numbers[ceil], bool) else 1}
        self.overlapping("overlap", "an element is in many windows")
        pooled("padding", "windows that reach into the padding", (1, 2, *last(7, 9, 8)), **windows(3, 2, 1))
        eight = (2, 3, *last(8, 8, 8))
        pooled("ceil", "ceil mode's last window is cut off", eight, **windows(3, 3, 0), **ceil_mode)
        why = "a ceil-mode window that would begin in the right padding is dropped"
        pooled("ceil-dropped", why, (2, 3, *last(4, 4, 4)), **windows(2, 3, 1), **ceil_mode)
        why = "arrays of one value hold for all axes"
        pooled("lengths-1", why, (2, 3, *last(9, 9, 9)), **{kernel: (3,), stride: (2,), pad: (1,)})
        empty = {kernel: last(3, 3, 2), stride: ()}
        pooled("stride-empty", f"{stride} may be empty", (2, 3, *last(9, 9, 6)), **empty)
        left = "get 0" if self.names(Role.GRADIENT) else "nobody reads"
        why = f"a stride beyond the kernel leaves elements that {left}"
        pooled("gaps", why, (1, 2, *last(11, 11, 11)), **{stride: last(4, 5, 4)})
        pooled("global", "one window over all of it", (2, 3, *last(3, 5, 7)), **{kernel: last(3, 5, 7)})
        pooled("one-element", "the smallest tensors there are", (1, 1, *ones), **windows(1, 1, 0))
        status = {} if beyond_input else {"status": ACLNN_ERR_PARAM_INVALID}
        why = "only padding makes it fit"
        pooled("kernel-beyond-input", why, (1, 2, *last(3, 3, 3)), **windows(5, 1, 2), **status)
        odd = {kernel: last(2, 3, 4), stride: last(1, 2, 3), pad: last(1, 1, 2)}
        pooled("odd-sizes", "no size is a multiple of anything", (3, 5, *last(5, 17, 13)), **odd)

    def adaptive_windows(self) -> None:
        """As many windows as gradients, or as are asked for, in every relation to the input."""
        (x,) = self.names(Role.INPUT)

        def sizes(out: tuple[int, ...], size: tuple[int, ...]) -> dict[str, Any]:
            given: dict[str, Any] = dict.fromkeys(self.names(Role.OUTPUT_SIZE), self.last(*out))
            for name, sizes in [(name, out) for name in self.names(Role.GRADIENT)] + [(x, size)]:
                given[name] = {"shape": (2, 3, *self.last(*sizes))}
            return given

        self.overlapping("uneven", "windows of different lengths that overlap")
        self.add("upsampling", "more windows than elements on every axis", **sizes((5, 7, 9), (3, 4, 5)))
        self.add("upsampling-one-axis", "more windows than elements on one axis", **sizes((2, 9, 3), (4, 5, 6)))
        self.add("global", "one window over all of it", **sizes((1, 1, 1), (3, 5, 7)))
        self.add("identity", "as many windows as elements", **sizes((3, 5, 7), (3, 5, 7)))
        self.pooled("one-element", "the smallest tensors there are", (1, 1, *(1,) * self.axes))
        if self.axes == 3:
            self.add("flat", "depth 1 is two-dimensional pooling", **sizes((1, 3, 3), (1, 7, 8)))

    def without_batch(self, *formats: str) -> None:
        """All axes but the batch's, in some formats."""
        rank, letters = self.axes + 1, ", ".join(f"C{self.operator.axes}")
        for format in formats:
            why = f"rank {rank} is {letters}, in {format}"
            self.pooled(f"rank-{rank}-{format}", why, (3, *self.last(4, 8, 6)), every={"format": format})

    def halves(self, *dtypes: str, **changes: Any) -> None:
        for dtype in dtypes or ("float16", "bfloat16"):
            has = self.operator.by_role
            compared = Role.GRADIENT not in has and (Role.PLACES in has or Role.DILATION in has)
            why = f"{dtype} is compared as it is" if compared else f"{dtype} is summed in float32 and rounded once"
            self.overlapping(f"dtype-{dtype}", why, floats={"dtype": dtype}, **changes)

    def averages(self) -> None:
        """What is no number, in what is averaged or spread."""
        averaged, *_ = self.names(Role.GRADIENT, Role.INPUT)
        self.add("nan", "NaN reaches its window and nothing else", **{averaged: {"values": math.nan}})
        self.add("inf", "Inf stays Inf, and does not become NaN", **{averaged: {"values": math.inf}})

    def divisors(self) -> None:
        """What the sums of fixed windows are divided by."""
        pooled, last, window = self.pooled, self.last, self.windows(3, 2, 1)
        ceil, count, divisor = self.names(Role.CEIL_MODE, Role.COUNT_INCLUDE_PAD, Role.DIVISOR)
        odd, even = (2, 3, *last(5, 9, 7)), (2, 3, *last(8, 8, 8))
        for include in (True, False):
            word, numbers = "counts" if include else "does-not-count", window | {count: include}
            pooled(f"divisor-0-padding-{word}", f"{divisor} 0 means none", odd, **numbers)
            why = "ceil mode's last window is cut off at input plus padding"
            pooled(f"ceil-padding-{word}", why, even, **numbers, **{ceil: True})
            why = f"a given divisor makes {count} irrelevant"
            pooled(f"divisor-5-padding-{word}", why, odd, **numbers, **{divisor: 5})
        pooled("divisor-negative", "a divisor may be negative", even, **{divisor: -3})

    def maxima(self) -> None:
        """Numbers of every kind, and indices, where these are given."""
        add, (x,) = self.add, self.names(Role.INPUT)
        add("nan", "NaN is the maximum of its window", **{x: {"values": math.nan}})
        why = "where all is -Inf so is the maximum, and an index still points into its window"
        add("minus-inf", why, **{x: {"values": -math.inf}})
        why = "all elements are equal: the first of each window is the maximum"
        self.overlapping("equal", why, **{x: {"values": 1.0}})
        for where in self.names(Role.INDICES):
            self._given_indices(where, math.prod(self.tensors[x].shape[2:]))

    def _given_indices(self, where: str, places: int) -> None:
        add = self.add
        self.overlapping("indices-drawn", "legal indices that are no maxima", **{where: {"values": "windows"}})
        add("indices-astray", "indices outside their windows, inside the plane", **{where: {"values": "plane"}})
        add("indices-one-place", "every gradient goes to one element", **{where: {"values": places - 1}})
        bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
        add("index-beyond-plane", f"{places} is outside the plane", **{where: {"values": places}}, **bad)
        add("index-negative", "-1 is outside the plane", **{where: {"values": -1}}, **bad)

    def masks(self) -> None:
        """Masks of bits beside those of places, and bytes that are no mask."""
        why = "on the training series a mask holds bits; the last group has one channel"
        self.pooled("bits", why, (2, 17, 9, 7), **self.windows(3, 2, 1), product=TRAINING.name)
        why = "with windows of one element a mask holds bits on every product, and nobody reads them"
        self.pooled("window-1x1", why, (2, 3, 9, 7), **self.windows(1, 2, 0))
        for p in self.operator.inputs:
            if p.role is Role.MASK:
                self._given_masks(p.name)

    def _given_masks(self, where: str) -> None:
        bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
        why = "the place -1 is outside its plane, and of bits all are set"
        self.add("mask-minus-one", why, **{where: {"values": -1}}, **bad)
        why = "no bit is set, so there is no maximum"
        self.add("mask-empty", why, **{where: {"values": 0}}, product=TRAINING.name, **bad)
        self.add("mask-zero", "every place is 0", **{where: {"values": 0}}, product=A2.name)

    def layouts(self) -> None:
        """Strides of every kind, and views that can't be."""
        add, refused, operator = self.add, self.refused, self.operator
        shapes = {name: tensor.shape for name, tensor in self.tensors.items()}
        steps = {name: contiguous_strides(shape) for name, shape in shapes.items()}
        counts = {name: math.prod(shape) for name, shape in shapes.items()}
        read, written = [p.name for p in operator.inputs if p.read], [p.name for p in operator.outputs]
        first, output, (x,) = read[0], written[0], self.names(Role.INPUT)

        def view(name: str, strides: Iterable[int], storage: int, offset: int = 0) -> dict[str, Any]:
            return {name: {"strides": tuple(strides), "storage": (storage,), "offset": offset}}

        def side_by_side(name: str) -> dict[str, Any]:
            _, channels, *sizes = shapes[name]
            inner = (step * channels for step in contiguous_strides(sizes))
            return view(name, (steps[name][0], 1, *inner), counts[name])

        add("channels-last", "views whose channels lie side by side", **side_by_side(x), **side_by_side(output))
        twice: dict[str, Any] = {}
        backwards: dict[str, Any] = {}
        for name in read:
            twice |= view(name, (2 * step for step in steps[name]), 2 * counts[name], 1)
            backwards |= view(name, (-step for step in steps[name]), counts[name], counts[name] - 1)
        add("strided", f"{' and '.join(read)} are every second element of something", **twice)
        add("backwards", f"{' and '.join(read)} are read from their ends", **backwards)
        add("broadcast", f"one number stands for all of {first}", **view(first, (0,) * len(steps[first]), 1))
        apart = view(output, (3 * step for step in steps[output]), 3 * counts[output], 2)
        add("strided-output", "memory between the output's elements is not touched", **apart)
        short = view(first, steps[first], counts[first] - 1)
        refused("outside-storage", f"the view of {first} ends behind its storage", **short)
        overlapping = view(output, (*steps[output][:-1], 0), counts[output])
        refused("output-overlaps", f"elements of {output} share memory", **overlapping)
        huge = {name: {"shape": (2**30, 2**30, *shapes[name][2:])} for name in self.names(Role.INPUT, Role.GRADIENT)}
        refused("huge", "more bytes than 64 bits count", **huge)

    # What no operator takes.

    def refusals(self) -> None:
        """Pointers, products, ranks, sizes and types that are wrong for each of them."""
        refused, shapes = self.refused, {name: tensor.shape for name, tensor in self.tensors.items()}
        for p in self.operator.parameters:
            if p.kind in ("tensor", "ints") and not p.nullable:
                null: dict[str, Any] = {p.name: None, "status": ACLNN_ERR_PARAM_NULLPTR}
                refused(f"null-{p.name}", f"{p.name} is a null pointer", **null)
        missing = next(product for product in PRODUCTS if product not in self.operator.products)
        refused("product", "the product does not have the operator", product=missing.name)
        (x,) = self.names(Role.INPUT)
        for rank in (self.axes, self.axes + 3):
            refused(f"rank-{rank}", f"rank {rank}", every={"shape": (1, *shapes[x])[-rank:]})
        refused("int64-size", "a size beyond 64 bits", **{x: {"shape": (*shapes[x][:-1], 2**63)}})
        refused("size-negative", "a negative size", **{x: {"shape": (*shapes[x][:-2], -SIZE, SIZE)}})
        if "int32" not in support(self.operator, ANY).dtypes:
            refused("dtype-int32", "integers are not pooled", floats={"dtype": "int32"})
        product = self.operator.products[0]
        if "float64" not in support(self.operator, product).dtypes:
            refused("dtype-float64", "no product has float64", floats={"dtype": "float64"}, product=product.name)
        for name in self.names(Role.GRADIENT):
            batch, channels, *sizes = shapes[name]
            refused("batch-differs", f"{name} has another batch than {x}", **{name: {"shape": (1, channels, *sizes)}})
            why = f"{name} has other channels than {x}"
            refused("channels-differ", why, **{name: {"shape": (batch, channels + 1, *sizes)}})
        words = {Role.GRADIENT: "gradients", Role.INDICES: "indices", Role.RESULT: "output", Role.PLACES: "places"}
        words[Role.MASK] = "mask"
        for role, word in words.items():
            for name in self.names(role):
                if role not in OF_PLACES:
                    other = "float16" if self.tensors[x].dtype == "float32" else "float32"
                    refused(f"dtype-of-{word}", f"{name} and {x} differ in dtype", **{name: {"dtype": other}})
                if role is not Role.GRADIENT:
                    why, longer = (
                        f"{name} is longer than what it belongs to",
                        (*shapes[name][:-1], shapes[name][-1] + 1),
                    )
                    refused(f"shape-of-{word}", why, **{name: {"shape": longer}})
                refused(f"rank-of-{word}", f"{name} has rank {self.axes + 1}", **{name: {"shape": shapes[name][1:]}})

    def refused_windows(self, *may_be_empty: str) -> None:
        """Numbers that no fixed windows have, and gradients that do not fit them."""
        refused, axes = self.refused, self.axes
        arrays = self.names(Role.KERNEL, Role.STRIDE, Role.PADDING, Role.DILATION)
        kernel, stride, pad, *_ = arrays
        for name in arrays:
            refused(f"{name}-length", f"{name} has {axes + 1} values", **{name: (1,) * (axes + 1)})
            if name not in (stride, *may_be_empty):
                refused(f"{name}-empty", f"{name} has no value", **{name: ()})
        refused("int64-kernel", "a number beyond 64 bits", **{kernel: (2**63,) * axes})
        refused("kernel-zero", "a kernel of 0", **{kernel: (0,) * axes})
        refused("stride-zero", "a stride of 0", **{stride: (0,) * axes})
        refused("stride-negative", "a negative stride", **{stride: (-2,) * axes})
        refused("padding-negative", "negative padding", **{pad: (*[0] * (axes - 1), -1)})
        beyond = {kernel: (3,) * axes, pad: (2,) * axes}
        refused("padding-beyond-half", "padding is more than half the kernel", **beyond)
        refused("windows-do-not-fit", "the kernel is larger than the input", **{kernel: (SIZE + 1,) * axes})
        for name in self.names(Role.GRADIENT):
            *most, last = self.tensors[name].shape
            why = f"{name} has not the size that the windows give"
            refused("not-pooled", why, **{name: {"shape": (*most, last + 1)}})

    def refused_output_sizes(self) -> None:
        """Numbers of windows that there can't be."""
        (name,) = self.names(Role.OUTPUT_SIZE)
        sizes = self.numbers[name]
        assert isinstance(sizes, tuple)
        for wrong in (sizes[:1], (*sizes, 1)):
            why = f"{name} has {len(wrong)} value{'s' * (len(wrong) != 1)}"
            self.refused(f"{name}-length-{len(wrong)}", why, **{name: wrong})
        self.refused(f"{name}-empty", f"{name} has no value", **{name: ()})
        self.refused(f"{name}-zero", "no windows along an axis", **{name: (0, *sizes[1:])})
        self.refused(f"{name}-negative", "a negative number of windows", **{name: (*sizes[:-1], -1)})
        self.refused(f"int64-{name}", "a number beyond 64 bits", **{name: (2**63, *sizes[1:])})

    def refused_formats(self, *formats: str) -> None:
        for format in formats:
            self.refused(f"format-{format}", f"{format} is not supported", every={"format": format})

    def formats_differ(self, format: str, *names: str) -> None:
        """One tensor in a format that only all of them may have."""
        for name in names:
            self.refused(f"format-of-{name}", f"{name} differs in format", **{name: {"format": format}})


def _values(told: Any) -> Values:
    if isinstance(told, tuple):
        return Values("uniform", told)
    return Values(told) if isinstance(told, str) else Values("constant", (float(told),))
