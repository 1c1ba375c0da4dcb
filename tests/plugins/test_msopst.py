"""msOpST's functions give what plain loops give, called as msOpST calls them: by names of graph operators."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from plugins.example_calls import (
    ADAPTIVE_AVG,
    ADAPTIVE_MAX,
    AVG,
    FLOATS,
    INDEX_TYPES,
    MAX,
    assert_same,
    assert_wanted,
    is_forward,
    legal_indices,
    legal_mask,
    numbers,
    parameters,
    takes_mask,
    wanted,
)
from plugins.stand_ins import msopst_run

import poolgrad
from poolgrad.contract.operator import GraphOperator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY
from poolgrad.plugins import msopst
from poolgrad.selftest import reference

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
Array = np.ndarray[Any, Any]
FINDING = [name for name, operator in REGISTRY.items() if Role.PLACES in operator.by_role]


def case_of(operator: str, given: dict[str, Any], output: str, format: str = "ND", **attributes: Any) -> dict[str, Any]:
    """Arrays are tensors; ``output`` is the name of one more."""

    def described(name: str, value: Array) -> dict[str, Any]:
        return {"name": name, "dtype": value.dtype.name, "shape": list(value.shape), "format": format, "value": value}

    tensors = [described(name, value) for name, value in given.items() if isinstance(value, np.ndarray)]
    attributes = {name: value for name, value in given.items() if not isinstance(value, np.ndarray)} | attributes
    return {
        "calc_expect_func_file": f"{msopst.__file__}:{REGISTRY[operator].python_name}",
        "input_desc": tensors,
        "output_desc": [{**tensors[0], "name": output, "value": None}],
        "attr": [{"name": name, "value": value} for name, value in attributes.items()],
    }


def expected(operator: str, given: dict[str, Any], output: str = "y", format: str = "ND", **attributes: Any) -> Array:
    (got,) = msopst_run(case_of(operator, given, output, format, **attributes))
    assert isinstance(got, np.ndarray)
    return got


def shape_of(x: Array) -> Array:
    return np.array(x.shape, np.int32)


def last(array: Array) -> Array:
    """Channels, the second axis, last."""
    return np.moveaxis(array, 1, -1).copy()


# ---- by the names of C -----------------------------------------------------------------------------------------------


def legal_call(operator: str, dtype: Any = np.float32) -> dict[str, Any]:
    """A call by C's names, with indices as the forward pass gives them and without an output."""
    given = parameters(operator, dtype)
    for output in REGISTRY[operator].outputs:
        del given[output.name]
    if takes_mask(operator):
        given["indices"] = legal_mask(operator, given["self"])
    elif "indices" in given:
        given["indices"] = legal_indices(operator, given["self"]).astype(np.int32)
    return given


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", REGISTRY)
def test_golden_results_for_msopst(operator: str, dtype: Any) -> None:
    """Indices are of the type that the case says."""
    given = legal_call(operator, dtype)
    for index in INDEX_TYPES[operator]:
        case, like = case_of(operator, given, "", "NCHW"), parameters(operator, dtype, index)
        outputs = {p.name: like[p.name].dtype.name for p in REGISTRY[operator].outputs}
        case["output_desc"] = [{"name": name, "dtype": told, "value": None} for name, told in outputs.items()]
        assert_wanted(operator, msopst_run(case), given, dtype, index)


@pytest.mark.parametrize("operator", FINDING)
def test_indices_of_no_such_type_are_refused(operator: str) -> None:
    places = REGISTRY[operator].by_role[Role.PLACES].name
    case = case_of(operator, legal_call(operator), places)
    with pytest.raises(poolgrad.AclnnError, match=f"{places}-dtype"):
        msopst_run(case)


@pytest.mark.parametrize("operator", list(filter(is_forward, REGISTRY)))
def test_axes_of_forward_passes_lie_as_data_format_says(operator: str) -> None:
    given = legal_call(operator)
    channels_last = {n: last(v) if isinstance(v, np.ndarray) else v for n, v in given.items()}
    got = msopst_run(case_of(operator, channels_last, "y", data_format=f"N{REGISTRY[operator].axes}C"))
    moved = [
        one if p.role is Role.MASK else np.moveaxis(one, -1, 1)
        for p, one in zip(REGISTRY[operator].outputs, got, strict=True)
    ]
    assert_wanted(operator, moved, given, np.float32, np.int64)


