"""Copies between the program's memory, which only the program can reach, and the device's, which both can.

These stand for ``acl.aclrtMemcpy`` and ``acl.aclrtMemcpyAsync``: they approve a copy, and say whether the program is to
do it. The program says which of the two ends may lie in memory that is not there; then its mappings are looked at.
"""

from __future__ import annotations

from ..acl.messages import refusal, returning_value_and_status
from ..acl.spans import Copy, plan_copy
from ..acl.state import require_up
from ..acl.streams import find_stream
from ..base.status import ACL_ERROR_INTERNAL_ERROR, ACL_ERROR_RT_PARAM_INVALID
from .memory import SharedMemory

MEMORY = SharedMemory(0, 0)


@returning_value_and_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtMemcpy(dst: int, destMax: int, src: int, count: int, kind: int, *doubts: int) -> bool:
    require_up()
    copy = plan_copy(dst, destMax, src, count, kind)
    if copy is not None:
        _check(copy, doubts)
    return copy is not None


@returning_value_and_status(ACL_ERROR_INTERNAL_ERROR)
def aclrtMemcpyAsync(dst: int, destMax: int, src: int, count: int, kind: int, stream: int, *doubts: int) -> bool:
    """Between device memory and memory from aclrtMallocHost it is a task like any other. Other host memory the program
    copies itself, as soon as all that was submitted before is done."""
    require_up()
    copy = plan_copy(dst, destMax, src, count, kind)
    target = find_stream(stream)
    if copy is None:
        return False
    _check(copy, doubts)
    if copy.dst.keep is not None and copy.src.keep is not None:
        target.submit(copy.run)
        return False
    target.wait(target.last_ticket)
    return True


def _check(copy: Copy, doubts: tuple[int, ...]) -> None:
    for span, doubt in zip((copy.dst, copy.src), doubts, strict=True):
        if span.keep is None and MEMORY.overlaps(span.address, span.nbytes):
            text = f"{span.name} = {span.address:#x} is device memory that was freed, or runs into it; pass host memory"
            raise refusal(ACL_ERROR_RT_PARAM_INVALID, text)
        if doubt:
            span.check_pages()
