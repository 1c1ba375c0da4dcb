"""Every row of the contract, on every product where it holds; and everything that is documented as legal."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from contract_cases import (
    ADAPTIVE_AVG,
    ADAPTIVE_MAX,
    AVG,
    CASES,
    FLOATS,
    FLOATS_3D,
    LEGAL,
    MAX,
    NO_PRODUCT,
    PRODUCTS,
    SUPPORT,
    Case,
    T,
    Unknown,
    change_all,
    every,
)

from poolgrad import AclnnError
from poolgrad.contract import BadHandle, Operator, Value, prepare
from poolgrad.dtypes import FORMATS, dtype_named
from poolgrad.operators import REGISTRY
from poolgrad.products import ANY, Product, find_product
from poolgrad.status import name_of
from poolgrad.tensor import Tensor, contiguous_strides

# The order of the checks, as the contract tells it, row by row; rows of our own stand where they are harmless.
ORDER = {
    AVG: """gradOutput-null self-null kernelSize-null padding-null gradInput-null product handles int64
        gradOutput-dtype gradOutput-dtype-as-gradInput self-dtype-as-gradInput
        gradOutput-format self-format-as-gradInput gradOutput-rank gradOutput-rank-as-self NCL-rank negative-dims
        kernelSize-length kernelSize-positive stride-length stride-positive padding-length padding-half
        padding-negative cubeMathType-range cubeMathType-dtype self-shape-as-gradInput empty gradOutput-NC
        gradOutput-pooled divisorOverride-range sizes gradInput-writable""",
    ADAPTIVE_AVG: """gradOutput-null self-null out-null product handles int64 self-rank gradOutput-rank-as-self
        out-rank-as-self self-dims out-shape-as-self gradOutput-NC gradOutput-dims gradOutput-dtype
        gradOutput-dtype-as-self self-dtype-as-out gradOutput-format-as-self self-format-as-out gradOutput-format
        sizes out-writable""",
    MAX: """gradOutput-null self-null indices-null kernelSize-null stride-null padding-null dilation-null
        gradInput-null product handles int64 gradOutput-dtype gradOutput-dtype-as-self gradInput-dtype-as-self
        indices-dtype self-format gradOutput-format-as-self indices-format-as-self gradInput-format-as-self
        gradOutput-rank NCL-rank kernelSize-length stride-length padding-length dilation-length kernelSize-positive
        stride-positive padding-negative padding-half dilation-one dilation-positive gradInput-shape-as-self
        self-dims windows-fit windows-not-empty gradOutput-pooled indices-shape-as-gradOutput sizes
        gradInput-writable""",
    ADAPTIVE_MAX: """gradOutput-null self-null indices-null gradInput-null product handles int64 gradOutput-dtype
        gradOutput-dtype-as-self gradInput-dtype-as-self indices-dtype gradOutput-rank-as-self indices-rank-as-self
        gradInput-rank-as-self gradOutput-shape-as-indices self-shape-as-gradInput gradOutput-format-as-self
        indices-format-as-self gradInput-format-as-self self-format self-rank NCL-rank negative-dims gradOutput-NC
        plane-size sizes gradInput-writable""",
}


def product_of(name: str) -> Product:
    return ANY if name == NO_PRODUCT else find_product(name)


def value_of(argument: Any) -> Value:
    if isinstance(argument, Unknown):
        return BadHandle("not a handle")
    if not isinstance(argument, T):
        return argument  # type: ignore[no-any-return]
    dtype = dtype_named(argument.dtype)
    strides = contiguous_strides(argument.shape, dtype.itemsize)
    return Tensor(dtype, argument.shape, strides, argument.format, not argument.read_only)


def judge(operator: str, product: str, arguments: dict[str, Any]) -> None:
    prepare(REGISTRY[operator], product_of(product), {name: value_of(a) for name, a in arguments.items()})


def row_in(error: AclnnError) -> str:
    return str(error).rsplit("; rule ", 1)[1].split(":", 1)[0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_broken_row_decides(case: Case) -> None:
    assert case.products
    for product in case.products:
        with pytest.raises(AclnnError) as caught:
            judge(case.operator, product, case.arguments)
        error = caught.value
        assert (row_in(error), error.parameter, error.status) == (case.row, case.parameter, case.status), product
        assert error.operator == case.operator
        assert error.product == (None if product == NO_PRODUCT else product)
        text = str(error)
        assert case.operator in text
        assert f"{case.status} {name_of(case.status)}" in text
        assert "expected" in text
        assert "got" in text
        assert product == NO_PRODUCT or f"product {product}" in text


@pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda o: o.name)
def test_every_row_has_a_case_on_every_product(operator: Operator) -> None:
    tested = {(case.row, product) for case in CASES if case.operator == operator.name for product in case.products}
    for product in (*PRODUCTS, NO_PRODUCT):
        has_it = product in every(operator.name)
        for check in operator.checks_on(product_of(product)):
            if check.key == "product":
                assert has_it or ("product", product) in tested
            elif has_it:
                assert (check.key, product) in tested, f"no case breaks {check.key} on {product}"


def test_tables_list_every_operator_and_product() -> None:
    assert tuple(p for p in PRODUCTS) == tuple(find_product(p).name for p in PRODUCTS)
    assert {name: tuple(p.name for p in op.products) for name, op in REGISTRY.items()} == {
        name: tuple(p for p in products) for name, products in SUPPORT.items()
    }


@pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda o: o.name)
def test_rows_stand_in_the_documented_order(operator: Operator) -> None:
    expected = ORDER[operator.name].split()
    for product in (*PRODUCTS, NO_PRODUCT):
        keys = [check.key for check in operator.checks_on(product_of(product))]
        assert len(keys) == len(set(keys)), "a row's name is unique on a product"
        assert keys == [key for key in expected if key in keys]
    assert set(expected) == {check.key for check in operator.checks}


@pytest.mark.parametrize("operator", REGISTRY)
def test_the_earlier_of_two_broken_rows_decides(operator: str) -> None:
    cases = [case for case in CASES if case.operator == operator and case.row != "product"]
    for product in every(operator):
        rows = [check.key for check in REGISTRY[operator].checks_on(product_of(product))]
        here = [case for case in cases if product in case.products]
        for one, other in itertools.combinations(here, 2):
            if one.changes.keys() & other.changes.keys():
                continue
            with pytest.raises(AclnnError) as caught:
                judge(operator, product, one.arguments | other.changes)
            assert rows.index(row_in(caught.value)) <= min(rows.index(one.row), rows.index(other.row))


# Three tensors that must agree, one of which does not: the operator, how it differs, and which.
ODD_ONES = [
    (operator, what, odd)
    for operator, tensors in ((AVG, FLOATS), (ADAPTIVE_AVG, FLOATS_3D), (MAX, FLOATS), (ADAPTIVE_MAX, FLOATS))
    for what in ({"dtype": "float16"}, {"format": "NCL"})
    for odd in tensors
]


@pytest.mark.parametrize(("operator", "what", "odd"), ODD_ONES)
def test_the_tensor_that_differs_is_to_blame(operator: str, what: dict[str, str], odd: str) -> None:
    with pytest.raises(AclnnError) as caught:
        judge(operator, NO_PRODUCT, LEGAL[operator] | change_all(operator, (odd,), **what))
    assert caught.value.parameter == odd


CHANNELS_LAST = [
    (
        AVG,
        "Atlas A2",
        "NHWC",
        (2, 8, 8, 3),
        "Describe the same memory as NCHW: shape (2, 3, 8, 8), strides (192, 1, 24, 3)",
    ),
    (AVG, NO_PRODUCT, "NHWC", (8, 8, 3), "Describe the same memory as NCHW: shape (3, 8, 8), strides (1, 24, 3)"),
    (AVG, "Atlas A2", "NHWC", (8, 3), "Use one of these formats."),
    (AVG, "Atlas A2", "NC1HWC0", (2, 8, 8, 3), "Use one of these formats."),
    (
        ADAPTIVE_AVG,
        "Atlas A3",
        "NDHWC",
        (2, 4, 4, 4, 3),
        "Describe the same memory as NCDHW: shape (2, 3, 4, 4, 4), strides (192, 1, 48, 12, 3)",
    ),
    (
        MAX,
        "Atlas A3",
        "NHWC",
        (2, 8, 8, 3),
        "Choose Ascend 950, which takes NHWC, or describe the same memory as NCHW: ",
    ),
    (MAX, "Atlas A3", "NHWC", (8, 3), "Choose Ascend 950, which takes NHWC. ["),
    (ADAPTIVE_MAX, "Atlas A2", "NHWC", (2, 8, 8, 3), "Describe the same memory as NCHW: shape (2, 3, 8, 8), "),
]


@pytest.mark.parametrize(("operator", "product", "format", "shape", "told"), CHANNELS_LAST)
def test_a_refused_format_is_answered_with_a_way(
    operator: str, product: str, format: str, shape: tuple[int, ...], told: str
) -> None:
    tensors = {name: replace(t, shape=shape, format=format) for name, t in LEGAL[operator].items() if isinstance(t, T)}
    with pytest.raises(AclnnError) as caught:
        judge(operator, product, LEGAL[operator] | tensors)
    assert told in str(caught.value)


@pytest.mark.parametrize("operator", REGISTRY)
def test_the_legal_call_is_legal_everywhere(operator: str) -> None:
    for product in every(operator):
        judge(operator, product, LEGAL[operator])


AVG_DTYPES = {
    "Atlas A2": ("float32", "float16", "bfloat16"),
    "Atlas A3": ("float32", "float16", "bfloat16"),
    "Ascend 950": ("float32", "float16", "bfloat16"),
    "Atlas inference series": ("float32", "float16"),
    "Atlas training series": ("float32", "float16"),
    NO_PRODUCT: ("float64", "float32", "float16", "bfloat16"),
}


@pytest.mark.parametrize("product", AVG_DTYPES)
def test_average_accepts_every_documented_combination(product: str) -> None:
    ranks = [((2, 3), ("NCHW",)), ((3,), ("NCHW", "NCL"))]
    lengths = itertools.product([(2,), (2, 2)], [None, (), (2,), (2, 2)], [(0,), (0, 0)])
    for dtype, (lead, formats), (kernel, stride, padding) in itertools.product(AVG_DTYPES[product], ranks, lengths):
        for format in formats:
            tensors = {
                name: T((*lead, *size), dtype, format)
                for name, size in (("gradOutput", (4, 4)), ("self", (8, 8)), ("gradInput", (8, 8)))
            }
            numbers = {"kernelSize": kernel, "stride": stride, "padding": padding}
            judge(AVG, product, LEGAL[AVG] | tensors | numbers)
    for divisor in (-255, -1, 1, 255):
        judge(AVG, product, LEGAL[AVG] | {"divisorOverride": divisor})
    if product not in ("Atlas inference series", "Atlas training series"):
        for divisor in (-(2**63), -256, 256, 2**63 - 1):
            judge(AVG, product, LEGAL[AVG] | {"divisorOverride": divisor})
    judge(AVG, product, LEGAL[AVG] | {"kernelSize": (2,), "padding": (1,), "gradOutput": T((2, 3, 5, 5))})


# cubeMathType 0 to 3: what gradOutput is rounded to, "-" where the call is refused.
CUBE_TABLE = """
    Atlas A2                float32   kept hf32 float16 hf32
    Atlas A2                float16   kept kept kept -
    Atlas A2                bfloat16  kept kept - -
    Atlas inference series  float32   - float16 float16 -
    Atlas inference series  float16   kept kept kept -
    Ascend 950              float32   kept kept float16 kept
    Ascend 950              float16   kept kept kept -
    Ascend 950              bfloat16  kept kept kept -
    Ascend 950 global       float32   kept hf32-950 float16 hf32-950
    Ascend 950 global       float16   kept kept kept -
    Ascend 950 global       bfloat16  kept kept - -
    no product              float32   kept hf32 float16 hf32
    no product              float16   kept kept kept -
    no product              bfloat16  kept kept - -
    no product              float64   kept kept - -
