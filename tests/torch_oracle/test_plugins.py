"""Tools hand torch tensors to the plug-ins, and get torch tensors back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from plugins.example_calls import (
    AVG,
    FORMAT,
    SOC,
    WITH_INDICES,
    assert_wanted,
    atk_inputs,
    legal_indices,
    parameters,
    wanted,
)
from plugins.stand_ins import Ttk, atk_installed, atk_load, atk_run

from poolgrad.operators import REGISTRY
from poolgrad.plugins import calls, ttk
from poolgrad.selftest import reference

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
NUMPY = {torch.float32: np.float32, torch.float16: np.float16, torch.bfloat16: ml_dtypes.bfloat16}


def as_torch(value: Any) -> Any:
    """Arrays as tensors; bfloat16 by way of float32, which holds it exactly."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(value.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(value)


def as_numpy(tensor: Any) -> Any:
    assert isinstance(tensor, torch.Tensor)
    return tensor.float().numpy().astype(ml_dtypes.bfloat16) if tensor.dtype is torch.bfloat16 else tensor.numpy()


def assert_same(got: torch.Tensor, expected: Any, dtype: torch.dtype) -> None:
    assert got.dtype is dtype
    assert np.array_equal(got.double().numpy(), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_ttk_gets_tensors(operator: str, dtype: torch.dtype) -> None:
    given = parameters(operator, NUMPY[dtype])
    tensors = {name: as_torch(value) for name, value in given.items()}
    tensors[REGISTRY[operator].inputs[0].name].requires_grad_()
    got = Ttk(ttk.__file__).run(operator, tensors, formats=(FORMAT[operator],), soc=SOC[operator])
    assert_wanted(operator, [*map(as_numpy, got)], given, NUMPY[dtype])


@pytest.mark.parametrize("operator", WITH_INDICES)
def test_ttk_finds_indices_in_its_own_tensor(operator: str) -> None:
    tensors = {name: as_torch(value) for name, value in parameters(operator).items()}
    storage = torch.full((*tensors["indices"].shape, 2), -5, dtype=torch.int32)
    tensors["indices"] = storage[..., 0]
    Ttk(ttk.__file__).run(operator, tensors, formats=(FORMAT[operator],), soc=SOC[operator])
    assert np.array_equal(storage[..., 0].numpy(), legal_indices(operator, tensors["self"].numpy()))
    assert torch.all(storage[..., 1] == -5)


@pytest.mark.parametrize("cube", range(4))
def test_ttk_gets_promoted_tensors(cube: int) -> None:
    """cubeMathType rounds gradients of float32 first: not at all, to HF32 (11 bits), to float16."""

    def promote(value: Any) -> Any:
        return value.double() if isinstance(value, torch.Tensor) else value

    given = parameters(AVG) | {"gradOutput": np.random.default_rng(3).normal(size=(2, 3, 3, 4)).astype(np.float32)}
    given["cubeMathType"] = cube
    tensors = {name: as_torch(value) for name, value in given.items()}
    (got,) = Ttk(ttk.__file__).run(AVG, tensors, formats=("NCHW",), promote=promote)
    if cube == 2:
        given["gradOutput"] = given["gradOutput"].astype(np.float16)
    elif cube:
        given["gradOutput"] = reference.round_to_hf32(given["gradOutput"], 11)
    given["gradOutput"] = given["gradOutput"].astype(np.float64)
    assert_same(got, wanted(AVG, given), torch.float64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_atk_gets_tensors(operator: str, dtype: torch.dtype) -> None:
    with atk_installed() as registered:
        atk_load(calls.__file__.replace("calls", "atk"))
        given = parameters(operator, NUMPY[dtype])
        inputs = {name: as_torch(value) for name, value in atk_inputs(operator, given, np.float16).items()}
        got, inputs = atk_run(registered[f"poolgrad_{REGISTRY[operator].python_name}"], inputs)
    if REGISTRY[operator].atk_has_output_size:
        given["gradOutput"] = inputs["gradOutput"].double().numpy()
        forward = getattr(torch.nn.functional, f"adaptive_max_pool{len(REGISTRY[operator].axes)}d")
        output, indices = forward(inputs["self"].float(), inputs["output_size"], return_indices=True)
        assert torch.equal(inputs["gradOutput"].float(), output)
        assert torch.equal(inputs["indices"].long(), indices)
        assert np.array_equal(indices.numpy(), legal_indices(operator, given["self"]))
    several = got if len(REGISTRY[operator].outputs) > 1 else (got,)
    assert_wanted(operator, [*map(as_numpy, several)], given, NUMPY[dtype], np.int64)
