"""Device memory and host memory under addresses: allocate, free, copy, fill."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from ..base import status
from .addresses import freed_by, what_is_at
from .arena import ARENA, HOST_ARENA, Arena
from .arguments import INT32, SIZE, as_int, integer, is_null, shown
from .constants import ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_NORMAL_ONLY_P2P
from .known import forget_runs
from .messages import refusal, returning_status, returning_value_and_status
from .spans import device_span, pinned_span, plan_copy
from .state import require_up

_FUNCTIONS = {ARENA: ("aclrtMalloc", "aclrtFree"), HOST_ARENA: ("aclrtMallocHost", "aclrtFreeHost")}

# One end of a copy: an address or something with bytes in it.
Place = int | bytes | bytearray | memoryview | npt.NDArray[np.generic] | None


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtMalloc(size: int, policy: int = ACL_MEM_MALLOC_HUGE_FIRST) -> int:
    """The address of a new block of device memory."""
    require_up()
    nbytes = integer("size", size, SIZE)
    kind = integer("policy", policy, INT32)
    if not ACL_MEM_MALLOC_HUGE_FIRST <= kind <= ACL_MEM_MALLOC_NORMAL_ONLY_P2P:
        text = f"policy = {kind} is unknown; pass one of ACL_MEM_MALLOC_... (0 to 5)"
        raise refusal(status.ACL_ERROR_INVALID_PARAM, text)
    return _allocate(ARENA, nbytes)


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtMallocHost(size: int) -> int:
    """The address of a new block of host memory; it lives until aclrtFreeHost, also past aclFinalize."""
    require_up()
    return _allocate(HOST_ARENA, integer("size", size, SIZE))


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtFree(devPtr: int | None) -> None:
    require_up()
    _release(ARENA, "devPtr", devPtr)


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtFreeHost(hostPtr: int | None) -> None:
    require_up()
    _release(HOST_ARENA, "hostPtr", hostPtr)


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtMemcpy(dst: Place, destMax: int, src: Place, count: int, kind: int) -> None:
    """Copy at once, waiting for no stream. Host memory is an address or a C-contiguous Python buffer."""
    require_up()
    copy = plan_copy(dst, destMax, src, count, kind)
    if copy is not None:
        copy.run()


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtMemset(devPtr: int | None, maxCount: int, value: int, count: int) -> None:
    """Fill memory from aclrtMalloc or aclrtMallocHost with the low byte of ``value``."""
    require_up()
    if is_null(devPtr):
        raise refusal(status.ACL_ERROR_INVALID_PARAM, "devPtr is null; pass an address from aclrtMalloc")
    address, byte = integer("devPtr", devPtr, SIZE), integer("value", value, INT32)
    room, nbytes = integer("maxCount", maxCount, SIZE), integer("count", count, SIZE)
    if nbytes > room:
        text = f"count = {nbytes} is more than maxCount = {room}; fill less, or pass the true size"
        raise refusal(status.ACL_ERROR_RT_PARAM_INVALID, text)
    span = pinned_span("devPtr", address, nbytes, writable=True) or device_span(
        "devPtr", address, nbytes, writable=True
    )
    ctypes.memset(span.address, byte & 255, span.nbytes)


def _allocate(arena: Arena, nbytes: int) -> int:
    if nbytes == 0:
        raise refusal(status.ACL_ERROR_INVALID_PARAM, "size is 0; ask for at least one byte")
    address = arena.alloc(nbytes)
    if address is None:
        text = f"no room for {nbytes} bytes: {arena.used} of {arena.capacity} are in use; ask for less or free some"
        raise refusal(status.ACL_ERROR_RT_MEMORY_ALLOCATION, text)
    return address


def _release(arena: Arena, name: str, place: object) -> None:
    source, by = _FUNCTIONS[arena]
    if is_null(place):
        raise refusal(status.ACL_ERROR_INVALID_PARAM, f"{name} is null; pass an address from {source}")
    address = as_int(place)
    if address is None:
        text = f"{name} must be an address from {source}, got {shown(place)}"
        raise refusal(status.ACL_ERROR_RT_INVALID_HANDLE, text)
    if not arena.free(address, by):
        raise refusal(status.ACL_ERROR_RT_INVALID_HANDLE, f"{name} is {_no_block(arena, address)}")
    forget_runs()


def _no_block(arena: Arena, address: int) -> str:
    """What is at an address where no block begins, and what to free in its place."""
    for each, (source, free) in _FUNCTIONS.items():
        block = each.find(address, 1)
        if block and each is arena:
            return f"{address:#x}, inside of a block; its block starts at {block.address:#x}: pass that"
        if block:
            side = "device" if each is ARENA else "host"
            return f"{address:#x}, memory of the {side} from {source}; free it with {free}"
    by = freed_by(address)
    if by:
        return f"{address:#x}, which was freed by {by} already; free a block once"
    return f"{what_is_at(address)[0]}; pass what {_FUNCTIONS[arena][0]} gave"
