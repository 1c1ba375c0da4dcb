"""The door of the Pythonic layer: what it takes, what it refuses and how, and what it gives back."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from planning import Planning

import poolgrad
from poolgrad import AclnnError, IndexRangeError
from poolgrad.base.dtypes import FLOAT32
from poolgrad.base.tensor import Tensor, dense_strides
from poolgrad.run import small_calls
from poolgrad.run.calls import forget_calls

GRAD = np.ones((2, 3, 4, 4), np.float32)
SHAPE = (2, 3, 8, 8)
INDICES = np.zeros((2, 3, 4, 4), np.int32)


@pytest.fixture(autouse=True, params=[10**9, 1], ids=["by keys", "by pictures"])
def _found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is known of a call, this door answers alike, also if a call is taken for a small one at once."""
    monkeypatch.setattr(small_calls, "OFTEN", request.param)
    monkeypatch.setattr(small_calls, "MOMENT", 1e9)
    forget_calls()


def average(grad: Any = GRAD, x: Any = SHAPE, kernel_size: Any = 2, **more: Any) -> Any:
    return poolgrad.avg_pool2d_backward(grad, x, kernel_size, **more)


def maximum(grad: Any = GRAD, x: Any = SHAPE, indices: Any = INDICES, kernel_size: Any = 2, **more: Any) -> Any:
    return poolgrad.max_pool2d_with_indices_backward(grad, x, indices, kernel_size, **more)


X, X16 = np.empty(SHAPE, np.float32), np.empty(SHAPE, np.float16)

# What was passed, the call, the status, and the parameter that is blamed.
REFUSED: list[tuple[str, Any, int, str]] = [
    ("no gradient", lambda: average(grad=None), 161001, "gradOutput"),
    ("no input", lambda: average(x=None), 161001, "self"),
    ("no kernel", lambda: average(kernel_size=None), 161001, "kernelSize"),
    ("no padding", lambda: average(padding=None), 161001, "padding"),
    ("no indices", lambda: maximum(indices=None), 161001, "indices"),
    ("no dilation", lambda: maximum(dilation=None), 161001, "dilation"),
    ("nothing at all", lambda: poolgrad.adaptive_avg_pool3d_backward(None, None), 161001, "gradOutput"),
    ("a kernel beyond 64 bits", lambda: average(kernel_size=2**63), 161002, "kernelSize"),
    ("a kernel of thousands of digits", lambda: average(kernel_size=10**5000), 161002, "kernelSize"),
    ("a stride beyond 64 bits", lambda: average(stride=(2, -(2**64))), 161002, "stride"),
    ("a divisor beyond 64 bits", lambda: average(divisor_override=2**63), 161002, "divisorOverride"),
    ("a shape beyond 64 bits", lambda: average(x=(2, 3, 8, 2**64)), 161002, "self"),
    ("a shape of 2**80 elements", lambda: average(x=(2**20,) * 4), 161002, "gradOutput"),
    ("a negative shape", lambda: average(x=(2, 3, -8, 8)), 161002, "self"),
    ("a negative shape beside out", lambda: maximum(x=(2, 3, -8, 8), out=np.empty_like(X)), 161002, "self"),
    ("a scalar array", lambda: average(grad=np.zeros((), np.float32)), 161002, "gradOutput"),
    ("integers", lambda: average(grad=GRAD.astype(np.int32)), 161002, "gradOutput"),
    ("swapped bytes", lambda: average(grad=GRAD.astype(">f4")), 161002, "gradOutput"),
    ("long double", lambda: average(grad=GRAD.astype(np.longdouble)), 161002, "gradOutput"),
    ("objects", lambda: average(grad=GRAD.astype(object)), 161002, "gradOutput"),
    ("an unknown layout", lambda: maximum(data_format="CHWN"), 161002, "self"),
    ("a private layout", lambda: maximum(data_format="NC1HWC0"), 161002, "self"),
    ("unsigned indices", lambda: maximum(indices=INDICES.astype(np.uint32)), 161002, "indices"),
    ("out of another shape", lambda: average(out=np.empty((2, 3, 8, 9), np.float32)), 161002, "gradInput"),
    ("out of another rank", lambda: average(out=np.empty((3, 8, 8), np.float32)), 161002, "gradInput"),
    ("out of another dtype", lambda: average(out=np.empty(SHAPE, np.float64)), 161002, "gradInput"),
    ("x of another dtype", lambda: average(x=np.empty(SHAPE, np.float64)), 161002, "self"),
    ("a gradient of another dtype", lambda: average(GRAD.astype(np.float64), X, out=X), 161002, "gradOutput"),
    ("three dtypes", lambda: average(GRAD.astype(np.float64), X, out=X16), 161002, "gradInput"),
    ("read-only out", lambda: average(out=np.broadcast_to(np.float32(0), SHAPE)), 161002, "gradInput"),
    ("a cube mode beyond int8", lambda: average(cube_math_type=300), 161002, "cubeMathType"),
]


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[0])
def test_refused_with_its_status(line: tuple[str, Any, int, str]) -> None:
    _, call, status, parameter = line
    with pytest.raises(AclnnError) as caught:
        call()
    assert (caught.value.status, caught.value.parameter) == (status, parameter)
    assert caught.value.product is None
    assert isinstance(caught.value, ValueError)


class Endless:
    """A sequence that lies about its end."""

    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, i: int) -> int:
        return 2


