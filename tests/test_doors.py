"""Every operator behind every door: a new one has to work everywhere, without a test that names it.

Through C the samples and random calls are run by tests/capi, through ``acl`` by tests/acl. That a refused call is
refused alike is a matter of the rows (``contract_cases``).
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - gives NumPy its bfloat16
import numpy as np
import pytest
from contract_cases import DOCUMENTS, SAMPLES, Document, Sample, T

import poolgrad
from poolgrad import acl
from poolgrad.arrays.files import read_array
from poolgrad.base.products import ANY
from poolgrad.cases import Case, CaseTensor, Values
from poolgrad.cases.building import default_values
from poolgrad.cases.golden import make_golden, read_manifest
from poolgrad.cases.suite import suite_of
from poolgrad.cases.verification import FAIL, PASS, verify
from poolgrad.cases.work import file_of
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.contract.support import OF_PLACES, support
from poolgrad.operators import REGISTRY, find_operator

OPERATORS = pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.name)
Arrays = dict[str, np.ndarray[Any, Any]]
SUCCESSES = [
    pytest.param(document, sample, product, id=f"{document.name}-{product}")
    for document, sample, product in SAMPLES
    if not sample.status
]


def in_python(operator: Operator, arrays: Arrays, call: Any, **options: Any) -> Arrays:
    """The results of the Pythonic function, by documented names; indices that it finds are of the call's type,
    where there are several."""
    numbers = {p.python_name: call[p.name] for p in operator.numbers}
    if len(support(operator, ANY).index_dtypes) > 1 and Role.PLACES in operator.by_role:
        options["index_dtype"] = call[operator.by_role[Role.PLACES].name].dtype
    given = (arrays[p.name] for p in operator.inputs)
    answer = getattr(poolgrad, operator.python_name)(*given, **numbers, **options)
    return dict(zip((p.name for p in operator.outputs), answer if type(answer) is tuple else (answer,), strict=True))


def good_sample(operator: Operator) -> Sample:
    return next(sample for sample in DOCUMENTS[operator.name].samples if not sample.status)


@pytest.mark.parametrize(("document", "sample", "product"), SUCCESSES)
def test_the_sample_in_python(document: Document, sample: Sample, product: str) -> None:
    operator = REGISTRY[document.name]
    arrays = sample.arrays()
    found = in_python(operator, arrays, sample.call, product=product)
    out = tuple(np.full_like(found[p.name], 77) for p in operator.outputs)
    written = in_python(operator, arrays, sample.call, product=product, out=out if len(out) > 1 else out[0])
    for name, values in sample.results.items():
        expected = np.array(values, sample.call[name].dtype).reshape(sample.call[name].shape)
        assert found[name].dtype == expected.dtype
        assert np.array_equal(found[name], expected)
        assert np.array_equal(written[name], expected)
    assert all(written[p.name] is array for p, array in zip(operator.outputs, out, strict=True))


@OPERATORS
def test_the_operators_own_sample_is_the_documents(operator: Operator) -> None:
    sample, own = good_sample(operator), operator.sample
    call = {name: value for name, value in sample.call.items() if isinstance(value, T)}
    assert own.shapes == {name: tensor.shape for name, tensor in call.items()}
    assert {name: list(values) for name, values in own.values.items()} == {
        p.name: list(call[p.name].values) for p in operator.inputs if p.read
    }
    numbers = {p.name: p.default for p in operator.numbers} | dict(own.numbers)
    assert numbers == {p.name: sample.call[p.name] for p in operator.numbers}
    assert {name: list(values) for name, values in own.results.items()} == dict(sample.results)


@OPERATORS
def test_it_is_found_by_its_names(operator: Operator) -> None:
    assert find_operator(operator.name) is find_operator(operator.python_name) is operator
    function = getattr(poolgrad, operator.python_name)
    assert operator.python_name in poolgrad.__all__
    assert ">>>" in (function.__doc__ or ""), "an example"
    parameters = inspect.signature(function).parameters
    assert {p.python_name for p in operator.parameters} | {"product"} <= set(parameters)
    for name in (operator.name, f"{operator.name}GetWorkspaceSize"):
        assert callable(getattr(acl, name))


@OPERATORS
def test_it_has_a_suite_of_cases(operator: Operator) -> None:
    """What its cases say is tested by tests/cases/test_suite.py."""
    statuses = {case.status for case in suite_of(operator.name)}
    assert statuses >= {0, 161001, 161002}


@OPERATORS
def test_golden_results_of_its_sample_are_verified(operator: Operator, tmp_path: Path) -> None:
    call = good_sample(operator).call
    tensors = {n: CaseTensor(t.dtype, t.shape, t.format) for n, t in call.items() if isinstance(t, T)}
    for p in operator.inputs:
        if p.role in OF_PLACES:
            kind = "forward" if p.role is Role.MASK else "windows"
            tensors[p.name] = replace(tensors[p.name], values=Values(kind))
    case = Case("sample", operator.name, tensors, {p.name: call[p.name] for p in operator.numbers})
    golden = make_golden([case], tmp_path, jobs=1, facts={"seed": 0, "product": None})
    assert (golden.made, golden.unexpected) == (1, [])
    files = {p.name: tmp_path / "sample" / file_of(case, p.name) for p in operator.tensors}
    found = in_python(operator, {p.name: read_array(files[p.name]) for p in operator.inputs}, call)
    actual = tmp_path / "actual"
    (actual / "sample").mkdir(parents=True)
    for name, array in found.items():
        assert np.array_equal(array, read_array(files[name])), "the bits of the golden result"
        np.save(actual / "sample" / files[name].name.replace("golden", "actual"), array)
    entries = read_manifest(tmp_path)["entries"]
    (outcome,) = verify([case], entries, tmp_path, actual, standard="binary", jobs=1)
    assert outcome.verdict == PASS, outcome.text


@OPERATORS
def test_golden_results_of_every_type_are_verified(operator: Operator, tmp_path: Path) -> None:
    """By the standard that a case has if nobody names one; of integers, which are right or wrong, one is made wrong."""
    call = good_sample(operator).call
    for dtype in support(operator, ANY).dtypes:
        tensors = {}
        for p in operator.tensors:
            given, is_place = call[p.name], p.role in OF_PLACES
            tensor = CaseTensor(given.dtype if is_place else dtype, given.shape, given.format)
            values = default_values(p) if is_place else Values("uniform", (-99.0, 99.0))
            tensors[p.name] = replace(tensor, values=values)
        numbers = {p.name: 0 if p.role is Role.CUBE_MATH_TYPE else call[p.name] for p in operator.numbers}
        case = Case(dtype, operator.name, tensors, numbers)
        golden = make_golden([case], tmp_path / dtype, jobs=1, facts={"seed": 0, "product": None})
        assert (golden.made, golden.unexpected) == (1, [])
        actual, entries = tmp_path / f"actual_{dtype}", read_manifest(tmp_path / dtype)["entries"]
        (actual / dtype).mkdir(parents=True)
        made = {name: read_array(tmp_path / dtype / dtype / file_of(case, name)) for name in case.outputs}
        for wrong in (False, True):
            for name, array in made.items():
                changed = array.copy()
                changed.flat[-1] += wrong and changed.dtype.kind in "iu"
                np.save(actual / dtype / file_of(case, name).replace("golden", "actual"), changed)
            (outcome,) = verify([case], entries, tmp_path / dtype, actual, standard=None, jobs=1)
            are_integers = any(array.dtype.kind in "iu" for array in made.values())
            assert outcome.verdict == (FAIL if wrong and are_integers else PASS), outcome.text
