"""A connection of the server, without a program: when streams learn of their tasks, and who runs these."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from acl_helpers import PATIENCE, background, finish, put_to_sleep, stream_of

from poolgrad import acl
from poolgrad.acl.events import Recording
from poolgrad.acl.state import make_current, require_context
from poolgrad.capi import cores, server
from poolgrad.capi.calls import core_of, is_wait
from poolgrad.capi.prototypes import REMOTE
from poolgrad.capi.server import _serve
from poolgrad.errors import IndexRangeError

NUMBERS = {prototype.name: number for number, prototype in enumerate(REMOTE)}


def message(name: str, *words: int, core: int = 0) -> bytearray:
    return bytearray(struct.pack(f"<3q{len(words)}Q", NUMBERS[name], 0, core, *words))


class Program:
    """A thread of a program: it sends calls, whose answers it need not wait for."""

    def __init__(self) -> None:
        self.connection, self.served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.thread: threading.Thread | None = None

    def send(self, *messages: bytearray) -> None:
        for each in messages:
            self.connection.send(each)

    def begin(self) -> None:
        """Now the server answers; what was sent before waits for it."""
        self.thread = background(lambda: _serve(self.served))

    def end(self) -> None:
        self.connection.shutdown(socket.SHUT_WR)

    def finish(self) -> list[int]:
        """The statuses that were answered."""
        self.end()
        assert self.thread is not None
        finish(self.thread)
        statuses = []
        while answer := self.connection.recv(4096):
            statuses.append(struct.unpack_from("<q", answer)[0])
        self.connection.close()
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


def calls(stream: int) -> list[bytearray]:
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
    monkeypatch.setattr(server, "_is_asked_soon", lambda _: True)
    program = Program()
    program.send(*calls(stream), message("aclrtGetDevice"))
    program.begin()
    assert stream_of(stream).wait(2, PATIENCE)
    assert program.finish() == [0, 0, 0]
    assert ran
    assert program.thread is not None
    assert program.thread.ident not in ran


@pytest.mark.parametrize("most", [server._MOST_SELECTED, 0])
def test_a_program_that_calls_nothing_wakes_the_stream(
    most: int, stream: int, ran: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a moment; at once where the moment can't be measured."""
    monkeypatch.setattr(server, "_MOST_SELECTED", most)
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
    program.connection.close()

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
    program.send(*(message("aclrtGetDevice", core=core) for core in range(server._CALLS_PER_MOVE + 1)))
    program.begin()
    assert len(program.finish()) == server._CALLS_PER_MOVE + 1
    assert moves == [server._CALLS_PER_MOVE - 1]


def test_messages_are_told_apart() -> None:
    assert is_wait(message("aclrtSynchronizeStream", 1))
    assert not any(is_wait(message(name)) for name in NUMBERS if name != "aclrtSynchronizeStream")
    assert core_of(message("aclrtGetDevice", core=70)) == 70


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
