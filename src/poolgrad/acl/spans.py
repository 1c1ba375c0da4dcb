"""The two ends of a copy: from what a caller passes to an address that is safe to touch."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from ..base.errors import AclnnError
from ..base.status import ACL_ERROR_INVALID_PARAM, ACL_ERROR_RT_PARAM_INVALID
from . import constants as c
from .addresses import what_is_at
from .arena import ARENA, HOST_ARENA
from .arguments import INT32, SIZE, as_int, integer, is_null, shown
from .host_pages import accessible
from .messages import refusal

HOST = "host"
DEVICE = "device"
EITHER = "either"

# aclrtMemcpyKind: where the destination lies, where the source lies
SIDES = {
    c.ACL_MEMCPY_HOST_TO_HOST: (HOST, HOST),
    c.ACL_MEMCPY_HOST_TO_DEVICE: (DEVICE, HOST),
    c.ACL_MEMCPY_DEVICE_TO_HOST: (HOST, DEVICE),
    c.ACL_MEMCPY_DEVICE_TO_DEVICE: (DEVICE, DEVICE),
    c.ACL_MEMCPY_DEFAULT: (EITHER, EITHER),
}


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes at an address. ``keep`` holds their memory; None: the caller vouches for it."""

    name: str
    address: int
    nbytes: int
    writable: bool
    keep: object

    def check_pages(self) -> None:
        """Refuse memory that nobody holds and that is not there, or not any more."""
        if self.keep is None and not accessible(self.address, self.nbytes, writable=self.writable):
            access = "writable" if self.writable else "readable"
            raise _bad(
                f"{self.name} = {self.address:#x} is not the start of {self.nbytes} {access} bytes of host memory; "
                "pass the address of memory that is alive and large enough"
            )


@dataclass(frozen=True, slots=True)
class Copy:
    dst: Span
    src: Span

    def check_pages(self) -> None:
        self.dst.check_pages()
        self.src.check_pages()

    def run(self) -> None:
        # Looked at here because an asynchronous copy runs long after its call. memmove allows overlap, and ctypes
        # releases the GIL around it.
        self.check_pages()
        ctypes.memmove(self.dst.address, self.src.address, self.src.nbytes)


def plan_copy(dst: object, dest_max: object, src: object, count: object, kind: object) -> Copy | None:
    """The copy that the arguments of aclrtMemcpy ask for, None if there is nothing to copy.

    It holds all memory that this package knows; other host memory is looked at by ``check_pages`` and ``run``.
    """
    nbytes = integer("count", count, SIZE)
    if nbytes == 0:
        return None
    for name, place in (("dst", dst), ("src", src)):
        if not isinstance(place, np.ndarray) and is_null(place):
            raise refusal(ACL_ERROR_INVALID_PARAM, f"{name} is null; pass the address of memory")
    room = integer("destMax", dest_max, SIZE)
    if nbytes > room:
        raise _bad(f"count = {nbytes} is more than destMax = {room}; copy less, or pass the true size of dst")
    sides = SIDES.get(integer("kind", kind, INT32))
    if sides is None:
        known = "ACL_MEMCPY_HOST_TO_HOST (0) to ACL_MEMCPY_DEFAULT (4)"
        raise refusal(ACL_ERROR_INVALID_PARAM, f"kind = {shown(kind)} is unknown; pass one of {known}")
    return Copy(
        _find_span("dst", dst, nbytes, sides[0], writable=True),
        _find_span("src", src, nbytes, sides[1], writable=False),
    )


def device_span(name: str, address: int, nbytes: int, *, writable: bool) -> Span:
    """The span of device memory, which must lie inside one live block."""
    block = ARENA.find(address, nbytes)
    if block is None:
        raise _bad(_outside(name, address, nbytes))
    if writable:
        ARENA.backing.touch(address, nbytes)
    return Span(name, address, nbytes, writable, block)


def pinned_span(name: str, address: int, nbytes: int, *, writable: bool) -> Span | None:
    """The span of memory from aclrtMallocHost, None if the address lies in no such block."""
    if HOST_ARENA.find(address, 1) is None:
        return None
    block = HOST_ARENA.find(address, nbytes)
    if block is None:
        raise _bad(f"{name} = {address:#x} and {nbytes} bytes pass the end of its aclrtMallocHost block; use fewer")
    if writable:
        HOST_ARENA.backing.touch(address, nbytes)
    return Span(name, address, nbytes, writable, block)


def _find_span(name: str, place: object, nbytes: int, side: str, *, writable: bool) -> Span:
    address = None if isinstance(place, np.ndarray) else as_int(place)
    if address is None:
        return _buffer_span(name, place, nbytes, side, writable=writable)
    integer(name, address, SIZE, ACL_ERROR_RT_PARAM_INVALID)
    on_device = ARENA.find(address, 1) is not None
    if side == DEVICE or (side == EITHER and on_device):
        return device_span(name, address, nbytes, writable=writable)
    if on_device:
        # It would work here, where device memory is host memory, and fail on the device that is being imitated.
        raise _bad(f"{name} = {address:#x} is device memory, and kind says host; use the kind that fits")
    return pinned_span(name, address, nbytes, writable=writable) or Span(name, address, nbytes, writable, None)


def _buffer_span(name: str, place: object, nbytes: int, side: str, *, writable: bool) -> Span:
    data = _bytes_of(name, place)
    if side == DEVICE:
        raise _bad(f"{name} is a Python buffer, and kind says device; pass an address from aclrtMalloc")
    if writable and not data.flags.writeable:
        raise _bad(f"{name} is a read-only buffer ({type(place).__name__}); pass one that can be written")
    if data.size < nbytes:
        raise _bad(f"{name} holds {data.size} bytes, and count = {nbytes}; copy less or pass a larger buffer")
    return Span(name, data.ctypes.data, nbytes, writable, data)


def _bytes_of(name: str, place: object) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    try:
        if isinstance(place, np.ndarray):
            if not place.flags.c_contiguous:
                raise ValueError("the array is not C-contiguous")
            # Not through the buffer protocol, which bfloat16 does not have.
            return place.reshape(-1).view(np.uint8)
        return np.frombuffer(place, np.uint8)  # type: ignore[call-overload, no-any-return]
    except TypeError as error:
        text = f"{name} is neither an address nor a buffer but a {type(place).__name__} ({error}); pass one of the two"
        raise refusal(ACL_ERROR_INVALID_PARAM, text) from None
    except (BufferError, ValueError) as error:
        text = f"{name} is no buffer that can be copied ({error}); pass a C-contiguous one that is not empty"
        raise _bad(text) from None


def _outside(name: str, address: int, nbytes: int) -> str:
    block = ARENA.find(address, 1)
    if block is None:
        what, change = what_is_at(address)
        return f"{name} is {what}; {change}"
    return (
        f"{name} = {address:#x} and {nbytes} bytes cover bytes {address - block.address} to "
        f"{address - block.address + nbytes} of an allocation of {block.size} bytes; use fewer or allocate more"
    )


def _bad(text: str) -> AclnnError:
    return refusal(ACL_ERROR_RT_PARAM_INVALID, text)
