"""The gradients of average pooling against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    HALVES,
    Case,
    assert_close_to_float64,
    assert_same_bits,
    assert_within_rounding,
    cases,
    fast_average,
    parse,
)

import poolgrad
from poolgrad.selftest import reference

FIXED = """
avg n2c3h6w8 k2                          | disjoint                       | the everyday case, stride left out
avg c3h6w8 k2                            | disjoint unbatched             | the same without a batch
avg n1c2h6w8 k2 s-                       | disjoint                       | an empty stride is the kernel
avg n1c2h6w8 k3, s2, p1,                 | overlap padded                 | sequences of one number
avg n1c2h6w8 k3,2 s2,1 p1,0              | overlap padded                 | sequences of two numbers
avg n1c2h7w6 k3,2 s-                     | disjoint                       | an empty stride is the kernel's two numbers
avg c1h1w1 k1                            | disjoint global unbatched      | one element in, one element out
avg n1c2h5w6 k1                          | disjoint                       | the gradient itself
avg n2c2h5w6 k1 s2                       | gap disjoint                   | every second element of every second row
avg n1c2h9w11 k2 s3                      | gap disjoint                   | stride beyond the kernel
avg n1c2h9w11 k2,3 s4,5 p1               | gap disjoint padded            | gaps and padding at once
avg n1c2h9w13 k1,2 s1,5                  | gap disjoint                   | gaps in the rows only
avg n1c2h13w9 k2,1 s5,1                  | gap disjoint                   | gaps between the rows only
avg n2c2h7w7 k3 s1                       | overlap                        | up to nine terms
avg n2c2h8w9 k3 s2                       | overlap                        | corners with four terms
avg n2c2h8w9 k3 s2 p1                    | overlap padded                 | the first layers of image networks
avg n2c2h8w9 k3 s2 p1 nopad              | overlap padded                 | the same with a divisor that varies
avg n1c2h8w8 k3 s2 ceil                  | clipped overlap                | ceil mode cuts the last windows off
avg n1c2h8w8 k3 s2 ceil nopad            | clipped overlap                | cut-off windows count what they hold
avg n1c2h8w9 k4 s3 p2 ceil               | clipped overlap padded         | cut off at the end of the padding
avg n1c2h8w9 k4 s3 p2 ceil nopad         | clipped overlap padded         | cut off at the end of the input
avg n1c2h7w10 k2 s3 ceil                 | clipped gap                    | cut off, and gaps before
avg n1c2h5w5 k2 p1 ceil                  | dropped padded                 | windows that begin in the padding go
avg n1c2h2w3 k3,4 s2 ceil                | clipped kernel-beyond-input    | a kernel larger than the input
avg c2h1w1 k2 p1 ceil                    | padded kernel-beyond-input     | one element, most of the window is padding
avg n1c2h2w2 k5 s1 p2                    | padded overlap kernel-beyond-input | every window reaches over both borders
avg n1c2h2w2 k5 s1 p2 nopad              | padded overlap kernel-beyond-input | and counts four elements
avg n2c2h5w7 k5,7                        | global whole                   | the kernel is the whole input
avg n2c2h5w7 k5,7 div=3                  | global whole                   | global, with a divisor
avg n1c2h5w7 k5,7 s1 p2,3                | whole overlap padded           | the whole input, yet not global
avg n1c2h4w6 k2,6                        | disjoint                       | the kernel takes whole rows
avg n1c2h6w4 k6,2                        | disjoint                       | the kernel takes whole columns
avg n1c1h12w12 k5 s1                     | overlap                        | 25 terms
avg n1c1h11w20 k7,9 s1 p3,4              | overlap padded                 | long runs in both directions
avg n1c1h3w40 k1,31 s1                   | overlap                        | a very long run along the row
avg n1c1h40w3 k31,1 s1                   | overlap                        | a very long run along the column
avg n1c1h24w25 k13 s2 p6                 | overlap padded                 | long runs with a stride
avg n1c1h26w40 k13                       | disjoint                       | large windows side by side
avg n1c2h11w19 k5 s3                     | overlap                        | runs of one and two
avg n1c2h13w17 k5,4 s2,3 p2 ceil nopad   | clipped overlap padded         | everything at once
avg n1c2h9w33 k2 s4                      | gap disjoint                   | a stride of four
avg n1c2h9w33 k4,6 s4 p1                 | overlap padded                 | a stride of four, overlapping
avg n1c2h14w41 k6 s5 p1 ceil             | clipped overlap padded         | a stride of five
avg n1c2h4w37 k2,3 s2,9                  | gap                            | a stride wider than a vector
avg n3c5h7w7 k2                          | gap disjoint                   | the last row and column belong to no window
avg n7c3h2w2 k2                          | global                         | many tiny planes
"""

DIVISORS = """
avg n1c2h7w8 k3 s2 div=1                     | overlap                          | the plain sum
avg n1c2h7w8 k3 s2 div=5                     | overlap                          | no power of two
avg n1c2h7w8 k3 s2 p1 nopad div=-7           | overlap negative-divisor padded  | negative; count_include_pad has no say
avg n1c2h6w8 k2 div=-255                     | disjoint negative-divisor        | the least that older products take
avg n1c2h6w8 k2 div=16777216                 |                                  | 2**24, the last safe in float32
avg n1c2h6w8 k2 div=16777217                 | huge-divisor                     | 2**24 + 1, which float32 lacks
avg n1c2h6w8 k2 div=-33554435                | huge-divisor negative-divisor    | odd, beyond 2**25
avg n1c2h7w8 k3 s1 div=1099511627777         | huge-divisor overlap             | 2**40 + 1
avg n1c2h6w8 k2 div=-1099511627777           | huge-divisor negative-divisor    | -(2**40 + 1)
avg n1c2h6w8 k2 div=9007199254740993         | huge-divisor                     | 2**53 + 1, beyond float64 too
avg n1c2h6w8 k2 div=9223372036854775807      | huge-divisor                     | the largest int64
avg n1c2h6w8 k2 div=-9223372036854775808     | huge-divisor negative-divisor    | the smallest int64
avg n1c2h5w6 k5001 s5000 p2500               | huge-divisor padded              | 25 million, mostly padding
avg n1c2h5w6 k5001 s1 p2500                  | huge-divisor padded overlap      | and as many as fit, each over all
avg n1c2h5w6 k5001 s1 p2500 nopad            | padded overlap                   | which hold thirty elements
avg n1c1h2w3 k3000000001,3 s1 p1500000000,1  | huge-divisor padded overlap      | a kernel beyond 32 bits
avg n1c1h2w3 k1073741825 s1000000 p536870912 | huge-divisor padded              | a window of 2**60 and some
avg n1c1h2w3 k9223372036854775807 ceil       | clipped                          | the largest kernel, cut to six
"""

WIDE = """
avg n1c2h4w1 k2,1              | disjoint            | rows of one element
avg n1c2h4w1 k3 s1 p1          | overlap padded      | rows of one element, and padding
avg n1c2h4w2 k2                | disjoint            | rows of two
avg n1c2h4w2 k3 s1 p1          | overlap padded      | rows of two, overlapping
avg n2c2h5w7 k3 s1 p1          | overlap padded      | one less than a vector
avg n2c2h5w7 k2 s2 ceil        | clipped             | one less than a vector, cut off
avg n1c2h4w31 k2               | gap                 | one less than four vectors, the last column left over
avg n1c2h4w31 k3 s2 p1         | overlap padded      | one less than four vectors
avg n1c2h4w33 k2 ceil          | clipped             | one more than four vectors
avg n1c2h4w33 k3 s1 p1         | overlap padded      | one more than four vectors, overlapping
avg n1c1h4w257 k3 s2 p1        | overlap padded      | one more than a power of two
avg n1c1h3w257 k3,5 s1,3       | overlap             | one more than a power of two, a stride of three
avg n1c1h2w257 k2,3 s2,4       | gap                 | one more than a power of two, gaps
avg n1c1h2w5000 k2             | disjoint            | a long row
avg n1c1h2w5000 k2,3 s1,2 p1   | overlap padded      | a long row, overlapping
avg n1c1h2w5000 k1,5000        | disjoint            | a long row in one window
"""

ADAPTIVE = """
aavg n2c3d4h6w8 o2,3,4       | disjoint deep            | divides evenly
aavg c3d4h6w8 o2,3,4         | disjoint deep unbatched  | the same without a batch
aavg n1c2d1h6w8 o1,3,4       | disjoint                 | depth one: the 2-D operator
aavg n1c2d5h1w1 o2,1,1       | overlap deep             | depth alone
aavg n2c2d5h7w11 o2,3,4      | overlap uneven deep      | divides on no axis
aavg n2c2d3h5w7 o3,5,7       | disjoint deep            | the gradient itself
aavg n1c2d3h5w7 o1,1,1       | one-output               | global
aavg n1c2d2h3w4 o5,7,9       | larger overlap deep      | more windows than elements
aavg n1c2d2h3w4 o4,6,8       | larger overlap deep      | every element twice on each axis
aavg n1c2d2h3w4 o3,2,9       | larger overlap deep      | fewer, and more
aavg n1c2d1h1w1 o3,4,5       | larger overlap           | all windows hold the one element
aavg n1c1d7h10w11 o3,4,6     | overlap uneven deep      | windows of changing lengths and overlaps
aavg n1c1d2h13w31 o2,5,7     | overlap uneven           | long windows
aavg n1c1d2h3w33 o1,2,32     | overlap                  | nearly as many windows as elements
aavg n1c1d1h2w33 o1,2,34     | larger overlap           | one window more than elements
aavg n1c1d1h2w257 o1,2,100   | overlap uneven           | a long row
aavg n1c1d1h1w5000 o1,1,7    | overlap uneven           | a row of thousands
aavg n1c1d1h1w7 o1,1,1000    | larger overlap           | runs of more than a hundred terms
aavg n3c2d4h4w4 o2,2,2       | disjoint deep            | tiny planes
"""

ALL = FIXED + DIVISORS + WIDE + ADAPTIVE


@pytest.mark.parametrize("case", cases(ALL))
def test_float32(case: Case):
    gradients = case.gradients(FLOAT32)
    assert_within_rounding(case, gradients, case.run(gradients))


@pytest.mark.parametrize("case", cases(ALL))
def test_float64(case: Case):
    gradients = case.gradients(FLOAT64)
    assert_within_rounding(case, gradients, case.run(gradients))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("case", cases(ALL))
def test_halves_are_float32_rounded_once(case: Case, dtype):
    gradients = case.gradients(dtype)
    single = case.run(gradients.astype(np.float32))
    assert_same_bits(case.run(gradients), single.astype(dtype))


# ---- more planes than one thread wants -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    cases(
        """
        avg n8c32h56w56 k3 s2 p1        | overlap padded    | many planes of middle size
        avg n8c64h28w28 k2              | disjoint          | many small planes
        avg n96c64h7w7 k3 s1 p1         | overlap padded    | very many tiny planes
        avg n96c64h7w7 k7               | global            | very many planes to fill
        avg n1c1h1500w1501 k3 s1 p1     | overlap padded    | one plane, shared by its rows
        avg n1c1h1501w1500 k2           | gap disjoint      | one plane in blocks
        avg n1c1h900w1100 k11 s1 p5     | overlap padded    | one plane, long runs down the columns
        avg n1c3h700w700 k5,6 s3,4 ceil nopad | overlap clipped | few planes, cut-off windows
        """
    ),
)
def test_large_averages(case: Case):
    gradients = case.gradients(FLOAT32)
    result = case.run(gradients)
    assert result.nbytes > 2**20
    assert_close_to_float64(case, gradients, result, lambda numbers: fast_average(case, numbers))


def test_large_adaptive_averages():
    case = parse("aavg n4c16d8h33w35 o3,10,16 | overlap uneven deep | large, uneven on every axis")
    gradients = case.gradients(FLOAT32)
    assert_close_to_float64(case, gradients, case.run(gradients))


# ---- how parameters may be spelt -------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", [{}, {"stride": None}, {"stride": ()}, {"stride": []}], ids=str)
@pytest.mark.parametrize(("kernel", "pair"), [(2, (2, 2)), ((2,), (2, 2)), ((2, 3), (2, 3)), ([3, 2], (3, 2))])
def test_an_absent_stride_is_the_kernel(absent, kernel, pair):
    gradients = np.arange(1.0, 13.0, dtype=np.float32).reshape(1, 2, 3, 2)
    x = (1, 2, 3 * pair[0], 2 * pair[1])
    result = poolgrad.avg_pool2d_backward(gradients, x, kernel, **absent)
    assert_same_bits(result, reference.avg_pool2d_backward(gradients, x, pair, pair, (0, 0)).astype(np.float32))


def test_parameters_by_position():
    case = parse("avg n1c2h8w9 k4,3 s3,2 p2,1 ceil nopad div=5 | clipped | every parameter by position")
    gradients = case.gradients(FLOAT32)
    result = poolgrad.avg_pool2d_backward(gradients, case.x_shape, (4, 3), (3, 2), (2, 1), True, False, 5)
    assert_same_bits(result, case.run(gradients))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "case",
    cases("""
    avg n0c3h6w8 k2               | | an empty batch
    avg n0c3h6w8 k3 s2 p1 ceil    | | an empty batch, padded
    aavg n0c3d2h6w8 o1,2,3        | | an empty batch, adaptive
    """),
)
def test_an_empty_batch_gives_an_empty_result(case: Case, dtype):
    result = case.run(case.gradients(dtype))
    assert result.shape == case.x_shape
    assert result.dtype == dtype


def test_a_divisor_beyond_64_bits_is_right_or_refused():
    """Never the remainder of an overflow."""
    case = parse("avg n1c1h2w3 k1099511627777 s1099511627776 p549755813888 | huge-divisor padded | a window of 2**80")
    assert case.largest_divisor > 2**63
    gradients = case.gradients(FLOAT32)
    try:
        result = case.run(gradients)
    except poolgrad.AclnnError as error:
        status = error.status
    else:
        assert_within_rounding(case, gradients, result)
        return
    assert status == 161002


# ---- cube_math_type --------------------------------------------------------------------------------------------------

HF32 = reference.hf32(11)
HF32_OF_THE_950 = reference.hf32(10)
KEPT = None

NOT_GLOBAL = "avg n2c2h7w9 k3 s2 p1 | overlap padded | not global"
GLOBAL = "avg n3c2h7w9 k7,9 | global | global"

CUBE_MATH = [
    (None, 0, NOT_GLOBAL, KEPT),
    (None, 1, NOT_GLOBAL, HF32),
    (None, 1, GLOBAL, HF32),
    (None, 2, NOT_GLOBAL, reference.FLOAT16),
    (None, 3, NOT_GLOBAL, HF32),
    ("Atlas A2", 0, GLOBAL, KEPT),
    ("Atlas A2", 1, NOT_GLOBAL, HF32),
    ("Atlas A2", 2, NOT_GLOBAL, reference.FLOAT16),
    ("Atlas A2", 3, GLOBAL, HF32),
    ("Ascend910_93", 1, NOT_GLOBAL, HF32),
    ("Atlas A3", 3, NOT_GLOBAL, HF32),
    ("Ascend 950", 0, GLOBAL, KEPT),
    ("Ascend 950", 1, GLOBAL, HF32_OF_THE_950),
    ("Ascend 950", 1, NOT_GLOBAL, KEPT),
    ("Ascend 950", 2, GLOBAL, reference.FLOAT16),
    ("Ascend 950", 2, NOT_GLOBAL, reference.FLOAT16),
    ("Ascend 950", 3, GLOBAL, HF32_OF_THE_950),
    ("Ascend 950", 3, NOT_GLOBAL, KEPT),
    ("Atlas inference series", 1, NOT_GLOBAL, reference.FLOAT16),
    ("Atlas inference series", 2, GLOBAL, reference.FLOAT16),
    ("Atlas training series", 1, GLOBAL, reference.FLOAT16),
    ("Atlas training series", 2, NOT_GLOBAL, reference.FLOAT16),
]


def gradients_with_ties(case: Case) -> np.ndarray:
    """float32 gradients, a third of them half-way between two neighbours of each format, one too large for each."""
    gradients = case.gradients(FLOAT32)
    flat, random = gradients.reshape(-1), case.random()
    for place in range(0, flat.size, 3):
        dropped = (12, 13)[place % 2]
        pattern = (int(flat[place : place + 1].view(np.uint32)[0]) >> dropped << dropped) | 1 << dropped - 1
        flat[place] = np.array([pattern], dtype=np.uint32).view(np.float32)[0]
    flat[int(random.integers(flat.size))] = np.finfo(np.float32).max
    return gradients


@pytest.mark.parametrize(("product", "value", "line", "target"), CUBE_MATH)
def test_cube_math_type_rounds_the_gradients_first(product, value, line, target):
    case = parse(line)
    assert ("global" in case.facts) == (line == GLOBAL)
    gradients = gradients_with_ties(case)
    untouched = gradients.copy()
    result = case.run(gradients, cube_math_type=value, product=product)
    if target is KEPT:
        expected = case.run(gradients)
    else:
        rounded = reference.rounded_to(target, gradients)
        assert not np.array_equal(rounded, gradients)
        assert np.isinf(rounded).any()
        expected = case.run(rounded)
        assert not np.array_equal(expected, case.run(gradients))
    assert result.dtype == np.float32
    assert_same_bits(result, expected)
    assert_same_bits(gradients, untouched)


@pytest.mark.parametrize(
    ("bits", "product", "value", "expected"),
    [
        (0x3F800800, None, 3, 0x3F800000),
        (0x3F800801, None, 3, 0x3F801000),
        (0x3F801800, "Atlas A2", 1, 0x3F802000),
        (0xBF801800, "Atlas A2", 3, 0xBF802000),
        (0x3F801000, "Ascend 950", 3, 0x3F800000),
        (0x3F803000, "Ascend 950", 1, 0x3F804000),
        (0x3FFFF800, None, 3, 0x40000000),
        (0x7F7FFFFF, None, 3, 0x7F800000),
        (0xFF7FFFFF, "Ascend 950", 3, 0xFF800000),
        (0x7F800000, None, 3, 0x7F800000),
        (0xFF800000, "Ascend 950", 3, 0xFF800000),
        (0x7FFFFFFF, None, 3, 0x7FFFFFFF),  # a NaN whose bits a carry would turn into a zero
        (0x7F800001, None, 3, 0x7F800001),  # a NaN whose only bit is one of those that are dropped
        (0xFFFFF800, "Ascend 950", 1, 0xFFFFF800),
        (0x00001800, None, 3, 0x00002000),
        (0x3F801FFF, None, 2, 0x3F802000),  # float16 keeps ten bits, too
        (0x477FF000, "Atlas inference series", 1, 0x7F800000),  # 65520, the first that float16 makes infinite
        (0x477FEFFF, "Atlas inference series", 1, 0x477FE000),
        (0x33000000, None, 2, 0x00000000),  # half of float16's smallest number goes to zero
        (0x33000001, None, 2, 0x33800000),  # a little more goes to that number
        (0x33C00000, None, 2, 0x34000000),  # and a tie between the first two to the second
    ],
)
def test_cube_math_type_bit_by_bit(bits, product, value, expected):
    gradients = np.full((1, 1, 1, 1), bits, dtype=np.uint32).view(np.float32)
    result = poolgrad.avg_pool2d_backward(gradients, (1, 1, 1, 1), 1, cube_math_type=value, product=product)
    assert_same_bits(result, np.full((1, 1, 1, 1), expected, dtype=np.uint32).view(np.float32))


@pytest.mark.parametrize(
    ("product", "value", "line", "dtype"),
    [
        (None, 0, NOT_GLOBAL, FLOAT16),
        (None, 1, NOT_GLOBAL, FLOAT16),
        ("Atlas A2", 2, NOT_GLOBAL, FLOAT16),
        ("Ascend 950", 2, GLOBAL, FLOAT16),
        ("Atlas inference series", 0, NOT_GLOBAL, FLOAT16),
        ("Atlas training series", 1, NOT_GLOBAL, FLOAT16),
        (None, 0, GLOBAL, BFLOAT16),
        ("Atlas A3", 1, NOT_GLOBAL, BFLOAT16),
        ("Ascend 950", 2, NOT_GLOBAL, BFLOAT16),
        (None, 0, GLOBAL, FLOAT64),
        (None, 1, NOT_GLOBAL, FLOAT64),
    ],
    ids=str,
)
def test_cube_math_type_leaves_other_types_alone(product, value, line, dtype):
    case = parse(line)
    gradients = case.gradients(dtype)
    assert_same_bits(case.run(gradients, cube_math_type=value, product=product), case.run(gradients))


@pytest.mark.parametrize(
    ("product", "value", "line", "dtype"),
    [
        ("Atlas inference series", 0, NOT_GLOBAL, FLOAT32),
        ("Atlas training series", 0, NOT_GLOBAL, FLOAT32),
        ("Atlas inference series", 3, NOT_GLOBAL, FLOAT32),
        (None, 3, NOT_GLOBAL, FLOAT16),
        ("Ascend 950", 3, NOT_GLOBAL, FLOAT16),
        (None, 2, NOT_GLOBAL, BFLOAT16),
        ("Atlas A3", 2, GLOBAL, BFLOAT16),
        ("Ascend 950", 2, GLOBAL, BFLOAT16),
        ("Ascend 950", 3, NOT_GLOBAL, BFLOAT16),
        (None, 2, NOT_GLOBAL, FLOAT64),
        (None, 3, NOT_GLOBAL, FLOAT64),
        (None, 4, NOT_GLOBAL, FLOAT32),
        (None, -1, NOT_GLOBAL, FLOAT32),
    ],
    ids=str,
)
def test_cube_math_type_is_refused(product, value, line, dtype):
    case = parse(line)
    with pytest.raises(poolgrad.AclnnError) as caught:
        case.run(case.gradients(dtype), cube_math_type=value, product=product)
    assert caught.value.status == 161002
    assert caught.value.parameter == "cubeMathType"
