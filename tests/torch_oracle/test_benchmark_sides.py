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
    "aavg2 n2c3h12w14 o5,5",
    "max n2c3h12w14 k3 s2 p1 forward",
    "max n2c3h12w14 k3 s2 p1 bfloat16 channels_last forward",
    "max n2c3h12w14 k2 s2 int32 forward",
    "max n2c3h12w14 k3 s2 p1 both",
]


@pytest.mark.parametrize("line", LINES)
def test_both_sides_agree(line: str):
    sides = prepare(parse(line))
    compare(sides, sides.calls)
    for side in (sides.torch, sides.poolgrad):
        assert all(torch.isfinite(result.out).all() for result in side.results)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("spoil", ["one element", "nothing written"])
def test_a_wrong_result_is_noticed(line: str, spoil: str):
    sides = prepare(parse(line))

    def wrong() -> None:
        if spoil == "one element":
            sides.poolgrad.call()
            sides.poolgrad.results[-1].out[-1, -1, ..., -1, -1] += 0.05

    with pytest.raises(AssertionError, match="further away than roundings explain"):
        compare(sides, {"poolgrad": wrong})


def test_a_wrong_index_is_noticed() -> None:
    sides = prepare(parse("max n2c3h12w14 k3 s2 p1 forward"))
    places, _ = (result.out for result in sides.poolgrad.results)

    def wrong() -> None:
        sides.poolgrad.call()
        places[0, 0, 0, 0] += 1

    with pytest.raises(AssertionError, match="poolgrad is inf times further away"):
        compare(sides, {"poolgrad": wrong})