def test_formats_and_bits_are_understood() -> None:
    given = legal_call(MAX)
    channels_last = {n: last(v) if isinstance(v, np.ndarray) else v for n, v in given.items()}
    got = expected(MAX, channels_last, format="NHWC")
    assert_same(np.moveaxis(got, -1, 1), wanted(MAX, given), np.float32)
    for operator, format in ((AVG, "NHWC"), (ADAPTIVE_MAX, "NHWC"), (ADAPTIVE_AVG, "NDHWC")):
        with pytest.raises(poolgrad.AclnnError, match=f"got {format}"):
            expected(operator, legal_call(operator), format=format)

    given = legal_call(AVG, BFLOAT16)
    case = case_of(AVG, given, "gradInput", "NCHW")
    case["input_desc"][0]["value"] = given["gradOutput"].view(np.uint16)  # its bits
    case["input_desc"][1]["value"] = given["self"].astype(np.float32)  # and wider than told
    (got,) = msopst_run(case)
    assert_same(got, wanted(AVG, given), BFLOAT16)
    case["attr"] = [attribute for attribute in case["attr"] if attribute["name"] in ("kernelSize", "ceilMode")]
    assert_same(msopst_run(case)[0], wanted(AVG, given), BFLOAT16)


def test_python_may_pass_tensors_in_their_order() -> None:
    given = legal_call(AVG)
    tensors = [{"value": given.pop(name), "format": "NCHW"} for name in ("gradOutput", "self")]
    (got,) = msopst.avg_pool2d_backward(*tensors, {"value": None}, **given)
    assert_same(got, wanted(AVG, legal_call(AVG)), np.float32)


def test_a_tensor_without_a_name_is_missed() -> None:
    case = case_of(MAX, legal_call(MAX), "gradInput")
    for tensor in case["input_desc"][1:]:
        del tensor["name"]
    with pytest.raises(TypeError, match="there is no self and no indices among gradOutput, gradInput, kernelSize"):
        msopst_run(case)


def test_an_attribute_that_nobody_knows_is_named() -> None:
    with pytest.raises(TypeError, match="aclnnAvgPool2dBackward has no attribute dilation"):
        expected(AVG, legal_call(AVG), dilation=[1, 1])
    with pytest.raises(TypeError, match="aclnnAdaptiveAvgPool3dBackward has no attribute ksize"):
        expected(ADAPTIVE_AVG, legal_call(ADAPTIVE_AVG), ksize=[1])


# ---- by the names of graph operators ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "graph"), [(operator.name, graph) for operator in REGISTRY.values() for graph in operator.ir]
)
def test_every_name_of_a_graph_operator_is_understood(operator: str, graph: GraphOperator) -> None:
    given, by_role = legal_call(operator), REGISTRY[operator].by_role
    named = {name: given[by_role[role].name] for role, name in graph.names.items()}
    if "orig_input_shape" in named:
        named["orig_input_shape"] = shape_of(named["orig_input_shape"])
    assert set(graph.words) <= {"data_format", "dtype", "padding_mode", "global_pooling", "exclusive"}
    layout = f"NC{REGISTRY[operator].axes}"
    assert_same(expected(operator, named, data_format=layout), wanted(operator, given), np.float32)
    letters = [layout.index(letter) for letter in f"N{REGISTRY[operator].axes}C"]
    for name, value in named.items():
        if isinstance(value, np.ndarray):
            named[name] = value[letters] if name == "orig_input_shape" else value.transpose(letters)
    got = expected(operator, named, data_format=f"N{REGISTRY[operator].axes}C")
    assert_same(np.moveaxis(got, -1, 1), wanted(operator, given), np.float32)


# ---- AvgPoolV2Grad ---------------------------------------------------------------------------------------------------