class NoDevice:
    def __dlpack__(self, **more: Any) -> Any:
        raise AssertionError("never asked for")


# Things that are no arrays or numbers at all.
MISTAKEN: list[tuple[str, Any, str]] = [
    ("a list as gradient", lambda: average(grad=[[1.0]]), "grad_output must be a NumPy array"),
    ("a number as gradient", lambda: average(grad=1.0), "grad_output must be a NumPy array"),
    ("a string as input", lambda: average(x="image"), "x must be a NumPy array"),
    ("strings as a shape", lambda: average(x=("2", "3")), "each size of x must be an integer"),
    ("floats as a shape", lambda: average(x=(2.0, 3, 8, 8)), "each size of x must be an integer"),
    ("a float kernel", lambda: average(kernel_size=2.0), "kernel_size must be"),
    ("a kernel of floats", lambda: average(kernel_size=(2.5, 2)), "kernel_size must be an integer"),
    ("a string kernel", lambda: average(kernel_size="22"), "kernel_size must be"),
    ("a set of strides", lambda: average(stride={1, 2}), "stride must be"),
    ("a float divisor", lambda: average(divisor_override=2.0), "divisor_override must be an integer"),
    ("a word for a flag", lambda: average(ceil_mode="no"), "ceil_mode must be True or False"),
    ("a number for a flag", lambda: average(count_include_pad=2), "count_include_pad must be True or False"),
    ("a layout that is no text", lambda: maximum(data_format=1), "data_format must be a string"),
    ("a masked array", lambda: average(grad=np.ma.masked_array(GRAD)), "mask"),
    ("a dict as kernel", lambda: average(kernel_size={2: 1}), "kernel_size must be"),
    ("an endless kernel", lambda: average(kernel_size=Endless()), "kernel_size must be"),
    ("DLPack without a device", lambda: average(grad=NoDevice()), "grad_output has __dlpack__, but"),
    ("a list as out", lambda: average(out=[0.0]), "out must be a NumPy array"),
    ("indices in a list", lambda: maximum(indices=[0]), "indices must be a NumPy array"),
]


@pytest.mark.parametrize("line", MISTAKEN, ids=lambda line: line[0])
def test_mistaken_types(line: tuple[str, Any, str]) -> None:
    with pytest.raises(TypeError, match=line[2]):
        line[1]()


@pytest.mark.parametrize("name", ["Atlas A9", "", "ascend", 7, ("Atlas A2",), ["Atlas A2"]])
def test_unknown_products_are_answered_with_the_list(name: Any) -> None:
    with pytest.raises(ValueError, match=r"Atlas A2.*Ascend910_93.*Atlas 200I/500 A2") as caught:
        average(product=name)
    assert not isinstance(caught.value, AclnnError)


@pytest.mark.parametrize(
    "name",
    ["Atlas A2", "Ascend910B", "ascend910b", " Atlas A2 ", "A200I A2 Box", "A2", "910B3", "Ascend910B4"],
)
def test_products_by_any_of_their_names(name: str) -> None:
    assert np.array_equal(average(product=name), average())
    with pytest.raises(AclnnError) as caught:
        average(grad=GRAD.astype(np.float64), product=name)
    assert caught.value.product == "Atlas A2"


@pytest.mark.parametrize(
    ("function", "more"),
    [
        (poolgrad.avg_pool2d_backward, (2,)),
        (poolgrad.adaptive_avg_pool3d_backward, ()),
        (poolgrad.max_pool2d_with_indices_backward, (np.zeros((2, 3, 4, 4), np.int32), 2)),
        (poolgrad.adaptive_max_pool2d_backward, (np.zeros((2, 3, 4, 4), np.int32),)),
    ],
)
@pytest.mark.parametrize(
    ("out", "got"),
    [
        (np.empty((2, 3, 8, 9), np.float32), r"\(2, 3, 8, 9\)"),
        (np.empty((2, 3, 8, 8), np.float64), "float64"),
        (np.empty((3, 8, 8), np.float32), r"3|\(3, 8, 8\)"),
    ],
)
def test_a_wrong_out_is_to_blame_itself(function: Any, more: tuple[Any, ...], out: Any, got: str) -> None:
    with pytest.raises(AclnnError, match=rf": (gradInput \(out\)|out): expected .*; got ({got})\."):
        function(GRAD, (2, 3, 8, 8), *more, out=out)


