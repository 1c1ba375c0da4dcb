"""Case files of other tools and our own: every form that they are known to have, and refusals in one line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases.files import (
    LINE_MAX,
    TTK_AVERAGE,
    atk_adaptive_average,
    atk_adaptive_max,
    atk_average,
    atk_list,
    atk_max,
    atk_tensor,
    atk_value,
    ttk_text,
    write,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from poolgrad.base.dtypes import FLOAT16, INT64
from poolgrad.base.tensor import Tensor, contiguous_strides
from poolgrad.cases import BadCase, Case, CaseTensor, Values, read_cases
from poolgrad.cases.judging import judge
from poolgrad.cases.lines import as_record
from poolgrad.contract.engine import Call
from poolgrad.contract.parameters import OUTPUT, Parameter, Role
from poolgrad.contract.pooling import pooled_shape
from poolgrad.operators import REGISTRY


def read_one(directory: Path, content: Any, **options: Any) -> Case:
    (case,) = read_cases(write(directory, "cases", content), **options)
    return case


# ATK.


def test_an_atk_case_has_its_inputs_under_the_documented_names(tmp_path: Path) -> None:
    case = read_one(tmp_path, [atk_average(padding=atk_list("padding", 1, 0))])
    assert (case.name, case.operator_name) == ("AvgPool2dBackward_7", "aclnnAvgPool2dBackward")
    assert case.numbers == {
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (1, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 1,
    }
    assert case.tensor("gradOutput").shape == (2, 3, 4, 4)
    assert case.tensor("gradInput").shape == case.tensor("self").shape == (2, 3, 8, 8)
    assert case.tensor("self").format == "NCHW"
    assert (case.product, case.status, case.standard) == (None, None, None)


def test_outputs_that_a_file_does_not_describe_are_as_the_operator_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here two of them, as forward passes have; where windows are too wrong to say it, they are like the input."""
    operator = REGISTRY["aclnnAvgPool2dBackward"]
    places = Parameter("places", Role.PLACES, OUTPUT, "places", read=False)

    def results(call: Call) -> tuple[Tensor, ...]:
        shape = pooled_shape(call)
        return tuple(Tensor(t, shape, contiguous_strides(shape, t.itemsize), "ND") for t in (FLOAT16, INT64))

    two = replace(operator, parameters=(*operator.parameters, places), results=results)
    monkeypatch.setitem(REGISTRY, operator.name, two)
    case = read_one(tmp_path, [atk_average()])
    assert case.tensor("gradInput") == CaseTensor("float16", (2, 3, 4, 4), "ND")
    assert case.tensor("places") == CaseTensor("int64", (2, 3, 4, 4), "ND")
    assert set(as_record(case)) & {"gradInput", "places"} == set()
    wrong = read_one(tmp_path, [atk_average(stride=atk_list("stride", 0, 0))])
    assert wrong.tensor("gradInput").shape == (2, 3, 8, 8)


@pytest.mark.parametrize(("short", "name"), [("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")])
def test_short_names_of_types_are_understood(tmp_path: Path, short: str, name: str) -> None:
    tensors = {t: atk_tensor(t, [1, 1, 4, 4], short) for t in ("gradOutput", "self")}
    assert read_one(tmp_path, [atk_average(**tensors)]).tensor("self").dtype == name


def test_input_is_self_in_adaptive_average_pooling(tmp_path: Path) -> None:
    case = read_one(tmp_path, [atk_adaptive_average()])
    assert case.tensor("self").shape == case.tensor("out").shape == (2, 3, 4, 5, 6)
    assert judge(case).status == 0


def test_indices_have_the_shape_of_the_forward_pass_whatever_the_file_says(tmp_path: Path) -> None:
    case = read_one(tmp_path, [atk_max()])
    assert case.tensor("indices").shape == (2, 3, 4, 4)
    assert case.tensor("indices").dtype == "int32"
    assert case.tensor("indices").values.kind == "forward"
    assert judge(case).status == 0


