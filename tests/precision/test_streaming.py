"""Blocks are nobody's business: strides, files and sizes change no figure, and memory stays small."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from poolgrad.precision import STANDARDS, comparing
from poolgrad.precision.comparing import Tensors, judge_for
from poolgrad.precision.limits import WITH_THIRD_PARTY
from poolgrad.precision.report import page

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TYPES = [np.dtype(name) for name in ("float16", "float32", "float64")] + [BFLOAT16]


def tensors(dtype: np.dtype[Any], shape: tuple[int, ...] = (7, 11, 13)) -> list[np.ndarray[Any, Any]]:
    """Three tensors whose errors are spread over many magnitudes, with NaN and Inf in some places."""
    rng = np.random.default_rng(3)
    golden = rng.standard_normal(shape)
    sides = [golden * (1 + rng.standard_normal(shape) * 10.0 ** rng.integers(-9, -2, shape)) for _ in range(2)]
    for side in (golden, *sides):
        side.flat[5::101] = np.nan
        side.flat[9::103] = np.inf
    sides[0].flat[17] = np.inf
    return [side.astype(dtype) for side in (sides[0], golden, sides[1])]


def compare(actual: Any, golden: Any, third: Any, standard: str) -> poolgrad.precision.Comparison:
    return poolgrad.compare(actual, golden, standard, third_party=third if standard in WITH_THIRD_PARTY else None)


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_size_of_blocks_changes_only_last_digits_of_means(
    standard: str, dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare(*tensors(dtype), standard)
    assert whole.count > 1000
    for size in (1, 13, 100, 1001):
        monkeypatch.setattr(comparing, "BLOCK", size)
        parts = compare(*tensors(dtype), standard)
        for field in dataclasses.fields(whole):
            one, other = getattr(whole, field.name), getattr(parts, field.name)
            if field.name in ("mere", "cosine_distance") and one is not None:
                assert one == pytest.approx(other, rel=1e-13, abs=1e-15, nan_ok=True)
            elif field.name == "figures":
                assert dict(one) == pytest.approx(dict(other), rel=1e-13, abs=1e-15, nan_ok=True)
            elif field.name != "reasons":  # which quote the means
                assert one == other, field.name


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_strides_and_byte_order_change_nothing(standard: str, dtype: np.dtype[Any]) -> None:
    plain = tensors(dtype, (20, 64, 96))  # more than one block
    assert plain[0].size > comparing.BLOCK
    expected = compare(*plain, standard).as_data()
    assert compare(*(np.asfortranarray(side) for side in plain), standard).as_data() == expected
    spread = [np.zeros((20, 128, 97), dtype) for _ in plain]
    for wide, side in zip(spread, plain, strict=True):
        wide[:, ::-2, 1:] = side
    assert compare(*(wide[:, ::-2, 1:] for wide in spread), standard).as_data() == expected
    if dtype is not BFLOAT16:
        swapped = [side.astype(dtype.newbyteorder()) for side in plain]
        assert compare(*swapped, standard).as_data() == expected


@pytest.mark.parametrize("order", ["C", "F"])
def test_files_larger_than_what_is_allocated(tmp_path: Path, order: Any) -> None:
    """Mapped files of 64 MB are compared with a few megabytes."""
    shape = (16, 1024, 1024)
    sides = []
    for name in ("actual", "golden"):
        mapped = np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", np.float32, shape, order == "F")
        mapped[:] = 1.5
        if name == "actual":
            mapped[9, 1000, 77] = -3
        mapped.flush()
        sides.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    tracemalloc.start()
    try:
        answer = poolgrad.compare(*sides)
        _, peak = tracemalloc.get_traced_memory()
        pieces = page(Tensors(*sides), judge_for(Tensors(*sides), "mixed"), answer, ("actual", "golden"))
        written = sum(map(len, pieces))
        _, peak_of_page = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.worst is not None
    assert answer.worst.coordinates == (9, 1000, 77)
    assert written > 10_000
    assert peak < 20_000_000
    assert peak_of_page < 60_000_000, peak_of_page