def test_nhwc_is_refused_with_the_product_that_takes_it_and_the_strides_that_express_it() -> None:
    last = {"grad": np.ones((2, 4, 4, 3), np.float32), "x": (2, 8, 8, 3), "indices": np.zeros((2, 4, 4, 3), np.int32)}
    with pytest.raises(AclnnError, match="Choose Ascend 950, which takes NHWC") as caught:
        maximum(**last, data_format="NHWC", product="Atlas A2")
    assert "as NCHW: shape (2, 3, 8, 8), strides (192, 1, 24, 3); all tensors alike." in str(caught.value)
    first = {name: last[name].transpose(0, 3, 1, 2) for name in ("grad", "indices")}
    x = np.empty(last["x"], np.float32).transpose(0, 3, 1, 2)
    assert (x.shape, tuple(step // 4 for step in x.strides)) == ((2, 3, 8, 8), (192, 1, 24, 3))
    result = maximum(**first, x=x, product="Atlas A2")
    assert np.array_equal(result.transpose(0, 2, 3, 1), maximum(**last, data_format="NHWC"))


def test_the_message_says_what_to_change() -> None:
    with pytest.raises(AclnnError) as caught:
        average(padding=2, kernel_size=3, product="Ascend910_93")
    text = str(caught.value)
    for part in (
        "aclnnAvgPool2dBackward: padding: expected at most half of kernelSize (3, 3); got (2, 2).",
        "Use padding up to (1, 1).",
        "161002 ACLNN_ERR_PARAM_INVALID",
        "product Atlas A3",
        "rule padding-half",
        "source: document",
    ):
        assert part in text


def test_errors_can_be_pickled() -> None:
    for call in (lambda: average(kernel_size=0), lambda: maximum(indices=INDICES - 1)):
        with pytest.raises(AclnnError) as caught:
            call()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value)
        assert (str(again), vars(again)) == (str(caught.value), vars(caught.value))


def test_index_errors_are_of_their_own_kind() -> None:
    with pytest.raises(IndexRangeError) as caught:
        maximum(indices=INDICES + 64)
    error = caught.value
    assert (error.status, error.operator, error.parameter, error.product) == (
        507015,
        "aclnnMaxPool2dWithIndicesBackward",
        "indices",
        None,
    )


def test_the_output_is_as_it_was_after_a_refusal() -> None:
    out = np.full(SHAPE, 7, np.float32)
    with pytest.raises(AclnnError):
        average(padding=2, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize(
    ("what", "row"),
    [
        (lambda block: (block[0, 0, :2, :2][None, None], block), "output-overlaps-input"),
        (lambda block: (block[..., ::2, ::2], block), "output-overlaps-input"),
    ],
)
def test_out_over_the_gradient_is_refused(what: Any, row: str) -> None:
    block = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    before = block.copy()
    grad, out = what(block)
    with pytest.raises(AclnnError, match=row):
        poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2, out=out)
    assert np.array_equal(block, before)


def test_out_over_the_indices_is_refused() -> None:
    block = np.zeros((1, 1, 4, 4), np.float32)
    indices = block.view(np.int32)[..., :2, :2]
    with pytest.raises(AclnnError, match="output-overlaps-input") as caught:
        poolgrad.max_pool2d_with_indices_backward(np.ones((1, 1, 2, 2), np.float32), block.shape, indices, 2, out=block)
    assert "which is read" in str(caught.value)


def test_out_whose_rows_overlap_is_refused() -> None:
    memory = np.zeros(64, np.float32)
    out = np.lib.stride_tricks.as_strided(memory, (1, 1, 4, 4), (64, 64, 12, 4))
    with pytest.raises(AclnnError, match="output-overlaps-itself"):
        poolgrad.avg_pool2d_backward(np.ones((1, 1, 2, 2), np.float32), (1, 1, 4, 4), 2, out=out)
    assert not memory.any()


def test_a_kept_verdict_does_not_hide_a_later_mistake() -> None:
    """The same call again with other memory: what depends on addresses is judged each time."""
    memory = np.arange(40, dtype=np.float32)
    grad, apart, over = (
        memory[:4].reshape(1, 1, 2, 2),
        memory[8:24].reshape(1, 1, 4, 4),
        memory[2:18].reshape(1, 1, 4, 4),
    )
    for _ in range(2):
        poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2, out=apart)
        with pytest.raises(AclnnError, match="output-overlaps-input"):
            poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2, out=over)
    frozen = apart.copy()
    frozen.flags.writeable = False
    for _ in range(2):
        with pytest.raises(AclnnError, match="gradInput-writable"):
            poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2, out=frozen)


class Seven(int):
    """An integer of another type, equal to a plain one."""


BLOCK = np.zeros((2, 3, 8, 8), np.float32)
FROZEN = BLOCK.copy()
FROZEN.flags.writeable = False

