"""Max pooling with masks: the reference's bytes and bits, whatever the windows, types, layouts, threads and limits; and
gradients that are those of indices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernels.test_forward import PLANES, numbers
from oracle import DTYPES, LAYOUTS, Guarded, assert_same_bits
from planning import Planning

import poolgrad
from poolgrad.kernels.runtime.task import CONTROL
from poolgrad.run import execute
from poolgrad.selftest import reference

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

A2, TRAINING, INFERENCE = "Atlas A2", "Atlas training series", "Atlas inference series"
FLOAT32, FLOAT16 = np.dtype(np.float32), np.dtype(np.float16)
# Sizes, kernel, stride, padding, ceil mode. A mask knows no dilation.
CASES = [(*case[:4], case[5]) for case in PLANES if case[4] == (1, 1)]
CASES += [
    ((9, 7), (1, 1), (2, 3), (0, 0), False),
    ((6, 8), (1, 1), (1, 1), (0, 0), False),
    ((5, 5), (4, 4), (2, 2), (2, 2), True),
    ((3, 50), (2, 7), (1, 1), (1, 3), False),
]
# Outputs that are made at once, of the forward pass and of its gradient.
LIMITS: list[dict[str, int]] = [{}, {"tile": 3, "windows_at_once": 5}, {"tile": 1, "windows_at_once": 1}]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = poolgrad.get_num_threads()
    yield
    poolgrad.set_num_threads(before)


def wanted(x: Array, case: Any, product: str | None) -> tuple[Array, Array]:
    """What the reference says of the forward pass."""
    _, kernel, stride, pad, ceil = case
    bits = product in (TRAINING, INFERENCE)
    rounding = reference.FLOAT16 if product == TRAINING and x.dtype == FLOAT32 else None
    return reference.max_pool2d_with_mask(x, kernel, stride, pad, None, ceil, bits, rounding)


def pool(x: Array, case: Any, product: str | None, **options: Any) -> Any:
    _, kernel, stride, pad, ceil = case
    return poolgrad.max_pool2d_with_mask(x, kernel, stride, pad, 1, ceil, product=product, **options)


def gradient(grad: Array, x: Any, mask: Array, case: Any, product: str | None, **options: Any) -> Any:
    _, kernel, stride, pad, ceil = case
    back = poolgrad.max_pool2d_with_mask_backward
    return back(grad, x, mask, kernel, stride, pad, 1, ceil, product=product, **options)


def indices_of(x: Array, case: Any) -> tuple[Array, Array]:
    _, kernel, stride, pad, ceil = case
    return poolgrad.max_pool2d_with_indices(x, kernel, stride, pad, 1, ceil)  # type: ignore[return-value]


def gradient_of_indices(grad: Array, x: Any, indices: Array, case: Any, **options: Any) -> Any:
    _, kernel, stride, pad, ceil = case
    return poolgrad.max_pool2d_with_indices_backward(grad, x, indices, kernel, stride, pad, 1, ceil, **options)


def gradients(shape: tuple[int, ...], dtype: Any) -> Array:
    random = np.random.default_rng(3)
    return (random.standard_normal(shape) * 2.0 ** random.integers(-4, 5, shape)).astype(dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("product", [None, INFERENCE])
def test_windows_and_limits(case: Any, limits: dict[str, int], product: str | None, planning: Planning) -> None:
    """Values and every byte of the mask, with NaN, infinities and equal numbers; 17 channels are two groups."""
    planning.use(time_of_part=1, **limits)
    for lead in ((17,), (2, 3)):
        x = numbers((*lead, *case[0]), FLOAT32)
        values, mask = wanted(x, case, product)
        for number in (1, 3):
            poolgrad.set_num_threads(number)
            out = Guarded(values.shape, FLOAT32), Guarded(mask.shape, np.int8)
            pool(x, case, product, out=(out[0].array, out[1].array))
            assert_same_bits(np.ascontiguousarray(out[0].array), values)
            assert_same_bits(np.ascontiguousarray(out[1].array), mask)
            for guarded in out:
                guarded.assert_untouched()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("product", [None, TRAINING])
def test_layouts_and_types(layout: str, product: str | None, planning: Planning) -> None:
    planning.use(time_of_part=1)
    for dtype in DTYPES if product is None else (FLOAT32, FLOAT16):
        for case in (CASES[1], CASES[-4]):
            x = numbers((2, 9, *case[0]), dtype)
            values, mask = wanted(x, case, product)
            out = Guarded(values.shape, dtype, layout), Guarded(mask.shape, np.int8)
            pool(Guarded.holding(x, layout).array, case, product, out=(out[0].array, out[1].array))
            assert_same_bits(np.ascontiguousarray(out[0].array), values)
            assert_same_bits(np.ascontiguousarray(out[1].array), mask)
            for guarded in out:
                guarded.assert_untouched()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("layout", ["plain", "every second", "fortran"])
def test_gradients_are_those_of_indices(case: Any, limits: dict[str, int], layout: str, planning: Planning) -> None:
    """Bit for bit; the mask may be any view."""
    planning.use(time_of_part=1, **limits)
    for lead in ((17,), (2, 3)):
        x = numbers((*lead, *case[0]), FLOAT32)
        values, indices = indices_of(x, case)
        grad = gradients(values.shape, FLOAT32)
        expected = gradient_of_indices(grad, x, indices, case)
        mask = pool(x, case, None)[1]
        for number in (1, 3):
            poolgrad.set_num_threads(number)
            out = Guarded(x.shape, FLOAT32)
            gradient(grad, x.shape, Guarded.holding(mask, layout).array, case, None, out=out.array)
            assert_same_bits(np.ascontiguousarray(out.array), expected)
            out.assert_untouched()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("layout", ["plain", "every second", "fortran"])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT16], ids=str)
def test_gradients_of_masks_of_bits(case: Any, layout: str, dtype: np.dtype[Any], planning: Planning) -> None:
    """On the training series float32 is rounded to float16 before and after the sums."""
    planning.use(time_of_part=1, windows_at_once=7)
    x = numbers((2, 17, *case[0]), dtype)
    values, mask = pool(x, case, TRAINING)
    given = reference.rounded_to(reference.FLOAT16, x) if dtype == FLOAT32 else x
    indices = indices_of(given, case)[1]
    grad = gradients(values.shape, dtype)
    rounding = reference.FLOAT16 if dtype == FLOAT32 else None
    expected = reference.max_pool2d_with_mask_backward(grad, x.shape, indices, rounding).astype(dtype)
    out = Guarded(x.shape, dtype)
    gradient(grad, x.shape, Guarded.holding(mask, layout).array, case, TRAINING, out=out.array)
    assert_same_bits(np.ascontiguousarray(out.array), expected)
    out.assert_untouched()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("product", [None, TRAINING])
def test_gradients_in_every_layout_and_type(layout: str, product: str | None) -> None:
    for dtype in DTYPES if product is None else (FLOAT16,):
        case = CASES[1]
        x = numbers((2, 9, *case[0]), dtype)
        values, mask = pool(x, case, product)
        indices = indices_of(x, case)[1]
        grad = gradients(values.shape, dtype)
        expected = gradient_of_indices(grad, x.shape, indices, case)
        out = Guarded(x.shape, dtype, layout)
        views = (Guarded.holding(array, layout).array for array in (grad, mask))
        gradient(next(views), x.shape, next(views), case, product, out=out.array)
        assert_same_bits(np.ascontiguousarray(out.array), expected)
        out.assert_untouched()


def test_a_contiguous_mask_of_places_is_planned_as_indices_are(planning: Planning) -> None:
    made = planning.recording()
    case = CASES[0]
    x = numbers((2, 3, *case[0]), FLOAT32)
    values, mask = pool(x, case, A2)
    assert made[-1].kernel == "pool_max"
    gradient(values, x.shape, mask, case, A2)
    assert made[-1].kernel not in ("scatter_mask", "")
    gradient(values, x.shape, np.asfortranarray(mask), case, A2)
    assert made[-1].kernel == "scatter_mask"
    values, mask = pool(x, case, TRAINING)
    assert made[-1].kernel == "pool_max_bits"


def test_bits_of_missing_channels_are_zero_and_ignored() -> None:
    case = CASES[0]
    x = numbers((2, 3, *case[0]), FLOAT32)
    values, mask = pool(x, case, TRAINING)
    words = mask.reshape(-1).view(np.uint16)
    assert not (words >> 3).any()
    expected = gradient(values, x.shape, mask, case, TRAINING)
    words |= np.uint16(0xFFF8)
    assert_same_bits(gradient(values, x.shape, mask, case, TRAINING), expected)


def test_bytes_behind_are_never_read() -> None:
    """Those behind the stream of places, and those behind the words of the last group."""
    case = CASES[0]
    x = numbers((2, 3, *case[0]), FLOAT32)
    for product in (A2, TRAINING):
        values, mask = pool(x, case, product)
        expected = gradient(values, x.shape, mask, case, product)
        used = 4 * values.size if product == A2 else 2 * mask.shape[2] * mask.shape[3]  # of two groups
        assert not mask.reshape(-1)[used:].any()
        mask.reshape(-1)[used:] = -1
        assert_same_bits(gradient(values, x.shape, mask, case, product), expected)


def test_windows_of_one_element_are_never_looked_up() -> None:
    case = ((9, 7), (1, 1), (2, 3), (0, 0), False)
    x = numbers((2, 3, *case[0]), FLOAT32)
    values, mask = pool(x, case, A2)
    words = mask.reshape(2, 3, 1, -1).view(np.uint16)
    assert np.array_equal(values, x[:, :, ::2, ::3], equal_nan=True)
    assert (words.reshape(-1)[: 2 * words.shape[-1]].reshape(2, -1)[:, :-16] == 0xFFFF).all()
    grad = gradients(values.shape, FLOAT32)
    expected = np.zeros_like(x)
    expected[:, :, ::2, ::3] = grad
    assert_same_bits(gradient(grad, x.shape, np.full_like(mask, 77), case, A2), expected)


BAD_PLACES = [("negative", -1), ("beyond the plane", 80), ("far away", 2**31 - 1)]


@pytest.mark.parametrize("layout", ["plain", "every second"])
@pytest.mark.parametrize("value", [value for _, value in BAD_PLACES], ids=[why for why, _ in BAD_PLACES])
def test_a_bad_place_is_named(layout: str, value: int) -> None:
    """The first one, whoever finds it; nothing outside the output is written."""
    case = CASES[0]
    x = numbers((2, 3, *case[0]), FLOAT32)
    values, good = pool(x, case, None)
    for number in (1, 3):
        poolgrad.set_num_threads(number)
        for flat in (0, values.size // 2, values.size - 1):
            mask = good.copy()
            mask.reshape(-1).view(np.int32)[[flat, values.size - 1]] = value
            position = ", ".join(map(str, np.unravel_index(flat, values.shape)))
            out = Guarded(x.shape, FLOAT32)
            with pytest.raises(poolgrad.IndexRangeError) as caught:
                gradient(values, x.shape, Guarded.holding(mask, layout).array, case, None, out=out.array)
            assert (caught.value.status, caught.value.parameter) == (507015, "indices")
            text = (
                f"indices: bytes {4 * flat} to {4 * flat + 3}, for output [{position}], are the place {value}, outside"
            )
            assert text in str(caught.value)
            assert "expected 0 to 79." in str(caught.value)
            out.assert_untouched()


@pytest.mark.parametrize("layout", ["plain", "every second"])
def test_bad_bits_are_named(layout: str) -> None:
    case = ((9, 21), (3, 3), (2, 2), (1, 1), False)
    x = numbers((2, 17, *case[0]), FLOAT16)
    values, good = pool(x, case, TRAINING)
    groups, width = 2, values.shape[-1]

    def refusal(image: int, channel: int, oh: int, ow: int, **bits: bool) -> str:
        mask = good.copy()
        words = mask.reshape(-1).view(np.uint16)[: 2 * groups * 9 * (good.shape[-1] // 2)]
        words = words.reshape(2, groups, 9, good.shape[-1] // 2)
        for image_too, row in ((image, oh), (1, values.shape[2] - 1)):  # a second one, behind it
            of = words[image_too, channel // 16, :, row * width + ow]
            of &= np.uint16(~(1 << channel % 16) & 0xFFFF)
            for k in bits.values():
                of[k] |= np.uint16(1 << channel % 16)
        with pytest.raises(poolgrad.IndexRangeError) as caught:
            gradient(values, x.shape, Guarded.holding(mask, layout).array, case, TRAINING)
        assert caught.value.status == 507015
        return str(caught.value)

    for number in (1, 3):
        poolgrad.set_num_threads(number)
        text = refusal(1, 16, 2, 3)
        assert "for output [1, 16, 2, 3] no position of its 3x3 window is set: expected one." in text
        text = refusal(0, 5, 1, 2, first=1, second=5, third=8)
        assert (
            "for output [0, 5, 1, 2] 3 positions, (0, 1), (1, 2), ... of its 3x3 window are set: expected one." in text
        )
        text = refusal(0, 5, 0, 4, first=2)
        assert (
            "for output [0, 5, 0, 4] position (0, 2) of its window is set, which lies in the padding: expected" in text
        )
        assert re.search(r"one inside the plane of 9x21; the window begins at \(-1, 7\)", text)


def test_a_mask_at_any_address() -> None:
    """Numbers and words of a mask may begin anywhere."""
    case = CASES[1]
    x = numbers((2, 3, *case[0]), FLOAT32)
    for product in (A2, TRAINING):
        values, mask = wanted(x, case, product)
        for offset in range(1, 5):
            block = np.full(mask.size + 8, 99, np.int8)
            into = block[offset : offset + mask.size].reshape(mask.shape)
            found = np.empty_like(values)
            pool(x, case, product, out=(found, into))
            assert_same_bits(np.ascontiguousarray(into), mask)
            assert (np.delete(block, range(offset, offset + mask.size)) == 99).all()
            expected = gradient(found, x.shape, mask, case, product)
            assert_same_bits(gradient(found, x.shape, into, case, product), expected)


def test_results_may_not_share_memory() -> None:
    case = CASES[0]
    x = numbers((2, 3, *case[0]), FLOAT32)
    values, mask = pool(x, case, None)
    with pytest.raises(poolgrad.AclnnError, match="rule indices-contiguous"):
        pool(x, case, None, out=(values, mask[..., ::-1]))
    last = mask.reshape(-1)[-4 * values.size :].view(np.float32).reshape(values.shape)
    with pytest.raises(poolgrad.AclnnError, match="overlaps indices"):
        pool(x, case, None, out=(last, mask))
    with pytest.raises(poolgrad.AclnnError, match="overlaps self"):
        pool(mask.reshape(-1)[: x.nbytes].view(np.float32).reshape(x.shape), case, None, out=(values, mask))


def test_a_mask_is_of_the_inputs_kind_and_in_c_order() -> None:
    x = np.asfortranarray(numbers((2, 3, 8, 8), FLOAT32))
    values, mask = poolgrad.max_pool2d_with_mask(x, 2)
    assert values.strides != np.ascontiguousarray(values).strides
    assert mask.flags.c_contiguous
    assert (mask.dtype, mask.shape) == (np.int8, (2, 3, 4, 64))


@pytest.mark.parametrize("product", [None, TRAINING])
def test_an_empty_batch(product: str | None) -> None:
    values, mask = poolgrad.max_pool2d_with_mask(np.empty((0, 3, 8, 8), np.float32), 2, product=product)
    assert (values.shape, mask.shape) == ((0, 3, 4, 4), (0, 3, 4, 64))
    back = poolgrad.max_pool2d_with_mask_backward(values, (0, 3, 8, 8), mask, 2, product=product)
    assert back.shape == (0, 3, 8, 8)


@pytest.mark.parametrize("number", [1, 3])
def test_being_watched_changes_no_bit(number: int, planning: Planning, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watched run enters its kernel again and again, and clears what that leaves."""
    planning.use(time_of_part=1, tile=5)
    poolgrad.set_num_threads(number)
    monkeypatch.setattr(execute, "SURELY_QUICK", 0)
    monkeypatch.setattr(execute, "QUICK_SECONDS", -1.0)
    case = CASES[1]
    x = numbers((2, 17, *case[0]), FLOAT32)
    for product in (A2, INFERENCE):
        values, mask = wanted(x, case, product)
        found = pool(x, case, product)
        assert_same_bits(found[0], values)
        assert_same_bits(found[1], mask)