GRAD, X = numbers((2, 3, 4, 5)), np.zeros((2, 3, 7, 9), np.float32)
WINDOWS: dict[str, Any] = {"ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1]}


def averages(grad: Array = GRAD, sizes: tuple[int, ...] = X.shape, **options: Any) -> Array:
    windows = {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1), "count_include_pad": False} | options
    return reference.avg_pool2d_backward(grad, sizes, **windows)


def average(grad: Array = GRAD, x: Array = X, format: str = "ND", **attributes: Any) -> Array:
    given = {"orig_input_shape": shape_of(x), "input_grad": grad}
    return expected(AVG, given, "out_grad", format, **(WINDOWS | attributes))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_avg_pool_v2_grad(dtype: Any) -> None:
    """Padding does not count unless ``exclusive`` says so. 36 is divisible by all that counts here."""
    grad = GRAD.astype(dtype)
    assert_same(average(grad), averages(grad), dtype)
    assert_same(average(grad, exclusive=False), averages(grad, count_include_pad=True), dtype)
    assert_same(average(grad, divisor_override=9), averages(grad, divisor_override=9), dtype)


def test_avg_pool_v2_grad_in_other_words() -> None:
    words: dict[str, Any] = {"padding_mode": "CALCULATED", "global_pooling": False, "ceil_mode": False}
    assert_same(average(**words, data_format="NCHW", divisor_override=0), averages(), np.float32)
    assert_same(average(ksize=[3, 3], strides=[2], pads=[1, 1]), averages(), np.float32)
    assert_same(average(format="NCHW"), averages(), np.float32)
    assert_same(average(GRAD[0], X[0]), averages()[0], np.float32)
    grad = numbers((2, 3, 3, 4))
    by_c = {"gradOutput": grad, "self": X, "kernelSize": [2], "stride": [], "padding": [0], "data_format": "NCHW"}
    windows = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0)}
    assert_same(expected(AVG, by_c), averages(grad, **windows), np.float32)
    given = {"x": X, "input_grad": GRAD}  # as a tensor instead of a shape
    assert_same(expected(AVG, given, **WINDOWS), averages(), np.float32)


@pytest.mark.parametrize("said", [("format",), ("data_format",), ("format", "data_format")], ids=" and ".join)
def test_avg_pool_v2_grad_with_channels_last(said: tuple[str, ...]) -> None:
    numbers = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1]}
    got = average(last(GRAD), last(X), **numbers, **dict.fromkeys(said, "NHWC"))
    assert got.flags.c_contiguous
    assert_same(np.moveaxis(got, -1, 1), averages(), np.float32)


def test_ceil_mode_reaches_the_windows() -> None:
    grad, x = numbers((2, 3, 5, 5)), np.zeros((2, 3, 8, 9), np.float32)
    assert_same(average(grad, x, ceil_mode=True), averages(grad, x.shape, ceil_mode=True), np.float32)


def test_padding_modes() -> None:
    """VALID pads nothing, SAME gives an output for every stride elements."""
    grad = numbers((2, 3, 3, 4))
    assert_same(average(grad, padding_mode="VALID"), averages(grad, padding=(0, 0)), np.float32)
    assert_same(average(padding_mode="SAME", pads=[0, 0, 0, 0]), averages(), np.float32)
    grad, x = numbers((2, 3, 4, 3)), np.zeros((2, 3, 12, 9), np.float32)
    got = average(grad, x, ksize=[1, 1, 1, 3], strides=[1, 1, 3, 3], padding_mode="SAME")
    windows = {"kernel_size": (1, 3), "stride": (3, 3), "padding": (0, 0)}
    assert_same(got, averages(grad, x.shape, **windows), np.float32)
    with pytest.raises(ValueError, match=r"same padding at both ends .* got SAME, which pads 8 elements by 0 and 1"):
        average(numbers((2, 3, 4, 5)), np.zeros((2, 3, 8, 9), np.float32), padding_mode="SAME")
    with pytest.raises(ValueError, match="expected CALCULATED, SAME or VALID, got 'FULL'"):
        average(padding_mode="FULL")
    for wrong in ({"strides": [0]}, {"ksize": [-1]}):
        with pytest.raises(poolgrad.AclnnError, match="positive"):
            average(padding_mode="SAME", **wrong)