# After the plain call was judged good: the same call with something that Python calls equal, or that looks alike, and
# what the answer must be all the same. None: it means the same and works.
ALIKE: list[tuple[str, Any, dict[str, Any], tuple[type[Exception], str] | None]] = [
    ("a float kernel", average, {"kernel_size": 2.0}, (TypeError, "kernel_size must be")),
    ("a NumPy float kernel", average, {"kernel_size": np.float64(2)}, (TypeError, "kernel_size must be")),
    ("a complex kernel", average, {"kernel_size": 2 + 0j}, (TypeError, "kernel_size must be")),
    ("a kernel of an integer and a float", average, {"kernel_size": (2, 2.0)}, (TypeError, "kernel_size must be")),
    ("a kernel of floats in a list", average, {"kernel_size": [2.0, 2.0]}, (TypeError, "kernel_size must be")),
    ("an array as kernel", average, {"kernel_size": np.array(2)}, None),
    ("a subclass of int", average, {"kernel_size": Seven(2)}, None),
    ("a float padding", average, {"padding": 0.0}, (TypeError, "padding must be")),
    ("False as padding", average, {"padding": False}, None),
    ("a negative zero", average, {"padding": -0.0}, (TypeError, "padding must be")),
    ("a float flag", average, {"ceil_mode": 0.0}, (TypeError, "ceil_mode must be True or False")),
    ("another float flag", average, {"count_include_pad": 1.0}, (TypeError, "count_include_pad must be")),
    ("a number as flag", average, {"ceil_mode": 0, "count_include_pad": 1}, None),
    ("a float cube mode", average, {"cube_math_type": 0.0}, (TypeError, "cube_math_type must be")),
    ("a product that is none", average, {"product": 0}, (ValueError, "unknown product")),
    ("floats as shape", average, {"x": (2.0, 3, 8, 8)}, (TypeError, "each size of x must be an integer")),
    ("truth as a size", average, {"x": (2, 3, 8, np.int64(8))}, None),
    ("a list as shape", average, {"x": [2, 3, 8, 8]}, None),
    ("a masked gradient", average, {"grad": np.ma.masked_array(GRAD)}, (TypeError, "mask")),
    ("a masked input", average, {"x": np.ma.masked_array(BLOCK)}, (TypeError, "mask")),
    ("a gradient in swapped byte order", average, {"grad": GRAD.astype(">f4")}, (AclnnError, "gradOutput-dtype")),
    ("a gradient of integers", average, {"grad": GRAD.astype(np.int32)}, (AclnnError, "gradOutput-dtype")),
    ("a smaller gradient", average, {"grad": GRAD[..., :3]}, (AclnnError, "gradOutput-pooled")),
    ("an input of another type", average, {"x": BLOCK.astype(np.float64)}, (AclnnError, "dtype")),
    ("an output that is read-only", average, {"out": FROZEN}, (AclnnError, "gradInput-writable")),
    ("an output of another type", average, {"out": BLOCK.astype(np.float64)}, (AclnnError, "dtype")),
    ("an output of another shape", average, {"out": BLOCK[:1]}, (AclnnError, "shape")),
    ("a list as output", average, {"out": [0.0]}, (TypeError, "out must be")),
    ("a float dilation", maximum, {"dilation": 1.0}, (TypeError, "dilation must be")),
    ("True as dilation", maximum, {"dilation": True}, None),
    ("no indices", maximum, {"indices": None}, (AclnnError, "indices-null")),
    ("unsigned indices", maximum, {"indices": INDICES.astype(np.uint32)}, (AclnnError, "indices-dtype")),
    ("a bad index", maximum, {"indices": INDICES + 64}, (IndexRangeError, "= 64 is outside")),
    ("masked indices", maximum, {"indices": np.ma.masked_array(INDICES)}, (TypeError, "mask")),
    ("another layout", maximum, {"data_format": "CHWN"}, (AclnnError, "format")),
    ("a layout that is no text", maximum, {"data_format": b"NCHW"}, (TypeError, "data_format")),
]


@pytest.mark.parametrize("with_x", [False, True], ids=["shape", "array"])
@pytest.mark.parametrize("line", ALIKE, ids=lambda line: line[0])
def test_a_good_call_does_not_speak_for_one_that_looks_alike(
    line: tuple[str, Any, dict[str, Any], tuple[type[Exception], str] | None], with_x: bool
) -> None:
    _, function, change, error = line
    usual: dict[str, Any] = {"out": np.empty(SHAPE, np.float32), "x": BLOCK if with_x else SHAPE}
    expected = function()
    for arguments in (usual, {"x": usual["x"]}, {**usual, "kernel_size": (2, 2)}):
        for _ in range(2):
            assert np.array_equal(function(**arguments), expected)
        for _ in range(2):
            if error is None:
                assert np.array_equal(function(**(arguments | change)), expected)
            else:
                with pytest.raises(error[0], match=error[1]):
                    function(**(arguments | change))
        assert np.array_equal(function(**arguments), expected), "the mistake did no harm"


def test_a_divisor_of_another_type() -> None:
    average(divisor_override=3)
    with pytest.raises(TypeError, match="divisor_override must be an integer"):
        average(divisor_override=3.0)


def test_a_list_that_changes_is_read_again() -> None:
    kernel, shape = [2, 2], list(SHAPE)
    average(x=shape, kernel_size=kernel)
    kernel[1] = 3
    with pytest.raises(AclnnError, match="gradOutput-pooled"):
        average(x=shape, kernel_size=kernel)
    shape[3] = 12
    assert average(x=shape, kernel_size=kernel).shape == (2, 3, 8, 12)


def forbid(*arguments: Any) -> Any:
    raise AssertionError("this call should have been known")


def every_function(grad: Any, x: Any, indices: Any, out: Any) -> list[tuple[bool, Any, bytes]]:
    """Of each call: whether it returned ``out``, the layout and the values."""
    calls: list[Any] = [
        lambda: average(grad, x, out=out),
        lambda: average(grad, x, (2, 2), stride=(2, 2), padding=(0,), out=out),
        lambda: average(grad, x, divisor_override=3, product="Ascend910B", out=out),
        lambda: maximum(grad, x, indices, out=out),
        lambda: poolgrad.adaptive_max_pool2d_backward(grad, x, indices, out=out),
        lambda: poolgrad.adaptive_avg_pool3d_backward(grad, x, out=out),
    ]
    results = (call() for call in calls)
    return [(result is out, result.strides, result.tobytes()) for result in results]


@pytest.mark.parametrize("x", [SHAPE, BLOCK, BLOCK.transpose(0, 1, 3, 2)], ids=["shape", "array", "transposed"])
@pytest.mark.parametrize("with_out", [True, False])
def test_known_calls_are_not_judged_again(x: Any, with_out: bool, monkeypatch: Any) -> None:
    """Each function, with and without an output; the results are those of the first time."""
    out = np.empty(SHAPE, np.float32) if with_out else None
    grad = np.arange(GRAD.size, dtype=np.float32).reshape(GRAD.shape)
    forget_calls()
    first = every_function(grad, x, INDICES, out)
    assert all(returned == with_out for returned, _, _ in first)
    monkeypatch.setattr(poolgrad.run.calls, "_call", forbid)
    assert every_function(grad, x, INDICES, out) == first


