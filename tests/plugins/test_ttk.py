"""TTK's plug-in gives what plain loops give, and the contract's answer, called as TTK calls it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from plugins.example_calls import (
    ADAPTIVE_AVG,
    AVG,
    FLOATS,
    FORMAT,
    INDEX_TYPES,
    MAX,
    SOC,
    WITH_INDICES,
    WITH_MASK,
    assert_same,
    assert_wanted,
    legal_indices,
    parameters,
    wanted,
)
from plugins.stand_ins import Ttk

import poolgrad
from poolgrad.arrays.files import numpy_dtype
from poolgrad.base.products import find_product
from poolgrad.cases.model import Case, CaseTensor
from poolgrad.cases.suite import suite_of
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY
from poolgrad.plugins import ttk
from poolgrad.run.calls import one_or_all
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
TTK = Ttk(ttk.__file__)


def run_all(operator: str, given: dict[str, Any], **options: Any) -> list[Array]:
    got = TTK.run(operator, given, **({"formats": (FORMAT[operator],), "soc": SOC[operator]} | options))
    assert all(isinstance(one, np.ndarray) for one in got)
    return got


def run(operator: str, given: dict[str, Any], **options: Any) -> Array:
    (got,) = run_all(operator, given, **options)
    return got


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_golden_results_for_ttk(operator: str, dtype: Any) -> None:
    for index in INDEX_TYPES[operator]:
        given = parameters(operator, dtype, index)
        outputs = [given[p.name] for p in REGISTRY[operator].outputs]
        for output in outputs:
            output[...] = 7
        assert_wanted(operator, run_all(operator, given), given, dtype, index)
        assert all(np.all(output == 7) for output in outputs)  # they are TTK's own


def test_every_operator_is_found_and_no_standard_is_set() -> None:
    """Versions of TTK differ in the standards that a TestSpec may name; ``--compare`` has them all."""
    assert set(TTK.names) == set(REGISTRY)
    for api in REGISTRY:
        assert not hasattr(TTK.spec(api), "tolerance")
        assert hasattr(TTK.spec(api), "customize_inputs") == (api in (*WITH_INDICES, *WITH_MASK))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("operator", WITH_INDICES)
def test_indices_are_written_where_they_stand(operator: str, index: Any) -> None:
    given = parameters(operator, index=index)
    apart = np.full((*given["indices"].shape, 2), -5, index)
    given["indices"] = apart[..., 0]
    indices = given["indices"]
    changed = TTK.spec(operator).customize_inputs(*given.values(), tensor_formats=(FORMAT[operator],))
    assert np.array_equal(indices, legal_indices(operator, given["self"]))
    assert np.all(apart[..., 1] == -5)
    assert [id(value) for value in changed] == [id(value) for value in given.values()]


@pytest.mark.parametrize("operator", WITH_MASK)
@pytest.mark.parametrize("soc", ["Ascend910B", "Ascend910"])
def test_masks_are_written_as_the_device_keeps_them(operator: str, soc: str) -> None:
    """Of places on the one, of bits on the other; the gradient is the same."""
    given = parameters(operator)
    TTK.spec(operator).customize_inputs(*given.values(), tensor_formats=("NCHW",), short_soc_version=soc)
    product = {"Ascend910B": "Atlas A2", "Ascend910": "Atlas training series"}[soc]
    windows = {"kernel_size": 3, "stride": 2, "padding": 1, "product": product}
    indices = poolgrad.mask_to_indices(given["indices"], given["self"], **windows)
    assert np.array_equal(indices, legal_indices(operator, given["self"]))
    for promote in (lambda value: value, promoted):
        arguments = [promote(value) for value in given.values()]
        (got,) = TTK.spec(operator).golden(*arguments, tensor_formats=("NCHW",), short_soc_version=soc)
        assert_same(got, wanted(operator, given), arguments[0].dtype)


def test_arguments_may_come_by_name_with_self_by_position_and_without_an_output() -> None:
    given = parameters(MAX)
    expected = wanted(MAX, given)
    x = given.pop("self")
    del given["gradInput"]
    changed = TTK.spec(MAX).customize_inputs(x, **given, testcase_name="an extra word")
    assert list(changed) == ["gradOutput", "indices", "kernelSize", "stride", "padding", "dilation", "ceilMode", "self"]
    assert np.array_equal(given["indices"], legal_indices(MAX, x))
    (got,) = TTK.spec(MAX).golden(x, **given)
    assert_same(got, expected, np.float32)


def test_a_call_that_is_to_be_refused_keeps_its_indices() -> None:
    """It has no forward pass, and the golden side says why."""
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"kernelSize": [0]}, "kernelSize-positive"),
        ({"kernelSize": [1, 2, 3]}, "kernelSize-length"),
        ({"stride": [-1]}, "stride-positive"),
        ({"padding": [2]}, "padding-half"),
        ({"dilation": [9]}, "windows-fit"),
        ({"indices": np.full((2, 3, 3, 5), -5, np.int32)}, "indices-shape-as-gradOutput"),
        ({"indices": np.full((2, 3, 3, 4), -5, np.float32)}, "indices-dtype"),
        ({"gradOutput": np.zeros((2, 3, 9, 9), np.float32)}, "gradOutput-pooled"),
    )
    for changes, rule in refused:
        given = parameters(MAX) | changes
        with pytest.raises(poolgrad.AclnnError, match=rule):
            run(MAX, given)
        assert np.all(given["indices"] == -5)


@pytest.mark.parametrize("operator", REGISTRY)
def test_a_null_tensor_or_array_is_161001(operator: str) -> None:
    pointers = [p for p in REGISTRY[operator].parameters if p.kind in ("tensor", "ints")]
    assert [p.name for p in pointers if p.nullable] == (["stride"] if operator == AVG else [])
    for name, nullable in ((p.name, p.nullable) for p in pointers):
        if nullable:
            given = parameters(operator)
            assert_wanted(operator, run_all(operator, given | {name: None}), given, np.float32)
            continue
        with pytest.raises(poolgrad.AclnnError, match=f"{name}-null") as caught:
            run_all(operator, parameters(operator) | {name: None})
        assert caught.value.status == 161001


def test_the_formats_of_the_case_are_judged() -> None:
    for formats in (("ND",), (), None, "ND"):  # a case without formats is one in ND
        with pytest.raises(poolgrad.AclnnError, match="gradOutput-format"):
            run(AVG, parameters(AVG), formats=formats)
    with pytest.raises(poolgrad.AclnnError, match="gradOutput-format-as-self"):
        run(ADAPTIVE_AVG, parameters(ADAPTIVE_AVG), formats=("NCDHW", "ND", "ND"))
    with pytest.raises(poolgrad.AclnnError, match="gradInput-format-as-self"):
        run(MAX, parameters(MAX), formats=("ND", "ND", "ND", "NCHW"))
    with pytest.raises(ValueError, match="expected one format, or 3, for gradOutput, self, gradInput; got"):
        run(AVG, parameters(AVG), formats=("NCHW", "NCHW"))


def test_channels_may_be_last() -> None:
    given = parameters(MAX)
    expected = wanted(MAX, given)
    last = {n: np.moveaxis(v, 1, -1).copy() if isinstance(v, np.ndarray) else v for n, v in given.items()}
    assert_same(np.moveaxis(run(MAX, last, formats=("NHWC",)), -1, 1), expected, np.float32)
    assert np.array_equal(np.moveaxis(last["indices"], -1, 1), legal_indices(MAX, given["self"]))


@pytest.mark.parametrize("operator", REGISTRY)
def test_every_output_is_judged(operator: str) -> None:
    given = parameters(operator)
    for output, right in ((p.name, given[p.name]) for p in REGISTRY[operator].outputs):
        for wrong in (np.zeros_like(right[..., 1:]), np.zeros(right.shape, np.float16)):
            with pytest.raises(poolgrad.AclnnError) as caught:
                run_all(operator, given | {output: wrong}, soc="Ascend910B")
            assert caught.value.status == 161002
            assert output in str(caught.value)


def test_the_product_is_the_device_unless_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    given = parameters(MAX, np.float16)
    assert run(MAX, given, soc="Ascend950").dtype == np.float16
    assert run(MAX, given, soc="").dtype == np.float16  # what any product accepts
    with pytest.raises(poolgrad.AclnnError, match="Atlas A2"):
        run(MAX, given, soc="Ascend910B")
    with pytest.raises(ValueError, match="unknown product 'Ascend7'"):
        run(MAX, given, soc="Ascend7")
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Ascend950")
    assert run(MAX, given, soc="Ascend910B").dtype == np.float16
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Ascend910B")
    with pytest.raises(poolgrad.AclnnError, match="Atlas A2"):
        run(MAX, given, soc="Ascend950")


# ---- --golden-mode Promote -------------------------------------------------------------------------------------------


def promoted(value: Any) -> Any:
    """float64 for float32, in the output too."""
    is_float = isinstance(value, np.ndarray) and value.dtype == np.float32
    return value.astype(np.float64) if is_float else value


@pytest.mark.parametrize("output", [np.float32, np.float64])
@pytest.mark.parametrize("operator", REGISTRY)
def test_promoted_results_are_float64(operator: str, output: Any) -> None:
    given = parameters(operator)

    def promote(value: Any) -> Any:
        is_result = value is given[REGISTRY[operator].by_role[Role.RESULT].name]
        return value.astype(output) if is_result else promoted(value)

    assert_wanted(operator, run_all(operator, given, promote=promote), given, np.float64)


ROUNDINGS = {
    "Ascend910B": {0: "kept", 1: 11, 2: "float16", 3: 11},
    "Ascend310P": {1: "float16", 2: "float16"},
    "Ascend950": {0: "kept", 1: "kept", 2: "float16", 3: "kept"},
    "Ascend950 global": {0: "kept", 1: 10, 2: "float16", 3: 10},
    "": {0: "kept", 1: 11, 2: "float16", 3: 11},
}


@pytest.mark.parametrize("cube", range(4))
@pytest.mark.parametrize("case", ROUNDINGS)
def test_promoted_gradients_are_rounded_as_cube_math_type_says(case: str, cube: int) -> None:
    """One gradient of 1 x 1 in a plane: of a window that is the plane in global pooling, else of a part of it."""
    sizes = (2, 3, 4, 4) if "global" in case else (2, 3, 5, 7)
    grad = np.random.default_rng(3).normal(size=(2, 3, 1, 1)).astype(np.float32) * 3
    x = np.zeros(sizes, np.float32)
    given = parameters(AVG) | {"gradOutput": grad, "self": x, "gradInput": x.copy(), "kernelSize": [4]}
    given["cubeMathType"] = cube
    soc = case.removesuffix(" global")
    if cube not in ROUNDINGS[case]:
        with pytest.raises(poolgrad.AclnnError, match="cubeMathType-dtype"):
            run(AVG, given, soc=soc, promote=promoted)
        return
    rounding = ROUNDINGS[case][cube]
    if rounding == "float16":
        grad = grad.astype(np.float16)
    elif isinstance(rounding, int):
        grad = reference.round_to_hf32(grad, rounding)
    expected = reference.avg_pool2d_backward(grad.astype(np.float64), sizes, (4, 4), (4, 4), (0, 0))
    assert_same(run(AVG, given, soc=soc, promote=promoted), expected, np.float64)


# ---- the suite -------------------------------------------------------------------------------------------------------

CASES = [case for operator in REGISTRY for case in suite_of(operator)]


def fits_ttk(case: Case) -> bool:
    """TTK itself refuses negative strides, and views outside their storage or beyond memory."""

    def fits(tensor: CaseTensor) -> bool:
        if min((*tensor.steps, *tensor.shape), default=0) < 0 or tensor.count > 2**20:
            return False
        end = tensor.offset + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.steps, strict=True))
        return tensor.storage is None or not tensor.count or end < math.prod(tensor.storage)

    return all(tensor is None or fits(tensor) for tensor in case.tensors.values())


def made(tensor: CaseTensor | None, seed: int) -> Array | None:
    """A view of a storage of its own, with numbers that mean nothing."""
    if tensor is None:
        return None
    count = math.prod(tensor.storage or tensor.shape)
    storage = np.random.default_rng(seed).integers(-9, 9, max(count, 1)).astype(numpy_dtype(tensor.dtype))
    strides = [step * storage.itemsize for step in tensor.steps]
    return as_strided(storage[tensor.offset :], tensor.shape, strides)


def is_float64(case: Case) -> bool:
    return any(tensor is not None and tensor.dtype == "float64" for tensor in case.tensors.values())


@pytest.mark.parametrize("case", [c for c in CASES if fits_ttk(c) and not is_float64(c)], ids=lambda case: case.name)
def test_the_suite_gets_the_contracts_answers(case: Case) -> None:
    """As it stands; but indices that are wrong on purpose are made right, like all others."""
    tensors = {name: made(tensor, seed) for seed, (name, tensor) in enumerate(case.tensors.items())}
    given = {p.name: tensors.get(p.name, case.numbers.get(p.name)) for p in case.operator.parameters}
    formats = tuple("" if tensor is None else tensor.format for tensor in case.tensors.values())
    soc = find_product(case.product).soc if case.product else ""
    if case.status in (161001, 161002):
        with pytest.raises(poolgrad.AclnnError) as caught:
            run_all(case.operator_name, given, formats=formats, soc=soc)
        assert caught.value.status == case.status
        return
    got = run_all(case.operator_name, given, formats=formats, soc=soc)
    options = {p.python_name: given[p.name] for p in case.operator.parameters if not p.output}
    if case.is_channels_last:
        options["data_format"] = case.of(Role.INPUT).format
    expected = [np.empty_like(given[p.name]) for p in case.operator.outputs]
    getattr(poolgrad, case.operator.python_name)(**options, product=soc or None, out=one_or_all(tuple(expected)))
    for one, other in zip(got, expected, strict=True):
        assert_same(one, other, other.dtype)


def test_most_of_the_suite_is_for_ttk() -> None:
    left_out = [case.name for case in CASES if not fits_ttk(case)]
    assert len(left_out) < len(CASES) / 10
    assert {case.name.split("-", 1)[1] for case in CASES if is_float64(case)} == {"dtype-float64"}
