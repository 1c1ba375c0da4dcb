"""Every command serves every operator, as its description is: on the sample of its document."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli.inside import poolgrad

from poolgrad.base.products import ANY
from poolgrad.cli.line import option
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.pooling import INTEGERS
from poolgrad.contract.support import OF_PLACES, support
from poolgrad.operators import REGISTRY

EVERY = pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.python_name)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def words(operator: Operator) -> list[str]:
    """The sample as a line: files for what is read, shapes for what is only described."""
    sample, line = operator.sample, []
    for p in operator.inputs:
        shape, text = sample.shapes[p.name], ",".join(map(str, sample.shapes[p.name]))
        if p.read:
            text = f"{p.name}.npy"
            np.save(text, np.array(sample.values[p.name], p.dtype).reshape(shape))
        line += [option(p), text]
    for p in operator.numbers:
        value = sample.numbers.get(p.name)
        if isinstance(value, bool) or p.role is Role.CEIL_MODE:  # which is an integer for some
            line += [option(p) if value else f"--no-{option(p)[2:]}"]
        elif value is not None:
            line += [option(p), ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return line


@EVERY
def test_run_gives_what_the_document_prints(operator: Operator) -> None:
    files = [word for p in operator.outputs for word in ("-o", f"out_{p.name}.npy")]
    said = poolgrad("run", operator.name, *words(operator), *files, "--product", operator.products[0].name, "--json")
    assert said.data["status"] == 0
    for p in operator.outputs:
        got, printed = np.load(f"out_{p.name}.npy"), operator.sample.results[p.name]
        assert got.shape == tuple(operator.sample.shapes[p.name])
        assert np.array_equal(got.ravel(), np.array(printed, got.dtype))
        assert poolgrad("compare", f"out_{p.name}.npy", f"out_{p.name}.npy", "--json").data["passed"]


@EVERY
def test_run_takes_integers_where_the_operator_does(operator: Operator) -> None:
    for dtype in set(INTEGERS) & set(support(operator, ANY).dtypes):
        line = words(operator)
        for p in operator.inputs:
            np.save(f"{p.name}.npy", np.load(f"{p.name}.npy").astype(dtype))
        said = poolgrad("run", operator.name, *line, "-o", "out.npy", "--json")
        assert said.data["status"] == 0
        (printed,) = operator.sample.results.values()
        got = np.load("out.npy")
        assert got.dtype == dtype
        assert np.array_equal(got.ravel(), printed)
        assert poolgrad("compare", "out.npy", "out.npy").stdout


@EVERY
def test_check_accepts_it_where_the_operator_is(operator: Operator) -> None:
    said = poolgrad("check", operator.python_name, *words(operator), "--json").data
    accepted = {answer["product"] for answer in said["answers"] if answer["accepted"]}
    assert accepted == {None, *(product.name for product in operator.products)}


@EVERY
def test_check_knows_the_outputs(operator: Operator) -> None:
    right = [f"{option(p)}={','.join(map(str, operator.sample.shapes[p.name]))}" for p in operator.outputs]
    for place, p in enumerate(operator.outputs):
        for text in ("1,1,1,1,1,1,1:float32", "null"):
            outs = [*right[:place], f"{option(p)}={text}"]  # further ones follow from the call
            done = poolgrad("check", operator.name, *words(operator), *outs, "--json", expect=1)
            assert {answer["parameter"] for answer in done.data["answers"]} >= {p.name}


@EVERY
def test_the_type_of_indices_that_are_found_may_be_told(operator: Operator) -> None:
    for p in operator.outputs:
        if p.role is Role.PLACES:
            for dtype in support(operator, ANY).index_dtypes:
                files = [word for o in operator.outputs for word in ("-o", f"{dtype}_{o.name}.npy")]
                poolgrad("run", operator.name, *words(operator), "--indices-dtype", dtype, *files)
                assert np.load(f"{dtype}_{p.name}.npy").dtype == dtype
            assert poolgrad("check", operator.name, *words(operator), "--indices-dtype", "int8", expect=1).stdout


@EVERY
def test_explain_and_support_know_it(operator: Operator) -> None:
    told = poolgrad("explain", operator.name, "--json").data
    assert [rule["rule"] for rule in told["rules"] if rule["phase"] == 1] == [check.key for check in operator.checks]
    cells = [cell for cell in poolgrad("support", "--json").data if cell["operator"] == operator.name]
    assert {cell["product"] for cell in cells if cell["supported"]} == {None, *(p.name for p in operator.products)}
    for cell in cells:
        if cell["supported"]:
            assert cell["dtypes"]
            assert cell["formats"]
            assert bool(cell["index_dtypes"]) == any(p.role in OF_PLACES for p in operator.tensors)


@EVERY
def test_view_draws_it(operator: Operator) -> None:
    done = poolgrad("view", operator.name, *words(operator), "-o", "a.png")
    assert Path("a.png").exists()
    given, made = operator.by_role[Role.GRADIENT if operator.is_gradient else Role.INPUT], operator.outputs[0]
    assert f"drew {given.name} " in done.stdout
    assert f" → {made.name} " in done.stdout


@EVERY
def test_cases_golden_and_verify_go_together(operator: Operator) -> None:
    poolgrad("cases", operator.name, "-o", "suite.jsonl")
    assert all(json.loads(line)["operator"] == operator.name for line in Path("suite.jsonl").read_text().splitlines())
    tensors = {p.name: {"dtype": p.dtype, "shape": operator.sample.shapes[p.name]} for p in operator.tensors}
    Path("sample.jsonl").write_text(
        json.dumps({"name": "sample", "operator": operator.name, **tensors, **operator.sample.numbers})
    )
    poolgrad("check", "sample.jsonl")
    assert "1 made" in poolgrad("golden", "sample.jsonl", "-o", "golden").stdout
    made = sorted(Path("golden/sample").glob("golden*.npy"))
    assert len(made) == len(operator.outputs)
    for path in made:
        shutil.copy(path, path.with_name(path.name.replace("golden", "actual")))
    assert "1 pass" in poolgrad("verify", "sample.jsonl", "golden").stdout
    for path in made:  # a device that is wrong in one of its outputs
        actual = path.with_name(path.name.replace("golden", "actual"))
        right = np.load(actual)
        np.save(actual, right + right.dtype.type(1))
        assert "1 fail" in poolgrad("verify", "sample.jsonl", "golden", expect=1).stdout
        np.save(actual, right)
