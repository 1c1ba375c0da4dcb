"""Masks from indices and indices from masks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import AclnnError, IndexRangeError
from poolgrad.selftest import reference

A2, TRAINING, INFERENCE = "Atlas A2", "Atlas training series", "Atlas inference series"
PRODUCTS = pytest.mark.parametrize("product", [None, A2, TRAINING, INFERENCE])
# Sizes, kernel, stride, padding, ceil mode.
CASES = [
    ((8, 10), (2, 2), (2, 2), (0, 0), False),
    ((9, 7), (3, 3), (2, 2), (1, 1), True),
    ((9, 7), (3, 2), (1, 3), (1, 0), False),
    ((9, 7), (1, 1), (2, 2), (0, 0), False),
]


def pooled(lead: tuple[int, ...], case: Any) -> tuple[Any, Any]:
    """An input, and where its maxima are; halves, so that no product rounds it."""
    size, kernel, stride, pad, ceil = case
    x = np.random.default_rng(1).integers(-9, 9, (*lead, *size)).astype(np.float32)
    return x, reference.max_pool_indices(x, kernel, stride, pad, None, ceil)


@PRODUCTS
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("lead", [(2, 17), (3,), (1, 16)], ids=str)
def test_there_and_back(product: str | None, case: Any, lead: tuple[int, ...]) -> None:
    x, indices = pooled(lead, case)
    windows = (*case[1:4], 1, case[4])
    _, mask = poolgrad.max_pool2d_with_mask(x, *windows, product=product)
    found = poolgrad.mask_to_indices(mask, x, *windows, product=product)
    assert found.dtype == (np.int64 if product is None else np.int32)
    assert np.array_equal(found, indices)
    for dtype in ("int32", np.int64):
        made = poolgrad.indices_to_mask(indices.astype(dtype), x.shape, *windows, product=product)
        assert made.tobytes() == mask.tobytes()
        assert (made.dtype, made.shape) == (mask.dtype, mask.shape)
        again = poolgrad.mask_to_indices(np.asfortranarray(mask), x.shape, *windows, product=product, index_dtype=dtype)
        assert again.dtype == dtype
        assert np.array_equal(again, indices)


def test_results_go_into_what_is_given() -> None:
    x, indices = pooled((2, 3), CASES[0])
    mask = np.full((2, 3, 4, 192), -1, np.int8)[..., ::2]
    assert poolgrad.indices_to_mask(indices, x.shape, 2, out=mask) is mask
    assert np.array_equal(mask, poolgrad.max_pool2d_with_mask(x, 2)[1])
    out = np.empty(indices.shape[::-1], np.int64).T
    assert poolgrad.mask_to_indices(mask, x.shape, 2, out=out) is out
    assert np.array_equal(out, indices)
    with pytest.raises(AclnnError, match=r"out: expected a writable array of int64, shape \(2, 3, 4, 5\); got int32"):
        poolgrad.mask_to_indices(mask, x.shape, 2, out=out.astype(np.int32))
    mask.flags.writeable = False
    with pytest.raises(AclnnError, match="read-only"):
        poolgrad.indices_to_mask(indices, x.shape, 2, out=mask)


def test_places_outside_their_windows_are_for_masks_of_places_only() -> None:
    x, indices = pooled((2, 3), CASES[0])
    indices[1, 2, 3, 4] = 0
    mask = poolgrad.indices_to_mask(indices, x.shape, 2)
    assert np.array_equal(poolgrad.mask_to_indices(mask, x.shape, 2), indices)
    with pytest.raises(IndexRangeError) as caught:
        poolgrad.indices_to_mask(indices, x.shape, 2, product=TRAINING)
    assert caught.value.status == 507015
    told = "indices[1, 2, 3, 4] = 0, row 0 and column 0, is outside its window: expected a place in its window"
    assert f"{told}, rows 6 to 7 and columns 8 to 9" in str(caught.value)


@PRODUCTS
@pytest.mark.parametrize("value", [-1, 80, -(2**40)])
def test_bad_indices_are_named(product: str | None, value: int) -> None:
    x, indices = pooled((3,), CASES[0])
    indices[1, 2, 3] = indices[2, 0, 0] = value
    with pytest.raises(IndexRangeError, match=rf"indices\[1, 2, 3\] = {value} is outside its plane of 8x10") as caught:
        poolgrad.indices_to_mask(indices, x.shape, 2, product=product)
    assert caught.value.status == 507015


def test_bad_masks_are_named() -> None:
    x, _ = pooled((2, 17), CASES[0])
    _, mask = poolgrad.max_pool2d_with_mask(x, 2)
    mask.reshape(-1).view(np.int32)[70] = 80
    before = np.full((2, 17, 4, 5), 7)
    out = before.copy()
    with pytest.raises(
        IndexRangeError, match=r"for output \[0, 3, 2, 0\], are the place 80, outside its plane of 8x10"
    ):
        poolgrad.mask_to_indices(mask, x.shape, 2, out=out)
    assert np.array_equal(out, before)
    _, mask = poolgrad.max_pool2d_with_mask(x, 2, product=INFERENCE)
    mask.reshape(2 * 17 * 4, -1)[4 * 3, 2 * 7] = 0  # the second group of the second image has one channel
    mask.reshape(2 * 17 * 4, -1)[4 * 3 + 1, 2 * 7] = 0
    mask.reshape(2 * 17 * 4, -1)[4 * 3 + 2, 2 * 7] = 0
    mask.reshape(2 * 17 * 4, -1)[4 * 3 + 3, 2 * 7] = 0
    with pytest.raises(IndexRangeError, match=r"for output \[1, 16, 1, 2\] no position of its 2x2 window is set"):
        poolgrad.mask_to_indices(mask, x.shape, 2, product=INFERENCE)


REFUSED = [
    ("kernelSize-null", 161001, {"kernel_size": None}),
    ("self-null", 161001, {"x": None}),
    ("indices-null", 161001, {"mask": None, "indices": None}),
    ("product", 161002, {"product": "Ascend 950"}),
    ("kernelSize-length", 161002, {"kernel_size": (2, 2, 2)}),
    ("self-rank", 161002, {"x": (8, 8)}),
    ("dilation-one", 161002, {"dilation": 2}),
    ("padding-half", 161002, {"padding": 2}),
    ("windows-fit", 161002, {"kernel_size": 20}),
]


@pytest.mark.parametrize(("row", "status", "changes"), REFUSED, ids=[row for row, *_ in REFUSED])
def test_the_contract_is_that_of_the_gradient(row: str, status: int, changes: dict[str, Any]) -> None:
    x, indices = pooled((2, 3), CASES[0])
    _, mask = poolgrad.max_pool2d_with_mask(x, 2)
    for function, name, array in (
        (poolgrad.mask_to_indices, "mask", mask),
        (poolgrad.indices_to_mask, "indices", indices),
    ):
        own = {key: value for key, value in changes.items() if key not in ("mask", "indices") or key == name}
        with pytest.raises(AclnnError, match=f"rule {row}:") as caught:
            function(**{name: array, "x": x.shape, "kernel_size": 2, **own})
        assert caught.value.status == status


def test_wrong_types_and_shapes_are_refused() -> None:
    x, indices = pooled((2, 3), CASES[0])
    _, mask = poolgrad.max_pool2d_with_mask(x, 2)
    with pytest.raises(AclnnError, match="rule indices-dtype"):
        poolgrad.mask_to_indices(mask.view(np.uint8), x.shape, 2)
    with pytest.raises(AclnnError, match="rule indices-mask"):
        poolgrad.mask_to_indices(mask[..., :64], x.shape, 2)
    with pytest.raises(AclnnError, match="rule indices-dtype"):
        poolgrad.indices_to_mask(indices.astype(np.int16), x.shape, 2)
    with pytest.raises(AclnnError, match="rule indices-shape-as-gradOutput"):
        poolgrad.indices_to_mask(indices[..., :4], x.shape, 2)
    with pytest.raises(TypeError, match="index_dtype must be int32 or int64, got int16"):
        poolgrad.mask_to_indices(mask, x.shape, 2, index_dtype=np.int16)


def test_errors_speak_of_what_was_given() -> None:
    """The rows are a gradient's, which has other names for things, and a gradient."""
    x, indices = pooled((2, 3), CASES[0])
    _, mask = poolgrad.max_pool2d_with_mask(x, 2)
    wrong = mask.copy()
    wrong.reshape(-1)[:4] = -1
    calls = [
        (lambda: poolgrad.mask_to_indices(mask.view(np.uint8), x.shape, 2), "mask_to_indices: mask: expected", "mask"),
        (
            lambda: poolgrad.mask_to_indices(wrong, x.shape, 2),
            "mask_to_indices: mask: bytes 0 to 3, for output",
            "mask",
        ),
        (lambda: poolgrad.mask_to_indices(None, x.shape, 2), "mask_to_indices: mask: expected a value", "mask"),
        (lambda: poolgrad.mask_to_indices(mask, x.shape, 20), "Use a smaller kernel_size or dilation", "x"),
        (lambda: poolgrad.indices_to_mask(indices, (8, 8), 2), "indices_to_mask: x: expected rank 3 or 4", "x"),
        (
            lambda: poolgrad.indices_to_mask(indices[..., :4], x.shape, 2),
            "indices_to_mask: indices: expected the shape of the pooled output, (2, 3, 4, 5); got",
            "indices",
        ),
    ]
    for call, said, blamed in calls:
        with pytest.raises(AclnnError) as caught:
            call()
        text = re.sub(r" \[\d{6} .*", "", str(caught.value))
        assert said in text
        assert not re.search(r"gradOutput|self|kernelSize|Backward", text)
        assert caught.value.parameter == blamed
        assert re.search(r"\bindices\b", text) is None or blamed == "indices"


def test_an_empty_batch() -> None:
    for product in (None, TRAINING):
        mask = poolgrad.indices_to_mask(np.empty((0, 3, 4, 4), np.int64), (0, 3, 8, 8), 2, product=product)
        assert mask.shape == (0, 3, 4, 64)
        assert poolgrad.mask_to_indices(mask, (0, 3, 8, 8), 2, product=product).shape == (0, 3, 4, 4)
