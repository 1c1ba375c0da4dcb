"""Parameters, their roles, and their vocabulary: each function makes one that many operators have.

Below the doors nobody writes a parameter's name: code asks for roles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Role(Enum):
    """What a parameter is for, whatever its operator calls it."""

    GRADIENT = "the gradient of the forward pass's output"
    INPUT = "the input of the forward pass"
    INDICES = "where each maximum stood"
    MASK = "where each maximum stood, as a device keeps it"
    RESULT = "what is computed"
    KERNEL = "the size of a window"
    STRIDE = "the distance of windows"
    PADDING = "how far windows reach over the borders"
    DILATION = "the distance of a window's elements"
    CEIL_MODE = "whether windows may reach past the padded input"
    COUNT_INCLUDE_PAD = "whether padding counts in divisors"
    DIVISOR = "what to divide by instead of a window's size"
    CUBE_MATH_TYPE = "the type of the computation"


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter under its documented name, its C type, and its name in the Pythonic layer."""

    name: str
    role: Role
    c_type: str
    python_name: str
    help: str = ""
    # What a call without it means, in the form that the contract sees; REQUIRED for what has to be given.
    default: Any = None
    nullable: bool = False
    optional: bool = False  # whether None stands for the default in Python
    read: bool = True  # whether the memory of a tensor is read; of the others only the description counts

    @property
    def kind(self) -> str:
        """How an argument is passed: "tensor", "ints", "bool" or "int"."""
        return _KINDS.get(self.c_type, "int")

    @property
    def output(self) -> bool:
        return self.c_type == OUTPUT


class Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = Required()
TENSOR, OUTPUT, INT_ARRAY = "const aclTensor*", "aclTensor*", "const aclIntArray*"
_KINDS = {TENSOR: "tensor", OUTPUT: "tensor", INT_ARRAY: "ints", "bool": "bool"}


def snake_case(name: str) -> str:
    """
    >>> [snake_case(name) for name in ("AvgPool2dBackward", "MaxPool3dWithArgmaxBackward", "kernelSize")]
    ['avg_pool2d_backward', 'max_pool3d_with_argmax_backward', 'kernel_size']
    """
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", name).lower()


def gradient(name: str = "gradOutput") -> Parameter:
    return Parameter(name, Role.GRADIENT, TENSOR, snake_case(name), "The gradient of the forward output.", REQUIRED)


def described_input(name: str = "self") -> Parameter:
    """The input of the forward pass as gradients take it: they need its shape, type and format, never its values."""
    return Parameter(name, Role.INPUT, TENSOR, "x", "The forward input.", REQUIRED, read=False)


def indices(name: str = "indices") -> Parameter:
    return Parameter(name, Role.INDICES, TENSOR, snake_case(name), "Where the maxima stood.", REQUIRED)


def result(name: str) -> Parameter:
    return Parameter(name, Role.RESULT, OUTPUT, "out", "The result.", read=False)


def kernel_size(name: str = "kernelSize") -> Parameter:
    return _ints(name, Role.KERNEL, "Size of a window: one number, or one for each axis (H,W or D,H,W).", REQUIRED)


def stride(name: str = "stride", *, nullable: bool = False) -> Parameter:
    help = "Distance of windows: one number, or one for each axis; the kernel's size if absent."
    return Parameter(name, Role.STRIDE, INT_ARRAY, snake_case(name), help, (), nullable, optional=True)


def padding(name: str = "padding") -> Parameter:
    return _ints(name, Role.PADDING, "Padding on each side: one number, or one for each axis; 0 if absent.", (0,))


def dilation(name: str = "dilation") -> Parameter:
    help = "Distance of a window's elements: one number, or one for each axis; 1 if absent."
    return _ints(name, Role.DILATION, help, (1,))


def ceil_mode(name: str = "ceilMode") -> Parameter:
    help = "Count windows that reach past the padded input; off if absent."
    return Parameter(name, Role.CEIL_MODE, "bool", snake_case(name), help, False)


def count_include_pad(name: str = "countIncludePad") -> Parameter:
    help = "Let padding count in divisors; on if absent."
    return Parameter(name, Role.COUNT_INCLUDE_PAD, "bool", snake_case(name), help, True)


def divisor_override(name: str = "divisorOverride") -> Parameter:
    help = "Divide by this instead of the window's size; 0, which is none, if absent."
    return Parameter(name, Role.DIVISOR, "int64_t", snake_case(name), help, 0, optional=True)


def cube_math_type(name: str = "cubeMathType") -> Parameter:
    help = "0 KEEP_DTYPE, 1 ALLOW_FP32_DOWN_PRECISION, 2 USE_FP16, 3 USE_HF32; 0 if absent."
    return Parameter(name, Role.CUBE_MATH_TYPE, "int8_t", snake_case(name), help, 0)


def _ints(name: str, role: Role, help: str, default: Any) -> Parameter:
    return Parameter(name, role, INT_ARRAY, snake_case(name), help, default)


# Those that nearly all gradients have under these names.
GRAD, X, INDICES = gradient(), described_input(), indices()
KERNEL, STRIDE, PADDING, DILATION = kernel_size(), stride(), padding(), dilation()
CEIL, COUNT_PAD, DIVISOR, CUBE = ceil_mode(), count_include_pad(), divisor_override(), cube_math_type()
