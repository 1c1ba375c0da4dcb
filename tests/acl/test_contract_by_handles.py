"""Every row of the contract again, through the documented layer: same row, same status, text behind the call."""

from __future__ import annotations

from typing import Any

import pytest
from contract_cases import CASES, LEGAL, NO_PRODUCT, Case, T, Unknown, every
from device import describe, parameters, phase_one

from poolgrad import acl

# What a message is called, by the first digit of its status.
TITLES = {1: "AclNN_Parameter_Error(EZ1001)", 5: "AclNN_Inner_Error(EZ9999)"}
# Nothing in the documented layer is read-only.
HERE = [case for case in CASES if not case.row.endswith("-writable")]


def handle_of(argument: Any, made: list[tuple[str, int]]) -> Any:
    if isinstance(argument, T):
        handle = describe(argument.shape, argument.dtype, argument.format, strides=argument.strides)
        made.append(("Tensor", handle))
        return made[-1][1]
    if isinstance(argument, tuple):
        array = acl.aclCreateIntArray(argument)
        assert array is not None
        made.append(("IntArray", array))
        return array
    return 0xDEAD0 if isinstance(argument, Unknown) else argument


def call(operator: str, product: str, arguments: dict[str, Any]) -> tuple[int | None, int | None, int]:
    acl.set_product(product)
    made: list[tuple[str, int]] = []
    try:
        return phase_one(operator, *(handle_of(arguments[name], made) for name in parameters(operator)))
    finally:
        for kind, handle in made:
            assert getattr(acl, f"aclDestroy{kind}")(handle) == 0


@pytest.fixture(autouse=True)
def runtime() -> Any:
    assert acl.aclInit(None) == 0
    yield
    assert acl.aclFinalize() == 0
    acl.set_product("Atlas A2")


@pytest.mark.parametrize("case", HERE, ids=str)
def test_broken_row_decides_by_handles(case: Case) -> None:
    for product in case.products:
        if product == NO_PRODUCT:
            continue
        acl.aclGetRecentErrMsg()
        size, executor, ret = call(case.operator, product, case.arguments)
        assert (size, executor, ret) == (None, None, case.status)
        message = acl.aclGetRecentErrMsg()
        assert message is not None
        assert f"{case.operator}: {case.parameter}" in message
        assert f"; rule {case.row}:" in message
        assert TITLES[case.status // 100000] in message
        assert case.line.told in message
        assert acl.aclGetRecentErrMsg() is None


@pytest.mark.parametrize("operator", LEGAL)
def test_legal_call_is_planned(operator: str) -> None:
    for product in every(operator):
        if product != NO_PRODUCT:
            size, executor, ret = call(operator, product, LEGAL[operator])
            assert ret == 0, acl.aclGetRecentErrMsg()
            assert isinstance(size, int)
            assert acl.aclDestroyAclOpExecutor(executor) == 0
