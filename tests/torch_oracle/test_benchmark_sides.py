"""The benchmark compares before it times: right results pass, wrong ones do not."""

from __future__ import annotations

import pytest
import torch

from benchmarks.cases import parse
from benchmarks.sides import compare, prepare

LINES = [
    "avg 2x3x12x14 k3s2p1",
    "avg 2x3x12x14 k5s1p2 float16",
    "avg 2x3x12x14 k3s1p1 bfloat16 channels_last",
    "avg 2x3x12x14 k2s2 cropped",
    "avg 2x3x12x14 k2s2 every_second",
    "aavg 2x3x4x6x8 o3x4x5",
    "aavg 2x3x4x6x8 o5x7x9 bfloat16",
    "max 2x3x12x14 k2s2 transposed",
    "max 2x3x12x14 k3s1p1 float16",
    "max 2x3x12x14 k3s2p1 int32 channels_last",
    "amax 2x3x12x14 o5x5 int32",
]


@pytest.mark.parametrize("line", LINES)
def test_both_sides_agree(line: str):
    sides = prepare(parse(line))
    compare(sides, sides.calls)
    assert torch.isfinite(sides.out).all()


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("spoil", ["one element", "nothing written"])
def test_a_wrong_result_is_noticed(line: str, spoil: str):
    sides = prepare(parse(line))

    def wrong() -> None:
        if spoil == "one element":
            sides.by_poolgrad()
            sides.out[-1, -1, ..., -1, -1] += 0.05

    with pytest.raises(AssertionError, match="further away than roundings explain"):
        compare(sides, {"poolgrad": wrong})
