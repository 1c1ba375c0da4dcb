"""Messages: their documented form, one per thread, and the guard around every public function."""

from __future__ import annotations

import inspect
import os
import re
import threading

import pytest

from poolgrad.acl import messages
from poolgrad.acl.messages import explain, guarded, refusal, report, take
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
    match = re.fullmatch(FORM, take() or "")
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
    thread = threading.Thread(target=lambda: seen.append(take()))
    thread.start()
    thread.join()
    assert seen == [None]
    assert (take() or "").endswith("mine")


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
    assert take()


@pytest.mark.parametrize(("outputs", "answer"), [(0, 500000), (1, (None, 500000)), (2, (None, None, 500000))])
def test_the_guard_answers_as_many_values_as_the_function(outputs: int, answer: object) -> None:
    @guarded(500000, outputs=outputs)
    def broken() -> object:
        raise RuntimeError("boom")

    assert broken() == answer
    message = take() or ""
    assert "broken" in message
    assert "RuntimeError: boom" in message


def test_the_guard_of_a_function_without_status_answers_none() -> None:
    @guarded(561000, returns_status=False)
    def broken() -> object:
        raise RuntimeError

    assert broken() is None
    assert "EZ9999" in (take() or "")


def test_a_refusal_answers_its_own_status_and_names_the_function() -> None:
    @guarded(500000)
    def picky() -> int:
        raise refusal(107000, "too large")

    assert picky() == 107000
    assert (take() or "").endswith("picky: too large")


def test_an_operator_that_names_itself_is_not_named_twice() -> None:
    @guarded(561000)
    def phase_one() -> int:
        raise AclnnError("aclnnFoo: bad", status=161002, operator="aclnnFoo")

    assert phase_one() == 161002
    assert (take() or "").endswith("(EZ1001): aclnnFoo: bad")


@pytest.mark.parametrize("passing", [KeyboardInterrupt, SystemExit])
def test_the_guard_stops_nobody_who_wants_to_leave(passing: type[BaseException]) -> None:
    @guarded(500000)
    def leaving() -> int:
        raise passing

    with pytest.raises(passing):
        leaving()


def test_a_wrong_number_of_arguments_is_a_type_error_but_one_inside_is_not() -> None:
    @guarded(500000)
    def one(value: object) -> int:
        return len(value)  # type: ignore[arg-type]

    with pytest.raises(TypeError):
        one()  # type: ignore[call-arg]
    assert one(5) == 500000


def test_the_guard_keeps_name_doc_and_signature() -> None:
    @guarded(500000)
    def documented(value: int) -> int:
        """Says what it does."""
        return value

    assert (documented.__name__, documented.__doc__) == ("documented", "Says what it does.")
    assert list(inspect.signature(documented).parameters) == ["value"]


def test_an_exception_that_cannot_be_printed_is_still_explained() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert explain(Hostile()) == "Hostile"