"""
SAME_TABLE = {"Atlas A2": ("Atlas A2", "Atlas A3"), "Atlas inference series": PRODUCTS[2:4]}
ROUNDING_CODES = {"kept": 0, "float16": 1, "hf32": 2, "hf32-950": 3}


@pytest.mark.parametrize("line", CUBE_TABLE.strip().splitlines(), ids=str.strip)
def test_cube_math_type(line: str) -> None:
    *words, dtype, m0, m1, m2, m3 = line.split()
    whole_plane = words[-1] == "global"
    name = " ".join(words[:-1] if whole_plane else words)
    for product, (mode, meaning) in itertools.product(SAME_TABLE.get(name, (name,)), enumerate((m0, m1, m2, m3))):
        kernel, out = ((8, 8), (1, 1)) if whole_plane else ((2, 2), (4, 4))
        arguments = LEGAL[AVG] | {
            "gradOutput": T((2, 3, *out), dtype),
            "self": T((2, 3, 8, 8), dtype),
            "gradInput": T((2, 3, 8, 8), dtype),
            "kernelSize": kernel,
            "cubeMathType": mode,
        }
        values = {key: value_of(a) for key, a in arguments.items()}
        if meaning == "-":
            with pytest.raises(AclnnError, match="cubeMathType-dtype"):
                prepare(REGISTRY[AVG], product_of(product), values)
        else:
            plan = prepare(REGISTRY[AVG], product_of(product), values)
            assert plan.record["rounding"][0] == ROUNDING_CODES[meaning], (product, mode)


@pytest.mark.parametrize("product", every(ADAPTIVE_AVG))
def test_adaptive_average_accepts_every_documented_combination(product: str) -> None:
    dtypes = ("float32", "float16", "bfloat16") + (("float64",) if product == NO_PRODUCT else ())
    outs = ((2, 2, 2), (3, 4, 1), (5, 9, 7))  # divisible, not divisible, larger than the input
    for dtype, lead, format, out in itertools.product(dtypes, ((2, 3), (3,)), ("NCDHW", "ND"), outs):
        sizes = {"gradOutput": out, "self": (4, 4, 4), "out": (4, 4, 4)}
        judge(ADAPTIVE_AVG, product, {n: T((*lead, *size), dtype, format) for n, size in sizes.items()})


@pytest.mark.parametrize("product", every(MAX))
def test_max_accepts_every_documented_combination(product: str) -> None:
    latest = product in ("Ascend 950", NO_PRODUCT)
    dtypes = (("float32", "float16", "bfloat16") if latest else ("float32",)) + (
        ("float64",) if product == NO_PRODUCT else ()
    )
    for dtype, index, lead in itertools.product(dtypes, ("int32", "int64") if latest else ("int32",), ((2, 3), (3,))):
        formats = ["NCHW", "ND"] + (["NCL"] if len(lead) == 1 else []) + (["NHWC"] if latest else [])
        for format in formats:
            small, large = (
                (*lead[:-1], size, size, lead[-1]) if format == "NHWC" else (*lead, size, size) for size in (4, 8)
            )
            tensors = {
                "gradOutput": T(small, dtype, format),
                "self": T(large, dtype, format),
                "indices": T(small, index, format),
                "gradInput": T(large, dtype, format),
            }
            judge(MAX, product, LEGAL[MAX] | tensors)
    for kernel, stride, padding, dilation in itertools.product(
        [(2,), (2, 2)], [(), (2,), (2, 2)], [(0,), (0, 0)], [(1,), (1, 1)]
    ):
        numbers = {"kernelSize": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        judge(MAX, product, LEGAL[MAX] | numbers)
    empty = {
        n: T((0, 3, *LEGAL[MAX][n].shape[2:]), LEGAL[MAX][n].dtype)
        for n in ("gradOutput", "self", "indices", "gradInput")
    }
    judge(MAX, product, LEGAL[MAX] | empty)
    if latest:
        small = {"gradOutput": T((2, 3, 3, 3)), "indices": T((2, 3, 3, 3), "int32")}
        judge(MAX, product, LEGAL[MAX] | small | {"dilation": (2, 2)})


@pytest.mark.parametrize("product", every(ADAPTIVE_MAX))
def test_adaptive_max_accepts_every_documented_combination(product: str) -> None:
    dtypes = ("float32", "float16", "bfloat16") + (("float64",) if product == NO_PRODUCT else ())
    for dtype, index, lead in itertools.product(dtypes, ("int32", "int64"), ((2, 3), (3,))):
        for format in ("ND", "NCHW", *(("NCL",) if len(lead) == 1 else ())):
            for out in ((4, 4), (3, 5), (9, 10), (0, 4)):
                tensors = {
                    "gradOutput": T((*lead, *out), dtype, format),
                    "self": T((*lead, 8, 8), dtype, format),
                    "indices": T((*lead, *out), index, format),
                    "gradInput": T((*lead, 8, 8), dtype, format),
                }
                judge(ADAPTIVE_MAX, product, tensors)


def test_empty_batches_need_no_product() -> None:
    """With no product an empty batch is an empty result; every documented product of the averages refuses it."""
    avg = {n: T((0, *t.shape[1:])) for n, t in LEGAL[AVG].items() if isinstance(t, T)}
    judge(AVG, NO_PRODUCT, LEGAL[AVG] | avg)
    judge(ADAPTIVE_AVG, NO_PRODUCT, {n: T((0, *t.shape[1:]), format="ND") for n, t in LEGAL[ADAPTIVE_AVG].items()})


def test_every_format_is_judged_by_name() -> None:
    """No format outside the documented ones slips through, whatever its code."""
    for format in FORMATS:
        tensors = {n: T(t.shape, t.dtype, format) for n, t in LEGAL[AVG].items() if isinstance(t, T)}
        if format == "NCHW":
            judge(AVG, "Atlas A2", LEGAL[AVG] | tensors)
        else:
            with pytest.raises(AclnnError):
                judge(AVG, "Atlas A2", LEGAL[AVG] | tensors)
