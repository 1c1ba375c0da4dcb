"""A connection of the server, without a program: when streams learn of their tasks, and who runs these."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from acl_helpers import PATIENCE, background, finish, put_to_sleep, stream_of

from poolgrad import acl
from poolgrad.acl.events import Recording
from poolgrad.acl.state import make_current, require_context
from poolgrad.base.errors import IndexRangeError
from poolgrad.capi import connection, cores, server
from poolgrad.capi.calls import core_of, is_wait, size_of
from poolgrad.capi.connection import Connection
from poolgrad.capi.prototypes import REMOTE
from poolgrad.capi.server import _serve

NUMBERS = {prototype.name: number for number, prototype in enumerate(REMOTE)}


def message(name: str, *words: int, core: int = 0, data: bytes = b"") -> bytes:
    size = 8 * (5 + len(words)) + len(data)
    return struct.pack(f"<5q{len(words)}Q", NUMBERS[name], 0, core, size, 0, *words) + data


class Program:
    """A thread of a program: it sends calls, whose answers it need not wait for one by one."""

    def __init__(self) -> None:
        self.served = Connection()
        self.asks, self.answers = self.served.of_program
        # No program sends before it was answered. These do, so the pipe has to keep their messages apart.
        fcntl.fcntl(self.asks, fcntl.F_SETFL, os.O_DIRECT)
        self.thread: threading.Thread | None = None

    def send(self, *messages: bytes) -> None:
        for each in messages:
            assert os.write(self.asks, each) == len(each)

    def begin(self) -> None:
        """Now the server answers; what was sent before waits for it."""
        self.thread = background(lambda: _serve(self.served))

    def end(self) -> None:
        if self.asks >= 0:
            os.close(self.asks)
        self.asks = -1

    def finish(self) -> list[int]:
        """The statuses that were answered."""
        self.end()
        assert self.thread is not None
        finish(self.thread)
        with open(self.answers, "rb") as answers:
            told, statuses = answers.read(), []
        while told:
            size, status = struct.unpack_from("<2q", told)
            statuses.append(status)
            told = told[size:]
        return statuses


@pytest.fixture
def stream() -> Iterator[int]:
    """A stream whose thread sleeps."""
    assert acl.aclInit(None) == acl.aclrtSetDevice(0) == 0
    handle, ret = acl.aclrtCreateStream()
    assert ret == 0
    assert handle is not None
    put_to_sleep(stream_of(handle))
    yield handle
    assert acl.aclFinalize() == 0


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The threads that ran the events of a test."""
    threads: list[int | None] = []
    monkeypatch.setattr(Recording, "_stamp", lambda _: threads.append(threading.get_ident()))
    return threads


def calls(stream: int) -> list[bytes]:
    event, ret = acl.aclrtCreateEvent()
    assert ret == 0
    assert event is not None
    return [message("aclrtSetDevice", 0), message("aclrtRecordEvent", event, stream)]


def test_who_waits_next_runs_the_task(stream: int, ran: list[int | None]) -> None:
    program = Program()
    program.send(*calls(stream), message("aclrtSynchronizeStream", stream))
    program.begin()
    assert program.finish() == [0, 0, 0]
    assert program.thread is not None
    assert ran == [program.thread.ident]


def test_who_waited_for_the_last_task_has_the_next_one_run_at_once(stream: int, ran: list[int | None]) -> None:
    """Until it calls something else in its place."""
    program = Program()
    first, second, third = (calls(stream)[1] for _ in range(3))
    program.send(message("aclrtSetDevice", 0), first, message("aclrtSynchronizeStream", stream), second)
    program.begin()
    assert stream_of(stream).wait(3, PATIENCE)
    program.send(message("aclrtGetDevice"), third)
    assert stream_of(stream).wait(4, PATIENCE)
    assert program.finish() == [0] * 6
    assert program.thread is not None
    assert ran[:2] == [program.thread.ident] * 2
    assert ran[2:] != [program.thread.ident]


def test_a_failure_of_a_task_that_ran_at_once_is_told_to_who_waits(
    stream: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Recording) -> None:
        raise IndexRangeError("an index is outside", status=507015)

    monkeypatch.setattr(Recording, "_stamp", fail)
    program = Program()
    wait = message("aclrtSynchronizeStream", stream)
    program.send(*calls(stream), wait, *calls(stream), wait, wait)
    program.begin()
    assert program.finish() == [0, 0, 507015, 0, 0, 507015, 0]


