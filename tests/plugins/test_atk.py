"""ATK's executors give what plain loops give, called as ATK calls them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from plugins.example_calls import (
    ADAPTIVE_MAX,
    FLOATS,
    WITH_INDICES,
    assert_same,
    assert_wanted,
    atk_inputs,
    legal_indices,
    maxima,
    parameters,
    wanted,
)
from plugins.stand_ins import BaseApi, atk_installed, atk_load, atk_run

import poolgrad
from poolgrad.operators import REGISTRY
from poolgrad.plugins import calls

FILE = Path(calls.__file__).with_name("atk.py")


def computed(operator: str, given: dict[str, Any]) -> dict[str, Any]:
    """What an executor is to compute: in cases with an output_size the gradient is the forward output."""
    if not REGISTRY[operator].atk_has_output_size:
        return given
    return given | {"gradOutput": maxima(operator, given["self"])}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_golden_results_for_atk(operator: str, dtype: Any) -> None:
    with atk_installed() as registered:
        module = atk_load(FILE)
        assert set(registered) == {f"poolgrad_{known.python_name}" for known in REGISTRY.values()}
        assert vars(module)[operator.removeprefix("aclnn")] in registered.values()
        executor = registered[f"poolgrad_{REGISTRY[operator].python_name}"]
        assert issubclass(executor, BaseApi)
        given = parameters(operator, dtype)
        got, inputs = atk_run(executor, atk_inputs(operator, given))
        nothing, on_device = atk_run(executor, atk_inputs(operator, given), device="npu")
    assert nothing is None
    several = got if len(REGISTRY[operator].outputs) > 1 else (got,)
    assert_wanted(operator, several, computed(operator, given), dtype, np.int64)
    for name in ("indices", "gradOutput"):  # the device computes the very same call
        if name in inputs:
            assert np.array_equal(inputs[name], on_device[name])


@pytest.mark.parametrize("placeholder", [np.float16, np.float32, ml_dtypes.bfloat16, np.int32, np.int64, None], ids=str)
@pytest.mark.parametrize("operator", WITH_INDICES)
def test_placeholders_of_a_float_type_become_int32(operator: str, placeholder: Any) -> None:
    given = parameters(operator)
    inputs = atk_inputs(operator, given, placeholder or np.int32)
    if placeholder is None:
        inputs["indices"] = None
    with atk_installed() as registered:
        atk_load(FILE)
        got, inputs = atk_run(registered[f"poolgrad_{REGISTRY[operator].python_name}"], inputs)
    assert inputs["indices"].dtype == (np.int64 if placeholder is np.int64 else np.int32)
    assert np.array_equal(inputs["indices"], legal_indices(operator, given["self"]))
    assert_same(got, wanted(operator, computed(operator, given)), np.float32)


def test_indices_of_another_integer_type_are_refused() -> None:
    with atk_installed() as registered:
        atk_load(FILE)
        for operator in WITH_INDICES:
            inputs = atk_inputs(operator, parameters(operator), np.int8)
            with pytest.raises(poolgrad.AclnnError):
                atk_run(registered[f"poolgrad_{REGISTRY[operator].python_name}"], inputs)


def test_a_call_that_is_to_be_refused_keeps_its_inputs() -> None:
    with atk_installed() as registered:
        atk_load(FILE)
        inputs = atk_inputs(ADAPTIVE_MAX, parameters(ADAPTIVE_MAX)) | {"output_size": (3, 4, 5)}
        with pytest.raises(poolgrad.AclnnError):
            atk_run(registered["poolgrad_adaptive_max_pool2d_backward"], inputs)


def test_one_output_size_holds_for_both_axes() -> None:
    x = parameters(ADAPTIVE_MAX)["self"]
    with atk_installed() as registered:
        atk_load(FILE)
        for size in ((2,), 2, (2, 2)):
            inputs = {"self": x, "indices": np.zeros(1, np.float32), "output_size": size}
            _, inputs = atk_run(registered["poolgrad_adaptive_max_pool2d_backward"], inputs)
            assert inputs["indices"].shape == (2, 3, 2, 2)


def test_a_file_of_the_users_own_may_pass_the_executors_on(tmp_path: Path) -> None:
    """ATK loads files that belong to its user, which an installed package may not."""
    file = tmp_path / "executors.py"
    file.write_text("from poolgrad.plugins.atk import *\n")
    with atk_installed() as registered:
        atk_load(file)
        assert len(registered) == len(REGISTRY)


def test_without_atk_the_executors_say_what_is_missing() -> None:
    with pytest.raises(ImportError, match="ATK, which is not installed here"):
        import poolgrad.plugins.atk  # noqa: F401
