"""Messages and answers, without a program: what the server does with every word of them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from poolgrad import acl
from poolgrad.capi import calls
from poolgrad.capi.calls import CALLS, answer
from poolgrad.capi.prototypes import REMOTE

NUMBERS = {prototype.name: number for number, prototype in enumerate(REMOTE)}


def message(name: str, *words: int, null_place: int = 0, data: bytes = b"") -> bytes:
    unsigned = (word % 2**64 for word in words)
    size = 8 * (4 + len(words)) + len(data)
    return struct.pack(f"<4q{len(words)}Q", NUMBERS[name], null_place, 5, size, *unsigned) + data


def ask(name: str, *words: int, **more: Any) -> tuple[int, bytes]:
    """The first word of the answer behind its size, and the rest."""
    told = answer(message(name, *words, **more))
    size, first = struct.unpack_from("<2q", told)
    assert size == len(told)
    return first, told[16:]


@pytest.fixture(autouse=True)
def _runtime() -> Iterator[None]:
    assert ask("aclInit", -1) == (0, b"")
    yield
    assert ask("aclFinalize") == (0, b"")


def test_arrays_become_tensors_and_come_back() -> None:
    dims, strides = struct.pack("<3q", 2, 3, 4), struct.pack("<3q", 12, -4, 1)
    handle, _ = ask("aclCreateTensor", 3, 0, 3, 8, 2, 3, 0, data=dims + strides + dims)
    assert acl.aclGetViewStrides(handle) == ((12, -4, 1), 0)
    assert ask("aclGetViewStrides", handle) == (0, struct.pack("<q", 3) + strides)
    assert ask("aclGetViewOffset", handle) == (0, struct.pack("<q", 8))
    assert ask("aclDestroyTensor", handle) == (0, b"")


def test_null_and_empty_arrays_are_two_things() -> None:
    empty, _ = ask("aclCreateIntArray", 0)
    assert acl.aclGetIntArraySize(empty) == (0, 0)
    nothing, text = ask("aclCreateIntArray", -1)
    assert nothing == 0
    assert b"value is null" in text


def test_too_many_values_are_refused_unread() -> None:
    assert ask("aclCreateIntArray", 1024, data=bytes(8 * 1024))[0]
    nothing, text = ask("aclCreateIntArray", 1025)
    assert nothing == 0
    assert b"value has more than 1024 values; pass fewer" in text


def test_a_null_place_is_refused_first() -> None:
    status, text = ask("aclnnAvgPool2dBackwardGetWorkspaceSize", *[0] * 10, null_place=2)
    assert status == 161001
    assert b"aclnnAvgPool2dBackwardGetWorkspaceSize: executor is null" in text
    assert b"of type aclOpExecutor*" in text
    assert ask("aclrtMalloc", 0, 99, null_place=1)[0] == 100000


def test_unsigned_and_signed_words() -> None:
    status, text = ask("aclrtMalloc", 2**64 - 1, 0)
    assert status == 207001
    assert b"18446744073709551615 bytes" in text
    assert ask("aclrtSetDevice", -1)[0] == 107001


def test_messages_speak_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_client", 4711)
    assert ask("aclrtSetDevice", 99)[1].startswith(b"[PID:4711] ")
    assert acl.aclGetRecentErrMsg() is None, "the message has gone to the program"


def test_paths_are_the_programs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("[]", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calls, "_client", os.getpid())
    status, text = ask("aclnnInit", 11, data=b"config.json")
    assert status == 161002
    assert f"configPath = '{tmp_path}/config.json'".encode()[:60] in text
    assert b"no JSON object" in text


@pytest.mark.parametrize(
    ("name", "words", "status"),
    [("aclrtGetDevice", (), 500000), ("aclnnFinalize", (), 561000), ("aclCreateIntArray", (0,), 0)],
)
def test_no_exception_becomes_success(
    name: str, words: tuple[int, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> Any:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(CALLS[NUMBERS[name]], "function", broken)
    found, text = ask(name, *words)
    assert found == status
    assert f"{name}: unexpected ZeroDivisionError: of all things".encode() in text


def test_an_answer_that_does_not_fit_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CALLS[NUMBERS["aclrtGetDevice"]], "function", lambda: (None, 0))
    assert ask("aclrtGetDevice")[0] == 500000


def test_long_messages_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def talkative() -> Any:
        raise ValueError("x" * 5000)

    monkeypatch.setattr(CALLS[NUMBERS["aclnnFinalize"]], "function", talkative)
    assert len(ask("aclnnFinalize")[1]) == calls.LONGEST_TEXT
