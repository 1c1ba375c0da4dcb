"""What the operators share: the windows that a call describes, and the rows about shapes that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..base.products import A2, A3, A950, ANY, INFERENCE, PRODUCTS, TRAINING
from ..base.windows import pair, pooled_size
from ..contract.checks import shown
from ..contract.engine import SAFE, Broken, Call, Check

MODERN = frozenset((A2, A3, A950))
CLASSIC = frozenset((INFERENCE, TRAINING))
NO_PRODUCT = frozenset((ANY,))
ON_PRODUCTS = frozenset(PRODUCTS)

HALVES_AND_FLOAT = ("float32", "float16", "bfloat16")
EVERY_FLOAT = ("float64", *HALVES_AND_FLOAT)


def stride_or_kernel(call: Call) -> tuple[int, int]:
    """The stride of both axes; absent or empty, it is the kernel's size."""
    return pair(call.ints("stride" if call.values["stride"] else "kernelSize"))


def plane_sizes(call: Call) -> tuple[int, int]:
    """H and W of self, wherever its format keeps them."""
    self = call.tensor("self")
    height, width = self.shape[-3:-1] if self.format == "NHWC" else self.shape[-2:]
    return height, width


@dataclass(frozen=True, slots=True)
class Windows:
    """The fixed windows along one axis, as a call describes them."""

    size: int
    kernel: int
    stride: int
    pad: int
    dilation: int
    ceil_mode: bool

    @property
    def out(self) -> int:
        """How many there are; not positive where none fits."""
        return pooled_size(
            self.size,
            kernel=self.kernel,
            stride=self.stride,
            pad=self.pad,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
        )


def windows_of(call: Call) -> tuple[Windows, Windows]:
    """The windows along H and W."""
    kernel, stride, pad = pair(call.ints("kernelSize")), stride_or_kernel(call), pair(call.ints("padding"))
    dilation = pair(call.ints("dilation")) if "dilation" in call.values else (1, 1)
    ceil_mode = bool(call.values["ceilMode"])
    height, width = (
        Windows(*numbers, ceil_mode) for numbers in zip(plane_sizes(call), kernel, stride, pad, dilation, strict=True)
    )
    return height, width


def pooled_sizes(call: Call) -> tuple[int, int]:
    """H and W that the forward pass gives."""
    height, width = windows_of(call)
    return height.out, width.out


def padded_plane(call: Call) -> int:
    """Elements of one padded plane: no window lies outside it, no divisor is larger."""
    return math.prod(size + 2 * pad for size, pad in zip(plane_sizes(call), pair(call.ints("padding")), strict=True))


def same_batch_and_channels(spatial: int, *, source: str) -> Check:
    """N and C of gradOutput are those of self, for tensors that end in ``spatial`` spatial axes."""

    def test(call: Call) -> Broken | None:
        expected, got = (call.tensor(name).shape[:-spatial] for name in ("self", "gradOutput"))
        if got == expected:
            return None
        return Broken("gradOutput", f"N, C of self, {shown(expected)}", shown(got), "Give both the same N and C.")

    return Check("gradOutput-NC", "N and C of gradOutput = N and C of self", test, source=source)


def grad_output_is_pooled(*, source: str = SAFE) -> Check:
    """gradOutput has the shape that the forward pass gives."""

    def test(call: Call) -> Broken | None:
        self, got = call.tensor("self"), call.tensor("gradOutput").shape
        pooled = pooled_sizes(call)
        expected = (*self.shape[:-3], *pooled, self.shape[-1]) if self.format == "NHWC" else self.shape[:-2] + pooled
        if got == expected:
            return None
        return Broken(
            "gradOutput",
            f"shape {shown(expected)}, which the windows give from self {shown(self.shape)}",
            shown(got),
            "Pass the gradient of the forward output, or correct kernelSize, stride, padding or ceilMode.",
        )

    return Check("gradOutput-pooled", "gradOutput has the shape of the forward output", test, source=source)
