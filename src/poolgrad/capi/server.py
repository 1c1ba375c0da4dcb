"""The process behind the shim: it answers the program's calls with the functions of ``poolgrad.acl``."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import select
import socket
import struct
import sys
import threading

from ..acl import host_pages
from ..acl.arena import ARENA, HOST_ARENA
from ..acl.worker import UNWOKEN, finish_streams, wake_streams
from . import copies
from .calls import answer, answer_for, core_of, is_wait
from .connection import Connection
from .cores import move_to
from .functions import protocol
from .memory import SharedMemory, largest_size, map_shared, new_file, whole_pages

_PEER = struct.Struct("3i")  # process, user, group
_WORD = struct.Struct("<q")
_NEWS = struct.Struct("<2q")  # as in server.h: 0, and the size of the memory that comes with it
_MOST_OFFERS = 8
_SOON = 50e-6  # seconds
_CALLS_PER_MOVE = 16  # so that it costs next to nothing, also where the system moves threads all the time


class Server:
    def __init__(self, control: socket.socket) -> None:
        """Agree with the program on memory; then it goes on, while Numba is loaded here."""
        self._control = control
        self._client = _PEER.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]
        answer_for(self._client)
        host_pages.process = str(self._client)
        os.environ.pop("POOLGRAD_LOG", None)  # the shim tells of failures
        # Calls come and go while kernels run and modules are imported: nobody should wait for long.
        sys.setswitchinterval(0.0005)
        if self._hear() != protocol():
            raise RuntimeError("the program was linked with the library of another version; build it again")
        memory = self._share_memory()
        for arena in (ARENA, HOST_ARENA):
            arena.backing, arena.capacity = memory, memory.size
        copies.MEMORY = memory
        threading.Thread(target=_load_kernels, name="poolgrad loads kernels", daemon=True).start()
        self._control.send(_NEWS.pack(0, 0))

    def run(self) -> None:
        """Take connections until the program ends; then all ends at once, whatever is being done."""
        try:
            waiting = select.poll()
            waiting.register(self._control, select.POLLIN)
            # Forked children of the program may hold the socket open when it is gone; its process descriptor tells.
            with contextlib.suppress(AttributeError, OSError):  # an old system has none
                waiting.register(os.pidfd_open(self._client), select.POLLIN)
            while {descriptor for descriptor, _ in waiting.poll()} == {self._control.fileno()}:
                self._hear()
                self._connect()
        finally:
            os._exit(0)

    def _hear(self) -> int:
        message = self._control.recv(_WORD.size)
        if not message:
            os._exit(0)
        return int(_WORD.unpack(message)[0])

    def _share_memory(self) -> SharedMemory:
        """Offer memory until both have it at the same address: the program says where it has it."""
        size = largest_size()
        for _ in range(_MOST_OFFERS - 1):
            descriptor = new_file(size)
            socket.send_fds(self._control, [_NEWS.pack(0, size)], [descriptor])
            address = self._hear()
            error = map_shared(descriptor, address, size) if address else errno.ENOMEM
            os.close(descriptor)
            if not error:
                return SharedMemory(address, size)
            if error != errno.EEXIST:
                size = whole_pages(size // 4)
        raise MemoryError("there is no room for device memory; raise the limits of the process (ulimit -v)")

    def _connect(self) -> None:
        """A connection for a new thread of the program, and a thread for it here."""
        try:
            connection = Connection()
        except OSError as error:
            self._refuse(error)
            return
        try:
            threading.Thread(target=_serve, args=(connection,), name="poolgrad client", daemon=True).start()
        except RuntimeError as error:
            connection.close()
            self._refuse(error)
        else:
            socket.send_fds(self._control, [_NEWS.pack(0, 0)], connection.of_program)
        connection.give_away()

    def _refuse(self, error: Exception) -> None:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        advice = "let threads of the program end, or raise ulimit -n and ulimit -u"
        text = f"the server has no room for another thread ({reason}); {advice}"
        self._control.send(_NEWS.pack(-1, 0) + text.encode())


def _serve(connection: Connection) -> None:
    """Answer one thread of the program, until it ends. What belongs to it (context, message) belongs to our thread."""
    with contextlib.closing(connection), contextlib.suppress(OSError):  # it may end in the middle of a call
        _answer_calls(connection)
    wake_streams()


def _answer_calls(connection: Connection) -> None:
    """Answer call by call; and see to a task that a call gave a stream, which does not know of it yet.

    If the program waits for it next, it runs here, since waking the stream's thread for it takes longer. A program that
    waited for its last task is taken to wait for this one, too; else its next call is awaited for a moment.
    """
    unwoken = UNWOKEN.streams = set()
    calls = 0
    has_tasks = waits_for_tasks = False
    while message := connection.receive():
        calls += 1
        if calls % _CALLS_PER_MOVE == 0:
            move_to(core_of(message))
        if has_tasks:
            waits_for_tasks = is_wait(message)
            if not waits_for_tasks:
                wake_streams()
        connection.send(answer(message))
        has_tasks = bool(unwoken)
        if has_tasks:
            if waits_for_tasks:
                finish_streams()
            elif not connection.has_message(_SOON):
                wake_streams()


def _load_kernels() -> None:
    with contextlib.suppress(Exception):  # the call that needs them tries again, and tells why it can't
        from ..kernels import load_run

        load_run()
    gc.freeze()
