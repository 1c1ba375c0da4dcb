"""``poolgrad explain`` shows the contract's own rows."""

from __future__ import annotations

import pytest
from cli.inside import poolgrad
from contract_cases import PRODUCTS, SUPPORT

from poolgrad.base.products import find_product
from poolgrad.operators import REGISTRY


@pytest.mark.parametrize("operator", REGISTRY)
def test_rows_come_in_their_order(operator: str) -> None:
    said = poolgrad("explain", operator, "--json").data
    first = [rule for rule in said["rules"] if rule["phase"] == 1]
    assert [rule["rule"] for rule in first] == [check.key for check in REGISTRY[operator].checks]
    assert [rule["says"] for rule in first] == [check.says for check in REGISTRY[operator].checks]
    assert {rule["source"] for rule in said["rules"]} >= {"document", "safe"}
    assert "workspace-size" in {rule["rule"] for rule in said["rules"] if rule["phase"] == 2}
    assert said["products"] == list(SUPPORT[operator])


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_has_its_own_rows(product: str) -> None:
    for operator in REGISTRY.values():
        said = poolgrad("explain", operator.name, "--product", product, "--json").data
        wanted = [check.key for check in operator.checks if find_product(product) in check.on]
        assert [rule["rule"] for rule in said["rules"] if rule["phase"] == 1] == wanted
        assert said["supported"] == (product in SUPPORT[operator.name])


def test_people_get_a_table() -> None:
    shown = poolgrad("explain", "avg_pool2d_backward", "--product", "Ascend910").stdout
    assert "divisorOverride is -255 to 255" in shown
    assert "holds on" not in shown
    assert "holds on" in poolgrad("explain", "avg_pool2d_backward").stdout
    assert "does not have it" in poolgrad("explain", "AdaptiveMaxPool2dBackward", "--product", "Ascend950").stdout
    assert "did you mean" in poolgrad("explain", "AvgPool", expect=2).stderr
    assert "unknown product" in poolgrad("explain", "AvgPool2dBackward", "--product", "Atlas", expect=2).stderr


CALL = ("AvgPool2dBackward", "--plan", "--x", "8,64,56,56", "--kernel-size", "3", "--stride", "1", "--padding", "1")


def test_the_way_of_a_call_and_why_not_the_others() -> None:
    said = poolgrad("explain", *CALL, "--json").data
    assert (said["way"], said["kernel"]) == ("few windows", "average_few_windows_3_1_1_0_0_1_0")
    ways = {way["way"]: way for way in said["ways"]}
    assert ways["few windows"] == {"way": "few windows", "taken": True, "needs": None, "pays_with": None}
    assert ways["channels last"]["needs"] == "channels side by side"
    assert ways["rows"]["needs"] is None  # it may be taken
    shown = poolgrad("explain", *CALL).stdout
    assert "few windows (kernel average_few_windows_3_1_1" in shown
    assert "needs channels side by side" in shown


def test_a_plan_needs_a_call_that_is_legal_and_rules_need_none() -> None:
    refused = poolgrad("explain", "AvgPool2dBackward", "--plan", "--x", "3,4", "--kernel-size", "3", expect=1).stdout
    assert "gradOutput-rank" in refused
    assert "--x is missing" in poolgrad("explain", "AvgPool2dBackward", "--plan", expect=2).stderr
    assert "add --plan" in poolgrad("explain", "AvgPool2dBackward", "--x", "1,2,3,4", expect=2).stderr