@pytest.mark.parametrize("product", [A2, INFERENCE])
def test_a_run_that_shall_stop_writes_nothing(product: str, planning: Planning) -> None:
    made, case = planning.recording(), CASES[1]
    x = numbers((2, 17, *case[0]), FLOAT32)
    values, mask = pool(x, case, product)
    control = np.zeros(1, CONTROL)
    control["stop"] = 1
    record = made[-1].record.copy()
    record["control"] = control.ctypes.data
    object.__setattr__(made[-1], "record", record)
    task = execute.Task(made[-1])
    scratch, out = np.zeros(made[-1].scratch_bytes + 64, np.uint8), (np.full_like(values, 7), np.full_like(mask, 7))
    task.execute((x.ctypes.data, out[0].ctypes.data, out[1].ctypes.data), scratch.ctypes.data)
    assert all((array == 7).all() for array in out)


def test_large_rows_and_planes_in_parts() -> None:
    """Wider than a tile, more outputs than are read at once; real limits, real threads."""
    case = ((5, 2600), (2, 3), (1, 2), (1, 1), False)
    x = numbers((1, 20, *case[0]), FLOAT16)
    values, mask = pool(x, case, TRAINING)
    expected, places = indices_of(x, case)
    assert_same_bits(values, expected)
    assert_same_bits(mask, poolgrad.indices_to_mask(places, x.shape, *case[1:4], 1, product=TRAINING))
    grad = gradients(values.shape, FLOAT16)
    expected = gradient_of_indices(grad, x.shape, places, case)
    for number in (1, 2, 5):
        poolgrad.set_num_threads(number)
        assert_same_bits(gradient(grad, x.shape, mask, case, TRAINING), expected)
