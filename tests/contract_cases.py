"""Calls that break one row of the contract each, as data: the same lines drive every layer.

A case starts from a legal call of its operator and changes a few arguments. It names the row that must decide, the
parameter that must be blamed, and the products on which it holds ("every" one that has the operator).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

NO_PRODUCT = "no product"
PRODUCTS = (
    "Atlas A2",
    "Atlas A3",
    "Atlas inference series",
    "Atlas training series",
    "Ascend 950",
    "Atlas 200I/500 A2",
)
AVG, ADAPTIVE_AVG = "aclnnAvgPool2dBackward", "aclnnAdaptiveAvgPool3dBackward"
MAX, ADAPTIVE_MAX = "aclnnMaxPool2dWithIndicesBackward", "aclnnAdaptiveMaxPool2dBackward"

SUPPORT = {
    AVG: PRODUCTS[:5],
    ADAPTIVE_AVG: PRODUCTS[:4],
    MAX: ("Atlas A2", "Atlas A3", "Ascend 950"),
    ADAPTIVE_MAX: ("Atlas A2", "Atlas A3"),
}


@dataclass(frozen=True)
class T:
    """A tensor argument."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    format: str = "NCHW"
    read_only: bool = False


class Unknown:
    """An argument whose handle is no live object."""


UNKNOWN = Unknown()

LEGAL: dict[str, dict[str, Any]] = {
    AVG: {
        "gradOutput": T((2, 3, 4, 4)),
        "self": T((2, 3, 8, 8)),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 1,
        "gradInput": T((2, 3, 8, 8)),
    },
    ADAPTIVE_AVG: {
        "gradOutput": T((2, 3, 2, 2, 2), format="NCDHW"),
        "self": T((2, 3, 4, 4, 4), format="NCDHW"),
        "out": T((2, 3, 4, 4, 4), format="NCDHW"),
    },
    MAX: {
        "gradOutput": T((2, 3, 4, 4)),
        "self": T((2, 3, 8, 8)),
        "indices": T((2, 3, 4, 4), "int32"),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "dilation": (1, 1),
        "ceilMode": False,
        "gradInput": T((2, 3, 8, 8)),
    },
    ADAPTIVE_MAX: {
        "gradOutput": T((2, 3, 4, 4), format="ND"),
        "self": T((2, 3, 8, 8), format="ND"),
        "indices": T((2, 3, 4, 4), "int32", format="ND"),
        "gradInput": T((2, 3, 8, 8), format="ND"),
    },
}


@dataclass(frozen=True)
class Case:
    operator: str
    row: str
    why: str
    parameter: str
    changes: dict[str, Any]
    products: tuple[str, ...]
    status: int = 161002

    @property
    def arguments(self) -> dict[str, Any]:
        return LEGAL[self.operator] | self.changes

    def __str__(self) -> str:
        return f"{self.operator}-{self.row}-{self.why.replace(' ', '_')}"


def change_all(operator: str, names: tuple[str, ...], **what: Any) -> dict[str, Any]:
    return {name: replace(LEGAL[operator][name], **what) for name in names}


FLOATS = ("gradOutput", "self", "gradInput")
FLOATS_3D = ("gradOutput", "self", "out")
ALL_MAX = ("gradOutput", "self", "indices", "gradInput")
CLASSIC = ("Atlas inference series", "Atlas training series")
MODERN = ("Atlas A2", "Atlas A3", "Ascend 950")
A2_A3, A950 = ("Atlas A2", "Atlas A3"), ("Ascend 950",)


def every(operator: str) -> tuple[str, ...]:
    return (*SUPPORT[operator], NO_PRODUCT)


def _with(operator: str, name: str, **what: Any) -> dict[str, Any]:
    return change_all(operator, (name,), **what)


def _lines(operator: str, *lines: tuple[Any, ...]) -> list[Case]:
    """A line: row, why, parameter, changes, and optionally the products."""
    return [
        Case(operator, row, why, parameter, changes, products[0] if products else every(operator))
        for row, why, parameter, changes, *products in lines
    ]


