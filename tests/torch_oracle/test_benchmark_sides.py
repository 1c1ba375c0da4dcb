"""The benchmark compares before it times: right results pass, wrong ones do not."""

from __future__ import annotations

import pytest
import torch

from benchmarks.cases import parse
from benchmarks.sides import compare, prepare

LINES = [
    "avg n2c3h12w14 k3 s2 p1",
    "avg n2c3h12w14 k5 s1 p2 float16",
    "avg n2c3h12w14 k3 s1 p1 bfloat16 channels_last",
    "avg n2c3h12w14 k2 s2 cropped",
    "avg n2c3h12w14 k2 s2 every_second",
    "aavg n2c3d4h6w8 o3,4,5",
    "aavg n2c3d4h6w8 o5,7,9 bfloat16",
    "max n2c3h12w14 k2 s2 transposed",
    "max n2c3h12w14 k3 s1 p1 float16",
    "max n2c3h12w14 k3 s2 p1 int32 channels_last",
    "amax n2c3h12w14 o5,5 int32",
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
