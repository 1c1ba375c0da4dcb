"""The process behind the shim: it answers the program's calls with the functions of ``poolgrad.acl``."""

from __future__ import annotations

import gc
import os
import select
import socket
import struct
import sys
import threading

from ..acl.arena import ARENA, HOST_ARENA
from . import copies
from .calls import answer, answer_for
from .functions import protocol
from .memory import SharedMemory, map_shared

_LARGEST = 32 * 1024  # bytes of a message, as in shim.cpp
_PEER = struct.Struct("3i")  # process, user, group
_OFFER = struct.Struct("<3q")  # protocol, address, size


class Server:
    def __init__(self, control: socket.socket) -> None:
        """Agree with the program on memory; then it goes on, while Numba is loaded here."""
        self._control = control
        self._client = _PEER.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]
        answer_for(self._client)
        os.environ.pop("POOLGRAD_LOG", None)  # the shim tells of failures
        # Calls come and go while kernels run and modules are imported: nobody should wait for long.
        sys.setswitchinterval(0.0005)
        memory = self._share_memory()
        for arena in (ARENA, HOST_ARENA):
            arena.backing, arena.capacity = memory, memory.size
        copies.MEMORY = memory
        threading.Thread(target=_load_kernels, name="poolgrad loads kernels", daemon=True).start()
        self._say(0)

    def run(self) -> None:
        """Take connections until the program ends; then all ends at once, whatever is being done."""
        try:
            self._take_connections()
        finally:
            os._exit(0)

    def _share_memory(self) -> SharedMemory:
        while True:
            message, descriptors, _, _ = socket.recv_fds(self._control, _OFFER.size, 1)
            if not message:
                os._exit(0)
            number, address, size = _OFFER.unpack(message)
            if number != protocol():
                raise RuntimeError(
                    "the program was linked with the library of another version of poolgrad; "
                    "run poolgrad capi build, and link it again"
                )
            error = map_shared(descriptors[0], address, size)
            os.close(descriptors[0])
            if not error:
                return SharedMemory(address, size)
            self._say(error)

    def _say(self, code: int) -> None:
        self._control.send(struct.pack("<q", code))

    def _take_connections(self) -> None:
        # Forked children of the program may hold the socket open when it is gone; its process descriptor tells.
        waiting = select.poll()
        waiting.register(self._control, select.POLLIN)
        waiting.register(os.pidfd_open(self._client), select.POLLIN)
        while {descriptor for descriptor, _ in waiting.poll()} == {self._control.fileno()}:
            message, descriptors, _, _ = socket.recv_fds(self._control, 8, 1)
            if not message:
                return
            threading.Thread(target=_serve, args=(descriptors[0],), name="poolgrad client", daemon=True).start()


def _serve(descriptor: int) -> None:
    """Answer one thread of the program. What belongs to a thread (context, message) belongs to ours."""
    buffer = bytearray(_LARGEST)
    with socket.socket(fileno=descriptor) as connection:
        try:
            while connection.recv_into(buffer):
                connection.send(answer(buffer))
        except OSError:
            pass  # the program's thread has ended in the middle of a call


def _load_kernels() -> None:
    from ..kernels import load_run

    load_run()
    gc.freeze()