def _common(operator: str, output: str, optional: tuple[str, ...] = ()) -> list[Case]:
    """The rows that every operator has: null pointers, handles, products, numbers, sizes, a read-only output."""
    pointers = [name for name, value in LEGAL[operator].items() if isinstance(value, T | tuple)]
    cases = [
        Case(operator, f"{name}-null", f"{name} is null", name, {name: None}, every(operator), 161001)
        for name in pointers
        if name not in optional
    ]
    cases += [Case(operator, "handles", f"{n} is no handle", n, {n: UNKNOWN}, every(operator)) for n in pointers]
    missing = tuple(product for product in PRODUCTS if product not in SUPPORT[operator])
    cases.append(Case(operator, "product", "the product lacks the operator", "product", {}, missing))
    big = replace(LEGAL[operator]["self"], shape=(2**70, *LEGAL[operator]["self"].shape[1:]))
    cases.append(Case(operator, "int64", "a size beyond 64 bits", "self", {"self": big}, every(operator)))
    frozen = replace(LEGAL[operator][output], read_only=True)
    cases.append(
        Case(operator, f"{output}-writable", "the output is read-only", output, {output: frozen}, every(operator))
    )
    return cases


def _huge(operator: str, names: tuple[str, ...], spatial: int) -> dict[str, Any]:
    """Shapes that agree with each other and hold 2**62 elements."""
    legal = LEGAL[operator]
    return {n: replace(legal[n], shape=(2**30, 2**30, *legal[n].shape[-spatial:])) for n in names}


