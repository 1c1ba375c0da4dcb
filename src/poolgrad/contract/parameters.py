"""Parameters, their roles, and those that many operators have; one that only its name tells apart is a ``replace``.

Below the doors nobody writes a parameter's name: code asks for roles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class Role(Enum):
    """What a parameter is for, whatever its operator calls it."""

    GRADIENT = "the gradient of the forward pass's output"
    INPUT = "the input of the forward pass"
    INDICES = "where each maximum stood, as it is given"
    PLACES = "where each maximum stands, as it is found"
    MASK = "where each maximum stood, in bytes as a device keeps them"
    RESULT = "what is computed"
    OUTPUT_SIZE = "how many windows there are"
    KERNEL = "the size of a window"
    STRIDE = "the distance of windows"
    PADDING = "how far windows reach over the borders"
    DILATION = "the distance of a window's elements"
    CEIL_MODE = "whether windows may reach past the padded input"
    COUNT_INCLUDE_PAD = "whether padding counts in divisors"
    DIVISOR = "what to divide by instead of a window's size"
    CUBE_MATH_TYPE = "the type of the computation"
    AUTO_PAD = "how padding is found that is not given"


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
    dtype: str = "float32"  # of a tensor whose type nobody names
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


def result(name: str) -> Parameter:
    return Parameter(name, Role.RESULT, OUTPUT, "out", "The result.", read=False)


def places(name: str, dtype: str = "int32") -> Parameter:
    """The indices that a forward pass finds."""
    return Parameter(name, Role.PLACES, OUTPUT, "out", "Where the maxima stand.", dtype=dtype, read=False)


def mask(name: str) -> Parameter:
    """The same in bytes, as a device keeps them."""
    return Parameter(name, Role.MASK, OUTPUT, "out", "The mask of the maxima.", dtype="int8", read=False)


GRAD = Parameter("gradOutput", Role.GRADIENT, TENSOR, "grad_output", "The gradient of the forward output.", REQUIRED)
# As gradients take it: they need its shape, type and format, never its values.
X = Parameter("self", Role.INPUT, TENSOR, "x", "The forward input.", REQUIRED, read=False)
# As forward passes take it.
POOLED = replace(X, help="What is pooled.", read=True)
INDICES = Parameter("indices", Role.INDICES, TENSOR, "indices", "Where the maxima stood.", REQUIRED, dtype="int32")
MASK = Parameter("indices", Role.MASK, TENSOR, "mask", "The mask of the forward pass.", REQUIRED, dtype="int8")

_HELP = "Size of a window: one number, or one for each axis (H,W or D,H,W)."
KERNEL = Parameter("kernelSize", Role.KERNEL, INT_ARRAY, "kernel_size", _HELP, REQUIRED)
_HELP = "Size of the result: one number for each axis (H,W or D,H,W)."
OUTPUT_SIZE = Parameter("outputSize", Role.OUTPUT_SIZE, INT_ARRAY, "output_size", _HELP, REQUIRED)
_HELP = "Distance of windows: one number, or one for each axis; the kernel's size if absent."
STRIDE = Parameter("stride", Role.STRIDE, INT_ARRAY, "stride", _HELP, (), optional=True)
_HELP = "Padding on each side: one number, or one for each axis; 0 if absent."
PADDING = Parameter("padding", Role.PADDING, INT_ARRAY, "padding", _HELP, (0,))
_HELP = "Distance of a window's elements: one number, or one for each axis; 1 if absent."
DILATION = Parameter("dilation", Role.DILATION, INT_ARRAY, "dilation", _HELP, (1,))
_HELP = "Count windows that reach past the padded input; off if absent."
CEIL = Parameter("ceilMode", Role.CEIL_MODE, "bool", "ceil_mode", _HELP, False)
_HELP = "Let padding count in divisors; on if absent."
COUNT_PAD = Parameter("countIncludePad", Role.COUNT_INCLUDE_PAD, "bool", "count_include_pad", _HELP, True)
_HELP = "Divide by this instead of the window's size; 0, which is none, if absent."
DIVISOR = Parameter("divisorOverride", Role.DIVISOR, "int64_t", "divisor_override", _HELP, 0, optional=True)
_HELP = "0 KEEP_DTYPE, 1 ALLOW_FP32_DOWN_PRECISION, 2 USE_FP16, 3 USE_HF32; 0 if absent."
CUBE = Parameter("cubeMathType", Role.CUBE_MATH_TYPE, "int8_t", "cube_math_type", _HELP, 0)
AUTO_PAD = Parameter("autoPad", Role.AUTO_PAD, "const int64_t", "auto_pad", "0, padding as it is given, if absent.", 0)
