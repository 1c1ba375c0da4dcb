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