def test_global_pooling_has_one_window() -> None:
    grad, x = numbers((2, 3, 1, 1)), np.zeros((2, 3, 4, 3), np.float32)
    windows = {"kernel_size": (4, 3), "stride": (4, 3), "padding": (0, 0)}
    assert_same(average(grad, x, global_pooling=True), averages(grad, x.shape, **windows), np.float32)


def test_numbers_that_c_cannot_say_are_refused() -> None:
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"pads": [0, 1, 1, 1]}, r"pads: expected the same padding at both ends of an axis, got \[0, 1, 1, 1\]"),
        ({"ksize": [1, 2, 3, 3]}, r"ksize: expected 1 for N and C of NCHW, got \[1, 2, 3, 3\]"),
        ({"strides": [2, 1, 2, 2]}, r"strides: expected 1 for N and C of NCHW, got \[2, 1, 2, 2\]"),
        ({"ksize": [3, 3, 3]}, r"ksize: expected 1, 2 or 4 numbers for NCHW, got \[3, 3, 3\]"),
        ({"pads": [1, 1, 1]}, r"pads: expected 1, 2 or 4 numbers for NCHW, got \[1, 1, 1\]"),
        ({"data_format": "NC1HWC0"}, "expected one of NCHW, NHWC, NCDHW, NDHWC .* got NC1HWC0"),
        ({"data_format": "NHWC", "format": "NCHW"}, "for data_format and every tensor .* got NCHW, NHWC"),
        ({"data_format": "NCDHW"}, "expected a depth of 1, got 3 .* aclnnAvgPool2dBackward has nothing else"),
        ({"x": X[0]}, r"orig_input_shape: expected 4 sizes, of NCHW; got \[3, 7, 9\]"),
        ({"grad": GRAD[0, 0]}, "gradOutput: expected the axes of NCHW, with or without N; got 2 axes"),
    )
    for changes, message in refused:
        with pytest.raises(ValueError, match=message):
            average(**changes)
    with pytest.raises(TypeError, match=r"ksize must be integers, got \[3.5\]"):
        average(ksize=[3.5])
    with pytest.raises(poolgrad.AclnnError, match="kernelSize-length"):
        average(ksize=[])


# ---- AvgPool3DGrad ---------------------------------------------------------------------------------------------------


def volume_average(grad: Array, x: Array, format: str = "NCDHW", **attributes: Any) -> Array:
    windows = {"ksize": [1, 3, 3], "strides": [1, 2, 2], "pads": [0, 0, 1, 1, 1, 1]}
    given = {"orig_input_shape": shape_of(x), "grads": grad}
    return expected(AVG, given, "output", format, **(windows | attributes))


def test_avg_pool3d_grad_of_depth_1() -> None:
    """Here padding counts unless it is told otherwise."""
    grad, x = GRAD[:, :, None], X[:, :, None]
    want = averages(count_include_pad=True)[:, :, None]
    assert_same(volume_average(grad, x), want, np.float32)
    assert_same(volume_average(grad[0], x[0]), want[0], np.float32)
    assert_same(volume_average(grad, x, "ND", data_format="NCDHW", pads=[0, 1, 1]), want, np.float32)
    assert_same(volume_average(grad, x, ksize=[1, 1, 1, 3, 3], strides=[2]), want, np.float32)
    assert_same(volume_average(grad, x, count_include_pad=False), averages()[:, :, None], np.float32)
    got = volume_average(last(grad), last(x), "NDHWC", ksize=[1, 1, 3, 3, 1], strides=[1, 1, 2, 2, 1])
    assert got.shape == last(x).shape
    assert_same(np.moveaxis(got, -1, 1), want, np.float32)


