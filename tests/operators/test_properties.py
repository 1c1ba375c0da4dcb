"""What holds for every case: adjointness, locality, independence of threads, batches, strides and layouts; and what
may go in and comes out."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import (
    BFLOAT16,
    DTYPES,
    FLOAT32,
    FLOAT64,
    HALVES,
    LAYOUTS,
    Case,
    Guarded,
    OnlyDLPack,
    assert_close_to_float64,
    assert_same_bits,
    assert_within_rounding,
    cases,
    gamma,
    parse,
)

import poolgrad
from poolgrad.selftest import reference

EVERY_TIME_THE_SAME = settings(derandomize=True, deadline=None, max_examples=300, database=None)

CASES = """
avg n2c3h8w10 k2                   | disjoint                | side by side
avg n2c3h9w11 k3 s2 p1             | overlap padded          | overlapping
avg c3h9w9 k3 s1                   | overlap unbatched       | every step a window
avg n2c2h9w20 k7 s1 p3 nopad       | overlap padded          | long runs, divisors that vary
avg n2c3h8w9 k4 s3 p2 ceil         | clipped overlap         | cut off
avg n2c3h9w14 k2 s3                | gap                     | gaps
avg n2c3h5w8 k5,8                  | global                  | global
avg n2c3h5w8 k1                    | disjoint                | the gradient itself
aavg n2c3d4h6w8 o2,3,4             | disjoint deep           | adaptive, even
aavg n2c3d3h7w11 o2,3,4            | overlap deep uneven     | adaptive, uneven
aavg c2d2h3w4 o3,5,9               | larger overlap deep     | adaptive, more windows than elements
max n2c3h8w10 k2                   | disjoint                | maxima side by side
max n2c3h9w11 k3 s2 p1             | overlap padded          | maxima of overlapping windows
max c3h9w9 k3 dil2                 | overlap dilated         | maxima of dilated windows
max n2c3h8w10 k2 astray            | disjoint                | indices outside their windows
max n2c3h9w11 k3 s2 p1 nhwc        | overlap padded          | maxima, channels last
amax n2c3h7w11 o5,4                | overlap uneven          | adaptive maxima
"""

every_case = pytest.mark.parametrize("case", cases(CASES))


@pytest.fixture
def threads():
    """Sets the number of threads for one test."""
    before = poolgrad.get_num_threads()
    yield poolgrad.set_num_threads
    poolgrad.set_num_threads(before)


def python(program: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own that finds the same modules."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


def as_bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


# ---- random parameters -----------------------------------------------------------------------------------------------


@st.composite
def fixed_cases(draw, operator: str):
    words = [operator, "n2c2h{}w{}".format(*(draw(st.integers(1, size)) for size in (9, 20)))]
    kernel = [draw(st.integers(1, 6)) for _ in "hw"]
    words.append("k{},{}".format(*kernel))
    if draw(st.booleans()):
        words.append(f"s{draw(st.integers(1, 7))},{draw(st.integers(1, 7))}")
    words.append("p{},{}".format(*(draw(st.integers(0, k // 2)) for k in kernel)))
    words += ["ceil"] * draw(st.booleans())
    if operator == "avg":
        words += ["nopad"] * draw(st.booleans())
        words += [f"div={draw(st.integers(-(2**26), 2**26))}"] * draw(st.integers(0, 3).map(lambda n: n == 0))
    else:
        words.append(f"dil{draw(st.integers(1, 3))},{draw(st.integers(1, 3))}")
        words += ["nhwc"] * draw(st.booleans())
    case = parse(" ".join(words) + " | | drawn at random")
    assume(min(case.outputs) > 0)
    if operator == "max":
        assume(every_window_holds_something(case))
    return case


def every_window_holds_something(case: Case) -> bool:
    for size, k, s, p, d, count in zip(
        case.spatial, case.kernel, case.stride, case.padding, case.dilation, case.outputs, strict=True
    ):
        for position in range(count):
            start = position * s - p
            if not any(0 <= place < size for place in range(start, start + k * d, d)):
                return False
    return True


@st.composite
def adaptive_cases(draw, operator: str):
    deep = operator == "aavg"
    limits = (4, 7, 20) if deep else (9, 20)
    sizes = [draw(st.integers(1, limit)) for limit in limits]
    outputs = [draw(st.integers(1, limit)) for limit in limits]
    shape = "".join(f"{axis}{size}" for axis, size in zip("dhw" if deep else "hw", sizes, strict=True))
    return parse(f"{operator} n2c2{shape} o{','.join(map(str, outputs))} | | drawn at random")


averages = st.one_of(fixed_cases("avg"), adaptive_cases("aavg"))
maxima = st.one_of(fixed_cases("max"), adaptive_cases("amax"))


def forward(case: Case, x: np.ndarray) -> np.ndarray:
    """Average pooling itself, window by window."""
    y = np.empty(case.grad_shape)
    for position in np.ndindex(case.outputs):
        windows = [axis[place] for axis, place in zip(case.windows, position, strict=True)]
        whole = case.operator == "avg" and case.arguments.get("count_include_pad", True)
        count = case.divisor or math.prod(w.padded if whole else w.stop - w.start for w in windows)
        patch = x[(..., *(slice(w.start, w.stop) for w in windows))]
        y[(..., *position)] = patch.sum(axis=tuple(range(-len(windows), 0))) / count
    return y


@EVERY_TIME_THE_SAME
@given(averages)
def test_the_gradient_is_the_adjoint_of_average_pooling(case: Case):
    x = case.random().standard_normal(case.x_shape)
    gradients = case.gradients(FLOAT64)
    onwards = np.sum(forward(case, x) * gradients)
    back = np.sum(x * case.run(gradients))
    magnitude = np.sum(np.abs(forward(case, np.abs(x))) * np.abs(gradients))
    roundings = x.size + gradients.size + math.prod(max(axis) for axis in case.covered) + 4
    assert abs(onwards - back) <= 2 * gamma(roundings, 2.0**-53) * magnitude


@EVERY_TIME_THE_SAME
@given(maxima)
def test_the_gradient_is_the_adjoint_of_max_pooling(case: Case):
    x, indices = case.random().standard_normal(case.x_shape), case.indices()
    gradients = case.gradients(FLOAT64)
    back = case.run(gradients, indices=indices)
    if case.channels_last:
        gradients, indices, back = (np.moveaxis(array, -1, -3) for array in (gradients, indices, back))
    largest = np.take_along_axis(x.reshape(2, 2, -1), indices.reshape(2, 2, -1), axis=-1)
    products = largest * gradients.reshape(2, 2, -1)
    bound = 2 * gamma(x.size + gradients.size + 2, 2.0**-53) * np.abs(products).sum()
    assert abs(products.sum() - np.sum(x * back)) <= bound


@EVERY_TIME_THE_SAME
@given(averages)
def test_averages_of_random_parameters(case: Case):
    gradients = case.gradients(FLOAT32)
    result = case.run(gradients)
    assert_within_rounding(case, gradients, result)
    for dtype in HALVES:
        halves = gradients.astype(dtype)
        assert_same_bits(case.run(halves), case.run(halves.astype(np.float32)).astype(dtype))


@EVERY_TIME_THE_SAME
@given(maxima, st.sampled_from(DTYPES), st.sampled_from([np.int32, np.int64]))
def test_maxima_of_random_parameters(case: Case, dtype, index_dtype):
    gradients, indices = case.gradients(dtype), case.indices(np.dtype(index_dtype))
    assert_same_bits(case.run(gradients, indices=indices), case.reference(gradients, indices).astype(dtype))


@EVERY_TIME_THE_SAME
@given(averages, st.integers(0, 2**31), st.sampled_from([np.nan, np.inf, -np.inf]), st.sampled_from(DTYPES))
def test_a_special_value_reaches_exactly_its_window(case: Case, where, special, dtype):
    gradients = case.gradients(dtype)
    position = np.unravel_index(where % gradients.size, gradients.shape)
    gradients[position] = special
    result = case.run(gradients)
    reached = np.zeros(case.x_shape, dtype=bool)
    leading = len(case.x_shape) - len(case.spatial)
    windows = [axis[place] for axis, place in zip(case.windows, position[leading:], strict=True)]
    reached[(*position[:leading], *(slice(w.start, w.stop) for w in windows))] = True
    assert np.array_equal(~np.isfinite(result), reached)
    sign = -1 if case.divisor < 0 else 1
    assert_same_bits(result[reached], np.full(reached.sum(), sign * special).astype(dtype))


@EVERY_TIME_THE_SAME
@given(averages, st.integers(-40, 40))
def test_scaling_by_a_power_of_two_changes_nothing_else(case: Case, exponent):
    gradients = case.gradients(FLOAT32)
    scale = np.float32(2.0**exponent)
    assert_same_bits(case.run(gradients * scale), case.run(gradients) * scale)


# ---- the same bits, however it is computed ---------------------------------------------------------------------------

LARGE = """
avg n4c16h57w59 k3 s2 p1           | overlap padded          | overlapping
avg n4c16h40w41 k7 s1 p3 nopad     | overlap padded          | long runs down the columns
avg n4c16h56w56 k2                 | disjoint                | side by side
avg n2c2h401w403 k9 s1 p4          | overlap padded          | few large planes: rows are shared out
avg n1c1h1000w701 k3 s1            | overlap                 | one plane
avg n1c1h1000w701 k21,3 s2,1       | overlap                 | one plane, long runs down the columns
avg n64c32h7w7 k3 s1 p1            | overlap padded          | tiny planes
aavg n2c8d9h31w33 o4,13,14         | overlap deep uneven     | adaptive
aavg n1c1d40h60w70 o17,23,31       | overlap deep uneven     | adaptive, one volume
max n4c16h57w59 k3 s2 p1           | overlap padded          | maxima
max n4c16h56w56 k2                 | disjoint                | maxima side by side
max n1c1h500w701 k3 s1 astray      | overlap                 | maxima of one plane
max n4c16h57w59 k3 s2 p1 nhwc      | overlap padded          | maxima, channels last
amax n4c16h57w59 o20,21            | overlap uneven          | adaptive maxima
"""


def large_indices(case: Case):
    """Any legal index will do, and these are quickly drawn."""
    if case.averages:
        return None
    return case.laid_out(case.random().integers(0, math.prod(case.spatial), case.grad_shape))


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16], ids=str)
@pytest.mark.parametrize("case", cases(LARGE))
def test_any_number_of_threads(case: Case, dtype, threads):
    gradients, indices = case.gradients(dtype), large_indices(case)
    threads(1)
    alone = case.run(gradients, indices=indices)
    for number in (2, 3, 7):
        threads(number)
        assert poolgrad.get_num_threads() == number
        assert_same_bits(case.run(gradients, indices=indices), alone)


@pytest.mark.parametrize("case", cases(CASES + LARGE))
def test_any_split_of_the_batch(case: Case):
    """The whole batch, image by image, plane by plane: without the batch axis, too."""
    gradients = case.gradients(FLOAT32)
    indices = large_indices(case)
    whole = case.run(gradients, indices=indices)
    unbatched = len(case.x_shape) == len(case.spatial) + 1
    if unbatched:
        gradients, whole = gradients[None], whole[None]
        indices = None if indices is None else indices[None]
    channels = -1 if case.channels_last else 1
    shape_of_one = [1 if axis == channels % whole.ndim - 1 else size for axis, size in enumerate(whole.shape[1:])]
    images = range(len(gradients)) if len(gradients) < 8 else (0, 5, len(gradients) - 1)
    for n in images:
        of_image = None if indices is None else indices[n]
        assert_same_bits(case.run(gradients[n], tuple(whole.shape[1:]), of_image), whole[n])
        for c in {0, 1, case.x_shape[-len(case.spatial) - 1] - 1} - {case.x_shape[-len(case.spatial) - 1]}:
            channel = [slice(None)] * (whole.ndim - 1)
            channel[channels % whole.ndim - 1] = slice(c, c + 1)
            of_plane = None if indices is None else of_image[tuple(channel)]
            plane = case.run(gradients[n][tuple(channel)], tuple(shape_of_one), of_plane)
            assert_same_bits(plane, whole[n][tuple(channel)])


@pytest.mark.parametrize("layout", LAYOUTS)
@every_case
def test_inputs_of_any_layout(case: Case, layout):
    for dtype in DTYPES:
        gradients = case.gradients(dtype)
        guarded = Guarded.holding(gradients, layout)
        before = guarded.block.copy()
        assert_same_bits(case.run(guarded.array), case.run(gradients))
        assert np.array_equal(guarded.block, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@every_case
def test_outputs_of_any_layout(case: Case, layout):
    """Every element is overwritten, nothing between, before or behind them is."""
    for dtype in DTYPES:
        gradients = case.gradients(dtype)
        out = Guarded(case.x, dtype, layout)
        assert case.run(gradients, out=out.array) is out.array
        out.assert_untouched()
        assert_same_bits(out.array, case.run(gradients))


@pytest.mark.parametrize("output", LAYOUTS)
@pytest.mark.parametrize("source", LAYOUTS)
def test_any_layout_into_any_other(source, output):
    for line in ("avg n2c3h9w11 k3 s2 p1", "avg n2c3h8w10 k2", "aavg n2c3d3h7w11 o2,3,4", "max n2c3h9w11 k3 s2 p1"):
        case = parse(f"{line} | | layouts")
        for dtype in (FLOAT32, BFLOAT16):
            gradients = case.gradients(dtype)
            out = Guarded(case.x, dtype, output)
            case.run(Guarded.holding(gradients, source).array, out=out.array)
            out.assert_untouched()
            assert_same_bits(out.array, case.run(gradients))


@pytest.mark.parametrize("layout", ["plain", "channels last", "reversed", "field of a record", "misaligned"])
@pytest.mark.parametrize(
    "case",
    cases(
        "\n".join(
            f"{line.format(width=width)} | | rows of {width}"
            for width in (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 257)
            for line in (
                "avg n2c2h3w{width} k3 s1 p1",
                "avg n2c2h4w{width} k2,1 s2,1",
                "avg n2c2h4w{width} k2 p1",
                "avg n2c2h3w{width} k2 s1,3 p1",
                "aavg n2c1d2h3w{width} o1,2,3",
                "max n2c2h3w{width} k3 s1 p1",
                "max n2c2h4w{width} k2 p1",
            )
        )
    ),
)
def test_no_row_length_runs_over(case: Case, layout):
    for dtype in (FLOAT32, BFLOAT16, FLOAT64):
        gradients = case.gradients(dtype)
        out = Guarded(case.x, dtype, layout)
        case.run(Guarded.holding(gradients, layout).array, out=out.array)
        out.assert_untouched()
        if not case.averages:
            assert_same_bits(out.array, case.reference(gradients).astype(dtype))
        elif dtype == BFLOAT16:
            assert_same_bits(out.array, case.run(gradients.astype(np.float32)).astype(dtype))
        else:
            assert_close_to_float64(case, gradients, out.array)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@every_case
def test_broadcast_gradients(case: Case, dtype):
    """One number for all of them, as the gradient of a sum comes; and one plane for all of them."""
    one = np.array(1.5, dtype=dtype)
    spread = np.broadcast_to(one, case.laid_out(np.empty(case.grad_shape)).shape)
    assert set(spread.strides) == {0}
    assert_same_bits(case.run(spread), case.run(np.array(spread)))
    plane = case.gradients(dtype)[:1]
    spread = np.broadcast_to(plane, case.laid_out(np.empty(case.grad_shape)).shape)
    assert spread.strides[0] == 0
    assert_same_bits(case.run(spread), case.run(np.array(spread)))


# ---- what goes in ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@every_case
def test_inputs_are_not_modified(case: Case, dtype):
    """Not even the payload of a NaN."""
    gradients, indices = case.gradients(dtype), None if case.averages else case.indices()
    words = gradients.view(f"u{dtype.itemsize}").reshape(-1)
    signalling = {2: 0x7C01 if dtype != BFLOAT16 else 0x7F81, 4: 0x7F800001, 8: 0x7FF0000000000001}[dtype.itemsize]
    words[0], words[-1] = signalling, signalling + 4
    x = np.full(case.x, np.nan, dtype=dtype)
    before = [as_bytes(array) for array in (gradients, x, indices) if array is not None]
    case.run(gradients, x, indices)
    options = {"cube_math_type": 1} if case.operator == "avg" else {}
    case.run(gradients, x, indices, **options)
    assert [as_bytes(array) for array in (gradients, x, indices) if array is not None] == before


@every_case
def test_read_only_inputs_are_welcome(case: Case):
    gradients = case.gradients(FLOAT32)
    expected = case.run(gradients)
    x = np.zeros(case.x, dtype=np.float32)
    indices = None if case.averages else case.indices()
    for array in (gradients, x, indices):
        if array is not None:
            array.flags.writeable = False
    assert_same_bits(case.run(gradients, x, indices), expected)


@every_case
def test_x_is_a_shape_or_an_array_that_nobody_reads(case: Case):
    gradients = case.gradients(FLOAT32)
    expected = case.run(gradients, case.x)
    assert_same_bits(case.run(gradients, np.full(case.x, np.nan, dtype=np.float32)), expected)
    assert_same_bits(case.run(gradients, np.broadcast_to(np.float32(3), case.x)), expected)


@every_case
def test_out_may_be_x(case: Case):
    gradients = case.gradients(FLOAT32)
    expected = case.run(gradients)
    x = np.full(case.x, np.nan, dtype=np.float32)
    assert case.run(gradients, x, out=x) is x
    assert_same_bits(x, expected)


@every_case
def test_out_must_not_overlap_what_is_read(case: Case):
    """Neither from the first element on, nor with a single one."""
    gradients = case.gradients(FLOAT32)
    room = np.full(gradients.size + math.prod(case.x), 5, dtype=np.float32)
    room[: gradients.size] = gradients.ravel()
    before = room.copy()
    view = room[: gradients.size].reshape(gradients.shape)
    for start in (0, gradients.size - 1):
        out = room[start : start + math.prod(case.x)].reshape(case.x)
        assert np.shares_memory(out, view)
        with pytest.raises(poolgrad.AclnnError):
            case.run(view, out=out)
        assert_same_bits(room, before)
    beside = room[gradients.size :].reshape(case.x)
    case.run(view, out=beside)
    assert_same_bits(beside, case.run(gradients))


SPELLINGS = {
    "avg n2c2h7w9 k3 s2 p1": [
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": (3,), "stride": (2,), "padding": (1,)},
        {"kernel_size": [3], "stride": [2], "padding": [1]},
        {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1)},
        {"kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1]},
        {"kernel_size": np.int64(3), "stride": np.int32(2), "padding": np.uint8(1)},
        {"kernel_size": np.array([3, 3]), "stride": np.array([2]), "padding": np.array([1, 1], dtype=np.int8)},
        {"kernel_size": 3, "stride": (2, 2), "padding": (1,), "divisor_override": 0},
        {"kernel_size": 3, "stride": 2, "padding": 1, "divisor_override": None, "ceil_mode": np.False_},
    ],
    "max n2c2h9w9 k3 s2 p1": [
        {"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 1},
        {"kernel_size": (3,), "stride": [2], "padding": (1,), "dilation": [1]},
        {"kernel_size": [3, 3], "stride": (2, 2), "padding": [1, 1], "dilation": (1, 1)},
        {"kernel_size": np.int64(3), "stride": np.array([2, 2]), "padding": np.int32(1), "dilation": np.array([1])},
    ],
}


@pytest.mark.parametrize(
    ("line", "spelling"), [(x, y) for x, spellings in SPELLINGS.items() for y in spellings], ids=str
)
def test_spellings_of_the_same_call(line, spelling):
    case = parse(f"{line} | overlap padded | to be spelt in many ways")
    gradients = case.gradients(FLOAT32)
    given = [gradients, case.x_shape] if case.averages else [gradients, case.x_shape, case.indices()]
    result = getattr(poolgrad, case.described.python_name)(*given, **spelling)
    assert_same_bits(result, case.run(gradients))


# ---- what comes out --------------------------------------------------------------------------------------------------


def memory_order(array: np.ndarray) -> list[int]:
    """The axes from the slowest to the fastest; axes of length one count for nothing."""
    return sorted((axis for axis in range(array.ndim) if array.shape[axis] > 1), key=lambda axis: -array.strides[axis])


@every_case
def test_a_shape_gives_c_order(case: Case):
    result = case.run(Guarded.holding(case.gradients(FLOAT32), "channels last").array, case.x)
    assert type(result) is np.ndarray
    assert result.flags.c_contiguous
    assert result.flags.writeable
    assert result.shape == case.x


@pytest.mark.parametrize("layout", ["plain", "channels last", "transposed", "fortran", "cropped"])
@every_case
def test_the_result_is_laid_out_as_x(case: Case, layout):
    x = Guarded(case.x, FLOAT32, layout).array
    result = case.run(case.gradients(FLOAT32), x)
    assert result.dtype == np.float32
    assert memory_order(result) == memory_order(x)
    last = sum((size - 1) * stride for size, stride in zip(result.shape, result.strides, strict=True))
    assert last + result.itemsize == result.nbytes, "there are gaps between the elements"
    assert_same_bits(result, case.run(case.gradients(FLOAT32)))


@every_case
def test_every_result_is_a_new_one(case: Case):
    gradients, x = case.gradients(FLOAT32), np.zeros(case.x, dtype=np.float32)
    first, second = case.run(gradients, x), case.run(gradients, x)
    for one, other in ((first, second), (first, gradients), (first, x)):
        assert not np.shares_memory(one, other)


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32, np.dtype(np.float16)], ids=str)
@every_case
def test_dlpack_in_numpy_out(case: Case, dtype):
    gradients = case.gradients(dtype)
    expected = case.run(gradients)
    indices = None if case.averages else OnlyDLPack(case.indices())
    for x in (case.x, OnlyDLPack(np.zeros(case.x, dtype=dtype))):
        result = case.run(OnlyDLPack(gradients), x, indices)
        assert type(result) is np.ndarray
        assert_same_bits(result, expected)


@every_case
def test_kinds_may_be_mixed(case: Case):
    """The result of arrays that show DLPack alone is NumPy's, whichever of them do."""
    gradients, x = case.gradients(FLOAT32), np.zeros(case.x, dtype=np.float32)
    given = [gradients, x] if case.averages else [gradients, x, case.indices()]
    expected = case.run(gradients)
    for place, array in enumerate(given):
        result = case.run(*given[:place], OnlyDLPack(array), *given[place + 1 :])
        assert type(result) is np.ndarray
        assert_same_bits(result, expected)


