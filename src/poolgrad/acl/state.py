"""What the runtime knows: whether it is up, its contexts and devices, and the product it stands for."""

from __future__ import annotations

import os
import threading
from typing import NamedTuple

from ..base.errors import AclnnError
from ..base.products import A2, Product, find_product, soc_name
from ..base.status import ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_UNINITIALIZE
from . import worker
from .arena import ARENA, HOST_ARENA
from .handles import CONTEXT, EVENT, EXECUTOR, HANDLES, STREAM
from .known import forget_runs
from .messages import refusal
from .worker import Stream


class Hardware(NamedTuple):
    """What the device stands for: a product, and the name that it reports."""

    product: Product
    soc: str


def hardware_named(name: str) -> Hardware:
    return Hardware(find_product(name), soc_name(name))


class Context:
    """Streams and options of one device; each thread has one current context."""

    def __init__(self, device: int, *, primary: bool) -> None:
        self.device = device
        self.primary = primary
        self.times_set = 0  # of a primary one
        self.alive = True
        self.options: dict[int, int] = {}
        # Each stream with its handle; 0 for the default stream, which has none.
        self.streams: dict[Stream, int] = {}
        self._default: Stream | None = None
        self._lock = threading.RLock()
        self.handle = HANDLES.new(CONTEXT, self)

    def open_stream(self) -> int:
        """The handle of a new stream."""
        with self._lock:
            self._check_alive()
            stream = Stream(self)
            self.streams[stream] = HANDLES.new(STREAM, stream)
            return self.streams[stream]

    def default_stream(self) -> Stream:
        with self._lock:
            self._check_alive()
            if self._default is None:
                self._default = Stream(self)
                self.streams[self._default] = 0
            return self._default

    def destroy(self) -> None:
        """End the context and its streams, when all that was submitted to them is done."""
        with self._lock:
            self.alive = False
            HANDLES.drop(self.handle, CONTEXT)
            streams, self.streams = self.streams, {}
            for handle in streams.values():
                HANDLES.drop(handle, STREAM)
        for stream in streams:
            stream.close()

    def _check_alive(self) -> None:
        if not self.alive:
            raise no_context("the current context was destroyed")


class Runtime:
    """The state of the process. ``lock`` makes init, finalize, set and reset device happen one at a time."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Never initialised, and nobody holds the lock."""
        self.lock = threading.RLock()
        self.by_acl = False
        self.by_aclnn = False
        self.was_finalized = False
        self.device_count = 1
        self.hardware: Hardware | None = None
        self.options: dict[int, int] = {}
        self.contexts: set[Context] = set()
        self.primaries: dict[int, Context] = {}

    @property
    def up(self) -> bool:
        return self.by_acl or self.by_aclnn

    def shut_down(self) -> None:
        """Finish what was submitted, then forget everything that lives on a device."""
        self.by_acl = self.by_aclnn = False
        self.was_finalized = True
        contexts, self.contexts = self.contexts, set()
        self.primaries, self.options, self.hardware = {}, {}, None
        try:
            for context in contexts:
                context.destroy()
        finally:
            HANDLES.drop_all(EVENT)
            HANDLES.drop_all(EXECUTOR)
            ARENA.clear()
            forget_runs()


RUNTIME = Runtime()
_LOCAL = threading.local()
_CHOSEN: list[Hardware] = []


def require_up() -> None:
    if not RUNTIME.up:
        state = "was finalized" if RUNTIME.was_finalized else "is not initialised"
        raise refusal(ACL_ERROR_UNINITIALIZE, f"the runtime {state}; call aclInit first")


def make_current(context: Context) -> None:
    _LOCAL.context = context


def require_context() -> Context:
    context: Context | None = getattr(_LOCAL, "context", None)
    if context is None or not context.alive:
        require_up()
        raise no_context("this thread has no current context")
    return context


def no_context(reason: str) -> AclnnError:
    text = f"{reason}; call aclrtSetDevice or aclrtSetCurrentContext in this thread"
    return refusal(ACL_ERROR_RT_CONTEXT_NULL, text)


def hardware() -> Hardware:
    """What the device stands for: the one chosen, else POOLGRAD_PRODUCT's, else that of Atlas A2.

    ``ValueError`` if the variable names an unknown one and the runtime is not up.
    """
    if _CHOSEN:
        return _CHOSEN[-1]
    return RUNTIME.hardware or hardware_named(os.environ.get("POOLGRAD_PRODUCT") or A2.name)


def product() -> Product:
    """The product that the device stands for; ``ValueError`` as ``hardware``."""
    return hardware().product


def set_product(name: str) -> None:
    """Choose what the device stands for, by the name of a product or of a device; ``ValueError`` for an unknown one."""
    _CHOSEN[:] = [hardware_named(name)]


def _after_fork_in_child() -> None:
    # The threads stayed behind in the parent, some perhaps with a lock in their hands. So nothing is finished and
    # nobody is waited for: the child simply was never initialised.
    _LOCAL.__dict__.clear()
    worker.forget_all()
    HANDLES.renew_lock()
    for kind in (CONTEXT, STREAM, EVENT, EXECUTOR):
        HANDLES.drop_all(kind)
    for arena in (ARENA, HOST_ARENA):
        arena.renew_lock()
    ARENA.clear()
    forget_runs()
    RUNTIME.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
