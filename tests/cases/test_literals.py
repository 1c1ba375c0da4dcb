"""Literals in cells: what they may be, and that nothing in them is run or grows without bounds."""

from __future__ import annotations

import math
import tracemalloc

import pytest

from poolgrad.cases.literals import NoLiteral, literal

GOOD = {
    "1": 1,
    "-1.5e3": -1500.0,
    "+2": 2,
    "None": None,
    "True": True,
    "TRUE": True,
    "false": False,
    "'a' 'b'": "ab",
    "float32": "float32",
    "(ND, NCHW)": ("ND", "NCHW"),
    "inf": math.inf,
    "-inf": -math.inf,
    "float('-inf')": -math.inf,
    'float("1e3")': 1000.0,
    "float(2)": 2.0,
    "float": "float",
    "2*2": 4,
    "2**10": 1024,
    "-2**10": -1024,
    "2**-1": 0.5,
    "2**31 - 1": 2**31 - 1,
    "2**63": 2**63,
    "1/4 + 1": 1.25,
    "(1 + 2) * 3": 9,
    "()": (),
    "[1, (2,), []]": [1, (2,), []],
    "{'kernelSize': (2, 2), stride: 2*1, 3: {}}": {"kernelSize": (2, 2), "stride": 2, 3: {}},
}
BAD = [
    "",
    "(",
    "1 2",
    "a.b",
    "__import__('os')",
    "float()",
    "float('1', '2')",
    "float('x')",
    "float(x='1')",
    "float(float)",
    "float('9' * 10)",
    "int('3')",
    "lambda: 1",
    "[x for x in (1, 2)]",
    "(x := 3)",
    "f'{1}'",
    "b'a'",
    "1j",
    "...",
    "{1, 2}",
    "{**{}}",
    "(*(1, 2),)",
    "{[]: 1}",
    "'a' * 3",
    "(1,) * 3",
    "True + 1",
    "'a' + 'b'",
    "1 if 1 else 2",
    "not 1",
    "~1",
    "1 << 5",
    "1 < 2",
    "1 / 0",
    "0 ** -1",
    "(-1) ** 0.5",
    "2.0 ** 10000",
    "-'a'",
    "-(1,)",
]
# What would take all memory, or forever.
ENDLESS = [
    "2**10**10",
    "2**(10**10)",
    "9**9**9**9",
    "(2**1000)**1000",
    "-(2**99999999999)",
    "*".join(["2**1000"] * 1000),
    "-" * 100_000 + "1",
    "(" * 100_000 + ")" * 100_000,
    "1" + "+1" * 100_000,
    "9" * 100_000,
]


@pytest.mark.parametrize("text", GOOD)
def test_what_a_cell_may_be(text: str) -> None:
    found = literal(text)
    assert (type(found), found) == (type(GOOD[text]), GOOD[text])


@pytest.mark.parametrize("text", ["nan", "NaN", "float('nan')", "-nan"])
def test_nan_is_a_number(text: str) -> None:
    assert math.isnan(literal(text))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(NoLiteral):
        literal(text)


@pytest.mark.parametrize("text", ENDLESS, ids=lambda text: text[:20])
def test_numbers_without_end_are_refused_before_they_take_memory(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(NoLiteral):
            literal(text)
        assert tracemalloc.get_traced_memory()[1] < 1000 * len(text) + 1_000_000, "in proportion to the text"
    finally:
        tracemalloc.stop()