def test_gradients_of_adaptive_max_pooling_are_the_forward_output(tmp_path: Path) -> None:
    case = read_one(tmp_path, [atk_adaptive_max()])
    assert case.tensor("gradOutput").shape == case.tensor("indices").shape == (2, 3, 4, 5)
    assert case.tensor("gradOutput").values.kind == "forward"
    assert case.tensor("gradOutput").dtype == "bfloat16", "that of self, whatever the file says"
    one = read_one(tmp_path, [atk_adaptive_max(output_size=atk_value("output_size", 3, "attr_tuple"))])
    assert one.tensor("indices").shape == (2, 3, 3, 3)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "bf16"])
def test_indices_of_adaptive_max_pooling_that_are_floats_stand_for_int32(tmp_path: Path, dtype: str) -> None:
    indices = atk_tensor("indices", [2, 3, 4, 5], dtype, ["-inf", "inf"])
    case = read_one(tmp_path, [atk_adaptive_max(indices=indices)])
    assert case == read_one(tmp_path, [atk_adaptive_max(indices=indices | {"dtype": "int32"})])
    assert judge(case).status == 0
    refused = read_one(tmp_path, [atk_max(indices=atk_tensor("indices", [1], dtype))])
    assert judge(refused).row is not None, "of the other operator they are what they are"


@pytest.mark.parametrize(
    ("told", "standard"),
    [
        ({"acc": {"single_bm": "default"}, "perf": {}}, None),
        ({"acc": {"single_bm": {}}, "perf": "default"}, None),
        ({"acc": "default"}, None),
        ({"acc": {"mixed_tolerance_bm": {}}, "perf": None}, "mixed"),
        ({"acc": {"single_bm": "mixed_tolerance_bm"}}, "mixed"),
        ({"acc": {"equal": "default"}}, "binary"),
        ({"acc": "equal"}, "binary"),
        ({"acc": {"of_the_future": 1}}, None),
        ({"acc": [["equal"]]}, None),
        ({"perf": {}}, None),
        ("stat_rel_err", "stat_rel_err"),
        ("mix_tolerance", "mixed"),
        (None, None),
    ],
)
def test_the_standard_of_an_atk_case(tmp_path: Path, told: Any, standard: str | None) -> None:
    assert read_one(tmp_path, [atk_average() | {"standard": told}]).standard == standard


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ([-5, 5], Values("uniform", (-5.0, 5.0))),
        ({"name": "nd", "mean": [-1, 1], "std": [1, 2]}, Values("normal", (-1.0, 1.0, 1.0, 2.0))),
        ({"name": "nd", "mean": 0, "std": 1}, Values("normal", (0.0, 0.0, 1.0, 1.0))),
        (["inf"], Values("constant", (math.inf,))),
        (["-inf"], Values("constant", (-math.inf,))),
        ([3], Values("constant", (3.0,))),
        (["null"], Values("uniform", (-1.0, 1.0))),
        (["-inf", "inf"], Values("uniform", (-math.inf, math.inf))),
    ],
)
def test_range_values_of_tensors(tmp_path: Path, raw: Any, values: Values) -> None:
    case = read_one(tmp_path, [atk_average(self=atk_tensor("self", [2, 3, 8, 8], values=raw))])
    assert case.tensor("self").values == values


def test_nan_is_a_constant(tmp_path: Path) -> None:
    case = read_one(tmp_path, [atk_average(self=atk_tensor("self", [2, 3, 8, 8], values=["nan"]))])
    assert case.tensor("self").values.kind == "constant"
    assert math.isnan(case.tensor("self").values.numbers[0])


def test_an_attribute_stands_alone_in_a_list_of_one_or_in_a_range(tmp_path: Path) -> None:
    def divisors(seed: int) -> list[Any]:
        records = []
        for identity, value in enumerate([4, [4], [10, 250], [10, 250], None]):
            record = atk_average(divisor_override=atk_value("divisor_override", value))
            records.append(record | {"id": identity})
        return [case.numbers["divisorOverride"] for case in read_cases(write(tmp_path, "a", records), seed=seed)]

    first = divisors(0)
    assert first[:2] == [4, 4]
    assert first[4] == 0
    assert all(10 <= drawn <= 250 for drawn in first[2:4])
    assert first[2] != first[3], "each case draws for itself"
    assert divisors(0) == first
    assert divisors(1)[2:4] != first[2:4]


