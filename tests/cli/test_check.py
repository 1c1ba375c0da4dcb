"""``poolgrad check``: the command line's answer to a call is the contract's."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.inside import poolgrad
from contract_cases import CASES, LEGAL, NO_PRODUCT, PRODUCTS, SUPPORT, Case, T, Unknown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolgrad.base.dtypes import FORMATS
from poolgrad.cli.line import option
from poolgrad.contract.parameters import Parameter, Role
from poolgrad.operators import REGISTRY

AVG, MAX = "aclnnAvgPool2dBackward", "aclnnMaxPool2dWithIndicesBackward"


def words(operator: str, arguments: dict[str, object]) -> list[str]:
    """A call as a line, every argument written out."""
    line = []
    for parameter in REGISTRY[operator].parameters:
        value = arguments[parameter.name]
        name = option(parameter)
        if isinstance(value, T):
            steps = "" if value.strides is None else f":strides={','.join(map(str, value.strides))}"
            line += [f"{name}={','.join(map(str, value.shape))}:{value.dtype}:{value.format}{steps}"]
        elif isinstance(value, bool) or parameter.role is Role.CEIL_MODE:  # which is an integer for some
            line += [name if value else f"--no-{name[2:]}"]
        else:
            text = "null" if value is None else f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else value
            line += [f"{name}={text}"]
    return line


def can_be_written(case: Case) -> bool:
    """All but handles that are no objects, read-only memory, and formats that do not exist."""
    values = case.arguments.values()
    strange = any(isinstance(value, Unknown) or getattr(value, "read_only", False) for value in values)
    formats = {value.format for value in values if isinstance(value, T)}
    return not strange and formats <= set(FORMATS)


WRITTEN = [case for case in CASES if can_be_written(case)]


@pytest.mark.parametrize("case", WRITTEN, ids=str)
def test_the_row_that_decides_is_named(case: Case) -> None:
    done = poolgrad("check", case.operator, *words(case.operator, case.arguments), "--json", expect=None)
    answers = {answer["product"] or NO_PRODUCT: answer for answer in done.data["answers"]}
    assert list(answers) == [*PRODUCTS, NO_PRODUCT]
    for product in case.products:
        found = answers[product]
        assert (found["rule"], found["parameter"], found["status"]) == (case.row, case.parameter, case.status)
        assert found["accepted"] is False
        assert found["message"].startswith(case.operator)
    assert done.code == (0 if any(answers[product]["accepted"] for product in PRODUCTS) else 1)


def test_all_kinds_of_rows_are_among_them() -> None:
    written = {(case.operator, case.row) for case in WRITTEN}
    missing = {(case.operator, case.row) for case in CASES} - written
    outputs = {(name, f"{p.name}-writable") for name, operator in REGISTRY.items() for p in operator.outputs}
    assert missing == {(name, "handles") for name in REGISTRY} | outputs


@pytest.mark.parametrize("operator", REGISTRY)
def test_legal_calls_are_accepted_where_the_operator_is(operator: str) -> None:
    found = poolgrad("check", operator, *words(operator, LEGAL[operator]), "--json").data["answers"]
    accepted = [answer["product"] for answer in found if answer["accepted"]]
    assert accepted == [*SUPPORT[operator], None]
    assert [answer["product"] for answer in found] == [*PRODUCTS, None]


def test_a_line_may_be_short() -> None:
    """What is not said is as in the Pythonic layer, and gradOutput as the windows give it."""
    short = ("check", "avgpool2dbackward", "--x", "1,16,4,4", "--kernel-size", 4)
    assert "accepted" in poolgrad(*short, "--product", "Ascend910B").stdout
    said = poolgrad("check", MAX, "--x", "2,3,9,9:fp16:NHWC", "--kernel-size", "3", "--stride", "2", "--json").data
    assert [a["product"] for a in said["answers"] if a["accepted"]] == ["Ascend 950", None]
    assert poolgrad(
        "check", MAX, "--x", "2,3,9,9", "--kernel-size", 3, "--dtype", "bf16", "--product", "Ascend950"
    ).stdout
    shown = poolgrad("check", "AdaptiveMaxPool2dBackward", "--x", "1,9,4,4", "--grad-output", "1,9,2,3").stdout
    assert shown.count("0 accepted") == 3
    assert shown.count("- product: ") == 1


def test_reasons_are_told_to_people() -> None:
    call = ("check", AVG, "--x", "1,16,4,4", "--kernel-size", 3, "--padding", 2)
    one = poolgrad(*call, "--product", "Atlas A2", expect=1).stdout
    for text in (
        "refused: aclnnAvgPool2dBackward on Atlas A2: 161002 ACLNN_ERR_PARAM_INVALID",
        "at most half of kernelSize (3, 3)",
        "Use padding up to (1, 1).",
        "padding-half: padding is at most half of kernelSize",
        "document",
    ):
        assert text in one
    every = poolgrad(*call, expect=1).stdout
    assert every.count("padding-half") == len(SUPPORT[AVG]) + 2  # each product, no product, and the reason once
    assert "\x1b" not in every


def test_null_pointers_and_strides_can_be_written() -> None:
    def rule(*words: str) -> str:
        return poolgrad("check", *words, "--product", "Ascend950", "--json", expect=1).data["rule"]

    plain = (MAX, "--x", "1,2,4,4", "--kernel-size", "2")
    assert rule(AVG, "--x", "null", "--kernel-size", "2") == "self-null"
    assert rule(*plain, "--indices", "null") == "indices-null"
    assert rule(*plain, "--stride", "null") == "stride-null"
    assert rule(*plain, "--out", "1,2,4,4:strides=1,1,1,1") == "output-overlaps-itself"
    assert rule(MAX, "--x", f"{2**70},2,4,4", "--kernel-size", "2") == "int64"
    assert rule(*plain, "--grad-output", "1,2,2,2:strides=100,4,2,1:storage=7") == "view-in-storage"
    assert rule(AVG, "--x", "3,1,1,1", "--kernel-size", "1", "--out", f"3,1,1,1:strides={2**62},1,1,1") == "sizes"
    assert rule(*plain, "--grad-output", f"1,2,2,2:offset={2**62}") == "view-in-storage"
    assert rule(*plain, "--out", f"1,2,4,4:storage={2**61}") == "view-in-storage"


def test_files_tell_their_shape_and_type(tmp_path: Path) -> None:
    np.save(tmp_path / "g.npy", np.ones((1, 2, 2, 2), np.float16))
    np.ones(8, np.int32).tofile(tmp_path / "i.bin")
    call = ("check", MAX, "--grad-output", tmp_path / "g.npy", "--indices", tmp_path / "i.bin", "--kernel-size", 2)
    assert "accepted" in poolgrad(*call, "--x", "1,2,4,4", "--product", "Ascend950").stdout
    refused = poolgrad(*call, "--x", "1,2,4,4", "--product", "Ascend910B", "--json", expect=1).data
    assert (refused["rule"], refused["got"]) == ("gradOutput-dtype", "float16")


def test_no_memory_is_taken_for_what_is_asked_about() -> None:
    shape = f"1,1,{1 << 30},{1 << 30}"
    assert "accepted" in poolgrad("check", AVG, "--x", shape, "--kernel-size", 2, "--product", "Atlas A2").stdout


BAD = [
    (("AvgPool",), "did you mean aclnnAvgPool2d?"),
    ((AVG,), "--x is missing"),
    ((AVG, "--x", "1,1,4,4"), "--kernel-size is missing"),
    (
        (AVG, "--x", "1,1,4,four", "--kernel-size", "2"),
        "--x: expected integers such as 3 or 1,16,4,4, got '1,1,4,four'",
    ),
    ((AVG, "--x", "1,1,4,4:floaty", "--kernel-size", "2"), "got 'floaty'"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "two"), "--kernel-size: expected integers"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--dtype", "floaty"), "dtype: expected one of"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--format", "NWHC"), "format: expected one of"),
    ((AVG, "--x", "1,1,4,4:strides=1,2", "--kernel-size", "2"), "--x: strides: expected 4"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--dilation", "2"), "has no --dilation"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--indices", "1,1,2,2"), "has no --indices"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--product", "Atlas"), "unknown product 'Atlas'"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--grad-output", "no.npy"), "no.npy: there is no such file"),
    ((AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--grad-output", "no.bin"), "give --dtype and --shape"),
    (("AdaptiveAvgPool3dBackward", "--x", "1,1,4,4"), "--grad-output is missing"),
    (("no/such/file.json",), "can't be read: No such file"),
    (("no/such/file.json", "--kernel-size", "2"), "a case file has its own tensors and numbers; leave out kernel_size"),
]


@pytest.mark.parametrize(("line", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_usage_is_one_line(line: tuple[str, ...], said: str) -> None:
    done = poolgrad("check", *line, expect=2)
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.startswith("poolgrad: ")
    assert done.stderr.count("\n") == 1


def test_case_files_are_checked_against_what_they_expect(tmp_path: Path) -> None:
    tensor = {"dtype": "float32", "shape": [1, 1, 4, 4]}
    pooled = {"dtype": "float32", "shape": [1, 1, 2, 2]}
    right = {"name": "right", "operator": AVG, "gradOutput": pooled, "self": tensor, "kernelSize": [2]}
    refused = right | {"name": "refused", "padding": [2], "status": 161002, "product": "Atlas A2"}
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(right) + "\n" + json.dumps(refused))
    records = poolgrad("check", path, "--json").data
    assert [(r["case"], r["status"], r["as_expected"], r["product"]) for r in records] == [
        ("right", 0, True, None),
        ("refused", 161002, True, "Atlas A2"),
    ]
    assert records[1]["rule"] == "padding-half"
    # On a product that lacks the operator the first case is refused against its expectation.
    shown = poolgrad("check", path, "--product", "Ascend310B", expect=1).stdout
    assert "1 of 2 cases have the status that they expect" in shown
    path.write_text(json.dumps(right | {"status": 507015}) + "\n" + json.dumps(refused | {"status": 507015}))
    assert [record["as_expected"] for record in poolgrad("check", path, "--json", expect=1).data] == [True, False]
    path.write_text("{")
    assert "line 1" in poolgrad("check", path, expect=2).stderr


@pytest.mark.parametrize("command", ["run", "check", "view"])
def test_every_parameter_of_every_operator_has_an_option_and_a_word_of_help(command: str) -> None:
    from typer.main import get_command

    from poolgrad.cli.app import app

    options = {name: parameter for parameter in get_command(app).commands[command].params for name in parameter.opts}
    for operator in REGISTRY.values():
        for parameter in operator.parameters:
            assert option(parameter) in options, f"{operator.name}: {parameter.name}"
            assert options[option(parameter)].help


def test_a_new_parameter_of_an_operator_becomes_an_option() -> None:
    """Options come from the operators, so nobody has to think of them."""
    from dataclasses import replace
    from unittest.mock import patch

    from poolgrad.cli import line

    operator = REGISTRY[AVG]
    number = Parameter("newNumber", Role.DILATION, "int64_t", "new_number", "A number.")
    tensor = Parameter("newTensor", Role.MASK, "const aclTensor*", "new_tensor", "A tensor.")
    grown = replace(operator, parameters=(*operator.parameters, number, tensor))
    with patch.dict(line.REGISTRY, {AVG: grown}):
        seen: dict[str, object] = {}

        @line.takes_call(lambda parameter: None if parameter.output else ("FILE", parameter.help))
        def command(words: dict[str, object]) -> None:
            seen.update(words)

        names = set(inspect.signature(command).parameters)
        assert "out" not in names
        command(**dict.fromkeys(names) | {"new_number": 7, "new_tensor": "1,2:int8"})
    assert seen.pop("tensors") == {"new_tensor": "1,2:int8"}
    assert seen.pop("numbers") == {"new_number": 7}
    assert seen == dict.fromkeys(line.COMMON)


def test_checking_needs_no_kernels() -> None:
    code = "import sys; from poolgrad.cli import main\ntry: main()\nexcept SystemExit: print('numba' in sys.modules)"
    command = [sys.executable, "-c", code, "check", AVG, "--x", "1,1,4,4", "--kernel-size", "2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.endswith("False\n"), done.stderr


WORDS = st.one_of(
    st.sampled_from(["1,2,4,4", "2,4,4:float16", "1,2,4,4:strides=1,1,1,1", "null", "", "0", "-1,2", "no.npy", "(2"]),
    st.lists(st.integers(-(2**70), 2**70), max_size=6).map(lambda numbers: ",".join(map(str, numbers))),
    st.text(max_size=8),
)
TENSORS = ("--x", "--grad-output", "--indices", "--out", "--dtype")
NUMBERS = ("--kernel-size", "--stride", "--padding", "--dilation")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([*REGISTRY]), st.dictionaries(st.sampled_from((*TENSORS, *NUMBERS)), WORDS), st.booleans())
def test_whatever_is_typed_has_an_answer(operator: str, options: dict[str, str], as_json: bool) -> None:
    line = [f"{name}={value}" for name, value in options.items()]
    done = poolgrad("check", operator, *line, *(["--json"] if as_json else []), expect=None)
    assert done.code in (0, 1, 2)
    if done.code == 2:
        assert done.stdout == ""
        assert done.stderr
    elif as_json:
        assert len(done.data["answers"]) == len(PRODUCTS) + 1
