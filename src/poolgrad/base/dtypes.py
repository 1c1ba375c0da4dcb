"""Element types and storage formats: documented names, codes and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type, one object each. ``code`` is its aclDataType; ``bits`` its size, which may be below a byte."""

    name: str
    acl_name: str
    code: int
    bits: int

    @property
    def itemsize(self) -> int:
        return (self.bits + 7) // 8

    def nbytes(self, count: int) -> int:
        return (count * self.bits + 7) // 8


_TABLE = (
    DType("undefined", "ACL_DT_UNDEFINED", -1, 0),
    DType("float32", "ACL_FLOAT", 0, 32),
    DType("float16", "ACL_FLOAT16", 1, 16),
    DType("int8", "ACL_INT8", 2, 8),
    DType("int32", "ACL_INT32", 3, 32),
    DType("uint8", "ACL_UINT8", 4, 8),
    DType("int16", "ACL_INT16", 6, 16),
    DType("uint16", "ACL_UINT16", 7, 16),
    DType("uint32", "ACL_UINT32", 8, 32),
    DType("int64", "ACL_INT64", 9, 64),
    DType("uint64", "ACL_UINT64", 10, 64),
    DType("float64", "ACL_DOUBLE", 11, 64),
    DType("bool", "ACL_BOOL", 12, 8),
    DType("string", "ACL_STRING", 13, 8),
    DType("complex64", "ACL_COMPLEX64", 16, 64),
    DType("complex128", "ACL_COMPLEX128", 17, 128),
    DType("bfloat16", "ACL_BF16", 27, 16),
    DType("int4", "ACL_INT4", 29, 4),
    DType("uint1", "ACL_UINT1", 30, 1),
    DType("complex32", "ACL_COMPLEX32", 33, 32),
)

DTYPES = {dtype.name: dtype for dtype in _TABLE}
DTYPE_BY_CODE = {dtype.code: dtype for dtype in _TABLE}

# The short names of test tools.
SHORT_NAMES = {
    **{"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"},
    **{"f64": "float64", "f32": "float32", "f16": "float16"},
    **{"double": "float64", "float": "float32", "half": "float16"},
}

FLOAT64, FLOAT32, FLOAT16, BFLOAT16, INT8, INT32, INT64 = (
    DTYPES[name] for name in ("float64", "float32", "float16", "bfloat16", "int8", "int32", "int64")
)

# aclFormat: short name to code. A Tensor carries the short name.
FORMATS = {
    "UNDEFINED": -1,
    "NCHW": 0,
    "NHWC": 1,
    "ND": 2,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "NC1HWC0_C04": 12,
    "HWCN": 16,
    "NDHWC": 27,
    "FRACTAL_NZ": 29,
    "NCDHW": 30,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
    "NC": 35,
    "NCL": 47,
}
FORMAT_BY_CODE = {code: name for name, code in FORMATS.items()}


@cache
def dtype_named(name: str, bits: int = 0) -> DType:
    """The type of that name; one that no operator takes is kept so that the message can name it."""
    return DTYPES.get(name) or DType(name, name, -1, bits)