@pytest.mark.parametrize("kernel_size", [2, (2, 2), [2, 2], (2,)], ids=repr)
def test_a_kernel_size_in_any_form_is_known(kernel_size: Any, monkeypatch: Any) -> None:
    out = np.empty(SHAPE, np.float32)
    average(kernel_size=kernel_size, out=out)
    monkeypatch.setattr(poolgrad.run.calls, "_call", forbid)
    assert average(kernel_size=kernel_size, out=out) is out


class Size(tuple[int, ...]):
    """As torch's shapes are."""


@pytest.mark.parametrize("form", [tuple, list, Size], ids=lambda form: form.__name__)
def test_a_shape_in_any_form_is_known(form: Any, monkeypatch: Any) -> None:
    out = np.empty(SHAPE, np.float32)
    average(x=form(SHAPE), out=out)
    monkeypatch.setattr(poolgrad.run.calls, "_call", forbid)
    assert average(x=form(SHAPE), out=out) is out


def test_a_list_that_changed_is_another_call() -> None:
    out, kernel_size = np.empty(SHAPE, np.float32), [2, 2]
    average(kernel_size=kernel_size, out=out)
    kernel_size[0] = 0
    with pytest.raises(AclnnError, match="kernelSize-positive"):
        average(kernel_size=kernel_size, out=out)


def test_numbers_that_share_their_bytes_are_told_apart() -> None:
    """NumPy's numbers are written as their bytes: those of 2 are those of a tiny float."""
    tiny = np.int64(2).view(np.float64)
    for integer, other in ((np.int64(2), tiny), ((np.int64(2), 2), (tiny, 2)), ((2, 2), (2.0, 2)), (2, 2.0)):
        forget_calls()
        for _ in range(2):
            average(kernel_size=integer)
            with pytest.raises(TypeError, match="kernel_size must be"):
                average(kernel_size=other)


def test_large_numbers_that_were_made_anew_are_known_by_their_key(monkeypatch: Any) -> None:
    grad, out = np.ones((1, 1, 1, 500), np.float32), np.empty((1, 1, 2, 1000), np.float32)
    average(grad, (1, 1, 2, int("1000")), out=out)
    known = len(poolgrad.run.calls._KNOWN)
    monkeypatch.setattr(poolgrad.run.calls, "_call", forbid)
    for _ in range(5):
        assert (average(grad, (1, 1, 2, int("1000")), out=out) == 0.25).all()
    assert len(poolgrad.run.calls._KNOWN) == known


def test_an_array_that_changed_in_place() -> None:
    """The same objects as before, and another call."""
    grad, out = np.ones((1, 1, 2, 2), np.float32), np.empty((1, 1, 4, 4), np.float32)
    for _ in range(2):
        average(grad, (1, 1, 4, 4), out=out)
    out.flags.writeable = False
    with pytest.raises(AclnnError, match="gradInput-writable"):
        average(grad, (1, 1, 4, 4), out=out)
    out.flags.writeable = True
    average(grad, (1, 1, 4, 4), out=out)
    grad.resize((1, 1, 2, 1), refcheck=False)
    with pytest.raises(AclnnError, match="gradOutput-pooled"):
        average(grad, (1, 1, 4, 4), out=out)


def test_many_axes_and_long_shapes_have_no_picture() -> None:
    """They get the contract's answer, like any call that is not known."""
    out = np.empty(SHAPE, np.float32)
    average(out=out)
    with pytest.raises(AclnnError, match="rank"):
        average(grad=np.ones((1,) * 20, np.float32), out=out)
    with pytest.raises(AclnnError, match="rank"):
        average(x=(1,) * 40, out=out)


def test_addresses_stand_in_arrays_where_they_are_looked_for() -> None:
    """If this fails after an update of Python or NumPy, small calls take longer; results are right."""
    assert poolgrad.kernels.runtime.layout.is_as_expected()


def test_known_calls_without_an_output_get_a_new_one_each() -> None:
    x = BLOCK.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    results = [average(x=x) for _ in range(3)]
    assert all(result.strides == x.strides for result in results)
    assert len({result.ctypes.data for result in results}) == 3
    empty = [maximum(GRAD[:0], (0, 3, 8, 8), INDICES[:0]) for _ in range(2)]
    assert [result.shape for result in empty] == [(0, 3, 8, 8)] * 2


def test_known_calls_look_at_the_memory_of_each_call() -> None:
    """Other arrays of the same description, also at other offsets, and the smallest overlap with either input."""
    memory = np.arange(400, dtype=np.float32)
    for start in (0, 1, 7, 100):
        grad, out = memory[start : start + 8].reshape(2, 1, 2, 2), memory[200:232].reshape(2, 1, 4, 4)
        grad += 1
        assert np.array_equal(average(grad, out.shape, out=out)[:, :, ::2, ::2], grad / 4)
    for start in (193, 200, 231):
        with pytest.raises(AclnnError, match="output-overlaps-input"):
            average(memory[start : start + 8].reshape(2, 1, 2, 2), out.shape, out=out)
    average(memory[192:200].reshape(2, 1, 2, 2), out.shape, out=out)
    average(memory[232:240].reshape(2, 1, 2, 2), out.shape, out=out)
    words = memory.view(np.int32)
    apart = memory[:8].reshape(2, 1, 2, 2)
    words[300:308] = 0
    maximum(apart, out.shape, words[300:308].reshape(2, 1, 2, 2), out=out)
    for start in (193, 231):
        with pytest.raises(AclnnError, match="output-overlaps-input") as caught:
            maximum(apart, out.shape, words[start : start + 8].reshape(2, 1, 2, 2), out=out)
        assert "indices" in str(caught.value)


