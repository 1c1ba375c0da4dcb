"""The gradients of max pooling: values only move and add up in a fixed order, so every comparison is bit for bit."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from oracle import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    HALVES,
    INDEX_DTYPES,
    LAYOUTS,
    Case,
    Guarded,
    assert_no_negative_zero,
    assert_same_bits,
    cases,
    parse,
)

import poolgrad
from poolgrad.selftest import reference

FIXED = """
max n2c3h6w8 k2                       | disjoint                     | the everyday case, stride left out
max c3h6w8 k2                         | disjoint unbatched           | the same without a batch
max n1c2h6w8 k2 s-                    | disjoint                     | an empty stride is the kernel
max n1c2h6w8 k3, s2, p1, dil1,        | overlap padded               | sequences of one number
max n1c2h6w8 k3,2 s2,1 p1,0 dil1,1    | overlap padded               | sequences of two numbers
max c1h1w1 k1                         | disjoint global unbatched    | one element
max n1c2h5w6 k1                       | disjoint                     | the gradient itself
max n1c2h9w11 k2 s3                   | gap disjoint                 | stride beyond the kernel
max n2c2h9w9 k3 s1                    | overlap                      | up to nine gradients in one place
max n2c2h9w9 k3 s2 p1                 | overlap padded               | the first layers of image networks
max n2c2h8w8 k3 s2 ceil               | overlap clipped              | ceil mode cuts the last windows off
max n2c2h7w7 k2 ceil                  | disjoint clipped             | side by side, the last ones cut off
max n1c2h8w12 k3 s4 p1 ceil           | gap clipped padded           | everything that a border can do
max n1c2h5w5 k2 p1 ceil               | dropped padded               | windows that begin in the padding go
max n2c2h5w7 k5,7                     | global                       | one maximum for each plane
max n1c2h9w9 k3 dil2                  | dilated overlap              | dilated windows
max n1c2h9w11 k3,2 s2,1 p1 dil2,3     | dilated padded overlap       | dilated differently on each axis
max n1c2h10w9 k2 s3 dil3 ceil         | dilated overlap clipped      | dilated and cut off
max n2c2h7w7 k3 s3                    | gap disjoint                 | a row and a column in no window
max n1c2h4w1 k2,1                     | disjoint                     | rows of one element
max n1c2h4w2 k2                       | disjoint                     | rows of two
max n1c2h5w7 k2 s1                    | overlap                      | one less than a vector
max n1c2h4w31 k2                      | gap disjoint                 | one less than four vectors
max n1c2h4w33 k2 ceil                 | clipped disjoint             | one more than four vectors
max n1c2h4w33 k3 s2 p1                | overlap padded               | one more than four vectors, overlapping
max n1c2h4w257 k2                     | gap disjoint                 | one more than a power of two
max n1c1h2w5000 k2                    | disjoint                     | a long row
max n1c1h2w5000 k1,3 s1,2             | overlap                      | a long row, overlapping
max n9c5h2w2 k2                       | global                       | many tiny planes
max n2c3h6w8 k2 astray                | disjoint                     | indices that point outside their windows
max n1c2h6w8 k3 s1 p1 astray          | overlap padded               | and the same where windows overlap
max n2c3h6w8 k2 nhwc                  | disjoint                     | channels last
max c3h6w8 k2 nhwc                    | disjoint unbatched           | channels last without a batch
max n2c5h9w9 k3 s2 p1 nhwc            | overlap padded               | channels last, overlapping
max n2c3h9w9 k3 s2 dil2 ceil nhwc     | overlap dilated              | channels last, dilated
max n2c3h6w8 k2 nhwc astray           | disjoint                     | channels last, indices outside their windows
max n2c1h6w8 k2 nhwc                  | disjoint                     | channels last with one channel
max n2c33h4w4 k2 nhwc                 | disjoint                     | channels last with many channels
"""

ADAPTIVE = """
amax n2c3h6w8 o3,4          | disjoint                  | divides evenly
amax c3h6w8 o3,4            | disjoint unbatched        | the same without a batch
amax n2c2h7w9 o3,4          | overlap                   | divides on no axis
amax n2c2h7w11 o5,4         | overlap uneven            | windows of changing lengths
amax n1c2h5w7 o5,7          | disjoint                  | the gradient itself
amax n1c2h5w7 o1,1          | one-output                | one maximum for each plane
amax n1c2h3w4 o7,9          | larger overlap            | more windows than elements
amax n1c2h1w1 o3,4          | larger overlap            | all windows hold the one element
amax n1c2h4w1 o2,1          | disjoint                  | rows of one element
amax n1c2h3w33 o2,32        | overlap                   | nearly as many windows as elements
amax n1c1h2w257 o2,100      | overlap uneven            | a long row
amax n1c1h1w5000 o1,7       | overlap uneven            | a row of thousands
amax n2c3h6w8 o3,4 astray   | disjoint                  | indices that point outside their windows
amax n1c2h5w5 o9,9 astray   | larger                    | many gradients for each element
amax n9c5h2w2 o1,1          | one-output                | many tiny planes
"""

ALL = FIXED + ADAPTIVE


@pytest.mark.parametrize("case", cases(ALL))
def test_indices_lie_where_the_case_says(case: Case):
    if case.astray:
        assert strays(case) > 0
    elif "overlap" not in case.facts:
        assert strays(case) == 0
        assert not has_duplicates(case)


def planes(case: Case, array: np.ndarray) -> np.ndarray:
    """Channels in front, one row for each plane."""
    array = np.moveaxis(array, -1, -3) if case.channels_last else array
    return array.reshape(-1, array.shape[-2] * array.shape[-1])


def has_duplicates(case: Case) -> bool:
    return any(len(set(plane)) < len(plane) for plane in planes(case, case.indices()).tolist())


def strays(case: Case) -> int:
    """How many indices lie outside their own window."""
    indices = planes(case, case.indices()).reshape(-1, *case.outputs)
    count = 0
    for position in np.ndindex(indices.shape):
        where = divmod(int(indices[position]), case.spatial[1])
        windows = [axis[place] for axis, place in zip(case.windows, position[1:], strict=True)]
        count += not all(w.start <= place < w.stop for w, place in zip(windows, where, strict=True))
    return count


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", cases(ALL))
def test_values(case: Case, dtype, index_dtype):
    gradients, indices = case.gradients(dtype), case.indices(index_dtype)
    result = case.run(gradients, indices=indices)
    assert_same_bits(result, case.reference(gradients, indices).astype(dtype))
    if dtype not in HALVES:
        assert_no_negative_zero(result)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operator", ["max n2c3h6w8 k3 s1 p1", "max n2c3h6w8 k2", "amax n2c3h7w11 o5,4"])
def test_indices_of_any_layout(operator, layout):
    case = parse(f"{operator} | | indices laid out in some way")
    gradients, indices = case.gradients(FLOAT32), case.indices()
    guarded = Guarded.holding(indices, layout)
    assert_same_bits(case.run(gradients, indices=guarded.array), case.reference(gradients, indices))
    assert_same_bits(guarded.array, indices)


def test_indices_that_are_broadcast():
    case = parse("max n3c4h6w8 k2 | disjoint | the same indices for all planes")
    gradients = case.gradients(FLOAT32)
    indices = np.broadcast_to(case.indices()[:1, :1], gradients.shape)
    assert 0 in indices.strides
    assert_same_bits(case.run(gradients, indices=indices), case.reference(gradients, indices))


# ---- duplicates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", cases("max n2c2h9w9 k3 s1 | overlap | shared maxima\namax n1c2h3w4 o7,9 | larger | shared maxima")
)
def test_duplicates_add_up(case: Case):
    assert has_duplicates(case)
    ones = np.ones(case.grad_shape, dtype=np.float32)
    result = planes(case, case.run(ones))
    for plane, places in zip(result, planes(case, case.indices()), strict=True):
        assert plane.tolist() == np.bincount(places, minlength=plane.size).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("max n1c3h4w40 k2 | | x", "windows side by side, though all point to one place"),
        ("max n1c3h5w24 k3 s1 p1 | | x", "overlapping windows"),
        ("max n1c3h4w40 k2 nhwc | | x", "channels last"),
        ("amax n1c3h4w40 o2,20 | | x", "adaptive"),
        ("amax n1c3h1w2 o20,20 | | x", "adaptive, more windows than elements"),
    ],
)
def test_duplicates_are_added_in_order(line, reason, dtype):
    """All gradients of a plane meet in one place, and their sum depends on the order; also across rows."""
    case = parse(line)
    gradients = case.gradients(dtype) * np.array(2.0**-8, dtype=dtype)
    # a large number comes early and goes late: what is added between the two loses its last bits
    large = {FLOAT64: 2.0**48, FLOAT16: 2.0**15}.get(dtype, 2.0**20)
    planes_first = np.moveaxis(gradients, -1, -3) if case.channels_last else gradients
    planes_first[..., 0, 3], planes_first[..., 1, -9] = large, -large
    indices = np.full(gradients.shape, case.spatial[0] * case.spatial[1] - 1)
    expected = case.reference(gradients, indices).astype(dtype)
    for axis in (0, 1):
        backwards = np.flip(gradients, axis - (3 if case.channels_last else 2))
        assert not np.array_equal(expected, case.reference(backwards, indices).astype(dtype)), "any order would do"
    assert_same_bits(case.run(gradients, indices=indices), expected)


def test_duplicates_of_halves_are_added_in_single_precision():
    gradients = np.float16([2048, 1, 1, 1]).reshape(1, 1, 1, 4)
    indices = np.zeros((1, 1, 1, 4), dtype=np.int32)
    assert poolgrad.adaptive_max_pool2d_backward(gradients, (1, 1, 1, 8), indices)[0, 0, 0, 0] == np.float16(2052)
    gradients = np.array([256, 1, 1, 1], dtype=BFLOAT16).reshape(1, 1, 1, 4)
    assert poolgrad.adaptive_max_pool2d_backward(gradients, (1, 1, 1, 8), indices)[0, 0, 0, 0] == BFLOAT16.type(260)


# ---- empty -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "case",
    cases("""
    max n0c3h6w8 k2          | | an empty batch
    max n0c3h6w8 k3 s1 nhwc  | | an empty batch, channels last
    amax n0c3h6w8 o2,3       | | an empty batch, adaptive
    amax n2c0h6w8 o2,3       | | no channels
    """),
)
def test_nothing_in_nothing_out(case: Case, dtype):
    gradients = case.laid_out(np.zeros(case.grad_shape, dtype=dtype))
    indices = np.zeros(gradients.shape, dtype=np.int64)
    result = case.run(gradients, indices=indices)
    assert result.shape == case.x
    assert result.dtype == dtype


@pytest.mark.parametrize("output", [(0, 0), (0, 3), (3, 0)])
def test_adaptive_without_gradients_is_zero(output):
    gradients = np.zeros((2, 3, *output), dtype=np.float32)
    out = np.full((2, 3, 4, 5), 7, dtype=np.float32)
    result = poolgrad.adaptive_max_pool2d_backward(gradients, out.shape, gradients.astype(np.int32), out=out)
    assert result is out
    assert (out == 0).all()


@pytest.mark.parametrize("plane", [(0, 0), (0, 4), (4, 0)])
@pytest.mark.parametrize("product", [None, "Atlas A2"])
def test_adaptive_without_a_plane_is_empty(product, plane):
    gradients = np.ones((1, 2, 3, 3), dtype=np.float32)
    indices = np.zeros((1, 2, 3, 3), dtype=np.int64)
    result = poolgrad.adaptive_max_pool2d_backward(gradients, (1, 2, *plane), indices, product=product)
    assert result.shape == (1, 2, *plane)


# ---- products, data formats ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("product", "dtype", "index_dtype", "line"),
    [
        ("Atlas A2", FLOAT32, "int32", "max n1c2h9w9 k3 s2 p1 | | x"),
        ("Ascend910_93", FLOAT32, "int32", "max c2h9w9 k2 | | x"),
        ("Ascend 950", FLOAT16, "int64", "max n1c2h9w9 k3 s2 p1 dil2 | dilated | x"),
        ("Ascend950", BFLOAT16, "int32", "max n1c2h9w9 k3 nhwc | | x"),
        ("Atlas A2", BFLOAT16, "int64", "amax n1c2h9w9 o2,4 | | x"),
        ("Atlas A3", FLOAT16, "int32", "amax c2h9w9 o4,4 | | x"),
    ],
    ids=str,
)
def test_products_compute_the_same(product, dtype, index_dtype, line):
    case = parse(line)
    gradients, indices = case.gradients(dtype), case.indices(np.dtype(index_dtype))
    result = case.run(gradients, indices=indices, product=product)
    assert_same_bits(result, case.reference(gradients, indices).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "line", ["max n2c5h9w9 k3 s2 p1", "max n2c5h8w8 k2", "max c3h9w7 k3 s1 ceil", "max n2c5h8w8 k2 astray"]
)
def test_channels_last_has_the_same_bits(line, dtype):
    case = parse(f"{line} | | channels first")
    gradients, indices = case.gradients(dtype), case.indices()
    first = case.run(gradients, indices=indices)
    last = case.run(
        np.ascontiguousarray(np.moveaxis(gradients, -3, -1)),
        np.empty(np.moveaxis(first, -3, -1).shape, dtype=dtype),
        np.ascontiguousarray(np.moveaxis(indices, -3, -1)),
        data_format="NHWC",
    )
    assert_same_bits(np.moveaxis(last, -1, -3), first)


def test_large_maxima():
    """Enough planes and enough rows to be worth sharing out."""
    for line in ("max n8c32h56w56 k2", "max n4c32h57w57 k3 s2 p1", "amax n4c32h57w57 o20,20", "max n1c1h900w900 k3 s1"):
        case = parse(f"{line} | | large")
        random = case.random()
        gradients = random.standard_normal(case.grad_shape).astype(np.float32)
        indices = random.integers(0, case.spatial[0] * case.spatial[1], case.grad_shape)
        expected = np.zeros((gradients.shape[0] * gradients.shape[1], case.spatial[0] * case.spatial[1]), np.float32)
        np.add.at(expected, (np.arange(len(expected))[:, None], planes(case, indices)), planes(case, gradients))
        assert_same_bits(case.run(gradients, indices=indices).reshape(expected.shape), expected)


@pytest.mark.parametrize("size", range(1, 6))
def test_a_window_that_holds_nothing_is_refused(size):
    """Dilation may step over a short axis, and then no index could be right; everything else is taken."""
    seen = set()
    for k, s, d, ceil in itertools.product(range(1, 5), range(1, 4), range(1, 5), (False, True)):
        for p in range(k // 2 + 1):
            count = reference.pooled_size(size, k, s, p, d, ceil)
            if count < 1:
                continue
            full = all(any(0 <= o * s - p + i * d < size for i in range(k)) for o in range(count))
            seen.add(full)
            gradients, indices = np.ones((1, count, 1), dtype=np.float32), np.zeros((1, count, 1), dtype=np.int32)
            call = ((1, size, 1), indices, (k, 1), (s, 1), (p, 0), (d, 1), ceil)
            if full:
                assert poolgrad.max_pool2d_with_indices_backward(gradients, *call).sum() == count
            else:
                with pytest.raises(poolgrad.AclnnError) as caught:
                    poolgrad.max_pool2d_with_indices_backward(gradients, *call)
                assert caught.value.status == 161002
    assert True in seen
    assert (False in seen) == (size < 4), "only short axes can be stepped over here"


# ---- indices outside their plane -------------------------------------------------------------------------------------

INT32, INT64 = np.iinfo(np.int32), np.iinfo(np.int64)
BAD = [
    ("just beyond the plane", "int32", None),
    ("just beyond the plane", "int64", None),
    ("just before the plane", "int32", -1),
    ("just before the plane", "int64", -1),
    ("the smallest int32", "int32", INT32.min),
    ("the largest int32", "int32", INT32.max),
    ("the smallest int64", "int64", INT64.min),
    ("the largest int64", "int64", INT64.max),
    ("a multiple of 2**32, zero if cut to 32 bits", "int64", 2**32),
    ("minus 2**32, zero if cut to 32 bits", "int64", -(2**32)),
    ("2**32 plus a legal index", "int64", 2**32 + 5),
    ("2**63 in bytes of float32", "int64", 2**61),
]
BAD_CASES = """
max n2c3h6w8 k2                  | disjoint          | side by side
max c3h7w31 k2                   | disjoint          | side by side, no batch
max n2c3h9w9 k3 s2 p1            | overlap padded    | overlapping
max n1c2h9w9 k3 dil2             | dilated           | dilated
max n2c3h6w8 k2 nhwc             | disjoint          | channels last
max n2c3h4w4 k4                  | global            | global
amax n2c3h7w11 o5,4              | overlap uneven    | adaptive
amax c2h6w8 o3,4                 | disjoint          | adaptive, even
"""


def refused(case: Case, gradients, indices, out) -> poolgrad.IndexRangeError:
    with pytest.raises(poolgrad.IndexRangeError) as caught:
        case.run(gradients, case.x, indices, out=out)
    assert isinstance(caught.value, poolgrad.AclnnError)
    assert caught.value.status == 507015
    return caught.value


def names(error: Exception, position: tuple[int, ...], value: int) -> bool:
    message = str(error)
    place = r"\D{1,3}".join(str(number) for number in position)
    return bool(re.search(rf"(?<!\d){place}(?!\d)", message) and re.search(rf"(?<![\d-]){value}(?!\d)", message))


@pytest.mark.parametrize(("reason", "index_dtype", "value"), BAD)
@pytest.mark.parametrize("case", cases(BAD_CASES))
def test_a_bad_index_is_named(case: Case, reason, index_dtype, value):
    """Wherever it stands; and nothing outside the output is written."""
    value = case.spatial[0] * case.spatial[1] if value is None else value
    gradients, good = case.gradients(FLOAT32), case.indices(np.dtype(index_dtype))
    for flat in (0, good.size // 2, good.size - 1):
        indices = good.copy()
        position = tuple(int(number) for number in np.unravel_index(flat, good.shape))
        indices[position] = value
        out = Guarded(case.x, FLOAT32, "cropped")
        error = refused(case, gradients, indices, out.array)
        assert names(error, position, value), f"{position} or {value} is not named in: {error}"
        out.assert_untouched()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bad_index_writes_nothing_beside_the_output(layout, dtype):
    for line in ("max n2c3h6w8 k2 | | x", "max n2c3h9w9 k3 s2 p1 | | x", "amax n2c3h7w11 o5,4 | | x"):
        case = parse(line)
        indices = case.indices()
        indices[1, 1, 1, 1] = case.spatial[0] * case.spatial[1]
        out = Guarded(case.x, dtype, layout)
        refused(case, case.gradients(dtype), indices, out.array)
        out.assert_untouched()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_of_several_bad_indices_the_first_is_named(threads):
    before = poolgrad.get_num_threads()
    try:
        poolgrad.set_num_threads(threads)
        for line in ("max n4c16h64w64 k2", "max n4c16h63w63 k3 s2", "amax n4c16h63w65 o30,33", "max n1c1h800w800 k2"):
            case = parse(f"{line} | | several bad indices")
            gradients, indices = case.gradients(FLOAT32), np.zeros(case.grad_shape, dtype=np.int64)
            plane = case.spatial[0] * case.spatial[1]
            flat = indices.reshape(-1)
            first = flat.size // 3
            flat[[first, first + 1, first + case.outputs[1], flat.size // 2, flat.size - 1]] = plane + np.arange(5)
            error = refused(case, gradients, indices, np.empty(case.x, dtype=np.float32))
            position = tuple(int(number) for number in np.unravel_index(first, indices.shape))
            assert names(error, position, plane), f"{position} and {plane} are not named in: {error}"
    finally:
        poolgrad.set_num_threads(before)


def test_a_bad_index_leaves_no_trace():
    """The call after a failure is a call like any other."""
    case = parse("max n2c3h9w9 k3 s2 p1 | | once bad, then good")
    gradients, indices = case.gradients(FLOAT32), case.indices()
    bad = indices.copy()
    bad[0, 0, 0, 0] = -1
    refused(case, gradients, bad, None)
    assert_same_bits(case.run(gradients, indices=indices), case.reference(gradients, indices))
