"""Products are found by the names that devices report, that documents print and that people write."""

from __future__ import annotations

import pytest

from poolgrad.base.products import A2, A3, A200I, A950, INFERENCE, PRODUCTS, TRAINING, Product, find_product, soc_name

# What devices report; the first is what the simulated device reports if nobody names one.
DEVICES = {
    A2: ("Ascend910B1", "Ascend910B2", "Ascend910B2C", "Ascend910B3", "Ascend910B4", "Ascend910B4-1"),
    A3: ("Ascend910_9391", "Ascend910_9392", "Ascend910_9381", "Ascend910_9382", "Ascend910_9372", "Ascend910_9362"),
    INFERENCE: ("Ascend310P3", "Ascend310P1", "Ascend310P5", "Ascend310P7"),
    TRAINING: ("Ascend910A", "Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA"),
    A950: ("Ascend950PR_9599", "Ascend950PR_957b", "Ascend950DT_95A1", "Ascend950PR", "Ascend950DT", "Ascend910_9589"),
    A200I: ("Ascend310B1", "Ascend310B4", "Ascend310"),
}
# What documents and people write.
WRITTEN = {
    A2: (
        "A2",
        "a2",
        "910B",
        "Ascend 910B",
        "Atlas A2 训练系列产品",
        "Atlas A2 推理系列产品",
        "Atlas A2训练系列产品",
        "Atlas A2 训练系列产品/Atlas A2 推理系列产品",
        "Atlas 800I A2 推理产品",
        "A200I A2 Box 异构组件",
        "Atlas A2 训练系列产品/Atlas 800I A2 推理产品/A200I A2 Box 异构组件",
    ),
    A3: ("A3", "910_93", "Ascend910C", "Atlas A3 训练系列产品/Atlas A3 推理系列产品"),
    INFERENCE: ("310P", "Atlas 推理系列产品", "Atlas 推理系列产品 "),
    TRAINING: ("910", "Atlas 训练系列产品"),
    A950: ("950", "Ascend950", "950DT", "Ascend 950PR/Ascend 950DT", "Ascend910_95", "昇腾910_95 AI处理器", "昇腾 950"),
    A200I: ("310B", "200I/500 A2", "Atlas 200I/500 A2 推理产品", "Atlas 200/300/500 推理产品"),
}


def pairs(names: dict[Product, tuple[str, ...]]) -> list[tuple[Product, str]]:
    return [(product, name) for product, several in names.items() for name in several]


@pytest.mark.parametrize(("product", "name"), pairs(DEVICES))
def test_what_a_device_reports_names_its_product_and_that_device(product: Product, name: str) -> None:
    for written in (name, name.removeprefix("Ascend"), f" {name} "):
        assert find_product(written) is product
        assert soc_name(written) == name


@pytest.mark.parametrize("name", ["ascend910b3", "910b3", "ASCEND910B3"])
def test_the_device_is_spelled_as_devices_spell_it(name: str) -> None:
    assert soc_name(name) == "Ascend910B3"


@pytest.mark.parametrize(("product", "name"), pairs(WRITTEN))
def test_what_documents_and_people_write(product: Product, name: str) -> None:
    assert find_product(name) is product


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_a_product_without_a_device_is_its_first_one(product: Product) -> None:
    for name in (product.name, product.soc, *WRITTEN[product][:1]):
        assert soc_name(name) == DEVICES[product][0]


@pytest.mark.parametrize(
    "name",
    [
        "Ascend910D",
        "Ascend910B12",
        "Ascend910B٣",
        "Ascend910_92",
        "Ascend910_939",
        "Ascend910_9491",
        "Ascend950XX",
        "Ascend310PX",
        "Ascend",
        "Atlas",
        "昇腾",
        "/",
        "Atlas A2 训练系列产品/Atlas A3 训练系列产品",
        "Atlas A2/",
    ],
)
def test_names_that_only_look_alike_are_unknown(name: str) -> None:
    for find in (find_product, soc_name):
        with pytest.raises(ValueError, match=r"unknown product .*Atlas A2.*Ascend910B.*a device such as 'Ascend910B1'"):
            find(name)