def test_bounds_that_meet_without_sharing_memory() -> None:
    """Outer bounds alone would refuse it; the exact row allows it, each time."""
    block = np.zeros((1, 1, 4, 8), np.float32)
    out, grad = block[..., :4], block[:, :, :2, 4:6]
    for value in (1, 2, 3):
        grad[:] = value
        assert (average(grad, out.shape, out=out) == value / 4).all()


def test_results_do_not_depend_on_knowing_where_numpy_keeps_addresses(monkeypatch: Any) -> None:
    """If an array's address can't be read from the object, NumPy is asked for it."""
    monkeypatch.setattr(poolgrad.run.calls, "_READS_ARRAYS", False)
    out = np.empty(SHAPE, np.float32)
    average(out=out)
    average()
    monkeypatch.setattr(poolgrad.run.calls, "_call", forbid)
    out[:] = 7
    assert (average(out=out) == 0.25).all()
    assert (average() == 0.25).all()


def test_the_product_is_part_of_a_call() -> None:
    grad, out = GRAD.astype(np.float64), np.empty(SHAPE, np.float64)
    for _ in range(2):
        average(grad, out=out)
        with pytest.raises(AclnnError, match="gradOutput-dtype"):
            average(grad, out=out, product="Atlas A2")
        with pytest.raises(ValueError, match="unknown product"):
            average(grad, out=out, product="Atlas A9")


def test_the_number_of_threads_is_part_of_a_call(planning: Planning) -> None:
    planning.use(ways=["rows"], time_of_part=1)  # eight planes at a time could not be divided
    out, before = np.empty(SHAPE, np.float32), poolgrad.get_num_threads()
    try:
        for n in (1, 3, 1, 2, 3):
            poolgrad.set_num_threads(n)
            assert (average(out=out) == 0.25).all()
    finally:
        poolgrad.set_num_threads(before)
    assert [made.parts for made in planning.plans] == [1, 3, 2]


def test_verdicts_do_not_pile_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(poolgrad.run.calls, "MOST_KNOWN", 10)
    monkeypatch.setattr(poolgrad.run.prepared, "MOST_PREPARED", 10)
    forget_calls()
    for channels in range(1, 40):
        average(np.ones((1, channels, 1, 1), np.float32), (1, channels, 2, 2))
        assert len(poolgrad.run.calls._KNOWN) <= 10
        assert len(poolgrad.run.prepared.PREPARED) <= 10


def test_out_may_be_the_input_of_the_forward_pass() -> None:
    x = np.full(SHAPE, 5, np.float32)
    assert average(x=x, out=x) is x
    assert (x == 0.25).all()


def test_sequences_of_any_kind() -> None:
    expected = average(kernel_size=2, stride=2, padding=0)
    for pair in ((2, 2), [2, 2], np.array([2, 2]), (np.int32(2),), [True + 1, 2]):
        assert np.array_equal(average(kernel_size=pair, stride=pair), expected)
    for absent in (None, (), []):
        assert np.array_equal(average(stride=absent), expected)
        assert np.array_equal(maximum(stride=absent), maximum())
    assert np.array_equal(average(x=list(SHAPE)), expected)
    assert np.array_equal(average(divisor_override=0), expected)


def test_dlpack_elsewhere_is_refused() -> None:
    class OnDevice:
        def __dlpack__(self, **more: Any) -> Any:
            raise AssertionError("never asked for")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(TypeError, match="must be on the CPU"):
        average(grad=OnDevice())


def test_bfloat16_arrays_that_dlpack_can_not_carry() -> None:
    """NumPy's DLPack has no bfloat16; an owner that can make a NumPy array is asked for that."""

    class Wrapped:
        def __dlpack__(self, **more: Any) -> Any:
            raise BufferError("no bfloat16 here")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __array__(self, *args: Any, **more: Any) -> Any:
            return GRAD.astype(ml_dtypes.bfloat16)

    assert average(grad=Wrapped()).dtype == ml_dtypes.bfloat16


def test_a_copy_is_no_output() -> None:
    """An object that can only give a copy of its memory would silently keep its old values."""

    class OnlyCopies:
        def __dlpack__(self, **more: Any) -> Any:
            raise BufferError("no")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __array__(self, *args: Any, **more: Any) -> Any:
            return np.zeros(SHAPE, np.float32)

    with pytest.raises(TypeError, match="out can't be read through DLPack"):
        average(out=OnlyCopies())