def test_a_missing_stride_is_an_empty_one(tmp_path: Path) -> None:
    record = atk_average()
    record["inputs"] = [
        group for group in record["inputs"] if not isinstance(group, list) or group[0]["name"] != "stride"
    ]
    assert read_one(tmp_path, [record]).numbers["stride"] == ()


# TTK.


def test_a_ttk_row_has_an_entry_for_each_tensor(tmp_path: Path) -> None:
    case = read_one(tmp_path, ttk_text(TTK_AVERAGE))
    grad, self, out = (case.tensor(name) for name in ("gradOutput", "self", "gradInput"))
    assert (grad.dtype, grad.shape, grad.format) == ("float16", (2, 3, 4, 4), "NCHW")
    assert (grad.values, self.values) == (Values("uniform", (-5.0, 5.0)), Values("uniform", (0.0, 1.0)))
    assert (grad.strides, grad.storage) == (None, None)
    assert (out.strides, out.offset, out.storage) == ((192, 64, 8, 1), 5, (400,))
    assert case.numbers["divisorOverride"] == 3
    assert case.numbers["countIncludePad"] is False
    assert judge(case).status == 0


def test_a_view_that_leaves_its_storage_is_refused_as_at_phase_two(tmp_path: Path) -> None:
    row = TTK_AVERAGE | {"tensor_view_offsets": "(0, 0, 17)"}
    answer = judge(read_one(tmp_path, ttk_text(row)))
    assert answer.row is not None
    assert (answer.status, answer.row.key) == (161002, "view-in-storage")


def test_empty_cells_have_defaults_and_one_word_holds_for_all(tmp_path: Path) -> None:
    empty = dict.fromkeys(("tensor_storage_shapes", "tensor_view_offsets", "tensor_view_strides"), "")
    row = TTK_AVERAGE | empty | {"tensor_dtypes": "'bfloat16'", "input_data_ranges": "", "output_tensor_indexes": ""}
    case = read_one(tmp_path, ttk_text(row))
    assert {tensor.dtype for tensor in case.tensors.values() if tensor} == {"bfloat16"}
    assert case.tensor("self").values == Values("uniform", (-1.0, 1.0))


@pytest.mark.parametrize("cell", ["", "None", "()", "(None, None, None)"])
def test_tensors_without_a_format_are_nd_as_ttk_passes_them(tmp_path: Path, cell: str) -> None:
    case = read_one(tmp_path, ttk_text(TTK_AVERAGE | {"tensor_formats": cell}))
    assert {tensor.format for tensor in case.tensors.values() if tensor} == {"ND"}
    without = {column: text for column, text in TTK_AVERAGE.items() if column != "tensor_formats"}
    assert read_one(tmp_path, ttk_text(without)) == case
    assert judge(case).status == 161002, "AvgPool2dBackward takes no ND"


WHOLE_CELLS = [
    ("tensor_dtypes", "('float32',)", "dtype", "float32"),
    ("tensor_dtypes", "f32", "dtype", "float32"),
    ("tensor_dtypes", "('fp32',)", "dtype", "float32"),
    ("tensor_dtypes", "float", "dtype", "float32"),
    ("tensor_dtypes", "(bf16,)", "dtype", "bfloat16"),
    ("tensor_dtypes", "['f16', 'half', 'fp16']", "dtype", "float16"),
    ("tensor_formats", "('NCHW',)", "format", "NCHW"),
    ("tensor_formats", "ND", "format", "ND"),
    ("tensor_view_offsets", "(0,)", "offset", 0),
]


@pytest.mark.parametrize(("column", "cell", "field", "expected"), WHOLE_CELLS)
def test_one_entry_stands_for_all_tensors(tmp_path: Path, column: str, cell: str, field: str, expected: object) -> None:
    case = read_one(tmp_path, ttk_text(TTK_AVERAGE | {column: cell}))
    assert [getattr(tensor, field) for tensor in case.tensors.values()] == [expected] * 3


