"""Every row of the contract through C: the status and the words that Python answers."""

from __future__ import annotations

import re
from typing import Any

import device
import pytest
from acl import test_contract_by_handles as by_handles
from capi.library import Library
from contract_cases import LEGAL, NO_PRODUCT, PRODUCTS, Case, T

from poolgrad import acl

Answer = tuple[int, str]


def fits(value: Any) -> bool:
    """Whether 64 bits hold every number of an argument."""
    if isinstance(value, T):
        return fits(value.shape)
    if isinstance(value, tuple):
        return all(map(fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


IN_C = [case for case in by_handles.HERE if all(map(fits, case.arguments.values()))]


def answer(layer: Any, patch: pytest.MonkeyPatch, operator: str, product: str, arguments: dict[str, Any]) -> Answer:
    """Status and text of phase one, without the time and the process."""
    patch.setattr(device, "acl", layer)
    patch.setattr(by_handles, "acl", layer)
    layer.set_product(product)
    assert layer.aclInit(None) == 0
    try:
        layer.aclGetRecentErrMsg()
        _, executor, status = by_handles.call(operator, product, arguments)
        text = layer.aclGetRecentErrMsg() or ""
        assert layer.aclDestroyAclOpExecutor(executor) == 0
        return status, re.sub(r"^\[PID:\d+\] \S+ ", "", text)
    finally:
        assert layer.aclFinalize() == 0


def test_what_does_not_fit_into_c_is_little() -> None:
    assert {case.row for case in by_handles.HERE if case not in IN_C} == {"int64"}


@pytest.mark.parametrize("case", IN_C, ids=str)
def test_broken_row_decides_in_pythons_words(case: Case, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    for product in case.products:
        if product == NO_PRODUCT:
            continue
        through_c = answer(library, monkeypatch, case.operator, product, case.arguments)
        assert through_c[0] == case.status
        assert f"; rule {case.row}:" in through_c[1]
        assert through_c == answer(acl, monkeypatch, case.operator, product, case.arguments)


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_have_what_they_have(product: str, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    for operator, arguments in LEGAL.items():
        through_c = answer(library, monkeypatch, operator, product, arguments)
        assert through_c == answer(acl, monkeypatch, operator, product, arguments)


@pytest.fixture(autouse=True)
def product_restored() -> Any:
    yield
    acl.set_product("Atlas A2")
