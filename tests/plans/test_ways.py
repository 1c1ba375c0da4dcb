"""The first way that is legal and pays is taken; any legal one can be asked for by its name, and none other."""

from __future__ import annotations

from typing import Any

import pytest

from poolgrad.plans import average, forward, maximum
from poolgrad.plans.ways import Booking, Need, Way, choose

TABLES = {"gradients of averages": average.WAYS, "gradients of maxima": maximum.WAYS, "pooling": forward.WAYS}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_the_last_way_does_for_anything(table: tuple[Way[Any], ...]) -> None:
    assert not table[-1].legal
    assert not table[-1].pays
    assert len({way.name for way in table}) == len(table)


def needs(*answers: bool) -> tuple[Need[Any], ...]:
    return tuple(Need(f"number {i}", lambda _, answer=answer: answer) for i, answer in enumerate(answers))


def way(name: str, legal: tuple[bool, ...], pays: tuple[bool, ...]) -> Way[Any]:
    return Way(name, needs(*legal), needs(*pays), lambda subject, record: Booking(name, 1))


WAYS = (
    way("illegal", (True, False), (True,)),
    way("slow", (True,), (True, True, False)),
    way("fast", (True,), (True,)),
    way("any", (), ()),
)


def test_the_first_way_that_is_legal_and_pays_is_taken() -> None:
    choice = choose(WAYS, None)
    assert choice.taken.name == "fast"
    told = [("illegal", "number 1", ""), ("slow", "", "number 2"), ("fast", "", ""), ("any", "", "")]
    assert [tuple(verdict) for verdict in choice.verdicts()] == told


def test_a_way_is_forced_by_its_name_if_it_is_legal() -> None:
    assert [choose(WAYS, None, name).taken.name for name in ("slow", "any")] == ["slow", "any"]
    with pytest.raises(ValueError, match="'illegal' can't be taken by this call, since it needs number 1"):
        choose(WAYS, None, "illegal")
    with pytest.raises(ValueError, match="expected one of illegal, slow, fast, any; got 'none'"):
        choose(WAYS, None, "none")
