"""Messages: their documented form, one per thread, and what public functions answer when something is raised."""

from __future__ import annotations

import inspect
import os
import re
import threading
from typing import Any

import pytest

from poolgrad.acl import messages
from poolgrad.acl.messages import (
    aclGetRecentErrMsg,
    explain,
    refusal,
    report,
    returning_status,
    returning_value,
    returning_value_and_status,
)
from poolgrad.base.errors import AclnnError

FORM = r"\[PID:(\d+)\] (\S+) (\w+)\((EZ\d+)\): (.*)"


@pytest.mark.parametrize(
    ("status", "title", "code"),
    [
        (161002, "AclNN_Parameter_Error", "EZ1001"),
        (107000, "AclNN_Parameter_Error", "EZ1001"),
        (207001, "AclNN_Runtime_Error", "EZ9903"),
        (361001, "AclNN_Runtime_Error", "EZ9903"),
        (507015, "AclNN_Inner_Error", "EZ9999"),
        (561000, "AclNN_Inner_Error", "EZ9999"),
    ],
)
def test_form_follows_the_status(status: int, title: str, code: str) -> None:
    assert report(status, "what is\nwrong") == status
    match = re.fullmatch(FORM, aclGetRecentErrMsg() or "")
    assert match, "not the documented form"
    assert match.groups()[0] == str(os.getpid())
    assert match.groups()[2:] == (title, code, "what is wrong")


def test_the_newest_message_is_answered_once() -> None:
    report(161001, "older")
    report(161001, "newer")
    assert (messages.aclGetRecentErrMsg() or "").endswith("newer")
    assert messages.aclGetRecentErrMsg() is None


def test_each_thread_has_its_own_message() -> None:
    report(161001, "mine")
    seen: list[str | None] = []
    thread = threading.Thread(target=lambda: seen.append(aclGetRecentErrMsg()))
    thread.start()
    thread.join()
    assert seen == [None]
    assert (aclGetRecentErrMsg() or "").endswith("mine")


def test_silent_unless_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    report(161001, "quiet")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("POOLGRAD_LOG", "1")
    report(161001, "two\nlines")
    assert capsys.readouterr().err == "poolgrad: 161001 ACLNN_ERR_PARAM_NULLPTR: two lines\n"


def test_a_missing_stderr_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLGRAD_LOG", "1")
    monkeypatch.setattr("sys.stderr", None)
    assert report(161001, "kept all the same") == 161001
    assert aclGetRecentErrMsg()


@pytest.mark.parametrize(
    ("returning", "good", "bad"),
    [
        (returning_status, 0, 500000),
        (returning_value_and_status, ("x", 0), (None, 500000)),
        (returning_value, "x", None),
    ],
)
def test_public_functions_answer_as_they_say(returning: Any, good: object, bad: object) -> None:
    @returning(500000)
    def working() -> str:
        return "x"

    @returning(500000)
    def broken() -> str:
        raise RuntimeError("boom")

    assert (working(), broken()) == (good, bad)
    message = aclGetRecentErrMsg() or ""
    assert "broken" in message
    assert "RuntimeError: boom" in message


def test_a_refusal_answers_its_own_status_and_names_the_function() -> None:
    @returning_status(500000)
    def picky() -> None:
        raise refusal(107000, "too large")

    assert picky() == 107000
    assert (aclGetRecentErrMsg() or "").endswith("picky: too large")


def test_an_operator_that_names_itself_is_not_named_twice() -> None:
    @returning_status(561000)
    def phase_one() -> None:
        raise AclnnError("aclnnFoo: bad", status=161002, operator="aclnnFoo")

    assert phase_one() == 161002
    assert (aclGetRecentErrMsg() or "").endswith("(EZ1001): aclnnFoo: bad")


@pytest.mark.parametrize("passing", [KeyboardInterrupt, SystemExit])
def test_nobody_is_stopped_who_wants_to_leave(passing: type[BaseException]) -> None:
    @returning_status(500000)
    def leaving() -> None:
        raise passing

    with pytest.raises(passing):
        leaving()


def test_a_wrong_number_of_arguments_is_a_type_error_but_one_inside_is_not() -> None:
    @returning_status(500000)
    def one(value: object) -> None:
        len(value)  # type: ignore[arg-type]

    with pytest.raises(TypeError):
        one()  # type: ignore[call-arg]
    assert one(5) == 500000


def test_name_doc_and_signature_are_kept() -> None:
    @returning_value_and_status(500000)
    def documented(value: int) -> int:
        """Says what it does."""
        return value

    assert (documented.__name__, documented.__doc__) == ("documented", "Says what it does.")
    assert str(inspect.signature(documented)) == "(value: 'int') -> 'tuple[int | None, int]'"


def test_an_exception_that_cannot_be_printed_is_still_explained() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert explain(Hostile()) == "Hostile"
