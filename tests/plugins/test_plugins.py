"""The plug-ins give what the reference gives, called as their tools call them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from plugins.example_calls import ADAPTIVE_MAX, AVG, MAX, atk_inputs, legal_indices, parameters, wanted
from plugins.stand_ins import BaseApi, Ttk, atk_installed, atk_run, msopst_run

import poolgrad
from poolgrad.operators import REGISTRY
from poolgrad.plugins import msopst, ttk
from poolgrad.plugins.calls import bound

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), BFLOAT16]
Array = np.ndarray[Any, Any]


def assert_same(got: Array, expected: Array, dtype: Any) -> None:
    assert got.dtype == dtype
    assert np.array_equal(got.astype(np.float64), expected.astype(np.float64))


# ---- TTK -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_position", [False, True], ids=["by name", "by position"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_ttk_gets_golden_results(operator: str, dtype: Any, by_position: bool) -> None:
    given = parameters(operator, dtype)
    (got,) = Ttk(ttk.__file__).run(operator, given, by_position=by_position)
    assert_same(got, wanted(operator, given), dtype)


def test_ttk_finds_every_operator_and_its_tolerances() -> None:
    tool = Ttk(ttk.__file__)
    assert set(tool.names) == set(REGISTRY)
    for api in REGISTRY:
        assert tool.spec(api).tolerance["bfloat16"] == {"standard": "mix_tolerance"}
        assert hasattr(tool.spec(api), "customize_inputs") == ("Max" in api)


def test_ttk_may_pass_self_by_position_and_leave_the_output_out() -> None:
    spec = Ttk(ttk.__file__).spec(MAX)
    given = parameters(MAX)
    x = given.pop("self")
    del given["gradInput"]
    changed = spec.customize_inputs(x, **given, testcase_name="an extra word")
    assert list(changed) == ["gradOutput", "indices", "kernelSize", "stride", "padding", "dilation", "ceilMode", "self"]
    assert np.array_equal(changed["indices"], legal_indices(MAX, x))
    (got,) = spec.golden(changed.pop("self"), **changed)
    assert_same(got, wanted(MAX, parameters(MAX)), np.float32)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("operator", [MAX, ADAPTIVE_MAX])
def test_indices_keep_their_type(operator: str, index: Any) -> None:
    spec = Ttk(ttk.__file__).spec(operator)
    changed = spec.customize_inputs(**parameters(operator, index=index))
    assert changed["indices"].dtype == index
    assert np.array_equal(changed["indices"], legal_indices(operator, changed["self"]))


def test_a_call_that_is_to_be_refused_is_refused() -> None:
    """Its indices stay, since it has no forward pass, and the golden side says why."""
    tool = Ttk(ttk.__file__)
    for changes, rule in (
        ({"kernelSize": [0]}, "kernelSize-positive"),
        ({"kernelSize": [1, 2, 3]}, "kernelSize-length"),
        ({"stride": [-1]}, "stride-positive"),
        ({"padding": [2]}, "padding-half"),
        ({"kernelSize": None}, "kernelSize-null"),
        ({"dilation": [9]}, "windows-fit"),
    ):
        given = parameters(MAX) | changes
        assert tool.spec(MAX).customize_inputs(**given)["indices"] is given["indices"]
        assert tool.spec(MAX).customize_inputs(*given.values())[2] is given["indices"]
        with pytest.raises(poolgrad.AclnnError, match=rule):
            tool.run(MAX, given)


def test_the_product_of_the_environment_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Ttk(ttk.__file__)
    given = parameters(MAX, np.float16)
    assert tool.run(MAX, given)
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Ascend910B")
    with pytest.raises(poolgrad.AclnnError, match="Atlas A2"):
        tool.run(MAX, given)


# ---- ATK -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_atk_gets_golden_results(operator: str, dtype: Any) -> None:
    with atk_installed() as registered:
        import poolgrad.plugins.atk  # noqa: F401 (it registers itself)

        assert set(registered) == {f"poolgrad_{known.python_name}" for known in REGISTRY.values()}
        executor = registered[f"poolgrad_{REGISTRY[operator].python_name}"]
        assert issubclass(executor, BaseApi)
        given = parameters(operator, dtype)
        got, inputs = atk_run(executor, atk_inputs(operator, given))
        nothing, on_device = atk_run(executor, atk_inputs(operator, given), device="npu")
    assert nothing is None
    if operator == ADAPTIVE_MAX:  # whose gradient is the forward output
        indices = legal_indices(operator, given["self"])
        flat = given["self"].reshape(2, 3, -1)
        given["gradOutput"] = np.take_along_axis(flat, indices.reshape(2, 3, -1), -1).reshape(indices.shape)
    assert_same(got, wanted(operator, given), dtype)
    for name in ("indices", "gradOutput"):  # the device computes the very same call
        if name in inputs:
            assert np.array_equal(inputs[name], on_device[name])


def test_atk_keeps_the_inputs_of_a_call_that_is_to_be_refused() -> None:
    with atk_installed() as registered:
        import poolgrad.plugins.atk

        inputs = atk_inputs(ADAPTIVE_MAX, parameters(ADAPTIVE_MAX)) | {"output_size": (3, 4, 5)}
        inputs["self"] = np.zeros((3, 3), np.float32)
        with pytest.raises(poolgrad.AclnnError):
            atk_run(registered["poolgrad_adaptive_max_pool2d_backward"], inputs)


def test_without_atk_the_executors_say_what_is_missing() -> None:
    with pytest.raises(ImportError, match="ATK, which is not installed here"):
        import poolgrad.plugins.atk  # noqa: F401


# ---- msOpST ----------------------------------------------------------------------------------------------------------


def msopst_case(operator: str, given: dict[str, Any], format: str = "NCHW") -> dict[str, Any]:
    def described(name: str, value: Array) -> dict[str, Any]:
        return {"name": name, "dtype": value.dtype.name, "shape": list(value.shape), "format": format, "value": value}

    tensors = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    output = REGISTRY[operator].output.name
    return {
        "calc_expect_func_file": f"{msopst.__file__}:{REGISTRY[operator].python_name}",
        "input_desc": [described(name, value) for name, value in tensors.items() if name != output],
        "output_desc": [{**described(output, tensors[output]), "value": None}],
        "attr": [{"name": name, "value": value} for name, value in given.items() if name not in tensors],
    }


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_msopst_gets_golden_results(operator: str, dtype: Any) -> None:
    given = parameters(operator, dtype)
    if "indices" in given:
        given["indices"] = legal_indices(operator, given["self"]).astype(np.int32)
    (got,) = msopst_run(msopst_case(operator, given))
    assert_same(got, wanted(operator, given), dtype)


def test_msopst_formats_and_bits_are_understood() -> None:
    given = parameters(MAX)
    given["indices"] = legal_indices(MAX, given["self"]).astype(np.int32)
    last = {n: np.moveaxis(v, 1, -1).copy() if isinstance(v, np.ndarray) else v for n, v in given.items()}
    (got,) = msopst_run(msopst_case(MAX, last, "NHWC"))
    assert_same(np.moveaxis(got, -1, 1), wanted(MAX, given), np.float32)

    given = parameters(AVG, BFLOAT16)
    case = msopst_case(AVG, given)
    case["input_desc"][0]["value"] = given["gradOutput"].view(np.uint16)  # its bits
    case["input_desc"][1]["value"] = given["self"].astype(np.float32)  # and wider than told
    (got,) = msopst_run(case)
    assert_same(got, wanted(AVG, given), BFLOAT16)
    case["attr"] = [attribute for attribute in case["attr"] if attribute["name"] in ("kernelSize", "ceilMode")]
    assert_same(msopst_run(case)[0], wanted(AVG, given), BFLOAT16)


# ---- all -------------------------------------------------------------------------------------------------------------


def test_arguments_find_their_parameters() -> None:
    operator, x, grad = REGISTRY[AVG], np.zeros(1), np.ones(1)
    assert bound(operator, (grad, x, 3), {}) == {"gradOutput": grad, "self": x, "kernelSize": 3}
    assert bound(operator, (grad, x), {"stride": 2}) == {"gradOutput": grad, "self": x, "stride": 2}
    assert bound(operator, (x,), {"GRAD_OUTPUT": grad}) == {"gradOutput": grad, "self": x}
    assert bound(operator, (3,), {"gradOutput": grad, "Input": x}) == {"gradOutput": grad, "self": x, "kernelSize": 3}
    assert bound(operator, (), {"what": 3}) == {}
    with pytest.raises(TypeError, match="no parameter left"):
        bound(operator, (x, x, x, x), {"stride": 2})


def test_tools_are_told_where_the_files_are() -> None:
    def said(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "poolgrad.plugins", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip()

    assert said("ttk") == (0, ttk.__file__)
    assert said("msopst") == (0, msopst.__file__)
    assert said("what") == (2, "")


def test_plug_ins_need_no_torch() -> None:
    code = """if True:
        import sys, poolgrad.plugins.ttk, poolgrad.plugins.msopst
        print('torch' in sys.modules, 'numba' in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
