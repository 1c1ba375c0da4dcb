"""Handles: never reused, never an address, and each wrong one gets its exact description."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from poolgrad.acl.handles import HANDLES, INT_ARRAY, KINDS, STREAM, TENSOR, Handles, Kind, first_of_program


def test_a_handle_leads_to_its_object_and_only_as_its_kind() -> None:
    handles, thing = Handles(), object()
    token = handles.new(TENSOR, thing)
    assert handles.get(token, TENSOR) is thing
    assert handles.get(np.uint64(token), TENSOR) is thing
    assert handles.get(token, STREAM) is None
    assert handles.drop(token, STREAM) is None
    assert handles.drop(token, TENSOR) is thing
    assert handles.get(token, TENSOR) is None
    assert handles.drop(token, TENSOR) is None


def test_tokens_are_never_reused_and_take_no_memory_once_dropped() -> None:
    handles = Handles()
    tokens = set()
    for _ in range(1000):
        tokens.add(handles.new(TENSOR, "x"))
        handles.drop(max(tokens), TENSOR)
    assert len(tokens) == 1000
    assert not handles._objects


def test_tokens_can_be_no_address_of_a_program() -> None:
    handles = Handles()
    for kind in KINDS:
        token = handles.new(kind, None)
        assert token % 16 == 0
        assert token < 2**63
        assert token >> 56, "canonical on x86-64"
        assert token >> 55 & 1, "the program's half on arm64"


@pytest.mark.parametrize(
    ("token", "wanted", "text"),
    [
        (None, TENSOR, "null"),
        (0, TENSOR, "null"),
        ("live", TENSOR, "a tensor"),
        ("live", STREAM, "a tensor, not a stream"),
        ("dead", STREAM, "a destroyed stream"),
        ("dead", INT_ARRAY, "a destroyed stream, not an int array"),
        ("next", TENSOR, "HEX, not a handle"),
        ("odd", TENSOR, "HEX, not a handle"),
        (0x7F0000000000, TENSOR, "0x7f0000000000, not a handle"),
        (-16, TENSOR, "-16, not a handle"),
        (2**200, TENSOR, f"{2**200}, not a handle"),
        ("a text", TENSOR, "a str, not a handle"),
        (1.5, TENSOR, "a float, not a handle"),
        (np.zeros(2), TENSOR, "a numpy.ndarray, not a handle"),
    ],
)
def test_descriptions(token: object, wanted: Kind[Any], text: str) -> None:
    handles = Handles()
    live, dead = handles.new(TENSOR, "x"), handles.new(STREAM, "y")
    handles.drop(dead, STREAM)
    known: dict[object, int] = {"live": live, "dead": dead, "next": live + 16, "odd": live + 1}
    given = known.get(token, token) if isinstance(token, str) else token
    assert handles.describe(given, wanted) == text.replace("HEX", f"{given:#x}" if isinstance(given, int) else "")


def test_handles_that_a_program_gives_out() -> None:
    """They are told apart from our own, and from those that were not given out yet."""
    handles = Handles()
    ours, first = handles.new(TENSOR, "x"), first_of_program(TENSOR)
    handles.adopt(first, TENSOR, "y")
    handles.adopt(first + 16, TENSOR, "z")
    assert handles.get(first, TENSOR) == "y"
    assert handles.get(ours, TENSOR) == "x"
    assert handles.drop(first, TENSOR) == "y"
    assert handles.describe(first, TENSOR) == "a destroyed tensor"
    assert handles.describe(first + 16, STREAM) == "a tensor, not a stream"
    assert handles.describe(first + 32, TENSOR).endswith("not a handle")
    assert handles.describe(ours + 16, TENSOR).endswith("not a handle")
    assert handles.describe(first_of_program(STREAM), STREAM).endswith("not a handle")


def test_threads_that_make_handles_get_different_ones_and_one_drop_wins() -> None:
    tokens: list[list[int]] = [[] for _ in range(4)]

    def make(mine: list[int]) -> None:
        for _ in range(2000):
            mine.append(HANDLES.new(TENSOR, mine))

    def drop(won: list[int]) -> None:
        won.extend(token for token in made if HANDLES.drop(token, TENSOR) is not None)

    _in_threads([lambda mine=mine: make(mine) for mine in tokens])
    made = [token for mine in tokens for token in mine]
    assert len(set(made)) == 8000
    winners: list[list[int]] = [[] for _ in range(4)]
    _in_threads([lambda won=won: drop(won) for won in winners])
    assert sorted(token for won in winners for token in won) == sorted(made)


def _in_threads(works: list) -> None:  # type: ignore[type-arg]
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