def test_a_program_that_calls_something_else_wakes_the_stream(
    stream: int, ran: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if one call follows the other without a pause."""
    monkeypatch.setattr(Connection, "has_message", lambda *_: True)
    program = Program()
    program.send(*calls(stream), message("aclrtGetDevice"))
    program.begin()
    assert stream_of(stream).wait(2, PATIENCE)
    assert program.finish() == [0, 0, 0]
    assert ran
    assert program.thread is not None
    assert program.thread.ident not in ran


@pytest.mark.parametrize("most", [connection._MOST_SELECTED, 0])
def test_a_program_that_calls_nothing_wakes_the_stream(
    most: int, stream: int, ran: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a moment; at once where the moment can't be measured."""
    monkeypatch.setattr(connection, "_MOST_SELECTED", most)
    program = Program()
    program.begin()
    program.send(*calls(stream))
    assert stream_of(stream).wait(2, PATIENCE)
    assert len(ran) == 1
    assert program.finish() == [0, 0]


def test_a_thread_that_ends_wakes_the_stream(stream: int, ran: list[int | None]) -> None:
    program = Program()
    program.send(*calls(stream))
    program.end()
    program.begin()
    assert stream_of(stream).wait(2, PATIENCE)
    assert len(ran) == 1
    assert program.finish() == [0, 0]


def test_a_thread_that_ends_without_hearing_wakes_the_stream(stream: int, ran: list[int | None]) -> None:
    """The answer to its last call can't be sent."""
    program, context = Program(), require_context()
    program.send(*calls(stream)[1:])
    program.end()
    os.close(program.answers)

    def serve() -> None:
        make_current(context)
        _serve(program.served)

    finish(background(serve))
    assert stream_of(stream).wait(2, PATIENCE)
    assert len(ran) == 1


def test_the_server_moves_to_the_core_that_messages_name(stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
    moves: list[int] = []
    monkeypatch.setattr(server, "move_to", moves.append)
    program = Program()
    program.begin()
    program.send(*(message("aclrtGetDevice", core=core) for core in range(server._CALLS_PER_MOVE + 1)))
    assert len(program.finish()) == server._CALLS_PER_MOVE + 1
    assert moves == [server._CALLS_PER_MOVE - 1]


def test_messages_are_told_apart() -> None:
    assert is_wait(message("aclrtSynchronizeStream", 1))
    assert not any(is_wait(message(name)) for name in NUMBERS if name != "aclrtSynchronizeStream")
    assert core_of(message("aclrtGetDevice", core=70)) == 70
    assert size_of(message("aclrtGetDevice")) == 40


@pytest.mark.parametrize("count", [505, 506, 507, 1024])
def test_a_message_beyond_a_page_arrives_in_parts(count: int) -> None:
    """506 values and six words are a page."""
    served, values = Connection(), struct.pack(f"<{count}q", *range(count))
    sent = message("aclCreateIntArray", count, data=values)
    asks, answers = served.of_program
    heard: list[bytes] = []
    thread = background(lambda: heard.append(served.receive()))
    for start in range(0, len(sent), 4096):
        assert os.write(asks, sent[start : start + 4096]) == len(sent[start : start + 4096])
        time.sleep(0.01)  # so that it is taken
    finish(thread)
    assert heard == [sent]
    for descriptor in (asks, answers):
        os.close(descriptor)
    served.close()


def test_a_program_that_ends_in_the_middle_of_a_message_has_ended() -> None:
    served = Connection()
    asks, answers = served.of_program
    os.write(asks, message("aclCreateIntArray", 1024, data=bytes(8 * 1024))[:4096])
    os.close(asks)
    assert served.receive() == b""
    os.close(answers)
    served.close()


def test_a_connection_that_can_not_be_made_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(connection.os, "open", refuse)
    with pytest.raises(OSError, match="Too many"):
        Connection()
    monkeypatch.undo()
    assert os.listdir("/proc/self/fd") == before


def in_a_thread(work: object) -> None:
    """Affinities belong to threads; that of the tests stays as it is."""
    assert callable(work)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    finish(background(run))
    assert not failures, failures


def test_a_thread_moves_and_is_not_bound() -> None:
    def work() -> None:
        allowed = os.sched_getaffinity(0)
        for core in allowed:
            moved = False
            for _ in range(100):  # the system may move it on at any moment
                cores.move_to(core)
                moved = moved or cores.current_core() == core
                assert os.sched_getaffinity(0) == allowed
            assert moved

    in_a_thread(work)


def test_a_thread_stays_where_it_must() -> None:
    def work() -> None:
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:1])
        for core in (*allowed, 10**6, -1):
            cores.move_to(core)
            assert os.sched_getaffinity(0) == {allowed[0]}

    in_a_thread(work)


def test_a_system_that_forbids_moves_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(thread: int, _: object) -> None:
        asked.append(thread)
        raise PermissionError

    monkeypatch.setattr(cores.os, "sched_setaffinity", refuse)
    for core in os.sched_getaffinity(0):
        monkeypatch.setattr(cores, "current_core", lambda core=core: core + 1)
        cores.move_to(core)
    assert asked