def test_a_depth_is_refused() -> None:
    grad, x = GRAD[:, :, None], X[:, :, None]
    for changes, message in (
        ({"ksize": [3]}, "ksize: expected 1 along the depth"),
        ({"pads": [1, 1, 1]}, "pads: expected 0 along the depth"),
        ({"x": np.zeros((2, 3, 2, 7, 9))}, r"orig_input_shape: expected a depth of 1, got 2 in shape \[2, 3, 2, 7"),
        ({"ksize": [3, 3]}, "expected 1, 3 or 5 numbers for NCDHW"),
        ({"format": "ND"}, "data_format: expected NCDHW or NDHWC, got neither"),
    ):
        with pytest.raises(ValueError, match=message):
            volume_average(**({"grad": grad, "x": x} | changes))


# ---- AdaptiveAvgPool3dGrad -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_adaptive_avg_pool3d_grad(dtype: Any) -> None:
    grad, x = numbers((2, 3, 2, 3, 2), dtype), np.zeros((2, 3, 4, 3, 6), dtype)
    want = reference.adaptive_avg_pool3d_backward(grad, x.shape)
    given = {"y_grad": grad, "x": x}
    assert_same(expected(ADAPTIVE_AVG, given, "x_grad", data_format="NCDHW"), want, dtype)
    assert_same(expected(ADAPTIVE_AVG, given, "x_grad", "NCDHW"), want, dtype)
    assert_same(expected(ADAPTIVE_AVG, {"y_grad": grad[0], "x": x[0]}, "x_grad", "NCDHW"), want[0], dtype)
    got = expected(ADAPTIVE_AVG, {"y_grad": last(grad), "x": last(x)}, "x_grad", data_format="NDHWC")
    assert_same(np.moveaxis(got, -1, 1), want, dtype)
    for options, message in (({}, "got neither that"), ({"data_format": "NCHW"}, "pools volumes")):
        with pytest.raises(ValueError, match=f"data_format: expected NCDHW or NDHWC, .*{message}"):
            expected(ADAPTIVE_AVG, given, "x_grad", **options)


# ---- MaxPoolGradWithArgmaxV3 and AdaptiveMaxPool3DGrad ---------------------------------------------------------------


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_max_pool_grad_with_argmax_v3(index: Any) -> None:
    given = legal_call(MAX)
    want, argmax = wanted(MAX, given), given["indices"].astype(index)
    tensors = {"x": given["self"], "grad": given["gradOutput"], "argmax": argmax}
    windows: dict[str, Any] = {"ksize": [3, 3], "strides": [2, 2], "pads": [1, 1], "dilation": [1, 1]}
    windows |= {"dtype": 3 if index is np.int32 else 9, "ceil_mode": False, "data_format": "NCHW"}
    assert_same(expected(MAX, tensors, **windows), want, np.float32)
    in_four = {"ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1], "dilation": [1, 1, 1, 1]}
    assert_same(expected(MAX, tensors, **(windows | in_four)), want, np.float32)
    channels_last = {name: last(tensor) for name, tensor in tensors.items()}
    got = expected(MAX, channels_last, format="NHWC", **(windows | {"data_format": "NHWC"}))
    assert_same(np.moveaxis(got, -1, 1), want, np.float32)


def test_adaptive_max_pool3d_grad_of_depth_1() -> None:
    given = legal_call(ADAPTIVE_MAX)
    want = wanted(ADAPTIVE_MAX, given)
    planes = {"x": given["self"], "grad": given["gradOutput"], "argmax": given["indices"]}
    volumes = {name: tensor[:, :, None] for name, tensor in planes.items()}
    for format in ("ND", "NCDHW"):
        assert_same(expected(ADAPTIVE_MAX, volumes, format=format), want[:, :, None], np.float32)
    got = expected(ADAPTIVE_MAX, {n: last(t) for n, t in volumes.items()}, format="NDHWC")
    assert_same(np.moveaxis(got, -1, 1), want[:, :, None], np.float32)
    assert_same(expected(ADAPTIVE_MAX, planes), want, np.float32)
    with pytest.raises(ValueError, match="self: expected a depth of 1, got 2"):
        expected(ADAPTIVE_MAX, volumes | {"x": np.repeat(volumes["x"], 2, 2)})