AVG_CASES = _common(AVG, "gradInput", optional=("stride",)) + _lines(
    AVG,
    ("int64", "a kernel beyond 64 bits", "kernelSize", {"kernelSize": (2**63,)}),
    ("int64", "a divisor beyond 64 bits", "divisorOverride", {"divisorOverride": -(2**63) - 1}),
    ("gradOutput-dtype", "integers are not pooled", "gradOutput", _with(AVG, "gradOutput", dtype="int32")),
    ("gradOutput-dtype", "all three are looked at", "self", _with(AVG, "self", dtype="int32")),
    ("gradOutput-dtype", "and the output", "gradInput", _with(AVG, "gradInput", dtype="int32")),
    (
        "gradOutput-dtype",
        "float64 is on no product",
        "gradOutput",
        change_all(AVG, FLOATS, dtype="float64"),
        SUPPORT[AVG],
    ),
    ("gradOutput-dtype", "bfloat16 is modern", "gradOutput", change_all(AVG, FLOATS, dtype="bfloat16"), CLASSIC),
    ("gradOutput-dtype-as-gradInput", "mixed dtypes", "gradOutput", _with(AVG, "gradOutput", dtype="float16")),
    ("self-dtype-as-gradInput", "mixed dtypes", "self", _with(AVG, "self", dtype="float16")),
    ("gradOutput-format", "ND is refused", "gradOutput", _with(AVG, "gradOutput", format="ND")),
    ("gradOutput-format", "NHWC is refused", "self", _with(AVG, "self", format="NHWC")),
    ("gradOutput-format", "private formats are refused", "gradInput", _with(AVG, "gradInput", format="NC1HWC0")),
    ("self-format-as-gradInput", "mixed formats", "self", _with(AVG, "self", format="NCL")),
    ("gradOutput-rank", "rank 2", "gradOutput", _with(AVG, "gradOutput", shape=(4, 4))),
    ("gradOutput-rank", "rank 5", "self", _with(AVG, "self", shape=(1, 2, 3, 8, 8))),
    ("gradOutput-rank-as-self", "ranks differ", "gradOutput", _with(AVG, "gradOutput", shape=(3, 4, 4))),
    ("NCL-rank", "NCL has three axes", "gradOutput", change_all(AVG, FLOATS, format="NCL")),
    ("negative-dims", "a negative size", "self", _with(AVG, "self", shape=(2, 3, -8, 8))),
    ("negative-dims", "a negative size in the output", "gradInput", _with(AVG, "gradInput", shape=(-2, 3, 8, 8))),
    ("kernelSize-length", "no value", "kernelSize", {"kernelSize": ()}),
    ("kernelSize-length", "three values", "kernelSize", {"kernelSize": (2, 2, 2)}),
    ("kernelSize-positive", "zero", "kernelSize", {"kernelSize": (2, 0)}),
    ("kernelSize-positive", "negative", "kernelSize", {"kernelSize": (-2,)}),
    ("stride-length", "three values", "stride", {"stride": (2, 2, 2)}),
    ("stride-positive", "zero", "stride", {"stride": (0,)}),
    ("padding-length", "no value", "padding", {"padding": ()}),
    ("padding-length", "three values", "padding", {"padding": (0, 0, 0)}),
    ("padding-half", "padding is at most half the kernel", "padding", {"padding": (2, 0), "kernelSize": (3, 3)}),
    ("padding-half", "also on W alone", "padding", {"padding": (1, 2), "kernelSize": (3, 3)}),
    ("padding-negative", "negative", "padding", {"padding": (-1, 0)}),
    ("cubeMathType-range", "below 0", "cubeMathType", {"cubeMathType": -1}),
    ("cubeMathType-range", "above 3", "cubeMathType", {"cubeMathType": 4}),
    (
        "cubeMathType-dtype",
        "HF32 is for float32",
        "cubeMathType",
        change_all(AVG, FLOATS, dtype="float16") | {"cubeMathType": 3},
    ),
    ("cubeMathType-dtype", "no float32 arithmetic", "cubeMathType", {"cubeMathType": 0}, CLASSIC),
    ("cubeMathType-dtype", "no HF32", "cubeMathType", {"cubeMathType": 3}, CLASSIC),
    (
        "cubeMathType-dtype",
        "bfloat16 never as float16",
        "cubeMathType",
        change_all(AVG, FLOATS, dtype="bfloat16") | {"cubeMathType": 2},
        (*A2_A3, NO_PRODUCT),
    ),
    (
        "cubeMathType-dtype",
        "bfloat16 as float16 in global pooling",
        "cubeMathType",
        change_all(AVG, FLOATS, dtype="bfloat16")
        | {"gradOutput": T((2, 3, 1, 1), "bfloat16"), "kernelSize": (8,), "cubeMathType": 2},
        A950,
    ),
    (
        "cubeMathType-dtype",
        "float64 is never narrowed",
        "cubeMathType",
        change_all(AVG, FLOATS, dtype="float64") | {"cubeMathType": 2},
        (NO_PRODUCT,),
    ),
    ("self-shape-as-gradInput", "shapes differ", "gradInput", _with(AVG, "gradInput", shape=(2, 3, 8, 9))),
    (
        "empty",
        "no channels",
        "gradOutput",
        {n: replace(LEGAL[AVG][n], shape=(2, 0, *LEGAL[AVG][n].shape[2:])) for n in FLOATS},
    ),
    (
        "empty",
        "an empty batch",
        "gradOutput",
        {n: replace(LEGAL[AVG][n], shape=(0, *LEGAL[AVG][n].shape[1:])) for n in FLOATS},
        SUPPORT[AVG],
    ),
    ("gradOutput-NC", "another batch", "gradOutput", _with(AVG, "gradOutput", shape=(1, 3, 4, 4))),
    ("gradOutput-NC", "other channels", "gradOutput", _with(AVG, "gradOutput", shape=(2, 4, 4, 4))),
    ("gradOutput-pooled", "the formula gives 4 x 4", "gradOutput", _with(AVG, "gradOutput", shape=(2, 3, 4, 5))),
    ("gradOutput-pooled", "the window is larger than the input", "gradOutput", {"kernelSize": (9, 9)}),
    ("divisorOverride-range", "above 255", "divisorOverride", {"divisorOverride": 256}, CLASSIC),
    ("divisorOverride-range", "below -255", "divisorOverride", {"divisorOverride": -256}, CLASSIC),
    ("sizes", "2**64 bytes and more", "gradOutput", _huge(AVG, FLOATS, 2)),
    (
        "sizes",
        "padding that makes positions pass 64 bits",
        "self",
        {"gradOutput": T((2, 3, 5, 5)), "kernelSize": (2**62,), "padding": (2**61,)},
    ),
)

