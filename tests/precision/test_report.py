"""The page holds what it should: every plane's values, codes and counts, and nothing from elsewhere."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from precision.pages import data_of, planes_of, report

import poolgrad
from poolgrad.precision import STANDARDS, comparing
from poolgrad.precision.report import maps, pages

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")
TYPES = [np.dtype(name) for name in ("float16", "float32", "float64", *INTEGERS)] + [BFLOAT16]
FAILS, MISMATCH = 0x80, 0xFF


def damaged(dtype: np.dtype[Any], shape: tuple[int, ...] = (2, 3, 11, 13)) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    golden = (rng.standard_normal(shape) * 25).astype(dtype)
    actual = golden.copy()
    actual[1, 2, ::4] = 0
    actual[0, 1, 5, 6] = actual[0, 1, 5, 6] / 2
    if actual.dtype.kind not in "iu":
        actual[1, 0, 2, 3] = math.nan
    return actual, golden


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("standard", ["mixed", "binary", "cosine"])
def test_every_element_of_small_tensors_is_on_the_page(dtype: np.dtype[Any], standard: str) -> None:
    actual, golden = damaged(dtype)
    answer = poolgrad.compare(actual, golden, standard)
    text = report(actual, golden, standard)
    data, planes = data_of(text), list(planes_of(text))
    assert {plane.number for plane in planes} == set(range(6))
    failing = 0
    for plane in planes:
        lead = divmod(plane.number, 3)
        assert plane.actual.tobytes() == actual[lead].tobytes()
        assert plane.golden.tobytes() == golden[lead].tobytes()
        failing += int((plane.codes >= FAILS).sum())
    assert failing == (answer.nan_mismatches if standard == "cosine" else answer.count - answer.count_passed)
    every = np.concatenate([plane.codes.ravel() for plane in planes])
    codes, counts = np.unique(every, return_counts=True)
    assert data["counts"] == {str(code): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}
    histogram = np.bincount(every[every != MISMATCH] & (FAILS - 1), minlength=66)
    assert histogram.tolist() == list(answer.ulp_histogram)


def test_a_wider_golden_tensor_keeps_its_values() -> None:
    golden = np.linspace(0, 1, 12).reshape(3, 4)
    actual = golden.astype(BFLOAT16)
    (plane,) = planes_of(report(actual, golden))
    assert plane.golden.tobytes() == golden.tobytes()
    assert plane.actual.tobytes() == actual.tobytes()


@pytest.mark.parametrize("standard", STANDARDS)
def test_worst_planes_come_first(standard: str) -> None:
    golden = np.ones((9, 4, 5), np.float32)
    actual = golden.copy()
    actual[7, :2] = 2
    actual[3, 0] = 2
    actual[5, 1] = 4  # as many as in plane 3, and worse
    shown = data_of(report(actual, golden, standard))["shown"]
    assert [plane["number"] for plane in shown] == [7, 5, 3, 0, 1, 2, 4, 6, 8]
    assert [plane["failing"] for plane in shown] == [10, 5, 5, 0, 0, 0, 0, 0, 0]
    assert shown[0]["lead"] == [7]


@pytest.mark.parametrize("block", [1, 3, 20, 33, 1000])
@pytest.mark.parametrize("keep", [1, 2, 7, 50])
def test_planes_are_found_wherever_blocks_end(block: int, keep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    golden = np.ones((5, 10, 2, 3), np.float32)
    actual = golden * np.where(rng.random(golden.shape) < 0.3, np.float32(2), np.float32(1))
    failing = (actual != golden).sum(axis=(2, 3)).ravel()
    expected = sorted(range(50), key=lambda number: (-failing[number], number))[:keep]
    monkeypatch.setattr(comparing, "BLOCK", block)
    monkeypatch.setattr(pages, "MAX_PLANES", keep)
    text = report(actual, golden)
    data = data_of(text)
    assert [plane["number"] for plane in data["shown"]] == expected
    assert [plane["failing"] for plane in data["shown"]] == failing[expected].tolist()
    assert data["planes"]["count"] == 50
    assert [plane.number for plane in planes_of(text)] == expected


@pytest.mark.parametrize("shape", [(23, 40), (40, 23), (1, 200), (64,), (100, 3)])
@pytest.mark.parametrize("block", [7, 1 << 16])
def test_a_cell_of_a_large_plane_shows_its_worst_element(
    shape: tuple[int, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MAX_SIDE", 10)
    monkeypatch.setattr(maps, "BLOCK", block)
    monkeypatch.setattr(comparing, "BLOCK", block)
    rng = np.random.default_rng(4)
    golden = rng.standard_normal(shape).astype(np.float32)
    actual = golden * np.where(rng.random(shape) < 0.1, np.float32(1.1), np.float32(1))
    text = report(actual, golden)
    grid = data_of(text)["grid"]
    assert grid["is_reduced"]
    assert max(grid["rows"], grid["columns"]) <= 10
    (plane,) = planes_of(text)
    assert plane.offsets is not None
    flat_actual, flat_golden = (np.atleast_2d(side) for side in (actual, golden))
    height, width = grid["cell_height"], grid["cell_width"]
    seen = 0
    for row in range(grid["rows"]):
        for column in range(grid["columns"]):
            cell = slice(row * height, (row + 1) * height), slice(column * width, (column + 1) * width)
            wrong = int((flat_actual[cell] != flat_golden[cell]).sum())
            down, right = divmod(int(plane.offsets[row, column]), width)
            at = row * height + down, column * width + right
            assert flat_actual[at] == plane.actual[row, column]
            assert flat_golden[at] == plane.golden[row, column]
            assert (plane.codes[row, column] >= FAILS) == (wrong > 0) == (flat_actual[at] != flat_golden[at])
            seen += wrong
    assert seen == (actual != golden).sum() > 0


def test_large_tensors_show_only_as_many_planes_as_a_page_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = np.ones((10, 8, 8), np.float32)
    actual = golden.copy()
    actual[4] = 2
    actual[6, 0] = 2
    monkeypatch.setattr(pages, "MAX_BYTES", 2 * 64 * 9 + 8)
    text = report(actual, golden)
    assert [plane.number for plane in planes_of(text)] == [4, 6]


@pytest.mark.parametrize("shape", [(0,), (3, 0, 4), (0, 5, 5), ()])
def test_pages_of_empty_tensors_and_scalars(shape: tuple[int, ...]) -> None:
    text = report(np.ones(shape, np.float32), np.ones(shape, np.float32))
    assert data_of(text)["comparison"]["passed"]
    assert all(plane.actual.size == math.prod(shape) for plane in planes_of(text))


def test_names_can_not_become_part_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>&<b>.npy"
    ones = np.ones((2, 2), np.float32)
    text = report(ones, ones, names=(evil, "$style ${data}"))
    assert "alert(1)</script>" not in text
    assert "<b>.npy" not in text
    assert data_of(text)["names"] == [evil, "$style ${data}"]


def test_the_page_refers_to_nothing_outside() -> None:
    text = report(*damaged(np.dtype(np.float32)))
    assert not re.findall(r"https?:|//[a-z]|url\(|@import|import\(|fetch\(|XMLHttpRequest|WebSocket", text)
    assert not re.findall(r'\b(?:src|href)="(?!data:,")', text)
    assert "default-src 'none'" in text