@every_case
def test_out_by_dlpack(case: Case):
    """An output that shows DLPack alone is written in place."""
    gradients = case.gradients(FLOAT32)
    target = np.full(case.x, np.nan, dtype=np.float32)
    wrapped = OnlyDLPack(target)
    assert case.run(gradients, out=wrapped) is wrapped
    assert_same_bits(target, case.run(gradients))


@every_case
def test_out_that_may_not_be_written_is_refused(case: Case):
    out = np.full(case.x, 3, dtype=np.float32)
    out.flags.writeable = False
    with pytest.raises((ValueError, TypeError)):
        case.run(case.gradients(FLOAT32), out=out)
    assert (out == 3).all()


@every_case
def test_out_that_overlaps_itself_is_refused(case: Case):
    room = np.full(math.prod(case.x), 3, dtype=np.float32)
    shape = case.x
    longest = max(range(len(shape)), key=lambda axis: shape[axis])
    strides = [0 if axis == longest else stride for axis, stride in enumerate(np.empty(shape, np.float32).strides)]
    out = np.ndarray(shape, np.float32, room, 0, strides)
    with pytest.raises(poolgrad.AclnnError, match="output-overlaps-itself"):
        case.run(case.gradients(FLOAT32), out=out)
    assert (room == 3).all()


