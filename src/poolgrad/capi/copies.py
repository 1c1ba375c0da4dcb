"""Copies between the program's memory, which only the program can reach, and the device's, which both can.

These stand for ``acl.aclrtMemcpy`` and ``acl.aclrtMemcpyAsync``: they approve a copy, and say whether the program is to
do it.
"""

from __future__ import annotations

from ..acl.messages import guarded, refusal
from ..acl.spans import Copy, plan_copy
from ..acl.state import require_up
from ..acl.streams import find_stream
from ..status import ACL_ERROR_INTERNAL_ERROR, ACL_ERROR_RT_PARAM_INVALID, ACL_SUCCESS
from .memory import SharedMemory

MEMORY = SharedMemory(0, 0)


@guarded(ACL_ERROR_INTERNAL_ERROR, outputs=1)
def aclrtMemcpy(dst: int, destMax: int, src: int, count: int, kind: int) -> tuple[bool | None, int]:
    require_up()
    return _approve(dst, destMax, src, count, kind) is not None, ACL_SUCCESS


@guarded(ACL_ERROR_INTERNAL_ERROR, outputs=1)
def aclrtMemcpyAsync(dst: int, destMax: int, src: int, count: int, kind: int, stream: int) -> tuple[bool | None, int]:
    """Between device memory and memory from aclrtMallocHost it is a task like any other. Other host memory the program
    copies itself, as soon as all that was submitted before is done."""
    require_up()
    copy = _approve(dst, destMax, src, count, kind)
    target = find_stream(stream)
    if copy is None:
        return False, ACL_SUCCESS
    if copy.dst.keep is not None and copy.src.keep is not None:
        target.submit(copy.run)
        return False, ACL_SUCCESS
    target.wait(target.last_ticket)
    return True, ACL_SUCCESS


def _approve(dst: int, dest_max: int, src: int, count: int, kind: int) -> Copy | None:
    copy = plan_copy(dst, dest_max, src, count, kind)
    for span in (copy.dst, copy.src) if copy else ():
        if span.keep is None and MEMORY.overlaps(span.address, span.nbytes):
            text = f"{span.name} = {span.address:#x} is device memory that was freed, or runs into it; pass host memory"
            raise refusal(ACL_ERROR_RT_PARAM_INVALID, text)
    return copy
