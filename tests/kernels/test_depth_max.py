"""Gradients of maxima over D, H and W: every way gives the bits of plain additions in ascending order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from oracle import DTYPES, HALVES, INDEX_DTYPES, LAYOUTS, Guarded, assert_same_bits
from planning import Planning

import poolgrad
from poolgrad import adaptive_max_pool3d_backward
from poolgrad import max_pool3d_with_argmax_backward as max_pool3d_backward
from poolgrad.base.windows import Windows, pooled_size
from poolgrad.operators.max_pool3d_with_argmax_backward import OPERATOR as MAX
from poolgrad.plans.plan import Plan
from poolgrad.run.calls import forget_calls

Array = np.ndarray[Any, Any]
Three = tuple[int, int, int]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

FLOATS = [dtype for dtype in DTYPES if dtype not in HALVES]


@pytest.fixture(autouse=True)
def split_as_far_as_there_are_threads(planning: Planning) -> None:
    """Few gradients of 16 bits would go a way of their own."""
    planning.use(avoided=["sparse"], time_of_part=1)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = poolgrad.get_num_threads()
    poolgrad.set_num_threads(request.param)
    yield
    poolgrad.set_num_threads(before)


@pytest.fixture
def beyond_caches(planning: Planning) -> None:
    """As if all tensors and layers were larger than these."""
    planning.limit(last_cache=0, first_cache=0)


def fixed(sizes: Sequence[int], kernel: Three, stride: Three, pad: Three = (0, 0, 0), dilation: int = 1) -> Any:
    """Windows along each axis."""
    return [
        Windows(n, pooled_size(n, kernel=k, stride=s, pad=p, dilation=dilation, ceil_mode=False), k, s, p, dilation)
        for n, k, s, p in zip(sizes, kernel, stride, pad, strict=True)
    ]


def gradients_and_indices(outer: tuple[int, int], axes: Any, dtype: Any, index_dtype: Any) -> tuple[Array, Array]:
    """Random gradients with special values among them, and an index inside each window."""
    random = np.random.default_rng(sum(w.size * w.out for w in axes) + outer[1])
    grad = random.standard_normal((*outer, *(w.out for w in axes))).astype(dtype)
    places = random.permutation(grad.size)[:6]
    grad.reshape(-1)[places] = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0], dtype)[: places.size]
    indices = np.zeros(grad.shape, np.int64)
    for axis, w in enumerate(axes):
        here = np.stack([random.choice(w.places(o), np.delete(grad.shape, axis + 2)) for o in range(w.out)], axis + 2)
        indices = indices * w.size + here
    return grad, indices.astype(index_dtype)


def added_up(grad: Array, indices: Array, shape: tuple[int, ...]) -> Array:
    """The answer."""
    compute = np.float64 if grad.dtype == np.float64 else np.float32
    planes, size = math.prod(shape[:2]), math.prod(shape[2:])
    total = np.zeros((planes, size), compute)
    with np.errstate(invalid="ignore"):
        where = (np.arange(planes)[:, None], indices.reshape(planes, -1))
        np.add.at(total, where, grad.reshape(planes, -1).astype(compute))
        return total.reshape(shape).astype(grad.dtype)


GEOMETRIES = [
    ("overlapping", (5, 6, 7), (3, 3, 3), (2, 2, 2), (1, 1, 1), 1),
    ("overlapping closely", (4, 5, 3), (3, 2, 3), (1, 1, 1), (1, 0, 1), 1),
    ("touching", (5, 4, 18), (2, 2, 2), (2, 2, 2), (0, 0, 0), 1),
    ("dilated", (7, 6, 9), (2, 3, 2), (2, 1, 3), (1, 1, 0), 2),
    ("apart", (7, 7, 7), (1, 2, 1), (3, 3, 2), (0, 1, 0), 1),
    ("one layer", (1, 6, 7), (1, 3, 3), (1, 2, 2), (0, 1, 1), 1),
    ("more windows than layers", (1, 6, 7), (2, 3, 3), (1, 2, 2), (1, 1, 1), 1),
    ("rows of one", (6, 1, 7), (3, 1, 3), (2, 1, 2), (1, 0, 1), 1),
    ("columns of one", (6, 5, 1), (3, 3, 1), (2, 2, 1), (1, 1, 0), 1),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda case: case[0])
@pytest.mark.parametrize("channels", [3, 8])
def test_every_layout(geometry: Any, channels: int, dtype: Any, planning: Planning) -> None:
    """Also where layers do not follow each other in the steps of rows, in any of the three tensors."""
    _, sizes, *numbers = geometry
    axes, shape = fixed(sizes, *numbers), (2, channels, *sizes)
    for index_dtype in INDEX_DTYPES:
        grad, indices = gradients_and_indices(shape[:2], axes, dtype, index_dtype)
        expected = added_up(grad, indices, shape)
        for layout in LAYOUTS:
            plain = "plain"
            for layouts in ((layout, plain, plain), (plain, layout, plain), (plain, plain, layout), (layout,) * 3):
                inputs = [Guarded.holding(grad, layouts[0]).array, Guarded.holding(indices, layouts[1]).array]
                out = Guarded(shape, dtype, layouts[2])
                max_pool3d_backward(inputs[0], shape, inputs[1], *numbers, out=out.array)
                assert_same_bits(np.ascontiguousarray(out.array), expected)
                out.assert_untouched()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("outs", [(2, 3, 4), (3, 2, 9), (5, 7, 6), (1, 1, 1), (7, 3, 20)], ids=str)
def test_adaptive_windows(outs: Three, dtype: Any, planning: Planning) -> None:
    """Longer and shorter ones, of one length, and more of them than elements."""
    sizes = (6, 5, 18)
    axes, shape = [Windows(n, o, adaptive=True) for n, o in zip(sizes, outs, strict=True)], (2, 3, *sizes)
    for index_dtype in INDEX_DTYPES:
        grad, indices = gradients_and_indices((2, 3), axes, dtype, index_dtype)
        expected = added_up(grad, indices, shape)
        for layout in ("plain", "cropped", "channels last"):
            out = Guarded(shape, dtype, layout)
            adaptive_max_pool3d_backward(grad, shape, indices, out=out.array)
            assert_same_bits(np.ascontiguousarray(out.array), expected)
            out.assert_untouched()


WAYS = [
    ("single elements", (5, 6, 7), (1, 1, 1), np.float32, "plain"),
    ("single elements", (5, 6, 7), (1, 1, 1), np.float16, "channels last"),
    ("touching", (3, 7, 34), (1, 2, 2), np.float32, "plain"),
    ("touching", (3, 9, 28), (1, 3, 3), np.float64, "cropped"),
    ("pairs", (3, 7, 34), (1, 2, 2), np.float16, "plain"),
    ("pairs", (3, 7, 34), (1, 2, 2), np.float16, "cropped"),
    ("apart", (5, 7, 34), (2, 2, 2), np.float16, "plain"),
    ("apart", (5, 7, 34), (2, 2, 2), ml_dtypes.bfloat16, "cropped"),
    ("apart", (5, 6, 7), (2, 2, 2), np.float16, "channels last"),
    ("apart", (5, 6, 7), (2, 2, 2), np.float16, "channels last apart"),
    ("bands", (9, 15, 16), (5, 5, 5), np.float16, "plain"),
    ("bands", (5, 6, 7), (2, 2, 2), np.float16, "plain"),
    ("bands", (9, 15, 16), (5, 5, 5), ml_dtypes.bfloat16, "channels last"),
    ("layers", (7, 8, 41), (2, 3, 5), np.float32, "plain"),
    ("layers", (5, 6, 25), (3, 2, 3), np.float64, "plain"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float32, "plain"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float16, "plain"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float32, "cropped"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float16, "cropped"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float32, "channels last"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float32, "channels last apart"),
    ("in place", (5, 6, 7), (2, 2, 2), np.float16, "channels last"),
    ("in place", (5, 6, 7), (2, 2, 2), ml_dtypes.bfloat16, "channels last apart"),
]


def taken(planning: Planning) -> set[str]:
    """The ways of all plans that were made."""
    return {made.choice.taken.name for made in planning.plans if made.choice}


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_indices_that_went_astray(
    way: Any, index_dtype: Any, planning: Planning, threads: None, beyond_caches: None
) -> None:
    """One index names every other place of its volume in turn, or all name any: added where they point."""
    name, sizes, size, dtype, layout = way
    planning.ways = [name]
    shape, volume = (2, 3, *sizes), math.prod(sizes)
    grad, good = gradients_and_indices((2, 3), fixed(sizes, size, size), dtype, index_dtype)
    random = np.random.default_rng(3)
    layout_of_inputs = "channels last" if "channels last" in layout else "plain"
    for at, place in [(None, 0), *zip(np.ndindex(good.shape), random.integers(0, volume, good.size), strict=False)]:
        indices = good.copy()
        if at is None:
            indices[...] = random.integers(0, volume, indices.shape)
        else:
            indices[at] = place
        out = Guarded(shape, dtype, layout)
        inputs = [Guarded.holding(a, layout_of_inputs).array for a in (grad, indices)]
        max_pool3d_backward(inputs[0], shape, inputs[1], size, out=out.array)
        assert_same_bits(np.ascontiguousarray(out.array), added_up(grad, indices, shape))
        out.assert_untouched()
    assert taken(planning) == {name}


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_first_bad_index_is_named(
    way: Any, index_dtype: Any, planning: Planning, threads: None, beyond_caches: None
) -> None:
    """Counted over planes, layers, rows and columns; no other element of any tensor is read or written."""
    name, sizes, size, dtype, layout = way
    planning.ways = [name]
    shape, volume = (2, 3, *sizes), math.prod(sizes)
    grad, good = gradients_and_indices((2, 3), fixed(sizes, size, size), dtype, index_dtype)
    layout_of_inputs = "channels last" if "channels last" in layout else "plain"
    values = [-1, volume, 2**31 - 1, -(2**31)]
    if index_dtype == np.int64:
        values += [2**32 + int(good[1, 1, 0, 0, 0]), -(2**32), -(2**63)]
    places = list(np.ndindex(good.shape))
    for at, value in itertools.product(places[:: max(len(places) // 23, 1)], values):
        indices = good.copy()
        indices[at] = value
        indices[1, 2, -1, -1, -1] = volume
        out = Guarded(shape, dtype, layout)
        inputs = [Guarded.holding(a, layout_of_inputs).array for a in (grad, indices)]
        named = rf"indices\[{', '.join(map(str, at))}\] = {value} is outside its plane of {'x'.join(map(str, sizes))}"
        with pytest.raises(poolgrad.IndexRangeError, match=named):
            max_pool3d_backward(inputs[0], shape, inputs[1], size, out=out.array)
        out.assert_untouched()
    assert taken(planning) == {name}


TILES = [
    ((2, 2, 2), (2, 2, 2)),
    ((3, 3, 3), (3, 3, 3)),
    ((1, 2, 2), (1, 2, 2)),
    ((1, 3, 3), (1, 3, 3)),
    ((1, 3, 2), (1, 3, 3)),
    ((3, 2, 2), (5, 2, 2)),
    ((2, 3, 2), (3, 3, 3)),
    ((4, 1, 2), (4, 2, 2)),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("index_dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_windows_that_touch(dtype: Any, index_dtype: Any, streamed: bool, planning: Planning, threads: None) -> None:
    """Every remainder of layers, rows and columns, exact to the last byte."""
    planning.ways = ["touching", "pairs", "apart"]
    if streamed:
        planning.limit(last_cache=0)
    for (kernel, stride), windows, spare in itertools.product(TILES, (8, 9, 15, 16, 17), range(3)):
        sizes = tuple(o * s + min(spare, s - 1) for o, s in zip((3, 2, windows), stride, strict=True))
        shape = (2, 2, *sizes)
        axes = [Windows(n, o, k, s) for n, o, k, s in zip(sizes, (3, 2, windows), kernel, stride, strict=True)]
        if any(pooled_size(w.size, kernel=w.kernel, stride=w.stride, pad=0, ceil_mode=False) != w.out for w in axes):
            continue
        grad, indices = gradients_and_indices((2, 2), axes, dtype, index_dtype)
        expected = added_up(grad, indices, shape)
        held = [Guarded.holding(values).array for values in (grad, indices)]
        for layout in ("plain", "misaligned", "cropped"):
            forget_calls()
            out = Guarded(shape, dtype, layout)
            max_pool3d_backward(held[0], shape, held[1], kernel, stride, out=out.array)
            assert_same_bits(np.ascontiguousarray(out.array), expected)
            out.assert_untouched()
            way = "apart" if stride[0] > 1 or stride[2] > 2 else "pairs"
            if dtype not in HALVES:
                way = "touching" if stride[0] == 1 else "in place"
            assert taken(planning) == {way}
            planning.plans.clear()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("stride", [2, 3])
def test_rows_that_are_streamed(stride: int, dtype: Any, planning: Planning) -> None:
    """Every length of a last group of windows, where memory can be streamed to, and where it can't; one thread, so that
    there are volumes with another one behind them and one without."""
    planning.limit(last_cache=0, time_of_part=1 << 60)
    planning.ways = ["touching"]
    size = np.dtype(dtype).itemsize
    for width, index_dtype in itertools.product(range(stride * 8, stride * 8 + 34), INDEX_DTYPES):
        sizes = (5, 2 * stride + width % 2, width)
        shape, numbers = (1, 2, *sizes), ((1, stride, stride),) * 2
        grad, indices = gradients_and_indices((1, 2), fixed(sizes, *numbers), dtype, index_dtype)
        expected = added_up(grad, indices, shape)
        held = [Guarded.holding(values).array for values in (grad, indices)]
        for offset in (16, 24):
            room = np.full(expected.size + 1024, 77, dtype)
            begin = (offset - room.ctypes.data) % 4096 // size % 512 + 16
            begin += (offset - room.ctypes.data - begin * size) % 16 // size
            out = room[begin : begin + expected.size].reshape(shape)
            max_pool3d_backward(held[0], shape, held[1], numbers[0], out=out)
            assert_same_bits(out, expected)
            out[...] = 77
            assert (room == 77).all()
        assert set(planning.kernels) == {f"max_touching_{stride}"}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_bands_of_layers(dtype: Any, streamed: bool, planning: Planning, threads: None) -> None:
    """Bands of one layer of windows, of some, and of all but the last; windows that overlap, touch, or leave out."""
    if streamed:
        planning.limit(last_cache=0)
    geometries = ((3, 2, 1), (3, 1, 1), (5, 2, 2), (2, 1, 0), (1, 1, 0), (2, 5, 1), (7, 1, 3))
    for (kernel, stride, pad), sizes in itertools.product(geometries, ((9, 5, 5), (8, 7, 6))):
        numbers = ((kernel,) * 3, (stride,) * 3, (pad,) * 3)
        if min(sizes) + 2 * pad < kernel:
            continue
        shape, area = (2, 2, *sizes), sizes[1] * sizes[2]
        for band, index_dtype in itertools.product((1, 3 * stride * area, (sizes[0] - 1) * area), INDEX_DTYPES):
            grad, indices = gradients_and_indices((2, 2), fixed(sizes, *numbers), dtype, index_dtype)
            planning.limit(band=min(band, math.prod(sizes) - 1), shared_by_band=0)
            planning.ways = ["bands"]
            out = Guarded(shape, dtype)
            max_pool3d_backward(grad, shape, indices, *numbers, out=out.array)
            assert planning.plans.pop().kernel == "scatter_bands"
            assert_same_bits(out.array, added_up(grad, indices, shape))
            out.assert_untouched()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rows_of_layers(dtype: Any, planning: Planning, threads: None, beyond_caches: None) -> None:
    """Windows that overlap, touch or leave out, along each axis; lines that are cleared end in the middle of rows."""
    planning.ways = ["layers"]
    along = ((3, 2, 1), (3, 1, 1), (2, 1, 0), (1, 1, 0), (2, 3, 1), (1, 2, 0), (3, 5, 1))
    for layers, rows, (depth, height), width in itertools.product(along, along, ((5, 7), (4, 6)), (17, 41)):
        columns = rows if (width + 2 * rows[2] - rows[0]) // rows[1] >= 7 else (3, 2, 1)
        numbers = tuple(zip(layers, rows, columns, strict=True))
        sizes, index_dtype = (depth, height, width), INDEX_DTYPES[(depth + width) % 2]
        shape = (2, 2, *sizes)
        grad, indices = gradients_and_indices((2, 2), fixed(sizes, *numbers), dtype, index_dtype)
        held = [Guarded.holding(values).array for values in (grad, indices)]
        out = Guarded(shape, dtype)
        max_pool3d_backward(held[0], shape, held[1], *numbers, out=out.array)
        assert_same_bits(out.array, added_up(grad, indices, shape))
        out.assert_untouched()
    assert taken(planning) == {"layers"}


def test_windows_over_many_layers_are_cleared_ahead(planning: Planning, beyond_caches: None) -> None:
    for layers, way in ((3, "scatter_layers"), (4, "scatter_numbers")):
        sizes, numbers = (5, 9, 20), ((layers, 3, 3), (2, 2, 2))
        grad, indices = gradients_and_indices((1, 2), fixed(sizes, *numbers), np.float32, np.int32)
        got = max_pool3d_backward(grad, (1, 2, *sizes), indices, *numbers)
        assert_same_bits(got, added_up(grad, indices, (1, 2, *sizes)))
        assert planning.plans.pop().kernel == way


def test_volumes_beyond_32_bits_are_scattered() -> None:
    """Their places are compared in 32 bits by no kernel."""
    shape = (1, 1, 2, 2**15, 2**15)
    made = described_plan(shape, (1, 1, 1, 2**14, 2**14), 2)
    assert made.kernel == "scatter_numbers"


def described_plan(shape: tuple[int, ...], pooled: tuple[int, ...], kernel: int) -> Plan:
    """A plan of tensors that nobody has."""
    from poolgrad.base.dtypes import FLOAT32, INT64
    from poolgrad.base.products import ANY
    from poolgrad.base.tensor import Tensor, contiguous_strides
    from poolgrad.contract.engine import prepare

    def tensor(dtype: Any, sizes: tuple[int, ...]) -> Tensor:
        return Tensor(dtype, sizes, contiguous_strides(sizes, dtype.itemsize), "ND")

    values = {
        "gradOutput": tensor(FLOAT32, pooled),
        "self": tensor(FLOAT32, shape),
        "indices": tensor(INT64, pooled),
        "gradInput": tensor(FLOAT32, shape),
        "kernelSize": (kernel,),
        "stride": (),
        "padding": (0,),
        "dilation": (1,),
        "ceilMode": False,
    }
    return prepare(MAX, ANY, values, 1)