def test_fields_of_one_record_do_not_overlap():
    """Gradients and result side by side in the same block, element by element."""
    case = parse("avg n2c3h5w8 k1 | disjoint | as many gradients as elements")
    gradients = case.gradients(FLOAT32)
    records = np.zeros(case.x, dtype=[("flag", "u1"), ("grad_output", "f4"), ("grad_input", "f4")])
    records["flag"], records["grad_output"], records["grad_input"] = 7, gradients, np.nan
    assert not np.shares_memory(records["grad_output"], records["grad_input"])
    case.run(records["grad_output"], out=records["grad_input"])
    assert_same_bits(np.array(records["grad_input"]), case.run(gradients))
    assert_same_bits(np.array(records["grad_output"]), gradients)
    assert (records["flag"] == 7).all()


def test_foreign_byte_order_is_right_or_refused():
    case = parse("avg n1c2h6w8 k3 s2 p1 | overlap | big endian")
    gradients = case.gradients(FLOAT32)
    try:
        result = case.run(gradients.astype(gradients.dtype.newbyteorder()))
    except (ValueError, TypeError):
        return
    assert np.array_equal(result, case.run(gradients))


def test_one_in_one_hundred_calls_is_like_the_first(threads):
    """Different geometries in turn: nothing is carried over from one call to another."""
    turn = [case for parameter in cases(CASES) for case in parameter.values]
    first = [case.run(case.gradients(FLOAT32)) for case in turn]
    for number in (2, 1, 5):
        threads(number)
        for case, expected in zip(turn, first, strict=True):
            assert_same_bits(case.run(case.gradients(FLOAT32)), expected)


