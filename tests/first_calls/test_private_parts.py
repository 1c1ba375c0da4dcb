"""Kernels are compiled with private parts of Numba, and come out the same without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import python

# Of each family the kernels that are compiled soonest, and in every type of storage.
RESULTS = """
import ml_dtypes, numpy as np, poolgrad
random = np.random.default_rng(3)
for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
    x, grad = (random.standard_normal((2, 3, n, n)).astype(dtype) for n in (12, 6))
    values, indices = poolgrad.adaptive_max_pool2d(x, 6)
    for result in (
        values,
        indices,
        poolgrad.adaptive_max_pool2d_backward(grad, x, indices),
        poolgrad.adaptive_max_pool2d_backward(grad[..., :5, :5], x, indices[..., :5, :5]),
        poolgrad.adaptive_avg_pool2d(x, 1),
        poolgrad.avg_pool2d_backward(grad, x, 3, 2, 1),
    ):
        print(result.dtype, result.shape, result.tobytes().hex())
"""
# The kernel that is compiled soonest of all.
CALL = """
import numpy as np, poolgrad
print(poolgrad.adaptive_max_pool2d_backward(np.full((1, 1, 1), 0.25, np.float32), (1, 2, 2), np.ones((1, 1, 1), int)))
"""
SHORT = "from poolgrad.kernels.jit.compiling import short_way; print('short' if short_way() else 'stock')\n"

ABSENT = "import numba.core.codegen as codegen; del codegen.JITCodeLibrary\n"
PARAMETERS = """
import numba.core.codegen as codegen
class Changed(codegen.JITCodeLibrary):
    def __init__(self, codegen):
        super().__init__(codegen, "")
codegen.JITCodeLibrary = Changed
"""
ATTRIBUTES = """
import numba.core.codegen as codegen
class Changed(codegen.JITCodeLibrary):
    @property
    def _linking_libraries(self):
        raise AttributeError("renamed")
codegen.JITCodeLibrary = Changed
"""
WRONG_CODE = """
import numba.core.typed_passes as passes
class Changed(passes.NopythonTypeInference):
    def run_pass(self, state):
        for block in state.func_ir.blocks.values():
            for each in block.find_insts(numba.core.ir.Assign):
                if isinstance(each.value, numba.core.ir.Const) and each.value.value == 1:
                    each.value.value = 5
        return super().run_pass(state)
import numba
passes.NopythonTypeInference = Changed
numba.core.compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)(Changed)
"""


def test_every_bit_is_the_same_by_the_stock_compiler(tmp_path: Path) -> None:
    usual = python(RESULTS + SHORT)
    stock = python(ABSENT + RESULTS + SHORT, POOLGRAD_CACHE_DIR=str(tmp_path))
    assert usual.returncode == stock.returncode == 0, usual.stderr + stock.stderr
    assert usual.stdout.splitlines()[-1] == "short"
    assert stock.stdout.splitlines()[-1] == "stock"
    assert usual.stdout.splitlines()[:-1] == stock.stdout.splitlines()[:-1]
    assert stock.stderr.count("compiling the kernel") >= 5
    again = python(CALL, POOLGRAD_CACHE_DIR=str(tmp_path))
    assert again.stderr == "", "what it compiled is kept like any other"
    assert "0.25" in again.stdout


@pytest.mark.parametrize("change", [PARAMETERS, ATTRIBUTES, WRONG_CODE], ids=["parameters", "attributes", "wrong code"])
def test_changed_parts_are_noticed_before_they_do_harm(change: str, tmp_path: Path) -> None:
    done = python(change + CALL + SHORT, POOLGRAD_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "0.25" in done.stdout
    assert done.stdout.splitlines()[-1] == "stock"


def test_the_stock_compiler_can_be_asked_for(tmp_path: Path) -> None:
    done = python(CALL + SHORT, POOLGRAD_CACHE_DIR=str(tmp_path), POOLGRAD_STOCK_COMPILER="1")
    assert done.returncode == 0, done.stderr
    assert "0.25" in done.stdout
    assert done.stdout.splitlines()[-1] == "stock"


@pytest.mark.parametrize(
    "change",
    [
        "import numba.core.caching as caching; del caching._CacheLocator\n",
        "import numba.core.caching as caching; caching.FunctionCache.__init__ = lambda self: None\n",
    ],
    ids=["absent", "parameters"],
)
def test_without_a_cache_kernels_are_compiled_all_the_same(change: str, tmp_path: Path) -> None:
    done = python(change + CALL, POOLGRAD_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "0.25" in done.stdout
    assert "compiling the kernel scatter_numbers in float32" in done.stderr
    assert "this version of Numba has no place for it" in done.stderr
    assert done.stderr.endswith("so it is not kept\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
