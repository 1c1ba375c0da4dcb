"""The suite: every case gives exactly its status, and every row that a description can break is broken."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from contract_cases import DOCUMENTS

from poolgrad.base.products import ANY, Product, find_product
from poolgrad.cases import Case, read_cases
from poolgrad.cases.judging import judge
from poolgrad.cases.suite import suite_of
from poolgrad.cases.writing import FORMATS, written
from poolgrad.contract.operator import Operator
from poolgrad.operators import REGISTRY

BAD_INDEX = 507015  # found when a call runs: the contract accepts it
OPERATORS = pytest.mark.parametrize("operator", REGISTRY.values(), ids=lambda operator: operator.name)


def products_of(case: Case) -> list[Product]:
    """A case that names no product means the same on every product that has the operator."""
    return [ANY, *case.operator.products] if case.product is None else [find_product(case.product)]


@OPERATORS
def test_every_case_gives_the_status_that_it_expects(operator: Operator) -> None:
    for case in suite_of(operator.name):
        expected = 0 if case.status == BAD_INDEX else case.status
        for product in products_of(case):
            answer = judge(case, product)
            assert answer.status == expected, f"{case.name} on {product.name}: {answer.error}"


@OPERATORS
def test_every_row_that_a_description_can_break_is_broken(operator: Operator) -> None:
    broken = {
        id(answer.row) for case in suite_of(operator.name) for p in products_of(case) if (answer := judge(case, p)).row
    }
    # A handle that is none and memory that is read-only are no matter of descriptions.
    beyond = {"handles", *(f"{p.name}-writable" for p in operator.outputs)}
    missing = [check.key for check in operator.checks if id(check) not in broken and check.key not in beyond]
    assert not missing
    keys = {answer.row.key for case in suite_of(operator.name) if (answer := judge(case)).row}
    assert keys >= {"view-in-storage", "output-overlaps-itself"}


@OPERATORS
def test_every_case_says_why_it_exists_under_a_name_of_its_own(operator: Operator) -> None:
    cases = suite_of(operator.name)
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.why and case.status is not None for case in cases)
    successes = sum(case.status == 0 for case in cases)
    assert 10 < successes < len(cases) - 10


@OPERATORS
def test_what_usual_suites_leave_out_is_there(operator: Operator) -> None:
    names = {case.name.split("-", 1)[1] for case in suite_of(operator.name)}
    assert names >= set(DOCUMENTS[operator.name].suite.split())


@OPERATORS
@pytest.mark.parametrize("format", FORMATS)
def test_a_written_suite_reads_back_with_the_same_answers(tmp_path: Path, operator: Operator, format: str) -> None:
    cases = suite_of(operator.name)
    text, left_out = written(cases, format)
    path = tmp_path / "suite"
    path.write_text(text, encoding="utf-8")
    back = read_cases(path)
    names = {one.case for one in left_out}
    carried = [case for case in cases if case.name not in names]
    assert len(names) + len(carried) == len(cases)
    assert all(one.reason for one in left_out)
    for case, again in zip(carried, back, strict=True):
        one, other = judge(case), judge(again)
        assert (one.status, one.row and one.row.key) == (other.status, other.row and other.row.key), case.name
        assert (case.status, case.product, case.why) == (again.status, again.product, again.why)
        assert case.numbers == again.numbers
    if format == "jsonl":
        assert [repr(case) for case in back] == [repr(case) for case in cases]  # in which nan equals nan
    share = {"jsonl": 1.0, "ttk": 0.9, "atk": 0.5}[format]
    assert len(carried) >= share * len(cases)


def test_ttk_leaves_out_only_indices_that_no_forward_pass_gives() -> None:
    cases = [case for name in REGISTRY for case in suite_of(name)]
    assert {one.reason for one in written(cases, "ttk")[1]} == {"the data of indices"}


def test_atk_leaves_out_null_pointers_strides_and_outputs_of_their_own() -> None:
    reasons = {one.case: one.reason for one in written(suite_of("aclnnAvgPool2dBackward"), "atk")[1]}
    assert reasons["AvgPool2dBackward-null-self"] == "a null pointer"
    assert reasons["AvgPool2dBackward-channels-last"] == "the strides of self"
    assert reasons["AvgPool2dBackward-shape-of-output"] == "the shape of gradInput"
    assert reasons["AvgPool2dBackward-padding-empty"] == "padding of ()"


def test_ttk_rows_have_numbers_that_ttk_reads() -> None:
    """It takes a quoted word for text, and refuses the whole file."""
    text, _ = written([case for name in REGISTRY for case in suite_of(name)], "ttk")
    cells = [row["input_data_ranges"] for row in csv.DictReader(io.StringIO(text))]
    assert not [cell for cell in cells if "'" in cell]
    assert {"((-1.0, 1.0), (nan,), (0, 1))", "((-1.0, 1.0), (-inf,), (0, 1))"} <= set(cells)


def test_atk_cases_have_a_standard_that_atk_knows() -> None:
    (case, *_) = suite_of("aclnnAvgPool2dBackward")
    words = {None: "single_bm", "mixed": "mixed_tolerance_bm", "binary": "equal", "close": "single_bm"}
    for standard, word in words.items():
        (record,) = json.loads(written([replace(case, standard=standard)], "atk")[0])
        assert list(record["standard"]["acc"]) == [word]
        assert "perf" in record["standard"]
