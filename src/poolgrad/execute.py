"""Running a plan: scratch into parts, parts onto threads, and a bad index into an error."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from . import threads
from .dtypes import INT32
from .errors import IndexRangeError
from .kernels import kernel
from .plan import ALIGNMENT, Plan
from .status import ACL_ERROR_RT_AICORE_EXCEPTION, name_of
from .tensor import as_planes

_UNITS = {"float32": np.float32(0), "float64": np.float64(0)}


def execute(plan: Plan, addresses: Mapping[str, int], scratch: int) -> None:
    """Run a plan on memory: ``addresses`` of the first element of each tensor, and of ``plan.scratch_bytes``.

    The caller keeps that memory alive and has checked that the views lie inside it.
    """
    if not plan.kernel:
        return
    run = kernel(plan.kernel, plan.compute)
    pointers = [addresses[name] for name in (*plan.inputs, plan.output)]
    start = -(-scratch // ALIGNMENT) * ALIGNMENT
    unit = _UNITS[plan.compute]

    def work(part: int) -> int:
        integers = start + part * plan.part_bytes
        floats = integers + 8 * plan.integers
        begin, end = plan.units * part // plan.parts, plan.units * (part + 1) // plan.parts
        return run(plan.record, *pointers, floats, integers, begin, end, unit)

    bad = [place for place in threads.run_parts(work, plan.parts) if place >= 0]
    if bad:
        raise _index_error(plan, addresses["indices"], min(bad))


def _index_error(plan: Plan, address: int, place: int) -> IndexRangeError:
    """Where the first bad index stands, what it is, and what it should have been."""
    view = plan.call.tensor("indices")
    layout = "NHWC" if view.format == "NHWC" else "NCHW"
    planes = as_planes(view, layout)
    by_letter = dict(zip("NCDHW", np.unravel_index(place, planes.shape), strict=True))
    position = [int(by_letter[letter]) for letter in layout[-view.rank :]]
    where = address + sum(i * step for i, step in zip(position, view.strides, strict=True))
    integer = ctypes.c_int32 if view.dtype is INT32 else ctypes.c_int64
    value = integer.from_address(where).value
    height, width = as_planes(plan.call.tensor("self"), layout).spatial[1:]
    status = ACL_ERROR_RT_AICORE_EXCEPTION
    return IndexRangeError(
        f"{plan.call.operator.name}: indices[{', '.join(map(str, position))}] = {value} is outside its plane of "
        f"{height}x{width}: expected 0 to {height * width - 1}. "
        f"Pass the indices of the forward pass over self. [{status} {name_of(status)}]",
        status=status,
        operator=plan.call.operator.name,
        parameter="indices",
        product=plan.call.product_name,
    )
