"""Messages and answers, without a program: what the server does with every word of them."""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from acl_helpers import background, finish

from poolgrad import acl
from poolgrad.acl.handles import HANDLES, INT_ARRAY, STEP, first_of_program
from poolgrad.capi import calls
from poolgrad.capi.calls import CALLS, answer
from poolgrad.capi.notes import Notes
from poolgrad.capi.prototypes import REMOTE

NUMBERS = {prototype.name: number for number, prototype in enumerate(REMOTE)}


def message(
    name: str, *words: int, null_place: int = 0, core: int = 5, data: bytes = b"", brought: bytes = b""
) -> bytes:
    unsigned = (word % 2**64 for word in words)
    size = 8 * (5 + len(words)) + len(data) + len(brought)
    head = (NUMBERS[name], null_place, core, size, len(brought))
    return struct.pack(f"<5q{len(words)}Q", *head, *unsigned) + data + brought


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


class Program:
    """Makes and destroys arrays without asking, and brings what it noted along."""

    def __init__(self) -> None:
        self.notes: list[bytes] = []
        self.gone = 0  # words

    def make(self, handle: int, *values: int) -> None:
        data = struct.pack(f"<{len(values)}q", *values)
        self.notes.append(message("aclCreateIntArray", len(values), core=handle, data=data))

    def destroy(self, handle: int) -> None:
        self.notes.append(message("aclDestroyIntArray", handle, core=handle))

    def brings(self) -> bytes:
        return struct.pack("<q", self.gone) + b"".join(self.notes)

    def forgets(self, count: int) -> None:
        self.gone += sum(len(note) for note in self.notes[:count]) // 8
        del self.notes[:count]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(calls, "NOTES", Notes(calls._read_note))
    return Program()


def new_handles() -> Iterator[int]:
    """Those that no test has used: they are never given out again."""
    return itertools.count(HANDLES._adopted[INT_ARRAY] * STEP + (first_of_program(INT_ARRAY) >> 48 << 48), STEP)


def test_a_message_brings_notes_along(program: Program) -> None:
    one, two, *_ = itertools.islice(new_handles(), 2)
    program.make(one, 7, 8, 9)
    program.make(two)
    assert ask("aclGetIntArraySize", one, brought=program.brings()) == (0, struct.pack("<q", 3))
    assert acl.aclGetIntArraySize(two) == (0, 0)
    program.forgets(2)
    program.destroy(one)
    status, text = ask("aclGetIntArraySize", one, brought=program.brings())
    assert status == 161002
    assert b"a destroyed int array" in text
    assert acl.aclGetIntArraySize(two) == (0, 0)


def test_notes_that_come_again_are_passed_over(program: Program) -> None:
    """A message that was sent early may arrive late: what it brings must not bring back what was destroyed since."""
    one, two, *_ = itertools.islice(new_handles(), 2)
    program.make(one, 1)
    early = program.brings()
    program.destroy(one)
    program.make(two, 1, 2)
    assert ask("aclGetIntArraySize", one, brought=program.brings())[0] == 161002
    assert ask("aclGetIntArraySize", one, brought=early)[0] == 161002
    program.forgets(1)
    assert ask("aclGetIntArraySize", two, brought=program.brings()) == (0, struct.pack("<q", 2))
    program.forgets(2)
    program.destroy(two)
    assert ask("aclGetIntArraySize", two, brought=program.brings())[0] == 161002


def test_threads_that_bring_the_same_notes(program: Program) -> None:
    """Whoever comes first brings them; nobody is answered before they are taken."""
    handles = list(itertools.islice(new_handles(), 300))
    for handle in handles:
        program.make(handle, handle)
    brought = program.brings()
    answers: list[int] = []
    threads = [
        background(lambda last=last: answers.append(ask("aclGetIntArraySize", last, brought=brought)[0]))
        for last in handles[-8:]
    ]
    for thread in threads:
        finish(thread)
    assert answers == [0] * 8


def test_a_note_that_makes_no_sense_is_one_object_less(program: Program) -> None:
    one, two, *_ = itertools.islice(new_handles(), 2)
    program.notes.append(message("aclCreateIntArray", -1, core=one))
    program.make(two, 5)
    assert ask("aclGetIntArraySize", two, brought=program.brings()) == (0, struct.pack("<q", 1))
    assert ask("aclGetIntArraySize", one)[0] == 161002
