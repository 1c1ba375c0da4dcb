"""How the time of one output element grows: with the kernel's size, and with the number of elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .cases import Case, parse
from .machine import available_memory
from .measure import caller, race
from .sides import compare, prepare

KERNELS = (3, 5, 7, 11, 15, 23, 31, 47, 63, 95, 127)
# Powers of ten, in halves.
EXPONENTS = tuple(half / 2 for half in range(6, 19))
SIDE = 32
# Seconds of one call of torch, after which it is left out.
PATIENCE = 1.0
# Input, expected result, output and their copies, next to what the output takes.
ROOM = 4


def by_kernel(seconds: float, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Average f32, stride 1, same padding, one plane size; torch's time grows with the square of the kernel."""
    rows: list[dict[str, Any]] = []
    with_torch = True
    for kernel, following in zip(KERNELS, (*KERNELS[1:], math.inf), strict=True):
        case = parse(f"avg n1c4h256w256 k{kernel} s1 p{kernel // 2}")
        row = _measured(case, seconds, say, with_torch=with_torch)
        rows.append({"kernel": kernel, **row})
        with_torch = with_torch and row["torch"] * (following / kernel) ** 2 < PATIENCE
    return rows


def by_elements(seconds: float, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Average f32, k2s2, planes of 32×32, as many as make up the number of elements."""
    rows: list[dict[str, Any]] = []
    with_torch = True
    for exponent in EXPONENTS:
        planes = max(1, round(10**exponent / SIDE**2))
        case = parse(f"avg n{math.ceil(planes / 64)}c{min(planes, 64)}h{SIDE}w{SIDE} k2 s2")
        if ROOM * case.bytes_written > available_memory():
            say(f"growth: no memory for {case.name}")
            break
        row = _measured(case, seconds, say, with_torch=with_torch)
        rows.append(row)
        with_torch = with_torch and row["torch"] < PATIENCE
    return rows


def _measured(case: Case, seconds: float, say: Callable[[str], None], *, with_torch: bool) -> dict[str, Any]:
    say(f"growth  {case.name}")
    sides = prepare(case)
    calls = {"poolgrad": sides.poolgrad.call} | ({"torch": sides.torch.call} if with_torch else {})
    compare(sides, calls)
    times = race({name: caller(call) for name, call in calls.items()}, seconds)
    return {
        "case": case.name,
        "count": math.prod(case.x_shape),
        "torch": times.get("torch"),
        "poolgrad": times["poolgrad"],
    }