def test_calls_from_several_threads_at_once(threads):
    """Callers share the workers and nothing else."""
    turn = [case for parameter in cases(CASES + LARGE) for case in parameter.values]
    inputs = [(case, case.gradients(FLOAT32), large_indices(case)) for case in turn]
    threads(3)
    expected = [case.run(gradients, indices=indices) for case, gradients, indices in inputs]

    def caller(offset: int) -> None:
        for step in range(2 * len(inputs)):
            place = (offset + step) % len(inputs)
            case, gradients, indices = inputs[place]
            assert_same_bits(case.run(gradients, indices=indices), expected[place])

    with ThreadPoolExecutor(4) as callers:
        for done in [callers.submit(caller, offset) for offset in (0, 5, 11, 17)]:
            done.result(timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes_too():
    """Threads do not survive a fork: whoever waits for one waits for ever. In a process of its own, with a limit."""
    program = textwrap.dedent(
        """
        import os, sys, warnings
        import numpy as np, poolgrad
        from oracle import FLOAT32, parse, assert_same_bits
        warnings.simplefilter("ignore")
        poolgrad.set_num_threads(3)
        case = parse("avg n8c32h57w57 k3 s2 p1 | | large enough for several threads")
        gradients = case.gradients(FLOAT32)
        expected = case.run(gradients)
        child = os.fork()
        if not child:
            try:
                assert_same_bits(case.run(gradients), expected)
            except BaseException:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert_same_bits(case.run(gradients), expected)
        sys.exit(os.waitstatus_to_exitcode(status))
        """
    )
    run = python(program, timeout=60)
    assert run.returncode == 0, run.stderr[-2000:]


def test_reference_is_independent():
    """The oracle shares no code with what it judges."""
    lines = Path(reference.__file__).read_text(encoding="utf-8").splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert not any("poolgrad" in line or line.startswith("from .") for line in imports)