UNIFORM = Values("uniform", (-1.0, 1.0))
RANGES = {
    "one for all": ("(-1, 1)", (UNIFORM, UNIFORM)),
    "one in a list": ("[-2, 2]", (Values("uniform", (-2.0, 2.0)),) * 2),
    "one in a tuple": ("((-2, 2),)", (Values("uniform", (-2.0, 2.0)),) * 2),
    "one number": ("0.5", (Values("constant", (0.5,)),) * 2),
    "one word": ("(inf,)", (Values("constant", (math.inf,)),) * 2),
    "of floats": ('(float("-inf"), float("inf"))', (Values("uniform", (-math.inf, math.inf)),) * 2),
    "with an output": ("((0, 1), (2, 3), (4, 5))", (Values("uniform", (0.0, 1.0)), Values("uniform", (2.0, 3.0)))),
    "of nothing": ("((None, None),)", (UNIFORM, UNIFORM)),
    "in quotes": ("('-inf', 'inf')", (Values("uniform", (-math.inf, math.inf)),) * 2),
    "none": ("()", (UNIFORM, UNIFORM)),
    "one of them none": ("(None, (0, 2**10))", (UNIFORM, Values("uniform", (0.0, 1024.0)))),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_of_tensors(tmp_path: Path, name: str) -> None:
    cell, expected = RANGES[name]
    case = read_one(tmp_path, ttk_text(TTK_AVERAGE | {"input_data_ranges": cell}))
    assert (case.tensor("gradOutput").values, case.tensor("self").values) == expected


def test_ranges_may_be_fewer_than_tensors(tmp_path: Path) -> None:
    row = TTK_AVERAGE | {
        "api_name": "aclnnAdaptiveMaxPool2dBackward",
        "tensor_view_shapes": "((2, 3, 4, 4), (2, 3, 8, 8), (2, 3, 4, 4), (2, 3, 8, 8))",
        "tensor_dtypes": "(float32, float32, int32, float32)",
        "tensor_storage_shapes": "()",
        "tensor_view_offsets": "()",
        "tensor_view_strides": "()",
        "tensor_formats": "ND",
        "output_tensor_indexes": "(-1,)",
        "attributes": "",
        "input_data_ranges": "((-5, 5), (0, 1))",
    }
    case = read_one(tmp_path, ttk_text(row))
    assert case.tensor("gradOutput").values == Values("uniform", (-5.0, 5.0))
    assert case.tensor("self").values == Values("uniform", (0.0, 1.0))
    assert case.tensor("indices").values.kind == "forward"
    assert judge(case).status == 0


@pytest.mark.parametrize("cell", ["()", "((), (), ())", "[]"])
@pytest.mark.parametrize("column", ["tensor_storage_shapes", "tensor_view_offsets", "tensor_view_strides"])
def test_an_empty_tuple_means_as_the_view(tmp_path: Path, column: str, cell: str) -> None:
    plain = dict.fromkeys(("tensor_storage_shapes", "tensor_view_offsets", "tensor_view_strides"), "")
    case = read_one(tmp_path, ttk_text(TTK_AVERAGE | plain | {column: cell}))
    assert case == read_one(tmp_path, ttk_text(TTK_AVERAGE | plain))
    assert judge(case).status == 0


@pytest.mark.parametrize("cell", ["(-1,)", "-1", "[2]", "2"])
def test_the_output_may_be_counted_from_the_end(tmp_path: Path, cell: str) -> None:
    row = TTK_AVERAGE | {"output_tensor_indexes": cell}
    assert read_one(tmp_path, ttk_text(row)) == read_one(tmp_path, ttk_text(TTK_AVERAGE))


def test_all_columns_of_attributes_count(tmp_path: Path) -> None:
    row = TTK_AVERAGE | {
        "attributes": "{'kernelSize': (2*1, 2), 'stride': (2,)}",
        "attributes1": "{'padding': [0, 0], 'ceilMode': False, 'kernelSize': (2, 2)}",
        "attributes2": "",
        "attributes9": "{'countIncludePad': False, 'divisorOverride': 3, 'cubeMathType': 0}",
    }
    assert read_one(tmp_path, ttk_text(row)).numbers == read_one(tmp_path, ttk_text(TTK_AVERAGE)).numbers


@pytest.mark.parametrize("word", ["False", "FALSE", "false", "0"])
def test_a_row_that_is_not_enabled_is_passed_over_whatever_is_in_it(tmp_path: Path, word: str) -> None:
    off = dict.fromkeys(TTK_AVERAGE, "?(") | {"is_enabled": word}
    on = [TTK_AVERAGE | {"testcase_name": name, "is_enabled": cell} for name, cell in (("a", "True"), ("b", ""))]
    names = [case.name for case in read_cases(write(tmp_path, "cases", ttk_text(off, *on)))]
    assert names == ["a", "b"]


def test_what_other_columns_hold_does_not_matter(tmp_path: Path) -> None:
    words = {"remark": "a case, (of mine", "network_name": "ResNet-50", "soc_series": "Ascend910B", "random": "1 +"}
    assert read_one(tmp_path, ttk_text(TTK_AVERAGE | words)) == read_one(tmp_path, ttk_text(TTK_AVERAGE))


def test_numbers_may_be_reckoned_in_a_cell(tmp_path: Path) -> None:
    row = TTK_AVERAGE | {
        "tensor_view_shapes": "((2, 3, 2*2, 2**2), (2, 3, 8, 2**3), (2, 3, 10 - 2, 8))",
        "input_data_ranges": '((-2**10, 2**10), (float("nan"),))',
    }
    case = read_one(tmp_path, ttk_text(row))
    assert case.tensor("gradOutput").shape == (2, 3, 4, 4)
    assert case.tensor("gradOutput").values == Values("uniform", (-1024.0, 1024.0))
    assert math.isnan(case.tensor("self").values.numbers[0])
    assert judge(case).status == 0


def test_inf_and_nan_may_stand_without_quotes_in_a_cell(tmp_path: Path) -> None:
    row = TTK_AVERAGE | {"input_data_ranges": "((-inf, inf), (inf,))"}
    case = read_one(tmp_path, ttk_text(row))
    assert case.tensor("gradOutput").values == Values("uniform", (-math.inf, math.inf))
    assert case.tensor("self").values == Values("constant", (math.inf,))


def test_a_null_tensor_has_no_shape(tmp_path: Path) -> None:
    row = TTK_AVERAGE | {"tensor_view_shapes": "((2, 3, 4, 4), None, (2, 3, 8, 8))"}
    assert judge(read_one(tmp_path, ttk_text(row))).status == 161001


@pytest.mark.parametrize("cell", ["__import__('os').mkdir('{0}')", "(lambda: 1)()", "[0 for _ in (1,)]", "open('{0}')"])
def test_code_in_a_cell_is_refused_and_never_run(tmp_path: Path, cell: str) -> None:
    trace = tmp_path / "trace"
    row = TTK_AVERAGE | {"attributes": cell.format(trace)}
    with pytest.raises(BadCase, match="line 2, 'avg_1': attributes: expected a Python literal"):
        read_one(tmp_path, ttk_text(row))
    assert not trace.exists()


# JSON lines.


def test_a_line_is_short_where_defaults_do(tmp_path: Path) -> None:
    case = read_one(tmp_path, (LINE_MAX,))
    assert case.numbers == {
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0,),
        "dilation": (1,),
        "ceilMode": False,
    }
    indices = case.tensor("indices")
    assert (indices.dtype, indices.shape, indices.values.kind) == ("int32", (2, 3, 4, 4), "forward")
    assert judge(case).status == 0