def test_subclasses_count_by_their_memory() -> None:
    class Liar(np.ndarray):  # type: ignore[type-arg]
        @property
        def strides(self) -> tuple[int, ...]:  # type: ignore[override]
            return (10**9,) * 4

    assert np.array_equal(average(grad=GRAD.view(Liar)), average())
    assert type(average(grad=GRAD.view(Liar))) is np.ndarray


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((2, 1, 4, 4), (64, 4, 16, 4), (64, 4, 16, 4)),
        ((2, 3, 4, 4), (0, 4, 48, 12), (192, 4, 48, 12)),
        ((2, 3, 4, 4), (192, -4, 48, 12), (192, 4, 48, 12)),
        ((2, 3, 4, 4), (0, 0, 0, 0), (192, 64, 16, 4)),
        ((2, 3, 4, 4), (1000, 300, 60, 12), (192, 64, 16, 4)),
    ],
)
def test_layout_of_the_result(shape: Any, strides: Any, expected: Any) -> None:
    """Dense strides are kept to the letter, others in their order, broadcast axes where they stand."""
    tensor = Tensor(FLOAT32, shape, strides, "NCHW")
    assert dense_strides(tensor, 4) == expected


def test_thread_numbers() -> None:
    before = poolgrad.get_num_threads()
    try:
        assert before >= 1
        for n in (1, 5, 64, np.int64(3)):
            poolgrad.set_num_threads(n)
            assert poolgrad.get_num_threads() == n
        for bad in (0, -1):
            with pytest.raises(ValueError, match="at least 1"):
                poolgrad.set_num_threads(bad)
        for wrong in (1.5, "2", None):
            with pytest.raises(TypeError, match="the number of threads must be an integer, got"):
                poolgrad.set_num_threads(wrong)  # type: ignore[arg-type]
        assert poolgrad.get_num_threads() == 3
    finally:
        poolgrad.set_num_threads(before)


LARGE_GRAD = np.random.default_rng(5).standard_normal((4, 16, 128, 128)).astype(np.float32)
LARGE_SHAPE = (4, 16, 256, 256)


def test_many_callers_at_once() -> None:
    """Calls that share the worker threads, while somebody changes their number, all come out right."""
    expected = average(LARGE_GRAD, LARGE_SHAPE)
    before, wrong = poolgrad.get_num_threads(), []

    def caller() -> None:
        for _ in range(5):
            if not np.array_equal(average(LARGE_GRAD, LARGE_SHAPE), expected):
                wrong.append(1)

    callers = [threading.Thread(target=caller) for _ in range(6)]
    try:
        for thread in callers:
            thread.start()
        for n in (1, 4, 2, 3) * 5:
            poolgrad.set_num_threads(n)
        for thread in callers:
            thread.join()
    finally:
        poolgrad.set_num_threads(before)
    assert not wrong


def test_a_call_in_the_middle_of_a_call_has_scratch_of_its_own(monkeypatch: Any) -> None:
    """A signal handler runs in the same thread, while the interrupted call's scratch is in use. Nothing interrupts what
    is known by its picture."""
    monkeypatch.setattr(small_calls, "OFTEN", 10**9)
    (enter, address), used = poolgrad.run.execute.load_run(), []

    def interrupted(task: int, scratch: int, *more: int) -> int:
        used.append(scratch)
        if len(used) == 1:
            average()
        return enter(task, scratch, *more)

    monkeypatch.setattr(poolgrad.run.execute, "load_run", lambda: (interrupted, address))
    forget_calls()
    average()
    average()
    outer, inner, later = used
    assert outer != inner
    assert later in (outer, inner), "scratch is kept from call to call"


def test_scratch_is_given_back_whatever_happens(monkeypatch: Any) -> None:
    def interrupted(*arguments: int) -> int:
        raise KeyboardInterrupt

    average()
    before = len(poolgrad.run.execute.FREE_SCRATCH)
    monkeypatch.setattr(poolgrad.run.execute, "load_run", lambda: (interrupted, 0))
    forget_calls()
    with pytest.raises(KeyboardInterrupt):
        average()
    assert len(poolgrad.run.execute.FREE_SCRATCH) == before


def test_large_scratch_is_not_kept(monkeypatch: Any) -> None:
    forget_calls()
    expected = average()
    kept = list(poolgrad.run.execute.FREE_SCRATCH)
    monkeypatch.setattr(poolgrad.run.execute, "KEPT_SCRATCH", 1)
    forget_calls()
    assert np.array_equal(average(), expected)
    assert list(poolgrad.run.execute.FREE_SCRATCH) == kept


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes() -> None:
    """The parent's worker threads do not exist in the child; it must start its own and not wait for them."""
    poolgrad.set_num_threads(2)
    expected = average(LARGE_GRAD, LARGE_SHAPE)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(average(LARGE_GRAD, LARGE_SHAPE), expected) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def run_program(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


def test_calls_after_the_main_thread_has_ended() -> None:
    """Threads can no longer be started then, nor handed work; a large call must still come out right."""
    code = """if True:
        import atexit, threading, numpy as np, poolgrad
        poolgrad.set_num_threads(4)
        def call(where):
            result = poolgrad.avg_pool2d_backward(np.ones((8, 16, 128, 128), 'f4'), (8, 16, 256, 256), 2)
            print(where, float(result.sum()), flush=True)
        def late():
            threading.main_thread().join()
            call('late')
        threading.Thread(target=late).start()
        atexit.register(call, 'atexit')
    """
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:2]) == ["atexit 2097152.0", "late 2097152.0"]


