"""Every row of the contract, on every product where it holds; and everything that is documented as legal."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from contract_cases import CASES, DOCUMENTS, FILES, LEGAL, NO_PRODUCT, PRODUCTS, SUPPORT, Case, T, Unknown, every
from document import Document, Form, changed

from poolgrad import AclnnError
from poolgrad.base.dtypes import DTYPES, FORMATS, dtype_named
from poolgrad.base.products import ANY, Product, find_product
from poolgrad.base.status import name_of
from poolgrad.base.tensor import Tensor, contiguous_strides
from poolgrad.contract.engine import BadHandle, Value, prepare
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

EACH_DOCUMENT = pytest.mark.parametrize("document", DOCUMENTS.values(), ids=lambda document: document.name)
ON_EACH_PRODUCT = pytest.mark.parametrize(
    ("document", "product"),
    [pytest.param(d, product, id=f"{d.name}-{product}") for d in DOCUMENTS.values() for product in d.every],
)


def product_of(name: str) -> Product:
    return ANY if name == NO_PRODUCT else find_product(name)


def value_of(argument: Any) -> Value:
    if isinstance(argument, Unknown):
        return BadHandle("not a handle")
    if not isinstance(argument, T):
        return argument  # type: ignore[no-any-return]
    dtype = dtype_named(argument.dtype)
    strides = contiguous_strides(argument.shape, dtype.itemsize)
    if argument.strides is not None:
        strides = tuple(step * dtype.itemsize for step in argument.strides[-len(argument.shape) :])
    return Tensor(dtype, argument.shape, strides, argument.format, not argument.read_only)


def judge(operator: str, product: str, arguments: dict[str, Any]) -> None:
    prepare(REGISTRY[operator], product_of(product), {name: value_of(a) for name, a in arguments.items()}, 1)


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
        assert case.line.told in text
        assert "got" in text
        assert product == NO_PRODUCT or f"product {product}" in text


def first_product_row(operator: Operator, product: str) -> str:
    """The row that refuses a product that lacks the operator."""
    return next(c.key for c in operator.checks_on(product_of(product)) if c.key.startswith("product"))


@pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda o: o.name)
def test_every_row_has_a_case_on_every_product(operator: Operator) -> None:
    tested = {(case.row, product) for case in CASES if case.operator == operator.name for product in case.products}
    for product in (*PRODUCTS, NO_PRODUCT):
        has_it = product in every(operator.name)
        for check in operator.checks_on(product_of(product)):
            if check.key.startswith("product"):
                refused = {row for row, where in tested if where == product and row.startswith("product")}
                assert has_it or refused == {first_product_row(operator, product)}
            elif has_it:
                assert (check.key, product) in tested, f"no case breaks {check.key} on {product}"


def test_tables_list_every_operator_and_product() -> None:
    assert tuple(p for p in PRODUCTS) == tuple(find_product(p).name for p in PRODUCTS)
    assert {name: tuple(p.name for p in op.products) for name, op in REGISTRY.items()} == {
        name: tuple(p for p in products) for name, products in SUPPORT.items()
    }


@pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda o: o.name)
def test_rows_stand_in_the_documented_order(operator: Operator) -> None:
    expected = DOCUMENTS[operator.name].order.split()
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


@EACH_DOCUMENT
def test_every_operator_has_a_document_of_its_name(document: Document) -> None:
    operator = REGISTRY[document.name]
    assert operator.python_name in FILES
    assert (operator.name, operator.header) == (document.name, document.header)
    parameters = {p.name: p.c_type for p in operator.parameters}
    assert list(parameters.items()) == list(document.types.items()), "in this order"
    assert list(document.legal) == list(parameters)
    assert [p.name for p in operator.parameters if p.nullable] == document.nullable.split()


def test_every_operator_has_a_document() -> None:
    assert DOCUMENTS.keys() == REGISTRY.keys()


ODD_ONES = [
    pytest.param(document, what, odd, id=f"{document.name}-{what}-{odd}")
    for document in DOCUMENTS.values()
    for what, names in document.alike.items()
    for odd in names.split()
]


@pytest.mark.parametrize(("document", "what", "odd"), ODD_ONES)
def test_the_tensor_that_differs_is_to_blame(document: Document, what: str, odd: str) -> None:
    """Of tensors that must agree."""
    other = {"dtype": "float16", "format": "NCL"}[what]
    with pytest.raises(AclnnError) as caught:
        judge(document.name, NO_PRODUCT, changed(document.legal, {odd: {what: other}}))
    assert caught.value.parameter == odd


GRADIENTS = [operator for operator in REGISTRY.values() if operator.is_gradient]


@pytest.mark.parametrize("operator", GRADIENTS, ids=lambda o: o.name)
@pytest.mark.parametrize("role", [Role.INPUT, Role.RESULT])
def test_a_negative_size_is_to_blame_and_no_tensor_without_one(operator: Operator, role: Role) -> None:
    """Whether its own row comes first or the one about shapes that agree."""
    odd = operator.by_role[role].name
    legal = LEGAL[operator.name]
    batch, *others, _, last = legal[odd].shape
    with pytest.raises(AclnnError, match=f"{odd}.*: expected .*; got .*-4.*") as caught:
        judge(operator.name, NO_PRODUCT, changed(legal, {odd: {"shape": (batch, *others, -4, last)}}))
    assert (caught.value.parameter, caught.value.status) == (odd, 161002)


@pytest.mark.parametrize("operator", REGISTRY)
def test_the_legal_call_is_legal_everywhere(operator: str) -> None:
    for product in every(operator):
        judge(operator, product, LEGAL[operator])


@ON_EACH_PRODUCT
def test_every_documented_combination_is_accepted(document: Document, product: str) -> None:
    forms, calls = document.forms_on(product), document.calls_on(product)
    assert forms
    assert calls
    for form, call in itertools.product(forms, calls):
        judge(document.name, product, form.of(call, document.format))


@ON_EACH_PRODUCT
def test_every_format_is_judged_by_name(document: Document, product: str) -> None:
    """No format outside the documented ones slips through, whatever its code."""
    forms = {(form.rank, form.format) for form in document.forms_on(product)}
    for rank, format in itertools.product({rank for rank, _ in forms}, FORMATS):
        call = Form(rank, format, {}).of(document.legal, document.format)
        if (rank, format) in forms:
            judge(document.name, product, call)
        else:
            with pytest.raises(AclnnError):
                judge(document.name, product, call)


@ON_EACH_PRODUCT
def test_every_dtype_is_judged_by_name(document: Document, product: str) -> None:
    forms = document.forms_on(product)
    for usual, dtype in itertools.product({t.dtype for t in document.tensors.values()}, DTYPES):
        call = Form(forms[0].rank, forms[0].format, {usual: dtype}).of(document.legal, document.format)
        if any(form.dtypes[usual] == dtype for form in forms):
            judge(document.name, product, call)
        else:
            with pytest.raises(AclnnError):
                judge(document.name, product, call)