def test_a_line_may_use_the_names_of_the_pythonic_layer(tmp_path: Path) -> None:
    names = {"gradOutput": "grad_output", "self": "x", "kernelSize": "kernel_size"}
    line = {names.get(key, key): value for key, value in LINE_MAX.items()}
    line["operator"] = "max_pool2d_with_indices_backward"
    assert read_one(tmp_path, (line,)) == read_one(tmp_path, (LINE_MAX,))


def test_a_line_carries_all_that_a_case_has(tmp_path: Path) -> None:
    line = LINE_MAX | {
        "why": "because",
        "product": "Ascend910B",
        "status": 161002,
        "standard": "mix_tolerance",
        "seed": 5,
        "indices": {"dtype": "int64", "shape": [2, 3, 4, 4], "format": "NCHW", "data": "windows"},
        "gradInput": None,
    }
    case = read_one(tmp_path, (line,))
    assert (case.why, case.product, case.status, case.standard, case.seed) == (
        "because",
        "Atlas A2",
        161002,
        "mixed",
        5,
    )
    assert case.tensor("indices").values.kind == "windows"
    assert not any(case.outputs.values())


def test_comments_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    assert read_one(tmp_path, f"# a remark\n\n{json.dumps(LINE_MAX)}\n\n").name == "max_1"