def test_calls_while_no_thread_can_be_started() -> None:
    """The caller does what no worker can; nothing is left behind that writes into memory given back."""
    code = """if True:
        import threading, numpy as np, poolgrad
        grad = np.ones((8, 16, 128, 128), 'f4')
        expected = poolgrad.avg_pool2d_backward(grad, (8, 16, 256, 256), 2)
        real, left = threading.Thread.start, [3]
        def start(self):
            if not left[0]:
                raise RuntimeError("can't start new thread")
            left[0] -= 1
            real(self)
        threading.Thread.start = start
        poolgrad.set_num_threads(16)
        for _ in range(20):
            assert np.array_equal(poolgrad.avg_pool2d_backward(grad, (8, 16, 256, 256), 2), expected)
        assert left == [0]
    """
    done = run_program(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_during_the_first_call() -> None:
    """The fork waits until the kernel is loaded: the child has no thread that could finish loading it."""
    code = """if True:
        import os, sys, threading, time, numpy as np, poolgrad, warnings
        warnings.simplefilter('ignore')
        grad = np.ones((1, 1, 2, 2), 'f4')
        started = threading.Event()
        def first():
            started.set()
            poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2)
        thread = threading.Thread(target=first)
        thread.start()
        started.wait()
        while 'numba' not in sys.modules:
            time.sleep(0.001)
        child = os.fork()
        result = poolgrad.avg_pool2d_backward(grad, (1, 1, 4, 4), 2)
        if child == 0:
            os._exit(0 if (result == 0.25).all() else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run_program(code)
    assert done.returncode == 0, done.stderr


def test_a_pair_may_be_given_as_a_list() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32)
    expected = poolgrad.max_pool2d_with_indices(x, 2)
    for _ in range(2):  # judged, and known
        pair = [np.empty((2, 3, 4, 4), np.float32), np.empty((2, 3, 4, 4), np.int64)]
        result = poolgrad.max_pool2d_with_indices(x, 2, out=pair)
        assert result == tuple(pair)
        for got, right in zip(pair, expected, strict=True):
            np.testing.assert_array_equal(got, right)
    with pytest.raises(TypeError, match=r"out must be a tuple of 2 arrays, for out, indices, got \(ndarray\)"):
        poolgrad.max_pool2d_with_indices(x, 2, out=pair[:1])
    with pytest.raises(TypeError, match="out must be a NumPy array"):
        poolgrad.avg_pool2d(x, 2, out=pair[:1])


def test_the_type_of_indices_is_not_said_twice_in_two_ways() -> None:
    x = np.ones((1, 4, 4), np.float32)
    for told, given in (("int64", "int32"), (np.int32, np.int64)):
        pair = np.full((1, 2, 2), 7, np.float32), np.full((1, 2, 2), 7, given)
        with pytest.raises(AclnnError, match=r"indices in out: expected index_dtype, int(32|64); got") as caught:
            poolgrad.max_pool2d_with_indices(x, 2, index_dtype=told, out=pair)
        assert (caught.value.status, caught.value.parameter) == (161002, "indices")
        assert all((each == 7).all() for each in pair)
        assert poolgrad.max_pool2d_with_indices(x, 2, index_dtype=given, out=pair) == pair


@pytest.mark.parametrize("name", ["whole", "\ud800", "", 3, [1]])
def test_a_type_of_indices_that_nobody_knows(name: object) -> None:
    with pytest.raises(TypeError, match=r"index_dtype must be a type such as numpy\.int64 or 'int32', got "):
        poolgrad.max_pool2d_with_indices(np.ones((1, 4, 4), np.float32), 2, index_dtype=name)


def test_windows_beyond_64_bits_are_the_kernels_fault() -> None:
    for function in (poolgrad.avg_pool2d, poolgrad.max_pool2d_with_indices):
        with pytest.raises(AclnnError, match="Use a smaller kernelSize and less padding") as caught:
            function(X, 2**40, 1, 2**39)
        assert (caught.value.status, caught.value.parameter) == (161002, "kernelSize")


@pytest.mark.parametrize("size", [0, (0, 2), (2, 0), -1])
@pytest.mark.parametrize("function", [poolgrad.adaptive_avg_pool2d, poolgrad.adaptive_max_pool2d])
def test_no_result_is_blamed_for_an_output_size(function: Any, size: Any) -> None:
    values = np.empty((2, 3, 2, 2), np.float32)
    given = values if function is poolgrad.adaptive_avg_pool2d else (values, np.empty(values.shape, np.int64))
    for out in (None, given):
        with pytest.raises(AclnnError, match=r"outputSize \(output_size\): expected values greater than 0") as caught:
            function(X, size, out=out)
        assert (caught.value.status, caught.value.parameter) == (161002, "outputSize")


def test_what_looks_like_a_shape_is_called_one() -> None:
    looks = "If that is a shape: pass an array of it"
    for shape in ((2, 3, 8, 8), [2, 3, 8, 8], (np.int64(2), 3, 8, 8)):
        with pytest.raises(TypeError, match=f"got a (tuple|list) of integers. {looks}, such as numpy.ones.x."):
            poolgrad.avg_pool2d(shape, 2)
    with pytest.raises(TypeError, match=looks):
        average(grad=GRAD.shape)
    for numbers in ([[[1.0, 2.0], [3.0, 4.0]]], [[[1, 2], [3, 4]]], ()):
        with pytest.raises(TypeError, match=r"got (tuple|list)\. Try numpy\.asarray\(x\)"):
            poolgrad.avg_pool2d(numbers, 2)