ADAPTIVE_AVG_CASES = _common(ADAPTIVE_AVG, "out") + _lines(
    ADAPTIVE_AVG,
    ("self-rank", "rank 3", "self", _with(ADAPTIVE_AVG, "self", shape=(4, 4, 4))),
    ("self-rank", "rank 6", "self", _with(ADAPTIVE_AVG, "self", shape=(1, 2, 3, 4, 4, 4))),
    ("gradOutput-rank-as-self", "ranks differ", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", shape=(3, 2, 2, 2))),
    ("out-rank-as-self", "ranks differ", "out", _with(ADAPTIVE_AVG, "out", shape=(3, 4, 4, 4))),
    ("self-dims", "a size of 0", "self", _with(ADAPTIVE_AVG, "self", shape=(2, 3, 0, 4, 4))),
    ("self-dims", "a negative size", "self", _with(ADAPTIVE_AVG, "self", shape=(2, 3, 4, -4, 4))),
    ("self-dims", "a negative batch", "self", _with(ADAPTIVE_AVG, "self", shape=(-1, 3, 4, 4, 4))),
    ("self-dims", "an empty batch", "self", _with(ADAPTIVE_AVG, "self", shape=(0, 3, 4, 4, 4)), SUPPORT[ADAPTIVE_AVG]),
    ("out-shape-as-self", "shapes differ", "out", _with(ADAPTIVE_AVG, "out", shape=(2, 3, 4, 4, 5))),
    ("gradOutput-NC", "other channels", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", shape=(2, 4, 2, 2, 2))),
    ("gradOutput-dims", "a size of 0", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", shape=(2, 3, 2, 0, 2))),
    ("gradOutput-dims", "a negative size", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", shape=(2, 3, -2, 2, 2))),
    ("gradOutput-dtype", "integers are not pooled", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", dtype="int64")),
    ("gradOutput-dtype", "all three are looked at", "self", _with(ADAPTIVE_AVG, "self", dtype="bool")),
    ("gradOutput-dtype", "and the output", "out", _with(ADAPTIVE_AVG, "out", dtype="int8")),
    (
        "gradOutput-dtype",
        "float64 is on no product",
        "gradOutput",
        change_all(ADAPTIVE_AVG, FLOATS_3D, dtype="float64"),
        SUPPORT[ADAPTIVE_AVG],
    ),
    ("gradOutput-dtype-as-self", "mixed dtypes", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", dtype="float16")),
    ("self-dtype-as-out", "mixed dtypes", "out", _with(ADAPTIVE_AVG, "out", dtype="float16")),
    ("gradOutput-format-as-self", "mixed formats", "gradOutput", _with(ADAPTIVE_AVG, "gradOutput", format="ND")),
    ("self-format-as-out", "mixed formats", "out", _with(ADAPTIVE_AVG, "out", format="ND")),
    ("gradOutput-format", "NCHW has no depth", "gradOutput", change_all(ADAPTIVE_AVG, FLOATS_3D, format="NCHW")),
    ("gradOutput-format", "NDHWC is refused", "gradOutput", change_all(ADAPTIVE_AVG, FLOATS_3D, format="NDHWC")),
    ("sizes", "2**64 bytes and more", "gradOutput", _huge(ADAPTIVE_AVG, FLOATS_3D, 3)),
    (
        "sizes",
        "windows whose positions pass 64 bits",
        "self",
        change_all(ADAPTIVE_AVG, ("self", "out"), shape=(1, 1, 1, 1, 2**40))
        | _with(ADAPTIVE_AVG, "gradOutput", shape=(1, 1, 1, 1, 2**40)),
    ),
)

MAX_CASES = _common(MAX, "gradInput") + _lines(
    MAX,
    ("int64", "a dilation beyond 64 bits", "dilation", {"dilation": (1, 2**64)}),
    ("gradOutput-dtype", "integers are not pooled", "gradOutput", _with(MAX, "gradOutput", dtype="int32")),
    (
        "gradOutput-dtype",
        "halves are on Ascend 950 only",
        "gradOutput",
        change_all(MAX, FLOATS, dtype="float16"),
        A2_A3,
    ),
    (
        "gradOutput-dtype",
        "float64 is on no product",
        "gradOutput",
        change_all(MAX, FLOATS, dtype="float64"),
        SUPPORT[MAX],
    ),
    (
        "gradOutput-dtype-as-self",
        "mixed dtypes",
        "gradOutput",
        _with(MAX, "gradOutput", dtype="float16"),
        (*A950, NO_PRODUCT),
    ),
    (
        "gradInput-dtype-as-self",
        "mixed dtypes",
        "gradInput",
        _with(MAX, "gradInput", dtype="bfloat16"),
        (*A950, NO_PRODUCT),
    ),
    ("indices-dtype", "indices are integers", "indices", _with(MAX, "indices", dtype="float32")),
    ("indices-dtype", "int64 is on Ascend 950 only", "indices", _with(MAX, "indices", dtype="int64"), A2_A3),
    ("self-format", "a private format", "self", change_all(MAX, ALL_MAX, format="NC1HWC0")),
    ("self-format", "no layout at all", "self", change_all(MAX, ALL_MAX, format="UNDEFINED")),
    ("self-format", "NHWC is on Ascend 950 only", "self", change_all(MAX, ALL_MAX, format="NHWC"), A2_A3),
    ("gradOutput-format-as-self", "mixed formats", "gradOutput", _with(MAX, "gradOutput", format="ND")),
    ("indices-format-as-self", "mixed formats", "indices", _with(MAX, "indices", format="ND")),
    ("gradInput-format-as-self", "mixed formats", "gradInput", _with(MAX, "gradInput", format="ND")),
    ("gradOutput-rank", "rank 2", "gradOutput", _with(MAX, "gradOutput", shape=(4, 4))),
    ("gradOutput-rank", "rank 5", "indices", _with(MAX, "indices", shape=(1, 2, 3, 4, 4))),
    ("NCL-rank", "NCL has three axes", "gradOutput", change_all(MAX, ALL_MAX, format="NCL")),
    ("kernelSize-length", "no value", "kernelSize", {"kernelSize": ()}),
    ("stride-length", "three values", "stride", {"stride": (2, 2, 2)}),
    ("padding-length", "three values", "padding", {"padding": (0, 0, 0)}),
    ("dilation-length", "no value", "dilation", {"dilation": ()}),
    ("kernelSize-positive", "zero", "kernelSize", {"kernelSize": (0, 2)}),
    ("stride-positive", "negative", "stride", {"stride": (-2, 2)}),
    ("padding-negative", "negative", "padding", {"padding": (0, -1)}),
    ("padding-half", "padding is at most half the kernel", "padding", {"padding": (2, 2), "kernelSize": (3, 3)}),
    ("dilation-one", "dilation is on Ascend 950 only", "dilation", {"dilation": (2, 1)}, A2_A3),
    ("dilation-positive", "zero", "dilation", {"dilation": (0, 1)}, (*A950, NO_PRODUCT)),
    ("gradInput-shape-as-self", "shapes differ", "gradInput", _with(MAX, "gradInput", shape=(2, 3, 9, 8))),
    ("self-dims", "no rows", "self", change_all(MAX, ("self", "gradInput"), shape=(2, 3, 0, 8))),
    ("self-dims", "no channels", "self", change_all(MAX, ("self", "gradInput"), shape=(2, 0, 8, 8))),
    ("self-dims", "a negative batch", "self", change_all(MAX, ("self", "gradInput"), shape=(-2, 3, 8, 8))),
    ("windows-fit", "the window is larger than the input", "self", {"kernelSize": (9, 9)}),
    (
        "windows-not-empty",
        "dilation steps over the whole input",
        "dilation",
        change_all(MAX, ("self", "gradInput"), shape=(2, 3, 1, 8))
        | {"kernelSize": (2, 2), "padding": (1, 0), "dilation": (2, 1), "stride": (1, 2)},
        (*A950, NO_PRODUCT),
    ),
    ("gradOutput-pooled", "the formula gives 4 x 4", "gradOutput", _with(MAX, "gradOutput", shape=(2, 3, 5, 4))),
    ("gradOutput-pooled", "another batch", "gradOutput", _with(MAX, "gradOutput", shape=(1, 3, 4, 4))),
    ("indices-shape-as-gradOutput", "shapes differ", "indices", _with(MAX, "indices", shape=(2, 3, 4, 3))),
    ("sizes", "2**64 bytes and more", "gradOutput", _huge(MAX, ALL_MAX, 2)),
    (
        "sizes",
        "padding that makes positions pass 64 bits",
        "self",
        change_all(MAX, ("gradOutput",), shape=(2, 3, 5, 5))
        | change_all(MAX, ("indices",), shape=(2, 3, 5, 5))
        | {"kernelSize": (2**62,), "padding": (2**61,)},
    ),
)

ADAPTIVE_MAX_CASES = _common(ADAPTIVE_MAX, "gradInput") + _lines(
    ADAPTIVE_MAX,
    ("gradOutput-dtype", "integers are not pooled", "gradOutput", _with(ADAPTIVE_MAX, "gradOutput", dtype="int32")),
    (
        "gradOutput-dtype",
        "float64 is on no product",
        "gradOutput",
        change_all(ADAPTIVE_MAX, FLOATS, dtype="float64"),
        A2_A3,
    ),
    ("gradOutput-dtype-as-self", "mixed dtypes", "gradOutput", _with(ADAPTIVE_MAX, "gradOutput", dtype="float16")),
    ("gradInput-dtype-as-self", "mixed dtypes", "gradInput", _with(ADAPTIVE_MAX, "gradInput", dtype="bfloat16")),
    (
        "indices-dtype",
        "indices are integers of 32 or 64 bits",
        "indices",
        _with(ADAPTIVE_MAX, "indices", dtype="int16"),
    ),
    ("gradOutput-rank-as-self", "ranks differ", "gradOutput", _with(ADAPTIVE_MAX, "gradOutput", shape=(3, 4, 4))),
    ("indices-rank-as-self", "ranks differ", "indices", _with(ADAPTIVE_MAX, "indices", shape=(3, 4, 4))),
    ("gradInput-rank-as-self", "ranks differ", "gradInput", _with(ADAPTIVE_MAX, "gradInput", shape=(3, 8, 8))),
    ("gradOutput-shape-as-indices", "shapes differ", "gradOutput", _with(ADAPTIVE_MAX, "indices", shape=(2, 3, 4, 5))),
    ("self-shape-as-gradInput", "shapes differ", "gradInput", _with(ADAPTIVE_MAX, "gradInput", shape=(2, 3, 8, 9))),
    ("gradOutput-format-as-self", "mixed formats", "gradOutput", _with(ADAPTIVE_MAX, "gradOutput", format="NCHW")),
    ("indices-format-as-self", "mixed formats", "indices", _with(ADAPTIVE_MAX, "indices", format="NCHW")),
    ("gradInput-format-as-self", "mixed formats", "gradInput", _with(ADAPTIVE_MAX, "gradInput", format="NCHW")),
    ("self-format", "NHWC is refused", "self", change_all(ADAPTIVE_MAX, ALL_MAX, format="NHWC")),
    ("self-format", "a private format", "self", change_all(ADAPTIVE_MAX, ALL_MAX, format="FRACTAL_NZ")),
    (
        "self-rank",
        "rank 2",
        "self",
        change_all(ADAPTIVE_MAX, ("gradOutput", "indices"), shape=(4, 4))
        | change_all(ADAPTIVE_MAX, ("self", "gradInput"), shape=(8, 8))
        | {"indices": T((4, 4), "int32", "ND")},
    ),
    ("NCL-rank", "NCL has three axes", "gradOutput", change_all(ADAPTIVE_MAX, ALL_MAX, format="NCL")),
    ("negative-dims", "a negative size", "self", change_all(ADAPTIVE_MAX, ("self", "gradInput"), shape=(2, 3, -8, 8))),
    (
        "gradOutput-NC",
        "other channels",
        "gradOutput",
        change_all(ADAPTIVE_MAX, ("gradOutput", "indices"), shape=(2, 4, 4, 4)),
    ),
    (
        "plane-size",
        "2**31 elements in a plane",
        "self",
        change_all(ADAPTIVE_MAX, ("self", "gradInput"), shape=(2, 3, 2**16, 2**15)),
    ),
    ("sizes", "2**64 bytes and more", "gradOutput", _huge(ADAPTIVE_MAX, ALL_MAX, 2)),
)

CASES = AVG_CASES + ADAPTIVE_AVG_CASES + MAX_CASES + ADAPTIVE_MAX_CASES
