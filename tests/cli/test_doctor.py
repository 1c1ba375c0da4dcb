"""``poolgrad doctor`` finds an installation well, and notices what is not."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.inside import poolgrad

import poolgrad as library
from poolgrad import functional
from poolgrad.base.products import ANY
from poolgrad.contract.support import support
from poolgrad.operators import REGISTRY, find_operator
from poolgrad.selftest import trials as selftest


def found(expect: int = 0) -> dict[str, dict[str, Any]]:
    data = poolgrad("doctor", "--json", expect=expect).data
    assert data["well"] == (expect == 0)
    return {finding["name"]: finding for finding in data["findings"]}


@pytest.fixture
def _no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "trials", lambda: iter(()))


def test_this_installation_is_well() -> None:
    findings = found()
    assert findings["poolgrad"]["found"] == library.__version__
    assert findings["numpy"]["found"] == np.__version__
    number = len(list(selftest.trials()))
    assert number > 50
    assert f"{number} of {number} trials agree with the reference" in findings["self-test"]["found"]
    assert all(finding["well"] and not finding["advice"] for finding in findings.values())
    assert "self-test" in poolgrad("doctor").stdout


KERNELS = """
from poolgrad import kernels
from poolgrad.selftest.trials import trials
for trial in trials():
    assert trial.run() is None, trial.name
print(*sorted({name for name, compute in kernels._ADDRESSES}))
"""


def test_the_self_test_reaches_the_kernels_all_operators_and_all_types() -> None:
    done = subprocess.run([sys.executable, "-c", KERNELS], capture_output=True, text=True, check=True)
    reached = set(done.stdout.split())
    assert reached >= {
        "average_rows",
        "average_row_blocks",
        "average_whole_planes",
        "average_small_planes",
        "average_channels_last",
    }
    assert reached >= {f"average_few_windows_{numbers}_0_0_1_0" for numbers in ("2_2_0", "3_1_1", "3_2_1")}
    assert reached >= {"max_pixels_ask_k2s2_halves", "max_touching_2", "scatter_numbers", "scatter_bands"}
    assert reached >= {"pool_max", "pool_max_bits", "scatter_mask"}
    names = [trial.name for trial in selftest.trials()]
    assert len(set(names)) == len(names)
    for operator in REGISTRY.values():
        for dtype in support(operator, ANY).dtypes:
            for index in support(operator, ANY).index_dtypes or ("",):
                assert any(name.startswith(f"{operator.python_name}, {dtype}, {index}") for name in names)


@pytest.mark.parametrize(
    ("operator", "output"),
    [(operator.python_name, place) for operator in REGISTRY.values() for place in range(len(operator.outputs))],
)
def test_one_wrong_bit_is_noticed(operator: str, output: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(functional, operator)

    def wrong(*arguments: Any, **options: Any) -> Any:
        results = right(*arguments, **options)
        flat = (results if isinstance(results, tuple) else (results,))[output].reshape(-1)
        largest = np.nanargmax(np.abs(flat.astype(np.float32)))
        flat[largest] = flat[largest] * 5 // 4 if flat.dtype.kind == "i" else flat[largest] * 1.25
        return results

    monkeypatch.setattr(functional, operator, wrong)
    monkeypatch.setattr(selftest, "REGISTRY", {"": find_operator(operator)})
    findings = found(expect=1)
    assert not findings["self-test"]["well"]
    assert operator in findings["self-test"]["found"]
    assert "report it" in findings["self-test"]["advice"]


def test_a_nan_that_leaves_its_window_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = functional.avg_pool2d_backward

    def spreading(**arguments: Any) -> Any:
        result = right(**arguments)
        return np.full_like(result, np.nan) if np.isnan(arguments["grad_output"]).any() else result

    monkeypatch.setattr(functional, "avg_pool2d_backward", spreading)
    assert "a NaN has left its window" in found(expect=1)["self-test"]["found"]


def test_a_crash_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise OSError("no machine code")

    monkeypatch.setattr(functional, "adaptive_max_pool2d_backward", broken)
    assert "OSError: no machine code" in found(expect=1)["self-test"]["found"]


@pytest.mark.usefixtures("_no_trials")
def test_a_cache_that_can_not_be_written_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POOLGRAD_CACHE_DIR", str(tmp_path / "file" / "below"))
    finding = found(expect=1)["kernel cache"]
    assert "Not a directory" in finding["found"]
    assert "set POOLGRAD_CACHE_DIR" in finding["advice"]
    monkeypatch.setenv("POOLGRAD_CACHE_DIR", str(tmp_path / "new"))
    assert "0 files, 0.0 MiB, writable" in found()["kernel cache"]["found"]


@pytest.mark.usefixtures("_no_trials")
def test_the_environment_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Ascend910B")
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    findings = found()
    assert findings["simulated product"]["found"] == "Atlas A2 (POOLGRAD_PRODUCT)"
    assert findings["C++ compiler"]["found"].startswith("no no-such-compiler")
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Atlas")
    shown = poolgrad("doctor", expect=1).stdout
    assert "wrong" in shown
    assert "- simulated product: POOLGRAD_PRODUCT: unknown product 'Atlas'" in shown


@pytest.mark.usefixtures("_no_trials")
def test_missing_packages_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name in ("numba", "torch"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    findings = found(expect=1)
    assert findings["numba"]["advice"].endswith("-m pip install numpy numba llvmlite ml_dtypes typer rich")
    assert findings["torch"] == {
        "name": "torch",
        "found": "not installed; only for torch tensors, autograd",
        "well": True,
        "advice": "",
    }


@pytest.mark.usefixtures("_no_trials")
def test_a_broken_package_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    findings = found(expect=1)
    assert "import of llvmlite halted" in findings["CPU"]["found"]
    assert "--force-reinstall" in findings["CPU"]["advice"]
    assert findings["self-test"]["well"]