def test_seed_and_product_are_for_cases_that_name_none(tmp_path: Path) -> None:
    lines = (LINE_MAX, LINE_MAX | {"name": "other", "seed": 5, "product": "Atlas A3"})
    cases = read_cases(write(tmp_path, "a", lines), seed=9, product="Ascend 950")
    assert [(case.seed, case.product) for case in cases] == [(9, "Ascend 950"), (5, "Atlas A3")]


# Files that can't be used.


def _line(**changes: Any) -> tuple[dict[str, Any], ...]:
    return (LINE_MAX | changes,)


GRAD = LINE_MAX["gradOutput"]
BAD: dict[str, tuple[Any, str]] = {
    "an empty file": ("", "is no case file: .*it is empty"),
    "another file": ("PK\x03\x04", "is no case file: .*begins with"),
    "bytes that are no text": (b"\xff\xfe\x00", "not text in UTF-8"),
    "an empty list": ([], "there are no cases"),
    "cut-off JSON": (json.dumps([atk_average()])[:-40], "expected a JSON list of ATK cases"),
    "JSON that nests without end": ("[" * 100_000, "expected a JSON list of ATK cases"),
    "a list of numbers": ([1, 2], "case 0: expected an ATK case"),
    "an ATK case without inputs": ([{"id": 1, "aclnn_name": "AvgPool2dBackward"}], "case 0: expected an ATK case"),
    "an unknown operator": ([atk_average() | {"aclnn_name": "Conv2d"}], "unknown operator 'Conv2d'"),
    "an unknown input": ([atk_average(extra=atk_value("extra", 1))], "has no parameter 'extra'"),
    "an input without a name": ([atk_average(extra={"type": "attr"})], "input 9: expected an input with a name"),
    "an empty list of inputs": ([atk_average(stride=[])], "input 3: expected an input with a name"),
    "a list of two names": ([atk_average(x=[atk_value("stride", 1), atk_value("padding", 1)])], "inputs of one name"),
    "a list of tensors": ([atk_average(self=[atk_tensor("self", [1])] * 2)], "self: expected one tensor"),
    "an attribute that is text": ([atk_average(ceil_mode=atk_value("ceil_mode", "x"))], "ceil_mode: expected a value"),
    "an attribute out of an empty range": (
        [atk_average(divisor_override=atk_value("divisor_override", [5, 1]))],
        "divisor_override: expected a value, or a range",
    ),
    "a kernel that is no number": ([atk_average(kernel_size=atk_list("kernel_size", 1.5))], "kernelSize: expected int"),
    "a range upside down": (
        [atk_average(self=atk_tensor("self", [1], values=[5, -5]))],
        "self: range_values: expected",
    ),
    "a range of three": (
        [atk_average(self=atk_tensor("self", [1], values=[1, 2, 3]))],
        r"expected a range \[low, high\]",
    ),
    "two cases of one id": ([atk_average(), atk_average()], "two cases have the name 'AvgPool2dBackward_7'"),
    "an id that is a list": ([atk_average() | {"id": [1]}], "id: expected a number or text"),
    "an unknown dtype": ([atk_average(self=atk_tensor("self", [1], "fp8"))], "dtype: expected one of .*'fp8'"),
    "a shape that is a number": ([atk_average(self=atk_tensor("self", 5))], "shape: expected a list of sizes"),  # type: ignore[arg-type]
    "a CSV without a needed column": ("testcase_name,api_name\na,b\n", "needs the column tensor_view_shapes"),
    "a CSV that ends in a cell": (ttk_text(TTK_AVERAGE)[:-60], "line 2"),
    "a CSV that ends in quotes": (ttk_text(TTK_AVERAGE).split("{'kernelSize'")[0] + '"{', "damaged or cut off"),
    "a row that is too long": (ttk_text(TTK_AVERAGE).rstrip() + ",1,2\n", "expected 13 cells"),
    "a cell for two tensors": (
        ttk_text(TTK_AVERAGE | {"tensor_dtypes": "('float32', 'float32')"}),
        "tensor_dtypes: expected 3 entries, one for each of gradOutput, self, gradInput",
    ),
    "two ranges too many": (
        ttk_text(TTK_AVERAGE | {"input_data_ranges": "((0, 1),) * 2, (0, 1)"}),
        "input_data_ranges: expected a Python literal",
    ),
    "more ranges than tensors": (
        ttk_text(TTK_AVERAGE | {"input_data_ranges": "((0, 1), (0, 1), (0, 1), (0, 1))"}),
        "input_data_ranges: expected up to 3 ranges, one for each of gradOutput, self, gradInput",
    ),
    "one shape for all tensors": (
        ttk_text(TTK_AVERAGE | {"tensor_view_shapes": "((2, 3, 4, 4),)"}),
        "tensor_view_shapes: expected 3 entries, one for each of gradOutput, self, gradInput",
    ),
    "a number without end": (
        ttk_text(TTK_AVERAGE | {"tensor_view_shapes": "(2**10**10,)"}),
        "line 2, 'avg_1': tensor_view_shapes: expected a Python literal, got '\\(2\\*\\*10\\*\\*10,\\)'",
    ),
    "attributes that contradict each other": (
        ttk_text(TTK_AVERAGE | {"attributes3": "{'divisorOverride': 4}"}),
        "attributes3: divisorOverride is 4, and 3 in another column",
    ),
    "a column of attributes that is a list": (
        ttk_text(TTK_AVERAGE | {"attributes1": "[1]"}),
        "attributes1: expected a dict",
    ),
    "an unknown further attribute": (
        ttk_text(TTK_AVERAGE | {"attributes9": "{'k': 1}"}),
        "attributes9: .* has no parameter 'k'",
    ),
    "is_enabled as a riddle": (
        ttk_text(TTK_AVERAGE | {"is_enabled": "maybe"}),
        "line 2: is_enabled: expected True or False, got 'maybe'",
    ),
    "no row that is enabled": (
        ttk_text(TTK_AVERAGE | {"is_enabled": "False"}),
        "is_enabled is False in all of its rows",
    ),
    "another output": (ttk_text(TTK_AVERAGE | {"output_tensor_indexes": "(0,)"}), "output_tensor_indexes: expected"),
    "attributes that are a list": (ttk_text(TTK_AVERAGE | {"attributes": "[1]"}), "attributes: expected a dict"),
    "an unknown attribute": (ttk_text(TTK_AVERAGE | {"attributes": "{'k': 1}"}), "has no parameter 'k'"),
    "a row without a name": (ttk_text(TTK_AVERAGE | {"testcase_name": ""}), "testcase_name is empty"),
    "a cut-off line": (json.dumps(LINE_MAX)[:-10], "line 1: expected one JSON object"),
    "a line that is a list": (json.dumps(LINE_MAX) + "\n[1]\n", "line 2: expected one JSON object, got list"),
    "a line without an operator": ('{"name": "a"}', "line 1: unknown operator None"),
    "an unknown key": (_line(kernel=3), "has no parameter 'kernel'; a line may have name, operator"),
    "an unknown key of a tensor": (_line(self=GRAD | {"type": 1}), "self: unknown 'type'; a tensor may have dtype"),
    "a tensor that is a list": (_line(self=[1]), "self: expected an object with dtype and shape"),
    "a tensor without a dtype": (_line(self={"shape": [1]}), "self: dtype: expected a name"),
    "no kernel": ({k: v for k, v in LINE_MAX.items() if k != "kernelSize"}, "there is no kernelSize"),
    "no gradients": ({k: v for k, v in LINE_MAX.items() if k != "gradOutput"}, "there is no tensor gradOutput"),
    "an unknown format": (_line(self=GRAD | {"format": "XY"}), "format: expected one of"),
    "strides for other axes": (_line(self=GRAD | {"strides": [1]}), "strides: expected 4"),
    "a seed below 0": (_line(seed=-1), "seed: expected 0 or more"),
    "an unknown product": (_line(product="Atlas 9"), "unknown product 'Atlas 9'"),
    "a misspelt standard": (_line(standard="binray"), "standard: expected one of mixed, .*, got 'binray'"),
    "a status that is text": (_line(status="bad"), "status: expected an integer"),
    "a flag that is a number": (_line(ceilMode=2), "ceilMode: expected true or false"),
    "a number of thousands of digits": (f'{{"operator": {"9" * 5000}}}', "line 1: expected one JSON object"),
    "a value that is no number": (_line(self=GRAD | {"data": ["a", "b"]}), "self: data: expected a number"),
    "a value beyond all floats": (_line(self=GRAD | {"data": 10**400}), "self: data: expected a number"),
    "a name that can't be printed": (_line(name="a\x1b[31m"), "name: expected text that can be printed"),
    "half a character": ('{"name": "\\ud800", ' + json.dumps(LINE_MAX)[18:], "name: expected text that can be printed"),
    "an ATK name that is a list": ([atk_average(x=atk_value([1], 1))], "input 9: expected an input with a name"),  # type: ignore[arg-type]
    "an endless deviation": (_line(self=GRAD | {"data": {"mean": 0, "std": "inf"}}), "expected finite means"),
    "a deviation below 0": (
        _line(self=GRAD | {"data": {"mean": 0, "std": -1}}),
        "line 1, 'max_1': self: data: std: expected 0 or more, got -1",
    ),
    "deviations from below 0": (
        [atk_average(self=atk_tensor("self", [1], values={"name": "nd", "mean": [0, 1], "std": [-1, 1]}))],
        r"case 0, 'AvgPool2dBackward_7': self: range_values: std: expected 0 or more, got \[-1, 1\]",
    ),
    "a deviation without a mean": (
        _line(self=GRAD | {"data": {"std": -1}}),
        "line 1, 'max_1': self: data: expected mean and std, got {'std': -1}",
    ),
    "self out of windows": (_line(self=GRAD | {"data": "windows"}), "self: data: expected uniform, constant or normal"),
    "normal indices": (
        _line(indices=GRAD | {"data": {"mean": 0, "std": 1}}),
        "indices: data: expected uniform, constant, forward, windows or plane values, got normal",
    ),
    "indices that are no numbers": (_line(indices=GRAD | {"data": "nan"}), "indices: data: expected integers"),
    "average gradients of a forward pass": (
        {"operator": "AdaptiveAvgPool3dBackward", "gradOutput": GRAD | {"data": "forward"}, "self": GRAD},
        "gradOutput: data: expected uniform, constant or normal values, got forward",
    ),
    "a name that is a number": (_line(name=5), "name: expected some text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    content, expected = BAD[name]
    with pytest.raises(BadCase, match=expected) as caught:
        read_one(tmp_path, (content,) if isinstance(content, dict) else content)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "cases") in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCase, match="can't be read"):
        read_cases(tmp_path / "nothing")


WHOLE = (
    json.dumps([atk_average(), atk_max(), atk_adaptive_max(), atk_adaptive_average()]),
    ttk_text(TTK_AVERAGE),
    json.dumps(LINE_MAX),
)
PIECES = (
    "null",
    "[]",
    "{}",
    "-1",
    "1e999",
    '""',
    "true",
    "9" * 30,
    "'",
    '"',
    ",",
    "(",
    ")",
    "[",
    "}",
    "\\",
    "\0",
    "\n",
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    text=st.sampled_from(WHOLE),
    changes=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(0, 40), st.sampled_from(PIECES)), min_size=1, max_size=4
    ),
)
def test_whatever_is_damaged_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str, changes: list[tuple[int, int, str]]
) -> None:
    for place, length, piece in changes:
        at = place % len(text)
        text = text[:at] + piece + text[at + length :]
    path = write(tmp_path_factory.getbasetemp(), "damaged", text)
    refusal = ""
    try:
        cases = read_cases(path)
    except BadCase as error:
        cases, refusal = [], str(error)
    assert "\n" not in refusal
    for case in cases:
        judge(case)
